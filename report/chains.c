// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "evidence.h"
#include "findings.h"
#include "report.h"
#include "steal.h"

#define PAGE_NS_DEFAULT 1000	/* a first touch of a page, where the recorder did not measure it */
#define IDLE_UNKNOWN_WORK 100	/* work-giving calls, none of which was waited for: worth a word */
#define GROUP_PERMILLE 1	/* of the active span: groups that lost less are not taken apart */

/* A chain in the making. */
struct draft { struct finding finding; struct verdict verdict; };

struct loader {
	struct chains *chains;
	struct report *report;
	struct windows windows;
	struct timeline timeline;
	struct blame blame;
	struct evidence evidence;
	struct steal steal;
	struct lossy_span *lossy; size_t lossy_count;
	uint64_t *wanted;		/* a bit for each group */
	struct draft *drafts; size_t draft_count, draft_capacity;
};

static const struct feeding *feeding_of(const struct windows *w, uint32_t process)
{
	for (size_t i = 0; i < w->feeding_count; i++)
		if (w->feeding[i].process == process)
			return &w->feeding[i];
	return NULL;
}

static uint64_t span_of(const struct windows *w, uint32_t process)
{
	const struct feeding *f = feeding_of(w, process);

	return f ? f->span : 0;
}

static int cannot(struct chains *c, const struct cannot_tell *cannot)
{
	struct cannot_tell *grown = realloc(c->cannot, (c->cannot_count + 1) * sizeof(*grown));

	if (!grown)
		return ERROR_MEMORY;
	c->cannot = grown;
	grown[c->cannot_count++] = *cannot;
	return 0;
}

static bool is_wanted(const struct loader *l, size_t g)
{
	return l->wanted[g / 64] >> g % 64 & 1;
}

static bool worth_it(const struct window_group *g, uint64_t span)
{
	return g->slow && g->lost > span / 1000 * GROUP_PERMILLE;
}

