/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_WORDS_H
#define INGERO_REPORT_WORDS_H
/*
 * A sentence put together piece by piece in a buffer of the caller's. What does not fit is left
 * out; the text always ends with a null byte.
 */
#include <stddef.h>

struct words { char *text; size_t size, length; };

/* size at least 1; the text is "" then. */
void words_begin(struct words *w, char *text, size_t size);
void words_add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, with before in front unless it is the first piece. */
void words_item(struct words *w, const char *before, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#endif
