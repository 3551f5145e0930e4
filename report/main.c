// SPDX-License-Identifier: BSD-2-Clause
/* ingero-report: prints what a recording says. The numbers come from report.h and diff.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../common/log.h"
#include "command.h"
#include "view_chains.h"
#include "view_diff.h"

enum {
	EXIT_OK = 0, EXIT_HOLDS = 1, EXIT_USAGE = 2, EXIT_NOT_OURS = 3, EXIT_VERSION = 4,
	EXIT_INCOMPLETE = 5, EXIT_OTHER = 6,
};

static int exit_code(int error)
{
	switch (error) {
	case 0:
		return EXIT_OK;
	case ERROR_USAGE:
		return EXIT_USAGE;
	case ERROR_MEMORY:
		return EXIT_OTHER;
	default:
		return error == ERROR_VERSION ? EXIT_VERSION : EXIT_NOT_OURS;
	}
}

static int answer(int request)
{
	char *text = command_answer(request);
	struct error e = { 0 };

	if (!text)
		error_set(&e, ERROR_MEMORY, "out of memory");
	else if (fputs(text, stdout) < 0 || fflush(stdout))
		error_system(&e, "cannot write the help");
	free(text);
	if (e.code)
		log_failure(&e);
	return e.code ? EXIT_OTHER : EXIT_OK;
}

static bool incomplete(const struct command *c, const struct report *r, const struct diff *d)
{
	if (!c->strict)
		return false;
	if (d)
		return !d->sides[0].complete || !d->sides[1].complete;
	return !r->completeness.complete ||
	       (!strcmp(c->strict, "all") && (r->procs.breaks || r->procs.inconsistent));
}

/* The way out, for a file that cannot be opened. */
static void explain(struct error *e, const char *path)
{
	if (e->hint[0])
		return;
	if (e->code == ERROR_NOT_OURS && e->section[0])
		error_hint(e, "it was not made by ingero-record, or was changed since");
	if (!access(path, R_OK))
		return;
	if (errno == ENOENT && !strcmp(path, COMMAND_FILE))
		error_hint(e, "name a FILE, or record one with ingero-record");
	else if (errno == EACCES)
		error_hint(e, "recordings have mode 0600: run as their owner");
}

/* All views asked for; --explain after them. Returns 0 or an error. */
static int show_all(const struct command *c, struct report *r, const struct page *out, struct error *e)
{
	enum view_format format = c->csv ? VIEW_CSV : c->json ? VIEW_JSON : VIEW_TEXT;
	int ret = 0;

	for (const struct view *v = views; v->help && !ret; v++)
		if (command_shows(c, v))
			ret = view_show(v, c->argument[v - views], format, r, out, e);
	if (c->explain && !ret)
		ret = view_explain(r, c->explain, out, e);
	return ret;
}

static void show_diff(const struct command *c, const struct diff *d, const struct page *out)
{
	struct json j;

	if (!c->json) {
		view_diff(d, out);
		return;
	}
	view_document_begin(&j, out);
	view_json_diff(d, &j);
	json_object_end(&j);
}

/* Nothing at all is printed where something asked for cannot be. */
static int show(const struct command *c, struct report *r, struct terminal *t, struct error *e)
{
	struct page memory = t->page;
	char *text = NULL;
	size_t size = 0;
	int ret;

	memory.file = open_memstream(&text, &size);
	if (!memory.file)
		return error_set(e, ERROR_MEMORY, "out of memory");
	ret = show_all(c, r, &memory, e);
	if (fclose(memory.file) && !ret)
		ret = error_set(e, ERROR_MEMORY, "out of memory");
	if (!ret && fwrite(text, 1, size, t->page.file) != size)
		t->write_errno = errno;
	free(text);
	return ret;
}

/* The conditions: judged before anything is printed, told after it. */
struct judged { int holds; char *text; size_t size; };

static int judge(struct judged *j, const struct command *c, const struct report *r,
		 const struct diff *d, struct error *e)
{
	FILE *out = open_memstream(&j->text, &j->size);

	if (!out)
		return error_set(e, ERROR_MEMORY, "out of memory");
	j->holds = guard_run(&c->guard, r, d, out, e);
	if (fclose(out))
		return error_set(e, ERROR_MEMORY, "out of memory");
	if (j->holds < 0)
		fputs(j->text, stderr);
	return j->holds < 0 ? j->holds : 0;
}

static int verdict(const struct judged *j, const struct command *c, const struct report *r,
		   const struct diff *d)
{
	fputs(j->text, stderr);
	if (j->holds)
		return EXIT_HOLDS;
	return incomplete(c, r, d) ? EXIT_INCOMPLETE : EXIT_OK;
}

/* Large recordings take seconds to read. */
static void begin(const char *path)
{
	char text[96];

	snprintf(text, sizeof(text), "reading %s", path);
	terminal_progress(text);
}

static int print_diff(const struct command *c, const struct diff *d, struct error *e)
{
	struct judged j = { 0 };
	struct terminal t;
	int status, ret = judge(&j, c, NULL, d, e);

	status = exit_code(ret);
	if (!ret) {
		terminal_open(&t, &c->terminal);
		show_diff(c, d, &t.page);
		ret = terminal_close(&t, e);
		status = ret ? EXIT_OTHER : verdict(&j, c, NULL, d);
	}
	if (ret)
		log_failure(e);
	free(j.text);
	return status;
}

static int run_diff(const struct command *c, struct error *e)
{
	struct diff *d = NULL;
	int ret, status;

	begin(c->before[0]);
	ret = diff_load(&d, c->before, c->before_count, c->after, c->after_count,
			&c->report.select, e);
	terminal_progress_end();
	status = exit_code(ret);
	if (ret)
		log_failure(e);
	else
		status = print_diff(c, d, e);
	diff_release(d);
	return status;
}

static int print_report(const struct command *c, struct report *r, struct error *e)
{
	struct judged j = { 0 };
	struct error closing = { 0 };
	struct terminal t;
	int status, ret = judge(&j, c, r, NULL, e);

	status = exit_code(ret);
	if (!ret) {
		terminal_open(&t, &c->terminal);
		ret = show(c, r, &t, e);
		status = exit_code(ret);
		if (terminal_close(&t, &closing) && !ret) {
			*e = closing;
			ret = closing.code;
			status = EXIT_OTHER;
		}
	}
	if (ret)
		log_failure(e);
	else
		status = verdict(&j, c, r, NULL);
	free(j.text);
	return status;
}

static int run(const struct command *c, struct error *e)
{
	struct report r;
	int ret, status;

	begin(c->after[0]);
	ret = report_open(&r, c->after[0], &c->report, e);
	terminal_progress_end();
	status = exit_code(ret);
	if (ret) {
		explain(e, c->after[0]);
		log_failure(e);
	} else {
		status = print_report(c, &r, e);
	}
	report_release(&r);
	return status;
}

int main(int argc, char **argv)
{
	struct command c;
	struct error e = { 0 };
	int status, ret;

	log_init("ingero-report", LOG_LEVEL_NOTICE);
	ret = command_parse(&c, argc, argv, &e);
	if (ret > 0) {
		status = answer(ret);
	} else if (ret) {
		log_failure(&e);
		status = ret == ERROR_USAGE ? EXIT_USAGE : EXIT_OTHER;
	} else {
		status = c.diff ? run_diff(&c, &e) : run(&c, &e);
	}
	command_release(&c);
	return status;
}
