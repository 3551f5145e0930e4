// SPDX-License-Identifier: BSD-2-Clause
/*
 * Why a figure changed: from where the pacing threads' time went on either side, by step, or by
 * call of an operation. Time is told apart by what it was and by who had it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "chain_text.h"
#include "diff_private.h"
#include "fmt.h"
#include "words.h"

#define PACERS 8		/* as many mains as diff_account.c looks at */
#define NAMED_MIN 0.2		/* of a difference: a part of it that is named */
#define RENAMED_MOST 1.5	/* how far the rates of one operation may be apart by two names */

/* Three digits of a number below 10^12. */
static const char *figures(char buf[FMT_SIZE], double value)
{
	return fmt_figures(buf, (unsigned __int128)(value * 1e6 + 0.5), 1000000);
}

const char *diff_number(char buf[DIFF_NUMBER], enum diff_unit unit, double value)
{
	char text[FMT_SIZE];

	if (unit == DIFF_UNIT_NS)
		snprintf(buf, DIFF_NUMBER, "%s", fmt_ns(text, (uint64_t)(value + 0.5)));
	else if (unit == DIFF_UNIT_SHARE)
		snprintf(buf, DIFF_NUMBER, "%s",
			 fmt_percent(text, (uint64_t)(value * 1e6 + 0.5), 1000000));
	else
		snprintf(buf, DIFF_NUMBER, "%s", value > 0 ? figures(text, value) : "0");
	return buf;
}

const char *diff_times(char buf[DIFF_NUMBER], double ratio)
{
	char text[FMT_SIZE];

	if (ratio >= 100)
		snprintf(buf, DIFF_NUMBER, "x%s", fmt_count(text, (uint64_t)(ratio + 0.5)));
	else
		snprintf(buf, DIFF_NUMBER, "x%s",
			 fmt_fixed(text, (uint64_t)(ratio * 1e6 + 0.5), 1000000,
				   ratio < 10 ? 2 : 1));
	return buf;
}

const char *diff_signed_ns(char buf[DIFF_NUMBER], double ns)
{
	char text[FMT_SIZE];

	snprintf(buf, DIFF_NUMBER, "%c%s", ns < 0 ? '-' : '+',
		 fmt_ns(text, (uint64_t)(fabs(ns) + 0.5)));
	return buf;
}

/* --- the account of a step */

static double steps_of(const struct diff *d, const struct diff_run *run)
{
	const struct diff_operation *o = *d->step ? diff_operation(run, d->step) : NULL;
	double looked_at = run->mains > PACERS ? (double)PACERS / run->mains : 1;

	if (o)
		return (double)o->calls * looked_at;
	return diff_span(run) * 1e-9 * (run->mains ? run->mains : 1) * looked_at;
}

/* What it was: work by where it was done, all else by what was waited for and who had the time. */
static void describe(const struct diff_run *run, const struct diff_share *s,
		     char place[DIFF_SUBJECT], char what[DIFF_SUBJECT])
{
	const char *name = s->operation == DIFF_BETWEEN ? "between calls" :
							  run->operations[s->operation].name;
	bool work = s->kind == CAUSE_OWN_WORK || s->kind == CAUSE_DEVICE ||
		    s->kind == CAUSE_PAGE_ALLOCATION;
	bool by_name = *s->who && !work && s->kind != CAUSE_WAKE_LATENCY && s->kind != CAUSE_NONE &&
		       s->kind != CAUSE_INITIALISATION && s->kind != CAUSE_CPU_QUOTA;

	snprintf(place, DIFF_SUBJECT, "%s", work ? name : "");
	if (s->kind == CAUSE_PEER_WORK && *s->who)
		snprintf(what, DIFF_SUBJECT, "waiting for %s at work", s->who);
	else
		snprintf(what, DIFF_SUBJECT, "%s%s%s",
			 s->kind == CAUSE_NONE ? "blocked" : chain_class(s->kind),
			 by_name ? ": " : "", by_name ? s->who : "");
}

static struct diff_part *part_slot(struct diff_part **list, size_t *count, size_t *capacity,
				   const char *place, const char *what)
{
	struct diff_part *parts = *list;

	for (size_t i = 0; i < *count; i++)
		if (!strcmp(parts[i].place, place) && !strcmp(parts[i].what, what))
			return &parts[i];
	parts = array_reserve(*list, capacity, *count + 1, sizeof(*parts));
	if (!parts)
		return NULL;
	*list = parts;
	parts += (*count)++;
	memset(parts, 0, sizeof(*parts));
	snprintf(parts->place, sizeof(parts->place), "%s", place);
	snprintf(parts->what, sizeof(parts->what), "%s", what);
	return parts;
}

