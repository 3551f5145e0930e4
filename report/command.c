// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "command.h"

#define ROWS_MAX (VIEWS_MAX + 40)

static const struct option_usage usage = {
	.program = "ingero-report",
	.synopsis = "[options] [FILE | BEFORE AFTER...]",
	.summary = "report on a recording of CUDA calls and context switches (default: " COMMAND_FILE
		   "), or on what changed between recordings",
	.footer = "A LIST is one or more with commas between them; a GLOB has * and ?. A TIME is seconds from\n"
		  "the start (2.5), a percentage of the span (25%), a time of day (14:03:07) or seconds before\n"
		  "the end (-5s).\n\n"
		  "exit status: 0 printed, 1 a --fail-if condition holds, 2 usage, 3 unreadable or not an\n"
		  ".ing file, 4 newer version, 5 incomplete under --strict, 6 cannot print",
};

/* The options that name no view. */
static size_t fill_others(struct option_row *rows, struct command *c)
{
	struct select_options *s = &c->report.select;
	struct listing_order *order = &c->report.order;
	struct terminal_options *t = &c->terminal;
	const struct option_row others[] = {
		{ "explain", 0, OPTION_STRING, &c->explain, "OP[@TIME]",
		  "take one call of an operation apart: the longest, or the one at TIME", 0, 0 },
		{ "diff", 0, OPTION_STRING, &c->diff_before, "LIST",
		  "compare the recordings of LIST with the FILEs after it: what changed, and why",
		  0, 0 },
		{ "json", 0, OPTION_FLAG, &c->json, NULL,
		  "print the view as JSON; without a view, all figures", 0, 0 },
		{ "csv", 0, OPTION_FLAG, &c->csv, NULL, "print the view's table as CSV", 0, 0 },
		{ "pid", 0, OPTION_STRING, &s->pid, "LIST", "only these processes", 0, 0 },
		{ "tid", 0, OPTION_STRING, &s->tid, "LIST", "only these threads", 0, 0 },
		{ "comm", 0, OPTION_STRING, &s->comm, "GLOBS",
		  "only processes and threads of these names", 0, 0 },
		{ "role", 0, OPTION_STRING, &s->role, "LIST",
		  "only main, worker, helper, other; or one of them: \"worker 3\"", 0, 0 },
		{ "op", 0, OPTION_STRING, &s->op, "GLOBS", "only these CUDA operations", 0, 0 },
		{ "cpu", 0, OPTION_STRING, &s->cpu, "LIST",
		  "only what these CPUs recorded: 0-3,8", 0, 0 },
		{ "from", 0, OPTION_STRING, &s->from, "TIME",
		  "only what happened from then on", 0, 0 },
		{ "to", 0, OPTION_STRING, &s->to, "TIME", "only what happened before", 0, 0 },
		{ "last", 0, OPTION_STRING, &s->last, "SPAN", "only the end: 5s", 0, 0 },
		{ "skip", 0, OPTION_STRING, &s->skip, "SPAN", "all but the beginning: 10s", 0, 0 },
		{ "tree-only", 0, OPTION_FLAG, &s->tree_only, NULL,
		  "leave out processes that are not the command's", 0, 0 },
		{ "all", 0, OPTION_FLAG, &s->all, NULL,
		  "list processes outside the command's tree too", 0, 0 },
		{ "sort", 0, OPTION_STRING, &order->column, "COLUMN",
		  "sort tables by a column; -COLUMN: the other way round", 0, 0 },
		{ "top", 0, OPTION_UINT, &order->top, "N",
		  "of each table the first rows only", 1, 1000000000 },
		{ "min-share", 0, OPTION_STRING, &c->min_share, "PERCENT",
		  "leave out rows with less than this share of their table", 0, 0 },
		{ "no-group", 0, OPTION_FLAG, &c->report.no_group, NULL,
		  "a line for each short-lived worker", 0, 0 },
		{ "raw", 0, OPTION_FLAG, &t->raw, NULL, "times in ns and sizes in bytes", 0, 0 },
		{ "color", 0, OPTION_OPTIONAL, &t->color, "WHEN", "auto, always or never", 0, 0 },
		{ "no-pager", 0, OPTION_FLAG, &t->no_pager, NULL, "print without a pager", 0, 0 },
		{ "fail-if", 0, OPTION_LIST, &c->fail_if, "CONDITION",
		  "exit with 1 if it holds, such as \"p99(cudaStreamSynchronize) > 10ms\"", 0, 0 },
		{ "strict", 0, OPTION_OPTIONAL, &c->strict, "LEVEL",
		  "exit with 5 if incomplete; with \"all\", if there are chain breaks", 0, 0 },
		{ "help", 'h', OPTION_HELP, NULL, NULL, "print this and exit", 0, 0 },
		{ "version", 'V', OPTION_VERSION, NULL, NULL, "print the version and exit", 0, 0 },
		{ 0 },
	};

	memcpy(rows, others, sizeof(others));
	return sizeof(others) / sizeof(*others);
}

