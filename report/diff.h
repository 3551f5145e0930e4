/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_DIFF_H
#define INGERO_REPORT_DIFF_H
/*
 * Two sides of one workload, one or more recordings each: what changed, and why.
 *
 * Of each recording a summary is kept (diff_run.h), so that memory does not grow with their number
 * or size. Figures are rates a second, a call or a step, or shares, over the steady part of a
 * recording. A step is a call of the reference operation: the one that waits for the device and is
 * called as often, against before, as most operations are. Operations are matched by name and
 * processes by role. A figure of a side of several recordings is the mean of theirs.
 *
 * A comparison is a change when its interval, at the level of Holm's procedure over all comparisons
 * made, leaves out "no change" (diff_stat.h) and its ratio is beyond the floor (diff_floor.h). What
 * occurs on one side only has no ratio, or the ratio 0: the bound that is left tells.
 */
#include <stdbool.h>
#include <stddef.h>
#include "../common/error.h"
#include "select.h"

#define DIFF_SUBJECT 128
#define DIFF_WHY 256

/* What a figure counts; decides the unit it is printed in. */
enum diff_unit {
	DIFF_UNIT_RATE = 1,	/* a second */
	DIFF_UNIT_NUMBER,	/* a step, a call; a mean number */
	DIFF_UNIT_NS,
	DIFF_UNIT_SHARE,	/* of 1 */
};

enum diff_section { DIFF_PACE = 1, DIFF_OPERATIONS, DIFF_ROLES, DIFF_GAPS, DIFF_CHAINS };

struct diff_change {
	enum diff_section section;
	const char *metric;		/* "p99", "calls_per_second", ...: see diff_floor.h */
	const char *title;		/* in text: "calls/s" */
	enum diff_unit unit;
	char subject[DIFF_SUBJECT];	/* an operation, "main", "workers", "helpers", a chain */
	char name[DIFF_SUBJECT];	/* the same in text: with names of this machine and moment */
	double before, after;		/* 0 where it did not occur */
	double ratio;			/* after / before; not known where before is 0 */
	/* Of the ratio: an infinite high is none; not known where nothing is claimed. */
	bool interval_known;
	double low, high;
	double floor;			/* a change is at least this ratio, or at most 1 / this */
	double floor_absolute;		/* what the rarer figure is taken for at the least */
	double p;			/* two-sided, before Holm's correction */
	bool significant;
	bool follows;			/* the pace did it: the same a step */
	char why[DIFF_WHY];		/* or "" */
};

/* What is not the same about the recordings: host, libraries, options, completeness, load. */
struct diff_difference { char what[DIFF_SUBJECT], before[DIFF_WHY], after[DIFF_WHY]; };

/* A part of a step's time on the threads that feed the device: it was so many ns of each step. */
struct diff_part { char place[DIFF_SUBJECT], what[DIFF_SUBJECT]; double before, after; };

struct diff_side {
	const char **paths;		/* each recording once; the array belongs to diff */
	size_t runs;
	double span, calls;		/* ns and calls of the steady parts together */
	double others;			/* CPUs that processes outside the tree used, on average */
	char command[DIFF_WHY];
	bool complete;
	bool lossy;			/* calls or switches were lost */
};

struct diff {
	struct diff_side sides[2];	/* before, after */
	char step[DIFF_SUBJECT];	/* the reference operation; "" none */
	struct diff_difference *differences; size_t difference_count, difference_capacity;
	struct diff_change *changes; size_t change_count, change_capacity;
	/* The account of a step, largest difference first; step_ns: its parts together. */
	struct diff_part *parts; size_t part_count, part_capacity;
	double step_ns[2];
	size_t significant, tested;	/* changes; comparisons with an interval */
	char load[2][DIFF_SUBJECT];	/* CPUs used by others, where that differs; else "" */
	char verdict[1024];
};
/* One recording that cannot be read is an error. paths must stay. Release in either case. */
int diff_load(struct diff **d, const char *const *before, size_t before_count,
	      const char *const *after, size_t after_count, const struct select_options *options,
	      struct error *e);
void diff_release(struct diff *d);

#define DIFF_NUMBER 48		/* figures and ratios as text: three digits, with their unit */
const char *diff_number(char buf[DIFF_NUMBER], enum diff_unit unit, double value);
const char *diff_times(char buf[DIFF_NUMBER], double ratio);
/* "+1.20 ms" */
const char *diff_signed_ns(char buf[DIFF_NUMBER], double ns);
#endif
