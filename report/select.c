// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "fmt.h"
#include "report.h"
#include "select_names.h"

#define ROLE_LAST (UINT64_MAX / 2)	/* more than any thread ran */

struct matcher {
	struct selection *selection;
	const struct report *report;
	struct name_list pid, tid, comm, role, op;
	bool outside;		/* processes outside the tree are meant, whatever their names */
};

static void set_bit(uint64_t *bits, size_t i)
{
	bits[i / 64] |= 1ull << i % 64;
}

/* ---- what there is to choose from ---- */

static bool thread_lives(const struct report *r, uint32_t thread)
{
	const struct thread_account *t = &r->procs.threads[thread];

	return !r->recording.narrowed || t->end > t->begin || t->a.voluntary || t->a.involuntary ||
	       t->a.arrivals;
}

bool select_lives(const struct report *r, uint32_t thread)
{
	return select_thread(&r->selection, thread) && thread_lives(r, thread);
}

bool select_offers(const struct report *r, uint32_t process, bool outside)
{
	if (!report_lists(r, process) ||
	    (r->recording.narrowed && !process_in_span(&r->procs, process)))
		return false;
	return r->tasks.processes[process].in_tree || (outside && !r->selection.options.tree_only);
}

static const char *role_of(const struct report *r, uint32_t process, char *buf, size_t size)
{
	roles_text(&r->roles, process, buf, size);
	if (!*buf)
		snprintf(buf, size, "other");
	return buf;
}

/* ---- does it match ---- */

static bool pid_matches(struct matcher *m, uint32_t process)
{
	const struct process *p = &m->report->tasks.processes[process];
	bool matches = !m->pid.count;

	for (size_t i = 0; i < m->pid.count; i++) {
		struct name *name = &m->pid.names[i];

		if (name->number == p->tgid || (p->ns_tgid && name->number == p->ns_tgid))
			matches = name->found = true;
	}
	return matches;
}

/* The whole role, or words at its beginning: "worker", "worker 3" of "worker 3 of main 2". */
static bool role_matches(struct matcher *m, uint32_t process)
{
	bool matches = !m->role.count;
	char role[64];

	role_of(m->report, process, role, sizeof(role));
	for (size_t i = 0; i < m->role.count; i++) {
		struct name *name = &m->role.names[i];
		const char *text = strcasecmp(name->text, "outside") ? name->text : "other";
		size_t length = strlen(text);

		if (!strncasecmp(text, role, length) && (!role[length] || role[length] == ' '))
			matches = name->found = true;
	}
	return matches;
}

static bool tid_matches(struct matcher *m, uint32_t thread, bool lives)
{
	const struct thread *t = &m->report->tasks.threads[thread];
	bool matches = !m->tid.count;

	for (size_t i = 0; i < m->tid.count; i++) {
		struct name *name = &m->tid.names[i];

		if (name->number == t->tid || (t->former_tid && name->number == t->former_tid)) {
			matches = true;
			name->found |= lives;
		}
	}
	return matches;
}

static bool comm_matches(struct matcher *m, uint32_t thread, bool lives)
{
	const struct tasks *t = &m->report->tasks;
	const struct process *p = &t->processes[t->threads[thread].process];
	bool matches = !m->comm.count;

	for (size_t i = 0; i < m->comm.count; i++) {
		struct name *name = &m->comm.names[i];

		if (!p->in_tree && !m->outside && !name->outside)
			continue;
		if (select_bit(name->threads, t->thread_count, thread) ||
		    (p->leader != TASKS_NONE &&
		     select_bit(name->threads, t->thread_count, p->leader))) {
			matches = true;
			name->found |= lives;
		}
	}
	return matches;
}

/* Threads with a name the glob matches: one that a rename or an exec gave, or the last. */
static int match_names(struct matcher *m, struct name *name)
{
	const struct tasks *t = &m->report->tasks;

	name->threads = calloc(t->thread_count / 64 + 1, sizeof(*name->threads));
	if (!name->threads)
		return ERROR_MEMORY;
	for (size_t i = 0; i < t->thread_count; i++)
		if (name_glob(name->text, t->threads[i].name, false))
			set_bit(name->threads, i);
	for (size_t i = 0; i < t->name_count; i++)
		if (name_glob(name->text, t->names[i].name, false))
			set_bit(name->threads, t->names[i].thread);
	return 0;
}

