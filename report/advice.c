// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include "advice.h"
#include "advice_values.h"
#include "chain_text.h"
#include "fmt.h"
#include "words.h"

#define SECOND_PERCENT 15		/* of the lost time: a second cause has its fix told too */
#define SHORT_GAP 1000000		/* ns: launch-bound rather than waiting for a batch */
#define BUSY_PERCENT 85

/* ------------------------------------------------------------------ facts a row may ask for */

static enum effect_kind worst_kind(const struct subject *s)
{
	return s->c->effect_count ? s->c->effects[0].kind : 0;
}

static bool starvation(const struct subject *s)
{
	return worst_kind(s) == EFFECT_STARVATION;
}

static bool gap(const struct subject *s)
{
	return worst_kind(s) == EFFECT_GAP;
}

static bool call(const struct subject *s)
{
	return worst_kind(s) == EFFECT_SLOW_CALL;
}

static bool in_category(const struct subject *s, uint32_t category)
{
	return call(s) && s->c->effects[0].operation->category == category;
}

static bool in_copy(const struct subject *s)
{
	return in_category(s, CATEGORY_COPY);
}

/* It gives the device work, and waits only where there is no room for more. */
static bool queued(const struct subject *s)
{
	return (in_category(s, CATEGORY_LAUNCH) || in_category(s, CATEGORY_COPY) ||
		in_category(s, CATEGORY_SET)) &&
	       !(s->c->effects[0].operation->flags & OPERATION_FLAG_SYNC);
}

static bool in_memory(const struct subject *s)
{
	return in_category(s, CATEGORY_MEMORY);
}

static bool between_launches(const struct subject *s)
{
	const struct effect *e = s->c->effects;

	return gap(s) && e->next && e->operation->category == CATEGORY_LAUNCH &&
	       e->next->category == CATEGORY_LAUNCH;
}

static bool often(const struct subject *s)
{
	return s->c->effect_count && s->c->effects[0].calls * 5 >= s->c->effects[0].all;
}

static bool short_gaps(const struct subject *s)
{
	const struct effect *e = s->c->effects;

	return s->c->effect_count && e->calls && e->lost / e->calls < SHORT_GAP;
}

static bool workers(const struct subject *s)
{
	return s->c->evidence.workers > 0;
}

static bool no_workers(const struct subject *s)
{
	return !s->c->evidence.workers;
}

/* More busy processes than CPUs to run them. */
static bool crowded(const struct subject *s)
{
	uint64_t cpus = s->c->evidence.allowed_cpus;

	return cpus && s->c->evidence.workers + 1 > cpus;
}

static bool one_cpu(const struct subject *s)
{
	return s->c->evidence.allowed_cpus == 1;
}

static bool cpus_busy(const struct subject *s)
{
	const struct chain_evidence *e = &s->c->evidence;

	return e->cpu_time && e->busy / BUSY_PERCENT >= e->cpu_time / 100;
}

/* A CPU to spare for another worker. */
static bool room(const struct subject *s)
{
	const struct chain_evidence *e = &s->c->evidence;

	return e->cpu_time && !cpus_busy(s) && e->allowed_cpus > e->workers + 1;
}

static bool pinned(const struct subject *s)
{
	uint64_t online = recording_number(&s->r->recording, "host.cpus_online", 0);

	return s->c->evidence.allowed_cpus && s->c->evidence.allowed_cpus < online;
}

/* Getting memory is a good part of it too. */
static bool fresh_pages(const struct subject *s)
{
	return chain_class_ns(s->c, CAUSE_PAGE_ALLOCATION) > s->c->lost / 10;
}

/* The largest cause is a state of the feeding thread itself. */
static bool itself(const struct subject *s)
{
	return s->top && !s->top->hops;
}

static bool through_others(const struct subject *s)
{
	return s->top && s->top->hops;
}

static bool harmless(const struct subject *s)
{
	return s->c->harmless;
}

