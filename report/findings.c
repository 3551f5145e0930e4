// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "findings.h"

static uint64_t scale(uint64_t value, uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)value * part / whole) : 0;
}

/* Lost time by state; returns by how much normal windows exceed slow ones in some. */
static uint64_t lost_by_state(const struct group_tally *t, uint64_t p50, uint64_t lost,
			      uint64_t states[LOST_STATES])
{
	uint64_t sum = 0, clamped = 0, given = 0;
	unsigned int largest = 0;

	for (unsigned int s = 0; s < LOST_STATES; s++) {
		uint64_t normal = scale(p50 * t->slow.windows, t->normal.states[s], t->normal.ns);
		uint64_t slow = t->slow.states[s];

		clamped += normal > slow ? normal - slow : 0;
		states[s] = normal < slow ? slow - normal : 0;
		sum += states[s];
		if (states[s] > states[largest])
			largest = s;
	}
	for (unsigned int s = 0; s < LOST_STATES; s++) {
		states[s] = scale(states[s], lost, sum);
		given += states[s];
	}
	states[largest] += lost - given;
	return clamped;
}

static int same_effect(const struct effect *a, const struct effect *b)
{
	return a->group == b->group;
}

static int add_effect(struct finding *f, const struct effect *e)
{
	struct effect *effects;

	for (size_t i = 0; i < f->effect_count; i++) {
		struct effect *old = &f->effects[i];

		if (!same_effect(old, e))
			continue;
		old->lost += e->lost;
		return 0;
	}
	effects = array_reserve(f->effects, &f->effect_capacity, f->effect_count + 1, sizeof(*effects));
	if (!effects)
		return ERROR_MEMORY;
	f->effects = effects;
	effects[f->effect_count++] = *e;
	return 0;
}

/* largest: the part that its path and thread are taken from. */
static int add_cause(struct finding *f, const struct cause *c, uint64_t largest)
{
	struct cause *causes;

	for (size_t i = 0; i < f->cause_count; i++) {
		struct cause *old = &f->causes[i];

		if (old->kind != c->kind || old->process != c->process)
			continue;
		if (largest > old->ns) {
			uint64_t ns = old->ns;

			*old = *c;
			old->ns = ns;
		}
		old->ns += c->ns;
		return 0;
	}
	causes = array_reserve(f->causes, &f->cause_capacity, f->cause_count + 1, sizeof(*causes));
	if (!causes)
		return ERROR_MEMORY;
	f->causes = causes;
	causes[f->cause_count++] = *c;
	return 0;
}

static int add_part(struct finding *f, const struct part *p, enum cause_kind kind, uint64_t ns)
{
	struct cause c = {
		.kind = kind, .process = p->process, .thread = p->thread, .processes = 1, .ns = ns,
		.hops = p->hops,
	};

	if (!ns)
		return 0;
	memcpy(c.path, p->path, sizeof(c.path));
	return add_cause(f, &c, ns);
}

/* Of the thread's own running time, what it spent to get fresh pages: at most all of it. */
static uint64_t page_time(const struct group_tally *t, uint64_t page_ns)
{
	uint64_t normal = t->normal.windows ? t->slow.windows * t->normal.page_events / t->normal.windows : 0;
	uint64_t normal_pages = t->normal.windows ? t->slow.windows * t->normal.pages / t->normal.windows : 0;
	uint64_t events = t->slow.page_events > normal ? t->slow.page_events - normal : 0;
	uint64_t pages = t->slow.pages > normal_pages ? t->slow.pages - normal_pages : 0;

	/*
	 * The price was measured in a loop that did nothing else; in a program, whose caches are in
	 * use, a fault was seen to take half more. A larger allocation is one fault; clearing its
	 * other pages is about a quarter of it each.
	 */
	return (events + (pages > events ? (pages - events) / 4 : 0)) * page_ns * 3 / 2;
}

int finding_add_part(struct finding *f, const struct part *p)
{
	return p->kind == CAUSE_NONE ? 0 : add_part(f, p, p->kind, p->ns);
}

/* The group's parts, which blame_finish() has sorted by group. */
static const struct part *parts_of(const struct blame *b, uint32_t g, size_t *count)
{
	size_t low = 0, high = b->part_count, end;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (b->parts[middle].group < g)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < b->part_count && b->parts[end].group == g; end++)
		;
	*count = end - low;
	return b->parts + low;
}

