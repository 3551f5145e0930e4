// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where the time of the threads that set the pace went, call by call and gap by gap: each is taken
 * apart as the windows of chains are (blame.h), slow or not, so that two recordings can be compared
 * part by part. And, by cell, what chains lost and how long the device had no work.
 *
 * The pacing thread of a main process is the one with most calls that wait for the device (without
 * any, most calls). What of a call or gap lies in another span than its start is left out, which is
 * one at most in each span of some million rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advice.h"
#include "array.h"
#include "blame.h"
#include "chain_text.h"
#include "diff_load.h"
#include "fmt.h"
#include "windows_private.h"

#define PACERS_MAX 8			/* of the mains with most calls */
#define SLOWEST_MIN 100			/* calls, of which the slowest hundredth stand apart */

/* first: start of its first call in later spans. */
struct pacer { uint32_t process, thread; uint64_t first; };

struct loader {
	struct diff_run *run;
	struct report *report;
	struct pacer pacers[PACERS_MAX]; size_t pacer_count;
	uint32_t *place;		/* by operation: among those called */
	uint32_t *called; size_t called_count;	/* operations; the last one DIFF_BETWEEN */
	struct windows found;		/* slow calls, gaps, idle stretches, as chains have them */
	struct windows own;		/* groups of what is taken apart */
	struct window_calls calls;
	struct timeline timeline;
	struct blame blame;
	struct window *list; size_t list_count, list_capacity;
	uint64_t *wanted;		/* groups of found */
	uint64_t (*cells)[DIFF_CELLS];	/* what each chain lost; the small ones after the others */
};

/* --- names that mean the same in another recording */

static const char *who(const struct report *r, uint32_t process, uint32_t thread, uint32_t pacer,
		       char buf[DIFF_LABEL])
{
	const struct process *p = &r->tasks.processes[process];
	char name[32];

	buf[0] = '\0';
	if (process == TASKS_UNKNOWN)
		return buf;
	fmt_text(name, sizeof(name), p->name, 24);
	if (p->recorder)
		snprintf(buf, DIFF_LABEL, "the recorder");
	else if (p->kernel)
		snprintf(buf, DIFF_LABEL, "kernel threads");
	else if (!p->in_tree)
		snprintf(buf, DIFF_LABEL, "%s outside the tree", name);
	else if (r->roles.processes[process].role == ROLE_WORKER)
		snprintf(buf, DIFF_LABEL, "workers");
	else if (r->roles.processes[process].role != ROLE_MAIN)
		snprintf(buf, DIFF_LABEL, "%s", name);
	else if (thread == TASKS_NONE || thread == pacer)
		snprintf(buf, DIFF_LABEL, "main");
	else
		snprintf(buf, DIFF_LABEL, "main's thread %s",
			 fmt_text(name, sizeof(name), r->tasks.threads[thread].name, 24));
	return buf;
}

/* A class of lost time, and whose doing it was where that is somebody else. */
static void name_cause(const struct report *r, const struct chain *c, const struct cause *cause,
		       char label[2 * DIFF_LABEL])
{
	const struct process *p = &r->tasks.processes[cause->process];
	char name[DIFF_LABEL] = "";

	/* Who it is outside the tree is of this machine and moment. */
	if (cause->kind != CAUSE_CPU_QUOTA && cause->process != TASKS_UNKNOWN &&
	    cause->process != c->process) {
		if (p->in_tree || p->recorder || p->kernel)
			who(r, cause->process, TASKS_NONE, TASKS_NONE, name);
		else
			snprintf(name, sizeof(name), "others outside the tree");
	}
	snprintf(label, 2 * DIFF_LABEL, "%s%s%s", chain_class(cause->kind), name[0] ? ": " : "",
		 name);
}

/* --- lost time, by class */

static struct diff_chain *chain_slot(struct diff_run *run, const char *label)
{
	for (size_t i = 0; i < run->chain_count; i++)
		if (!strcmp(run->chains[i].label, label))
			return &run->chains[i];
	snprintf(run->chains[run->chain_count].label, sizeof(run->chains->label), "%s", label);
	return &run->chains[run->chain_count++];
}