static int by_difference(const void *a, const void *b)
{
	const struct diff_part *x = a, *y = b;
	double p = fabs(x->after - x->before), q = fabs(y->after - y->before);

	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(x->place, y->place) ? strcmp(x->place, y->place) : strcmp(x->what, y->what);
}

/* Which shares make up an account, and by how many each is divided. */
struct step_account {
	const struct diff *d;
	const char *operation;		/* NULL: a step's, of all of them */
	enum diff_calls of;
	struct diff_part *parts; size_t count, capacity;
	double sum[2];
	double windows[2];
};

static double divisor(const struct step_account *a, const struct diff_run *run)
{
	if (!a->operation)
		return steps_of(a->d, run);
	for (size_t i = 0; i < run->place_count; i++) {
		const struct diff_place *p = &run->places[i];

		if (p->operation != DIFF_BETWEEN && p->of == a->of &&
		    !strcmp(run->operations[p->operation].name, a->operation))
			return (double)p->windows;
	}
	return 0;
}

static bool belongs(const struct step_account *a, const struct diff_run *run,
		    const struct diff_share *s)
{
	if (!a->operation)
		return s->of == DIFF_ALL_CALLS;
	return s->of == a->of && s->operation != DIFF_BETWEEN &&
	       !strcmp(run->operations[s->operation].name, a->operation);
}

/* by: steps or calls of all recordings of the side. */
static int add_run(struct step_account *a, const struct diff_run *run, unsigned int side, double by)
{
	for (size_t i = 0; i < run->share_count && by > 0; i++) {
		const struct diff_share *s = &run->shares[i];
		char place[DIFF_SUBJECT], what[DIFF_SUBJECT];
		struct diff_part *part;
		double ns = (double)s->ns / by;

		if (!belongs(a, run, s))
			continue;
		describe(run, s, place, what);
		part = part_slot(&a->parts, &a->count, &a->capacity, a->operation ? "" : place,
				 what);
		if (!part)
			return ERROR_MEMORY;
		*(side ? &part->after : &part->before) += ns;
		a->sum[side] += ns;
	}
	return 0;
}

static int make_account(struct step_account *a, const struct diff_input *in)
{
	int ret = 0;

	for (unsigned int k = 0; k < 2; k++) {
		for (size_t i = 0; i < in->counts[k]; i++)
			a->windows[k] += divisor(a, in->runs[k][i]);
		for (size_t i = 0; i < in->counts[k] && !ret; i++)
			ret = add_run(a, in->runs[k][i], k, a->windows[k]);
	}
	if (a->count)
		qsort(a->parts, a->count, sizeof(*a->parts), by_difference);
	return ret;
}

/* "of +1.20 ms a step: own work between calls +1.10 ms, ..." */
static void tell(const struct step_account *a, const char *each, char *out, size_t size)
{
	double change = a->sum[1] - a->sum[0];
	char buf[DIFF_NUMBER];
	struct words w;
	unsigned int named = 0;

	words_begin(&w, out, size);
	if (!a->windows[0] || !a->windows[1] || change == 0)
		return;
	words_add(&w, "of %s %s", diff_signed_ns(buf, change), each);
	for (size_t i = 0; i < a->count && named < 3; i++) {
		const struct diff_part *p = &a->parts[i];
		double part = p->after - p->before;

		if ((part > 0) != (change > 0) || fabs(part) < NAMED_MIN * fabs(change))
			continue;
		words_add(&w, "%s %s%s%s %s", named++ ? "," : ":", p->what, *p->place ? " in " : "",
			  strcmp(p->place, "between calls") ? p->place : "gaps between calls",
			  diff_signed_ns(buf, part));
	}
	if (!named)
		out[0] = '\0';
}

static int explain_step(struct diff *d, const struct diff_input *in, char *why, size_t size)
{
	struct step_account a = { .d = d };
	int ret = make_account(&a, in);

	d->parts = a.parts;
	d->part_count = a.count;
	d->part_capacity = a.capacity;
	d->step_ns[0] = a.sum[0];
	d->step_ns[1] = a.sum[1];
	tell(&a, *d->step ? "a step" : "a second", why, size);
	return ret;
}

static int explain_calls(const struct diff *d, const struct diff_input *in,
			 struct diff_change *change, enum diff_calls of)
{
	struct step_account a = { .d = d, .operation = change->subject, .of = of };
	int ret = make_account(&a, in);

	tell(&a, of == DIFF_SLOWEST_CALLS ? "a call among the slowest 1 %" : "a usual call",
	     change->why, sizeof(change->why));
	free(a.parts);
	return ret;
}

/* --- sentences for the other figures */