/*
 * Nothing on the host is to be put right: the device was busy, the work had not begun, nobody
 * asked for any; the thread chose to sleep; or it was the recorder, which is gone the next time. A server that waits for requests by network looks
 * as one that waits for data.
 */
static bool is_harmless(const struct tasks *t, const struct part *p, enum effect_kind kind)
{
	if (p->process != TASKS_UNKNOWN && t->processes[p->process].recorder)
		return true;
	if (p->kind == CAUSE_DEVICE || p->kind == CAUSE_INITIALISATION || p->kind == CAUSE_EXTERNAL)
		return true;
	return (p->kind == CAUSE_SLEEP || p->kind == CAUSE_NETWORK) && !p->hops && kind != EFFECT_SLOW_CALL;
}

/* A group's lost time: by state, what of it was spent on pages, and known causes by state. */
struct share { uint64_t states[LOST_STATES], steal, pages, known[2][LOST_STATES]; };

static uint64_t take_from(uint64_t *store, uint64_t ns)
{
	uint64_t taken = *store < ns ? *store : ns;

	*store -= taken;
	return taken;
}

/*
 * The feeding thread's own running: what pages took, what the hypervisor took, and the rest. Pages
 * first: the host, too, has to find each its memory, and may count that as stolen.
 */
static int add_running(struct finding *f, const struct part *p, uint64_t ns, struct share *s)
{
	struct part nobody = *p;
	uint64_t pages = take_from(&s->pages, ns), steal = take_from(&s->steal, ns - pages);
	int ret;

	nobody.process = TASKS_UNKNOWN;
	ret = add_part(f, &nobody, CAUSE_STEAL, steal);
	if (!ret)
		ret = add_part(f, p, CAUSE_PAGE_ALLOCATION, pages);
	return ret ? ret : add_part(f, p, CAUSE_OWN_WORK, ns - steal - pages);
}

static int add_parts(struct finding f[2], const struct blame *b, uint32_t g, struct share *s)
{
	const struct group_tally *t = &b->tallies[g];
	size_t count;
	const struct part *parts = parts_of(b, g, &count);
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++) {
		const struct part *p = &parts[i];
		uint64_t ns = scale(p->ns, s->states[p->state], t->slow.states[p->state]);
		bool harmless = is_harmless(b->tasks, p, b->windows->groups[g].kind);

		if (p->kind == CAUSE_NONE)
			continue;
		s->known[harmless][p->state] += ns;
		ret = p->kind == CAUSE_OWN_WORK ? add_running(&f[0], p, ns, s) :
						  add_part(&f[harmless], p, p->kind, ns);
	}
	return ret;
}

static uint64_t sum_of(const uint64_t known[LOST_STATES])
{
	uint64_t sum = 0;

	for (unsigned int s = 0; s < LOST_STATES; s++)
		sum += known[s];
	return sum;
}

/* What has no cause is "unexplained", whatever the thread was doing. */
static void fill_account(struct finding *f, const uint64_t known[LOST_STATES], uint64_t unrecorded)
{
	struct chain_account *a = &f->account;
	uint64_t sum = sum_of(known) + unrecorded;

	a->running = known[LOST_RUNNING];
	a->waiting = known[LOST_WAITING];
	a->wake_latency = known[LOST_WAKE_LATENCY];
	a->throttled = known[LOST_THROTTLED];
	a->blocked = known[LOST_BLOCKED] + known[LOST_DEVICE];
	a->device = known[LOST_DEVICE];
	a->unrecorded = unrecorded;
	a->unexplained = f->lost > sum ? f->lost - sum : 0;
}

/* Each part of the lost time with its causes; what is not recorded or explained goes with both. */
static void fill_accounts(struct finding f[2], uint64_t lost, const struct share *s)
{
	uint64_t known[2] = { sum_of(s->known[0]), sum_of(s->known[1]) };
	uint64_t unrecorded[2];

	unrecorded[1] = scale(s->states[LOST_UNRECORDED], known[1], known[0] + known[1]);
	unrecorded[0] = s->states[LOST_UNRECORDED] - unrecorded[1];
	f[1].lost = scale(lost, known[1], known[0] + known[1]);
	f[0].lost = lost - f[1].lost;
	for (unsigned int i = 0; i < 2; i++)
		fill_account(&f[i], s->known[i], unrecorded[i]);
}

static void fill_evidence(struct finding *f, const struct group_tally *t)
{
	f->evidence = t->evidence;
	f->evidence.windows = t->slow.windows;
	f->evidence.window_ns = t->slow.ns;
	f->evidence.page_events = t->slow.page_events;
	f->evidence.pages = t->slow.pages;
}

