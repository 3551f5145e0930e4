// SPDX-License-Identifier: BSD-2-Clause
/* The statistics of a comparison, against tables and against many draws. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../report/diff_load.h"
#include "../../report/diff_stat.h"
#include "check.h"

static bool near(double got, double want, double tolerance)
{
	return fabs(got - want) <= tolerance * fabs(want);
}

static void test_functions(void)
{
	for (double x = 1e-9; x < 1e12; x *= 1.37) {
		CHECK(fabs(diff_log(x) - log(x)) < 1e-13);
		CHECK(near(diff_exp(diff_log(x)), x, 1e-12));
	}
	CHECK(diff_log(0) == -HUGE_VAL);
	CHECK(diff_exp(1000) == HUGE_VAL);
	CHECK(diff_exp(-1000) == 0);
}

static uint64_t state = 42;

static double draw(void)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		sum += (double)(state >> 40) / (1 << 24);
	}
	return sum - 6;
}

/* A rate of 100 with cells that depend on those before them by rho. */
static void fill(struct diff_figure *f, double rho)
{
	double x = draw() / sqrt(1 - rho * rho);

	memset(f, 0, sizeof(*f));
	for (unsigned int i = 0; i < DIFF_CELLS; i++) {
		f->num[i] = 100 + 10 * x;
		f->den[i] = 1;
		f->value += f->num[i] / DIFF_CELLS;
		x = rho * x + draw();
	}
	f->events = UINT64_MAX;
	diff_figure_error(f);
}

/* The standard error is that of the mean: of independent cells, and of such as are not. */
static void test_error(void)
{
	static const double rhos[] = { 0, 0.6 };
	double sum[2] = { 0 }, length[2] = { 0 };

	for (unsigned int k = 0; k < 2; k++)
		for (unsigned int i = 0; i < 60; i++) {
			struct diff_figure f;

			fill(&f, rhos[k]);
			sum[k] += f.error / 60;
			length[k] += f.block / 60.0;
		}
	CHECK(near(sum[0], 0.1 / sqrt(DIFF_CELLS), 0.15));
	CHECK(near(sum[1], 0.1 / 0.4 / sqrt(DIFF_CELLS), 0.25));
	CHECK(length[0] < 4);
	CHECK(length[1] > length[0] + 2);
}

/* Intervals hold the true ratio as often as they say, and more often for what a drift may do. */
static void test_coverage(void)
{
	unsigned int outside = 0, small = 0, wide = 0;

	for (unsigned int i = 0; i < 400; i++) {
		struct diff_figure a, b;
		struct diff_estimate before = { &a, 1, 0 }, after = { &b, 1, 0 };
		struct diff_interval limits;

		fill(&a, 0.3);
		fill(&b, 0.3);
		limits = diff_ratio_interval(&before, &after, 0.05);
		outside += limits.low > 1 || limits.high < 1;
		wide += limits.high > 1.25 * limits.low;
		small += diff_compare(&before, &after) < 0.05;
	}
	CHECK(outside <= 20);
	CHECK(wide < 40);
	/* What the interval leaves out is what the p value calls sure. */
	CHECK(outside == small);
}

static void test_student(void)
{
	struct diff_figure f = { .value = 1, .error = 1, .df = 10, .block = 1 };
	struct diff_estimate e = { &f, 1, 0 };

	/* t of 10 degrees of freedom: 2.228 at 5 %, 4.587 at 0.1 %. */
	CHECK(near(diff_lower_limit(&e, 0.05), exp(-2.22814), 1e-4));
	CHECK(near(diff_lower_limit(&e, 0.001), exp(-4.58689), 1e-4));
	CHECK(near(diff_lower_limit(&e, 1e-9), exp(-21.1), 0.9));
	f.df = 2;
	CHECK(near(diff_lower_limit(&e, 0.05), exp(-4.30265), 1e-4));
}