static const struct diff_operation *any_operation(const struct diff_input *in, const char *name)
{
	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < in->counts[k]; i++) {
			const struct diff_operation *o = diff_operation(in->runs[k][i], name);

			if (o && o->calls)
				return o;
		}
	return NULL;
}

static const struct diff_change *pace_of(const struct diff *d)
{
	for (size_t i = 0; i < d->change_count; i++)
		if (!strcmp(d->changes[i].metric, "pace"))
			return &d->changes[i];
	return NULL;
}

/* The operation of the other side only that may be the same by another name. */
static const struct diff_change *renamed(const struct diff *d, const struct diff_input *in,
					 const struct diff_change *change)
{
	const struct diff_operation *o = any_operation(in, change->subject), *other;
	const struct diff_change *pace = pace_of(d);
	double faster = pace && pace->ratio > 0 ? pace->ratio : 1;

	for (size_t i = 0; i < d->change_count && o; i++) {
		const struct diff_change *c = &d->changes[i];
		double one = change->before + change->after / faster;
		double two = c->before + c->after / faster;

		if (strcmp(c->metric, "calls_per_second") ||
		    (c->before > 0) == (change->before > 0) ||
		    (c->after > 0) == (change->after > 0) || !c->significant)
			continue;
		other = any_operation(in, c->subject);
		if (other && other->category == o->category && other->layer == o->layer &&
		    one < two * RENAMED_MOST && two < one * RENAMED_MOST)
			return c;
	}
	return NULL;
}

static void explain_one_sided(const struct diff *d, const struct diff_input *in,
			      struct diff_change *change)
{
	const struct diff_change *other = change->significant ? renamed(d, in, change) : NULL;

	if (other)
		snprintf(change->why, sizeof(change->why), "perhaps renamed: %.100s %s",
			 other->subject, change->after > 0 ? "is gone" : "is new");
	else if (change->significant)
		snprintf(change->why, sizeof(change->why), "%s",
			 change->after > 0 ? "was not called before" : "is not called any more");
	else
		snprintf(change->why, sizeof(change->why), "on one side only, too rare to tell");
}

/* Who the role waited for: the largest part of the step's account that is a wait for a CPU. */
static void explain_waiting(const struct diff *d, struct diff_change *change)
{
	char buf[DIFF_NUMBER];

	for (size_t i = 0; i < d->part_count; i++)
		if (!strncmp(d->parts[i].what, "waiting for a CPU", 17) &&
		    !strcmp(change->subject, "main")) {
			snprintf(change->why, sizeof(change->why), "%s %s %s", d->parts[i].what,
				 diff_signed_ns(buf, d->parts[i].after - d->parts[i].before),
				 *d->step ? "a step" : "a second");
			return;
		}
}

/* Chains are the same whoever it is outside the tree; people want the name. */
static void name_outsider(struct diff_change *change, const struct diff_chain *c)
{
	char *others = strstr(change->name, "others outside the tree");

	if (others && *c->outsider)
		snprintf(others, sizeof(change->name) - (size_t)(others - change->name),
			 "%s outside the tree", c->outsider);
}

static void explain_chain(const struct diff_input *in, struct diff_change *change)
{
	unsigned int k = change->after > 0;

	for (size_t i = 0; i < in->counts[k]; i++)
		for (size_t n = 0; n < in->runs[k][i]->chain_count; n++)
			if (!strcmp(in->runs[k][i]->chains[n].label, change->subject)) {
				const struct diff_chain *c = &in->runs[k][i]->chains[n];

				snprintf(change->why, sizeof(change->why), "%s", c->why);
				name_outsider(change, c);
				return;
			}
}

static int explain(struct diff *d, const struct diff_input *in, struct diff_change *change,
		   const char *step_why)
{
	const char *metric = change->metric;

	if (!strcmp(metric, "pace") || !strcmp(metric, "starved"))
		snprintf(change->why, sizeof(change->why), "%s", step_why);
	else if (!strcmp(metric, "calls_per_second") && !(change->before > 0 && change->after > 0))
		explain_one_sided(d, in, change);
	else if (!strcmp(metric, "waiting"))
		explain_waiting(d, change);
	else if (change->section == DIFF_CHAINS)
		explain_chain(in, change);
	else if (!strcmp(metric, "p50"))
		return explain_calls(d, in, change, DIFF_USUAL_CALLS);
	else if (!strcmp(metric, "p95") || !strcmp(metric, "p99"))
		return explain_calls(d, in, change, DIFF_SLOWEST_CALLS);
	return 0;
}

int diff_explain(struct diff *d, const struct diff_input *in)
{
	char step_why[DIFF_WHY];
	int ret = explain_step(d, in, step_why, sizeof(step_why));

	for (size_t i = 0; i < d->change_count && !ret; i++) {
		struct diff_change *change = &d->changes[i];
		bool one_sided = !(change->before > 0 && change->after > 0);

		if (change->significant || one_sided)
			ret = explain(d, in, change, step_why);
		if (change->follows && !change->why[0])
			snprintf(change->why, sizeof(change->why), "follows the pace");
	}
	return ret;
}

