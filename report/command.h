/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_COMMAND_H
#define INGERO_REPORT_COMMAND_H
/*
 * The command line of ingero-report: what was asked for, checked as far as that can be done
 * without a file.
 */
#include "../common/options.h"
#include "guard.h"
#include "report.h"
#include "terminal.h"
#include "view.h"

#define COMMAND_FILE "ingero.ing"	/* read where none is named */

struct command {
	struct report_options report;
	struct terminal_options terminal;
	struct option_list fail_if;
	struct guard guard;
	const char *strict, *explain, *min_share, *diff_before;	/* NULL: not given */
	bool view[VIEWS_MAX], json, csv;
	const char *argument[VIEWS_MAX];	/* of views that have one */
	bool diff;			/* several files: before and after */
	const char *before[GUARD_CONDITIONS]; size_t before_count;
	const char *const *after; size_t after_count;	/* without diff: the file */
	char *list;			/* what before points into */
};

/*
 * Returns 0; an enum options_request to be answered; ERROR_USAGE; ERROR_MEMORY. Release in any
 * case. argv must stay.
 */
int command_parse(struct command *c, int argc, char **argv, struct error *e);
void command_release(struct command *c);
/* --help and the like, malloc'd; NULL when out of memory. */
char *command_answer(int request);
/* Whether a view was asked for; the default one where no other was. */
bool command_shows(const struct command *c, const struct view *view);
#endif
