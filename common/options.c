// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_OPTIONS "list-options"
#define NAME_MAX_LENGTH 63	/* of a name worth a spelling hint */
#define HELP_COLUMN 26
#define HELP_WIDTH 80

/* One pass over a command line. */
struct parser {
	const struct option_row *rows;
	int argc;
	char **argv;
	int next;		/* index of the word after the ones consumed */
	struct error *e;
};

static bool takes_value(const struct option_row *row)
{
	return row->type == OPTION_STRING || row->type == OPTION_LIST ||
	       row->type == OPTION_SIZE || row->type == OPTION_UINT;
}

static bool may_take_value(const struct option_row *row)
{
	return row->type == OPTION_OPTIONAL || takes_value(row);
}

static const struct option_row *find_long(const struct option_row *rows, const char *name,
					  size_t length)
{
	for (; rows->name; rows++)
		if (strlen(rows->name) == length && !memcmp(rows->name, name, length))
			return rows;
	return NULL;
}

static const struct option_row *find_short(const struct option_row *rows, char c)
{
	for (; rows->name; rows++)
		if (rows->short_name == c)
			return rows;
	return NULL;
}

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein's, one row of the matrix at a time. */
unsigned int options_distance(const char *a, size_t a_length, const char *b)
{
	size_t b_length = strlen(b);
	unsigned int row[NAME_MAX_LENGTH + 1];

	if (a_length > NAME_MAX_LENGTH || b_length > NAME_MAX_LENGTH)
		return UINT_MAX;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned int above = row[j];
			bool differ = tolower((unsigned char)a[i - 1]) !=
				tolower((unsigned char)b[j - 1]);

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + differ);
			diagonal = above;
		}
	}
	return row[b_length];
}

static const char *nearest(const struct option_row *rows, const char *name, size_t length)
{
	unsigned int best = length / 3;
	const char *found = NULL;

	for (; length && rows->name; rows++) {
		bool begins = length > 2 && !strncmp(rows->name, name, length);
		unsigned int d = begins ? 0 : options_distance(name, length, rows->name);

		if (d <= best && (!found || d < best)) {
			best = d;
			found = rows->name;
		}
	}
	return found;
}

static int unknown_long(struct parser *p, const char *name, size_t length)
{
	const char *near = nearest(p->rows, name, length);

	error_set(p->e, ERROR_USAGE, "unknown option \"--%.*s\"", (int)length, name);
	if (near)
		return error_hint(p->e, "did you mean \"--%s\"?", near), ERROR_USAGE;
	return error_hint(p->e, "--help lists the options"), ERROR_USAGE;
}

static int unknown_short(struct parser *p, char c)
{
	error_set(p->e, ERROR_USAGE, "unknown option \"-%c\"", c);
	error_hint(p->e, "--help lists the options");
	return ERROR_USAGE;
}

/* A size as it is typed, in the largest unit that divides it: "4K". Room for 24 bytes. */
static const char *size_text(uint64_t bytes, char *text)
{
	static const char letters[] = "KMG";
	char suffix[2] = "";

	for (int i = 0; letters[i] && bytes && !(bytes & 1023); i++) {
		suffix[0] = letters[i];
		bytes >>= 10;
	}
	snprintf(text, 24, "%" PRIu64 "%s", bytes, suffix);
	return text;
}

/* What a size may be, for --help and for the hint of an error. */
static void size_range(const struct option_row *row, char *text, size_t room)
{
	char low[24], high[24];

	if (row->min || row->max)
		snprintf(text, room, "from %s to %s, in bytes or with K, M or G",
			 size_text(row->min, low), size_text(row->max, high));
	else
		snprintf(text, room, "in bytes or with K, M or G");
}

static void hint_value(struct parser *p, const struct option_row *row)
{
	char range[96];

	if (row->type == OPTION_SIZE) {
		size_range(row, range, sizeof(range));
		error_hint(p->e, "--%s takes a size %s", row->name, range);
	} else if (row->min || row->max) {
		error_hint(p->e, "--%s takes a whole number from %" PRIu64 " to %" PRIu64,
			   row->name, row->min, row->max);
	} else {
		error_hint(p->e, "--%s takes a whole number", row->name);
	}
}

