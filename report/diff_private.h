/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_DIFF_PRIVATE_H
#define INGERO_REPORT_DIFF_PRIVATE_H
/*
 * What the parts of a comparison share: diff.c loads and concludes, diff_compare.c makes the
 * comparisons, diff_why.c says why, diff_differ.c what was not the same to begin with.
 */
#include "diff.h"
#include "diff_run.h"

#define DIFF_RUNS_MAX 256

/* Recordings of each side; the same file twice is one summary. */
struct diff_input { const struct diff_run *runs[2][DIFF_RUNS_MAX]; size_t counts[2]; };

/* An operation of a run by its name, or NULL. */
const struct diff_operation *diff_operation(const struct diff_run *run, const char *name);
/* Time of a run's steady part, ns. */
static inline double diff_span(const struct diff_run *run)
{
	return (double)(run->end - run->start);
}

/* All return 0 or ERROR_MEMORY. */
int diff_differ(struct diff *d, const struct diff_input *in);	/* differences */
int diff_find_step(struct diff *d, const struct diff_input *in);	/* step */
int diff_compare_all(struct diff *d, const struct diff_input *in);	/* changes */
int diff_explain(struct diff *d, const struct diff_input *in);	/* parts, step_ns, why */
void diff_conclude(struct diff *d);					/* verdict */

int diff_add_difference(struct diff *d, const char *what, const char *before, const char *after);
#endif
