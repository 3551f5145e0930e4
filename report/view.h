/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_VIEW_H
#define INGERO_REPORT_VIEW_H
/*
 * The ways a report is shown: a row each, by which main.c offers them as options. A view prints
 * the numbers of a struct report and computes none.
 */
#include <stdio.h>
#include "report.h"

#define VIEW_WIDTH 80

struct view {
	const char *name;		/* of the option; NULL: the default view */
	const char *help;
	void (*run)(const struct report *r, FILE *out);
};

extern const struct view views[];	/* the default first; ended by run NULL */

void view_summary(const struct report *r, FILE *out);
void view_processes(const struct report *r, FILE *out);
void view_info(const struct report *r, FILE *out);
void view_chains(const struct report *r, FILE *out);
void view_json(const struct report *r, FILE *out);
#endif
