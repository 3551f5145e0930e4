// SPDX-License-Identifier: BSD-2-Clause
/* ingero-report: prints what a recording says. The numbers come from report.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../common/log.h"
#include "../common/options.h"
#include "view.h"
#include "view_chains.h"

#define DEFAULT_FILE "ingero.ing"
#define VIEWS_MAX 8

enum {
	EXIT_OK = 0, EXIT_OTHER = 1, EXIT_USAGE = 2, EXIT_NOT_OURS = 3, EXIT_VERSION = 4,
	EXIT_INCOMPLETE = 5,
};

static const struct option_usage usage = {
	.program = "ingero-report",
	.synopsis = "[options] [FILE]",
	.summary = "report on a recording of CUDA calls and context switches (default: " DEFAULT_FILE ")",
	.footer = "exit status: 0 printed, 1 cannot print, 2 usage, 3 unreadable or not an .ing file,\n"
		  "4 newer version, 5 incomplete under --strict",
};

struct command {
	const char *path, *strict, *explain;	/* strict, explain NULL: not given */
	bool view[VIEWS_MAX];
};

/* The views but the default one, then the options that are none. */
static void fill_rows(struct option_row *rows, struct command *c)
{
	for (const struct view *v = &views[1]; v->run; v++)
		*rows++ = (struct option_row){ v->name, 0, OPTION_FLAG, &c->view[v - views], NULL,
					       v->help, 0, 0 };
	*rows++ = (struct option_row){
		"explain", 0, OPTION_STRING, &c->explain, "OP[@TIME]",
		"take one call of an operation apart: the longest, or the one at TIME (seconds from the start, or HH:MM:SS.mmm)",
		0, 0 };
	*rows++ = (struct option_row){
		"strict", 0, OPTION_OPTIONAL, &c->strict, "LEVEL",
		"exit with 5 if incomplete; with \"all\", if there are chain breaks",
		0, 0 };
	*rows++ = (struct option_row){ "help", 'h', OPTION_HELP, NULL, NULL,
				       "print this and exit", 0, 0 };
	*rows++ = (struct option_row){ "version", 'V', OPTION_VERSION, NULL, NULL,
				       "print the version and exit", 0, 0 };
	*rows = (struct option_row){ 0 };
}

static int answer(int request, const struct option_row *rows)
{
	char *text = options_answer(request, &usage, rows);

	fputs(text ? text : "", stdout);
	free(text);
	return text && !fflush(stdout) ? EXIT_OK : EXIT_OTHER;
}

static bool selected(const struct command *c, const struct view *view)
{
	bool any = false;

	for (unsigned int i = 1; i < VIEWS_MAX; i++)
		any |= c->view[i];
	any |= c->explain != NULL;
	return any ? c->view[view - views] : !view->name;
}

static int check(const struct command *c, int operands, struct error *e)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < VIEWS_MAX; i++)
		count += c->view[i];
	count += c->explain != NULL;
	for (const struct view *v = views; v->run; v++)
		if (v->run == view_json && c->view[v - views] && count > 1)
			return error_set(e, ERROR_USAGE, "--json has everything: no other view goes with it");
	if (c->strict && *c->strict && strcmp(c->strict, "all")) {
		error_set(e, ERROR_USAGE, "option \"--strict\": unknown level: \"%s\"", c->strict);
		return error_hint(e, "--strict, or --strict=all to count chain breaks too");
	}
	if (operands > 1)
		return error_set(e, ERROR_USAGE, "more than one file was given");
	return 0;
}

static bool incomplete(const struct command *c, const struct report *r)
{
	if (!c->strict)
		return false;
	return !r->completeness.complete ||
	       (!strcmp(c->strict, "all") && (r->procs.breaks || r->procs.inconsistent));
}

static int exit_code(int error)
{
	if (error == ERROR_MEMORY)
		return EXIT_OTHER;
	return error == ERROR_VERSION ? EXIT_VERSION : EXIT_NOT_OURS;
}

/* The way out, for a file that cannot be opened. */
static void explain(struct error *e, const char *path)
{
	if (e->hint[0])
		return;
	if (e->code == ERROR_NOT_OURS && e->section[0])
		error_hint(e, "it was not made by ingero-record, or was changed since");
	if (e->code != ERROR_SYSTEM || !access(path, R_OK))
		return;
	if (errno == ENOENT && !strcmp(path, DEFAULT_FILE))
		error_hint(e, "name a FILE, or record one with ingero-record");
	else if (errno == EACCES)
		error_hint(e, "recordings have mode 0600: run as their owner");
}

/* All views asked for; --explain after them. Returns the exit status. */
static int show(const struct command *c, struct report *r)
{
	struct error e = { 0 };
	int ret = 0;

	for (const struct view *v = views; v->run; v++)
		if (selected(c, v))
			v->run(r, stdout);
	if (c->explain)
		ret = view_explain(r, c->explain, stdout, &e);
	if (ret)
		log_failure(&e);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write the report: %s", strerror(errno));
		return EXIT_OTHER;
	}
	if (ret)
		return ret == ERROR_USAGE ? EXIT_USAGE : EXIT_OTHER;
	return incomplete(c, r) ? EXIT_INCOMPLETE : EXIT_OK;
}

static int run(const struct command *c)
{
	struct report r;
	struct error e = { 0 };
	int status = report_open(&r, c->path, &e);

	if (status) {
		explain(&e, c->path);
		log_failure(&e);
		status = exit_code(status);
	} else {
		status = show(c, &r);
	}
	report_release(&r);
	return status;
}

int main(int argc, char **argv)
{
	struct command c = { 0 };
	struct option_row rows[VIEWS_MAX + 4];
	struct error e = { 0 };
	int first, ret;

	log_init("ingero-report", LOG_LEVEL_NOTICE);
	fill_rows(rows, &c);
	ret = options_parse(rows, argc, argv, false, &first, &e);
	if (ret > 0)
		return answer(ret, rows);
	if (!ret)
		ret = check(&c, argc - first, &e);
	if (ret) {
		log_failure(&e);
		return EXIT_USAGE;
	}
	c.path = first < argc ? argv[first] : DEFAULT_FILE;
	return run(&c);
}
