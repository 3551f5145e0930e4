// SPDX-License-Identifier: BSD-2-Clause
#include "fmt.h"
#include "grid.h"
#include "view.h"
#include "view_text.h"

#define PROCESSES 12		/* lines, the sum of the rest among them */

/* Which processes have a line of their own; the sums are of the others. */
struct choice {
	uint32_t shown[PROCESSES];
	size_t count, left;
	struct account rest;
	uint64_t calls;
};

/* A helper that hardly ran, like the shells of a launcher, says nothing in a line of its own. */
static bool minor(const struct report *r, uint32_t process)
{
	return r->roles.processes[process].role == ROLE_HELPER &&
	       !r->tasks.processes[process].root && !r->latency.process_calls[process] &&
	       r->procs.processes[process].a.running < r->tree_running / 100;
}

static void choose(const struct report *r, struct choice *c)
{
	size_t fold = 0, limit;

	for (size_t i = 0; i < r->order_count; i++)
		fold += minor(r, r->order[i]);
	if (fold == 1)
		fold = 0;
	limit = fold || r->order_count > PROCESSES ? PROCESSES - 1 : PROCESSES;
	for (size_t i = 0; i < r->order_count; i++) {
		uint32_t process = r->order[i];

		if (c->count < limit && !(fold && minor(r, process))) {
			c->shown[c->count++] = process;
			continue;
		}
		c->left++;
		account_add(&c->rest, &r->procs.processes[process].a);
		c->calls += r->latency.process_calls[process];
	}
}

static void add_figures(const struct report *r, struct grid *t, const struct account *a,
			uint64_t calls)
{
	const struct completeness *c = &r->completeness;

	cell_count(t, c->switches_lossy, a->voluntary);
	cell_count(t, c->switches_lossy, a->involuntary);
	cell_ns(t, a->off_periods, c->switches_lossy, account_off_mean(a));
	cell_ns(t, a->off_periods, c->switches_lossy, a->off_max);
	cell_count(t, c->pages_lossy, a->page_events);
	cell_bytes(t, c->pages_lossy, a->pages * r->recording.page_size);
	cell_count(t, c->calls_lossy, calls);
}

static void add_process(const struct report *r, struct grid *t, uint32_t process)
{
	const struct process *p = &r->tasks.processes[process];
	char buf[96];

	snprintf(buf, sizeof(buf), "%u", p->tgid);
	grid_cell(t, buf);
	cell_text(t, p->name);
	grid_cell(t, roles_text(&r->roles, process, buf, sizeof(buf)));
	add_figures(r, t, &r->procs.processes[process].a, r->latency.process_calls[process]);
}

/* Those that have no line of their own are one, so that the columns still add up. */
static void add_rest(const struct report *r, struct grid *t, const struct choice *c)
{
	char buf[96];

	grid_cell(t, "");
	snprintf(buf, sizeof(buf), "%zu more", c->left);
	grid_cell(t, buf);
	grid_cell(t, "");
	add_figures(r, t, &c->rest, c->calls);
}

void print_processes(const struct report *r, FILE *out)
{
	static const struct grid_column columns[] = {
		{ "PID", GRID_RIGHT }, { "process", GRID_SHRINK }, { "role", GRID_LEFT },
		{ "vol.", GRID_RIGHT }, { "invol.", GRID_RIGHT }, { "off-CPU", GRID_RIGHT },
		{ "max", GRID_RIGHT }, { "allocs", GRID_RIGHT }, { "memory", GRID_OPTIONAL },
		{ "CUDA", GRID_RIGHT },
	};
	struct choice c = { 0 };
	struct grid t;

	if (!r->order_count)
		return;
	choose(r, &c);
	grid_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < c.count; i++)
		add_process(r, &t, c.shown[i]);
	if (c.left)
		add_rest(r, &t, &c);
	fputc('\n', out);
	grid_print(&t, out, 0, VIEW_WIDTH);
	grid_release(&t);
	fprintf(out, "context switches voluntary and involuntary; off-CPU: mean and longest (max);\n"
		     "page allocations and the memory in them; CUDA: calls; roles are guesses\n");
}
