/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_GUARD_FIGURES_H
#define INGERO_REPORT_GUARD_FIGURES_H
/*
 * The figures that a --fail-if condition can be on, a row each; private to guard.c. A new one is a
 * row of the table in guard_figures.c, a line in ingero-report(1), and a case in
 * test_report_guard.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include "report.h"

#define FIGURE_NAME_MAX 160	/* bytes of what a value is of */

enum figure_unit {
	FIGURE_COUNT,		/* no unit */
	FIGURE_TIME,		/* ns */
	FIGURE_BYTES,
	FIGURE_SHARE,		/* 0 to 1, and more where several threads are summed; given in % */
	FIGURE_RATE,		/* a second; no unit, or /s */
	FIGURE_RATIO,		/* no unit, or % */
};

enum figure_subject {
	SUBJECT_NONE,
	SUBJECT_OPERATION,	/* needed: a glob */
	SUBJECT_PROCESS,	/* a role or a glob of names; without: the whole tree */
	SUBJECT_SEVERITY,	/* LOW, MEDIUM, HIGH; without: MEDIUM and HIGH */
};

/* a / b, in ns, bytes or whatever is counted. */
struct figure_value { long double a, b; };

struct figure {
	const char *name;
	enum figure_subject subject;
	enum figure_unit unit;
	bool may_share;		/* FIGURE_TIME: in % it is the share of the threads' lives */
	bool of_durations;	/* rests on good calls: there is no value without any */
	size_t offset;		/* of the uint64_t in struct latency_row or struct account */
	/* SUBJECT_NONE and SUBJECT_SEVERITY, of a severity or SEVERITY_NONE. False: not known. */
	bool (*whole)(const struct report *r, enum severity severity, struct figure_value *v);
};

extern const struct figure figures[];	/* ended by name NULL */

/* SEVERITY_NONE for what is none; case ignored. */
enum severity figure_severity(const char *text);

/*
 * Call visit with every value of the figure: one for each operation or process that subject (may
 * be NULL) matches. of: what the value is of, "" for the whole. share: see may_share. ERROR_USAGE
 * when there is no value, or nothing that matches; e's text then says why, without the condition.
 */
int figure_values(const struct figure *f, const struct report *r, const char *subject, bool share,
		  void (*visit)(void *context, const char *of, const struct figure_value *v),
		  void *context, struct error *e);
#endif
