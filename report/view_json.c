// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include "cuda_errors.h"
#include "json.h"
#include "view.h"
#include "view_json.h"

static void number_or_text(struct json *j, const char *key, const char *text)
{
	bool number = text && *text && strlen(text) < 19 &&
		      strspn(text, "0123456789") == strlen(text) && (*text != '0' || !text[1]);
	uint64_t value = 0;

	if (!text)
		json_null(j, key);
	else if (!number)
		json_string(j, key, text);
	for (; number && *text; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	if (number)
		json_uint(j, key, value);
}

static void put_host(const struct report *r, struct json *j)
{
	static const char *const keys[] = {
		"name", "kernel", "arch", "page_size", "cpus", "cpus_online", "cpu_model",
		"memory", "distribution",
	};
	char key[64];

	json_object(j, "host");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		snprintf(key, sizeof(key), "host.%s", keys[i]);
		number_or_text(j, keys[i], recording_fact(&r->recording, key));
	}
	json_object_end(j);
}

static void put_completeness(const struct report *r, struct json *j)
{
	const struct completeness *c = &r->completeness;

	json_bool(j, "complete", c->complete);
	json_bool(j, "closed", c->closed);
	json_uint(j, "covered_until_ns", r->covered_until);
	json_object(j, "lost");
	for (unsigned int i = 1; i < SOURCE_LIMIT; i++)
		json_uint(j, completeness_source(i), c->sources[i].all);
	json_object_end(j);
	json_uint(j, "chain_breaks", r->procs.breaks);
	json_uint(j, "inconsistent_threads", r->procs.inconsistent);
	json_uint(j, "damaged_blocks", c->damaged_blocks);
	json_uint(j, "unknown_blocks", c->unknown_blocks);
	json_uint(j, "unbalanced_counters", c->unbalanced);
}

static void put_system(const struct report *r, struct json *j)
{
	const struct system_figures *s = &r->system;

	json_object(j, "system");
	json_ratio(j, "cpu_busy", s->busy, s->cpu_time);
	json_ratio(j, "runnable_mean", s->runnable, s->span);
	json_uint(j, "cpu_busy_ns", s->busy);
	json_uint(j, "cpu_recorded_ns", s->cpu_time);
	json_uint(j, "cpu_unrecorded_ns", s->unrecorded);
	json_uint(j, "recorder_running_ns", r->procs.recorder_running);
	json_uint(j, "recorder_waiting_ns", r->procs.recorder_waiting);
	json_uint_or_null(j, "probe_call_ns", r->probe_call, r->probe_call);
	json_uint_or_null(j, "probe_inside_ns", r->probe_inside, r->probe_inside);
	json_uint_or_null(j, "probe_cost_ns", r->probe_call, r->probe_cost);
	json_uint_or_null(j, "memory_total_bytes", s->has_memory, s->memory_total);
	json_uint_or_null(j, "memory_min_bytes", s->has_memory, s->memory_min);
	json_uint_or_null(j, "swap_used_max_bytes", s->has_memory, s->swap_used_max);
	if (s->has_load)
		json_ratio(j, "load1_max", s->load_max, 100);
	else
		json_null(j, "load1_max");
	json_ratio(j, "cpu_busy_sampled", s->sampled_busy, s->sampled);
	json_ratio(j, "steal", s->steal, s->sampled);
	json_ratio(j, "iowait", s->iowait, s->sampled);
	json_ratio(j, "pressure_cpu", s->psi_cpu * 1000, s->psi_span);
	json_ratio(j, "pressure_memory", s->psi_memory * 1000, s->psi_span);
	json_ratio(j, "pressure_io", s->psi_io * 1000, s->psi_span);
	json_uint(j, "samples", s->samples);
	json_object_end(j);
}

/* Over all processes, or of each. */
static void put_errors(const struct report *r, struct json *j, const char *key, bool all)
{
	char name[80];

	json_array(j, key);
	for (size_t i = 0; i < r->latency.error_count; i++) {
		const struct latency_error *e = &r->latency.errors[i];

		if ((e->process == LATENCY_ALL) != all)
			continue;
		json_object(j, NULL);
		if (!all)
			json_uint(j, "process", e->process);
		json_string(j, "operation", e->operation->name);
		json_int(j, "code", e->code);
		json_string(j, "name", cuda_error_name(e->operation->layer, e->code, name,
						       sizeof(name)));
		json_uint(j, "count", e->count);
		json_object_end(j);
	}
	json_array_end(j);
}

static const char *layer_name(uint32_t layer)
{
	return layer == LAYER_RUNTIME ? "runtime" : layer == LAYER_DRIVER ? "driver" : "unknown";
}

