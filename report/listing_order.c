// SPDX-License-Identifier: BSD-2-Clause
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "../common/options.h"
#include "listing.h"
#include "listing_private.h"

#define NONE SIZE_MAX

/* ---- columns by name ---- */

/* How much of a key is typed: all of it but the unit. */
static size_t short_length(const char *key)
{
	static const char *const units[] = { "_at_ns", "_ns", "_bytes", "_at" };
	size_t length = strlen(key);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t unit = strlen(units[i]);

		if (length > unit && !strcmp(key + length - unit, units[i]))
			return length - unit;
	}
	return length;
}

/* A title as it is printed has the unit behind it, which depends on the figures. */
static bool is_title(const char *title, const char *name)
{
	static const char *const units[] = {
		"", " ns", " us", " ms", " s", " B", " KiB", " MiB", " GiB", " bytes",
	};
	size_t length = title ? strlen(title) : 0;

	if (!length || strncasecmp(title, name, length))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(name + length, units[i]))
			return true;
	return false;
}

static bool is_called(const struct listing_column *c, const char *name)
{
	size_t length = short_length(c->key);

	return !strcasecmp(c->key, name) || is_title(c->title, name) ||
	       (!strncasecmp(c->key, name, length) && !name[length]);
}

/* name may begin with "-". Where a key and another column's title are the same, the key counts. */
static size_t find(const struct listing *t, const char *name)
{
	name += *name == '-';
	for (size_t i = 0; i < t->column_count; i++)
		if (t->columns[i].type != CELL_BAR && !strcasecmp(t->columns[i].key, name))
			return i;
	for (size_t i = 0; i < t->column_count; i++)
		if (t->columns[i].type != CELL_BAR && is_called(&t->columns[i], name))
			return i;
	return NONE;
}

bool listing_has_column(const struct listing *t, const char *name)
{
	return find(t, name) != NONE;
}

/* ---- sorting ---- */

struct sorter { const struct listing *t; size_t column; bool up; };

/* a1 / b1 against a2 / b2, where b is not 0. */
static int compare_quotients(const struct cell *x, const struct cell *y)
{
	unsigned __int128 left = (unsigned __int128)x->a * y->b;
	unsigned __int128 right = (unsigned __int128)y->a * x->b;

	return left < right ? -1 : left > right;
}

static int compare_cells(const struct cell *x, const struct cell *y, enum cell_type type)
{
	switch (type) {
	case CELL_TEXT:
		return x->text && y->text ? strcmp(x->text, y->text) : 0;
	case CELL_SHARE:
	case CELL_RATE:
	case CELL_RATIO:
		return compare_quotients(x, y);
	default:
		return x->a < y->a ? -1 : x->a > y->a;
	}
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct sorter *s = context;
	size_t row_x = *(const size_t *)left, row_y = *(const size_t *)right;
	const struct cell *x = listing_cell(s->t, row_x, s->column);
	const struct cell *y = listing_cell(s->t, row_y, s->column);
	int order = 0;

	if (x->known != y->known)
		return x->known ? -1 : 1;
	if (x->known)
		order = compare_cells(x, y, s->t->columns[s->column].type);
	if (order)
		return s->up ? order : -order;
	return row_x < row_y ? -1 : row_x > row_y;
}

/* Put the rows into the order of their numbers in order[]. */
static void arrange(struct listing *t, const size_t *order)
{
	size_t rows = listing_rows(t), size = t->column_count * sizeof(*t->cells);
	struct cell *cells = malloc(rows * size + 1);

	if (!cells) {
		t->failed = true;
		return;
	}
	for (size_t i = 0; i < rows; i++)
		memcpy(cells + i * t->column_count, t->cells + order[i] * t->column_count, size);
	free(t->cells);
	t->cells = cells;
	t->cell_count = rows * t->column_count;
	t->cell_capacity = t->cell_count;
}

static bool ascends(enum cell_type type)
{
	return type == CELL_TEXT || type == CELL_ID || type == CELL_TIME;
}

static void sort(struct listing *t, size_t *order, const char *name)
{
	struct sorter s = { .t = t, .column = find(t, name) };

	if (s.column == NONE)
		return;
	s.up = ascends(t->columns[s.column].type) != (*name == '-');
	qsort_r(order, listing_rows(t), sizeof(*order), compare_rows, &s);
}

/* ---- cutting ---- */

static void add_cell(struct cell *sum, const struct cell *c, enum cell_type type)
{
	bool quotient = type == CELL_SHARE || type == CELL_RATE || type == CELL_RATIO;

	if (!c->known)
		return;
	if (!sum->known)
		sum->b = c->b;
	sum->known = true;
	sum->lossy |= c->lossy;
	sum->a = c->a > UINT64_MAX - sum->a ? UINT64_MAX : sum->a + c->a;
	if (quotient && c->b != sum->b)
		sum->b = 0;	/* of different wholes: there is no sum */
}

struct cell listing_sum(const struct listing *t, size_t column, size_t first)
{
	struct cell sum = { 0 };

	for (size_t row = first; row < listing_rows(t); row++)
		add_cell(&sum, listing_cell(t, row, column), t->columns[column].type);
	sum.known &= sum.b > 0;
	return sum;
}