static void fill_rows(struct option_row *rows, struct command *c)
{
	for (const struct view *v = &views[1]; v->help; v++) {
		size_t i = (size_t)(v - views);

		*rows++ = (struct option_row){
			v->name, 0,
			!v->argument ? OPTION_FLAG : v->optional ? OPTION_OPTIONAL : OPTION_STRING,
			v->argument ? (void *)&c->argument[i] : &c->view[i], v->argument, v->help,
			0, 0 };
	}
	fill_others(rows, c);
}

static int check_strict(const struct command *c, struct error *e)
{
	if (!c->strict || !*c->strict || !strcmp(c->strict, "all"))
		return 0;
	error_set(e, ERROR_USAGE, "option \"--strict\": unknown level: \"%s\"", c->strict);
	return error_hint(e, "--strict, or --strict=all to count chain breaks too");
}

static int parse_share(struct command *c, struct error *e)
{
	char *end;
	double share;

	if (!c->min_share)
		return 0;
	share = strtod(c->min_share, &end);
	end += *end == '%';
	if (end == c->min_share || *end || !(share >= 0 && share <= 100)) {
		error_set(e, ERROR_USAGE, "option \"--min-share\": not a percentage: \"%s\"",
			  c->min_share);
		return error_hint(e, "a number from 0 to 100");
	}
	c->report.order.min_share = share / 100;
	return 0;
}

static void list_tables(char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (const struct view *v = views; v->help; v++)
		if (v->tables && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s--%s",
						 used ? ", " : "", v->name);
}

/* What can be one document only. */
static int check_format(const struct command *c, struct error *e)
{
	const struct view *one = &views[0];
	char list[200];
	size_t count = 0;

	if (c->json && c->csv)
		return error_set(e, ERROR_USAGE, "either --json or --csv");
	for (const struct view *v = views; v->help; v++) {
		count += c->view[v - views];
		one = c->view[v - views] ? v : one;
	}
	if (!c->json && !c->csv)
		return 0;
	if (c->explain)
		return error_set(e, ERROR_USAGE, "--explain is text only, without --%s",
				 c->json ? "json" : "csv");
	if (count > 1)
		return error_set(e, ERROR_USAGE, "--%s goes with one view",
				 c->json ? "json" : "csv");
	if (!c->csv || one->tables)
		return 0;
	error_set(e, ERROR_USAGE, "--csv needs a view that is a table");
	list_tables(list, sizeof(list));
	return error_hint(e, "%s; or --json", list);
}

/* Sorting and cutting is of tables; --raw too. */
static int check_order(const struct command *c, struct error *e)
{
	const struct listing_order *o = &c->report.order;
	const char *given = o->column ? "sort" : o->top ? "top" : c->min_share ? "min-share" :
			    c->terminal.raw ? "raw" : NULL;
	bool tables = false;

	for (const struct view *v = views; v->help; v++)
		tables |= command_shows(c, v) && (v->tables || !v->name);
	if (!given || tables)
		return 0;
	return error_set(e, ERROR_USAGE, "--%s has no meaning without a view that is a table", given);
}

