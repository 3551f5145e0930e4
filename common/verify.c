// SPDX-License-Identifier: BSD-2-Clause
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

/* What is carried from block to block, of one CPU. */
struct cpu_state {
	bool seen;
	uint64_t next_tid;			/* of the last switch row */
	uint64_t switches, breaks;
	struct row_counter counter[SOURCE_LIMIT];
};

struct verify {
	const struct reader *r;
	void (*say)(void *arg, enum verify_kind kind, const char *line);
	void *arg;
	int problems;
	struct cpu_state *cpu;
	uint32_t cpus;
	uint64_t calls;
	struct columns columns;
};

static void finding(struct verify *v, enum verify_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void finding(struct verify *v, enum verify_kind kind, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	v->say(v->arg, kind, line);
	v->problems += kind != VERIFY_NOTE;
}

static struct cpu_state *cpu_state(struct verify *v, uint64_t cpu)
{
	struct cpu_state *more;

	if (cpu >= FORMAT_MAX_CPUS)
		return NULL;
	if (cpu < v->cpus)
		return &v->cpu[cpu];
	more = realloc(v->cpu, (cpu + 1) * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + v->cpus, 0, (cpu + 1 - v->cpus) * sizeof(*more));
	v->cpu = more;
	v->cpus = (uint32_t)cpu + 1;
	return &more[cpu];
}

/* ---- one block ---- */

static void check_strings(struct verify *v, const struct block_info *info,
			  const struct schema_table *t, const struct columns *c)
{
	for (unsigned int i = 0; i < t->ncolumns; i++) {
		if (t->column[i].type != TYPE_STRING)
			continue;
		for (uint32_t row = 0; row < c->rows; row++)
			if (!reader_string_known(v->r, c->col[i][row])) {
				finding(v, VERIFY_INCONSISTENT,
					"block at offset %llu: column \"%s\" of table \"%s\" names string %llu, which is not in the file",
					(unsigned long long)info->offset, t->column[i].name,
					t->name, (unsigned long long)c->col[i][row]);
				break;
			}
	}
}

static int check_switches(struct verify *v, const struct block_info *info, const struct columns *c)
{
	struct cpu_state *cpu = cpu_state(v, info->cpu);

	if (!cpu)
		return info->cpu < FORMAT_MAX_CPUS ? ERROR_MEMORY : 0;
	for (uint32_t i = 0; i < c->rows; i++) {
		cpu->breaks += cpu->seen && c->col[COL_switch_prev_tid][i] != cpu->next_tid;
		cpu->seen = true;
		cpu->next_tid = c->col[COL_switch_next_tid][i];
	}
	cpu->switches += c->rows;
	return 0;
}

static int keep_counters(struct verify *v, const struct columns *c)
{
	for (uint32_t i = 0; i < c->rows; i++) {
		uint64_t source = c->col[COL_counter_source][i];
		struct cpu_state *cpu = cpu_state(v, c->col[COL_counter_cpu][i]);
		struct row_counter row = {
			.source = source, .entries = c->col[COL_counter_entries][i],
			.emitted = c->col[COL_counter_emitted][i],
			.filtered = c->col[COL_counter_filtered][i],
			.lost = c->col[COL_counter_lost][i],
		};

		if (!cpu && c->col[COL_counter_cpu][i] < FORMAT_MAX_CPUS)
			return ERROR_MEMORY;
		if (cpu && source < SOURCE_LIMIT)
			cpu->counter[source] = row;
	}
	return 0;
}

static int check_rows(struct verify *v, size_t i, const struct block_info *info)
{
	uint64_t all = ~0ull;
	struct error e;

	switch (info->table) {
	case TABLE_call:
		v->calls += info->rows;
		return 0;
	case TABLE_switch:
	case TABLE_counter:
		if (reader_load(v->r, i, all, &v->columns, &e))
			return e.code == ERROR_MEMORY ? e.code : 0;
		return info->table == TABLE_switch ? check_switches(v, info, &v->columns) :
						     keep_counters(v, &v->columns);
	default:
		return 0;
	}
}

static const struct schema_table *table_of(const struct reader *r, uint16_t id)
{
	for (size_t i = 0; i < reader_tables(r); i++)
		if (reader_table(r, i)->id == id)
			return reader_table(r, i);
	return NULL;
}

static int check_block(struct verify *v, size_t i)
{
	const struct block_info *info = reader_block(v->r, i);
	const struct schema_table *t = table_of(v->r, info->table);
	struct error e;

	if (reader_check(v->r, i, &e)) {
		if (e.code == ERROR_MEMORY)
			return e.code;
		finding(v, VERIFY_DAMAGED, "%s", e.text);
		/* What is missing there is no break of the recording's making. */
		if (info->table == TABLE_switch && info->cpu < v->cpus)
			v->cpu[info->cpu].seen = false;
		return 0;
	}
	if (!t)
		return 0;
	if (reader_load_raw(v->r, i, &v->columns, &e))
		return e.code == ERROR_MEMORY ? e.code : 0;
	check_strings(v, info, t, &v->columns);
	return check_rows(v, i, info);
}

/* ---- the whole ---- */

static void check_opening(struct verify *v)
{
	const struct reader_info *info = reader_info(v->r);
	size_t faults = info->damage_count - (info->cut && info->damage_count);

	for (size_t i = 0; i < faults; i++)
		finding(v, VERIFY_DAMAGED, "offset %llu, %llu bytes: %s",
			(unsigned long long)info->damage[i].offset,
			(unsigned long long)info->damage[i].size, info->damage[i].text);
	if (info->cut)
		finding(v, VERIFY_NOTE, "the last %llu bytes are an unfinished block",
			(unsigned long long)info->cut);
	if (!info->closed)
		finding(v, VERIFY_NOTE, "not closed cleanly; valid up to offset %llu",
			(unsigned long long)info->valid_until);
	if (info->unknown_blocks)
		finding(v, VERIFY_NOTE,
			"%llu blocks hold tables or encodings this program does not know",
			(unsigned long long)info->unknown_blocks);
}

static void check_counters(struct verify *v)
{
	for (uint32_t cpu = 0; cpu < v->cpus; cpu++)
		for (unsigned int source = 1; source < SOURCE_LIMIT; source++) {
			const struct row_counter *c = &v->cpu[cpu].counter[source];

			if (c->entries != c->emitted + c->filtered + c->lost)
				finding(v, VERIFY_INCONSISTENT,
					"counter of source %u on CPU %u: %llu entries are not %llu emitted + %llu filtered + %llu lost",
					source, cpu, (unsigned long long)c->entries,
					(unsigned long long)c->emitted,
					(unsigned long long)c->filtered,
					(unsigned long long)c->lost);
		}
}

/* Rows against what the programs say they handed on. Only a closed file has both in full. */
static void check_rows_counted(struct verify *v)
{
	uint64_t emitted = 0, returns = 0;

	for (uint32_t i = 0; i < v->cpus; i++) {
		struct cpu_state *cpu = &v->cpu[i];

		emitted = cpu->counter[SOURCE_SWITCH].emitted;
		returns += cpu->counter[SOURCE_CALL_RETURN].emitted;
		if (emitted != cpu->switches)
			finding(v, VERIFY_INCONSISTENT,
				"CPU %u: %llu switch rows, but %llu were emitted", i,
				(unsigned long long)cpu->switches, (unsigned long long)emitted);
	}
	/* A call may be counted on one CPU and reach the ring of another. */
	if (returns != v->calls)
		finding(v, VERIFY_INCONSISTENT, "%llu call rows, but %llu were emitted",
			(unsigned long long)v->calls, (unsigned long long)returns);
}

static bool any_counter(const struct reader *r)
{
	for (size_t i = 0; i < reader_blocks(r); i++)
		if (reader_block(r, i)->table == TABLE_counter && reader_block(r, i)->rows)
			return true;
	return false;
}

static void report_breaks(struct verify *v)
{
	for (uint32_t i = 0; i < v->cpus; i++)
		if (v->cpu[i].breaks)
			finding(v, VERIFY_NOTE,
				"CPU %u: %llu of %llu switches follow a row that is missing", i,
				(unsigned long long)v->cpu[i].breaks,
				(unsigned long long)v->cpu[i].switches);
}

int verify_file(const struct reader *r,
		void (*say)(void *arg, enum verify_kind kind, const char *line), void *arg)
{
	struct verify v = { .r = r, .say = say, .arg = arg };
	int err = 0;

	check_opening(&v);
	for (size_t i = 0; i < reader_blocks(r) && !err; i++)
		err = check_block(&v, i);
	if (!err) {
		check_counters(&v);
		if (reader_info(r)->closed && any_counter(r) && v.problems == 0)
			check_rows_counted(&v);
		report_breaks(&v);
	}
	columns_release(&v.columns);
	free(v.cpu);
	return err ? err : v.problems;
}
