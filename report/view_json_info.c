// SPDX-License-Identifier: BSD-2-Clause
#include "view.h"
#include "view_json.h"
#include "tables.h"

static void put_counters(const struct report *r, struct json *j)
{
	json_array(j, "counters");
	for (unsigned int i = 1; i < SOURCE_LIMIT; i++) {
		const struct source_counts *s = &r->completeness.sources[i];

		if (!s->known)
			continue;
		json_object(j, NULL);
		json_string(j, "source", completeness_source(i));
		json_uint(j, "entries", s->entries);
		json_uint(j, "emitted", s->emitted);
		json_uint(j, "filtered", s->filtered);
		json_uint(j, "lost", s->lost);
		json_uint_or_null(j, "missed", !s->missed_unknown, s->missed);
		json_uint(j, "pages_lost", s->pages);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_losses(const struct report *r, struct json *j)
{
	json_array(j, "losses");
	for (size_t i = 0; i < r->completeness.second_count; i++) {
		const struct loss_second *s = &r->completeness.seconds[i];

		json_object(j, NULL);
		json_string(j, "source", completeness_source(s->source));
		json_string(j, "reason", completeness_reason(s->reason));
		json_int(j, "first_ns", (int64_t)(s->first - r->recording.whole_start));
		json_int(j, "last_ns", (int64_t)(s->last - r->recording.whole_start));
		json_uint(j, "count", s->count);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_libraries(const struct report *r, struct json *j)
{
	json_array(j, "libraries");
	for (size_t i = 0; i < r->recording.library_count; i++) {
		const struct library *l = &r->recording.libraries[i];
		bool gap = l->mapped && l->probed >= l->mapped;

		json_object(j, NULL);
		json_uint(j, "id", l->id);
		json_string(j, "path", l->path);
		json_string(j, "build_id", l->build_id);
		json_string(j, "how", l->how == LIBRARY_LATE ? "late" : "before exec");
		json_uint_or_null(j, "map_to_probe_ns", gap, l->probed - l->mapped);
		json_uint(j, "symbols", l->symbols);
		json_uint(j, "attached", l->attached);
		json_uint(j, "refused", l->refused);
		json_uint(j, "calls", l->hits);
		json_uint(j, "calls_outside", l->outside);
		json_string(j, "why_not", l->why_not);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_probes(const struct report *r, struct json *j)
{
	json_array(j, "probes");
	for (size_t i = 0; i < r->recording.probe_count; i++) {
		const struct probe *p = &r->recording.probes[i];
		const struct operation *o = recording_operation(&r->recording, p->operation);

		json_object(j, NULL);
		json_uint(j, "library", p->library);
		json_string(j, "symbol", p->symbol);
		json_string(j, "operation", o ? o->name : "");
		json_uint(j, "offset", p->offset);
		json_bool(j, "attached", p->status == PROBE_ATTACHED);
		json_bool(j, "single_stepped", p->instruction == INSTRUCTION_SINGLE_STEPPED);
		json_uint(j, "calls", p->hits);
		json_string(j, "why_not", p->why_not);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_outside(const struct report *r, struct json *j)
{
	json_array(j, "outside_calls");
	for (size_t i = 0; i < r->recording.outside_count; i++) {
		const struct outside *o = &r->recording.outsides[i];
		const struct probe *p = recording_probe(&r->recording, o->probe);

		json_object(j, NULL);
		json_uint(j, "pid", o->tgid);
		json_string(j, "name", r->tasks.processes[tasks_process(&r->tasks, o->tgid,
								       UINT64_MAX)].name);
		json_string(j, "symbol", p ? p->symbol : "");
		json_uint(j, "calls", o->calls);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_tables(const struct report *r, struct json *j)
{
	struct table_size sizes[TABLE_LIMIT];

	tables_measure(&r->recording, sizes);
	json_array(j, "tables");
	for (unsigned int i = 1; i < TABLE_LIMIT; i++) {
		json_object(j, NULL);
		json_string(j, "name", tables_name(i));
		json_uint(j, "rows", sizes[i].rows);
		json_uint(j, "blocks", sizes[i].blocks);
		json_uint(j, "bytes", sizes[i].bytes);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_cpus(const struct report *r, struct json *j)
{
	json_array(j, "cpus");
	for (uint32_t i = 0; i < r->recording.cpus; i++) {
		const struct cpu_account *c = &r->procs.cpus[i];

		if (!c->present)
			continue;
		json_object(j, NULL);
		json_uint(j, "cpu", i);
		json_uint(j, "switches", c->rows);
		json_uint(j, "busy_ns", c->busy);
		json_uint(j, "idle_ns", c->idle);
		json_uint(j, "unrecorded_ns", c->unrecorded);
		json_uint(j, "chain_breaks", c->breaks);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_facts(const struct report *r, struct json *j)
{
	const struct recording *rec = &r->recording;

	json_object(j, "facts");
	for (size_t i = 0; i < rec->fact_count; i++)
		json_string(j, rec->facts[i].key, rec->facts[i].value);
	json_object_end(j);
	json_array(j, "anchors");
	for (size_t i = 0; i < rec->anchor_count; i++) {
		json_object(j, NULL);
		json_int(j, "at_ns", (int64_t)(rec->anchors[i].ts - rec->whole_start));
		json_int(j, "realtime_ns", rec->anchors[i].realtime);
		json_int(j, "boottime_ns", rec->anchors[i].boottime);
		json_object_end(j);
	}
	json_array_end(j);
}

void view_json_info(const struct report *r, struct json *j)
{
	put_cpus(r, j);
	put_counters(r, j);
	put_losses(r, j);
	put_libraries(r, j);
	put_probes(r, j);
	put_outside(r, j);
	json_object(j, "file");
	json_uint(j, "version_major", r->recording.file->major);
	json_uint(j, "version_minor", r->recording.file->minor);
	json_uint(j, "bytes", r->recording.file->size);
	json_object_end(j);
	put_tables(r, j);
	put_facts(r, j);
}
