/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_TERMINAL_H
#define INGERO_REPORT_TERMINAL_H
/*
 * Where text goes: the terminal, through a pager, or a pipe.
 *
 * A terminal gets its own width (COLUMNS, where it is set), colour unless TERM is "dumb" or
 * NO_COLOR is set, and a pager: INGERO_PAGER, else PAGER, else less; none where the first of them
 * that is set is empty or "cat", where TERM is "dumb", or where it cannot be started. less is told
 * (LESS=FRX, unless LESS is set) to leave at once when everything fits the screen. Anything else
 * gets PAGE_WIDTH columns, no colour and no pager.
 *
 * Bars and lines are ASCII unless LC_ALL, else LC_CTYPE, else LANG names UTF-8 as its character
 * set. The name alone counts: whether the locale is installed does not change the bytes.
 */
#include <stdbool.h>
#include "../common/error.h"
#include "page.h"

struct terminal_options {
	const char *color;	/* "auto" (NULL), "always", "never"; "" is always */
	bool no_pager, raw;
	bool machine;		/* JSON or CSV: no pager, no colour */
};

#define TERMINAL_SIGNALS 3

struct terminal {
	struct page page;
	int pager;		/* its process; 0 none */
	int write_errno;	/* of the first write that failed, as far as known; 0 */
	void (*handlers[TERMINAL_SIGNALS])(int);	/* what the pager's signals did before */
};

/* ERROR_USAGE for an unknown word after --color. */
int terminal_check(const struct terminal_options *options, struct error *e);
/* Of options that were checked. */
void terminal_open(struct terminal *t, const struct terminal_options *options);
/*
 * Waits for the pager. Returns 0, or ERROR_SYSTEM when something could not be written; that the
 * reader of a pipe went away is no error, where SIGPIPE has not ended the program before.
 */
int terminal_close(struct terminal *t, struct error *e);

/*
 * A line on standard error, if that is a terminal, while what was begun takes over a second: the
 * text and the seconds it has taken. terminal_progress_end() takes it away; it comes before
 * anything else is printed. Uses SIGALRM.
 */
void terminal_progress(const char *text);
void terminal_progress_end(void);
#endif