static bool nothing_known(const struct subject *s)
{
	return !s->c->cause_count;
}

/* Most times that it left the CPU it was for a page: a few are in any run. */
static bool faults(const struct subject *s)
{
	const struct chain_evidence *e = &s->c->evidence;

	return e->major_faults && e->major_faults * 2 >= e->switches && itself(s);
}

/* ------------------------------------------------------------------ who took most of it */

static bool is_recorder(const struct subject *s, uint32_t process)
{
	return s->r->tasks.processes[process].recorder;
}

static bool is_kernel(const struct subject *s, uint32_t process)
{
	return s->r->tasks.processes[process].kernel;
}

static bool is_outside(const struct subject *s, uint32_t process)
{
	const struct process *p = &s->r->tasks.processes[process];

	return process != TASKS_UNKNOWN && !p->in_tree && !p->kernel && !p->recorder;
}

static bool is_own(const struct subject *s, uint32_t process)
{
	return process == s->c->process;
}

static bool is_peer(const struct subject *s, uint32_t process)
{
	return s->r->tasks.processes[process].in_tree && !is_own(s, process) &&
	       !subject_is_worker(s, process);
}

static bool most(const struct subject *s, bool (*holds)(const struct subject *, uint32_t process))
{
	uint64_t ns = subject_sum(s, holds);

	return ns && ns >= chain_class_ns(s->c, s->kind) - ns;
}

/* Hardly any of it was taken outside the tree: the job can cure it. */
static bool ours(const struct subject *s)
{
	return subject_sum(s, is_outside) < s->c->lost / 10;
}

static bool by_recorder(const struct subject *s)
{
	return most(s, is_recorder);
}

static bool by_kernel(const struct subject *s)
{
	return most(s, is_kernel);
}

static bool by_outside(const struct subject *s)
{
	return most(s, is_outside);
}

static bool by_workers(const struct subject *s)
{
	return most(s, subject_is_worker);
}

static bool by_own_threads(const struct subject *s)
{
	return most(s, is_own);
}

static bool by_peers(const struct subject *s)
{
	return most(s, is_peer);
}

/* One name took all but a twentieth. */
static bool alone(const struct subject *s)
{
	uint64_t all = chain_class_ns(s->c, s->kind), rest;
	const struct cause *who;
	size_t more;

	return chain_culprits(s->c, s->kind, &who, 1, &more, &rest) && who->ns >= all - all / 20;
}

static bool by_one_worker(const struct subject *s)
{
	uint64_t all = chain_class_ns(s->c, s->kind);

	return s->top && s->c->evidence.workers > 1 && subject_is_worker(s, s->top->process) &&
	       s->top->ns > all / 5 * 3;
}

/* ------------------------------------------------------------------ rows */

#define FACTS_MAX 4

