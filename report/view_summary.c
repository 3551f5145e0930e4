// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include "fmt.h"
#include "grid.h"
#include "view.h"
#include "view_text.h"

/* What fits on one screen. */
#define OPERATIONS 10
#define PROCESSES 12
#define FIRST_CALLS 3
#define ERRORS 4
#define OPEN_CALLS 5

static void print_host(const struct report *r, FILE *out)
{
	static const struct { const char *key, *before, *after; } parts[] = {
		{ "host.name", "", "" }, { "host.kernel", "Linux ", "" }, { "host.arch", "", "" },
		{ "host.cpus_online", "", " CPUs" },
	};
	char buf[FMT_SIZE], text[256];
	struct line l;

	line_begin(&l, out, "host: ");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *value = recording_fact(&r->recording, parts[i].key);

		if (value && *value)
			line_item(&l, "%s%s%s", parts[i].before,
				  fmt_text(text, sizeof(text), value, 40), parts[i].after);
	}
	if (r->system.has_memory)
		line_item(&l, "%s memory", fmt_bytes(buf, r->system.memory_total));
	line_end(&l);
}

static void print_header(const struct report *r, FILE *out)
{
	const struct recording *rec = &r->recording;
	const char *status = recording_fact(rec, "record.exit_status");
	char span[FMT_SIZE], date[FMT_SIZE], text[256];

	print_completeness(r, out);
	fprintf(out, "command: %s\n", fmt_text(text, sizeof(text), report_command(r), 70));
	fprintf(out, "span: %s from %s", fmt_span(span, r->system.span),
		fmt_date(date, recording_realtime(rec, rec->start)));
	if (status)
		fprintf(out, ", exit status %s", fmt_text(text, sizeof(text), status, 10));
	fputc('\n', out);
	print_host(r, out);
}

static void print_refusals(const struct report *r, FILE *out)
{
	char path[256], why[256];

	for (size_t i = 0; i < r->recording.library_count && i < 4; i++) {
		const struct library *l = &r->recording.libraries[i];

		fprintf(out, "  %s: %s\n", fmt_text(path, sizeof(path), l->path, 0),
			*l->why_not ? fmt_text(why, sizeof(why), l->why_not, 0) :
				      "no function could be attached to");
	}
}

static void print_no_calls(const struct report *r, FILE *out)
{
	char buf[FMT_SIZE];
	uint64_t outside = 0, attached = 0;

	for (size_t i = 0; i < r->recording.library_count; i++) {
		outside += r->recording.libraries[i].outside;
		attached += r->recording.libraries[i].attached;
	}
	fprintf(out, "\nNo CUDA call was recorded: ");
	switch (r->no_calls) {
	case NO_CALLS_NO_LIBRARY:
		fprintf(out, "no process mapped a file with CUDA functions.\n");
		break;
	case NO_CALLS_REFUSED:
		fprintf(out, "there was nothing to attach to.\n");
		print_refusals(r, out);
		break;
	case NO_CALLS_OUTSIDE:
		fprintf(out, "all %s calls were made outside the process tree.\n",
			fmt_count(buf, outside));
		break;
	case NO_CALLS_LOST:
		fprintf(out, "calls were lost.\n");
		break;
	default:
		fprintf(out, "%s functions were probed, none was called.\n",
			fmt_count(buf, attached));
	}
}

static void print_calls(const struct report *r, FILE *out)
{
	if (r->no_calls != NO_CALLS_NOT) {
		print_no_calls(r, out);
		return;
	}
	fputc('\n', out);
	print_open_calls(r, LATENCY_ALL, OPEN_CALLS, out);
	print_operations(r, LATENCY_ALL, OPERATIONS, out);
	print_first_calls(r, LATENCY_ALL, FIRST_CALLS, out);
	print_errors(r, ERRORS, out);
}

static void add_process(const struct report *r, struct grid *t, uint32_t process)
{
	const struct process *p = &r->tasks.processes[process];
	const struct account *a = &r->procs.processes[process].a;
	bool lossy = r->completeness.switches_lossy;
	char buf[96];

	snprintf(buf, sizeof(buf), "%u", p->tgid);
	grid_cell(t, buf);
	cell_text(t, p->name);
	grid_cell(t, roles_text(&r->roles, process, buf, sizeof(buf)));
	cell_count(t, lossy, a->voluntary);
	cell_count(t, lossy, a->involuntary);
	cell_ns(t, a->off_periods, lossy, account_off_mean(a));
	cell_ns(t, a->off_periods, lossy, a->off_max);
	cell_count(t, r->completeness.pages_lossy, a->page_events);
	cell_count(t, r->completeness.calls_lossy, r->latency.process_calls[process]);
}

