// SPDX-License-Identifier: BSD-2-Clause
#include "fmt.h"
#include "grid.h"
#include "view.h"
#include "view_text.h"

#define THREADS 40		/* lines of a process */
#define NAMES 8
#define FIRST_CALLS 4
#define OPEN_CALLS 8
#define ERRORS 8

static const char *clock_at(const struct report *r, uint64_t ts, char buf[FMT_SIZE])
{
	return fmt_clock(buf, recording_realtime(&r->recording, ts));
}

static void print_title(const struct report *r, uint32_t process, FILE *out)
{
	const struct process *p = &r->tasks.processes[process];
	char name[128], role[64];

	char parent[32] = "", namespace[48] = "";

	roles_text(&r->roles, process, role, sizeof(role));
	if (p->ppid)
		snprintf(parent, sizeof(parent), ", child of %u", p->ppid);
	if (p->ns_tgid && p->ns_tgid != p->tgid)
		snprintf(namespace, sizeof(namespace), ", %u in its namespace", p->ns_tgid);
	fputc('\n', out);
	print_wrapped(out, 3, "== %u %s%s%s%s%s%s", p->tgid,
		      fmt_text(name, sizeof(name), p->name, 40), *role ? " (" : "", role,
		      *role ? ")" : "", parent, namespace);
	if (*p->command) {
		char command[256];

		fprintf(out, "command: %s%s\n",
			fmt_text(command, sizeof(command), p->command, p->command_cut ? 64 : 70),
			p->command_cut ? " (cut)" : "");
	}
}

static void print_life(const struct report *r, uint32_t process, FILE *out)
{
	const struct process *p = &r->tasks.processes[process];
	const struct process_account *a = &r->procs.processes[process];
	uint32_t signal = p->exit_status & 0x7f;
	char buf[FMT_SIZE], span[FMT_SIZE];

	fprintf(out, "life: %s %s, ",
		process_start_recorded(p) ? "from" : "began before", clock_at(r, a->begin, buf));
	if (!p->end)
		fprintf(out, "still running after %s\n", fmt_span(span, a->end - a->begin));
	else if (signal)
		fprintf(out, "killed by signal %u at %s\n", signal, clock_at(r, p->end, buf));
	else if (p->exit_known)
		fprintf(out, "exit code %u at %s\n", report_exit_status(p->exit_status),
			clock_at(r, p->end, buf));
	else
		fprintf(out, "ended at %s\n", clock_at(r, p->end, buf));
}

static void print_names(const struct report *r, uint32_t process, FILE *out)
{
	char name[128], at[FMT_SIZE];
	size_t left = 0;
	struct line l;

	line_begin(&l, out, "names: ");
	for (size_t i = 0; i < r->tasks.name_count; i++) {
		const struct name_change *change = &r->tasks.names[i];

		if (change->thread != r->tasks.processes[process].leader)
			continue;
		if (l.items == NAMES) {
			left++;
			continue;
		}
		line_item(&l, "%s %s at %s", change->exec ? "exec of" : "renamed",
			  fmt_text(name, sizeof(name), change->name, 30),
			  clock_at(r, change->ts, at));
	}
	if (left)
		line_item(&l, "and %zu more: --json", left);
	line_end(&l);
}

static void print_account(const struct report *r, uint32_t process, FILE *out)
{
	const struct account *a = &r->procs.processes[process].a;
	uint64_t life = a->running + a->waiting + a->blocked + a->unrecorded;
	const char *mark = r->completeness.switches_lossy ? "~" : "";
	const char *page_mark = r->completeness.pages_lossy ? "~" : "";
	char n[4][FMT_SIZE], unrecorded[64] = "", of[64];
	uint32_t threads = r->tasks.processes[process].threads;

	if (a->unrecorded)
		snprintf(unrecorded, sizeof(unrecorded), ", %s%s unrecorded", mark,
			 fmt_percent(n[0], a->unrecorded, life));
	snprintf(of, sizeof(of), threads > 1 ? " of %s in %u threads" : " of %s",
		 fmt_span(n[0], life), threads);
	print_wrapped(out, 2, "time: %s%s running, %s%s waiting, %s%s blocked%s%s", mark,
		      fmt_percent(n[0], a->running, life), mark,
		      fmt_percent(n[1], a->waiting, life), mark,
		      fmt_percent(n[2], a->blocked, life), unrecorded, of);
	print_wrapped(out, 2, "switches: %s%s voluntary, %s%s involuntary; "
		      "page allocations: %s%s, %s%s", mark, fmt_count(n[0], a->voluntary), mark,
		      fmt_count(n[1], a->involuntary), page_mark, fmt_count(n[2], a->page_events),
		      page_mark, fmt_bytes(n[3], a->pages * r->recording.page_size));
}

static void add_thread(const struct report *r, struct grid *t, uint32_t number)
{
	const struct thread *thread = &r->tasks.threads[number];
	const struct thread_account *a = &r->procs.threads[number];
	bool lossy = r->completeness.switches_lossy;
	char buf[FMT_SIZE];

	snprintf(buf, sizeof(buf), "%u", thread->tid);
	grid_cell(t, buf);
	cell_text(t, thread->name);
	cell_count(t, lossy, a->a.voluntary);
	cell_count(t, lossy, a->a.involuntary);
	cell_ns(t, true, lossy, a->a.running);
	cell_ns(t, true, lossy, a->a.waiting);
	cell_ns(t, true, lossy, a->a.blocked);
	cell_ns(t, a->a.off_periods, lossy, a->a.off_max);
	cell_count(t, r->completeness.pages_lossy, a->a.page_events);
}

static void print_threads(const struct report *r, uint32_t process, FILE *out)
{
	static const struct grid_column columns[] = {
		{ "TID", GRID_RIGHT }, { "thread", GRID_SHRINK }, { "volunt.", GRID_RIGHT },
		{ "invol.", GRID_RIGHT }, { "running", GRID_RIGHT }, { "waiting", GRID_RIGHT },
		{ "blocked", GRID_RIGHT }, { "longest", GRID_RIGHT }, { "allocs", GRID_OPTIONAL },
	};
	const struct process *p = &r->tasks.processes[process];
	struct grid t;
	size_t lines = 0;

	grid_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = p->first_thread; i != TASKS_NONE && lines < THREADS;
	     i = r->tasks.threads[i].next, lines++)
		add_thread(r, &t, i);
	grid_print(&t, out, 0, VIEW_WIDTH);
	grid_release(&t);
	if (p->threads > lines)
		fprintf(out, "and %zu more threads: --json\n", p->threads - lines);
}

static void print_stalls(const struct report *r, uint32_t process, FILE *out)
{
	const struct stall *stalls = r->procs.processes[process].stalls;
	const char *mark = r->completeness.switches_lossy ? "~" : "";
	char off[FMT_SIZE], wait[FMT_SIZE], from[FMT_SIZE], part[64];

	for (unsigned int i = 0; i < PROCS_STALLS && stalls[i].off; i++) {
		const struct stall *s = &stalls[i];
		const struct thread *thread = &r->tasks.threads[s->thread];

		part[0] = '\0';
		if (s->wait == s->off)
			snprintf(part, sizeof(part), ", all of it waiting");
		else if (s->wait)
			snprintf(part, sizeof(part), ", %s%s of it waiting", mark,
				 fmt_ns(wait, s->wait));
		print_wrapped(out, 18, "%s%s%s from %s, TID %u%s%s",
			      i ? "                " : "longest stalls: ", mark,
			      fmt_ns(off, s->off), clock_at(r, s->end - s->off, from), thread->tid,
			      part, s->open ? ", to the end" : "");
	}
}

static void print_process(const struct report *r, uint32_t process, FILE *out)
{
	print_title(r, process, out);
	print_life(r, process, out);
	print_names(r, process, out);
	print_account(r, process, out);
	print_threads(r, process, out);
	print_open_calls(r, process, OPEN_CALLS, out);
	print_operations(r, process, 0, out);
	print_first_calls(r, process, FIRST_CALLS, out);
	print_errors(r, process, ERRORS, out);
	print_stalls(r, process, out);
}

void view_processes(const struct report *r, FILE *out)
{
	print_completeness(r, out);
	if (r->latency.calls)
		print_probe_price(r, out);
	for (size_t i = 0; i < r->order_count; i++)
		print_process(r, r->order[i], out);
}
