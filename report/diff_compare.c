// SPDX-License-Identifier: BSD-2-Clause
/* All comparisons of two sides: figures by name and role, their intervals, what is a change. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "diff_floor.h"
#include "diff_load.h"
#include "diff_private.h"
#include "diff_stat.h"

#define STEP_CALLS_MIN 20	/* of an operation that can be the step */
#define STEP_AGREES 0.05	/* how far its rate's logarithm may be from most operations' */
#define EVENTS_MIN 10		/* counts that an interval rests on */

/* Calls that a percentile's interval needs. */
static const uint64_t percentile_calls[DIFF_PERCENTILES] = { 20, 200, 1000 };
static const double percentiles[DIFF_PERCENTILES] = { 0.5, 0.95, 0.99 };

/* What a figure is made of, whichever recording it is of. */
struct subject {
	enum diff_metric metric;
	char name[DIFF_SUBJECT];
	enum diff_role role;
};

/* A comparison that is still to be judged. */
struct pending {
	size_t change;
	struct diff_figure *figures;	/* of before, then after */
	double p;
	bool one_sided;
	unsigned int blocks;		/* of the side it occurs on */
};

struct comparer {
	struct diff *d;
	const struct diff_input *in;
	struct pending *list; size_t count, capacity;
};

const struct diff_operation *diff_operation(const struct diff_run *run, const char *name)
{
	for (size_t i = 0; i < run->operation_count; i++)
		if (!strcmp(run->operations[i].name, name))
			return &run->operations[i];
	return NULL;
}

/* --- the step */

struct candidate { const struct diff_operation *operation; double change, total; };

static double calls_a_second(const struct diff_input *in, unsigned int side, const char *name,
			     double *calls)
{
	double sum = 0, span = 0;

	for (size_t i = 0; i < in->counts[side]; i++) {
		const struct diff_operation *o = diff_operation(in->runs[side][i], name);

		sum += o ? (double)o->calls : 0;
		span += diff_span(in->runs[side][i]);
	}
	*calls = sum;
	return span > 0 ? sum / span : 0;
}

static int by_change(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->change != y->change)
		return x->change < y->change ? -1 : 1;
	return strcmp(x->operation->name, y->operation->name);
}

/* Operations of both sides, by how their rates changed. */
static size_t find_candidates(const struct diff_input *in, struct candidate *list)
{
	const struct diff_run *first = in->runs[0][0];
	bool top = false;		/* there are operations that are not only nested */
	size_t n = 0;

	for (size_t i = 0; i < first->operation_count; i++)
		top |= first->operations[i].total > 0;
	for (size_t i = 0; i < first->operation_count; i++) {
		const struct diff_operation *o = &first->operations[i];
		double before, after, calls[2];

		before = calls_a_second(in, 0, o->name, &calls[0]);
		after = calls_a_second(in, 1, o->name, &calls[1]);
		if (calls[0] < STEP_CALLS_MIN || calls[1] < STEP_CALLS_MIN || !*o->name ||
		    (top && !o->total))
			continue;
		list[n++] = (struct candidate){ o, diff_log(after) - diff_log(before),
						(double)o->total };
	}
	if (n)
		qsort(list, n, sizeof(*list), by_change);
	return n;
}

/* The better reference: it waits for the device, it agrees with most, it takes more time. */
static bool better(const struct candidate *a, const struct candidate *b, double most)
{
	bool agrees = fabs(a->change - most) <= STEP_AGREES,
	     agreed = fabs(b->change - most) <= STEP_AGREES;

	if (agrees != agreed)
		return agrees;
	if (a->operation->waits != b->operation->waits)
		return a->operation->waits;
	return a->total > b->total;
}

