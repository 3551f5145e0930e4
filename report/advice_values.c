// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include "advice_values.h"
#include "chain_text.h"
#include "fmt.h"
#include "words.h"

#define STRANGERS_PERCENT 5
#define CULPRITS 3

bool subject_is_worker(const struct subject *s, uint32_t process)
{
	const struct process_role *role = &s->r->roles.processes[process];

	return role->role == ROLE_WORKER && role->main == s->c->process;
}

static bool counts(const struct subject *s, const struct cause *cause)
{
	return cause->kind == s->kind || s->kind == CAUSE_NONE || s->kind == CAUSE_HANDOFF;
}

uint64_t subject_sum(const struct subject *s, bool (*holds)(const struct subject *, uint32_t process))
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->c->cause_count; i++)
		if (counts(s, &s->c->causes[i]) && holds(s, s->c->causes[i].process))
			ns += s->c->causes[i].ns;
	return ns;
}

/* ------------------------------------------------------------------ one function a placeholder */

static bool put_count(char *buf, uint64_t n)
{
	fmt_count(buf, n);
	return n > 0;
}

static bool put_time(char *buf, uint64_t ns)
{
	fmt_ns(buf, ns);
	return ns > 0;
}

/* "4 CPUs" */
static bool put_things(char *buf, uint64_t n, const char *thing)
{
	char count[FMT_SIZE];

	snprintf(buf, ADVICE_VALUE, "%s %s%s", fmt_count(count, n), thing, n == 1 ? "" : "s");
	return n > 0;
}

static bool value_main(const struct subject *s, char *buf)
{
	chain_label(s->r, s->c, s->c->process, TASKS_NONE, buf, ADVICE_VALUE);
	return true;
}

/* The one that took most; false where nobody is known. */
static bool find_culprit(const struct subject *s, const struct cause **who)
{
	enum cause_kind kind = s->top ? s->top->kind : s->kind;
	uint64_t rest;
	size_t more;

	return chain_culprits(s->c, kind, who, 1, &more, &rest) == 1;
}

static bool value_who(const struct subject *s, char *buf)
{
	const struct cause *who;

	if (!find_culprit(s, &who))
		return false;
	culprit_label(s->r, s->c, who, buf, ADVICE_VALUE);
	return true;
}

/* Of several of one name, what they are called; only where they are no part of the job. */
static bool value_outsider(const struct subject *s, char *buf)
{
	const struct cause *who;

	return find_culprit(s, &who) && !s->r->tasks.processes[who->process].in_tree &&
	       value_who(s, buf);
}

/* Only where it is one process. */
static bool value_pid(const struct subject *s, char *buf)
{
	const struct cause *who;

	if (!find_culprit(s, &who) || who->processes > 1)
		return false;
	snprintf(buf, ADVICE_VALUE, "%u", s->r->tasks.processes[who->process].tgid);
	return true;
}

static bool value_actor(const struct subject *s, char *buf)
{
	uint32_t thread = s->top ? chain_actor(s->c, s->top) : TASKS_NONE;

	if (!s->top || thread <= TASKS_IDLE)
		return value_main(s, buf);
	if (thread >= s->r->tasks.thread_count) {
		snprintf(buf, ADVICE_VALUE, "a thread it waited for");
		return true;
	}
	chain_label(s->r, s->c, s->r->tasks.threads[thread].process, thread, buf, ADVICE_VALUE);
	return true;
}

/* Whoever took most of it, with shares of the kind where there are several. */
static bool value_culprits(const struct subject *s, char *buf)
{
	uint64_t all = chain_class_ns(s->c, s->kind), rest;
	char name[CHAIN_NAME], share[FMT_SIZE];
	const struct cause *who[CULPRITS];
	struct words w;
	size_t more, n = chain_culprits(s->c, s->kind, who, CULPRITS, &more, &rest);

	words_begin(&w, buf, ADVICE_VALUE);
	for (size_t i = 0; i < n; i++) {
		if (i && who[i]->ns < all / 20)
			continue;
		words_item(&w, ", ", "%s", culprit_label(s->r, s->c, who[i], name, sizeof(name)));
		if (who[i]->ns < all - all / 50)
			words_add(&w, " %s", fmt_percent(share, who[i]->ns, all));
	}
	if (rest > all / 20)
		words_add(&w, ", %zu more", more);
	return n > 0;
}

static bool value_path(const struct subject *s, char *buf)
{
	if (!s->top || s->top->hops < 2)
		return false;
	chain_story(s->r, s->c, s->top, buf, ADVICE_VALUE);
	return true;
}

