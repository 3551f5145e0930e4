// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include "fmt.h"
#include "view.h"
#include "view_text.h"

/* Which columns a table of operations needs. */
struct shape { uint32_t process; bool nested, failed, open, top; size_t count, left; };

static bool shown(const struct latency_row *row, const struct shape *s)
{
	bool top = row->calls > row->nested || !row->calls;

	return row->process == s->process && top == s->top;
}

static struct shape shape_of(const struct report *r, uint32_t process, bool top)
{
	struct shape s = { .process = process, .top = top };

	for (size_t i = 0; i < r->latency.row_count; i++) {
		const struct latency_row *row = &r->latency.rows[i];

		if (!shown(row, &s))
			continue;
		s.count++;
		s.nested |= top && row->nested;
		s.failed |= row->failed > 0;
		s.open |= row->open > 0;
	}
	return s;
}

static size_t columns_of(const struct shape *s, struct grid_column columns[12])
{
	size_t n = 0;

	columns[n++] = (struct grid_column){ s->top ? "CUDA operation" : "nested in other calls",
					      GRID_SHRINK };
	columns[n++] = (struct grid_column){ "calls", GRID_RIGHT };
	if (s->nested)
		columns[n++] = (struct grid_column){ "nested", GRID_RIGHT };
	if (s->failed)
		columns[n++] = (struct grid_column){ "failed", GRID_RIGHT };
	if (s->open)
		columns[n++] = (struct grid_column){ "open", GRID_RIGHT };
	columns[n++] = (struct grid_column){ "p50", GRID_RIGHT };
	columns[n++] = (struct grid_column){ "p95", GRID_RIGHT };
	columns[n++] = (struct grid_column){ "p99", GRID_RIGHT };
	columns[n++] = (struct grid_column){ "max", GRID_RIGHT };
	if (s->top)
		columns[n++] = (struct grid_column){ "total", GRID_RIGHT };
	columns[n++] = (struct grid_column){ "/s", GRID_RIGHT };
	return n;
}

/* With fewer than 100 values the p99 is the maximum; "=" says so. */
static void p99_cell(struct grid *t, const struct latency_row *row, bool lossy)
{
	char number[FMT_SIZE], cell[FMT_SIZE + 4], *space;

	if (!row->n) {
		grid_cell(t, "-");
		return;
	}
	fmt_ns(number, row->p99);
	space = strchr(number, ' ');
	if (space)
		memmove(space, space + 1, strlen(space));
	snprintf(cell, sizeof(cell), "%s%s%s", lossy ? "~" : "", row->n < 100 ? "=" : "", number);
	grid_cell(t, cell);
}

static void add_row(const struct report *r, const struct latency_row *row, const struct shape *s,
		    struct grid *t)
{
	bool lossy = r->completeness.calls_lossy, known = row->n > 0;

	cell_text(t, row->operation->name);
	cell_count(t, lossy, row->calls);
	if (s->nested)
		cell_count(t, lossy, row->nested);
	if (s->failed)
		cell_count(t, lossy, row->failed);
	if (s->open)
		cell_count(t, lossy, row->open);
	cell_ns(t, known, lossy, row->p50);
	cell_ns(t, known, lossy, row->p95);
	p99_cell(t, row, lossy);
	cell_ns(t, known, lossy, row->max);
	if (s->top)
		cell_ns(t, row->good > 0, lossy, row->total);
	cell_rate(t, lossy, row->calls, r->system.span);
}

static bool print_part(const struct report *r, struct shape *s, size_t limit, FILE *out)
{
	struct grid_column columns[12];
	struct grid t;
	size_t lines = 0;
	bool marked = false;

	grid_init(&t, columns, columns_of(s, columns));
	for (size_t i = 0; i < r->latency.row_count; i++) {
		const struct latency_row *row = &r->latency.rows[i];

		if (!shown(row, s) || (limit && lines == limit))
			continue;
		add_row(r, row, s, &t);
		lines++;
		marked |= row->n && row->n < 100;
	}
	if (lines)
		grid_print(&t, out, 0, VIEW_WIDTH);
	grid_release(&t);
	s->left = s->count - lines;
	return marked;
}

void print_operations(const struct report *r, uint32_t process, size_t limit, FILE *out)
{
	struct shape top = shape_of(r, process, true), nested = shape_of(r, process, false);
	bool marked;

	if (!top.count && !nested.count)
		return;
	marked = print_part(r, &top, limit, out);
	marked |= print_part(r, &nested, limit ? (limit + 1) / 2 : 0, out);
	if (top.left + nested.left)
		print_wrapped(out, 2, "and %zu more operations: --per-process, --json",
			      top.left + nested.left);
	if (marked)
		fprintf(out, "= the p99 of fewer than 100 calls is their maximum\n");
}