static void put_operation(const struct report *r, const struct latency_row *row, struct json *j)
{
	bool known = row->n > 0;

	json_object(j, NULL);
	json_uint_or_null(j, "process", row->process != LATENCY_ALL, row->process);
	json_string(j, "name", row->operation->name);
	json_string(j, "layer", layer_name(row->operation->layer));
	json_uint(j, "calls", row->calls);
	json_uint(j, "failed", row->failed);
	json_uint(j, "nested", row->nested);
	json_uint(j, "open", row->open);
	json_uint_or_null(j, "first_ns", row->has_first, row->first);
	json_uint_or_null(j, "p50_ns", known, row->p50);
	json_uint_or_null(j, "p95_ns", known, row->p95);
	json_uint_or_null(j, "p99_ns", known, row->p99);
	json_uint_or_null(j, "max_ns", known, row->max);
	json_uint(j, "total_ns", row->total);
	json_uint(j, "percentile_n", row->n);
	json_bool(j, "p99_is_max", row->n && row->n < 100);
	json_bool(j, "lossy", r->completeness.calls_lossy);
	json_uint(j, "bytes", row->bytes);
	json_object_end(j);
}

static void put_operations(const struct report *r, struct json *j)
{
	json_array(j, "operations");
	for (size_t i = 0; i < r->latency.row_count; i++)
		put_operation(r, &r->latency.rows[i], j);
	json_array_end(j);
}

static void put_open_calls(const struct report *r, struct json *j)
{
	static const char *const reasons[] = {
		[OPEN_AT_END] = "end", [OPEN_THREAD_ENDED] = "thread ended",
		[OPEN_ABANDONED] = "abandoned",
	};

	json_array(j, "open_calls");
	for (size_t i = 0; i < r->latency.open_count; i++) {
		const struct latency_open *open = &r->latency.open[i];

		json_object(j, NULL);
		json_uint(j, "process", open->process);
		json_uint(j, "tid", r->tasks.threads[open->thread].tid);
		json_string(j, "operation", open->operation->name);
		json_uint(j, "start_ns", open->start > r->recording.whole_start ?
					 open->start - r->recording.whole_start : 0);
		json_uint(j, "age_ns", open->age);
		json_uint(j, "depth", open->depth);
		json_string(j, "reason", reasons[open->reason]);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_cpus(const struct report *r, struct json *j)
{
	const struct selection *s = &r->selection;

	if (!s->by_cpu) {
		json_null(j, "cpus");
		return;
	}
	json_array(j, "cpus");
	for (uint32_t i = 0; i < r->recording.cpus; i++)
		if (select_bit(s->cpus, r->recording.cpus, i))
			json_uint(j, NULL, i);
	json_array_end(j);
}

static void put_pids(const struct report *r, struct json *j)
{
	const struct selection *s = &r->selection;

	if (!s->by_thread) {
		json_null(j, "pids");
		return;
	}
	json_array(j, "pids");
	for (uint32_t i = 1; i < r->tasks.process_count; i++)
		if (select_process(s, i))
			json_uint(j, NULL, r->tasks.processes[i].tgid);
	json_array_end(j);
}

static void put_selected_operations(const struct report *r, struct json *j)
{
	const struct selection *s = &r->selection;

	if (!s->by_operation) {
		json_null(j, "operations");
		return;
	}
	json_array(j, "operations");
	for (size_t i = 0; i < r->recording.operation_count; i++)
		if (select_operation(s, r->recording.operations[i].id))
			json_string(j, NULL, r->recording.operations[i].name);
	json_array_end(j);
}

/* What part of the recording the document is about; null: all of it. */
static void put_selection(const struct report *r, struct json *j)
{
	const struct recording *rec = &r->recording;
	const struct selection *s = &r->selection;

	if (!select_any(s)) {
		json_null(j, "selection");
		return;
	}
	json_object(j, "selection");
	json_uint(j, "from_ns", rec->start - rec->whole_start);
	json_uint(j, "to_ns", rec->end - rec->whole_start);
	json_uint(j, "whole_span_ns", rec->whole_end - rec->whole_start);
	json_uint_or_null(j, "whole_start_realtime_ns", rec->anchor_count,
			  recording_realtime(rec, rec->whole_start));
	put_cpus(r, j);
	put_pids(r, j);
	json_uint_or_null(j, "processes", s->by_thread, s->process.selected);
	json_uint_or_null(j, "threads", s->by_thread, s->thread.selected);
	put_selected_operations(r, j);
	json_object_end(j);
}

void view_document(const struct report *r, struct json *j)
{
	const struct recording *rec = &r->recording;

	json_string(j, "command", report_command(r));
	json_uint(j, "span_ns", rec->end - rec->start);
	json_uint_or_null(j, "start_realtime_ns", rec->anchor_count,
			  recording_realtime(rec, rec->start));
	put_selection(r, j);
	number_or_text(j, "exit_status", recording_fact(rec, "record.exit_status"));
	put_completeness(r, j);
	put_host(r, j);
	put_system(r, j);
	view_json_chains(r, j);
	json_uint(j, "cuda_calls", r->latency.calls);
	put_errors(r, j, "errors", true);
	put_errors(r, j, "process_errors", false);
	put_operations(r, j);
	put_open_calls(r, j);
	view_json_processes(r, j);
	view_json_info(r, j);
}