int diff_find_step(struct diff *d, const struct diff_input *in)
{
	struct candidate *list = calloc(in->runs[0][0]->operation_count + 1, sizeof(*list));
	const struct candidate *best = NULL;
	size_t n = list ? find_candidates(in, list) : 0;

	d->step[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		/* Of two nobody knows which is as it was: then the one that waits. */
		double most = n > 2 ? list[(n - 1) / 2].change : list[i].change;

		if (!best || better(&list[i], best, n > 2 ? most : best->change))
			best = &list[i];
	}
	if (best)
		snprintf(d->step, sizeof(d->step), "%s", best->operation->name);
	free(list);
	return list ? 0 : ERROR_MEMORY;
}

/* --- figures */

static void set_time(const struct diff_run *run, struct diff_figure *f, double factor)
{
	for (size_t i = 0; i < DIFF_CELLS; i++)
		f->den[i] =
			(double)(diff_cell_start(run, i + 1) - diff_cell_start(run, i)) * factor;
}

static void set_counts(double *to, const uint32_t *from)
{
	for (size_t i = 0; i < DIFF_CELLS; i++)
		to[i] = (double)from[i];
}

static void set_sums(double *to, const uint64_t *from)
{
	for (size_t i = 0; i < DIFF_CELLS; i++)
		to[i] = (double)from[i];
}

static double sum_of(const double *cells)
{
	double sum = 0;

	for (size_t i = 0; i < DIFF_CELLS; i++)
		sum += cells[i];
	return sum;
}

/* value and error of num / den; false where den is 0. */
static bool finish(struct diff_figure *f)
{
	double den = sum_of(f->den);

	if (!(den > 0))
		return false;
	f->value = sum_of(f->num) / den;
	diff_figure_error(f);
	return true;
}

static double feeders(const struct diff_run *run)
{
	return run->mains ? run->mains : 1;
}

static bool percentile_figure(const struct diff_operation *o, unsigned int k, struct diff_figure *f)
{
	if (!o->n)
		return false;
	set_counts(f->num, o->cell_below[k]);
	set_counts(f->den, o->cell_n);
	f->buckets = o->buckets;
	f->n = f->events = o->n;
	f->p = percentiles[k];
	if (!finish(f))
		return false;
	f->value = (double)o->percentile[k];
	return true;
}

static bool operation_figure(const struct diff_run *run, const char *step, const struct subject *s,
			     struct diff_figure *f)
{
	const struct diff_operation *o = diff_operation(run, s->name),
				    *of = diff_operation(run, step);

	if (s->metric >= METRIC_P50 && s->metric <= METRIC_P99)
		return o && percentile_figure(o, s->metric - METRIC_P50, f);
	if (s->metric == METRIC_SHARE && o)
		set_sums(f->num, o->cell_total);
	else if (o)
		set_counts(f->num, o->cell_calls);
	if (s->metric == METRIC_CALLS_PER_STEP && of)
		set_counts(f->den, of->cell_calls);
	else if (s->metric == METRIC_SHARE)
		set_time(run, f, feeders(run));
	else if (s->metric != METRIC_CALLS_PER_STEP)
		set_time(run, f, 1e-9);
	f->events = o ? o->calls : 0;
	return finish(f);
}

static bool role_figure(const struct diff_run *run, const struct subject *s, struct diff_figure *f)
{
	const struct diff_role_sums *r = &run->roles[s->role];
	static const double a_second = 1e-9;

	set_time(run, f, 1);
	f->events = UINT64_MAX;
	switch (s->metric) {
	case METRIC_PROCESSES:
		set_sums(f->num, r->alive);
		break;
	case METRIC_SWITCHES_PER_SECOND:
	case METRIC_SWITCHES_PER_CALL:
		set_sums(f->num, r->switches);
		f->events = (uint64_t)sum_of(f->num);
		break;
	case METRIC_PAGES_PER_SECOND:
	case METRIC_PAGES_PER_CALL:
		set_sums(f->num, r->pages);
		f->events = (uint64_t)sum_of(f->num);
		break;
	case METRIC_RUNNING:
		set_sums(f->num, r->running);
		break;
	case METRIC_WAITING:
		set_sums(f->num, r->waiting);
		break;
	default:
		for (size_t i = 0; i < DIFF_CELLS; i++) {
			f->num[i] = (double)r->waiting[i] + (double)r->blocked[i];
			f->den[i] = f->num[i] + (double)r->running[i];
		}
		break;
	}
	if (s->metric == METRIC_SWITCHES_PER_SECOND || s->metric == METRIC_PAGES_PER_SECOND)
		set_time(run, f, a_second);
	if (s->metric == METRIC_SWITCHES_PER_CALL || s->metric == METRIC_PAGES_PER_CALL)
		set_sums(f->den, run->cell_calls);
	return finish(f);
}