/* Options that would do nothing there. */
static const char *idle_in_diff(const struct command *c)
{
	const struct { bool given; const char *name; } rows[] = {
		{ c->csv, "csv" }, { c->terminal.raw, "raw" }, { c->report.no_group, "no-group" },
		{ c->report.order.column, "sort" }, { c->report.order.top, "top" },
		{ c->min_share, "min-share" }, { c->report.select.all, "all" },
		{ c->report.select.tree_only, "tree-only" },
		{ c->strict && *c->strict, "strict=all" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].given)
			return rows[i].name;
	return NULL;
}

static int check_diff(const struct command *c, struct error *e)
{
	if (!c->diff)
		return 0;
	if (idle_in_diff(c))
		return error_set(e, ERROR_USAGE, "--%s has no meaning in a comparison",
				 idle_in_diff(c));
	if (!c->after_count) {
		error_set(e, ERROR_USAGE, "only one side to compare");
		return error_hint(e, "ingero-report --diff BEFORE AFTER");
	}
	for (size_t i = 0; i < VIEWS_MAX; i++)
		if (c->view[i] || c->explain)
			return error_set(e, ERROR_USAGE, "a comparison has no other views");
	return 0;
}

/* The files before: those of --diff, or else the first of several operands. */
static int take_files(struct command *c, int first, int argc, char **argv, struct error *e)
{
	static const char *const standard[] = { COMMAND_FILE };
	char *at;

	c->after = (const char *const *)argv + first;
	c->after_count = (size_t)(argc - first);
	c->diff = c->diff_before || c->after_count > 1;
	if (!c->diff) {
		c->after = c->after_count ? c->after : standard;
		c->after_count = 1;
		return 0;
	}
	if (!c->diff_before) {
		c->diff_before = c->after[0];
		c->after++;
		c->after_count--;
		c->before[c->before_count++] = c->diff_before;
		return 0;
	}
	c->list = at = strdup(c->diff_before);
	if (!at)
		return error_set(e, ERROR_MEMORY, "out of memory");
	for (char *name; (name = strsep(&at, ","));) {
		if (c->before_count == GUARD_CONDITIONS)
			return error_set(e, ERROR_USAGE, "more than %d files before",
					 GUARD_CONDITIONS);
		if (!*name)
			return error_set(e, ERROR_USAGE, "option \"--diff\": an empty name: \"%s\"",
					 c->diff_before);
		c->before[c->before_count++] = name;
	}
	return 0;
}

static int check(struct command *c, struct error *e)
{
	int ret = check_strict(c, e);

	if (!ret)
		ret = terminal_check(&c->terminal, e);
	if (!ret)
		ret = parse_share(c, e);
	if (!ret)
		ret = check_diff(c, e);
	if (!ret)
		ret = check_format(c, e);
	if (!ret && !c->diff)
		ret = check_order(c, e);
	memcpy(c->guard.texts, c->fail_if.values, sizeof(c->fail_if.values));
	c->guard.count = c->fail_if.count;
	return ret ? ret : guard_check(&c->guard, c->diff, e);
}

int command_parse(struct command *c, int argc, char **argv, struct error *e)
{
	struct option_row rows[ROWS_MAX];
	int first, ret;

	memset(c, 0, sizeof(*c));
	fill_rows(rows, c);
	ret = options_parse(rows, argc, argv, false, &first, e);
	if (ret)
		return ret;
	for (size_t i = 0; i < VIEWS_MAX; i++)
		c->view[i] |= c->argument[i] != NULL;
	c->terminal.machine = c->json || c->csv;
	ret = take_files(c, first, argc, argv, e);
	return ret ? ret : check(c, e);
}

void command_release(struct command *c)
{
	free(c->list);
}

char *command_answer(int request)
{
	struct option_row rows[ROWS_MAX];
	struct command c = { 0 };

	fill_rows(rows, &c);
	return options_answer(request, &usage, rows);
}

bool command_shows(const struct command *c, const struct view *view)
{
	bool any = c->explain != NULL;

	for (size_t i = 0; i < VIEWS_MAX; i++)
		any |= c->view[i];
	return any ? c->view[view - views] : view == views;
}
