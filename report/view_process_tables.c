// SPDX-License-Identifier: BSD-2-Clause
/* Processes as a table, a row each: of the default screen and of --per-process, and as a tree. */
#include <stdlib.h>
#include "view.h"
#include "view_processes.h"

static const struct listing_column columns[] = {
	{ "id", "id", CELL_ID, COLUMN_DATA },
	{ "pid", "PID", CELL_ID, 0 },
	{ "ppid", "parent", CELL_ID, COLUMN_DATA },
	{ "parent", "parent's id", CELL_ID, COLUMN_DATA },
	{ "namespace_pid", "PID in its namespace", CELL_ID, COLUMN_DATA },
	{ "name", "process", CELL_TEXT, COLUMN_SHRINK },
	{ "role", "role", CELL_TEXT, 0 },
	{ "processes", "processes", CELL_COUNT, COLUMN_DATA | COLUMN_SUM },
	{ "threads", "threads", CELL_COUNT, COLUMN_WIDE | COLUMN_SUM },
	{ "switches_voluntary", "vol.", CELL_COUNT, COLUMN_SUM },
	{ "switches_involuntary", "invol.", CELL_COUNT, COLUMN_SUM },
	{ "off_cpu_mean_ns", "off-CPU", CELL_NS, 0 },
	{ "off_cpu_max_ns", "max", CELL_NS, COLUMN_LIKE },
	{ "off_cpu_periods", "off-CPU periods", CELL_COUNT, COLUMN_DATA | COLUMN_SUM },
	{ "page_allocations", "allocs", CELL_COUNT, COLUMN_SUM },
	{ "page_bytes", "memory", CELL_BYTES, COLUMN_OPTIONAL | COLUMN_SUM },
	{ "cuda_calls", "CUDA", CELL_COUNT, COLUMN_SUM },
	{ "cuda_time_ns", "in CUDA", CELL_NS, COLUMN_WIDE | COLUMN_SUM },
	{ "running_ns", "running", CELL_NS, COLUMN_WIDE | COLUMN_SUM | COLUMN_MAIN },
	{ "waiting_ns", "waiting", CELL_NS, COLUMN_LIKE | COLUMN_WIDE | COLUMN_SUM },
	{ "blocked_ns", "blocked", CELL_NS, COLUMN_LIKE | COLUMN_WIDE | COLUMN_SUM },
	{ "unrecorded_ns", "unrecorded", CELL_NS, COLUMN_DATA | COLUMN_SUM },
	{ "start_ns", "begin", CELL_TIME, COLUMN_DATA },
	{ "end_ns", "end", CELL_TIME, COLUMN_DATA },
	{ "exit_code", "exit code", CELL_COUNT, COLUMN_DATA },
	{ "exit_signal", "signal", CELL_COUNT, COLUMN_DATA },
	{ "chain_breaks", "breaks", CELL_COUNT, COLUMN_DATA | COLUMN_SUM },
	{ "command", "command", CELL_TEXT, COLUMN_WIDE | COLUMN_SHRINK },
};

static void add_identity(const struct report *r, struct listing *t, uint32_t process,
			 const struct worker_group *group)
{
	const struct process *p = &r->tasks.processes[process];
	const struct process *main = group ? &r->tasks.processes[group->main] : NULL;

	list_number(t, !group, p->id, false);
	list_number(t, !group, p->tgid, false);
	list_number(t, p->ppid, p->ppid, false);
	list_number(t, main || p->parent != TASKS_NONE, main ? main->id : p->parent, false);
	list_number(t, !group && p->ns_tgid, p->ns_tgid, false);
	listing_text(t, p->name);
	list_role(r, t, process, group);
}

