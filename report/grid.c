// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "fmt.h"
#include "grid.h"

#define COLUMNS_MAX 16
#define SHRINK_MIN 12
#define SHRINK_LAST 6		/* where even that is too wide */
#define CELL_SIZE 256

void grid_init(struct grid *t, const struct grid_column *columns, size_t count)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->column_count = count < COLUMNS_MAX ? count : COLUMNS_MAX;
}

void grid_release(struct grid *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	memset(t, 0, sizeof(*t));
}

void grid_cell(struct grid *t, const char *text)
{
	char **cells = array_reserve(t->cells, &t->capacity, t->count + 1, sizeof(*cells));

	if (!cells) {
		t->failed = true;
		return;
	}
	t->cells = cells;
	cells[t->count] = strdup(text ? text : "");
	if (!cells[t->count])
		t->failed = true;
	else
		t->count++;
}

struct layout { size_t widths[COLUMNS_MAX], gap; bool dropped[COLUMNS_MAX]; };

static void measure(const struct grid *t, size_t *widths)
{
	for (size_t c = 0; c < t->column_count; c++)
		widths[c] = fmt_width(t->columns[c].title);
	for (size_t i = 0; i < t->count; i++) {
		size_t w = fmt_width(t->cells[i]);

		if (w > widths[i % t->column_count])
			widths[i % t->column_count] = w;
	}
}

static size_t total_width(const struct grid *t, const struct layout *l)
{
	size_t total = 0;

	for (size_t c = 0; c < t->column_count; c++)
		if (!l->dropped[c])
			total += l->widths[c] + (c ? l->gap : 0);
	return total;
}

/* Texts give way down to least columns; returns how far the table is still too wide. */
static size_t shrink(const struct grid *t, struct layout *l, size_t page, size_t least)
{
	size_t total = total_width(t, l), over = total > page ? total - page : 0;

	for (size_t c = 0; c < t->column_count && over; c++) {
		size_t room = l->widths[c] > least ? l->widths[c] - least : 0;
		size_t taken = over < room ? over : room;

		if (t->columns[c].align != GRID_SHRINK)
			continue;
		l->widths[c] -= taken;
		over -= taken;
	}
	return over;
}

/* Two columns between cells, one where the page is too narrow; then texts and columns give way. */
static void fit(const struct grid *t, struct layout *l, size_t page)
{
	l->gap = 2;
	if (total_width(t, l) > page)
		l->gap = 1;
	if (!shrink(t, l, page, SHRINK_MIN))
		return;
	measure(t, l->widths);
	for (size_t c = 0; c < t->column_count; c++)
		l->dropped[c] = t->columns[c].align == GRID_OPTIONAL;
	shrink(t, l, page, SHRINK_LAST);
}

static void print_cell(const struct grid *t, const struct layout *l, FILE *out, size_t c,
		       const char *text)
{
	char cut[CELL_SIZE];
	size_t used, pad, width = l->widths[c];

	if (l->dropped[c])
		return;
	fprintf(out, "%*s", c ? (int)l->gap : 0, "");
	fmt_text(cut, sizeof(cut), text, width);
	used = fmt_width(cut);
	pad = used < width ? width - used : 0;
	if (t->columns[c].align == GRID_RIGHT || t->columns[c].align == GRID_OPTIONAL)
		fprintf(out, "%*s%s", (int)pad, "", cut);
	else if (c + 1 < t->column_count)
		fprintf(out, "%s%*s", cut, (int)pad, "");
	else
		fputs(cut, out);
}

void grid_print(const struct grid *t, FILE *out, size_t indent, size_t width)
{
	struct layout l = { 0 };

	measure(t, l.widths);
	fit(t, &l, width - indent);
	fprintf(out, "%*s", (int)indent, "");
	for (size_t c = 0; c < t->column_count; c++)
		print_cell(t, &l, out, c, t->columns[c].title);
	fputc('\n', out);
	for (size_t i = 0; i + t->column_count <= t->count; i += t->column_count) {
		fprintf(out, "%*s", (int)indent, "");
		for (size_t c = 0; c < t->column_count; c++)
			print_cell(t, &l, out, c, t->cells[i + c]);
		fputc('\n', out);
	}
}