/* What is told of the class: of the chain in which most of it was lost. */
static int describe_slot(struct diff_chain *to, const struct report *r, const struct chain *c,
			 const struct cause *cause)
{
	const struct process *p = &r->tasks.processes[cause->process];
	char text[CHAIN_LINE];
	struct advice advice;

	if (cause->ns <= to->most)
		return 0;
	to->most = cause->ns;
	if (cause->process != TASKS_UNKNOWN && !p->in_tree)
		fmt_text(to->outsider, sizeof(to->outsider), p->name, 24);
	free(to->why);
	advice_give(&advice, r, c);
	to->why = strdup(c->verdict == cause->kind ? advice.cause :
						     chain_headline(r, c, text, sizeof(text)));
	return to->why ? 0 : ERROR_MEMORY;
}

/* The chain's lost time by cell, each cause with its share of it. */
static int add_chain(struct loader *l, const struct chain *c, const uint64_t cells[DIFF_CELLS])
{
	int ret = 0;

	for (size_t i = 0; i < c->cause_count && !c->harmless && !ret; i++) {
		char label[2 * DIFF_LABEL];
		struct diff_chain *to;

		name_cause(l->report, c, &c->causes[i], label);
		to = chain_slot(l->run, label);
		to->lost += c->causes[i].ns;
		for (size_t k = 0; k < DIFF_CELLS; k++)
			to->cell_lost[k] += (uint64_t)((unsigned __int128)cells[k] *
						       c->causes[i].ns / c->lost);
		ret = describe_slot(to, l->report, c, &c->causes[i]);
	}
	return ret;
}

static const struct chain *chain_at(const struct chains *c, size_t i)
{
	return i < c->count ? &c->chains[i] : &c->small[i - c->count];
}

static int add_chains(struct loader *l)
{
	const struct chains *c = &l->report->chains;
	size_t causes = 1;
	int ret = 0;

	for (size_t i = 0; i < c->count + c->small_count; i++)
		causes += chain_at(c, i)->cause_count;
	l->run->chains = calloc(causes, sizeof(*l->run->chains));
	if (!l->run->chains)
		return ERROR_MEMORY;
	for (size_t i = 0; i < c->count + c->small_count && !ret; i++)
		if (chain_at(c, i)->lost)
			ret = add_chain(l, chain_at(c, i), l->cells[i]);
	return ret;
}

/* The effect of a list that is group g of windows.h, and its chain. */
static const struct effect *effect_in(const struct chain *list, size_t count, uint32_t g,
				      const struct chain **chain)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < list[i].effect_count && !list[i].harmless; k++)
			if (list[i].effects[k].group == g) {
				*chain = &list[i];
				return &list[i].effects[k];
			}
	return NULL;
}

static const struct effect *effect_of(const struct report *r, uint32_t g,
				      const struct chain **chain)
{
	const struct effect *e = effect_in(r->chains.chains, r->chains.count, g, chain);

	return e ? e : effect_in(r->chains.small, r->chains.small_count, g, chain);
}

/* What a slow window lost, in the cells it lost it in; scaled to its chain's part of its group. */
static void add_lost(struct loader *l, const struct window *w)
{
	const struct window_group *g = &l->found.groups[w->group];
	const struct chain *chain = NULL;
	const struct effect *e = effect_of(l->report, w->group, &chain);
	uint64_t start = w->start, end = w->end;
	uint64_t before[DIFF_CELLS] = { 0 };
	const struct chains *all = &l->report->chains;
	uint64_t *to;

	if (g->kind == EFFECT_STARVATION)
		diff_spread(l->run, l->run->starved, start, end);
	if (!e || !g->lost)
		return;
	if (g->kind != EFFECT_STARVATION)
		start = end - start > g->p50 ? start + g->p50 : end;
	to = l->cells[chain >= all->chains && chain < all->chains + all->count ?
		      (size_t)(chain - all->chains) : all->count + (size_t)(chain - all->small)];
	diff_spread(l->run, before, start, end);
	for (size_t i = 0; i < DIFF_CELLS; i++)
		if (before[i])
			to[i] +=
				(uint64_t)((unsigned __int128)before[i] * e->lost / g->lost);
}