static bool lost_figure(const struct diff_run *run, const struct subject *s, struct diff_figure *f)
{
	set_time(run, f, feeders(run));
	f->events = UINT64_MAX;
	if (s->metric == METRIC_STARVED)
		set_sums(f->num, run->starved);
	for (size_t i = 0; s->metric == METRIC_LOST_SHARE && i < run->chain_count; i++)
		if (!strcmp(run->chains[i].label, s->name))
			set_sums(f->num, run->chains[i].cell_lost);
	return finish(f);
}

static bool make_figure(const struct comparer *c, const struct diff_run *run,
			const struct subject *s, struct diff_figure *f)
{
	memset(f, 0, sizeof(*f));
	switch (diff_metrics[s->metric].section) {
	case DIFF_PACE:
	case DIFF_OPERATIONS:
		return operation_figure(run, c->d->step, s, f);
	case DIFF_ROLES:
		return role_figure(run, s, f);
	default:
		return lost_figure(run, s, f);
	}
}

/* --- one comparison */

static struct diff_estimate side(const struct comparer *c, const struct pending *p,
				 unsigned int which)
{
	const struct diff_change *change = &c->d->changes[p->change];
	double prior = 0;

	for (size_t i = 0; i < METRIC_LIMIT; i++)
		if (diff_metrics[i].name == change->metric)
			prior = diff_metrics[i].between;
	return (struct diff_estimate){ p->figures + (which ? c->in->counts[0] : 0),
				       c->in->counts[which], prior };
}

static bool enough(const struct subject *s, const struct diff_estimate *e)
{
	uint64_t least = EVENTS_MIN;

	if (s->metric >= METRIC_P50 && s->metric <= METRIC_P99)
		least = percentile_calls[s->metric - METRIC_P50];
	for (size_t i = 0; i < e->count; i++)
		if (e->figures[i].events < least)
			return false;
	return true;
}

/* Whether what the figure rests on was lost to an extent that matters. */
static bool lossy(const struct comparer *c, const struct subject *s)
{
	enum diff_section section = diff_metrics[s->metric].section;

	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < c->in->counts[k]; i++) {
			const struct diff_run *run = c->in->runs[k][i];
			bool calls = section != DIFF_ROLES ||
				     s->metric == METRIC_SWITCHES_PER_CALL ||
				     s->metric == METRIC_PAGES_PER_CALL;

			if ((calls && run->calls_lossy) ||
			    (section == DIFF_CHAINS && run->cannot_tell) ||
			    (section == DIFF_ROLES && run->switches_lossy))
				return true;
		}
	return false;
}

/* The share of the steps, without any of the time, of both sides that a side has. */
static double share_of(const struct comparer *c, unsigned int which)
{
	double sums[2] = { 0 };

	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < c->in->counts[k]; i++) {
			const struct diff_operation *o =
				diff_operation(c->in->runs[k][i], c->d->step);

			if (!*c->d->step)
				sums[k] += diff_span(c->in->runs[k][i]);
			else if (o)
				sums[k] += (double)o->calls;
		}
	return sums[which] / (sums[0] + sums[1]);
}

