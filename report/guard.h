/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_GUARD_H
#define INGERO_REPORT_GUARD_H
/*
 * --fail-if: conditions on figures of a report or of a diff, for scripts.
 *
 *	FIGURE [ "(" SUBJECT ")" ]  OP  NUMBER [UNIT]
 *
 *	p99(cudaStreamSynchronize) > 10ms	lost_events > 0		running(worker) >= 80%
 *	calls(cudaMalloc) == 0			chains(HIGH) > 0	diff.p99(cudaMalloc) > 1.2
 *
 * OP is one of > >= < <= == !=. Which figures there are, of what, and in which unit, stands in
 * guard_figures.h.
 * A time needs a unit (ns us ms s), and so do sizes (B KiB MiB GiB) and shares (%); 0 needs none.
 *
 * A SUBJECT may be a glob, case ignored; the condition holds if it holds for any that matches.
 * Counts and sums of an operation that was never called are 0; but a percentile of no calls is no
 * number, and a condition on it, like one on a figure that the file does not have, is an error: a
 * guard that cannot see must not let through. So is an operation that no CUDA library has.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "../common/error.h"
#include "diff.h"
#include "report.h"

#define GUARD_CONDITIONS 32

struct guard { const char *texts[GUARD_CONDITIONS]; size_t count; };

/*
 * diff: conditions are on a comparison, whose figures begin with "diff.". ERROR_USAGE: one does not
 * parse, or names a figure that does not exist; the text says what was expected and where, the hint
 * has the nearest name.
 */
int guard_check(const struct guard *g, bool diff, struct error *e);
/*
 * Each condition that holds is printed to out, with the figure, on a line of its own. r or d may be
 * NULL, as diff was for guard_check(). Returns how many hold; or ERROR_USAGE for the first that
 * cannot be judged, when all others are done.
 */
int guard_run(const struct guard *g, const struct report *r, const struct diff *d, FILE *out,
	      struct error *e);
#endif
