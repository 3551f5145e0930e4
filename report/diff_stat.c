// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "diff_load.h"
#include "diff_stat.h"

#define SEED 0x1e3a5c79b2d4f60bull
#define T_MAX 1e6
#define HALVINGS 60
#define TAIL_TERMS 20000
#define CLUSTERED 1.5		/* times the variance of cells without an order: more is no chance */

/* --- functions that give the same everywhere */

/* x = m * 2^e with m near 1; the logarithm of m as a series in (m - 1) / (m + 1). */
double diff_log(double x)
{
	int e = 0;
	double z, z2, sum = 0;

	if (!(x > 0))
		return -HUGE_VAL;
	if (x == HUGE_VAL)
		return x;
	x = frexp(x, &e);
	if (x < 0.70710678118654752) {
		x *= 2;
		e--;
	}
	z = (x - 1) / (x + 1);
	z2 = z * z;
	for (int k = 25; k >= 1; k -= 2)
		sum = sum * z2 + 1.0 / k;
	return 2 * z * sum + e * 0.69314718055994531;
}

double diff_exp(double x)
{
	double sum = 1, r;
	int e;

	if (x > 700)
		return HUGE_VAL;
	if (x < -700)
		return 0;
	e = (int)(x / 0.69314718055994531);
	r = x - e * 0.69314718055994531;
	for (int k = 22; k >= 1; k--)
		sum = 1 + sum * r / k;
	return ldexp(sum, e);
}

/*
 * Two-sided tail of Student's distribution of an even number of degrees of freedom (Abramowitz and
 * Stegun, 26.7.4). The series that gives one minus it ends there; summed on without end it would
 * give one, so that a small tail is the sum of the terms left out.
 */
static double student_tail(double t, unsigned int df)
{
	double c = df / (df + t * t), sine = t / sqrt(df + t * t), term = 1, sum = 1, rest = 0;
	unsigned int k;

	for (k = 2; k < df; k += 2) {
		term *= c * (k - 1) / k;
		sum += term;
	}
	if (1 - sine * sum > 1e-6)
		return 1 - sine * sum;
	for (; k < df + TAIL_TERMS && term > rest * 1e-16; k += 2) {
		term *= c * (k - 1) / k;
		rest += term;
	}
	return rest * sine;
}

static double student_limit(double alpha, unsigned int df)
{
	double low = 0, high = T_MAX;

	for (int i = 0; i < HALVINGS; i++) {
		double t = (low + high) / 2;

		if (student_tail(t, df) > alpha)
			low = t;
		else
			high = t;
	}
	return high;
}

/* --- one figure */

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Autocovariance of the residuals at a lag. */
static double autocovariance(const double *e, unsigned int lag)
{
	double sum = 0;

	for (unsigned int i = 0; i + lag < DIFF_CELLS; i++)
		sum += e[i] * e[i + lag];
	return sum / DIFF_CELLS;
}

/* The first lag after which KN autocorrelations in a row are what chance would make them. */
static unsigned int last_lag(const double *e, double variance)
{
	const unsigned int in_a_row = 5, most = DIFF_CELLS / 4;
	const double chance = 2 * sqrt(2.38 / DIFF_CELLS);	/* log10(240) */
	unsigned int quiet = 0;

	for (unsigned int lag = 1; lag <= most; lag++) {
		double r = autocovariance(e, lag) / variance;

		quiet = r < chance && r > -chance ? quiet + 1 : 0;
		if (quiet == in_a_row)
			return lag - in_a_row;
	}
	return most;
}

static double flat_top(double x)
{
	return x <= 0.5 ? 1 : x < 1 ? 2 * (1 - x) : 0;
}

/* The cube root, by Newton's method. */
static double cube_root(double x)
{
	double y = x > 1 ? x : 1;

	for (int i = 0; i < 60 && x > 0; i++)
		y -= (y * y * y - x) / (3 * y * y);
	return x > 0 ? y : 0;
}

/* Politis and White's rule for the circular bootstrap, of the residuals num - value den. */
static unsigned int block_length(const double *e, bool *clustered)
{
	double variance = autocovariance(e, 0), g, d, length;
	unsigned int m, most = DIFF_CELLS / 10;

	if (!(variance > 0))
		return 1;
	m = 2 * last_lag(e, variance);
	m = m ? m : 1;
	g = 0;
	d = variance;
	for (unsigned int k = 1; k <= m && k < DIFF_CELLS; k++) {
		double c = flat_top((double)k / m) * autocovariance(e, k);

		g += 2 * k * c;
		d += 2 * c;
	}
	*clustered = d > CLUSTERED * variance;
	d = 4.0 / 3 * d * d;
	if (!(d > 0))
		return 1;
	length = cube_root(2 * g * g / d * DIFF_CELLS);
	return length < 1 ? 1 : length > most ? most : (unsigned int)(length + 0.5);
}

/* Sums of blocks from any cell on, the last cells followed by the first. */
static void block_sums(const double *cells, unsigned int length, double *sums)
{
	double sum = 0;

	for (unsigned int i = 0; i < length; i++)
		sum += cells[i];
	for (unsigned int i = 0; i < DIFF_CELLS; i++) {
		sums[i] = sum;
		sum += cells[(i + length) % DIFF_CELLS] - cells[i];
	}
}

