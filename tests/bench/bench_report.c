// SPDX-License-Identifier: BSD-2-Clause
/*
 * The whole report with its chains, printed to nowhere, beside one decoding of the columns it is
 * made from, by as many threads, in turn in one process: bench_report FILE. Of elapsed time, and
 * of CPU time, which others on the machine disturb less. Peak memory is that of the report: it
 * comes first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "report/parallel.h"
#include "report/view.h"

#define TURNS 5
#define WORKERS_MAX 64

/* All but those nobody reads: see timeline_load.c, calls.c and windows_calls.c. */
#define SWITCH_COLUMNS (((1ull << COLS_switch) - 1) & ~(1ull << COL_switch_wake_latency))
#define CALL_COLUMNS (((1ull << COLS_call) - 1) & ~(1ull << COL_call_tgid))

struct decoding {
	struct recording recording;
	struct columns columns[WORKERS_MAX];
	uint64_t rows[WORKERS_MAX];
};

enum { ELAPSED, CPU, TIMES };

static const clockid_t clocks[TIMES] = { CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID };

/* sign -1 before, 1 after: then times holds what it took. */
static void add_times(double times[TIMES], int sign)
{
	for (int i = 0; i < TIMES; i++) {
		struct timespec ts;

		clock_gettime(clocks[i], &ts);
		times[i] += sign * ((double)ts.tv_sec + (double)ts.tv_nsec * 1e-9);
	}
}

static void die(const struct error *e)
{
	fprintf(stderr, "bench_report: %s\n", e->text);
	exit(1);
}

static int decode_block(void *context, unsigned int worker, size_t job)
{
	struct decoding *d = context;
	const struct block_list *switches = &d->recording.blocks[TABLE_switch];
	const struct block_list *calls = &d->recording.blocks[TABLE_call];
	bool call = job >= switches->count;
	uint32_t block = call ? calls->block[job - switches->count] : switches->block[job];
	int ret = recording_load(&d->recording, block, call ? CALL_COLUMNS : SWITCH_COLUMNS,
				 &d->columns[worker]);

	d->rows[worker] += d->columns[worker].rows;
	return ret;
}

static void decode(const char *path, uint64_t *rows, double times[TIMES])
{
	static struct decoding d;
	struct error e = { 0 };
	size_t jobs;

	add_times(times, -1);
	if (recording_open(&d.recording, path, &e))
		die(&e);
	jobs = d.recording.blocks[TABLE_switch].count + d.recording.blocks[TABLE_call].count;
	if (parallel_run(jobs, decode_block, &d))
		exit(1);
	add_times(times, 1);
	*rows = 0;
	for (unsigned int i = 0; i < WORKERS_MAX; i++) {
		columns_release(&d.columns[i]);
		*rows += d.rows[i];
		d.rows[i] = 0;
	}
	recording_close(&d.recording);
}

static void report(const char *path, FILE *out, uint64_t *windows, double times[TIMES])
{
	struct page page = { .file = out, .width = PAGE_WIDTH };
	struct error e = { 0 };
	struct report r;

	add_times(times, -1);
	if (report_open(&r, path, NULL, &e))
		die(&e);
	view_summary(&r, &page);
	view_chains(&r, &page);
	add_times(times, 1);
	*windows = 0;
	for (size_t i = 0; i < r.chains.count; i++)
		*windows += r.chains.chains[i].evidence.windows;
	report_release(&r);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(const double values[TURNS][TIMES], int time)
{
	double sorted[TURNS];

	for (int i = 0; i < TURNS; i++)
		sorted[i] = values[i][time];
	qsort(sorted, TURNS, sizeof(*sorted), by_value);
	return sorted[TURNS / 2];
}

int main(int argc, char **argv)
{
	static const char *const names[TIMES] = { "elapsed", "CPU" };
	double decoding[TURNS][TIMES] = { { 0 } }, reporting[TURNS][TIMES] = { { 0 } },
	       ratios[TURNS][TIMES];
	FILE *out = fopen("/dev/null", "w");
	uint64_t rows = 0, windows = 0;
	struct rusage usage;

	if (argc != 2 || !out)
		return 2;
	for (int i = 0; i < TURNS; i++) {
		report(argv[1], out, &windows, reporting[i]);
		if (!i)
			getrusage(RUSAGE_SELF, &usage);
		decode(argv[1], &rows, decoding[i]);
		for (int t = 0; t < TIMES; t++)
			ratios[i][t] = reporting[i][t] / decoding[i][t];
	}
	printf("%llu rows, of chains %llu windows; peak %.0f MiB\n", (unsigned long long)rows,
	       (unsigned long long)windows, (double)usage.ru_maxrss / 1024);
	for (int t = 0; t < TIMES; t++)
		printf("%s: decoding %.3f s, whole report with chains %.3f s, ratio %.2f\n",
		       names[t], median(decoding, t), median(reporting, t), median(ratios, t));
	return fclose(out) != 0;
}