/* What both parts of a group share. */
static int fill(struct finding *f, uint32_t g, const struct window_group *group, const struct group_tally *t)
{
	struct effect effect = {
		.kind = group->kind, .thread = group->thread, .operation = group->operation,
		.next = group->next, .calls = t->slow.windows, .all = group->count, .p50 = group->p50,
		.p99 = group->p99, .max = group->max, .lost = f->lost, .group = g,
		.copy_kind = group->copy_kind, .size_class = group->size_class,
	};

	f->process = group->process;
	fill_evidence(f, t);
	memcpy(f->worst, t->worst, sizeof(f->worst));
	f->worst_count = t->worst_count;
	f->lossy = scale(t->lossy, f->lost, t->slow.ns);
	return add_effect(f, &effect);
}

int finding_of_group(struct finding f[2], const struct blame *b, uint32_t g, uint64_t page_ns)
{
	const struct window_group *group = &b->windows->groups[g];
	const struct group_tally *t = &b->tallies[g];
	uint64_t p50 = group->kind == EFFECT_STARVATION ? 0 : group->p50, base = p50 * t->slow.windows;
	uint64_t lost = t->slow.ns > base ? t->slow.ns - base : 0;
	struct share share = { .steal = t->steal, .pages = page_time(t, page_ns) };
	int ret;

	f[1].harmless = true;
	if (!lost)
		return 0;
	f[0].account.clamped = lost_by_state(t, p50, lost, share.states);
	ret = add_parts(f, b, g, &share);
	fill_accounts(f, lost, &share);
	for (unsigned int i = 0; i < 2 && !ret; i++)
		if (f[i].lost)
			ret = fill(&f[i], g, group, t);
	return ret;
}

static void add_account(struct chain_account *to, const struct chain_account *from)
{
	to->running += from->running;
	to->waiting += from->waiting;
	to->wake_latency += from->wake_latency;
	to->throttled += from->throttled;
	to->blocked += from->blocked;
	to->unrecorded += from->unrecorded;
	to->unexplained += from->unexplained;
	to->device += from->device;
	to->clamped += from->clamped;
}

/* effect: the window's place among to's effects. */
static void add_worst(struct finding *to, const struct chain_window *window, uint32_t effect)
{
	size_t i = to->worst_count;

	if (i == CHAINS_WORST && window->lost <= to->worst[--i].lost)
		return;
	if (to->worst_count < CHAINS_WORST)
		to->worst_count++;
	for (; i && window->lost > to->worst[i - 1].lost; i--)
		to->worst[i] = to->worst[i - 1];
	to->worst[i] = *window;
	to->worst[i].effect = effect;
}

static uint32_t effect_place(const struct finding *f, const struct effect *e)
{
	uint32_t i = 0;

	while (i + 1 < f->effect_count && !same_effect(&f->effects[i], e))
		i++;
	return i;
}

int finding_add(struct finding *to, const struct finding *from)
{
	int ret = 0;

	to->process = from->process;
	to->lost += from->lost;
	to->harmless = from->harmless;
	to->lossy += from->lossy;
	add_account(&to->account, &from->account);
	chain_evidence_add(&to->evidence, &from->evidence);
	for (size_t i = 0; i < from->effect_count && !ret; i++)
		ret = add_effect(to, &from->effects[i]);
	for (size_t i = 0; i < from->cause_count && !ret; i++)
		ret = add_cause(to, &from->causes[i], from->causes[i].ns);
	for (size_t i = 0; i < from->worst_count && !ret; i++)
		add_worst(to, &from->worst[i],
			  effect_place(to, &from->effects[from->worst[i].effect]));
	return ret;
}

