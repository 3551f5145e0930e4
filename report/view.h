/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_VIEW_H
#define INGERO_REPORT_VIEW_H
/*
 * The ways a report is shown: a row each, by which the command line offers them as options. A view
 * prints the numbers of a struct report, or of a module of its own, and computes none.
 *
 * Text comes from text(), or is the view's tables; --csv is its first table; --json what json()
 * adds to the object, or its tables.
 */
#include "page.h"
#include "report.h"
#include "listing.h"

struct view {
	const char *name;	/* of the option; NULL: the default view */
	const char *argument;	/* of the option in --help, or NULL: it has none */
	bool optional;		/* may do without its argument */
	const char *help;
	void (*text)(const struct report *r, const struct page *out);
	/* argument: as given, or NULL. Sort and cut are not this function's. */
	int (*tables)(struct report *r, const char *argument, struct listing_set *out,
		      struct error *e);
	void (*json)(const struct report *r, struct json *j);
};

extern const struct view views[];	/* the default first; ended by help NULL */
#define VIEWS_MAX 24

enum view_format { VIEW_TEXT, VIEW_JSON, VIEW_CSV };

/*
 * Print a view, sorted and cut as r->order_by says. argument: of the view's option, or NULL. For
 * VIEW_CSV the view must have tables. ERROR_USAGE: of the argument, or a column no table has.
 */
int view_show(const struct view *v, const char *argument, enum view_format format,
	      struct report *r, const struct page *out, struct error *e);
/* A JSON document begun; the caller ends its object. */
void view_document_begin(struct json *j, const struct page *out);

/* The default view: the whole document in JSON. */
void view_summary(const struct report *r, const struct page *out);
void view_document(const struct report *r, struct json *j);
void view_processes(const struct report *r, const struct page *out);
void view_info(const struct report *r, const struct page *out);
void view_chains(const struct report *r, const struct page *out);
void view_json_chains(const struct report *r, struct json *j);
void view_json_info(const struct report *r, struct json *j);

int view_process_tables(struct report *r, const char *argument, struct listing_set *out,
			struct error *e);
int view_thread_tables(struct report *r, const char *argument, struct listing_set *out,
		       struct error *e);
int view_tree_tables(struct report *r, const char *argument, struct listing_set *out,
		     struct error *e);
int view_operation_tables(struct report *r, const char *argument, struct listing_set *out,
			  struct error *e);
int view_detail_tables(struct report *r, const char *argument, struct listing_set *out,
		       struct error *e);
int view_error_tables(struct report *r, const char *argument, struct listing_set *out,
		      struct error *e);
int view_open_tables(struct report *r, const char *argument, struct listing_set *out,
		     struct error *e);
int view_wait_tables(struct report *r, const char *argument, struct listing_set *out,
		     struct error *e);
int view_timeline_tables(struct report *r, const char *argument, struct listing_set *out,
			 struct error *e);
int view_memory_tables(struct report *r, const char *argument, struct listing_set *out,
		       struct error *e);
int view_loss_tables(struct report *r, const char *argument, struct listing_set *out,
		     struct error *e);
#endif