/* Blocks with the operation, independent of each other: as long as its calls a step. */
static unsigned int blocks_of(const struct comparer *c, const struct subject *s, unsigned int which)
{
	struct subject each = *s;
	struct diff_figure f;
	unsigned int blocks = 0;

	each.metric = *c->d->step ? METRIC_CALLS_PER_STEP : METRIC_CALLS_PER_SECOND;
	for (size_t i = 0; i < c->in->counts[which]; i++)
		if (make_figure(c, c->in->runs[which][i], &each, &f))
			blocks += diff_figure_blocks(&f);
	return blocks;
}

/* A figure that one side has not is taken for the least that counts, known exactly. */
static void stand_in(struct diff_figure *figures, size_t count, double value)
{
	for (size_t i = 0; i < count; i++) {
		memset(&figures[i], 0, sizeof(figures[i]));
		figures[i].value = value;
		figures[i].df = DIFF_CELLS - 2;
		figures[i].block = 1;
	}
}

static void set_floor(struct diff_change *change, const struct diff_metric_row *row)
{
	double least = change->before < change->after ? change->before : change->after;

	change->floor = row->ratio;
	change->floor_absolute = row->absolute;
	if (least > 0 && 1 + row->absolute / least > change->floor)
		change->floor = 1 + row->absolute / least;
}

/* Fill in what can be said before all comparisons are known. */
static void prepare(const struct comparer *c, const struct subject *s, struct pending *p)
{
	struct diff_change *change = &c->d->changes[p->change];
	struct diff_estimate before = side(c, p, 0), after = side(c, p, 1);
	unsigned int only = change->before > 0 ? 0 : 1;
	bool both = change->before > 0 && change->after > 0;
	const struct diff_estimate *there = only ? &after : &before;

	change->p = 1;
	if (lossy(c, s) || !(both ? enough(s, &before) && enough(s, &after) : true))
		return;
	if (!both && s->metric == METRIC_CALLS_PER_SECOND) {
		p->one_sided = true;
		p->blocks = blocks_of(c, s, only);
		change->p = diff_one_sided(p->blocks, share_of(c, only));
		change->interval_known = p->blocks > 0;
		return;
	}
	/* What is less than what counts at all says nothing. */
	if (!both && (change->before + change->after <= change->floor_absolute ||
		      !enough(s, there) || change->floor_absolute <= 0))
		return;
	if (!both)
		stand_in(p->figures + (only ? 0 : c->in->counts[0]), c->in->counts[!only],
			 change->floor_absolute);
	before = side(c, p, 0);
	after = side(c, p, 1);
	change->p = diff_compare(&before, &after);
	change->interval_known = true;
}

static bool make_figures(const struct comparer *c, const struct subject *s,
			 struct diff_figure *figures)
{
	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < c->in->counts[k]; i++)
			if (!make_figure(c, c->in->runs[k][i], s, figures++))
				return false;
	return true;
}

static int compare(struct comparer *c, const struct subject *s)
{
	size_t runs = c->in->counts[0] + c->in->counts[1];
	const struct diff_metric_row *row = &diff_metrics[s->metric];
	struct diff_figure *figures = malloc(runs * sizeof(*figures));
	struct pending *list = array_reserve(c->list, &c->capacity, c->count + 1, sizeof(*list));
	struct diff *d = c->d;
	struct diff_change *changes = array_reserve(d->changes, &d->change_capacity,
						    d->change_count + 1, sizeof(*changes)),
			   *change;

	c->list = list ? list : c->list;
	d->changes = changes ? changes : d->changes;
	if (!figures || !list || !changes)
		return free(figures), ERROR_MEMORY;
	if (!make_figures(c, s, figures))
		return free(figures), 0;
	change = &changes[d->change_count];
	*change = (struct diff_change){ .section = row->section, .metric = row->name,
					.title = row->title, .unit = row->unit };
	snprintf(change->subject, sizeof(change->subject), "%s", s->name);
	snprintf(change->name, sizeof(change->name), "%s", s->name);
	list[c->count] = (struct pending){ .change = d->change_count, .figures = figures };
	change->before =
		diff_estimate_value(&(struct diff_estimate){ figures, c->in->counts[0], 0 });
	change->after = diff_estimate_value(&(struct diff_estimate){ figures + c->in->counts[0],
								      c->in->counts[1], 0 });
	if (!(change->before > 0) && !(change->after > 0))
		return free(figures), 0;
	change->ratio = change->before > 0 ? change->after / change->before : 0;
	d->change_count++;
	c->count++;
	set_floor(change, row);
	prepare(c, s, &list[c->count - 1]);
	return 0;
}