static double resampled_error(const struct diff_figure *f)
{
	double num[DIFF_CELLS], den[DIFF_CELLS], sum = 0, squares = 0;
	unsigned int blocks = (DIFF_CELLS + f->block - 1) / f->block, n = 0;
	uint64_t state = SEED;

	block_sums(f->num, f->block, num);
	block_sums(f->den, f->block, den);
	for (unsigned int k = 0; k < DIFF_RESAMPLES; k++) {
		double a = 0, b = 0, x;

		for (unsigned int i = 0; i < blocks; i++) {
			unsigned int at = (unsigned int)((next_random(&state) >> 32) * DIFF_CELLS >> 32);

			a += num[at];
			b += den[at];
		}
		if (!(b > 0))
			continue;
		x = a / b;
		sum += x;
		squares += x * x;
		n++;
	}
	if (n < 2)
		return 0;
	squares = (squares - sum * sum / n) / (n - 1);
	return squares > 0 ? sqrt(squares) : 0;
}

void diff_figure_error(struct diff_figure *f)
{
	double a = 0, b = 0, e[DIFF_CELLS], error;

	for (unsigned int i = 0; i < DIFF_CELLS; i++) {
		a += f->num[i];
		b += f->den[i];
	}
	f->block = 1;
	f->df = DIFF_CELLS - 2;
	f->error = 0;
	f->clustered = false;
	if (!(b > 0) || !(a > 0))
		return;
	for (unsigned int i = 0; i < DIFF_CELLS; i++)
		e[i] = f->num[i] - a / b * f->den[i];
	f->block = block_length(e, &f->clustered);
	f->df = (DIFF_CELLS / f->block - 1) & ~1u;
	error = resampled_error(f);
	f->error = f->buckets ? error : error * b / a;
}

unsigned int diff_figure_blocks(const struct diff_figure *f)
{
	unsigned int blocks = 0, length = f->clustered ? f->block : 1;

	for (unsigned int i = 0; i < DIFF_CELLS; i += length) {
		bool any = false;

		for (unsigned int k = i; k < i + length && k < DIFF_CELLS; k++)
			any |= f->num[k] > 0;
		blocks += any;
	}
	return blocks;
}

/* --- percentiles */

/* The bucket in which the share p of the calls is reached. */
static size_t bucket_at(const struct diff_figure *f, double p)
{
	double rank = p * (double)f->n;
	uint64_t sum = 0;
	size_t i = 0;

	while (i + 1 < DIFF_BUCKETS && (double)(sum += f->buckets[i]) < rank)
		i++;
	return i;
}

/*
 * A share of calls t standard errors from the percentile's. Where durations are all but the same
 * and drift by a hundredth, nearly all calls may change sides, though none is much longer: a median
 * stays among the middle calls.
 */
static double share_at(const struct diff_figure *f, double t)
{
	double p = f->p + t * f->error;

	if (f->p != 0.5)
		return p;
	return p < 1 - DIFF_MIDDLE ? 1 - DIFF_MIDDLE : p > DIFF_MIDDLE ? DIFF_MIDDLE : p;
}

/* How far the logarithm may be below, or above, the figure's: t standard errors. */
static double distance_below(const struct diff_figure *f, double t)
{
	double p = share_at(f, -t), limit;

	if (!f->buckets)
		return t * f->error;
	if (p <= 0)
		return HUGE_VAL;
	limit = (double)diff_bucket_start(bucket_at(f, p));
	if (!(limit > 0))
		return HUGE_VAL;
	return limit < f->value ? diff_log(f->value) - diff_log(limit) : 0;
}

static double distance_above(const struct diff_figure *f, double t)
{
	double p = share_at(f, t), limit;

	if (!f->buckets)
		return t * f->error;
	if (p >= 1)
		return HUGE_VAL;
	limit = (double)diff_bucket_start(bucket_at(f, p) + 1);
	return limit > f->value ? diff_log(limit) - diff_log(f->value) : 0;
}

/* --- sides */

double diff_estimate_value(const struct diff_estimate *e)
{
	double sum = 0;

	for (size_t i = 0; i < e->count; i++)
		sum += e->figures[i].value;
	return e->count ? sum / (double)e->count : 0;
}

/* Within recordings, of the mean; distance is one of the two above. */
static double within(const struct diff_estimate *e, double t,
		     double (*distance)(const struct diff_figure *f, double t))
{
	double squares = 0, mean = diff_estimate_value(e);

	for (size_t i = 0; i < e->count; i++) {
		double d = mean > 0 && e->figures[i].value > 0 ?
			   distance(&e->figures[i], t) * e->figures[i].value / mean : 0;

		squares += d * d;
	}
	return sqrt(squares) / (double)e->count;
}

/* Squares of the logarithms' distances from their mean. */
static double between(const struct diff_estimate *e)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < e->count; i++)
		mean += diff_log(e->figures[i].value) / (double)e->count;
	for (size_t i = 0; i < e->count; i++) {
		double d = diff_log(e->figures[i].value) - mean;

		squares += d * d;
	}
	return squares;
}