static int bad_value(struct parser *p, const struct option_row *row, const char *value,
		     const char *what)
{
	error_set(p->e, ERROR_USAGE, "option \"--%s\": %s: \"%s\"", row->name, what, value);
	hint_value(p, row);
	return ERROR_USAGE;
}

/* Bits to shift by for a size suffix; -1 for what is none. */
static int suffix_shift(const char *s)
{
	static const char letters[] = "KMG";
	const char *found;

	if (!*s)
		return 0;
	found = strchr(letters, *s & ~0x20);
	if (!found || !*found || s[1])
		return -1;
	return 10 * (int)(found - letters + 1);
}

static int parse_number(struct parser *p, const struct option_row *row, const char *value)
{
	unsigned long long n;
	char *end;
	int shift;

	/* strtoull would take white space and signs. */
	if (*value < '0' || *value > '9')
		return bad_value(p, row, value, "not a number");
	errno = 0;
	n = strtoull(value, &end, 10);
	shift = row->type == OPTION_SIZE ? suffix_shift(end) : *end ? -1 : 0;
	if (shift < 0)
		return bad_value(p, row, value, "not a number");
	if (errno || n > UINT64_MAX >> shift)
		return bad_value(p, row, value, "too large");
	n <<= shift;
	if ((row->min || row->max) && (n < row->min || n > row->max))
		return bad_value(p, row, value, "out of range");
	*(uint64_t *)row->value = n;
	return 0;
}

static int add_to_list(struct parser *p, const struct option_row *row, char *value)
{
	struct option_list *list = row->value;

	if (list->count == OPTION_LIST_MAX)
		return bad_value(p, row, value, "given too often");
	list->values[list->count++] = value;
	return 0;
}

static int store_value(struct parser *p, const struct option_row *row, char *value)
{
	if (row->type == OPTION_LIST)
		return add_to_list(p, row, value);
	if (row->type != OPTION_STRING && row->type != OPTION_OPTIONAL)
		return parse_number(p, row, value);
	*(const char **)row->value = value;
	return 0;
}

/* A flag was met: set it. Returns an enum options_request, or 0. */
static int set_flag(const struct option_row *row)
{
	if (row->type == OPTION_OPTIONAL)
		*(const char **)row->value = "";
	else if (row->value)
		*(bool *)row->value = true;
	if (row->type == OPTION_HELP)
		return OPTIONS_HELP;
	return row->type == OPTION_VERSION ? OPTIONS_VERSION : 0;
}

/* The value of an option that came without one: the next word. */
static int take_next(struct parser *p, const struct option_row *row)
{
	if (p->next >= p->argc || !strcmp(p->argv[p->next], "--")) {
		error_set(p->e, ERROR_USAGE, "option \"--%s\" needs a value", row->name);
		error_hint(p->e, "--%s=%s", row->name, row->argument ? row->argument : "VALUE");
		return ERROR_USAGE;
	}
	return store_value(p, row, p->argv[p->next++]);
}

static int parse_long(struct parser *p, char *word)
{
	char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_row *row = find_long(p->rows, word, length);

	if (!row && !strcmp(word, LIST_OPTIONS))
		return OPTIONS_LIST;
	if (!row)
		return unknown_long(p, word, length);
	if (!equals && !takes_value(row))
		return set_flag(row);
	if (!may_take_value(row)) {
		error_set(p->e, ERROR_USAGE, "option \"--%s\" takes no value: \"%s\"", row->name,
			  equals + 1);
		return ERROR_USAGE;
	}
	return equals ? store_value(p, row, equals + 1) : take_next(p, row);
}

static int parse_short(struct parser *p, char *letters)
{
	for (; *letters; letters++) {
		const struct option_row *row = find_short(p->rows, *letters);
		int rc;

		if (!row)
			return unknown_short(p, *letters);
		if (takes_value(row))
			return letters[1] ? store_value(p, row, letters + 1) : take_next(p, row);
		rc = set_flag(row);
		if (rc)
			return rc;
	}
	return 0;
}

