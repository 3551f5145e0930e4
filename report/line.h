/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_LINE_H
#define INGERO_REPORT_LINE_H
/* A list in running text, "title: a, b, c", broken at the page's width; nothing without an item. */
#include <stddef.h>
#include "page.h"

struct line { const struct page *out; const char *title; size_t column, items; };
void line_begin(struct line *l, const struct page *out, const char *title);
void line_item(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void line_end(struct line *l);
#endif
