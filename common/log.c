// SPDX-License-Identifier: BSD-2-Clause
#include "log.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_LENGTH 1024

static const char *log_program;
static enum log_level log_limit = LOG_LEVEL_NOTICE;

void log_init(const char *program, enum log_level level)
{
	log_program = program;
	log_limit = level;
}

static size_t clamp(int written, size_t room)
{
	if (written < 0)
		return 0;
	return (size_t)written < room ? (size_t)written : room - 1;
}

static void put_line(const char *prefix, const char *fmt, va_list ap)
{
	const char *program = log_program ? log_program : program_invocation_short_name;
	char line[LINE_MAX_LENGTH];
	size_t n, room = sizeof(line) - 1;	/* one for the newline */
	int saved = errno;

	n = clamp(snprintf(line, room, "%s: %s", program, prefix), room);
	n += clamp(vsnprintf(line + n, room - n, fmt, ap), room - n);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[n++] = '\n';
	/* Nowhere is left to report a failure to. */
	if (write(STDERR_FILENO, line, n) < 0)
		errno = saved;
	errno = saved;
}

#define PUT(level, prefix, fmt) do { \
	va_list ap; \
	if (log_limit < (level)) \
		return; \
	va_start(ap, fmt); \
	put_line(prefix, fmt, ap); \
	va_end(ap); \
} while (0)

void log_error(const char *fmt, ...)
{
	PUT(LOG_LEVEL_ERROR, "", fmt);
}

void log_warning(const char *fmt, ...)
{
	PUT(LOG_LEVEL_NOTICE, "warning: ", fmt);
}

void log_notice(const char *fmt, ...)
{
	PUT(LOG_LEVEL_NOTICE, "", fmt);
}

void log_detail(const char *fmt, ...)
{
	PUT(LOG_LEVEL_DETAIL, "", fmt);
}

static void put_hint(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line("hint: ", fmt, ap);
	va_end(ap);
}

void log_failure(const struct error *e)
{
	if (e->section[0])
		log_error("%s (%s at offset %" PRIu64 ")", e->text, e->section, e->offset);
	else
		log_error("%s", e->text);
	if (e->hint[0])
		put_hint("%s", e->hint);
}
