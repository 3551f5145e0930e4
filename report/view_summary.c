// SPDX-License-Identifier: BSD-2-Clause
#include "fmt.h"
#include "view.h"
#include "view_chains.h"
#include "view_text.h"

/* What fits on one screen, and with chains on it. */
#define OPERATIONS 10
#define OPERATIONS_CHAINS 5
#define ERRORS_CHAINS 2
#define FIRST_CALLS 3
#define ERRORS 4
#define OPEN_CALLS 8

static void print_host(const struct report *r, const struct page *out)
{
	static const struct { const char *key, *before, *after; } parts[] = {
		{ "host.name", "", "" }, { "host.kernel", "Linux ", "" }, { "host.arch", "", "" },
		{ "host.cpus_online", "", " CPUs" },
	};
	uint64_t memory = r->system.has_memory ? r->system.memory_total :
			  recording_number(&r->recording, "host.memory", 0);
	char buf[FMT_SIZE], text[256];
	struct line l;

	line_begin(&l, out, "host: ");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *value = recording_fact(&r->recording, parts[i].key);

		if (value && *value)
			line_item(&l, "%s%s%s", parts[i].before,
				  fmt_text(text, sizeof(text), value, 40), parts[i].after);
	}
	if (memory)
		line_item(&l, "%s memory", fmt_bytes(buf, memory));
	line_end(&l);
}

static void print_header(const struct report *r, const struct page *out)
{
	const struct recording *rec = &r->recording;
	const char *status = recording_fact(rec, "record.exit_status");
	char span[FMT_SIZE], date[FMT_SIZE], text[256];

	print_completeness(r, out);
	fprintf(out->file, "command: %s\n",
		fmt_text(text, sizeof(text), report_command(r), out->width - 9));
	if (r->selected)
		print_wrapped(out, 2, "%s", selected_text(r, text, sizeof(text)));
	fprintf(out->file, "span: %s from %s", fmt_span(span, r->system.span),
		fmt_date(date, recording_realtime(rec, rec->start)));
	if (status)
		fprintf(out->file, ", exit status %s", fmt_text(text, sizeof(text), status, 10));
	fputc('\n', out->file);
	print_host(r, out);
}

static void print_refusals(const struct report *r, const struct page *out)
{
	char path[256], why[256];

	for (size_t i = 0; i < r->recording.library_count && i < 4; i++) {
		const struct library *l = &r->recording.libraries[i];

		print_wrapped(out, 4, "  %s: %s", fmt_text(path, sizeof(path), l->path, 0),
			      *l->why_not ? fmt_text(why, sizeof(why), l->why_not, 0) :
					    "no function could be attached to");
	}
}

static void print_no_calls(const struct report *r, const struct page *out)
{
	char buf[FMT_SIZE], only[256];
	const char *none = "No CUDA call was recorded: ";
	uint64_t outside = 0, attached = 0;

	for (size_t i = 0; i < r->recording.library_count; i++) {
		outside += r->recording.libraries[i].outside;
		attached += r->recording.libraries[i].attached;
	}
	fputc('\n', out->file);
	selected_text(r, only, sizeof(only));
	switch (r->no_calls) {
	case NO_CALLS_NO_LIBRARY:
		print_wrapped(out, 2, "%sno process mapped a file with CUDA functions.", none);
		break;
	case NO_CALLS_REFUSED:
		print_wrapped(out, 2, "%sthere was nothing to attach to.%s%s", none,
			      *only ? " " : "", only);
		print_refusals(r, out);
		break;
	case NO_CALLS_OUTSIDE:
		print_wrapped(out, 2, "%sall %s calls were made outside the process tree.", none,
			      fmt_count(buf, outside));
		break;
	case NO_CALLS_LOST:
		print_wrapped(out, 2, "%scalls were lost.", none);
		break;
	case NO_CALLS_SELECTED:
		print_wrapped(out, 2, "There is no CUDA call in this part of the recording.");
		break;
	default:
		print_wrapped(out, 2, "%s%s functions were probed, none was called%s%s%s", none,
			      fmt_count(buf, attached), *only ? "; " : "", only,
			      "; --info lists what was probed.");
	}
}