static int match_all_names(struct matcher *m, struct error *e)
{
	for (size_t i = 0; i < m->comm.count; i++)
		if (match_names(m, &m->comm.names[i]))
			return error_set(e, ERROR_MEMORY, "out of memory");
	return 0;
}

/* ---- threads and processes ---- */

static void match_process(struct matcher *m, uint32_t process)
{
	struct selection *s = m->selection;
	const struct tasks *t = &m->report->tasks;
	bool pid = pid_matches(m, process), role = role_matches(m, process);
	struct selected_count threads = { 0, 0 };

	for (uint32_t i = t->processes[process].first_thread; i != TASKS_NONE;
	     i = t->threads[i].next) {
		bool lives = thread_lives(m->report, i), tid = tid_matches(m, i, lives);

		threads.all += lives;
		if (!comm_matches(m, i, lives) || !tid || !pid || !role)
			continue;
		threads.selected += lives;
		set_bit(s->threads, i);
	}
	if (!threads.selected)
		return;
	set_bit(s->processes, process);
	s->process.selected++;
	s->process_outside |= !m->report->tasks.processes[process].in_tree;
	s->thread.selected += threads.selected;
	s->thread.all += threads.all;
}

/* Of how many: strangers count where one is selected. */
static void count_processes(struct matcher *m)
{
	struct selection *s = m->selection;

	s->process.all = 0;
	for (uint32_t i = 1; i < m->report->tasks.process_count; i++)
		s->process.all += select_offers(m->report, i, s->process_outside || s->options.all);
}

static void match_processes(struct matcher *m, bool outside)
{
	struct selection *s = m->selection;
	const struct tasks *t = &m->report->tasks;

	s->process = s->thread = (struct selected_count){ 0, 0 };
	s->process_outside = false;
	memset(s->threads, 0, (t->thread_count / 64 + 1) * sizeof(*s->threads));
	memset(s->processes, 0, (t->process_count / 64 + 1) * sizeof(*s->processes));
	for (uint32_t i = 1; i < t->process_count; i++)
		if (select_offers(m->report, i, outside))
			match_process(m, i);
}

/* Names that nothing in the tree has are looked for outside. */
static bool look_outside(struct matcher *m)
{
	bool any = false;

	for (size_t i = 0; i < m->comm.count; i++) {
		m->comm.names[i].outside = !m->comm.names[i].found;
		any |= m->comm.names[i].outside;
	}
	return any && !m->outside && !m->selection->options.tree_only;
}

static bool names_outside(const struct name_list *role)
{
	for (size_t i = 0; i < role->count; i++)
		if (!strcasecmp(role->names[i].text, "other") ||
		    !strcasecmp(role->names[i].text, "outside"))
			return true;
	return false;
}

/* Kinds, the main's first, then who ran most: "worker" comes before "worker 3". */
static void offer_role(const struct report *r, uint32_t process, const char *wanted,
		       struct choices *c)
{
	enum role kind = r->roles.processes[process].role;
	uint64_t running = r->procs.processes[process].a.running;
	char role[64], first[64];

	role_of(r, process, role, sizeof(role));
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(role, " "), role);
	choices_add(c, first, kind ? ROLE_LAST - (uint64_t)kind : ROLE_LAST - ROLE_HELPER - 1,
		    wanted);
	if (strcmp(first, role))
		choices_add(c, role, running, wanted);
}