static void add_figures(const struct report *r, struct listing *t, const struct thread_sum *s)
{
	bool lossy = r->completeness.switches_lossy, pages = r->completeness.pages_lossy;

	list_number(t, true, s->processes, false);
	list_number(t, true, s->threads, false);
	list_number(t, true, s->a.voluntary, lossy);
	list_number(t, true, s->a.involuntary, lossy);
	list_number(t, s->a.off_periods, account_off_mean(&s->a), lossy);
	list_number(t, s->a.off_periods, s->a.off_max, lossy);
	list_number(t, true, s->a.off_periods, lossy);
	list_number(t, true, s->a.page_events, pages);
	list_number(t, true, s->a.pages * r->recording.page_size, pages);
	list_number(t, true, s->calls, r->completeness.calls_lossy);
	list_number(t, true, s->call_time, r->completeness.calls_lossy);
	list_number(t, true, s->a.running, lossy);
	list_number(t, true, s->a.waiting, lossy);
	list_number(t, true, s->a.blocked, lossy);
	list_number(t, true, s->a.unrecorded, lossy);
	list_time(r, t, true, s->begin);
	list_time(r, t, !s->alive, s->end);
}

static struct thread_sum sum_of(const struct report *r, uint32_t process,
				const struct worker_group *group)
{
	struct thread_sum sum;

	if (group)
		return group->sum;
	thread_sum_process(r, process, &sum);
	return sum;
}

static void add_row(const struct report *r, struct listing *t, uint32_t process)
{
	const struct worker_group *group = worker_group_of(r, process);
	const struct process *p = &r->tasks.processes[process];
	struct thread_sum sum = sum_of(r, process, group);
	struct exit_status exit;

	list_exit(r, process, group, &exit);
	add_identity(r, t, process, group);
	add_figures(r, t, &sum);
	list_number(t, exit.known, exit.code, false);
	list_number(t, exit.known && exit.signal, exit.signal, false);
	list_number(t, true, sum.a.breaks, false);
	listing_text(t, p->command);
}

/* A helper that hardly ran, like the shells of a launcher, says nothing in a line of its own. */
static bool minor(const struct report *r, uint32_t process)
{
	return r->roles.processes[process].role == ROLE_HELPER &&
	       !r->tasks.processes[process].root && !r->latency.process_calls[process] &&
	       r->procs.processes[process].a.running < r->tree_running / 100;
}

/* Minor ones come last: as far as the text has no room they are one row. */
size_t list_processes(const struct report *r, struct listing_set *set)
{
	struct listing *t = listing_set_add(set, "processes", NULL, columns,
					    sizeof(columns) / sizeof(*columns));
	size_t major = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < r->order_count; i++)
			if (list_stands(r, r->order[i]) && minor(r, r->order[i]) == pass)
				add_row(r, t, r->order[i]);
		major = pass ? major : listing_rows(t);
	}
	return major;
}

/* By column "id"; a group by that of its main, its parent. */
uint32_t list_process_at(const struct report *r, const struct listing *t, size_t row)
{
	const struct cell *cells = &t->cells[row * t->column_count];

	for (size_t i = 0; i < r->groups.count && !cells[0].known; i++)
		if (r->tasks.processes[r->groups.list[i].main].id == cells[3].a)
			return r->groups.list[i].members[0];
	return (uint32_t)cells[0].a;
}

int view_process_tables(struct report *r, const char *argument, struct listing_set *out,
			struct error *e)
{
	(void)argument;
	(void)e;
	list_processes(r, out);
	return 0;
}

/* ---- the tree ---- */