static void print_calls(const struct report *r, const struct page *out)
{
	if (r->no_calls != NO_CALLS_NOT) {
		print_no_calls(r, out);
		return;
	}
	if (r->latency.open_count)
		fputc('\n', out->file);
	print_open_calls(r, LATENCY_ALL, OPEN_CALLS, out);
	print_operations(r, LATENCY_ALL, r->chains.count ? OPERATIONS_CHAINS : OPERATIONS, out);
	print_probe_price(r, out);
	print_first_calls(r, LATENCY_ALL, FIRST_CALLS, out);
	print_errors(r, LATENCY_ALL, r->chains.count ? ERRORS_CHAINS : ERRORS, out);
}

static void print_memory(const struct report *r, const struct page *out)
{
	const struct system_figures *s = &r->system;
	char a[FMT_SIZE], b[FMT_SIZE], swap[FMT_SIZE];
	bool used = s->swap_used_max > 0;

	if (s->has_memory)
		print_wrapped(out, 4, "  memory: lowest seen %s of %s available%s%s%s",
			      fmt_bytes(a, s->memory_min), fmt_bytes(b, s->memory_total),
			      used ? "; swap: up to " : "",
			      used ? fmt_bytes(swap, s->swap_used_max) : "", used ? " used" : "");
}

/* What recording itself took. */
static void print_cost(const struct report *r, const struct page *out)
{
	const char *mark = r->completeness.switches_lossy ? "~" : "";
	char a[FMT_SIZE], b[FMT_SIZE], c[FMT_SIZE];

	print_wrapped(out, 4, "  recorder: %s%s CPU time (%s%s)%s%s%s", mark,
		      fmt_ns(a, r->procs.recorder_running), mark,
		      fmt_percent(b, r->procs.recorder_running, r->system.cpu_time),
		      r->probe_cost ? "; recording added about " : "",
		      r->probe_cost ? fmt_ns(c, r->probe_cost) : "",
		      r->probe_cost ? " to the calls" : "");
}

static void print_pressure(const struct system_figures *s, const struct page *out)
{
	char a[FMT_SIZE], b[FMT_SIZE], c[FMT_SIZE];

	if (s->sampled && (s->steal * 100 > s->sampled || s->iowait * 100 > s->sampled))
		print_wrapped(out, 4,
			"  %s of CPU time taken by the hypervisor, %s idle with I/O pending",
			fmt_percent(a, s->steal, s->sampled), fmt_percent(b, s->iowait, s->sampled));
	if (s->has_psi && s->psi_cpu * 100000 > s->psi_span)
		print_wrapped(out, 4,
			"  pressure: a task waited for a CPU %s of the time, memory %s, I/O %s",
			fmt_percent(a, s->psi_cpu * 1000, s->psi_span),
			fmt_percent(b, s->psi_memory * 1000, s->psi_span),
			fmt_percent(c, s->psi_io * 1000, s->psi_span));
}

static void print_system(const struct report *r, const struct page *out)
{
	const struct system_figures *s = &r->system;
	char a[FMT_SIZE], b[FMT_SIZE];
	const char *mark = r->completeness.switches_lossy ? "~" : "";

	fputc('\n', out->file);
	print_wrapped(out, 2, "System: CPU %s%s busy, %s%s threads runnable on average, %u CPUs", mark,
		      fmt_percent(a, s->busy, s->cpu_time), mark,
		      fmt_ratio(b, s->runnable, s->span), r->recording.cpus_present);
	print_memory(r, out);
	print_cost(r, out);
	print_pressure(s, out);
}

void view_summary(const struct report *r, const struct page *out)
{
	print_header(r, out);
	print_chains(r, out);
	print_calls(r, out);
	print_processes(r, out);
	print_system(r, out);
}