static int choose_groups(struct loader *l)
{
	const struct chain *chain;

	l->wanted = calloc(l->found.group_count / 64 + 1, sizeof(*l->wanted));
	if (!l->wanted)
		return ERROR_MEMORY;
	for (uint32_t g = 0; g < l->found.group_count; g++)
		if (l->found.groups[g].kind == EFFECT_STARVATION || effect_of(l->report, g, &chain))
			l->wanted[g / 64] |= 1ull << g % 64;
	return 0;
}

static int lost_of_span(struct loader *l, size_t span)
{
	const struct window *list;
	size_t count;
	int ret = windows_load(&l->found, span, l->wanted, &list, &count);

	for (size_t i = 0; i < count && !ret; i++)
		if (list[i].flags & WINDOW_SLOW)
			add_lost(l, &list[i]);
	return ret;
}

/* --- what is taken apart */

static uint32_t pacing_thread(const struct loader *l, uint32_t process)
{
	const struct tasks *t = &l->report->tasks;
	uint32_t best = TASKS_NONE;

	for (uint32_t i = t->processes[process].first_thread; i != TASKS_NONE;
	     i = t->threads[i].next) {
		const uint64_t *calls = l->run->thread_calls, *waits = l->run->thread_waits;

		if (calls[i] && (best == TASKS_NONE || waits[i] > waits[best] ||
				 (waits[i] == waits[best] && calls[i] > calls[best])))
			best = i;
	}
	return best;
}

static void find_pacers(struct loader *l)
{
	const struct tasks *t = &l->report->tasks;

	for (uint32_t i = 1; i < t->process_count; i++) {
		uint32_t thread;

		if (l->report->roles.processes[i].role != ROLE_MAIN)
			continue;
		thread = pacing_thread(l, i);
		if (thread == TASKS_NONE)
			continue;
		l->run->mains++;
		if (l->pacer_count < PACERS_MAX)
			l->pacers[l->pacer_count++] = (struct pacer){ i, thread, UINT64_MAX };
	}
}

/* By pacer, place and which calls; gaps have the first of these only. */
static uint32_t group_of(const struct loader *l, size_t pacer, uint32_t place, enum diff_calls of)
{
	return (uint32_t)((pacer * l->called_count + place) * DIFF_CALLS_COUNT + of);
}

static uint32_t operation_of(const struct loader *l, size_t group)
{
	return l->called[group / DIFF_CALLS_COUNT % l->called_count];
}

static int make_groups(struct loader *l)
{
	const struct diff_run *run = l->run;
	const struct recording *r = &l->report->recording;

	l->place = calloc(run->operation_count + 1, sizeof(*l->place));
	l->called = calloc(run->operation_count + 1, sizeof(*l->called));
	if (!l->place || !l->called)
		return ERROR_MEMORY;
	for (uint32_t i = 0; i < run->operation_count; i++)
		if (run->operations[i].calls) {
			l->place[i] = (uint32_t)l->called_count;
			l->called[l->called_count++] = i;
		}
	l->called[l->called_count++] = DIFF_BETWEEN;
	l->own.group_count = l->pacer_count * l->called_count * DIFF_CALLS_COUNT;
	l->own.groups = calloc(l->own.group_count + 1, sizeof(*l->own.groups));
	if (!l->own.groups)
		return ERROR_MEMORY;
	for (size_t g = 0; g < l->own.group_count; g++) {
		const struct pacer *p = &l->pacers[g / DIFF_CALLS_COUNT / l->called_count];
		uint32_t i = operation_of(l, g);
		bool call = i != DIFF_BETWEEN;

		l->own.groups[g] = (struct window_group){
			.kind = call ? EFFECT_SLOW_CALL : EFFECT_GAP,
			.thread = p->thread, .process = p->process,
			.operation = call && i < r->operation_count ? &r->operations[i] :
								      &l->report->latency.unnamed,
			.synchronising = call && run->operations[i].waits,
		};
	}
	return 0;
}

