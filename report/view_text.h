/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_VIEW_TEXT_H
#define INGERO_REPORT_VIEW_TEXT_H
/*
 * What the text views have in common: cells of tables, the lines on completeness, and the table
 * of operations. Figures that rest on lost events begin with "~".
 */
#include <stdbool.h>
#include <stdint.h>
#include "grid.h"
#include "line.h"
#include "page.h"
#include "report.h"

/* One line of text, broken at the page's width with the rest indented; ends with a newline. */
void print_wrapped(const struct page *out, size_t indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Colour helps to find things and says nothing of its own; without page->color it is left out. */
enum text_style { STYLE_PLAIN, STYLE_BOLD, STYLE_RED, STYLE_YELLOW, STYLE_GREEN };
/* Sequences to print before and after what is to stand out; "" where there is no colour. */
const char *style_begin(const struct page *out, enum text_style style);
const char *style_end(const struct page *out, enum text_style style);
/* As print_wrapped(), with 2 columns of indent: headings and headlines. */
void print_styled(const struct page *out, enum text_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Times in tables stand without the space before the unit: "25.3us". */
void cell_ns(struct grid *t, bool known, bool lossy, uint64_t ns);
void cell_count(struct grid *t, bool lossy, uint64_t n);
void cell_text(struct grid *t, const char *text);

/* "main", "worker 2", a name where the role is unknown: how lines speak of a process. */
const char *process_label(const struct report *r, uint32_t process, char *buf, size_t size);

/* How complete the recording is, and what "~" marks: the first lines of every view. */
void print_completeness(const struct report *r, const struct page *out);

/* Operations of one process, or of all (LATENCY_ALL), at most limit lines; 0: all of them. */
void print_operations(const struct report *r, uint32_t process, size_t limit,
		      const struct page *out);
/* What the times of calls contain of the probes' own. */
void print_probe_price(const struct report *r, const struct page *out);
/* First calls, failed calls by code and open calls of one process or of all. */
void print_first_calls(const struct report *r, uint32_t process, size_t limit,
		      const struct page *out);
void print_errors(const struct report *r, uint32_t process, size_t limit, const struct page *out);
void print_open_calls(const struct report *r, uint32_t process, size_t limit,
		      const struct page *out);

/* The processes of the tree, a line each: what ran longest, the rest summed. */
void print_processes(const struct report *r, const struct page *out);
/* "only: launch (--ops)" where the recorder was told which calls to record; or "". */
const char *selected_text(const struct report *r, char *buf, size_t size);
#endif