static bool value_workers(const struct subject *s, char *buf)
{
	return put_things(buf, s->c->evidence.workers, "worker");
}

/*
 * Only where workers feed the device, and too late: it does away with all that they take. Not
 * again for a second cause.
 */
static bool value_direct(const struct subject *s, char *buf)
{
	strcpy(buf, "index it directly, without workers");
	return s->kind == s->c->verdict && s->c->evidence.workers && s->c->effect_count &&
	       s->c->effects[0].kind == EFFECT_STARVATION;
}

/* Beside the job's own: what others took of the lost time by running, and who most, from STRANGERS_PERCENT. */
static bool value_strangers(const struct subject *s, char *buf)
{
	const struct cause *most = NULL;
	char share[FMT_SIZE], name[CHAIN_NAME];
	uint64_t ns = 0;

	for (size_t i = 0; i < s->c->cause_count; i++) {
		const struct cause *cause = &s->c->causes[i];

		if (cause->kind != CAUSE_CPU_CONTENTION || s->r->tasks.processes[cause->process].in_tree)
			continue;
		most = most ? most : cause;
		ns += cause->ns;
	}
	if (!most || ns / STRANGERS_PERCENT < s->c->lost / 100)
		return false;
	snprintf(buf, ADVICE_VALUE, "%s, most of it %s", fmt_percent(share, ns, s->c->lost),
		 culprit_label(s->r, s->c, most, name, sizeof(name)));
	return true;
}

/* Where there could be fewer, and still some. */
static bool value_worker_count(const struct subject *s, char *buf)
{
	return put_count(buf, s->c->evidence.workers) && s->c->evidence.workers > 1;
}

static bool value_cpus(const struct subject *s, char *buf)
{
	if (s->c->evidence.allowed_cpus == 1)
		strcpy(buf, "one CPU");
	else
		put_things(buf, s->c->evidence.allowed_cpus, "CPU");
	return s->c->evidence.allowed_cpus > 0;
}

static bool value_fewer(const struct subject *s, char *buf)
{
	uint64_t cpus = s->c->evidence.allowed_cpus;

	return put_count(buf, cpus ? cpus - 1 : 0);
}

static bool value_busy(const struct subject *s, char *buf)
{
	fmt_percent(buf, s->c->evidence.busy, s->c->evidence.cpu_time);
	return s->c->evidence.cpu_time > 0;
}

/* "1.5 CPUs (150 ms each 100 ms)" */
static bool value_quota(const struct subject *s, char *buf)
{
	const struct chain_evidence *e = &s->c->evidence;
	char cpus[FMT_SIZE], quota[FMT_SIZE], period[FMT_SIZE];

	if (!e->quota || !e->quota_period)
		return false;
	snprintf(buf, ADVICE_VALUE, "%s CPUs (%s each %s)", fmt_ratio(cpus, e->quota, e->quota_period),
		 fmt_ns(quota, e->quota), fmt_ns(period, e->quota_period));
	return true;
}

static bool value_throttled(const struct subject *s, char *buf)
{
	const struct chain_evidence *e = &s->c->evidence;

	fmt_percent(buf, e->throttled_periods, e->periods);
	return e->throttled_periods > 0 && e->periods > 0;
}

static bool value_group(const struct subject *s, char *buf)
{
	if (!s->c->evidence.quota_path)
		return false;
	fmt_text(buf, ADVICE_VALUE, s->c->evidence.quota_path, 60);
	return true;
}

static bool value_pages(const struct subject *s, char *buf)
{
	return put_things(buf, s->c->evidence.pages, "page");
}

static bool value_bytes(const struct subject *s, char *buf)
{
	uint64_t size = s->r->recording.page_size;

	fmt_bytes(buf, s->c->evidence.pages * size);
	return s->c->evidence.pages && size;
}

static bool value_faults(const struct subject *s, char *buf)
{
	return put_things(buf, s->c->evidence.major_faults, "major page fault");
}

static bool value_reclaims(const struct subject *s, char *buf)
{
	return put_things(buf, s->c->evidence.reclaims, "time");
}

static bool value_reclaim_time(const struct subject *s, char *buf)
{
	return put_time(buf, s->c->evidence.reclaim_ns);
}

static bool value_births(const struct subject *s, char *buf)
{
	return put_count(buf, s->c->evidence.births);
}

