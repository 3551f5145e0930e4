// SPDX-License-Identifier: BSD-2-Clause
#include <fnmatch.h>
#include <string.h>
#include "../common/options.h"
#include "fmt.h"
#include "guard_figures.h"
#include "words.h"

#define NS_S 1000000000.0L

/* --- figures of the whole recording */

static bool count_of(struct figure_value *v, uint64_t n)
{
	*v = (struct figure_value){ n, 1 };
	return true;
}

static bool share_of(struct figure_value *v, uint64_t a, uint64_t b)
{
	*v = (struct figure_value){ a, b };
	return b > 0;
}

static bool whole_lost_events(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return count_of(v, r->completeness.lost);
}

static bool whole_chain_breaks(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return count_of(v, r->procs.breaks);
}

static bool whole_complete(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return count_of(v, r->completeness.complete);
}

static bool whole_quiet(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return count_of(v, r->chains.quiet);
}

static bool whole_cannot_tell(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return count_of(v, r->chains.cannot_count);
}

static bool whole_cuda_calls(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return count_of(v, r->latency.calls);
}

static bool whole_span(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return count_of(v, r->recording.end - r->recording.start);
}

static bool whole_exit_status(const struct report *r, enum severity s, struct figure_value *v)
{
	uint64_t status = recording_number(&r->recording, "record.exit_status", UINT64_MAX);

	(void)s;
	return status != UINT64_MAX && count_of(v, status);
}

static bool whole_cpu_busy(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return share_of(v, r->system.busy, r->system.cpu_time);
}

static bool whole_runnable(const struct report *r, enum severity s, struct figure_value *v)
{
	(void)s;
	return share_of(v, r->system.runnable, r->system.span);
}

/* The chains listed first, then the small ones; NULL behind the last. */
static const struct chain *chain_at(const struct chains *c, size_t i)
{
	if (i < c->count)
		return &c->chains[i];
	return i - c->count < c->small_count ? &c->small[i - c->count] : NULL;
}

static bool whole_chains(const struct report *r, enum severity s, struct figure_value *v)
{
	const struct chain *c;
	uint64_t n = 0;

	for (size_t i = 0; (c = chain_at(&r->chains, i)); i++)
		n += s ? c->severity == s : c->severity >= SEVERITY_MEDIUM;
	return count_of(v, n);
}

static bool whole_lost_share(const struct report *r, enum severity s, struct figure_value *v)
{
	const struct chain *c;

	(void)s;
	*v = (struct figure_value){ 0, 1 };
	for (size_t i = 0; (c = chain_at(&r->chains, i)); i++)
		if (!c->harmless && c->span && c->lost * v->b > v->a * c->span)
			*v = (struct figure_value){ c->lost, c->span };
	return r->chains.span > 0;
}

/* Where the device is never known to be idle, "none was seen" says nothing. */
static bool whole_starvation(const struct report *r, enum severity s, struct figure_value *v)
{
	const struct chain *c;
	uint64_t lost = 0;

	(void)s;
	for (size_t i = 0; (c = chain_at(&r->chains, i)); i++)
		for (size_t k = 0; !c->harmless && k < c->effect_count; k++)
			if (c->effects[k].kind == EFFECT_STARVATION)
				lost += c->effects[k].lost;
	return share_of(v, lost, r->chains.span) && (lost || !r->chains.idle_unknown);
}

/* --- the table */

#define ROW(field) offsetof(struct latency_row, field)
#define ACCOUNT(field) offsetof(struct account, field)
#define DERIVED SIZE_MAX	/* no field: see row_value() and account_value() */