static int open_blame(struct loader *l)
{
	struct report *r = l->report;
	int ret = timeline_open(&l->timeline, &r->recording, &r->tasks, &r->procs);

	l->blame = (struct blame){
		.timeline = &l->timeline, .tasks = &r->tasks, .procs = &r->procs,
		.roles = &r->roles, .windows = &l->own,
	};
	return ret ? ret : blame_open(&l->blame);
}

/* The part of [start, end) in the span and the steady part. */
static int add_window(struct loader *l, const struct window_span *span, uint32_t group,
		      uint64_t start, uint64_t end)
{
	uint64_t from = start > l->run->start ? start : l->run->start;
	uint64_t to = end < l->run->end ? end : l->run->end;
	struct window *list;

	from = from > span->start ? from : span->start;
	to = to < span->end ? to : span->end;
	if (from >= to)
		return 0;
	list = array_reserve(l->list, &l->list_capacity, l->list_count + 1, sizeof(*list));
	if (!list)
		return ERROR_MEMORY;
	l->list = list;
	list[l->list_count++] = (struct window){
		.start = from, .end = to, .whole_start = start, .whole_end = end, .group = group,
		.flags = WINDOW_SLOW | (from == start ? WINDOW_HEAD : 0) | WINDOW_TAIL,
	};
	return 0;
}

static int add_call(struct loader *l, const struct window_span *span, size_t pacer,
		    const struct window_call *c)
{
	const struct diff_operation *o = &l->run->operations[c->operation];
	uint32_t place = l->place[c->operation];
	int ret;

	if (!o->calls)
		return 0;
	ret = add_window(l, span, group_of(l, pacer, place, DIFF_ALL_CALLS), c->start, c->end);
	if (!diff_steady(l->run, c->end) || !(c->traits & CALL_GOOD) || (c->traits & CALL_FIRST))
		return ret;
	if (!ret && c->end - c->start <= o->percentile[0])
		ret = add_window(l, span, group_of(l, pacer, place, DIFF_USUAL_CALLS), c->start,
				 c->end);
	if (!ret && o->n >= SLOWEST_MIN && c->end - c->start >= o->percentile[2])
		ret = add_window(l, span, group_of(l, pacer, place, DIFF_SLOWEST_CALLS), c->start,
				 c->end);
	return ret;
}

/* Calls of the pacer that began in the span, and the gaps after them. */
static int add_windows(struct loader *l, const struct window_span *span, size_t pacer,
		       const struct call_list *calls)
{
	struct pacer *p = &l->pacers[pacer];
	uint32_t between = group_of(l, pacer, (uint32_t)l->called_count - 1, DIFF_ALL_CALLS);
	const struct window_call *last = NULL;
	uint64_t first = p->first;
	int ret = 0;

	for (size_t i = 0; i < calls->count && !ret; i++) {
		const struct window_call *c = &calls->calls[i];

		if (c->thread != p->thread)
			continue;
		if (last)
			ret = add_window(l, span, between, last->end, c->start);
		else
			p->first = c->start;
		if (!ret)
			ret = add_call(l, span, pacer, c);
		last = c;
	}
	if (last && !ret)
		ret = add_window(l, span, between, last->end, first);
	return ret;
}

