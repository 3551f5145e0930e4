/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_SELECT_NAMES_H
#define INGERO_REPORT_SELECT_NAMES_H
/*
 * The lists that narrow a report, as they are typed, and hints on what could have been typed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../common/error.h"

#define NAMES_MAX 1024		/* alternatives of one list */

struct name {
	const char *text;	/* in the list's copy */
	uint32_t number;	/* of lists of numbers */
	bool found;		/* something has this name */
	bool outside;		/* nothing in the tree has it: processes outside are meant */
	uint64_t *threads;	/* bit per thread whose names match, or NULL */
};

struct name_list {
	const char *option;	/* without dashes */
	char *copy;
	struct name *names; size_t count;
};

/*
 * Take "a,b" apart; text NULL gives a list of none. Numbers are what a kernel gives as PIDs.
 * ERROR_USAGE for an empty name or no number; ERROR_MEMORY. Release in either case.
 */
int name_list_read(struct name_list *l, const char *option, const char *text, bool numbers,
		   struct error *e);
void name_list_release(struct name_list *l);
/* The first one nothing has, or NULL. */
const struct name *name_list_missing(const struct name_list *l);

/* As fnmatch(3) has it, byte by byte; fold: case ignored. */
bool name_glob(const char *glob, const char *text, bool fold);
bool name_is_glob(const char *text);

/* What there is to choose from. */
struct choice { char text[80]; uint64_t weight; unsigned int distance; };
struct choices { struct choice *list; size_t count, capacity; };

/*
 * weight: the larger, the more important. wanted: what was typed; names much like it come first;
 * NULL: there is no likeness. One text many times is one choice, of the largest weight. Out of
 * memory loses choices.
 */
void choices_add(struct choices *c, const char *text, uint64_t weight, const char *wanted);
/* "a, b, c, 12 more" into buf, at most ten; and releases them. */
const char *choices_text(struct choices *c, char *buf, size_t size);
#endif