const struct figure figures[] = {
	{ "p50", SUBJECT_OPERATION, FIGURE_TIME, false, true, ROW(p50), NULL },
	{ "p95", SUBJECT_OPERATION, FIGURE_TIME, false, true, ROW(p95), NULL },
	{ "p99", SUBJECT_OPERATION, FIGURE_TIME, false, true, ROW(p99), NULL },
	{ "max", SUBJECT_OPERATION, FIGURE_TIME, false, true, ROW(max), NULL },
	{ "first", SUBJECT_OPERATION, FIGURE_TIME, false, true, ROW(first), NULL },
	{ "total", SUBJECT_OPERATION, FIGURE_TIME, false, false, ROW(total), NULL },
	{ "calls", SUBJECT_OPERATION, FIGURE_COUNT, false, false, ROW(calls), NULL },
	{ "failed", SUBJECT_OPERATION, FIGURE_COUNT, false, false, ROW(failed), NULL },
	{ "nested", SUBJECT_OPERATION, FIGURE_COUNT, false, false, ROW(nested), NULL },
	{ "open", SUBJECT_OPERATION, FIGURE_COUNT, false, false, ROW(open), NULL },
	{ "bytes", SUBJECT_OPERATION, FIGURE_BYTES, false, false, ROW(bytes), NULL },
	{ "rate", SUBJECT_OPERATION, FIGURE_RATE, false, false, ROW(calls), NULL },
	{ "share", SUBJECT_OPERATION, FIGURE_SHARE, false, false, ROW(total), NULL },

	{ "lost_events", SUBJECT_NONE, FIGURE_COUNT, false, false, 0, whole_lost_events },
	{ "chain_breaks", SUBJECT_NONE, FIGURE_COUNT, false, false, 0, whole_chain_breaks },
	{ "complete", SUBJECT_NONE, FIGURE_COUNT, false, false, 0, whole_complete },
	{ "chains", SUBJECT_SEVERITY, FIGURE_COUNT, false, false, 0, whole_chains },
	{ "quiet", SUBJECT_NONE, FIGURE_COUNT, false, false, 0, whole_quiet },
	{ "cannot_tell", SUBJECT_NONE, FIGURE_COUNT, false, false, 0, whole_cannot_tell },
	{ "lost_share", SUBJECT_NONE, FIGURE_SHARE, false, false, 0, whole_lost_share },
	{ "starvation", SUBJECT_NONE, FIGURE_SHARE, false, false, 0, whole_starvation },
	{ "cpu_busy", SUBJECT_NONE, FIGURE_SHARE, false, false, 0, whole_cpu_busy },
	{ "runnable", SUBJECT_NONE, FIGURE_RATIO, false, false, 0, whole_runnable },
	{ "cuda_calls", SUBJECT_NONE, FIGURE_COUNT, false, false, 0, whole_cuda_calls },
	{ "span", SUBJECT_NONE, FIGURE_TIME, false, false, 0, whole_span },
	{ "exit_status", SUBJECT_NONE, FIGURE_COUNT, false, false, 0, whole_exit_status },

	{ "switches", SUBJECT_PROCESS, FIGURE_COUNT, false, false, DERIVED, NULL },
	{ "voluntary", SUBJECT_PROCESS, FIGURE_COUNT, false, false, ACCOUNT(voluntary), NULL },
	{ "involuntary", SUBJECT_PROCESS, FIGURE_COUNT, false, false, ACCOUNT(involuntary), NULL },
	{ "running", SUBJECT_PROCESS, FIGURE_TIME, true, false, ACCOUNT(running), NULL },
	{ "waiting", SUBJECT_PROCESS, FIGURE_TIME, true, false, ACCOUNT(waiting), NULL },
	{ "blocked", SUBJECT_PROCESS, FIGURE_TIME, true, false, ACCOUNT(blocked), NULL },
	{ "unrecorded", SUBJECT_PROCESS, FIGURE_TIME, true, false, ACCOUNT(unrecorded), NULL },
	{ "off_cpu", SUBJECT_PROCESS, FIGURE_TIME, true, false, DERIVED, NULL },
	{ "page_allocations", SUBJECT_PROCESS, FIGURE_COUNT, false, false, ACCOUNT(page_events),
	  NULL },
	{ "page_bytes", SUBJECT_PROCESS, FIGURE_BYTES, false, false, ACCOUNT(pages), NULL },
	{ 0 },
};