static void test_percentile(void)
{
	static uint64_t buckets[DIFF_BUCKETS];
	struct diff_figure a = { .p = 0.99, .error = 0.002, .df = 100, .block = 1, .buckets = buckets }, b;
	struct diff_estimate before = { &a, 1, 0 }, after = { &b, 1, 0 };
	struct diff_interval limits;

	for (uint64_t ns = 1; ns <= 100000; ns++)
		buckets[diff_bucket(ns)]++;
	a.n = 100000;
	a.value = 99000;
	b = a;
	limits = diff_ratio_interval(&before, &after, 0.05);
	CHECK(limits.low < 0.995 && limits.low > 0.98);
	CHECK(limits.high > 1.005 && limits.high < 1.02);
	/* More than 1 - p away there is no limit. */
	a.error = b.error = 0.006;
	limits = diff_ratio_interval(&before, &after, 0.05);
	CHECK(limits.low == 0 && limits.high == HUGE_VAL);
	for (uint64_t ns = 1; ns < 1000000; ns = ns * 5 / 4 + 1) {
		CHECK(diff_bucket_start(diff_bucket(ns)) <= ns);
		CHECK(diff_bucket_start(diff_bucket(ns) + 1) > ns);
		CHECK((diff_bucket_start(diff_bucket(ns) + 1) - 1 - diff_bucket_start(diff_bucket(ns))) * 127 <= ns);
	}
	CHECK(diff_bucket(UINT64_MAX) == DIFF_BUCKETS - 1);
}

/* Several recordings a side: what is between them widens the interval. */
static void test_between(void)
{
	struct diff_figure a[3], b[3];
	struct diff_estimate before = { a, 3, 0.01 }, after = { b, 3, 0.01 };
	struct diff_interval close, apart;

	for (unsigned int i = 0; i < 3; i++) {
		fill(&a[i], 0);
		fill(&b[i], 0);
	}
	close = diff_ratio_interval(&before, &after, 0.05);
	a[0].value *= 1.3;
	b[0].value *= 1.3;
	apart = diff_ratio_interval(&before, &after, 0.05);
	CHECK(close.low > 0.97 && close.high < 1.03);
	CHECK(apart.low < 0.9 && apart.high > 1.1);
	a[1].value = 0;
	CHECK(diff_compare(&before, &after) == 1);
}

static void test_one_sided(void)
{
	CHECK(near(diff_one_sided(10, 0.5), 2 * pow(0.5, 10), 1e-12));
	CHECK(diff_one_sided(0, 0.5) == 1);
	CHECK(diff_one_sided_limit(5, 0.5, 0.05) < 1);
	CHECK(diff_one_sided_limit(6, 0.5, 0.05) > 1);
	CHECK(diff_one_sided_limit(6, 0.75, 0.05) < 1);
}

static void test_holm(void)
{
	static const double p[] = { 0.04, 0.001, 0.03, 0.012 };
	double levels[4];

	CHECK(!diff_holm(p, 4, 0.05, levels));
	CHECK(near(levels[1], 0.0125, 1e-12));
	CHECK(near(levels[3], 0.05 / 3, 1e-12));
	/* 0.03 > 0.025: it and all after it fail at that level. */
	CHECK(near(levels[2], 0.025, 1e-12));
	CHECK(near(levels[0], 0.025, 1e-12));
	CHECK(!diff_holm(p, 0, 0.05, levels));
}

static void test_blocks(void)
{
	struct diff_figure f = { 0 };

	for (unsigned int i = 0; i < DIFF_CELLS; i++) {
		f.num[i] = i % 40 == 7;
		f.den[i] = 1;
	}
	diff_figure_error(&f);
	CHECK(diff_figure_blocks(&f) == 6);
	/* All of it at once is one event, not thirty. */
	for (unsigned int i = 0; i < DIFF_CELLS; i++)
		f.num[i] = i >= 100 && i < 130;
	diff_figure_error(&f);
	CHECK(f.clustered);
	CHECK(diff_figure_blocks(&f) <= 4);
}

int main(void)
{
	test_functions();
	test_student();
	test_error();
	test_coverage();
	test_percentile();
	test_between();
	test_one_sided();
	test_holm();
	test_blocks();
	return check_result();
}
