/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_GRID_H
#define INGERO_REPORT_GRID_H
/*
 * A text table: cells are added row by row, printed aligned. Each column is as wide as its
 * widest cell; where the whole is wider than the page, the columns marked GRID_SHRINK give way,
 * the widest first, and their texts are cut with ".."; then the columns marked GRID_OPTIONAL are
 * left out, the last one first; then others likewise, which a line below then names. No line ends
 * with spaces. Texts of cells must be printable (fmt_text()).
 */
#include <stdbool.h>
#include <stddef.h>
#include "page.h"

/* SHRINK is to the left too; OPTIONAL is to the right, and may be left out. */
enum grid_align {
	GRID_LEFT = 0, GRID_RIGHT = 1, GRID_SHRINK = 2, GRID_DROP = 4,
	GRID_OPTIONAL = GRID_RIGHT | GRID_DROP,
};

struct grid_column {
	const char *title;
	unsigned int align;		/* of enum grid_align */
};

struct grid {
	const struct grid_column *columns;
	size_t column_count;
	char **cells;
	size_t count, capacity;
	bool failed;			/* out of memory */
};

/* columns must outlive the table; at most 32. */
void grid_init(struct grid *t, const struct grid_column *columns, size_t count);
void grid_release(struct grid *t);
/* Append one cell; a row is full after column_count of them. NULL is an empty cell. */
void grid_cell(struct grid *t, const char *text);
/* Titles and rows with indent spaces before and two between columns. */
void grid_print(const struct grid *t, const struct page *out, size_t indent);
#endif