/* Move the words [middle, end) in front of [start, middle). */
static void rotate(char **argv, int start, int middle, int end)
{
	for (; middle < end; start++, middle++) {
		char *word = argv[middle];

		memmove(argv + start + 1, argv + start, (middle - start) * sizeof(*argv));
		argv[start] = word;
	}
}

int options_parse(const struct option_row *rows, int argc, char **argv, bool stop_at_operand,
		  int *first, struct error *e)
{
	struct parser p = { .rows = rows, .argc = argc, .argv = argv, .next = 1, .e = e };

	*first = argc < 1 ? argc : 1;
	while (p.next < argc) {
		int start = p.next;
		char *word = argv[p.next++];
		bool operand = word[0] != '-' || !word[1];
		bool end = !strcmp(word, "--");
		int rc = 0;

		if (operand && stop_at_operand)
			break;
		if (operand)
			continue;
		if (!end)
			rc = word[1] == '-' ? parse_long(&p, word + 2) : parse_short(&p, word + 1);
		if (rc)
			return rc;
		rotate(argv, *first, start, p.next);
		*first += p.next - start;
		if (end)
			break;
	}
	return 0;
}

/*
 * Words up to HELP_WIDTH, further lines from column indent on. at: the column of the first word.
 * An empty line stays one.
 */
static void help_fill(FILE *f, const char *text, int at, int indent)
{
	bool begun = false;

	while (*text) {
		int length = (int)strcspn(text, " \n");

		if (begun && at + 1 + length > HELP_WIDTH)
			at = fprintf(f, "\n%*s", indent, "") - 1;
		else if (begun)
			at += fprintf(f, " ");
		at += fprintf(f, "%.*s", length, text);
		text += length;
		begun = true;
		if (!strncmp(text, "\n\n", 2)) {
			at = fprintf(f, "\n\n%*s", indent, "") - 2;
			begun = false;
		}
		text += strspn(text, " \n");
	}
	fputc('\n', f);
}

static void help_row(FILE *f, const struct option_row *row)
{
	char range[96], text[512];
	int width = fprintf(f, "  ");

	width += row->short_name ? fprintf(f, "-%c, ", row->short_name) : fprintf(f, "    ");
	width += fprintf(f, "--%s", row->name);
	if (may_take_value(row))
		width += fprintf(f, takes_value(row) ? "=%s" : "[=%s]",
				 row->argument ? row->argument : "VALUE");
	if (width >= HELP_COLUMN)
		width = fprintf(f, "\n") - 1;
	fprintf(f, "%*s", HELP_COLUMN - width, "");
	if (row->type == OPTION_SIZE) {
		size_range(row, range, sizeof(range));
		snprintf(text, sizeof(text), "%s; %s", row->help ? row->help : "", range);
	}
	help_fill(f, row->type == OPTION_SIZE ? text : row->help ? row->help : "", HELP_COLUMN,
		  HELP_COLUMN);
}

char *options_help(const struct option_usage *usage, const struct option_row *rows)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "usage: %s %s\n", usage->program, usage->synopsis);
	help_fill(f, usage->summary, 0, 0);
	fprintf(f, "\noptions:\n");
	for (; rows->name; rows++)
		help_row(f, rows);
	if (usage->footer) {
		fputc('\n', f);
		help_fill(f, usage->footer, 0, 0);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

char *options_list(const struct option_row *rows)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (; rows->name; rows++) {
		char letter[2] = { rows->short_name, 0 };
		bool may = may_take_value(rows);

		fprintf(f, "%s\t%s\t%s\t%s\t%s\n", rows->name, letter,
			!may ? "" : rows->argument ? rows->argument : "VALUE",
			!may ? "none" : takes_value(rows) ? "needed" : "optional",
			rows->help ? rows->help : "");
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

char *options_answer(int request, const struct option_usage *usage, const struct option_row *rows)
{
	char *text;

	switch (request) {
	case OPTIONS_HELP:
		return options_help(usage, rows);
	case OPTIONS_LIST:
		return options_list(rows);
	case OPTIONS_VERSION:
		return asprintf(&text, "%s %s\n", usage->program, INGERO_VERSION) < 0 ? NULL : text;
	default:
		return NULL;
	}
}
