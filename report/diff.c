// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "diff_private.h"

/* Summaries of all files named, the same file once. */
struct loaded { struct diff_run *runs; struct stat *files; size_t count; };

static const struct diff_run *load(struct loaded *l, const char *path,
				   const struct select_options *options, struct error *e)
{
	struct stat file = { 0 };

	if (!stat(path, &file))
		for (size_t i = 0; i < l->count; i++)
			if (l->files[i].st_dev == file.st_dev && l->files[i].st_ino == file.st_ino)
				return &l->runs[i];
	l->files[l->count] = file;
	if (diff_run_load(&l->runs[l->count++], path, options, e))
		return NULL;
	return &l->runs[l->count - 1];
}

static void fill_side(struct diff_side *side, const struct diff_run *const *runs)
{
	size_t count = side->runs;

	side->complete = true;
	for (size_t i = 0; i < count; i++) {
		side->span += diff_span(runs[i]);
		side->calls += (double)runs[i]->calls;
		side->others +=
			(double)runs[i]->outside_running / (diff_span(runs[i]) + 1) / (double)count;
		side->complete &= runs[i]->complete;
		side->lossy |= runs[i]->calls_lossy || runs[i]->switches_lossy;
	}
	snprintf(side->command, sizeof(side->command), "%s", runs[0]->command);
}

static int compare(struct diff *d, const struct diff_input *in)
{
	int ret = diff_differ(d, in);

	if (!ret)
		ret = diff_find_step(d, in);
	if (!ret)
		ret = diff_compare_all(d, in);
	if (!ret)
		ret = diff_explain(d, in);
	if (!ret)
		diff_conclude(d);
	return ret;
}

/* Load both sides; the error is set where it happened. */
static int load_all(struct loaded *l, struct diff_input *in, const struct diff *d,
		    const struct select_options *options, struct error *e)
{
	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < in->counts[k]; i++) {
			in->runs[k][i] = load(l, d->sides[k].paths[i], options, e);
			if (!in->runs[k][i])
				return e->code;
		}
	return 0;
}

/* A recording given twice says nothing of what lies between runs: it counts once. */
static bool given_before(const char *const *paths, size_t i)
{
	struct stat a, b;

	if (stat(paths[i], &a))
		return false;
	for (size_t k = 0; k < i; k++)
		if (!stat(paths[k], &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
			return true;
	return false;
}

static int take_paths(struct diff_side *side, const char *const *paths, size_t count)
{
	side->paths = calloc(count, sizeof(*side->paths));
	if (!side->paths)
		return ERROR_MEMORY;
	for (size_t i = 0; i < count; i++)
		if (!given_before(paths, i))
			side->paths[side->runs++] = paths[i];
	return 0;
}

int diff_load(struct diff **out, const char *const *before, size_t before_count,
	      const char *const *after, size_t after_count, const struct select_options *options,
	      struct error *e)
{
	size_t count = before_count + after_count;
	struct diff_input *in = calloc(1, sizeof(*in));
	struct loaded l = { calloc(count, sizeof(*l.runs)), calloc(count, sizeof(*l.files)), 0 };
	struct diff *d = *out = calloc(1, sizeof(*d));
	int ret = 0;

	if (before_count > DIFF_RUNS_MAX || after_count > DIFF_RUNS_MAX)
		ret = error_set(e, ERROR_USAGE, "more than %d recordings a side", DIFF_RUNS_MAX);
	else if (!in || !l.runs || !l.files || !d)
		ret = error_set(e, ERROR_MEMORY, "out of memory");
	if (!ret && (take_paths(&d->sides[0], before, before_count) ||
		     take_paths(&d->sides[1], after, after_count)))
		ret = error_set(e, ERROR_MEMORY, "out of memory");
	if (!ret) {
		in->counts[0] = d->sides[0].runs;
		in->counts[1] = d->sides[1].runs;
		ret = load_all(&l, in, d, options, e);
	}
	if (!ret) {
		fill_side(&d->sides[0], in->runs[0]);
		fill_side(&d->sides[1], in->runs[1]);
		ret = compare(d, in);
		if (ret)
			error_set(e, ret, "out of memory");
	}
	for (size_t i = 0; l.runs && i < l.count; i++)
		diff_run_release(&l.runs[i]);
	free(l.runs);
	free(l.files);
	free(in);
	return ret;
}

void diff_release(struct diff *d)
{
	if (!d)
		return;
	free(d->sides[0].paths);
	free(d->sides[1].paths);
	free(d->differences);
	free(d->changes);
	free(d->parts);
	free(d);
}