/* --- the verdict */

/* What is said first of all that changed. */
static int importance(const struct diff_change *c)
{
	if (!c->significant || c->follows || !strcmp(c->metric, "pace"))
		return 0;
	if (!strcmp(c->metric, "calls_per_second"))
		return !(c->before > 0 && c->after > 0) ? 9 : 3;
	if (!strcmp(c->metric, "calls_per_step"))
		return 8;
	if (!strcmp(c->metric, "processes"))
		return 7;
	if (!strcmp(c->metric, "p50"))
		return 6;
	if (!strcmp(c->metric, "waiting") || c->section == DIFF_CHAINS)
		return 5;
	if (!strcmp(c->metric, "p99") || !strcmp(c->metric, "starved"))
		return 4;
	return 2;
}

static void phrase(struct words *w, const struct diff_change *c, const char *before)
{
	char old[DIFF_NUMBER], new[DIFF_NUMBER], times[DIFF_NUMBER];
	static const struct { const char *metric, *text; } texts[] = {
		{ "calls_per_second", "calls a second" }, { "calls_per_step", "calls a step" },
		{ "p50", "p50" }, { "p95", "p95" }, { "p99", "p99" },
		{ "share", "share of the time" },
		{ "processes", "" }, { "switches_per_second", "context switches a second" },
		{ "switches_per_call", "context switches a call" },
		{ "pages_per_second", "pages a second" },
		{ "pages_per_call", "pages a call" }, { "running", "CPUs used" },
		{ "waiting", "threads waiting for a CPU" }, { "off_cpu_share", "off-CPU share" },
		{ "starved", "without work" }, { "lost_share", "lost share" },
	};
	const char *text = c->metric;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		text = strcmp(texts[i].metric, c->metric) ? text : texts[i].text;
	if (!strcmp(c->metric, "calls_per_second") && !(c->before > 0)) {
		words_item(w, before, "%s is new", c->subject);
	} else if (!strcmp(c->metric, "calls_per_second") && !(c->after > 0)) {
		words_item(w, before, "%s is gone", c->subject);
	} else {
		words_item(w, before, "%s%s%s %s -> %s",
			   c->section == DIFF_CHAINS ? "lost to " : c->subject,
			   c->section == DIFF_CHAINS ? c->name : *text ? " " : "",
			   c->section == DIFF_CHAINS ? ":" : text,
			   diff_number(old, c->unit, c->before),
			   diff_number(new, c->unit, c->after));
		if (c->before > 0 && c->after > 0)
			words_add(w, " (%s)", diff_times(times, c->ratio));
	}
}

/* The most important ones, of any operation or role the first. */
static void say_others(const struct diff *d, struct words *w, const char *before)
{
	unsigned int said = 0;

	for (int level = 9; level > 0 && said < 3; level--)
		for (size_t i = 0; i < d->change_count && said < 3; i++)
			if (importance(&d->changes[i]) == level) {
				phrase(w, &d->changes[i], said ? "; " : before);
				said++;
			}
}

static void say_pace(const struct diff_change *pace, struct words *w)
{
	char old[DIFF_NUMBER], new[DIFF_NUMBER], times[DIFF_NUMBER];

	words_add(w, "%s: %s -> %s steps a second (%s)", pace->ratio < 1 ? "slower" : "faster",
		  diff_number(old, pace->unit, pace->before),
		  diff_number(new, pace->unit, pace->after), diff_times(times, pace->ratio));
	if (pace->why[0])
		words_add(w, "; %s", pace->why);
}

void diff_conclude(struct diff *d)
{
	const struct diff_change *pace = pace_of(d);
	char times[DIFF_NUMBER];
	struct words w;

	words_begin(&w, d->verdict, sizeof(d->verdict));
	if (!d->significant) {
		words_add(&w, "no significant change");
	} else if (pace && pace->significant) {
		say_pace(pace, &w);
		say_others(d, &w, "; ");
	} else {
		if (pace && pace->ratio > 0)
			words_add(&w, "the pace may be the same (%s), but ",
				  diff_times(times, pace->ratio));
		else
			words_add(&w, "changed: ");
		say_others(d, &w, "");
	}
	if (d->significant && d->load[0][0])
		words_add(&w, "; others used %s instead of %s CPUs", d->load[1], d->load[0]);
	if (d->sides[0].runs == 1 && d->sides[1].runs == 1)
		words_add(&w, "; between-run noise unknown: one recording a side");
}