static void offer_process(const struct matcher *m, const struct name_list *l, const char *wanted,
			  uint32_t process, struct choices *c)
{
	const struct tasks *t = &m->report->tasks;
	const struct process *p = &t->processes[process];
	uint64_t weight = m->report->procs.processes[process].a.running;
	char role[64], text[160];

	role_of(m->report, process, role, sizeof(role));
	if (l == &m->pid) {
		snprintf(text, sizeof(text), "%u %s", p->tgid,
			 strcmp(role, "other") ? role : p->name);
		choices_add(c, text, weight, NULL);
	} else if (l == &m->role) {
		offer_role(m->report, process, wanted, c);
	}
	for (uint32_t i = p->first_thread; i != TASKS_NONE; i = t->threads[i].next) {
		weight = m->report->procs.threads[i].a.running;
		snprintf(text, sizeof(text), "%u %s", t->threads[i].tid, t->threads[i].name);
		if (l == &m->tid && thread_lives(m->report, i))
			choices_add(c, text, weight, NULL);
		else if (l == &m->comm && thread_lives(m->report, i))
			choices_add(c, t->threads[i].name, weight, wanted);
	}
}

static int nothing_named(const struct matcher *m, const struct name_list *l,
			 const struct name *name, struct error *e)
{
	const struct report *r = m->report;
	struct choices c = { 0 };
	char text[220], shown[128];

	for (uint32_t i = 1; i < r->tasks.process_count; i++)
		if (select_offers(r, i, r->selection.options.all || l == &m->role))
			offer_process(m, l, name->text, i, &c);
	error_set(e, ERROR_USAGE, "option \"--%s\": there is no %s \"%s\"%s", l->option,
		  l == &m->pid ? "process" : l == &m->tid ? "thread" : l == &m->role ? "role" : "name",
		  fmt_text(shown, sizeof(shown), name->text, 60),
		  r->selection.by_time || r->selection.by_cpu ? " in this part of the recording" : "");
	choices_text(&c, text, sizeof(text));
	return error_hint(e, *text ? "there are: %s" : "there is no process of the tree%s", text);
}

/* Each of them names something, and nothing is all of it. */
static int nothing_together(const struct matcher *m, struct error *e)
{
	const struct name_list *lists[] = { &m->pid, &m->tid, &m->comm, &m->role };
	char text[64] = "";

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (lists[i]->count)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s--%s",
				 *text ? " and " : "", lists[i]->option);
	error_set(e, ERROR_USAGE, "no thread is what %s ask for together", text);
	return error_hint(e, "leave one of them out");
}

static int find_threads(struct matcher *m, struct error *e)
{
	const struct name_list *lists[] = { &m->pid, &m->tid, &m->comm, &m->role };
	struct selection *s = m->selection;

	s->thread_bits = m->report->tasks.thread_count;
	s->process_bits = m->report->tasks.process_count;
	s->threads = calloc(s->thread_bits / 64 + 1, sizeof(*s->threads));
	s->processes = calloc(s->process_bits / 64 + 1, sizeof(*s->processes));
	if (!s->threads || !s->processes)
		return error_set(e, ERROR_MEMORY, "out of memory");
	if (match_all_names(m, e))
		return ERROR_MEMORY;
	m->outside = s->options.all || m->pid.count || m->tid.count || names_outside(&m->role);
	match_processes(m, m->outside);
	if (look_outside(m))
		match_processes(m, true);
	count_processes(m);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const struct name *missing = name_list_missing(lists[i]);

		if (missing)
			return nothing_named(m, lists[i], missing, e);
	}
	return s->process.selected ? 0 : nothing_together(m, e);
}

/* ---- operations ---- */

static bool called(const struct latency_row *row)
{
	return row->process == LATENCY_ALL;
}

static bool is_called(const struct latency *l, const char *name)
{
	for (size_t i = 0; i < l->row_count; i++)
		if (called(&l->rows[i]) && !strcasecmp(l->rows[i].operation->name, name))
			return true;
	return false;
}

static int no_operation(const struct report *r, const char *name, struct error *e)
{
	struct choices c = { 0 };
	char text[220], shown[128];

	for (size_t i = 0; i < r->latency.row_count; i++)
		if (called(&r->latency.rows[i]))
			choices_add(&c, r->latency.rows[i].operation->name,
				    r->latency.row_count - i, name);
	error_set(e, ERROR_USAGE, "option \"--op\": no call of \"%s\"%s",
		  fmt_text(shown, sizeof(shown), name, 60),
		  r->selection.by_time || r->selection.by_cpu ? " in this part of the recording" : "");
	choices_text(&c, text, sizeof(text));
	if (!*text)
		return error_hint(e, "there is no CUDA call");
	return error_hint(e, "there are: %s", text);
}