static int by_thread(const void *a, const void *b, void *context)
{
	const struct window *x = a, *y = b;
	const struct windows *w = context;
	uint32_t s = w->groups[x->group].thread, t = w->groups[y->group].thread;

	if (s != t)
		return s < t ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

static int take_span(struct loader *l, size_t s)
{
	struct window_span span = l->found.spans[s];
	bool last = s + 1 == l->found.span_count;
	struct call_list calls;
	int ret;

	span.end += last;
	ret = timeline_load(&l->timeline, span.start, span.end);
	if (!ret)
		ret = window_calls_load(&l->calls, span.start, span.end, &calls);
	l->list_count = 0;
	for (size_t i = 0; i < l->pacer_count && !ret; i++)
		ret = add_windows(l, &span, i, &calls);
	if (!ret && l->list_count)
		qsort_r(l->list, l->list_count, sizeof(*l->list), by_thread, &l->own);
	return ret ? ret : blame_windows(&l->blame, l->list, l->list_count);
}

/* --- results */

static int add_share(struct loader *l, const struct part *p)
{
	struct diff_run *run = l->run;
	uint32_t operation = operation_of(l, p->group);
	enum diff_calls of = p->group % DIFF_CALLS_COUNT;
	struct diff_share *s;
	char name[DIFF_LABEL];

	who(l->report, p->process, p->thread, l->own.groups[p->group].thread, name);
	for (size_t i = 0; i < run->share_count; i++) {
		s = &run->shares[i];
		if (s->operation == operation && s->of == of && s->kind == p->kind &&
		    !strcmp(s->who, name)) {
			s->ns += p->ns;
			return 0;
		}
	}
	s = array_reserve(run->shares, &run->share_capacity, run->share_count + 1, sizeof(*s));
	if (!s)
		return ERROR_MEMORY;
	run->shares = s;
	s += run->share_count++;
	*s = (struct diff_share){ .operation = operation, .of = of, .kind = p->kind, .ns = p->ns };
	snprintf(s->who, sizeof(s->who), "%s", name);
	return 0;
}

static int add_places(struct loader *l)
{
	struct diff_run *run = l->run;

	run->place_count = l->called_count * DIFF_CALLS_COUNT;
	run->places = calloc(run->place_count, sizeof(*run->places));
	if (!run->places)
		return ERROR_MEMORY;
	for (size_t i = 0; i < run->place_count; i++) {
		run->places[i].operation = operation_of(l, i);
		run->places[i].of = i % DIFF_CALLS_COUNT;
	}
	for (size_t g = 0; g < l->own.group_count; g++) {
		struct diff_place *place = &run->places[g % run->place_count];

		place->windows += l->blame.tallies[g].slow.windows;
		place->ns += l->blame.tallies[g].slow.ns;
	}
	return 0;
}

static int take_apart(struct loader *l)
{
	int ret = open_blame(l);

	for (size_t s = l->found.span_count; s-- && !ret;)
		ret = take_span(l, s);
	if (!ret)
		ret = blame_finish(&l->blame);
	for (size_t i = 0; i < l->blame.part_count && !ret; i++)
		ret = add_share(l, &l->blame.parts[i]);
	return ret ? ret : add_places(l);
}

static void note_starvation(struct loader *l)
{
	for (size_t i = 0; i < l->found.feeding_count; i++)
		l->run->starvation_known |= l->found.feeding[i].provable;
}

int diff_account_load(struct diff_run *run, struct report *r)
{
	struct loader l = { .run = run, .report = r };
	int ret = windows_open(&l.found, &r->recording, &r->tasks, &r->latency);

	run->cannot_tell = r->chains.cannot_count > 0;
	l.cells = calloc(r->chains.count + r->chains.small_count + 1, sizeof(*l.cells));
	if (!ret)
		ret = l.cells ? choose_groups(&l) : ERROR_MEMORY;
	for (size_t s = 0; s < l.found.span_count && !ret; s++)
		ret = lost_of_span(&l, s);
	if (!ret)
		ret = add_chains(&l);
	note_starvation(&l);
	find_pacers(&l);
	if (!ret)
		ret = make_groups(&l);
	if (!ret)
		ret = window_calls_open(&l.calls, &r->recording, &r->tasks, &r->latency, 0);
	if (!ret && l.pacer_count)
		ret = take_apart(&l);
	blame_release(&l.blame);
	timeline_release(&l.timeline);
	window_calls_release(&l.calls);
	windows_release(&l.found);
	free(l.own.groups);
	free(l.place);
	free(l.called);
	free(l.list);
	free(l.wanted);
	free(l.cells);
	return ret;
}