enum severity figure_severity(const char *text)
{
	for (enum severity s = SEVERITY_LOW; s <= SEVERITY_HIGH; s++)
		if (!strcasecmp(text, severity_name(s)))
			return s;
	return SEVERITY_NONE;
}

static uint64_t field(const void *from, size_t offset)
{
	uint64_t n;

	memcpy(&n, (const char *)from + offset, sizeof(n));
	return n;
}

/* What a walk over operations or processes needs. */
struct walk {
	const struct figure *figure;
	const struct report *r;
	const char *subject;
	bool share;
	void (*visit)(void *context, const char *of, const struct figure_value *v);
	void *context;
	size_t seen;
};

static void give(struct walk *w, const char *of, const struct figure_value *v)
{
	w->visit(w->context, of, v);
	w->seen++;
}

/* --- operations */

static bool glob(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, FNM_CASEFOLD | FNM_NOESCAPE);
}

static struct figure_value row_value(const struct walk *w, const struct latency_row *row)
{
	long double span = w->r->recording.end - w->r->recording.start;
	struct figure_value v = { field(row, w->figure->offset), 1 };

	if (w->figure->unit == FIGURE_RATE)
		v = (struct figure_value){ v.a * NS_S, span };
	else if (w->figure->unit == FIGURE_SHARE)
		v.b = span;
	return v;
}

/* First calls are a process's own; all else is of the row over all processes. */
static bool row_counts(const struct walk *w, const struct latency_row *row)
{
	bool first = w->figure->offset == ROW(first);

	if (!glob(w->subject, row->operation->name) || (row->process == LATENCY_ALL) == first)
		return false;
	if (first)
		return row->has_first;
	return !w->figure->of_durations || row->n;
}

/* The nearest of the operations called, then of all that could be. */
static const char *near_operation(const struct report *r, const char *subject)
{
	size_t length = strlen(subject);
	unsigned int best = (unsigned int)length / 3 + 1;
	const char *found = NULL;

	for (size_t i = 0; i < r->latency.row_count + r->recording.operation_count; i++) {
		const char *name = i < r->latency.row_count ? r->latency.rows[i].operation->name :
				   r->recording.operations[i - r->latency.row_count].name;
		unsigned int d = options_distance(subject, length, name);

		if (d < best) {
			best = d;
			found = name;
		}
	}
	return found;
}

/* Whether a call of that name could be in the file at all. */
static bool known_operation(const struct report *r, const char *subject)
{
	for (size_t i = 0; i < r->recording.operation_count; i++)
		if (glob(subject, r->recording.operations[i].name))
			return true;
	for (size_t i = 0; i < r->latency.row_count; i++)
		if (glob(subject, r->latency.rows[i].operation->name))
			return true;
	return !strcmp(subject, "*");
}

static int no_operation(const struct walk *w, struct error *e)
{
	const char *near = near_operation(w->r, w->subject);

	error_set(e, ERROR_USAGE, "the recording knows no CUDA operation \"%.80s\"", w->subject);
	if (near)
		return error_hint(e, "did you mean \"%s\"?", near);
	return error_hint(e, "names are as in the CUDA API; --ops lists those that were called");
}

static int walk_operations(struct walk *w, struct error *e)
{
	if (!known_operation(w->r, w->subject))
		return no_operation(w, e);
	for (size_t i = 0; i < w->r->latency.row_count; i++) {
		const struct latency_row *row = &w->r->latency.rows[i];
		struct figure_value v = row_value(w, row);

		if (row_counts(w, row))
			give(w, row->operation->name, &v);
	}
	if (!w->seen && w->figure->of_durations) {
		error_set(e, ERROR_USAGE, "no call of \"%.80s\" to measure, the first of a process apart",
			  w->subject);
		return error_hint(e, "first(%.60s) and calls(%.60s) count them all", w->subject,
				  w->subject);
	}
	if (!w->seen)
		give(w, w->subject, &(struct figure_value){ 0, 1 });
	return 0;
}

/* --- processes */

static long double account_life(const struct account *a)
{
	return (long double)a->running + a->waiting + a->blocked + a->unrecorded;
}

