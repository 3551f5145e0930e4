// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include "fmt.h"
#include "grid.h"
#include "tables.h"
#include "view.h"
#include "view_text.h"

#define SECONDS 40		/* lines of losses */
#define REFUSED 40		/* lines of functions not probed */
#define ANCHORS 3
#define OUTSIDE 20

static void print_header(const struct report *r, const struct page *out)
{
	const struct reader_info *file = r->recording.file;
	char bytes[FMT_SIZE], offset[FMT_SIZE];

	fprintf(out->file, "\nfile: format %u.%u, %s, %s, index %s\n", file->major, file->minor,
		fmt_bytes(bytes, file->size), file->closed ? "closed" : "not closed",
		file->index_used ? "used" : "not used");
	if (file->valid_until < file->size)
		fprintf(out->file, "good blocks end at offset %s of %s\n",
			fmt_count(offset, file->valid_until), fmt_count(bytes, file->size));
	for (size_t i = 0; i < file->damage_count; i++)
		print_wrapped(out, 2, "damage at offset %llu, %llu bytes: %s",
			      (unsigned long long)file->damage[i].offset,
			      (unsigned long long)file->damage[i].size, file->damage[i].text);
}

static void print_facts(const struct report *r, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "fact", GRID_LEFT }, { "value", GRID_SHRINK },
	};
	struct grid t;

	grid_init(&t, columns, 2);
	for (size_t i = 0; i < r->recording.fact_count; i++) {
		cell_text(&t, r->recording.facts[i].key);
		cell_text(&t, r->recording.facts[i].value);
	}
	fputc('\n', out->file);
	grid_print(&t, out, 0);
	grid_release(&t);
}

static void print_anchors(const struct report *r, const struct page *out)
{
	const struct recording *rec = &r->recording;
	char date[FMT_SIZE], clock[FMT_SIZE], at[FMT_SIZE];
	size_t n = rec->anchor_count;

	fprintf(out->file, "\nclock anchors: %zu\n", n);
	for (size_t i = 0; i < n; i++) {
		if (i >= ANCHORS && i + 1 < n)
			continue;
		print_wrapped(out, 4, "  %s after the start: %s, %s",
			fmt_ns(at, rec->anchors[i].ts > rec->whole_start ?
				   rec->anchors[i].ts - rec->whole_start : 0),
			fmt_date(date, (uint64_t)rec->anchors[i].realtime),
			fmt_clock(clock, (uint64_t)rec->anchors[i].realtime));
	}
}

/* Functions nobody refused: the recorder was told to leave them out. */
static bool not_selected(const struct probe *p)
{
	return p->status == PROBE_REFUSED && !strcmp(p->why_not, "not selected by --ops");
}

static uint64_t count_not_selected(const struct report *r, const struct library *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->recording.probe_count; i++)
		n += r->recording.probes[i].library == l->id &&
		     not_selected(&r->recording.probes[i]);
	return n;
}

static void print_library(const struct report *r, const struct library *l, const struct page *out)
{
	char path[512], why[256], n[FMT_SIZE];
	uint64_t left = count_not_selected(r, l);
	struct line line;

	fputc('\n', out->file);
	print_wrapped(out, 2, "library: %s", fmt_text(path, sizeof(path), l->path, 0));
	fprintf(out->file, "  build-id %s\n",
		*l->build_id ? fmt_text(why, sizeof(why), l->build_id, 60) : "none");
	line_begin(&line, out, "  ");
	line_item(&line, "%s CUDA functions", fmt_count(n, l->symbols));
	line_item(&line, "%s probed", fmt_count(n, l->attached));
	if (left)
		line_item(&line, "%s not selected by --ops", fmt_count(n, left));
	line_item(&line, "%s refused", fmt_count(n, l->refused - left));
	line_item(&line, "%s calls", fmt_count(n, l->hits));
	if (l->outside)
		line_item(&line, "%s of them from outside the tree", fmt_count(n, l->outside));
	line_end(&line);
	if (*l->why_not)
		print_wrapped(out, 4, "  not probed: %s",
			      fmt_text(why, sizeof(why), l->why_not, 0));
	else if (l->how == LIBRARY_LATE && l->mapped && l->probed >= l->mapped)
		fprintf(out->file, "  mapped by process %llu, probed %s later\n",
			(unsigned long long)l->mapped_by, fmt_ns(n, l->probed - l->mapped));
	else if (l->how == LIBRARY_BEFORE_EXEC)
		fprintf(out->file, "  probed before the command began\n");
}

