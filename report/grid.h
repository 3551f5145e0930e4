/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_GRID_H
#define INGERO_REPORT_GRID_H
/*
 * A text table: cells are added row by row, printed aligned. Each column is as wide as its
 * widest cell; where the whole is wider than the page, the column marked GRID_SHRINK gives way
 * and its texts are cut with ".."; then the columns marked GRID_OPTIONAL are left out. Texts of
 * cells must be printable (fmt_text()).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* SHRINK is to the left too, OPTIONAL to the right. */
enum grid_align { GRID_LEFT, GRID_RIGHT, GRID_SHRINK, GRID_OPTIONAL };

struct grid_column {
	const char *title;
	enum grid_align align;
};

struct grid {
	const struct grid_column *columns;
	size_t column_count;
	char **cells;
	size_t count, capacity;
	bool failed;			/* out of memory */
};

/* columns must outlive the table; at most 16. */
void grid_init(struct grid *t, const struct grid_column *columns, size_t count);
void grid_release(struct grid *t);
/* Append one cell; a row is full after column_count of them. NULL is an empty cell. */
void grid_cell(struct grid *t, const char *text);
/* Title and rows with indent spaces before and two between columns, into at most width columns. */
void grid_print(const struct grid *t, FILE *out, size_t indent, size_t width);
#endif
