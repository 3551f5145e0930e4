// SPDX-License-Identifier: BSD-2-Clause
/* The table itself, and its forms for machines. listing_order.c sorts, listing_text.c prints. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "array.h"
#include "fmt.h"
#include "listing.h"
#include "listing_private.h"

void listing_init(struct listing *t, const char *key, const char *title,
		const struct listing_column *columns, size_t count)
{
	*t = (struct listing){ .key = key, .title = title, .columns = columns,
			       .column_count = count, .shown = SIZE_MAX };
}

void listing_release(struct listing *t)
{
	for (size_t i = 0; i < t->cell_count; i++)
		free(t->cells[i].text);
	free(t->cells);
	free(t->note);
	*t = (struct listing){ 0 };
}

static struct cell *add(struct listing *t)
{
	struct cell *cells = array_reserve(t->cells, &t->cell_capacity, t->cell_count + 1,
					   sizeof(*cells));

	if (!cells) {
		t->failed = true;
		return NULL;
	}
	t->cells = cells;
	cells[t->cell_count] = (struct cell){ .known = true };
	return &cells[t->cell_count++];
}

void listing_text(struct listing *t, const char *text)
{
	struct cell *c = add(t);

	if (!c)
		return;
	c->known = text != NULL;
	c->text = text ? strdup(text) : NULL;
	t->failed |= text && !c->text;
}

void listing_number(struct listing *t, uint64_t a)
{
	listing_pair(t, a, 1);
}

void listing_pair(struct listing *t, uint64_t a, uint64_t b)
{
	struct cell *c = add(t);

	if (!c)
		return;
	c->a = a;
	c->b = b;
	c->known = b || t->columns[(t->cell_count - 1) % t->column_count].type == CELL_TIME;
}

void listing_none(struct listing *t)
{
	struct cell *c = add(t);

	if (c)
		c->known = false;
}

void listing_lossy(struct listing *t, bool lossy)
{
	if (t->cell_count)
		t->cells[t->cell_count - 1].lossy = lossy;
}

void listing_bound(struct listing *t, bool bound)
{
	if (t->cell_count)
		t->cells[t->cell_count - 1].bound = bound;
}

void listing_indent(struct listing *t, size_t levels)
{
	if (t->cell_count)
		t->cells[t->cell_count - 1].a = levels;
}

void listing_note(struct listing *t, const char *format, ...)
{
	char *line, *note;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&line, format, args);
	va_end(args);
	if (length < 0) {
		t->failed = true;
		return;
	}
	if (!t->note) {
		t->note = line;
		return;
	}
	if (asprintf(&note, "%s\n%s", t->note, line) < 0) {
		t->failed = true;
	} else {
		free(t->note);
		t->note = note;
	}
	free(line);
}

size_t listing_rows(const struct listing *t)
{
	return t->column_count ? t->cell_count / t->column_count : 0;
}

size_t listing_shown(const struct listing *t)
{
	size_t rows = listing_rows(t);

	return t->shown < rows ? t->shown : rows;
}

const struct cell *listing_cell(const struct listing *t, size_t row, size_t column)
{
	return &t->cells[row * t->column_count + column];
}

/* ---- for machines ---- */

static bool row_lossy(const struct listing *t, size_t row)
{
	bool lossy = false;

	for (size_t i = 0; i < t->column_count; i++)
		lossy |= listing_cell(t, row, i)->lossy;
	return lossy;
}

static bool any_lossy(const struct listing *t)
{
	bool lossy = false;

	for (size_t row = 0; row < listing_shown(t); row++)
		lossy |= row_lossy(t, row);
	return lossy;
}

/* A number as machines read it, with six decimals where it is a quotient. */
static const char *plain(char buf[FMT_SIZE], const struct cell *c, enum cell_type type)
{
	unsigned __int128 a = c->a;

	switch (type) {
	case CELL_RATE:
		return fmt_decimal(buf, a * 1000000000, c->b);
	case CELL_SHARE:
	case CELL_RATIO:
		return fmt_decimal(buf, a, c->b);
	default:
		snprintf(buf, FMT_SIZE, "%llu", (unsigned long long)c->a);
		return buf;
	}
}

/* Quotes doubled. */
static void put_utf8(FILE *out, const char *text)
{
	while (*text) {
		unsigned int length = fmt_utf8(text);

		if (*text == '"')
			fputc('"', out);
		if (length)
			fwrite(text, 1, length, out);
		else
			fputs("\xef\xbf\xbd", out);
		text += length ? length : 1;
	}
}

/*
 * What a terminal might obey is made visible. A pipe or a file gets the text as it is, what is no
 * UTF-8 replaced as in JSON.
 */
static void put_text(FILE *out, const char *text, bool screen)
{
	char visible[4096];

	if (screen)
		text = fmt_text(visible, sizeof(visible), text, 0);
	if (!text[strcspn(text, ",\"\r\n")]) {
		put_utf8(out, text);
		return;
	}
	fputc('"', out);
	put_utf8(out, text);
	fputc('"', out);
}

static void put_row(const struct listing *t, size_t row, FILE *out, bool screen)
{
	char buf[FMT_SIZE];
	const char *between = "";

	for (size_t i = 0; i < t->column_count; i++) {
		const struct cell *c = listing_cell(t, row, i);

		if (t->columns[i].type == CELL_BAR)
			continue;
		fputs(between, out);
		between = ",";
		if (c->known && c->text)
			put_text(out, c->text, screen);
		else if (c->known)
			fputs(plain(buf, c, t->columns[i].type), out);
	}
}

void listing_csv(const struct listing *t, const struct page *page)
{
	bool lossy = any_lossy(t);
	FILE *out = page->file;
	const char *between = "";

	for (size_t i = 0; i < t->column_count; i++) {
		if (t->columns[i].type == CELL_BAR)
			continue;
		fprintf(out, "%s%s", between, t->columns[i].key);
		between = ",";
	}
	fputs(lossy ? ",lossy\n" : "\n", out);
	for (size_t row = 0; row < listing_shown(t); row++) {
		put_row(t, row, out, page->terminal);
		if (lossy)
			fprintf(out, ",%d", row_lossy(t, row));
		fputc('\n', out);
	}
}

static void json_cell(struct json *j, const struct listing_column *column, const struct cell *c)
{
	char buf[FMT_SIZE];

	if (column->type == CELL_BAR)
		return;
	if (!c->known)
		json_null(j, column->key);
	else if (c->text && column->type == CELL_TEXT)
		json_string(j, column->key, c->text);
	else	/* a number below zero is a text of digits */
		json_number(j, column->key, c->text ? c->text : plain(buf, c, column->type));
}

void listing_json(const struct listing *t, struct json *j)
{
	json_array(j, t->key);
	for (size_t row = 0; row < listing_shown(t); row++) {
		json_object(j, NULL);
		for (size_t i = 0; i < t->column_count; i++)
			json_cell(j, &t->columns[i], listing_cell(t, row, i));
		if (row_lossy(t, row))
			json_bool(j, "lossy", true);
		json_object_end(j);
	}
	json_array_end(j);
}
