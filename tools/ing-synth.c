// SPDX-License-Identifier: BSD-2-Clause
/* Writes .ing files of any size and shape with known answers; tools/synth/ is what it writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/options.h"
#include "tools/synth/synth.h"

enum exit_status { EXIT_OK = 0, EXIT_OTHER = 1, EXIT_USAGE = 2 };

struct settings {
	struct synth_options model;
	const char *output, *truth, *shape;
	bool force;
};

static int parse_shape(struct settings *s, struct error *e)
{
	static const char *const names[] = { "normal", "ties", "extremes" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(s->shape, names[i])) {
			s->model.shape = (enum synth_shape)i;
			return 0;
		}
	error_set(e, ERROR_USAGE, "--shape cannot be \"%s\"", s->shape);
	error_hint(e, "normal, ties and extremes are possible");
	return ERROR_USAGE;
}

static int open_output(const struct settings *s, struct error *e)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (s->force ? O_TRUNC : O_EXCL);
	int fd = open(s->output, flags, 0600);

	if (fd < 0) {
		error_system(e, "cannot write \"%s\"", s->output);
		if (errno == EEXIST)
			error_hint(e, "--force overwrites an existing file");
	}
	return fd;
}

static int run_model(struct synth *s)
{
	bool more = true;

	synth_begin(s);
	for (unsigned int slice = 1; more && !s->failed; slice++) {
		uint64_t until = s->now + s->slice;

		more = synth_switches(s, until);
		more |= synth_calls(s, until);
		s->now = until;
		if (more)
			synth_sample(s);
		if (more && slice % SYNTH_FLUSH == 0)
			synth_keyframe(s, false);
	}
	synth_end(s);
	return s->failed ? ERROR_SYSTEM : 0;
}

static int write_truth(const struct synth *s, const char *path, struct error *e)
{
	FILE *out = path ? fopen(path, "w") : NULL;
	int err;

	if (!path)
		return 0;
	if (!out)
		return error_system(e, "cannot write \"%s\"", path);
	err = synth_print_truth(s, out);
	if (fclose(out) || err)
		return error_system(e, "cannot write \"%s\"", path);
	return 0;
}

static int generate(const struct settings *settings, struct error *e)
{
	int fd = open_output(settings, e), err;
	struct writer *w;
	struct synth s;

	if (fd < 0)
		return ERROR_SYSTEM;
	err = writer_open(&w, fd, e);
	if (err)
		return err;
	err = synth_init(&s, &settings->model, w);
	if (!err)
		err = run_model(&s);
	/* The writer kept what went wrong with it, and tells when it closes. */
	if (err)
		error_set(e, ERROR_MEMORY, "out of memory");
	if (!err && settings->model.unclosed)
		writer_abandon(w);
	else if (writer_close(w, e))
		err = ERROR_SYSTEM;
	if (!err)
		err = write_truth(&s, settings->truth, e);
	synth_release(&s);
	return err;
}

static const struct option_usage usage = {
	.program = "ing-synth",
	.synopsis = "[options] -o FILE",
	.summary = "write an invented recording with known answers",
	.footer = "The same options give the same file.\n\n"
		  "exit status: 0 written, 1 not written, 2 usage",
};

static int answer(int request, const struct option_row *rows)
{
	char *text = options_answer(request, &usage, rows);

	fputs(text ? text : "", stdout);
	free(text);
	return text ? EXIT_OK : EXIT_OTHER;
}

static int check(struct settings *s, int operands, struct error *e)
{
	if (operands)
		return error_set(e, ERROR_USAGE, "no operands are taken");
	if (!s->output)
		return error_set(e, ERROR_USAGE, "no output file was given: -o FILE");
	return parse_shape(s, e);
}

int main(int argc, char **argv)
{
	struct settings s = {
		.model = { .switches = 100000, .calls = 10000, .cpus = 2, .processes = 1, .workers = 4,
			   .threads = 2, .operations = 6, .seed = 1, .nested = 50 },
		.shape = "normal",
	};
	struct synth_options *m = &s.model;
	const struct option_row rows[] = {
		{ "output", 'o', OPTION_STRING, &s.output, "FILE", "where to write", 0, 0 },
		{ "force", 'f', OPTION_FLAG, &s.force, NULL, "overwrite an existing file", 0, 0 },
		{ "truth", 0, OPTION_STRING, &s.truth, "FILE", "write the known answers as CSV", 0, 0 },
		{ "switches", 0, OPTION_UINT, &m->switches, "N", "context switches (100000)", 0, 1ull << 40 },
		{ "calls", 0, OPTION_UINT, &m->calls, "N", "CUDA calls (10000)", 0, 1ull << 40 },
		{ "cpus", 0, OPTION_UINT, &m->cpus, "N", "CPUs (2)", 1, 1024 },
		{ "processes", 0, OPTION_UINT, &m->processes, "N", "processes that make calls (1)", 1, 64 },
		{ "workers", 0, OPTION_UINT, &m->workers, "N", "worker processes of each (4)", 0, 64 },
		{ "generations", 0, OPTION_UINT, &m->generations, "N",
		  "times that workers are made, one generation after the other (1)", 1, 4096 },
		{ "threads", 0, OPTION_UINT, &m->threads, "N", "calling threads of each (2)", 1, 64 },
		{ "operations", 0, OPTION_UINT, &m->operations, "N", "different calls made directly (6)", 1, 6 },
		{ "seed", 0, OPTION_UINT, &m->seed, "N", "of the random numbers (1)", 0, 0 },
		{ "shape", 0, OPTION_STRING, &s.shape, "NAME",
		  "durations of calls: normal, ties or extremes", 0, 0 },
		{ "failed", 0, OPTION_UINT, &m->failed, "N", "calls that fail, percent (0)", 0, 100 },
		{ "nested", 0, OPTION_UINT, &m->nested, "N",
		  "launches and allocations with a call inside, percent (50)", 0, 100 },
		{ "open", 0, OPTION_UINT, &m->open, "N", "threads that end in a hanging call (0)", 0, 4096 },
		{ "lost", 0, OPTION_UINT, &m->lost, "N", "switches to lose (0)", 0, 1ull << 40 },
		{ "neighbour", 0, OPTION_UINT, &m->neighbour, "N",
		  "calls, and gaps, in which another process takes the CPU, per mille (0)", 0, 1000 },
		{ "unclosed", 0, OPTION_FLAG, &m->unclosed, NULL, "end without a close mark", 0, 0 },
		{ "help", 'h', OPTION_HELP, NULL, NULL, "print this and exit", 0, 0 },
		{ "version", 'V', OPTION_VERSION, NULL, NULL, "print the version and exit", 0, 0 },
		{ 0 },
	};
	struct error e;
	int first, err;

	log_init("ing-synth", LOG_LEVEL_NOTICE);
	err = options_parse(rows, argc, argv, false, &first, &e);
	if (err > 0)
		return answer(err, rows);
	if (!err)
		err = check(&s, argc - first, &e);
	if (!err)
		err = generate(&s, &e);
	if (err)
		log_failure(&e);
	return err == ERROR_USAGE ? EXIT_USAGE : err ? EXIT_OTHER : EXIT_OK;
}
