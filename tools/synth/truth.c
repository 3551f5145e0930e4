// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Value number ceil(per_mille / 1000 * n) of n sorted ones. */
static uint64_t nearest_rank(const uint64_t *sorted, uint64_t n, uint64_t per_mille)
{
	return sorted[(per_mille * n + 999) / 1000 - 1];
}

static void line(FILE *out, const char *kind, uint32_t pid, const char *name, const char *figure,
		 uint64_t value)
{
	fprintf(out, "%s,%u,%s,%s,%" PRIu64 "\n", kind, pid, name, figure, value);
}

/* Percentiles leave the first good call out. */
static void print_percentiles(FILE *out, uint32_t pid, const char *name, struct synth_truth *t)
{
	uint64_t *sorted = malloc((t->good + 1) * sizeof(*sorted)), n = 0;
	bool skipped = false;

	if (!sorted)
		exit(1);
	for (uint64_t i = 0; i < t->good; i++) {
		if (!skipped && t->duration[i] == t->first)
			skipped = true;
		else
			sorted[n++] = t->duration[i];
	}
	qsort(sorted, n, sizeof(*sorted), by_value);
	line(out, "operation", pid, name, "percentile_n", n);
	if (n) {
		line(out, "operation", pid, name, "p50_ns", nearest_rank(sorted, n, 500));
		line(out, "operation", pid, name, "p95_ns", nearest_rank(sorted, n, 950));
		line(out, "operation", pid, name, "p99_ns",
		     n < 100 ? sorted[n - 1] : nearest_rank(sorted, n, 990));
		line(out, "operation", pid, name, "max_ns", sorted[n - 1]);
	}
	free(sorted);
}

static void print_operations(const struct synth *s, FILE *out, uint32_t p)
{
	for (unsigned int i = 0; i < SYNTH_OPERATIONS; i++) {
		struct synth_truth *t = &s->truth[p * SYNTH_OPERATIONS + i];
		const char *name = synth_operation[i].name;
		uint32_t pid = s->process[p].pid;

		if (!t->calls && !t->open)
			continue;
		line(out, "operation", pid, name, "calls", t->calls);
		line(out, "operation", pid, name, "failed", t->failed);
		line(out, "operation", pid, name, "nested", t->nested);
		line(out, "operation", pid, name, "open", t->open);
		line(out, "operation", pid, name, "total_ns", t->total);
		line(out, "operation", pid, name, "bytes", t->bytes);
		if (s->options.neighbour) {
			line(out, "neighbour", pid, name, "calls", t->calls_hit);
			line(out, "neighbour", pid, name, "calls_ns", t->calls_taken);
			line(out, "neighbour", pid, name, "gaps", t->gaps_hit);
			line(out, "neighbour", pid, name, "gaps_ns", t->gaps_taken);
		}
		if (t->good)
			line(out, "operation", pid, name, "first_ns", t->first);
		print_percentiles(out, pid, name, t);
	}
}

static void print_process(const struct synth *s, FILE *out, uint32_t p)
{
	const struct synth_process *process = &s->process[p];
	struct synth_thread sum = { 0 };
	uint64_t threads = 0;

	for (uint32_t i = 0; i < s->threads; i++) {
		const struct synth_thread *t = &s->thread[i];

		if (t->process != p)
			continue;
		threads++;
		sum.voluntary += t->voluntary;
		sum.involuntary += t->involuntary;
		sum.running += t->running;
		sum.waiting += t->waiting;
		sum.blocked += t->blocked;
		sum.page_events += t->page_events;
		sum.pages += t->pages;
	}
	line(out, "process", process->pid, process->name, "threads", threads);
	line(out, "process", process->pid, process->name, "switches_voluntary", sum.voluntary);
	line(out, "process", process->pid, process->name, "switches_involuntary", sum.involuntary);
	line(out, "process", process->pid, process->name, "running_ns", sum.running);
	line(out, "process", process->pid, process->name, "waiting_ns", sum.waiting);
	line(out, "process", process->pid, process->name, "blocked_ns", sum.blocked);
	line(out, "process", process->pid, process->name, "page_allocations", sum.page_events);
	line(out, "process", process->pid, process->name, "page_bytes", sum.pages * SYNTH_PAGE);
	line(out, "process", process->pid, process->name, "cuda_calls", process->calls);
	line(out, "process", process->pid, process->name, "in_tree",
	     process->flags & TASK_FLAG_TREE ? 1 : 0);
}

int synth_print_truth(const struct synth *s, FILE *out)
{
	uint64_t rows = 0, lost = 0, breaks = 0, calls = 0;

	fprintf(out, "kind,process,name,figure,value\n");
	for (uint32_t i = 0; i < s->cpus; i++) {
		rows += s->cpu[i].rows - s->cpu[i].lost;
		lost += s->cpu[i].lost;
		breaks += s->cpu[i].breaks;
		calls += s->cpu[i].call_rows;
	}
	line(out, "file", 0, "", "switch_rows", rows);
	line(out, "file", 0, "", "switch_lost", lost);
	line(out, "file", 0, "", "chain_breaks", breaks);
	line(out, "file", 0, "", "call_rows", calls);
	line(out, "file", 0, "", "span_ns", s->now - SYNTH_START);
	for (uint32_t p = 0; p < s->processes; p++) {
		print_process(s, out, p);
		print_operations(s, out, p);
	}
	return ferror(out) ? ERROR_SYSTEM : 0;
}
