/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_LOG_H
#define INGERO_LOG_H
/*
 * What a program says to the person at the terminal: lines on stderr, "PROGRAM: message".
 * Messages are lower case without a full stop, what failed first, the subject in quotes; a
 * "hint:" line gives the remedy. Only main files and the recorder's session and status use
 * this; libraries fill a struct error. Each line leaves in one write(2), and control
 * characters in it (of file names, say) are shown as "?". errno is preserved.
 */
#include "error.h"

enum log_level {
	LOG_LEVEL_ERROR = 0,	/* -q: errors only */
	LOG_LEVEL_NOTICE = 1,	/* default: and warnings and notices */
	LOG_LEVEL_DETAIL = 2,	/* -v */
};

/* program must outlive all calls. Before this, or with NULL, the short name of the process is used. */
void log_init(const char *program, enum log_level level);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "PROGRAM: text", with the place in the file where there is one, then "hint: ...". Always printed. */
void log_failure(const struct error *e);
#endif
