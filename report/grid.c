// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "fmt.h"
#include "grid.h"
#include "line.h"

#define COLUMNS_MAX 32
#define SHRINK_MIN 21		/* "cudaStreamSynchronize" */
#define SHRINK_LAST 6		/* where even that is too wide */
#define KEPT 2			/* columns that are never left out: what a row is about */
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

/* The widest column whose texts may be cut further, or none. */
static size_t widest(const struct grid *t, const struct layout *l, size_t least)
{
	size_t found = COLUMNS_MAX;

	for (size_t c = 0; c < t->column_count; c++)
		if (t->columns[c].align & GRID_SHRINK && !l->dropped[c] && l->widths[c] > least &&
		    (found == COLUMNS_MAX || l->widths[c] > l->widths[found]))
			found = c;
	return found;
}

/* Texts give way down to least columns; returns how far the table is still too wide. */
static size_t shrink(const struct grid *t, struct layout *l, size_t page, size_t least)
{
	size_t total = total_width(t, l), c;

	while (total > page && (c = widest(t, l, least)) < COLUMNS_MAX) {
		l->widths[c]--;
		total--;
	}
	return total > page ? total - page : 0;
}

/* The column to leave out next: the last one that may be, else the last figure; or none. */
static size_t next_dropped(const struct grid *t, const struct layout *l)
{
	for (size_t c = t->column_count; c-- > 0;)
		if (!l->dropped[c] && t->columns[c].align & GRID_DROP)
			return c;
	for (size_t c = t->column_count; c-- > KEPT;)
		if (!l->dropped[c] && !(t->columns[c].align & GRID_SHRINK))
			return c;
	return COLUMNS_MAX;
}

/* Two columns between cells, one where the page is too narrow; then texts and columns give way. */
static void fit(const struct grid *t, struct layout *l, size_t page)
{
	l->gap = 2;
	if (total_width(t, l) > page)
		l->gap = 1;
	while (shrink(t, l, page, SHRINK_MIN)) {
		size_t column = next_dropped(t, l);

		measure(t, l->widths);
		if (column == COLUMNS_MAX) {
			shrink(t, l, page, SHRINK_LAST);
			return;
		}
		l->dropped[column] = true;
	}
	l->gap = 2;
	if (total_width(t, l) > page)
		l->gap = 1;
}

/* Columns that were left out though nobody marked them as dispensable. */
static void print_dropped(const struct grid *t, const struct layout *l, const struct page *out)
{
	struct line line;

	line_begin(&line, out, "no room for: ");
	for (size_t c = 0; c < t->column_count; c++)
		if (l->dropped[c] && !(t->columns[c].align & GRID_DROP))
			line_item(&line, "%s", t->columns[c].title);
	line_end(&line);
}

/* A line being printed; spaces wait for what comes after them. */
struct out { FILE *file; size_t spaces; };

static void put(struct out *o, const char *text, size_t pad_before, size_t pad_after)
{
	size_t length = strlen(text), end = length;

	while (end && text[end - 1] == ' ')
		end--;
	o->spaces += pad_before;
	if (end) {
		fprintf(o->file, "%*s", (int)o->spaces, "");
		fwrite(text, 1, end, o->file);
		o->spaces = 0;
	}
	o->spaces += length - end + pad_after;
}

static void print_cell(const struct grid *t, const struct layout *l, struct out *o, size_t c,
		       const char *text)
{
	char cut[CELL_SIZE];
	size_t used, pad, width = l->widths[c];

	if (l->dropped[c])
		return;
	fmt_text(cut, sizeof(cut), text, width);
	used = fmt_width(cut);
	pad = used < width ? width - used : 0;
	if (t->columns[c].align & GRID_RIGHT)
		put(o, cut, pad, l->gap);
	else
		put(o, cut, 0, pad + l->gap);
}

void grid_print(const struct grid *t, const struct page *out, size_t indent)
{
	struct layout l = { 0 };
	struct out o = { out->file, indent };

	measure(t, l.widths);
	fit(t, &l, out->width > indent ? out->width - indent : 0);
	fputs(out->color ? "\033[1m" : "", out->file);
	for (size_t c = 0; c < t->column_count; c++)
		print_cell(t, &l, &o, c, t->columns[c].title);
	fputs(out->color ? "\033[0m\n" : "\n", out->file);
	for (size_t i = 0; t->column_count && i + t->column_count <= t->count;
	     i += t->column_count) {
		o.spaces = indent;
		for (size_t c = 0; c < t->column_count; c++)
			print_cell(t, &l, &o, c, t->cells[i + c]);
		fputc('\n', out->file);
	}
	print_dropped(t, &l, out);
}
