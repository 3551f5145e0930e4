// SPDX-License-Identifier: BSD-2-Clause
/* A listing as aligned text: units and decimals of each column, which columns there is room for. */
#include <string.h>
#include "fmt.h"
#include "grid.h"
#include "listing.h"
#include "listing_private.h"
#include "view_text.h"

#define COLUMNS_MAX 32
#define LARGE 100000		/* more, in a column's unit, asks for a larger unit */
#define DECIMALS_MAX 3
#define BAR_MIN 10
#define BAR_MAX 40
#define TEXT_ENOUGH 32		/* of a long name, before further columns are added */
#define CELL_SIZE 512

struct unit { const char *name; uint64_t value; };

static const struct unit time_units[] = {
	{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { NULL, 0 },
};
static const struct unit byte_units[] = {
	{ "B", 1 }, { "KiB", 1ull << 10 }, { "MiB", 1ull << 20 }, { "GiB", 1ull << 30 },
	{ "TiB", 1ull << 40 }, { NULL, 0 },
};

/* How a column is printed. */
struct shape {
	bool included;
	char title[64];
	const struct unit *unit;	/* of times and bytes */
	unsigned int decimals;
	size_t whole, fraction;		/* columns before the point, and from it on */
	size_t width;
};

struct text {
	const struct listing *t;
	const struct page *page;
	struct shape shapes[COLUMNS_MAX];
	size_t columns;
	size_t lines, rest;		/* rows printed, and summed in one */
	size_t bar;			/* width of bars */
};

/* ---- units ---- */

static struct cell sum_cell(const struct text *x, size_t column)
{
	return x->t->columns[column].flags & COLUMN_SUM ?
	       listing_sum(x->t, column, x->lines) : (struct cell){ 0 };
}

struct extent { uint64_t least, most; };

static void extend(struct extent *e, const struct cell *c)
{
	if (!c->known || !c->a)
		return;
	e->least = e->least && e->least < c->a ? e->least : c->a;
	e->most = e->most > c->a ? e->most : c->a;
}

static bool all_whole(const struct text *x, size_t column, uint64_t unit)
{
	for (size_t row = 0; row < x->lines; row++)
		if (listing_cell(x->t, row, column)->known &&
		    listing_cell(x->t, row, column)->a % unit)
			return false;
	return x->rest == 0 || sum_cell(x, column).a % unit == 0;
}

/*
 * Decimals by which the least value has three figures, two beside long ones, as far as the largest
 * gets no more than six.
 */
static unsigned int decimals_of(struct extent e, uint64_t unit)
{
	unsigned __int128 least = e.least;
	uint64_t most = e.most / unit, want = most < 1000 ? 100 : 10;
	unsigned int decimals = 0, room = 0;

	for (uint64_t limit = LARGE; room < DECIMALS_MAX && most < limit; limit /= 10)
		room++;
	while (least < (unsigned __int128)want * unit && decimals < room) {
		least *= 10;
		decimals++;
	}
	return decimals;
}

/* The largest unit in which the least value still has a figure before the point, or larger. */
static const struct unit *unit_of(enum cell_type type, struct extent e)
{
	const struct unit *u = type == CELL_NS ? time_units : byte_units;

	while (u[1].name && (e.least >= u[1].value || e.most / u->value >= LARGE))
		u++;
	return u;
}

static struct extent extent_of(const struct text *x, size_t column)
{
	struct cell sum = sum_cell(x, column);
	struct extent e = { 0 };

	for (size_t row = 0; row < x->lines; row++)
		extend(&e, listing_cell(x->t, row, column));
	if (x->rest)
		extend(&e, &sum);
	return e;
}

static bool has_unit(const struct listing_column *c)
{
	return c->type == CELL_NS || c->type == CELL_BYTES;
}

/* Columns that are alike follow each other; the first one is not marked as such. */
static void choose_units(struct text *x, size_t first, size_t end)
{
	enum cell_type type = x->t->columns[first].type;
	struct extent all = { 0 };

	for (size_t i = first; i < end; i++) {
		struct extent e = extent_of(x, i);

		extend(&all, &(struct cell){ .a = e.least, .known = true });
		extend(&all, &(struct cell){ .a = e.most, .known = true });
	}
	for (size_t i = first; i < end; i++) {
		const struct unit *u = x->page->raw ? unit_of(type, (struct extent){ 0 }) :
						      unit_of(type, all);

		x->shapes[i].unit = u;
		if (u->value > 1 && !all_whole(x, i, u->value))
			x->shapes[i].decimals = decimals_of(extent_of(x, i), u->value);
	}
}

static void choose_all_units(struct text *x)
{
	for (size_t i = 0, end; i < x->columns; i = end) {
		for (end = i + 1; end < x->columns && x->t->columns[end].flags & COLUMN_LIKE;)
			end++;
		if (has_unit(&x->t->columns[i]))
			choose_units(x, i, end);
	}
}

static void set_title(const struct text *x, size_t column, struct shape *s)
{
	const struct listing_column *c = &x->t->columns[column];
	const char *unit = s->unit ? s->unit->name : "";

	if (x->page->raw && c->type == CELL_BYTES)
		unit = "bytes";
	if (x->page->raw && c->type == CELL_TIME)
		unit = "ns";
	snprintf(s->title, sizeof(s->title), "%s%s%s", c->title, *unit ? " " : "", unit);
}

/* ---- cells ---- */

static void put_bar(char *buf, const struct cell *c, size_t width, bool ascii)
{
	static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned int steps = ascii ? 1 : 8;
	size_t full = width * steps, n;

	n = c->a >= c->b ? full : (size_t)(((unsigned __int128)c->a * full * 2 / c->b + 1) / 2);
	buf[0] = '\0';
	if (c->a && !n) {
		strcpy(buf, ascii ? "." : parts[1]);
		return;
	}
	for (size_t i = 0; i < n / steps; i++)
		buf = stpcpy(buf, ascii ? "#" : "█");
	strcpy(buf, ascii ? "" : parts[n % steps]);
}

/* A time or a size; what would be rounded to nothing is "<" the least that is not. */
static void put_fixed(char *buf, uint64_t value, const struct shape *s)
{
	uint64_t scale = 1;

	for (unsigned int i = 0; i < s->decimals; i++)
		scale *= 10;
	if (value && (unsigned __int128)value * scale * 2 < s->unit->value) {
		*buf++ = '<';
		fmt_fixed(buf, 1, scale, s->decimals);
	} else {
		fmt_fixed(buf, value, s->unit->value, value ? s->decimals : 0);
	}
}

static void put_share(char *buf, const struct cell *c)
{
	if (c->a && (unsigned __int128)c->a * 2000 < c->b)
		strcpy(buf, "<0.1");
	else
		fmt_fixed(buf, (uint64_t)(((unsigned __int128)c->a * 2000 / c->b + 1) / 2), 10, 1);
	strcat(buf, "%");
}

static void put_time(char *buf, const struct cell *c, bool raw)
{
	char seconds[FMT_SIZE];

	if (raw)
		snprintf(buf, FMT_SIZE, "%llu", (unsigned long long)c->a);
	else if (c->b)
		fmt_clock(buf, c->b);
	else
		strcat(strcpy(buf, fmt_fixed(seconds, c->a, 1000000000, 3)), " s");
}

static void put_number(const struct text *x, size_t column, const struct cell *c, char *buf)
{
	switch (x->t->columns[column].type) {
	case CELL_ID:
		snprintf(buf, FMT_SIZE, "%llu", (unsigned long long)c->a);
		break;
	case CELL_NS:
	case CELL_BYTES:
		put_fixed(buf, c->a, &x->shapes[column]);
		break;
	case CELL_TIME:
		put_time(buf, c, x->page->raw);
		break;
	case CELL_SHARE:
		put_share(buf, c);
		break;
	case CELL_RATE:
		fmt_figures(buf, (unsigned __int128)c->a * 1000000000, c->b);
		break;
	case CELL_RATIO:
		fmt_figures(buf, c->a, c->b);
		break;
	default:
		fmt_count(buf, c->a);
	}
}

static void remove_commas(char *text)
{
	char *out = text;

	for (; *text; text++)
		if (*text != ',')
			*out++ = *text;
	*out = '\0';
}

static void put_cell(const struct text *x, size_t column, const struct cell *c, char buf[CELL_SIZE])
{
	enum cell_type type = x->t->columns[column].type;
	char *at = buf;

	if (!c->known) {
		strcpy(buf, "-");
	} else if (type == CELL_TEXT) {
		size_t indent = c->a < CELL_SIZE / 4 ? 2 * c->a : CELL_SIZE / 2;

		memset(buf, ' ', indent);
		fmt_text(buf + indent, CELL_SIZE - indent, c->text, 0);
	} else if (type == CELL_BAR) {
		put_bar(buf, c, x->bar, x->page->ascii);
	} else {
		if (c->lossy)
			*at++ = '~';
		if (c->bound)
			*at++ = '=';
		put_number(x, column, c, at);
		if (x->page->raw)
			remove_commas(at);
	}
}

/* From the point on; only numbers whose decimals differ are aligned by it. */
static size_t fraction_of(const struct text *x, size_t column, const char *text)
{
	enum cell_type type = x->t->columns[column].type;
	const char *point = strchr(text, '.');

	if (type == CELL_TEXT || type == CELL_BAR || type == CELL_TIME || type == CELL_SHARE)
		return 0;
	return point ? strlen(point) : 0;
}

/* ---- columns ---- */

static void measure_cell(const struct text *x, size_t column, const struct cell *c, struct shape *s)
{
	char buf[CELL_SIZE];
	size_t fraction, width;

	put_cell(x, column, c, buf);
	fraction = fraction_of(x, column, buf);
	width = fmt_width(buf) - fraction;
	s->whole = s->whole > width ? s->whole : width;
	s->fraction = s->fraction > fraction ? s->fraction : fraction;
}

static void measure(struct text *x, size_t column)
{
	struct shape *s = &x->shapes[column];
	enum cell_type type = x->t->columns[column].type;
	struct cell sum = sum_cell(x, column);
	size_t title;

	set_title(x, column, s);
	title = fmt_width(s->title);
	if (type == CELL_BAR)
		s->whole = BAR_MIN;
	for (size_t row = 0; row < x->lines && type != CELL_BAR; row++)
		measure_cell(x, column, listing_cell(x->t, row, column), s);
	if (x->rest && sum.known)
		measure_cell(x, column, &sum, s);
	s->width = s->whole + s->fraction > title ? s->whole + s->fraction : title;
}

static size_t width_needed(const struct text *x)
{
	size_t total = 0;

	for (size_t i = 0; i < x->columns; i++) {
		size_t width = x->shapes[i].width;

		if (!x->shapes[i].included)
			continue;
		if (x->t->columns[i].flags & COLUMN_SHRINK && width > TEXT_ENOUGH)
			width = TEXT_ENOUGH;
		total += width + (total ? 2 : 0);
	}
	return total;
}

static bool is_empty(const struct listing *t, size_t column)
{
	for (size_t row = 0; row < listing_rows(t); row++) {
		const struct cell *c = listing_cell(t, row, column);

		if (c->known && (c->a || c->text))
			return false;
	}
	return true;
}

/* Wide pages get further columns as long as there is room; what is left then makes bars longer. */
static void choose_columns(struct text *x)
{
	size_t bars = 0, left;

	for (size_t i = 0; i < x->columns; i++)
		x->shapes[i].included =
			!(x->t->columns[i].flags & (COLUMN_DATA | COLUMN_WIDE)) &&
			!(x->t->columns[i].flags & COLUMN_SPARSE && is_empty(x->t, i));
	for (size_t i = 0; i < x->columns && x->page->width > PAGE_WIDTH; i++) {
		if (!(x->t->columns[i].flags & COLUMN_WIDE) ||
		    (x->t->columns[i].flags & COLUMN_SPARSE && is_empty(x->t, i)))
			continue;
		x->shapes[i].included = true;
		if (width_needed(x) > x->page->width)
			x->shapes[i].included = false;
	}
	for (size_t i = 0; i < x->columns; i++)
		bars += x->shapes[i].included && x->t->columns[i].type == CELL_BAR;
	left = width_needed(x) < x->page->width ? x->page->width - width_needed(x) : 0;
	x->bar = BAR_MIN + (bars ? left / bars : 0);
	x->bar = x->bar < BAR_MAX ? x->bar : BAR_MAX;
}

static unsigned int alignment(const struct listing_column *c)
{
	unsigned int flags = c->flags, align = GRID_RIGHT;

	if (flags & COLUMN_LEFT || c->type == CELL_TEXT || c->type == CELL_BAR)
		align = GRID_LEFT;
	if (flags & COLUMN_SHRINK)
		align = GRID_SHRINK;
	return align | (flags & COLUMN_OPTIONAL ? GRID_DROP : 0);
}

/* ---- the whole ---- */

static void add_cell(const struct text *x, struct grid *g, size_t column, const struct cell *c)
{
	char buf[CELL_SIZE];
	size_t length, pad;

	put_cell(x, column, c, buf);
	pad = x->shapes[column].fraction - fraction_of(x, column, buf);
	length = strlen(buf);
	if (c->known && pad && length + pad < sizeof(buf))
		snprintf(buf + length, sizeof(buf) - length, "%*s", (int)pad, "");
	grid_cell(g, buf);
}

/* What was cut off as one row, so that the columns still add up. */
static void add_rest(const struct text *x, struct grid *g)
{
	char buf[FMT_SIZE], more[FMT_SIZE + 8];
	size_t named = 0, first = 0;

	while (first < x->columns && !x->shapes[first].included)
		first++;
	while (named < x->columns &&
	       !(x->shapes[named].included && x->t->columns[named].type == CELL_TEXT))
		named++;
	named = named < x->columns ? named : first;
	snprintf(more, sizeof(more), "%s more", fmt_count(buf, x->rest));
	for (size_t i = 0; i < x->columns; i++) {
		struct cell sum = sum_cell(x, i);

		if (!x->shapes[i].included)
			continue;
		if (i == named)
			grid_cell(g, more);
		else if (sum.known)
			add_cell(x, g, i, &sum);
		else
			grid_cell(g, "");
	}
}

static void print_grid(const struct text *x)
{
	struct grid_column columns[COLUMNS_MAX];
	struct grid g;
	size_t count = 0;

	for (size_t i = 0; i < x->columns; i++)
		if (x->shapes[i].included)
			columns[count++] = (struct grid_column){ x->shapes[i].title,
								  alignment(&x->t->columns[i]) };
	grid_init(&g, columns, count);
	for (size_t row = 0; row < x->lines; row++)
		for (size_t i = 0; i < x->columns; i++)
			if (x->shapes[i].included)
				add_cell(x, &g, i, listing_cell(x->t, row, i));
	if (x->rest)
		add_rest(x, &g);
	grid_print(&g, x->page, 0);
	grid_release(&g);
}

static void print_note(const struct listing *t, const struct page *out)
{
	const char *line = t->note;

	while (line && *line) {
		size_t length = strcspn(line, "\n");

		print_wrapped(out, 2, "%.*s", (int)length, line);
		line += length + (line[length] == '\n');
	}
}

/* A table may be for machines alone. */
static bool for_text(const struct listing *t)
{
	for (size_t i = 0; i < t->column_count; i++)
		if (!(t->columns[i].flags & COLUMN_DATA))
			return true;
	return false;
}

void listing_print(const struct listing *t, const struct page *out)
{
	size_t rows = for_text(t) ? listing_rows(t) : 0;
	struct text x = {
		.t = t, .page = out, .columns = t->column_count, .lines = listing_shown(t),
	};

	if (x.columns > COLUMNS_MAX)
		x.columns = COLUMNS_MAX;
	/* One more line takes no more room than "1 more" would. */
	if (t->limit && x.lines > t->limit && rows > t->limit + 1)
		x.lines = t->limit;
	x.rest = rows > x.lines ? rows - x.lines : 0;
	if (rows || t->note)
		fputc('\n', out->file);
	if (rows) {
		if (t->title)
			print_styled(out, STYLE_BOLD, "%s", t->title);
		choose_all_units(&x);
		for (size_t i = 0; i < x.columns; i++)
			measure(&x, i);
		choose_columns(&x);
		print_grid(&x);
	}
	print_note(t, out);
}
