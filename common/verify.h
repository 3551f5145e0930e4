/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_VERIFY_H
#define INGERO_VERIFY_H
/*
 * Checks all of an open file: every checksum, what each block says about itself, that strings
 * can be resolved, that counts add up (entries = emitted + filtered + lost; rows = emitted), and
 * counts what is no fault of the file: breaks in the chain of threads on a CPU, a missing close.
 */
#include "reader.h"

enum verify_kind {
	VERIFY_NOTE,		/* to be known, not a fault */
	VERIFY_DAMAGED,		/* bytes are not what was written */
	VERIFY_INCONSISTENT,	/* they are, and contradict each other */
};

/*
 * Calls say(arg, kind, line) for each finding, in file order, then for the counts. Returns the
 * number of findings that are no notes, or a negative error code (ERROR_MEMORY).
 */
int verify_file(const struct reader *r,
		void (*say)(void *arg, enum verify_kind kind, const char *line), void *arg);
#endif
