/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_ERROR_H
#define INGERO_ERROR_H
/*
 * How every module of common/, record/ and report/ reports failure: a negative code as the
 * return value, and, where the caller gave a struct error, one line of text with the subject
 * in quotes, an optional hint, and the file section and offset it happened at.
 */
#include <stdint.h>

enum error_code {
	ERROR_OK = 0,
	ERROR_SYSTEM = -1,	/* a system call failed; text carries strerror */
	ERROR_USAGE = -2,	/* the command line */
	ERROR_NOT_OURS = -3,	/* the file is not an .ing file, or unreadable */
	ERROR_VERSION = -4,	/* a newer major version */
	ERROR_DAMAGED = -5,	/* checksum or bound violated */
	ERROR_LIMIT = -6,	/* a stated limit would be passed */
	ERROR_MEMORY = -7,
	ERROR_UNSUPPORTED = -8,	/* this kernel or machine cannot */
	ERROR_NOT_FOUND = -9,
};

struct error {
	int code;
	uint64_t offset;	/* in the file, or 0 */
	char section[32];	/* of the file ("header", "block", ...), or "" */
	char text[384];
	char hint[256];		/* the remedy, or "" */
};

/* Fill *e (which may be NULL) and return code. */
int error_set(struct error *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, with ": strerror(saved errno)" appended; returns ERROR_SYSTEM. */
int error_system(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Same, naming where in the file. */
int error_at(struct error *e, int code, const char *section, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Add the hint line; returns e->code. */
int error_hint(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif
