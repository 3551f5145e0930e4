// SPDX-License-Identifier: BSD-2-Clause
#include "fmt.h"
#include "view.h"
#include "view_processes.h"
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

static void print_title(const struct report *r, uint32_t process, const struct page *out)
{
	const struct process *p = &r->tasks.processes[process];
	char name[128], role[64];

	char parent[32] = "", namespace[48] = "";

	roles_text(&r->roles, process, role, sizeof(role));
	if (p->ppid)
		snprintf(parent, sizeof(parent), ", child of %u", p->ppid);
	if (p->ns_tgid && p->ns_tgid != p->tgid)
		snprintf(namespace, sizeof(namespace), ", %u in its namespace", p->ns_tgid);
	fputc('\n', out->file);
	print_wrapped(out, 3, "== %u %s%s%s%s%s%s", p->tgid,
		      fmt_text(name, sizeof(name), p->name, 40), *role ? " (" : "", role,
		      *role ? ")" : "", parent, namespace);
	if (*p->command) {
		char command[1024];

		fprintf(out->file, "command: %s%s\n",
			fmt_text(command, sizeof(command), p->command,
				 out->width - (p->command_cut ? 16 : 10)),
			p->command_cut ? " (cut)" : "");
	}
}

static void print_life(const struct report *r, uint32_t process, const struct page *out)
{
	const struct process *p = &r->tasks.processes[process];
	const struct process_account *a = &r->procs.processes[process];
	uint32_t signal = p->exit_status & 0x7f;
	char buf[FMT_SIZE], span[FMT_SIZE];

	fprintf(out->file, "life: %s %s, ",
		process_start_in_span(p, &r->recording) ? "from" : "began before",
		clock_at(r, a->begin, buf));
	if (!p->end)
		fprintf(out->file, "still running after %s\n", fmt_span(span, a->end - a->begin));
	else if (signal)
		fprintf(out->file, "killed by signal %u at %s\n", signal, clock_at(r, p->end, buf));
	else if (p->exit_known)
		fprintf(out->file, "exit code %u at %s\n", report_exit_status(p->exit_status),
			clock_at(r, p->end, buf));
	else
		fprintf(out->file, "ended at %s\n", clock_at(r, p->end, buf));
}

static void print_names(const struct report *r, uint32_t process, const struct page *out)
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

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Whose time it is: nothing is said of one thread. */
static void print_account(const struct report *r, const struct thread_sum *s,
			  const struct page *out)
{
	const struct account *a = &s->a;
	const char *mark = r->completeness.switches_lossy ? "~" : "";
	const char *page_mark = r->completeness.pages_lossy ? "~" : "";
	char n[4][FMT_SIZE], unrecorded[64] = "", of[96];

	if (a->unrecorded)
		snprintf(unrecorded, sizeof(unrecorded), ", %s%s unrecorded", mark,
			 fmt_percent(n[0], a->unrecorded, s->life));
	snprintf(of, sizeof(of), s->threads > 1 ? " of %s in %s threads" : " of %s",
		 fmt_span(n[0], s->life), fmt_count(n[1], s->threads));
	print_wrapped(out, 2, "time: %s%s running, %s%s waiting, %s%s blocked%s%s", mark,
		      fmt_percent(n[0], a->running, s->life), mark,
		      fmt_percent(n[1], a->waiting, s->life), mark,
		      fmt_percent(n[2], a->blocked, s->life), unrecorded, of);
	print_wrapped(out, 2, "switches: %s%s voluntary, %s%s involuntary; "
		      "page allocations: %s%s, %s%s", mark, fmt_count(n[0], a->voluntary), mark,
		      fmt_count(n[1], a->involuntary), page_mark, fmt_count(n[2], a->page_events),
		      page_mark, fmt_bytes(n[3], a->pages * r->recording.page_size));
}

static void print_stalls(const struct report *r, uint32_t process, const struct page *out)
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

static void print_process(const struct report *r, uint32_t process, const struct page *out)
{
	struct thread_sum sum;

	thread_sum_process(r, process, &sum);
	print_title(r, process, out);
	print_life(r, process, out);
	print_names(r, process, out);
	print_account(r, &sum, out);
	print_thread_table(r, process, THREADS, out);
	print_open_calls(r, process, OPEN_CALLS, out);
	print_operations(r, process, 0, out);
	print_first_calls(r, process, FIRST_CALLS, out);
	print_errors(r, process, ERRORS, out);
	print_stalls(r, process, out);
}

/* How its members ended: "5 with exit code 0, 1 by signal 9, 2 still running". */
static void print_ends(const struct report *r, const struct worker_group *g, const struct page *out)
{
	uint64_t counts[512] = { 0 }, running = 0, unknown = 0;
	struct exit_status exit;
	char n[FMT_SIZE];
	struct line l;

	for (size_t i = 0; i < g->count; i++) {
		list_exit(r, g->members[i], NULL, &exit);
		running += exit.running;
		unknown += !exit.running && !exit.known;
		if (!exit.running && exit.known)
			counts[exit.signal ? 256 + exit.signal : exit.code & 255]++;
	}
	line_begin(&l, out, "ended: ");
	for (unsigned int i = 0; i < 512; i++)
		if (counts[i])
			line_item(&l, "%s %s %u", fmt_count(n, counts[i]),
				  i < 256 ? "with exit code" : "by signal", i & 255);
	if (unknown)
		line_item(&l, "%s in a way not recorded", fmt_count(n, unknown));
	if (running)
		line_item(&l, "%s still running", fmt_count(n, running));
	line_end(&l);
}

static void print_group(const struct report *r, const struct worker_group *g,
			const struct page *out)
{
	const char *mark = r->completeness.calls_lossy ? "~" : "";
	char text[512], begin[FMT_SIZE], end[FMT_SIZE];

	fputc('\n', out->file);
	print_wrapped(out, 3, "== %s", group_text(r, g, text, sizeof(text)));
	fprintf(out->file, "life: the first from %s, the last to %s\n",
		clock_at(r, g->sum.begin, begin), clock_at(r, g->sum.end, end));
	print_ends(r, g, out);
	print_account(r, &g->sum, out);
	if (g->sum.calls)
		fprintf(out->file, "CUDA: %s%s call%s, %s%s in them\n", mark,
			fmt_count(begin, g->sum.calls), plural(g->sum.calls), mark,
			fmt_ns(end, g->sum.call_time));
	print_thread_table(r, g->members[0], THREADS, out);
}

/* A section for each row of the table of processes. */
void view_processes(const struct report *r, const struct page *out)
{
	struct listing_set set = { .count = 0 };
	struct listing *t = &set.tables[0];

	print_completeness(r, out);
	if (r->latency.calls)
		print_probe_price(r, out);
	list_processes(r, &set);
	listing_order(t, &r->order_by);
	for (size_t i = 0; i < t->shown; i++) {
		uint32_t process = list_process_at(r, t, i);
		const struct worker_group *group = worker_group_of(r, process);

		if (group)
			print_group(r, group, out);
		else
			print_process(r, process, out);
	}
	listing_set_release(&set);
}
