/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_LISTING_H
#define INGERO_REPORT_LISTING_H
/*
 * A table of figures, free of any format: views fill it in, and it is printed as aligned text, as
 * CSV or as JSON, sorted and cut as the command line asks.
 *
 * Cells are added row by row, column after column. A cell holds numbers, not their text. Text
 * gives times and bytes of a column one unit, named in its title, and as many decimals as show the
 * least value; what a view has no room for is summed in a last row. CSV and JSON give ns, bytes and
 * ratios (six decimals, cut off) as they are, under the column's key (which ends in _ns, _bytes and
 * the like). A row in which a cell is lossy has "lossy": true in JSON, and 1 in a last column
 * "lossy" that CSV has only where there is such a row. CSV holds texts as they are, but on a
 * terminal, which might obey them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../common/error.h"
#include "json.h"
#include "page.h"

enum cell_type {
	CELL_TEXT,		/* a name of the file's or ours; control characters are escaped */
	CELL_ID,		/* a: a PID, a handle: never grouped by thousands */
	CELL_COUNT,		/* a */
	CELL_NS,		/* a: a duration */
	CELL_BYTES,		/* a */
	CELL_TIME,		/* a: ns since the start, b: CLOCK_REALTIME, which text has */
	CELL_SHARE,		/* a of b: percent in text, a ratio elsewhere */
	CELL_RATE,		/* a events in b ns: a second */
	CELL_RATIO,		/* a / b */
	CELL_BAR,		/* a of b as a bar, in eighths or '#'; text only */
};

enum column_flag {
	COLUMN_SHRINK = 1,	/* gives way where the page is too narrow */
	COLUMN_OPTIONAL = 2,	/* left out where that is not enough, the last one first */
	COLUMN_WIDE = 4,	/* only where the page is wider than PAGE_WIDTH and has room */
	COLUMN_DATA = 8,	/* not in text */
	COLUMN_SUM = 16,	/* rows that are cut off are summed in it */
	COLUMN_MAIN = 32,	/* what --min-share measures, where no column is asked for */
	COLUMN_LEFT = 64,	/* aligned to the left; CELL_TEXT is always */
	COLUMN_SPARSE = 128,	/* not in text where it has nothing but zeros */
	COLUMN_LIKE = 256,	/* in text has the unit of the column before, of the same type */
};

struct listing_column {
	const char *key;	/* in JSON and CSV, and for --sort: lower case, "running_ns" */
	const char *title;	/* in text, without the unit */
	enum cell_type type;
	unsigned int flags;
};

struct cell {
	uint64_t a, b;		/* of CELL_TEXT a: levels of indentation */
	char *text;		/* CELL_TEXT; owned by the table */
	bool known;		/* false: "-", null, or nothing */
	bool lossy;		/* rests on lost events: "~" */
	bool bound;		/* of fewer than 100 values: "=" */
};

/* --sort, --top, --min-share */
struct listing_order {
	const char *column;	/* key, key without unit, title; NULL: the view's; "-KEY" */
	uint64_t top;		/* rows; 0 all */
	double min_share;	/* 0.01: cut rows with less than 1 % of their column's sum */
};

struct listing {
	const char *key;	/* of the array in JSON */
	const char *title;	/* a line above it in text, or NULL */
	const struct listing_column *columns; size_t column_count;
	struct cell *cells; size_t cell_count, cell_capacity;
	size_t shown;		/* rows left by listing_order(); more than there are: all */
	size_t limit;		/* rows the view shows in text unless told otherwise; 0 all */
	char *note;		/* lines below it in text, or NULL */
	bool failed;		/* out of memory; listing_set_order() says so */
};

/* key, title and columns (at most 32) must outlive the table. */
void listing_init(struct listing *t, const char *key, const char *title,
		const struct listing_column *columns, size_t count);
void listing_release(struct listing *t);

void listing_text(struct listing *t, const char *text);
void listing_number(struct listing *t, uint64_t a);			/* ID, COUNT, NS, BYTES */
void listing_pair(struct listing *t, uint64_t a, uint64_t b);	/* TIME, SHARE, RATE, RATIO, BAR */
void listing_none(struct listing *t);		/* not known, any type; so is b = 0, but for TIME */
/* Of the cell added last. */
void listing_lossy(struct listing *t, bool lossy);
void listing_bound(struct listing *t, bool bound);
void listing_indent(struct listing *t, size_t levels);	/* TEXT, in text: two columns a level */
/* Add a line below the table; text only. */
void listing_note(struct listing *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

size_t listing_rows(const struct listing *t);
bool listing_has_column(const struct listing *t, const char *name);
/*
 * Sort and cut. Numbers come largest first, texts, IDs and times in ascending order, "-KEY" the
 * other way round; rows without a value last; equal rows keep their order. min_share measures the
 * column asked for if it is a share or COLUMN_SUM, else the COLUMN_MAIN: a share by itself,
 * anything else by its part of the column's sum. Asked for rows, text shows more than limit. A
 * column the table has not is no error here.
 */
void listing_order(struct listing *t, const struct listing_order *order);

/* Of a table without rows the note alone. */
void listing_print(const struct listing *t, const struct page *out);
void listing_csv(const struct listing *t, const struct page *page);	/* RFC 4180, with a line of keys; LF */
void listing_json(const struct listing *t, struct json *j);	/* an array of objects: t->key */

/* The tables of a view. */
#define LISTING_SET_MAX 12
struct listing_set { struct listing tables[LISTING_SET_MAX]; size_t count; };

/* The next one of the set, initialised as by listing_init(); the set releases it. */
struct listing *listing_set_add(struct listing_set *s, const char *key, const char *title,
			    const struct listing_column *columns, size_t count);
/* ERROR_USAGE when no table has the column asked for; the hint names the nearest one and all. */
int listing_set_order(struct listing_set *s, const struct listing_order *order, struct error *e);
void listing_set_release(struct listing_set *s);
#endif