/* Variance of the difference that lies between recordings; of one a side that of the prior. */
static double between_variance(const struct diff_estimate *a, const struct diff_estimate *b)
{
	double freedom = (double)(a->count + b->count - 2), variance;

	for (size_t i = 0; i < a->count; i++)
		if (!(a->figures[i].value > 0))
			return HUGE_VAL;
	for (size_t i = 0; i < b->count; i++)
		if (!(b->figures[i].value > 0))
			return HUGE_VAL;
	variance = (between(a) + between(b) + DIFF_PRIOR * a->prior * a->prior) / (freedom + DIFF_PRIOR);
	return variance * (1.0 / (double)a->count + 1.0 / (double)b->count);
}

static unsigned int freedom_of(const struct diff_estimate *a, const struct diff_estimate *b)
{
	unsigned int df = DIFF_CELLS;
	size_t runs = a->count + b->count;

	for (size_t i = 0; i < a->count; i++)
		df = a->figures[i].df < df ? a->figures[i].df : df;
	for (size_t i = 0; i < b->count; i++)
		df = b->figures[i].df < df ? b->figures[i].df : df;
	if (runs > 2 && df > runs - 2 + DIFF_PRIOR)
		df = (unsigned int)(runs - 2 + DIFF_PRIOR);
	df &= ~1u;
	return df < 2 ? 2 : df;
}

static struct diff_interval limits(const struct diff_estimate *before, const struct diff_estimate *after,
				   double t)
{
	double ratio = diff_log(diff_estimate_value(after)) - diff_log(diff_estimate_value(before));
	double variance = between_variance(before, after);
	double down = within(after, t, distance_below), up = within(after, t, distance_above);
	double down_too = within(before, t, distance_above), up_too = within(before, t, distance_below);

	bool alone = before->count + after->count == 2;
	double drift = alone ? DIFF_DRIFT : 1;

	/* The prior is not estimated from a few blocks: Student's longer tails are not its. */
	if (alone && t > DIFF_PRIOR_ERRORS)
		variance *= DIFF_PRIOR_ERRORS * DIFF_PRIOR_ERRORS / (t * t);
	down = sqrt(drift * (down * down + down_too * down_too) + t * t * variance);
	up = sqrt(drift * (up * up + up_too * up_too) + t * t * variance);
	return (struct diff_interval){ ratio - down, ratio + up };
}

static bool excludes(const struct diff_interval *i)
{
	return i->low > 0 || i->high < 0;
}

double diff_compare(const struct diff_estimate *before, const struct diff_estimate *after)
{
	double low = 0, high = T_MAX;

	for (int i = 0; i < HALVINGS; i++) {
		double t = (low + high) / 2;
		struct diff_interval interval = limits(before, after, t);

		if (excludes(&interval))
			low = t;
		else
			high = t;
	}
	return student_tail(low, freedom_of(before, after));
}

struct diff_interval diff_ratio_interval(const struct diff_estimate *before,
					 const struct diff_estimate *after, double alpha)
{
	double t = student_limit(alpha, freedom_of(before, after));
	struct diff_interval i = limits(before, after, t);

	return (struct diff_interval){ i.low == -HUGE_VAL ? 0 : diff_exp(i.low),
				       i.high == HUGE_VAL ? HUGE_VAL : diff_exp(i.high) };
}

double diff_lower_limit(const struct diff_estimate *e, double alpha)
{
	double down = within(e, student_limit(alpha, freedom_of(e, e)), distance_below);

	return down == HUGE_VAL ? 0 : diff_estimate_value(e) * diff_exp(-down);
}

/* --- one side only */

double diff_one_sided(unsigned int blocks, double share)
{
	double p = 1;

	for (unsigned int i = 0; i < blocks; i++)
		p *= share;
	return 2 * p < 1 ? 2 * p : 1;
}

/* With k of k draws on this side, its share of the draws is at least (alpha / 2)^(1 / k). */
double diff_one_sided_limit(unsigned int blocks, double share, double alpha)
{
	double least = blocks ? diff_exp(diff_log(alpha / 2) / blocks) : 0;

	return least / (1 - least) * (1 - share) / share;
}

/* --- all comparisons */

struct ranked { double p; size_t place; };

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

int diff_holm(const double *p, size_t count, double alpha, double *levels)
{
	struct ranked *order = malloc((count + 1) * sizeof(*order));
	bool stopped = false;
	size_t step = 0;

	if (!order)
		return ERROR_MEMORY;
	for (size_t i = 0; i < count; i++)
		order[i] = (struct ranked){ p[i], i };
	if (count)
		qsort(order, count, sizeof(*order), by_p);
	/* From the first that fails on, all are judged at its level. */
	for (size_t i = 0; i < count; i++) {
		step = stopped ? step : i;
		levels[order[i].place] = alpha / (double)(count - step);
		stopped |= order[i].p > alpha / (double)(count - step);
	}
	free(order);
	return 0;
}