static bool operation_matches(const struct latency *l, const struct name *name,
			      const char *operation)
{
	if (name_is_glob(name->text))
		return name_glob(name->text, operation, true);
	return is_called(l, name->text) ? !strcasecmp(operation, name->text) :
					  strcasestr(operation, name->text) != NULL;
}

static size_t operation_limit(const struct latency *l)
{
	size_t most = 0;

	for (size_t i = 0; i < l->row_count; i++)
		most = l->rows[i].operation->id > most ? l->rows[i].operation->id : most;
	return most + 1;
}

static int find_operations(struct matcher *m, struct error *e)
{
	struct selection *s = m->selection;
	const struct latency *l = &m->report->latency;
	const struct name *missing;

	s->operation_bits = operation_limit(l);
	s->operations = calloc(s->operation_bits / 64 + 1, sizeof(*s->operations));
	if (!s->operations)
		return error_set(e, ERROR_MEMORY, "out of memory");
	for (size_t i = 0; i < l->row_count; i++) {
		const struct operation *operation = l->rows[i].operation;

		if (!called(&l->rows[i]))
			continue;
		s->operation.all++;
		for (size_t k = 0; k < m->op.count; k++)
			if (operation_matches(l, &m->op.names[k], operation->name)) {
				m->op.names[k].found = true;
				set_bit(s->operations, operation->id);
			}
		s->operation.selected +=
			select_bit(s->operations, s->operation_bits, operation->id);
	}
	missing = name_list_missing(&m->op);
	return missing ? no_operation(m->report, missing->text, e) : 0;
}

/* ---- everything ---- */

static int read_lists(struct matcher *m, const struct select_options *o, struct error *e)
{
	int ret = name_list_read(&m->pid, "pid", o->pid, true, e);

	if (!ret)
		ret = name_list_read(&m->tid, "tid", o->tid, true, e);
	if (!ret)
		ret = name_list_read(&m->comm, "comm", o->comm, false, e);
	if (!ret)
		ret = name_list_read(&m->role, "role", o->role, false, e);
	if (!ret)
		ret = name_list_read(&m->op, "op", o->op, false, e);
	return ret;
}

static void release_lists(struct matcher *m)
{
	name_list_release(&m->pid);
	name_list_release(&m->tid);
	name_list_release(&m->comm);
	name_list_release(&m->role);
	name_list_release(&m->op);
}

int select_stalling(const struct report *r, uint64_t **stalling, struct error *e)
{
	const struct select_options *o = &r->selection.options;
	struct matcher m = { .report = r, .outside = true };
	int ret = 0;

	*stalling = NULL;
	if (!o->tid && !o->comm)
		return 0;
	ret = read_lists(&m, o, e);
	if (!ret)
		ret = match_all_names(&m, e);
	*stalling = ret ? NULL : calloc(r->tasks.thread_count / 64 + 1, sizeof(**stalling));
	for (uint32_t i = 0; *stalling && i < r->tasks.thread_count; i++)
		if (tid_matches(&m, i, true) && comm_matches(&m, i, true))
			set_bit(*stalling, i);
	release_lists(&m);
	return ret || *stalling ? ret : error_set(e, ERROR_MEMORY, "out of memory");
}

int select_resolve(struct selection *s, const struct report *r, struct error *e)
{
	const struct select_options *o = &s->options;
	struct matcher m = { .selection = s, .report = r };
	int ret = read_lists(&m, o, e);
	bool threads = o->pid || o->tid || o->comm || o->role;

	if (!ret && threads)
		ret = find_threads(&m, e);
	if (!ret && o->op)
		ret = find_operations(&m, e);
	s->by_thread = !ret && threads;
	s->by_operation = !ret && o->op;
	release_lists(&m);
	return ret;
}

void select_release(struct selection *s)
{
	free(s->cpus);
	free(s->threads);
	free(s->processes);
	free(s->operations);
	memset(s, 0, sizeof(*s));
}