static const struct row {
	enum cause_kind kind;
	bool (*facts[FACTS_MAX])(const struct subject *s);	/* all must hold */
	const char *templates[3];				/* cause, fix, proof */
} rows[] = {
#define LIST(...) { __VA_ARGS__ }
#define ADVICE(kind, facts, cause, fix, proof) { CAUSE_##kind, LIST facts, { cause, fix, proof } },
#include "advice.def"
#undef ADVICE
#undef LIST
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* Replaces the placeholders of length bytes of text; false where one has no value. */
static bool fill(struct words *w, const struct subject *s, const char *text, size_t length)
{
	const char *end = text + length;
	char value[ADVICE_VALUE];

	while (text < end) {
		const char *open = memchr(text, '{', (size_t)(end - text));
		const char *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;

		if (!close)
			open = end;
		words_add(w, "%.*s", (int)(open - text), text);
		if (!close)
			return true;
		if (!advice_value(s, open + 1, (size_t)(close - open - 1), value))
			return false;
		words_add(w, "%s", value);
		text = close + 1;
	}
	return true;
}

/* The parts outside brackets must have values, those inside may. */
static bool expand(const struct subject *s, const char *template, char *buf, size_t size)
{
	struct words w;

	words_begin(&w, buf, size);
	while (*template) {
		size_t plain = strcspn(template, "["), before = w.length;

		if (!fill(&w, s, template, plain))
			return false;
		template += plain;
		if (*template == '[') {
			size_t part = strcspn(++template, "]");

			before = w.length;
			if (!fill(&w, s, template, part)) {
				w.length = before;
				w.text[before] = '\0';
			}
			template += part + (template[part] == ']');
		}
	}
	return true;
}

static bool applies(const struct row *row, const struct subject *s)
{
	if (row->kind != s->kind)
		return false;
	for (unsigned int i = 0; i < FACTS_MAX && row->facts[i]; i++)
		if (!row->facts[i](s))
			return false;
	return true;
}

/* The first row of the kind that applies and whose sentences can all be filled. */
static void choose(const struct subject *s, struct advice *a)
{
	for (size_t i = 0; i < ROWS; i++)
		if (applies(&rows[i], s) &&
		    expand(s, rows[i].templates[0], a->cause, sizeof(a->cause)) &&
		    expand(s, rows[i].templates[1], a->fix, sizeof(a->fix)) &&
		    expand(s, rows[i].templates[2], a->proof, sizeof(a->proof)))
			return;
	*a = (struct advice){ 0 };
}

static struct subject subject_of(const struct report *r, const struct chain *c, enum cause_kind kind)
{
	struct subject s = { .r = r, .c = c, .kind = kind, .top = chain_cause(c, kind) };

	if (!s.top && c->cause_count && (kind == CAUSE_NONE || kind == CAUSE_HANDOFF))
		s.top = &c->causes[0];
	return s;
}

static void append(char *text, const char *before, const char *more)
{
	struct words w = { .text = text, .size = ADVICE_SIZE, .length = strlen(text) };

	words_add(&w, "%s%s", before, more);
}

/* The largest class that the verdict is not about; false: none of least ns. */
static bool find_other(const struct chain *c, uint64_t least, struct class_share *found)
{
	struct class_share classes[CHAIN_CLASSES];
	size_t n = chain_classes(c, classes);

	for (size_t i = 0; i < n; i++) {
		enum cause_kind kind = classes[i].kind;

		if (!kind || kind == c->verdict || classes[i].ns < least)
			continue;
		*found = classes[i];
		return true;
	}
	return false;
}

/* Where nothing explains half, where to begin; else what else took a good part of it. */
static void add_other(struct advice *a, const struct report *r, const struct chain *c)
{
	uint64_t least = c->verdict ? c->lost / 100 * SECOND_PERCENT + 1 : 1;
	struct class_share other;
	struct subject s;
	struct advice its;
	char share[FMT_SIZE];

	if (c->verdict == CAUSE_HANDOFF || c->harmless || !find_other(c, least, &other))
		return;
	s = subject_of(r, c, other.kind);
	choose(&s, &its);
	if (!*its.fix)
		return;
	append(a->fix, *a->fix ? "; " : "", c->verdict ? "for " : "begin with ");
	append(a->fix, other.name, " (");
	append(a->fix, fmt_percent(share, other.ns, c->lost), "): ");
	append(a->fix, "", its.fix);
}

void advice_give(struct advice *a, const struct report *r, const struct chain *c)
{
	struct subject s = subject_of(r, c, c->verdict);
	char share[FMT_SIZE];

	choose(&s, a);
	add_other(a, r, c);
	if (c->verdict == CAUSE_NONE)
		return;
	append(a->cause, " (", fmt_percent(share, c->explained, c->lost));
	append(a->cause, " of the lost time", c->verdict == CAUSE_LOCK_GUESS ? "; a guess)" : ")");
}

size_t advice_rows(void)
{
	return ROWS;
}

enum cause_kind advice_row(size_t row, const char *templates[3])
{
	memcpy(templates, rows[row].templates, sizeof(rows[row].templates));
	return rows[row].kind;
}