static struct figure_value account_value(const struct walk *w, const struct account *a)
{
	struct figure_value v = { 0, 1 };

	if (w->figure->offset != DERIVED)
		v.a = field(a, w->figure->offset);
	else if (w->figure->unit == FIGURE_COUNT)
		v.a = (long double)a->voluntary + a->involuntary;
	else
		v.a = (long double)a->waiting + a->blocked;
	if (w->figure->unit == FIGURE_BYTES)
		v.a *= w->r->recording.page_size;
	if (w->share)
		v.b = account_life(a);
	return v;
}

/* "worker" is every worker, "worker 2" one. */
static bool has_role(const struct report *r, uint32_t process, const char *subject)
{
	static const char *const words[] = { "other", "main", "worker", "helper" };
	char role[64];

	roles_text(&r->roles, process, role, sizeof(role));
	return !strcasecmp(subject, words[r->roles.processes[process].role]) ||
	       (*role && !strcasecmp(subject, role));
}

static bool process_counts(const struct walk *w, uint32_t process)
{
	const struct process *p = &w->r->tasks.processes[process];

	if (!report_lists(w->r, process) || !select_process(&w->r->selection, process))
		return false;
	if (!w->subject)
		return p->in_tree;
	return has_role(w->r, process, w->subject) || glob(w->subject, p->name);
}

static const char *process_text(const struct report *r, uint32_t process, char *buf, size_t size)
{
	const struct process *p = &r->tasks.processes[process];
	char name[80], role[64];

	roles_text(&r->roles, process, role, sizeof(role));
	fmt_text(name, sizeof(name), p->name, 0);
	snprintf(buf, size, "%s %u%s%s%s", name, p->tgid, *role ? " (" : "", role,
		 *role ? ")" : "");
	return buf;
}

/* What there is to choose from: names, each once, as far as there is room. */
static int no_process(const struct walk *w, struct error *e)
{
	const struct tasks *t = &w->r->tasks;
	char text[200], name[64];
	struct words words;

	words_begin(&words, text, sizeof(text));
	for (size_t i = 0; i < w->r->order_count; i++) {
		const char *own = t->processes[w->r->order[i]].name;
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = !strcmp(own, t->processes[w->r->order[k]].name);
		if (!again)
			words_item(&words, ", ", "%s", fmt_text(name, sizeof(name), own, 0));
	}
	error_set(e, ERROR_USAGE, "there is no process \"%.80s\"", w->subject ? w->subject : "*");
	return error_hint(e, "a role (main, worker, helper, other) or a name: %s", text);
}

static int walk_processes(struct walk *w, struct error *e)
{
	struct account sum = { 0 };
	char of[FIGURE_NAME_MAX];
	size_t count = 0;

	for (uint32_t i = 1; i < w->r->tasks.process_count; i++) {
		const struct account *a = &w->r->procs.processes[i].a;
		struct figure_value v = account_value(w, a);

		if (!process_counts(w, i))
			continue;
		count++;
		account_add(&sum, a);
		if (w->subject && v.b > 0)
			give(w, process_text(w->r, i, of, sizeof(of)), &v);
	}
	if (!count)
		return no_process(w, e);
	if (!w->subject) {
		struct figure_value v = account_value(w, &sum);

		if (v.b > 0)
			give(w, "", &v);
	}
	return w->seen ? 0 : error_set(e, ERROR_USAGE, "the recording does not say");
}

int figure_values(const struct figure *f, const struct report *r, const char *subject, bool share,
		  void (*visit)(void *context, const char *of, const struct figure_value *v),
		  void *context, struct error *e)
{
	struct walk w = { f, r, subject, share, visit, context, 0 };
	struct figure_value v;

	if (f->subject == SUBJECT_OPERATION)
		return walk_operations(&w, e);
	if (f->subject == SUBJECT_PROCESS)
		return walk_processes(&w, e);
	if (!f->whole(r, subject ? figure_severity(subject) : SEVERITY_NONE, &v))
		return error_set(e, ERROR_USAGE, "the recording does not say");
	give(&w, "", &v);
	return 0;
}