/* --- all of them */

static int compare_operation(struct comparer *c, const char *name)
{
	struct subject s = { .metric = METRIC_CALLS_PER_SECOND };
	double calls[2];
	int ret;

	snprintf(s.name, sizeof(s.name), "%s", name);
	calls_a_second(c->in, 0, name, &calls[0]);
	calls_a_second(c->in, 1, name, &calls[1]);
	if (calls[0] <= 0 && calls[1] <= 0)
		return 0;
	ret = compare(c, &s);
	if (calls[0] <= 0 || calls[1] <= 0)
		return ret;
	for (s.metric++; s.metric <= METRIC_SHARE && !ret; s.metric++)
		if (s.metric != METRIC_CALLS_PER_STEP || (*c->d->step && strcmp(c->d->step, name)))
			ret = compare(c, &s);
	return ret;
}

static bool known_before(const struct comparer *c, unsigned int side_number, size_t run,
			 size_t operation)
{
	const char *name = c->in->runs[side_number][run]->operations[operation].name;

	for (unsigned int k = 0; k <= side_number; k++)
		for (size_t i = 0; i < (k == side_number ? run : c->in->counts[k]); i++)
			if (diff_operation(c->in->runs[k][i], name))
				return true;
	return false;
}

static int compare_operations(struct comparer *c)
{
	int ret = 0;

	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < c->in->counts[k]; i++)
			for (size_t o = 0; o < c->in->runs[k][i]->operation_count && !ret; o++)
				if (!known_before(c, k, i, o))
					ret = compare_operation(c,
						c->in->runs[k][i]->operations[o].name);
	return ret;
}

static int compare_roles(struct comparer *c)
{
	static const char *const names[] = {
		[DIFF_MAIN] = "main", [DIFF_WORKERS] = "workers", [DIFF_HELPERS] = "helpers" };
	int ret = 0;

	for (unsigned int role = 0; role < DIFF_ROLES_COUNT; role++) {
		struct subject s = { .role = role, .metric = METRIC_PROCESSES };

		snprintf(s.name, sizeof(s.name), "%s", names[role]);
		for (; s.metric <= METRIC_OFF_CPU_SHARE && !ret; s.metric++)
			ret = compare(c, &s);
	}
	return ret;
}

static int compare_starvation(struct comparer *c)
{
	struct subject s = { .metric = METRIC_STARVED, .name = "device" };

	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < c->in->counts[k]; i++)
			if (!c->in->runs[k][i]->starvation_known)
				return 0;
	return compare(c, &s);
}

static bool chain_compared(const struct comparer *c, const char *label)
{
	for (size_t i = 0; i < c->d->change_count; i++)
		if (c->d->changes[i].section == DIFF_CHAINS &&
		    !strcmp(c->d->changes[i].subject, label))
			return true;
	return false;
}

static int compare_chains(struct comparer *c)
{
	int ret = 0;

	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < c->in->counts[k]; i++)
			for (size_t n = 0; n < c->in->runs[k][i]->chain_count && !ret; n++) {
				struct subject s = { .metric = METRIC_LOST_SHARE };

				snprintf(s.name, sizeof(s.name), "%s",
					 c->in->runs[k][i]->chains[n].label);
				if (!chain_compared(c, s.name))
					ret = compare(c, &s);
			}
	return ret;
}

/* --- judgement */

static bool beyond_floor(const struct diff_change *change)
{
	if (!(change->before > 0) || !(change->after > 0))
		return true;
	return change->ratio >= change->floor || change->ratio <= 1 / change->floor;
}

