// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files that are sound as files and nonsense as recordings: rows of random, extreme and nearly
 * plausible values in every table. Each must give a report, of whatever figures, in every view.
 */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "made.h"
#include "report/view.h"

#define SEEDS 60
#define ROWS 120

static uint64_t state;

static uint64_t next_random(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static uint64_t value(void)
{
	switch (next_random() % 8) {
	case 0:
		return UINT64_MAX - next_random() % 3;
	case 1:
		return next_random() << 32 | next_random();
	case 2:
		return 1ull << (next_random() % 64);
	case 3:
	case 4:
		return MADE_START + next_random() % 1000000;
	default:
		return next_random() % 12;
	}
}

static const struct { enum table table; unsigned int columns; bool per_cpu; } tables[] = {
#define TABLE(id, name, scope, text) { TABLE_##name, COLS_##name, SCOPE_##scope == SCOPE_CPU },
#define COLUMN(id, table, name, type, enc, text)
#define END_TABLE(name)
#include "common/columns.def"
};

static void fill(struct made *m)
{
	uint64_t row[FORMAT_MAX_COLUMNS];

	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
		unsigned int rows = next_random() % ROWS;

		if (tables[t].table == TABLE_string)
			continue;
		for (unsigned int i = 0; i < rows; i++) {
			for (unsigned int c = 0; c < tables[t].columns; c++)
				row[c] = value();
			writer_row(m->writer, tables[t].table,
				   tables[t].per_cpu ? (uint32_t)(next_random() % 5) : 0, row);
			if (next_random() % 50 == 0)
				writer_flush(m->writer, NULL);
		}
	}
}

/* Every view in every format; of one that wants an argument, of an operation that is there. */
static void show_all(struct report *r, FILE *out)
{
	struct page page = { .file = out, .width = PAGE_WIDTH };

	for (const struct view *v = views; v->help; v++) {
		const char *argument = NULL;
		struct error e = { 0 };

		if (v->argument && !v->optional && !r->latency.row_count)
			continue;
		if (v->argument && !v->optional)
			argument = r->latency.rows[0].operation->name;
		for (int format = VIEW_TEXT; format <= VIEW_CSV; format++)
			if (format != VIEW_CSV || v->tables)
				CHECK(!view_show(v, argument, format, r, &page, &e));
	}
}

int main(void)
{
	FILE *out = fopen("/dev/null", "w");

	if (!out)
		return CHECK_SKIP;
	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		/* Some in part; closed ones, of which there is more than nothing. */
		struct report_options options = { .select = {
			.from = seed % 4 == 1 ? "30%" : NULL, .to = seed % 8 == 1 ? "60%" : NULL,
			.cpu = seed % 12 == 1 ? "0,1" : NULL,
		} };
		struct report r;
		struct made m;

		state = seed;
		made_begin(&m);
		made_fact(&m, "host.name", "a\x1b[2J\xff\n");
		if (seed % 3 == 0)
			made_fact(&m, "record.start", "18446744073709551615");
		fill(&m);
		made_report_of(&m, seed % 2, &options, &r);
		show_all(&r, out);
		CHECK(r.recording.end >= r.recording.start);
		report_release(&r);
	}
	fclose(out);
	return check_result();
}
