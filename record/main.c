// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../common/log.h"
#include "../common/options.h"
#include "config.h"
#include "session.h"
#include "sources.h"

static struct config config = {
	.output = CONFIG_OUTPUT_DEFAULT,
	.buffer = CONFIG_BUFFER_DEFAULT,
};

static const struct option_row options[] = {
	{ "output", 'o', OPTION_STRING, &config.output, "FILE",
	  "write the recording to FILE (" CONFIG_OUTPUT_DEFAULT ")", 0, 0 },
	{ "force", 'f', OPTION_FLAG, &config.force, NULL, "replace FILE if it exists", 0, 0 },
	{ "quiet", 'q', OPTION_FLAG, &config.quiet, NULL, "print errors only", 0, 0 },
	{ "verbose", 'v', OPTION_FLAG, &config.verbose, NULL, "print what is done", 0, 0 },
	{ "buffer", 0, OPTION_SIZE, &config.buffer, "SIZE",
	  "bytes of each ring buffer, two a CPU (4M)", CONFIG_BUFFER_MIN, CONFIG_BUFFER_MAX },
	{ "no-args", 0, OPTION_FLAG, &config.no_args, NULL,
	  "of command lines store argv[0] only: they may hold secrets", 0, 0 },
	{ "ops", 0, OPTION_STRING, &config.ops, "LIST",
	  "record only these CUDA operations or categories (launch,cudaMalloc*)", 0, 0 },
	{ "without", 0, OPTION_STRING, &config.without_list, "LIST",
	  "leave out interrupts, syscalls, throttling, faults, reclaim, cgroups, affinity", 0, 0 },
	{ "as-root", 0, OPTION_FLAG, &config.as_root, NULL,
	  "under sudo, run the command as root", 0, 0 },
	{ "help", 'h', OPTION_HELP, NULL, NULL, "print this text", 0, 0 },
	{ "version", 'V', OPTION_VERSION, NULL, NULL, "print the version", 0, 0 },
	{ 0 },
};

static const struct option_usage usage = {
	.program = "ingero-record",
	.synopsis = "[options] -- command [arguments]",
	.summary = "Record the CUDA calls, context switches and page allocations of a command.",
	.footer = "The exit status is the command's own (128 + N for signal N); 125 when it was not\n"
		  "started, 126 when it could not be executed, 127 when it was not found.\n"
		  "ingero-report prints what was recorded.",
};

static int answer(int request)
{
	char *text = options_answer(request, &usage, options);

	if (!text)
		return CONFIG_EXIT_NOT_STARTED;
	fputs(text, stdout);
	free(text);
	return fflush(stdout) ? CONFIG_EXIT_NOT_STARTED : EXIT_SUCCESS;
}

/* argv[1..first) without the "--", in one line; NULL when out of memory. */
static char *options_text(char **argv, int first)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (int i = 1; i < first; i++)
		if (i + 1 < first || strcmp(argv[i], "--"))
			fprintf(f, "%s%s", i > 1 ? " " : "", argv[i]);
	fclose(f);
	return text;
}

/* A ring is a power of two, and at least a page. */
static uint64_t round_up(uint64_t size)
{
	uint64_t power = sysconf(_SC_PAGESIZE);

	while (power < size)
		power *= 2;
	return power;
}

/* What the option table cannot say. */
static int validate(struct config *c, char **operands, struct error *e)
{
	if (!*operands) {
		error_set(e, ERROR_USAGE, "no command given");
		error_hint(e, "ingero-record [options] -- command [arguments]");
		return ERROR_USAGE;
	}
	if (!**operands)
		return error_set(e, ERROR_USAGE, "the command is an empty word");
	if (c->quiet && c->verbose)
		return error_set(e, ERROR_USAGE, "--quiet and --verbose exclude each other");
	if (!*c->output)
		return error_set(e, ERROR_USAGE, "--output: an empty name");
	c->command = operands;
	c->buffer = round_up(c->buffer);
	if (sources_parse(c->without_list, &c->without, e))
		return ERROR_USAGE;
	return cuda_api_select(c->ops, c->enabled, e);
}

/* A file opened in the place of a closed standard stream would get what is said there. */
static bool streams_held(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct error e = { 0 };
	int first, exit_status = CONFIG_EXIT_NOT_STARTED, rc;

	if (!streams_held())
		return CONFIG_EXIT_NOT_STARTED;
	log_init(usage.program, LOG_LEVEL_NOTICE);
	rc = options_parse(options, argc, argv, true, &first, &e);
	if (rc > 0)
		return answer(rc);
	if (!rc)
		rc = validate(&config, argv + first, &e);
	if (rc) {
		log_failure(&e);
		return CONFIG_EXIT_NOT_STARTED;
	}
	config.options = options_text(argv, first);
	log_init(usage.program, config.quiet ? LOG_LEVEL_ERROR :
			        config.verbose ? LOG_LEVEL_DETAIL : LOG_LEVEL_NOTICE);
	rc = session_run(&config, &exit_status, &e);
	if (rc || e.text[0])
		log_failure(&e);
	return exit_status;
}