/* What --min-share measures: the column asked for where it adds up, else the view's own. */
static size_t share_column(const struct listing *t, const char *name)
{
	size_t column = name ? find(t, name) : NONE;

	if (column != NONE && (t->columns[column].type == CELL_SHARE ||
			       t->columns[column].flags & COLUMN_SUM))
		return column;
	for (column = 0; column < t->column_count; column++)
		if (t->columns[column].flags & COLUMN_MAIN)
			return column;
	return NONE;
}

/* Rows below the least share go behind the others; returns how many others there are. */
static size_t cut_small(const struct listing *t, size_t *order, size_t column, double least)
{
	size_t rows = listing_rows(t), kept = 0, cut = 0,
	       *small = malloc((rows + 1) * sizeof(*small));
	uint64_t sum = listing_sum(t, column, 0).a;

	if (!small)
		return rows;
	for (size_t i = 0; i < rows; i++) {
		const struct cell *c = listing_cell(t, order[i], column);
		double whole = t->columns[column].type == CELL_SHARE ? (double)c->b : (double)sum;

		if (c->known && (double)c->a >= least * whole)
			order[kept++] = order[i];
		else
			small[cut++] = order[i];
	}
	memcpy(order + kept, small, cut * sizeof(*small));
	free(small);
	return kept;
}

void listing_order(struct listing *t, const struct listing_order *by)
{
	size_t rows = listing_rows(t), column = share_column(t, by->column);
	size_t *order = malloc((rows + 1) * sizeof(*order));

	if (!order) {
		t->failed = true;
		return;
	}
	for (size_t i = 0; i < rows; i++)
		order[i] = i;
	t->shown = rows;
	if (by->column) {
		sort(t, order, by->column);
		for (size_t i = 0; i < t->cell_count; i++)	/* indentation tells nothing then */
			if (t->cells[i].text)
				t->cells[i].a = 0;
	}
	if (by->min_share > 0 && column != NONE)
		t->shown = cut_small(t, order, column, by->min_share);
	arrange(t, order);
	free(order);
	if (by->top && by->top < t->shown)
		t->shown = by->top;
	if (by->top || by->min_share > 0)
		t->limit = 0;
}

/* ---- the tables of a view ---- */

struct listing *listing_set_add(struct listing_set *s, const char *key, const char *title,
			    const struct listing_column *columns, size_t count)
{
	struct listing *t =
		&s->tables[s->count < LISTING_SET_MAX ? s->count++ : LISTING_SET_MAX - 1];

	listing_init(t, key, title, columns, count);
	return t;
}

void listing_set_release(struct listing_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		listing_release(&s->tables[i]);
	s->count = 0;
}

static bool has_column(const struct listing_set *s, size_t tables, const char *name)
{
	for (size_t i = 0; i < tables; i++)
		if (listing_has_column(&s->tables[i], name))
			return true;
	return false;
}

/* The names of all tables' columns without their units, as far as there is room. */
static void list_columns(const struct listing_set *s, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < s->count; i++) {
		for (size_t c = 0; c < s->tables[i].column_count; c++) {
			const struct listing_column *column = &s->tables[i].columns[c];
			size_t length = short_length(column->key);

			if (column->type == CELL_BAR || has_column(s, i, column->key))
				continue;
			if (used + length + 8 > size) {
				strcpy(text + used, ", ...");
				return;
			}
			used += (size_t)sprintf(text + used, "%s%.*s", used ? ", " : "",
						(int)length, column->key);
		}
	}
}

/* The column whose name is nearest to the one typed, as far as it is short of a third. */
static const struct listing_column *nearest(const struct listing_set *s, const char *name)
{
	const struct listing_column *found = NULL;
	size_t length = strlen(name);
	unsigned int best = UINT_MAX;

	for (size_t i = 0; i < s->count; i++) {
		for (size_t c = 0; c < s->tables[i].column_count; c++) {
			const struct listing_column *column = &s->tables[i].columns[c];
			char key[64];
			unsigned int d;

			if (column->type == CELL_BAR)
				continue;
			snprintf(key, sizeof(key), "%.*s", (int)short_length(column->key),
				 column->key);
			d = options_distance(name, length, key);
			if (d < best && d <= (length + 2) / 3) {
				best = d;
				found = column;
			}
		}
	}
	return found;
}

static int unknown_column(const struct listing_set *s, const char *name, struct error *e)
{
	const struct listing_column *near = nearest(s, name + (*name == '-'));
	char list[200];

	list_columns(s, list, sizeof(list));
	error_set(e, ERROR_USAGE, "option \"--sort\": no such column: \"%s\"", name);
	if (near)
		return error_hint(e, "did you mean \"%.*s\"? there are: %s",
				  (int)short_length(near->key), near->key, list);
	return error_hint(e, "there are: %s", list);
}

int listing_set_order(struct listing_set *s, const struct listing_order *order, struct error *e)
{
	bool failed = false;

	if (order->column && !has_column(s, s->count, order->column))
		return unknown_column(s, order->column, e);
	for (size_t i = 0; i < s->count; i++) {
		listing_order(&s->tables[i], order);
		failed |= s->tables[i].failed;
	}
	return failed ? error_set(e, ERROR_MEMORY, "out of memory") : 0;
}