static void print_probes(const struct report *r, const struct library *l, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "function", GRID_SHRINK }, { "calls", GRID_RIGHT }, { "price", GRID_LEFT },
	};
	struct grid t;

	grid_init(&t, columns, 3);
	for (size_t i = 0; i < r->recording.probe_count; i++) {
		const struct probe *p = &r->recording.probes[i];

		/* Those never called are a hundred lines that say nothing; --json has them. */
		if (p->library != l->id || p->status != PROBE_ATTACHED || !p->hits)
			continue;
		cell_text(&t, p->symbol);
		cell_count(&t, false, p->hits);
		grid_cell(&t, p->instruction == INSTRUCTION_SINGLE_STEPPED ? "single-stepped: high" :
			       p->instruction == INSTRUCTION_EMULATED ? "emulated: low" : "");
	}
	if (t.count)
		grid_print(&t, out, 2);
	grid_release(&t);
}

/* Where none was called, their names are all there is to say. */
static void print_never_called(const struct report *r, const struct library *l,
			       const struct page *out)
{
	char symbol[128];
	struct line line;

	line_begin(&line, out, "  none was called: ");
	for (size_t i = 0; i < r->recording.probe_count && !l->hits; i++) {
		const struct probe *p = &r->recording.probes[i];

		if (p->library == l->id && p->status == PROBE_ATTACHED)
			line_item(&line, "%s", fmt_text(symbol, sizeof(symbol), p->symbol, 70));
	}
	line_end(&line);
}

static void print_refused(const struct report *r, const struct page *out)
{
	char symbol[128], why[256];
	size_t lines = 0, left = 0;

	for (size_t i = 0; i < r->recording.probe_count; i++) {
		const struct probe *p = &r->recording.probes[i];

		if (p->status != PROBE_REFUSED || not_selected(p))
			continue;
		if (lines == REFUSED) {
			left++;
			continue;
		}
		if (!lines++)
			fprintf(out->file, "\nnot probed:\n");
		print_wrapped(out, 4, "  %s: %s", fmt_text(symbol, sizeof(symbol), p->symbol, 0),
			      fmt_text(why, sizeof(why), p->why_not, 0));
	}
	if (left)
		fprintf(out->file, "  and %zu more: --json\n", left);
}

static void print_libraries(const struct report *r, const struct page *out)
{
	uint64_t dear = 0;

	for (size_t i = 0; i < r->recording.library_count; i++) {
		print_library(r, &r->recording.libraries[i], out);
		print_probes(r, &r->recording.libraries[i], out);
		print_never_called(r, &r->recording.libraries[i], out);
	}
	for (size_t i = 0; i < r->recording.probe_count; i++)
		dear += r->recording.probes[i].status == PROBE_ATTACHED &&
			r->recording.probes[i].instruction == INSTRUCTION_SINGLE_STEPPED;
	if (dear)
		fprintf(out->file,
			"\n%llu probed functions pay the high price of single-stepping\n",
			(unsigned long long)dear);
	print_refused(r, out);
}

/* A file probed is probed for everybody who maps it. */
static void print_outside(const struct report *r, const struct page *out)
{
	char name[128], symbol[128], n[FMT_SIZE];
	size_t count = r->recording.outside_count;

	for (size_t i = 0; i < count && i < OUTSIDE; i++) {
		const struct outside *o = &r->recording.outsides[i];
		const struct probe *p = recording_probe(&r->recording, o->probe);
		uint32_t process = tasks_process(&r->tasks, o->tgid, UINT64_MAX);

		if (!i)
			fprintf(out->file, "\ncalls from outside the tree, not recorded:\n");
		print_wrapped(out, 4, "  %u %s: %s calls of %s", o->tgid,
			      fmt_text(name, sizeof(name), r->tasks.processes[process].name, 20),
			      fmt_count(n, o->calls),
			      fmt_text(symbol, sizeof(symbol), p ? p->symbol : "", 0));
	}
	if (count > OUTSIDE)
		fprintf(out->file, "  and %zu more: --json\n", count - OUTSIDE);
}

