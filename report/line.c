// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include "fmt.h"
#include "line.h"

void line_begin(struct line *l, const struct page *out, const char *title)
{
	*l = (struct line){ .out = out, .title = title };
}

void line_item(struct line *l, const char *format, ...)
{
	char text[512];
	size_t width;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	width = fmt_width(text);
	if (!l->items++) {
		fputs(l->title, l->out->file);
		l->column = fmt_width(l->title);
	} else if (l->column + 3 + width > l->out->width) {
		fprintf(l->out->file, ",\n  ");
		l->column = 2;
	} else {
		fputs(", ", l->out->file);
		l->column += 2;
	}
	fputs(text, l->out->file);
	l->column += width;
}

void line_end(struct line *l)
{
	if (l->items)
		fputc('\n', l->out->file);
}
