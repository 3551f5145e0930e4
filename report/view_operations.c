// SPDX-License-Identifier: BSD-2-Clause
/* Operations as a table, a row each: of the default screen, of a process's section, of --ops. */
#include "view.h"
#include "view_operations.h"
#include "view_processes.h"
#include "view_text.h"

/* total: flags of the columns that nested calls have nothing in. */
#define OPERATION_COLUMNS(title, total) { \
	{ "name", title, CELL_TEXT, COLUMN_SHRINK }, \
	{ "layer", "layer", CELL_TEXT, COLUMN_WIDE }, \
	{ "calls", "calls", CELL_COUNT, COLUMN_SUM }, \
	{ "nested", "nested", CELL_COUNT, COLUMN_SPARSE | COLUMN_SUM | (total) }, \
	{ "failed", "failed", CELL_COUNT, COLUMN_SPARSE | COLUMN_SUM }, \
	{ "open", "open", CELL_COUNT, COLUMN_SPARSE | COLUMN_SUM }, \
	{ "p50_ns", "p50", CELL_NS, 0 }, \
	{ "p95_ns", "p95", CELL_NS, COLUMN_LIKE | COLUMN_OPTIONAL }, \
	{ "p99_ns", "p99", CELL_NS, COLUMN_LIKE }, \
	{ "max_ns", "max", CELL_NS, COLUMN_LIKE }, \
	{ "total_ns", "total", CELL_NS, COLUMN_SUM | COLUMN_MAIN | (total) }, \
	{ "share_of_span", "of span", CELL_SHARE, COLUMN_OPTIONAL | COLUMN_SUM | (total) }, \
	{ "calls_per_second", "/s", CELL_RATE, COLUMN_OPTIONAL | COLUMN_SUM }, \
	{ "bytes", "bytes", CELL_BYTES, COLUMN_WIDE | COLUMN_SPARSE | COLUMN_SUM }, \
	{ "first_max_ns", "first", CELL_NS, COLUMN_WIDE | COLUMN_SPARSE }, \
	{ "percentile_n", "n", CELL_COUNT, COLUMN_DATA | COLUMN_SUM }, \
}

static const struct listing_column columns[] = OPERATION_COLUMNS("CUDA operation", 0);
static const struct listing_column nested_columns[] =
	OPERATION_COLUMNS("nested in other calls", COLUMN_DATA);

/* Nested only: each of its calls was made inside another one. */
static bool is_shown(const struct latency_row *row, uint32_t process, enum operation_rows which)
{
	bool nested = row->calls && row->calls == row->nested;

	return row->process == process && which & (nested ? OPERATIONS_NESTED : OPERATIONS_TOP);
}

struct listing *operation_table(struct listing_set *set, const char *key, enum operation_rows which)
{
	return listing_set_add(set, key, NULL,
			       which == OPERATIONS_NESTED ? nested_columns : columns,
			       sizeof(columns) / sizeof(*columns));
}

static void pair(struct listing *t, uint64_t a, uint64_t b, bool lossy)
{
	listing_pair(t, a, b);
	listing_lossy(t, lossy);
}

static const char *layer_name(uint32_t layer)
{
	return layer == LAYER_RUNTIME ? "runtime" : layer == LAYER_DRIVER ? "driver" : "unknown";
}

/* The longest first call of a process. */
static uint64_t longest_first(const struct report *r, const struct latency_row *of, bool *known)
{
	uint64_t ns = 0;

	*known = false;
	for (size_t i = 0; i < r->latency.row_count; i++) {
		const struct latency_row *row = &r->latency.rows[i];

		if (row->process == LATENCY_ALL || row->operation != of->operation ||
		    !row->has_first || (of->process != LATENCY_ALL && row != of))
			continue;
		*known = true;
		ns = row->first > ns ? row->first : ns;
	}
	return ns;
}

void operation_row(struct listing *t, const struct report *r, const struct latency_row *row)
{
	bool lossy = r->completeness.calls_lossy, known = row->n > 0, has_first;
	uint64_t first = longest_first(r, row, &has_first);

	listing_text(t, row->operation->name);
	listing_text(t, layer_name(row->operation->layer));
	list_number(t, true, row->calls, lossy);
	list_number(t, true, row->nested, lossy);
	list_number(t, true, row->failed, lossy);
	list_number(t, true, row->open, lossy);
	list_number(t, known, row->p50, lossy);
	list_number(t, known, row->p95, lossy);
	list_number(t, known, row->p99, lossy);
	listing_bound(t, known && row->n < 100);
	list_number(t, known, row->max, lossy);
	list_number(t, true, row->total, lossy);
	pair(t, row->total, r->system.span, lossy);
	pair(t, row->calls, r->system.span, lossy);
	list_number(t, true, row->bytes, lossy);
	list_number(t, has_first, first, lossy);
	list_number(t, true, row->n, lossy);
}

bool operation_rows(struct listing *t, const struct report *r, uint32_t process,
		    enum operation_rows which)
{
	bool bound = false;

	for (size_t i = 0; i < r->latency.row_count; i++) {
		const struct latency_row *row = &r->latency.rows[i];

		if (!is_shown(row, process, which))
			continue;
		operation_row(t, r, row);
		bound |= row->n && row->n < 100;
	}
	return bound;
}

static bool print_part(const struct report *r, uint32_t process, size_t limit,
		       enum operation_rows which, const struct page *out)
{
	struct listing_set set = { .count = 0 };
	struct listing *t = operation_table(&set, "operations", which);
	bool bound = operation_rows(t, r, process, which);

	t->limit = limit;
	listing_order(t, &r->order_by);
	if (listing_rows(t))
		listing_print(t, out);
	listing_set_release(&set);
	return bound;
}

void print_operations(const struct report *r, uint32_t process, size_t limit,
		      const struct page *out)
{
	bool bound = print_part(r, process, limit, OPERATIONS_TOP, out);

	bound |= print_part(r, process, limit ? (limit + 1) / 2 : 0, OPERATIONS_NESTED, out);
	if (bound)
		print_wrapped(out, 2, "%s", OPERATIONS_BOUND);
}