static const struct listing_column tree_columns[] = {
	{ "depth", "depth", CELL_COUNT, COLUMN_DATA },
	{ "name", "process", CELL_TEXT, COLUMN_SHRINK },
	{ "pid", "PID", CELL_ID, 0 },
	{ "ppid", "parent", CELL_ID, COLUMN_DATA },
	{ "role", "role", CELL_TEXT, 0 },
	{ "processes", "processes", CELL_COUNT, COLUMN_DATA | COLUMN_SUM },
	{ "start_ns", "begin", CELL_NS, 0 },
	{ "life_ns", "life", CELL_NS, 0 },
	{ "end_ns", "end", CELL_NS, COLUMN_DATA },
	{ "exit", "exit", CELL_TEXT, 0 },
	{ "exit_code", "exit code", CELL_COUNT, COLUMN_DATA },
	{ "exit_signal", "signal", CELL_COUNT, COLUMN_DATA },
	{ "switches", "switches", CELL_COUNT, COLUMN_SUM },
	{ "switches_voluntary", "voluntary", CELL_COUNT, COLUMN_DATA | COLUMN_SUM },
	{ "switches_involuntary", "involuntary", CELL_COUNT, COLUMN_DATA | COLUMN_SUM },
	{ "running_ns", "running", CELL_NS, COLUMN_WIDE | COLUMN_SUM | COLUMN_MAIN },
	{ "cuda_calls", "CUDA", CELL_COUNT, COLUMN_OPTIONAL | COLUMN_SUM },
	{ "page_bytes", "memory", CELL_BYTES, COLUMN_OPTIONAL | COLUMN_SUM },
	{ "threads", "threads", CELL_COUNT, COLUMN_OPTIONAL | COLUMN_SUM },
	{ "page_allocations", "allocs", CELL_COUNT, COLUMN_WIDE | COLUMN_SUM },
	{ "command", "command", CELL_TEXT, COLUMN_WIDE | COLUMN_SHRINK },
};

#define TREE_INDENT 12		/* levels that are shown */

struct tree {
	const struct report *r;
	uint32_t *nodes; size_t count;	/* processes, siblings together, in order of birth */
	uint32_t *parent;		/* by process; TASKS_NONE none */
	uint32_t *place, *first;	/* by process: in nodes, its own and its first child's */
	bool *listed;			/* by process */
};

/* Whether a is older: only then can it have made b, whatever a damaged file says. */
static bool older(const struct tree *tree, uint32_t a, uint32_t b)
{
	const struct process *p = tree->r->tasks.processes;

	return p[a].birth != p[b].birth ? p[a].birth < p[b].birth : a < b;
}

/* The nearest ancestor that has a row. */
static uint32_t parent_of(const struct tree *tree, uint32_t process)
{
	const struct process *processes = tree->r->tasks.processes;
	uint32_t parent = processes[process].parent;

	while (parent != TASKS_NONE && older(tree, parent, process)) {
		const struct worker_group *group = worker_group_of(tree->r, parent);

		if (tree->listed[parent])
			return group ? group->members[0] : parent;
		process = parent;
		parent = processes[process].parent;
	}
	return TASKS_NONE;
}

static int by_parent(const void *a, const void *b, void *context)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct tree *tree = context;

	if (tree->parent[x] != tree->parent[y])
		return tree->parent[x] + 1 < tree->parent[y] + 1 ? -1 : 1;
	return x == y ? 0 : older(tree, x, y) ? -1 : 1;
}

static int tree_make(struct tree *tree, const struct report *r)
{
	size_t n = r->tasks.process_count;

	*tree = (struct tree){
		.r = r, .nodes = calloc(n, sizeof(uint32_t)), .parent = calloc(n, sizeof(uint32_t)),
		.place = calloc(n, sizeof(uint32_t)), .first = calloc(n, sizeof(uint32_t)),
		.listed = calloc(n, sizeof(bool)),
	};
	if (!tree->nodes || !tree->parent || !tree->place || !tree->first || !tree->listed)
		return ERROR_MEMORY;
	for (size_t i = 0; i < r->order_count; i++)
		tree->listed[r->order[i]] = r->tasks.processes[r->order[i]].in_tree;
	for (size_t i = 0; i < r->order_count; i++)
		if (tree->listed[r->order[i]] && list_stands(r, r->order[i])) {
			tree->nodes[tree->count++] = r->order[i];
			tree->parent[r->order[i]] = parent_of(tree, r->order[i]);
		}
	if (tree->count)
		qsort_r(tree->nodes, tree->count, sizeof(*tree->nodes), by_parent, tree);
	for (size_t i = 0; i < n; i++)
		tree->first[i] = TASKS_NONE;
	for (size_t i = tree->count; i-- > 0;) {
		uint32_t parent = tree->parent[tree->nodes[i]];

		tree->place[tree->nodes[i]] = (uint32_t)i;
		if (parent != TASKS_NONE)
			tree->first[parent] = (uint32_t)i;
	}
	return 0;
}

