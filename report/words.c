// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include "words.h"

void words_begin(struct words *w, char *text, size_t size)
{
	*w = (struct words){ .text = text, .size = size };
	text[0] = '\0';
}

static void add(struct words *w, const char *format, va_list args)
{
	int n = vsnprintf(w->text + w->length, w->size - w->length, format, args);

	if (n > 0)
		w->length += (size_t)n;
	if (w->length >= w->size)
		w->length = w->size - 1;
}

void words_add(struct words *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(w, format, args);
	va_end(args);
}

void words_item(struct words *w, const char *before, const char *format, ...)
{
	va_list args;

	if (w->length)
		words_add(w, "%s", before);
	va_start(args, format);
	add(w, format, args);
	va_end(args);
}
