/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_OPTIONS_H
#define INGERO_OPTIONS_H
/*
 * Command lines as tables. One row per option; parsing, --help, completion and the check of the
 * man pages all come from the same rows. GNU style: --name=value, --name value, -n value, -nvalue,
 * combined short flags, "--" ends options. Long names are never abbreviated. Of an option given
 * twice the last one counts, but for lists. A word that is "--" is never taken as the value of an option.
 *
 * Every program also understands --list-options, which is in no table and not in --help.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "error.h"

enum option_type {
	OPTION_FLAG,		/* bool *: set to true */
	OPTION_STRING,		/* const char **: points into argv */
	OPTION_OPTIONAL,	/* const char **: "" without a value; one is given by --name=value only */
	OPTION_LIST,		/* struct option_list *: each time it is given one more */
	OPTION_SIZE,		/* uint64_t *: bytes, K/M/G of 1,024 */
	OPTION_UINT,		/* uint64_t * */
	OPTION_HELP,		/* bool *, or NULL */
	OPTION_VERSION,		/* bool *, or NULL */
};

#define OPTION_LIST_MAX 32
struct option_list { const char *values[OPTION_LIST_MAX]; size_t count; };

struct option_row {
	const char *name;	/* long name without dashes; NULL ends the table */
	char short_name;	/* or 0 */
	enum option_type type;
	void *value;
	const char *argument;	/* name of the argument in --help ("FILE"), or NULL */
	const char *help;	/* lower case, no full stop; the range of a size is added to it */
	uint64_t min, max;	/* OPTION_SIZE and OPTION_UINT: inclusive range; 0, 0 none */
};

struct option_usage {
	const char *program;	/* "ingero-record" */
	const char *synopsis;	/* "[options] -- command [args]" */
	const char *summary;	/* one line */
	const char *footer;	/* exit status and the like, paragraphs between empty lines; or NULL */
};

/* What a command line asks for instead of work. */
enum options_request { OPTIONS_HELP = 1, OPTIONS_VERSION = 2, OPTIONS_LIST = 3 };

/*
 * Parse argv[1..]. With stop_at_operand the first word that is no option ends parsing (as before
 * a command); otherwise operands may stand anywhere and are moved to the end. *first is the index
 * of the first operand. Returns 0; an enum options_request as soon as one is met (the rest of the
 * line is not looked at): print options_answer() and exit 0; or ERROR_USAGE, which names the
 * option, what was wrong, and the nearest valid name.
 */
int options_parse(const struct option_row *rows, int argc, char **argv, bool stop_at_operand,
		  int *first, struct error *e);

/* The text that answers a request: --help, "PROGRAM VERSION" or options_list(); malloc'd, or NULL. */
char *options_answer(int request, const struct option_usage *usage, const struct option_row *rows);

/* The text of --help, at most 80 columns wide, malloc'd; NULL when out of memory. */
char *options_help(const struct option_usage *usage, const struct option_row *rows);
/*
 * How many letters of a word (of a_length letters) must change, come or go to make it b, case
 * ignored: what "did you mean" hints go by. UINT_MAX when either is too long to be a typed name.
 */
unsigned int options_distance(const char *a, size_t a_length, const char *b);
/*
 * "name<TAB>short<TAB>argument<TAB>none|needed|optional<TAB>help" a line, malloc'd: what completion
 * and the checks in tools/ read. The fourth is about the argument.
 */
char *options_list(const struct option_row *rows);
#endif