static void tree_release(struct tree *tree)
{
	free(tree->nodes);
	free(tree->parent);
	free(tree->place);
	free(tree->first);
	free(tree->listed);
}

/* The one that follows in the text: its first child, its next sibling, or that of an ancestor. */
static uint32_t tree_next(const struct tree *tree, uint32_t node, size_t *depth)
{
	if (tree->first[node] != TASKS_NONE) {
		++*depth;
		return tree->nodes[tree->first[node]];
	}
	for (; node != TASKS_NONE; node = tree->parent[node], --*depth) {
		size_t next = tree->place[node] + 1u;

		if (next < tree->count && tree->parent[tree->nodes[next]] == tree->parent[node])
			return tree->nodes[next];
	}
	return TASKS_NONE;
}

static void add_exit(struct listing *t, const struct exit_status *exit)
{
	char text[32];

	if (exit->running)
		snprintf(text, sizeof(text), "running");
	else if (exit->known && exit->signal)
		snprintf(text, sizeof(text), "signal %u", exit->signal);
	else if (exit->known)
		snprintf(text, sizeof(text), "%u", exit->code);
	listing_text(t, exit->running || exit->known ? text : NULL);
	list_number(t, exit->known, exit->code, false);
	list_number(t, exit->known && exit->signal, exit->signal, false);
}

static void add_life(const struct report *r, struct listing *t, const struct thread_sum *s)
{
	uint64_t start = r->recording.whole_start;

	list_number(t, true, s->begin > start ? s->begin - start : 0, false);
	list_number(t, true, s->end > s->begin ? s->end - s->begin : 0, false);
	list_number(t, !s->alive, s->end > start ? s->end - start : 0, false);
}

static void add_node(const struct report *r, struct listing *t, uint32_t process, size_t depth)
{
	const struct worker_group *group = worker_group_of(r, process);
	const struct process *p = &r->tasks.processes[process];
	bool lossy = r->completeness.switches_lossy, pages = r->completeness.pages_lossy;
	struct thread_sum s = sum_of(r, process, group);
	struct exit_status exit;

	list_exit(r, process, group, &exit);
	list_number(t, true, depth, false);
	listing_text(t, p->name);
	listing_indent(t, depth < TREE_INDENT ? depth : TREE_INDENT);
	list_number(t, !group, p->tgid, false);
	list_number(t, p->ppid, p->ppid, false);
	list_role(r, t, process, group);
	list_number(t, true, s.processes, false);
	add_life(r, t, &s);
	add_exit(t, &exit);
	list_number(t, true, s.a.voluntary + s.a.involuntary, lossy);
	list_number(t, true, s.a.voluntary, lossy);
	list_number(t, true, s.a.involuntary, lossy);
	list_number(t, true, s.a.running, lossy);
	list_number(t, true, s.calls, r->completeness.calls_lossy);
	list_number(t, true, s.a.pages * r->recording.page_size, pages);
	list_number(t, true, s.threads, false);
	list_number(t, true, s.a.page_events, pages);
	listing_text(t, p->command);
}

int view_tree_tables(struct report *r, const char *argument, struct listing_set *out,
		     struct error *e)
{
	struct listing *t = listing_set_add(out, "tree", NULL, tree_columns,
					    sizeof(tree_columns) / sizeof(*tree_columns));
	struct tree tree;
	size_t depth = 0;
	int ret = tree_make(&tree, r);

	(void)argument;
	if (ret)
		error_set(e, ret, "out of memory");
	for (uint32_t i = !ret && tree.count ? tree.nodes[0] : TASKS_NONE; i != TASKS_NONE;
	     i = tree_next(&tree, i, &depth))
		add_node(r, t, i, depth);
	listing_note(t, "begin: since the start of the recording; memory: in page allocations; CUDA: calls; roles are guesses");
	list_group_notes(r, t);
	tree_release(&tree);
	return ret;
}