static int by_lost(const void *a, const void *b)
{
	const struct effect *x = a, *y = b;

	if (x->lost != y->lost)
		return x->lost > y->lost ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

static int by_ns(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

void finding_sort(struct finding *f)
{
	struct effect of_worst[CHAINS_WORST];

	for (size_t i = 0; i < f->worst_count; i++)
		of_worst[i] = f->effects[f->worst[i].effect];
	if (f->effect_count)
		qsort(f->effects, f->effect_count, sizeof(*f->effects), by_lost);
	for (size_t i = 0; i < f->worst_count; i++)
		f->worst[i].effect = effect_place(f, &of_worst[i]);
	if (f->cause_count)
		qsort(f->causes, f->cause_count, sizeof(*f->causes), by_ns);
}

static bool one_of_many(uint32_t process, const struct tasks *t, const struct roles *r)
{
	return process != TASKS_UNKNOWN &&
	       (!t->processes[process].in_tree || r->processes[process].role == ROLE_HELPER);
}

static bool join(struct cause *to, const struct cause *c, const struct tasks *t, const struct roles *r)
{
	if (to->kind != c->kind || !one_of_many(to->process, t, r) || !one_of_many(c->process, t, r) ||
	    t->processes[to->process].in_tree != t->processes[c->process].in_tree ||
	    strcmp(t->processes[to->process].name, t->processes[c->process].name))
		return false;
	to->ns += c->ns;
	to->processes += c->processes;
	return true;
}

void finding_join_names(struct finding *f, const struct tasks *t, const struct roles *r)
{
	size_t count = 0;

	finding_sort(f);
	for (size_t i = 0; i < f->cause_count; i++) {
		size_t k = 0;

		while (k < count && !join(&f->causes[k], &f->causes[i], t, r))
			k++;
		if (k == count)
			f->causes[count++] = f->causes[i];
	}
	f->cause_count = count;
	finding_sort(f);
}

void finding_release(struct finding *f)
{
	free(f->effects);
	free(f->causes);
	memset(f, 0, sizeof(*f));
}

/* Peers at work, peers that wait, and what a hand-over itself takes. */
static bool is_handoff(const struct cause *c)
{
	return c->kind == CAUSE_PEER_WORK || c->kind == CAUSE_WAKE_LATENCY ||
	       (c->kind == CAUSE_CPU_CONTENTION && c->hops > 1) || (c->kind == CAUSE_CPU_QUOTA && c->hops);
}

/* Who, among the causes of the verdict, took most. */
static void name_culprit(struct verdict *v, const struct finding *f, bool (*counts)(const struct verdict *,
			 const struct cause *), const struct tasks *t, const struct roles *r)
{
	uint64_t inside = 0, outside = 0;
	const struct cause *most = NULL;

	for (size_t i = 0; i < f->cause_count; i++) {
		const struct cause *c = &f->causes[i];

		if (!counts(v, c))
			continue;
		if (c->process == TASKS_UNKNOWN || t->processes[c->process].in_tree)
			inside += c->ns;
		else
			outside += c->ns;
		if (!most || c->ns > most->ns)
			most = c;
	}
	v->outside = outside > inside;
	v->name = "";
	if (!most || most->process == TASKS_UNKNOWN)
		return;
	v->workers = r->processes[most->process].role == ROLE_WORKER;
	if (!v->workers && most->hops)
		v->name = t->processes[most->process].name;
}

static bool of_kind(const struct verdict *v, const struct cause *c)
{
	return v->kind == CAUSE_HANDOFF ? is_handoff(c) : c->kind == v->kind;
}

/* One process that took half, in whatever way: its largest kind is the verdict. */
static void judge_name(struct verdict *v, const struct finding *f)
{
	for (size_t i = 0; i < f->cause_count; i++) {
		const struct cause *c = &f->causes[i];
		uint64_t sum = 0;

		if (c->process == TASKS_UNKNOWN || !c->hops)
			continue;
		for (size_t k = 0; k < f->cause_count; k++)
			if (f->causes[k].process == c->process && f->causes[k].hops)
				sum += f->causes[k].ns;
		if (sum >= f->lost - sum && sum > v->explained) {
			v->kind = c->kind;
			v->explained = sum;
		}
	}
}

struct verdict finding_verdict(const struct finding *f, const struct tasks *t, const struct roles *r)
{
	uint64_t kinds[CAUSE_LIMIT] = { 0 }, handoff = 0;
	struct verdict v = { .name = "" };

	for (size_t i = 0; i < f->cause_count; i++) {
		kinds[f->causes[i].kind] += f->causes[i].ns;
		handoff += is_handoff(&f->causes[i]) ? f->causes[i].ns : 0;
	}
	for (unsigned int k = 1; k < CAUSE_LIMIT; k++)
		if (kinds[k] > v.explained) {
			v.kind = k;
			v.explained = kinds[k];
		}
	if (v.explained < f->lost - v.explained) {
		v.kind = handoff >= f->lost - handoff ? CAUSE_HANDOFF : CAUSE_NONE;
		v.explained = v.kind ? handoff : 0;
	}
	if (!v.kind)
		judge_name(&v, f);
	if (v.kind)
		name_culprit(&v, f, of_kind, t, r);
	return v;
}