static void set_interval(const struct comparer *c, const struct pending *p, double level)
{
	struct diff_change *change = &c->d->changes[p->change];
	struct diff_estimate before = side(c, p, 0), after = side(c, p, 1);
	struct diff_interval i = { 0, HUGE_VAL };
	unsigned int only = change->before > 0 ? 0 : 1;
	double limit;

	if (!p->one_sided) {
		i = diff_ratio_interval(&before, &after, level);
	} else {
		limit = diff_one_sided_limit(p->blocks, share_of(c, only), level);
		i.low = limit;
		i.high = limit > 0 ? 1 / limit : HUGE_VAL;
	}
	/* Where a side is 0 nothing bounds the ratio from there. */
	change->low = change->after > 0 ? i.low : 0;
	change->high = change->before > 0 ? i.high : HUGE_VAL;
}

static int judge(struct comparer *c)
{
	double *p = malloc((c->count + 1) * sizeof(*p)),
	       *levels = malloc((c->count + 1) * sizeof(*levels));
	size_t n = 0;
	int ret = p && levels ? 0 : ERROR_MEMORY;

	for (size_t i = 0; i < c->count && !ret; i++)
		if (c->d->changes[c->list[i].change].interval_known)
			p[n++] = c->d->changes[c->list[i].change].p;
	c->d->tested = n;
	if (!ret)
		ret = diff_holm(p, n, DIFF_ALPHA, levels);
	n = 0;
	for (size_t i = 0; i < c->count && !ret; i++) {
		struct diff_change *change = &c->d->changes[c->list[i].change];

		if (!change->interval_known)
			continue;
		set_interval(c, &c->list[i], levels[n]);
		change->significant = change->p <= levels[n] && beyond_floor(change);
		c->d->significant += change->significant;
		n++;
	}
	free(p);
	free(levels);
	return ret;
}

static struct diff_change *change_of(struct diff *d, const char *metric, const char *subject)
{
	for (size_t i = 0; i < d->change_count; i++)
		if (!strcmp(d->changes[i].metric, metric) &&
		    !strcmp(d->changes[i].subject, subject))
			return &d->changes[i];
	return NULL;
}

/* A rate that changed with the pace, and not by the step. */
static void mark_followers(struct diff *d)
{
	const struct diff_change *pace = *d->step ? change_of(d, "pace", d->step) : NULL;

	for (size_t i = 0; i < d->change_count; i++) {
		struct diff_change *change = &d->changes[i];
		const struct diff_change *each = NULL;

		if (!change->significant || !(change->ratio > 0))
			continue;
		if (!strcmp(change->metric, "calls_per_second") &&
		    !strcmp(change->subject, d->step))
			change->follows = true;
		else if (!strcmp(change->metric, "calls_per_second"))
			each = change_of(d, "calls_per_step", change->subject);
		else if (!strcmp(change->metric, "switches_per_second"))
			each = change_of(d, "switches_per_call", change->subject);
		else if (!strcmp(change->metric, "pages_per_second"))
			each = change_of(d, "pages_per_call", change->subject);
		if (each && !each->significant && pace && pace->significant)
			change->follows = (change->ratio > 1) == (pace->ratio > 1);
	}
}

int diff_compare_all(struct diff *d, const struct diff_input *in)
{
	struct comparer c = { .d = d, .in = in };
	struct subject pace = { .metric = METRIC_PACE };
	int ret = 0;

	snprintf(pace.name, sizeof(pace.name), "%s", d->step);
	if (*d->step)
		ret = compare(&c, &pace);
	if (!ret)
		ret = compare_operations(&c);
	if (!ret)
		ret = compare_roles(&c);
	if (!ret)
		ret = compare_starvation(&c);
	if (!ret)
		ret = compare_chains(&c);
	if (!ret)
		ret = judge(&c);
	if (!ret)
		mark_followers(d);
	for (size_t i = 0; i < c.count; i++)
		free(c.list[i].figures);
	free(c.list);
	return ret;
}