/* Groups that lost something, of processes whose groups together lost enough to be listed. */
static int choose_groups(struct loader *l, bool *any)
{
	const struct windows *w = &l->windows;
	uint64_t *lost = calloc(l->report->tasks.process_count, sizeof(*lost));

	l->wanted = calloc(w->group_count / 64 + 1, sizeof(*l->wanted));
	if (!lost || !l->wanted)
		return free(lost), ERROR_MEMORY;
	for (size_t g = 0; g < w->group_count; g++)
		if (worth_it(&w->groups[g], span_of(w, w->groups[g].process)))
			lost[w->groups[g].process] += w->groups[g].lost;
	for (size_t g = 0; g < w->group_count; g++) {
		uint32_t process = w->groups[g].process;
		uint64_t span = span_of(w, process);

		if (!worth_it(&w->groups[g], span) || lost[process] < span / 1000 * CHAINS_LOW_PERMILLE)
			continue;
		l->wanted[g / 64] |= 1ull << g % 64;
		*any = true;
	}
	free(lost);
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct lossy_span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* When rows of calls or switches were lost; overlapping stretches joined. */
static int find_lossy(struct loader *l)
{
	const struct completeness *c = &l->report->completeness;
	size_t n = 0;

	l->lossy = malloc((c->second_count + 1) * sizeof(*l->lossy));
	if (!l->lossy)
		return ERROR_MEMORY;
	for (size_t i = 0; i < c->second_count; i++) {
		const struct loss_second *s = &c->seconds[i];

		if (s->source == SOURCE_SWITCH || s->source == SOURCE_CALL_ENTRY ||
		    s->source == SOURCE_CALL_RETURN)
			l->lossy[n++] = (struct lossy_span){ s->first, s->last + 1 };
	}
	if (n)
		qsort(l->lossy, n, sizeof(*l->lossy), by_start);
	for (size_t i = 0; i < n; i++) {
		struct lossy_span *last = l->lossy_count ? &l->lossy[l->lossy_count - 1] : NULL;

		if (!last || l->lossy[i].start > last->end)
			l->lossy[l->lossy_count++] = l->lossy[i];
		else if (l->lossy[i].end > last->end)
			last->end = l->lossy[i].end;
	}
	return 0;
}

static int open_blame(struct loader *l)
{
	int ret = find_lossy(l);

	if (!ret)
		ret = steal_load(&l->steal, &l->report->recording);
	if (ret)
		return ret;
	l->blame = (struct blame){
		.timeline = &l->timeline, .tasks = &l->report->tasks,
		.procs = &l->report->procs, .roles = &l->report->roles,
		.windows = &l->windows,
		.lossy = l->lossy, .lossy_count = l->lossy_count, .steal = &l->steal,
	};
	ret = timeline_open(&l->timeline, &l->report->recording, &l->report->tasks, &l->report->procs);
	return ret ? ret : blame_open(&l->blame);
}

/* Span by span, from the last to the first. */
static int take_apart(struct loader *l)
{
	const struct window *list;
	size_t count;
	int ret = open_blame(l);

	for (size_t s = l->windows.span_count; s-- && !ret;) {
		const struct window_span *span = &l->windows.spans[s];
		bool last = s + 1 == l->windows.span_count;

		ret = timeline_load(&l->timeline, span->start, span->end + last);
		if (!ret)
			ret = windows_load(&l->windows, s, l->wanted, &list, &count);
		if (!ret)
			ret = blame_windows(&l->blame, list, count);
	}
	return ret ? ret : blame_finish(&l->blame);
}

static bool same_verdict(const struct verdict *a, const struct verdict *b)
{
	return a->kind == b->kind && a->workers == b->workers && !strcmp(a->name, b->name);
}

static struct draft *draft_for(struct loader *l, const struct finding *f, const struct verdict *v)
{
	struct draft *drafts;

	for (size_t i = 0; i < l->draft_count; i++)
		if (l->drafts[i].finding.process == f->process &&
		    l->drafts[i].finding.harmless == f->harmless && same_verdict(&l->drafts[i].verdict, v))
			return &l->drafts[i];
	drafts = array_reserve(l->drafts, &l->draft_capacity, l->draft_count + 1, sizeof(*drafts));
	if (!drafts)
		return NULL;
	l->drafts = drafts;
	memset(&drafts[l->draft_count], 0, sizeof(*drafts));
	drafts[l->draft_count].verdict = *v;
	return &drafts[l->draft_count++];
}

static struct verdict judge(const struct loader *l, const struct finding *f)
{
	return finding_verdict(f, &l->report->tasks, &l->report->roles);
}

static int join_finding(struct loader *l, struct finding *f)
{
	struct draft *draft;
	struct verdict v;

	finding_join_names(f, &l->report->tasks, &l->report->roles);
	v = judge(l, f);
	draft = draft_for(l, f, &v);
	return draft ? finding_add(&draft->finding, f) : ERROR_MEMORY;
}

static int join_group(struct loader *l, uint32_t g, uint64_t page_ns)
{
	struct finding f[2] = { 0 };
	int ret = finding_of_group(f, &l->blame, g, page_ns);

	for (unsigned int i = 0; i < 2; i++) {
		if (!ret && f[i].lost)
			ret = join_finding(l, &f[i]);
		finding_release(&f[i]);
	}
	return ret;
}

/* Effects with the same culprit are one chain. */
static int join_groups(struct loader *l)
{
	uint64_t page_ns = recording_number(&l->report->recording, "record.page_fault_ns", PAGE_NS_DEFAULT);
	int ret = 0;

	for (size_t g = 0; g < l->windows.group_count && !ret; g++)
		if (is_wanted(l, g))
			ret = join_group(l, (uint32_t)g, page_ns);
	return ret;
}

static enum severity severity_of(const struct finding *f, uint64_t span)
{
	if (!f->harmless && f->lost >= span / 1000 * CHAINS_HIGH_PERMILLE)
		return SEVERITY_HIGH;
	if (!f->harmless && f->lost >= span / 1000 * CHAINS_MEDIUM_PERMILLE)
		return SEVERITY_MEDIUM;
	return f->lost >= span / 1000 * CHAINS_LOW_PERMILLE ? SEVERITY_LOW : SEVERITY_NONE;
}

/* Most workers of the process alive at once; 0 too when out of memory. */
static uint64_t workers_of(const struct report *r, uint32_t process)
{
	uint32_t *workers = calloc(r->tasks.process_count, sizeof(*workers));
	uint64_t most = 0;
	size_t count = 0;

	for (uint32_t i = 1; workers && i < r->tasks.process_count; i++)
		if (r->roles.processes[i].role == ROLE_WORKER &&
		    r->roles.processes[i].main == process && process_in_span(&r->procs, i))
			workers[count++] = i;
	if (processes_at_once(&r->tasks, workers, count, &most))
		most = 0;
	free(workers);
	return most;
}

static void add_limits(const struct loader *l, struct chain *chain)
{
	struct chain_evidence *e = &chain->evidence;
	const struct feeding *f = feeding_of(&l->windows, chain->process);

	e->allowed_cpus = l->evidence.allowed[chain->process];
	e->quota = l->evidence.quota;
	e->quota_period = l->evidence.period;
	e->quota_path = l->evidence.quota_path;
	e->periods = l->evidence.periods;
	e->throttled_periods = l->evidence.throttled;
	e->syncs = f ? f->syncs : 0;
	e->workers = workers_of(l->report, chain->process);
}

static struct chain *add_chain(struct chain **list, size_t *count)
{
	struct chain *grown = realloc(*list, (*count + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	*list = grown;
	memset(&grown[*count], 0, sizeof(*grown));
	return &grown[(*count)++];
}

static uint64_t missing_of(const struct finding *f)
{
	uint64_t recorded = f->lost - f->account.unrecorded;

	return f->lossy < recorded ? f->account.unrecorded + f->lossy : f->lost;
}

/* More than a tenth of it not seen: nothing is claimed. */
static bool too_lossy(const struct finding *f)
{
	return missing_of(f) > f->lost / 10;
}

static int tell_cannot(struct loader *l, const struct finding *f, uint64_t span)
{
	struct cannot_tell c = {
		.reason = l->report->completeness.calls_lossy && f->lossy ? CANNOT_LOST_CALLS :
									    CANNOT_LOST_SWITCHES,
		.process = f->process, .operation = f->effects[0].operation, .lost = f->lost,
		.span = span, .missing = missing_of(f),
	};

	return cannot(l->chains, &c);
}

/* The finding's arrays move into the chain. */
static void move_finding(struct chain *c, struct finding *f)
{
	c->process = f->process;
	c->harmless = f->harmless;
	c->lost = f->lost;
	c->effects = f->effects;
	c->effect_count = f->effect_count;
	c->causes = f->causes;
	c->cause_count = f->cause_count;
	c->account = f->account;
	c->evidence = f->evidence;
	memcpy(c->worst, f->worst, sizeof(c->worst));
	c->worst_count = f->worst_count;
	f->effects = NULL;
	f->causes = NULL;
}

static int finish_draft(struct loader *l, struct draft *d)
{
	struct finding *f = &d->finding;
	uint64_t span = span_of(&l->windows, f->process);
	enum severity severity = severity_of(f, span);
	struct verdict v;
	struct chain *c;

	if (severity == SEVERITY_NONE)
		return 0;
	finding_join_names(f, &l->report->tasks, &l->report->roles);
	if (severity > SEVERITY_LOW && too_lossy(f))
		return tell_cannot(l, f, span);
	c = severity > SEVERITY_LOW ? add_chain(&l->chains->chains, &l->chains->count) :
				      add_chain(&l->chains->small, &l->chains->small_count);
	if (!c)
		return ERROR_MEMORY;
	v = judge(l, f);
	move_finding(c, f);
	c->severity = severity;
	c->span = span;
	c->verdict = v.kind;
	c->explained = v.explained;
	c->outside = v.outside;
	add_limits(l, c);
	return 0;
}

static uint64_t permille(const struct chain *c)
{
	return c->span ? (uint64_t)((unsigned __int128)c->lost * 1000 / c->span) : 0;
}

static int by_severity(const void *a, const void *b)
{
	const struct chain *x = a, *y = b;
	uint64_t left = permille(x), right = permille(y);

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	if (left != right)
		return left > right ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static int finish(struct loader *l)
{
	struct chains *c = l->chains;
	int ret = 0;

	for (size_t i = 0; i < l->draft_count && !ret; i++)
		ret = finish_draft(l, &l->drafts[i]);
	if (c->count)
		qsort(c->chains, c->count, sizeof(*c->chains), by_severity);
	if (c->small_count)
		qsort(c->small, c->small_count, sizeof(*c->small), by_severity);
	return ret;
}

static bool anything_to_compare(const struct windows *w)
{
	for (size_t g = 0; g < w->group_count; g++)
		if (w->groups[g].kind == EFFECT_STARVATION || w->groups[g].count >= WINDOWS_GROUP_MIN)
			return true;
	return false;
}

static bool calls_missing(const struct report *r)
{
	uint64_t lost = r->completeness.sources[SOURCE_CALL_ENTRY].here +
			r->completeness.sources[SOURCE_CALL_RETURN].here;

	return lost * 10 > r->latency.calls;
}

static void sum_feeding(struct chains *c)
{
	c->span = 0;
	c->feeding_threads = 0;
	c->idle_unknown = false;
	for (size_t i = 0; i < c->feeding_count; i++) {
		c->span += c->feeding[i].span;
		c->feeding_threads += c->feeding[i].threads;
		c->idle_unknown |= c->feeding[i].idle_unknown;
	}
}

static int note_feeding(struct chains *c, const struct windows *w)
{
	c->feeding = calloc(w->feeding_count + 1, sizeof(*c->feeding));
	if (!c->feeding)
		return ERROR_MEMORY;
	for (size_t i = 0; i < w->feeding_count; i++) {
		const struct feeding *f = &w->feeding[i];

		c->feeding[c->feeding_count++] = (struct chains_feeding){
			f->process, f->threads, f->span,
			f->work >= IDLE_UNKNOWN_WORK && !f->provable };
	}
	sum_feeding(c);
	return 0;
}

static int load(struct loader *l)
{
	struct report *r = l->report;
	struct chains *c = l->chains;
	bool any = false;
	int ret;

	if (r->recording.partial)
		return cannot(c, &(struct cannot_tell){ .reason = CANNOT_CPUS_LEFT_OUT });
	if (!r->latency.calls)
		return cannot(c, &(struct cannot_tell){ .reason = CANNOT_NO_CALLS });
	if (!recording_all(&r->recording, TABLE_switch)->count)
		return cannot(c, &(struct cannot_tell){ .reason = CANNOT_NO_SWITCHES });
	ret = windows_open(&l->windows, &r->recording, &r->tasks, &r->latency);
	if (!ret)
		ret = note_feeding(c, &l->windows);
	if (!ret && calls_missing(r))
		ret = cannot(c, &(struct cannot_tell){ .reason = CANNOT_LOST_CALLS, .span = c->span });
	else if (!ret && !anything_to_compare(&l->windows))
		ret = cannot(c, &(struct cannot_tell){ .reason = CANNOT_FEW_CALLS, .span = c->span });
	if (!ret)
		ret = evidence_load(&l->evidence, &r->recording, &r->tasks);
	if (!ret)
		ret = choose_groups(l, &any);
	if (ret || !any)
		return ret;
	ret = take_apart(l);
	if (!ret)
		ret = join_groups(l);
	return ret ? ret : finish(l);
}

int chains_load(struct chains *c, struct report *r)
{
	struct loader l = { .chains = c, .report = r };
	int ret;

	memset(c, 0, sizeof(*c));
	ret = load(&l);
	c->quiet = !c->count && !c->cannot_count;
	for (size_t i = 0; i < l.draft_count; i++)
		finding_release(&l.drafts[i].finding);
	free(l.drafts);
	free(l.wanted);
	free(l.lossy);
	evidence_release(&l.evidence);
	steal_release(&l.steal);
	blame_release(&l.blame);
	timeline_release(&l.timeline);
	windows_release(&l.windows);
	return ret;
}

static bool shows_process(const struct report *r, uint32_t process)
{
	return process == TASKS_UNKNOWN || r->latency.process_calls[process];
}

static bool shows_operation(const struct report *r, const struct operation *o)
{
	return o && select_operation(&r->selection, o->id);
}

static bool shows_chain(const struct report *r, const struct chain *c)
{
	bool any = false;

	for (size_t i = 0; i < c->effect_count; i++)
		any |= shows_operation(r, c->effects[i].operation) ||
		       shows_operation(r, c->effects[i].next);
	return any && shows_process(r, c->process);
}

static size_t narrow_list(struct chain *list, size_t count, const struct report *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (shows_chain(r, &list[i])) {
			list[kept++] = list[i];
			continue;
		}
		free(list[i].effects);
		free(list[i].causes);
	}
	return kept;
}

int chains_narrow(struct chains *c, const struct report *r)
{
	size_t feeding = 0, told = 0, all = c->count;
	int ret = 0;

	c->count = narrow_list(c->chains, c->count, r);
	c->left_out = all - c->count;
	c->small_count = narrow_list(c->small, c->small_count, r);
	for (size_t i = 0; i < c->cannot_count; i++)
		if (shows_process(r, c->cannot[i].process) &&
		    (!c->cannot[i].operation || shows_operation(r, c->cannot[i].operation)))
			c->cannot[told++] = c->cannot[i];
	c->cannot_count = told;
	for (size_t i = 0; i < c->feeding_count; i++)
		if (shows_process(r, c->feeding[i].process))
			c->feeding[feeding++] = c->feeding[i];
	c->feeding_count = feeding;
	sum_feeding(c);
	if (!told && !feeding)
		ret = cannot(c, &(struct cannot_tell){ .reason = CANNOT_NO_CALLS });
	c->quiet = !c->count && !c->cannot_count;
	return ret;
}

static void release_list(struct chain *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].effects);
		free(list[i].causes);
	}
	free(list);
}

void chains_release(struct chains *c)
{
	release_list(c->chains, c->count);
	release_list(c->small, c->small_count);
	free(c->cannot);
	free(c->feeding);
	memset(c, 0, sizeof(*c));
}