static void print_counters(const struct report *r, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "source", GRID_LEFT }, { "entries", GRID_RIGHT }, { "emitted", GRID_RIGHT },
		{ "filtered", GRID_RIGHT }, { "lost", GRID_RIGHT }, { "skipped", GRID_RIGHT },
	};
	const struct completeness *c = &r->completeness;
	struct grid t;

	grid_init(&t, columns, 6);
	for (unsigned int i = 0; i < SOURCE_LIMIT; i++) {
		const struct source_counts *s = &c->sources[i];

		if (!s->known)
			continue;
		grid_cell(&t, completeness_source(i));
		cell_count(&t, false, s->entries);
		cell_count(&t, false, s->emitted);
		cell_count(&t, false, s->filtered);
		cell_count(&t, false, s->lost);
		if (s->missed_unknown)
			grid_cell(&t, "unknown");
		else
			cell_count(&t, false, s->missed);
	}
	if (!t.count)
		return grid_release(&t);
	fputc('\n', out->file);
	grid_print(&t, out, 0);
	grid_release(&t);
	print_wrapped(out, 2, "entries = emitted + filtered + lost: %s; skipped: by the kernel, on top",
		      c->unbalanced ? "NO" : "yes, on every CPU");
}

static void print_losses(const struct report *r, const struct page *out)
{
	const struct completeness *c = &r->completeness;
	char n[FMT_SIZE], at[FMT_SIZE];

	for (size_t i = 0; i < c->second_count && i < SECONDS; i++) {
		const struct loss_second *s = &c->seconds[i];

		fprintf(out->file, "%s%s %s from %s: %s\n", i ? "  " : "\nlosses by second:\n  ",
			fmt_count(n, s->count), completeness_source(s->source),
			fmt_clock(at, recording_realtime(&r->recording, s->first)),
			completeness_reason(s->reason));
	}
	if (c->second_count > SECONDS)
		fprintf(out->file, "  and %zu more: --json\n", c->second_count - SECONDS);
}

static void print_consistency(const struct report *r, const struct page *out)
{
	char n[FMT_SIZE];

	if (r->procs.inconsistent)
		fprintf(out->file,
			"\ninconsistent: %s threads were busy for longer than they lived\n",
			fmt_count(n, r->procs.inconsistent));
	if (r->tasks.overflow)
		fprintf(out->file, "\n%s threads beyond the first %u are counted as unknown\n",
			fmt_count(n, r->tasks.overflow), TASKS_MAX);
	if (r->latency.unknown_operations)
		fprintf(out->file, "\n%s calls are of operations the file does not name\n",
			fmt_count(n, r->latency.unknown_operations));
}

static void print_cpus(const struct report *r, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "CPU", GRID_RIGHT }, { "switches", GRID_RIGHT }, { "busy", GRID_RIGHT },
		{ "idle", GRID_RIGHT }, { "unrecorded", GRID_RIGHT }, { "breaks", GRID_RIGHT },
	};
	struct grid t;
	char buf[FMT_SIZE];

	grid_init(&t, columns, 6);
	for (uint32_t i = 0; i < r->recording.cpus; i++) {
		const struct cpu_account *c = &r->procs.cpus[i];

		if (!c->present)
			continue;
		snprintf(buf, sizeof(buf), "%u", i);
		grid_cell(&t, buf);
		cell_count(&t, false, c->rows);
		cell_ns(&t, true, false, c->busy);
		cell_ns(&t, true, false, c->idle);
		cell_ns(&t, true, false, c->unrecorded);
		cell_count(&t, false, c->breaks);
	}
	fputc('\n', out->file);
	grid_print(&t, out, 0);
	grid_release(&t);
}

static void print_tables(const struct report *r, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "table", GRID_LEFT }, { "rows", GRID_RIGHT }, { "blocks", GRID_RIGHT },
		{ "size", GRID_RIGHT }, { "bytes a row", GRID_RIGHT },
	};
	struct table_size sizes[TABLE_LIMIT];
	struct grid t;
	char buf[FMT_SIZE];

	tables_measure(&r->recording, sizes);
	grid_init(&t, columns, 5);
	for (unsigned int i = 1; i < TABLE_LIMIT; i++) {
		grid_cell(&t, tables_name(i));
		cell_count(&t, false, sizes[i].rows);
		cell_count(&t, false, sizes[i].blocks);
		grid_cell(&t, fmt_bytes(buf, sizes[i].bytes));
		grid_cell(&t, fmt_ratio(buf, sizes[i].bytes, sizes[i].rows));
	}
	fputc('\n', out->file);
	grid_print(&t, out, 0);
	grid_release(&t);
}

void view_info(const struct report *r, const struct page *out)
{
	print_completeness(r, out);
	print_header(r, out);
	print_facts(r, out);
	print_anchors(r, out);
	print_libraries(r, out);
	print_outside(r, out);
	print_counters(r, out);
	print_losses(r, out);
	print_consistency(r, out);
	print_cpus(r, out);
	print_tables(r, out);
}