/* From one idle point of the device to the next. */
static bool value_period(const struct subject *s, char *buf)
{
	const struct chain_evidence *e = &s->c->evidence;

	return put_time(buf, e->syncs ? s->c->span / e->syncs : 0);
}

static bool value_operation(const struct subject *s, char *buf)
{
	const struct effect *e = s->c->effects;

	if (!s->c->effect_count || !e->operation)
		return false;
	fmt_text(buf, ADVICE_VALUE, e->operation->name, 60);
	return true;
}

static bool value_next(const struct subject *s, char *buf)
{
	const struct effect *e = s->c->effects;

	if (!s->c->effect_count || !e->next)
		return false;
	fmt_text(buf, ADVICE_VALUE, e->next->name, 60);
	return true;
}

static bool value_calls(const struct subject *s, char *buf)
{
	return s->c->effect_count && put_count(buf, s->c->effects[0].calls);
}

static bool value_all_calls(const struct subject *s, char *buf)
{
	return s->c->effect_count && put_count(buf, s->c->effects[0].all);
}

/* Of one window of the worst effect. */
static bool value_mean(const struct subject *s, char *buf)
{
	const struct effect *e = s->c->effects;

	return s->c->effect_count && put_time(buf, e->calls ? e->lost / e->calls : 0);
}

static bool value_tid(const struct subject *s, char *buf)
{
	uint32_t thread = s->top ? chain_actor(s->c, s->top) : TASKS_NONE;

	if (thread >= s->r->tasks.thread_count || thread <= TASKS_IDLE)
		return false;
	snprintf(buf, ADVICE_VALUE, "%u", s->r->tasks.threads[thread].tid);
	return true;
}

/* Each large class with its share: what a verdict of none, or of a family, is made of. */
static bool value_parts(const struct subject *s, char *buf)
{
	struct class_share classes[CHAIN_CLASSES];
	uint64_t parts[CHAIN_CLASSES];
	unsigned int shares[CHAIN_CLASSES];
	size_t n = chain_classes(s->c, classes);
	struct words w;

	for (size_t i = 0; i < n; i++)
		parts[i] = classes[i].ns;
	shares_round(parts, n, 100, shares);
	words_begin(&w, buf, ADVICE_VALUE);
	for (size_t i = 0; i < n; i++) {
		bool family = classes[i].kind == CAUSE_PEER_WORK || classes[i].kind == CAUSE_WAKE_LATENCY ||
			      classes[i].kind == CAUSE_CPU_CONTENTION;

		if (shares[i] >= 10 && (s->kind != CAUSE_HANDOFF || family))
			words_item(&w, ", ", "%s %u %%", classes[i].name, shares[i]);
	}
	return w.length > 0;
}

static bool value_class(const struct subject *s, char *buf)
{
	if (!s->top)
		return false;
	snprintf(buf, ADVICE_VALUE, "%s", chain_class(s->top->kind));
	return true;
}

static const struct placeholder {
	const char *name;
	bool (*value)(const struct subject *s, char *buf);
} placeholders[] = {
	{ "main", value_main }, { "who", value_who }, { "pid", value_pid },
	{ "actor", value_actor }, { "tid", value_tid }, { "culprits", value_culprits },
	{ "outsider", value_outsider }, { "direct", value_direct },
	{ "strangers", value_strangers },
	{ "path", value_path }, { "workers", value_workers },
	{ "worker_count", value_worker_count }, { "cpus", value_cpus }, { "fewer", value_fewer },
	{ "busy", value_busy }, { "quota", value_quota }, { "throttled", value_throttled },
	{ "group", value_group }, { "pages", value_pages }, { "bytes", value_bytes },
	{ "faults", value_faults }, { "reclaims", value_reclaims },
	{ "reclaim_time", value_reclaim_time }, { "births", value_births },
	{ "period", value_period }, { "operation", value_operation }, { "next", value_next },
	{ "calls", value_calls }, { "all_calls", value_all_calls }, { "mean", value_mean },
	{ "parts", value_parts }, { "class", value_class },
};

static const struct placeholder *find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(placeholders) / sizeof(*placeholders); i++)
		if (strlen(placeholders[i].name) == length && !memcmp(placeholders[i].name, name, length))
			return &placeholders[i];
	return NULL;
}

bool advice_known(const char *name, size_t length)
{
	return find(name, length) != NULL;
}

bool advice_value(const struct subject *s, const char *name, size_t length, char *buf)
{
	const struct placeholder *p = find(name, length);

	return p && p->value(s, buf);
}
