// SPDX-License-Identifier: BSD-2-Clause
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct error *e, int code, const char *section, uint64_t offset, const char *fmt,
		 va_list args)
{
	e->code = code;
	e->offset = offset;
	e->hint[0] = '\0';
	snprintf(e->section, sizeof(e->section), "%s", section);
	vsnprintf(e->text, sizeof(e->text), fmt, args);
}

int error_set(struct error *e, int code, const char *fmt, ...)
{
	va_list args;

	if (!e)
		return code;
	va_start(args, fmt);
	fill(e, code, "", 0, fmt, args);
	va_end(args);
	return code;
}

int error_system(struct error *e, const char *fmt, ...)
{
	int saved = errno;
	va_list args;
	size_t used;

	if (!e)
		return ERROR_SYSTEM;
	va_start(args, fmt);
	fill(e, ERROR_SYSTEM, "", 0, fmt, args);
	va_end(args);
	used = strlen(e->text);
	snprintf(e->text + used, sizeof(e->text) - used, ": %s", strerror(saved));
	errno = saved;
	return ERROR_SYSTEM;
}

int error_at(struct error *e, int code, const char *section, uint64_t offset, const char *fmt, ...)
{
	va_list args;

	if (!e)
		return code;
	va_start(args, fmt);
	fill(e, code, section, offset, fmt, args);
	va_end(args);
	return code;
}

int error_hint(struct error *e, const char *fmt, ...)
{
	va_list args;

	if (!e)
		return ERROR_SYSTEM;	/* never success */
	va_start(args, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, args);
	va_end(args);
	return e->code;
}