/* Those that do not fit are one line, so that the columns still add up. */
static void add_rest(const struct report *r, struct grid *t, size_t from)
{
	struct account sum = { 0 };
	uint64_t calls = 0;
	char buf[96];

	for (size_t i = from; i < r->order_count; i++) {
		account_add(&sum, &r->procs.processes[r->order[i]].a);
		calls += r->latency.process_calls[r->order[i]];
	}
	grid_cell(t, "");
	snprintf(buf, sizeof(buf), "%zu more", r->order_count - from);
	grid_cell(t, buf);
	grid_cell(t, "");
	cell_count(t, r->completeness.switches_lossy, sum.voluntary);
	cell_count(t, r->completeness.switches_lossy, sum.involuntary);
	cell_ns(t, sum.off_periods, r->completeness.switches_lossy, account_off_mean(&sum));
	cell_ns(t, sum.off_periods, r->completeness.switches_lossy, sum.off_max);
	cell_count(t, r->completeness.pages_lossy, sum.page_events);
	cell_count(t, r->completeness.calls_lossy, calls);
}

static void print_processes(const struct report *r, FILE *out)
{
	static const struct grid_column columns[] = {
		{ "PID", GRID_RIGHT }, { "process", GRID_SHRINK }, { "role", GRID_LEFT },
		{ "volunt.", GRID_RIGHT }, { "invol.", GRID_RIGHT }, { "off-CPU", GRID_RIGHT },
		{ "longest", GRID_RIGHT }, { "pages", GRID_RIGHT }, { "CUDA", GRID_RIGHT },
	};
	size_t n = r->order_count > PROCESSES ? PROCESSES - 1 : r->order_count;
	struct grid t;

	if (!r->order_count)
		return;
	grid_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < n; i++)
		add_process(r, &t, r->order[i]);
	if (n < r->order_count)
		add_rest(r, &t, n);
	fputc('\n', out);
	grid_print(&t, out, 0, VIEW_WIDTH);
	grid_release(&t);
	fprintf(out, "context switches voluntary and involuntary; off-CPU: mean and longest period;\n"
		     "pages: page allocations; CUDA: calls; roles are guesses\n");
}

static void print_memory(const struct report *r, FILE *out)
{
	const struct system_figures *s = &r->system;
	char a[FMT_SIZE], b[FMT_SIZE];

	if (s->has_memory)
		fprintf(out, "\n  memory: at least %s of %s available", fmt_bytes(a, s->memory_min),
			fmt_bytes(b, s->memory_total));
	if (s->swap_used_max)
		fprintf(out, "; swap: up to %s used", fmt_bytes(a, s->swap_used_max));
}

/* What recording itself took. */
static void print_cost(const struct report *r, FILE *out)
{
	char a[FMT_SIZE], b[FMT_SIZE];

	fprintf(out, "  recorder: %s of CPU time (%s)", fmt_ns(a, r->procs.recorder_running),
		fmt_percent(b, r->procs.recorder_running, r->system.cpu_time));
	if (r->probe_cost)
		fprintf(out, "; about %s added to the CUDA calls", fmt_ns(a, r->probe_cost));
	fputc('\n', out);
}

static void print_system(const struct report *r, FILE *out)
{
	const struct system_figures *s = &r->system;
	char a[FMT_SIZE], b[FMT_SIZE];
	const char *mark = r->completeness.switches_lossy ? "~" : "";

	fprintf(out, "\nSystem: CPU %s%s busy, %s%s threads runnable on average, %u CPUs", mark,
		fmt_percent(a, s->busy, s->cpu_time), mark, fmt_ratio(b, s->runnable, s->span),
		r->recording.cpus_present);
	print_memory(r, out);
	fputc('\n', out);
	print_cost(r, out);
	if (s->sampled && (s->steal * 100 > s->sampled || s->iowait * 100 > s->sampled))
		fprintf(out, "  %s of CPU time taken by the hypervisor, %s idle with I/O pending\n",
			fmt_percent(a, s->steal, s->sampled), fmt_percent(b, s->iowait, s->sampled));
	if (s->has_psi && s->psi_cpu * 100000 > s->psi_span) {
		fprintf(out, "  pressure: some task waited for a CPU %s of the time",
			fmt_percent(a, s->psi_cpu * 1000, s->psi_span));
		fprintf(out, ", memory %s, I/O %s\n",
			fmt_percent(a, s->psi_memory * 1000, s->psi_span),
			fmt_percent(b, s->psi_io * 1000, s->psi_span));
	}
}

void view_summary(const struct report *r, FILE *out)
{
	print_header(r, out);
	print_calls(r, out);
	print_processes(r, out);
	print_system(r, out);
}
