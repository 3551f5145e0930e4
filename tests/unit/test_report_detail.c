// SPDX-License-Identifier: BSD-2-Clause
/* One operation in detail: what counts where, partitions, first calls, slowest calls, names. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "made.h"
#include "report/detail.h"

#define S MADE_START
#define E MADE_END

static void call(struct made *m, uint64_t start, uint64_t ns, uint64_t tid, struct row_call rest)
{
	rest.ts = S + start + ns;
	rest.duration = ns;
	rest.tid = rest.tgid = tid;
	rest.operation = rest.operation ? rest.operation : 1;
	writer_row(m->writer, TABLE_call, 0, &rest);
}

static void load(struct detail *d, struct report *r, const char *name, uint64_t slowest)
{
	const struct latency_row *row = NULL;
	struct error e = { 0 };

	CHECK(!detail_find(r, "op-detail", name, &row, &e));
	CHECK(!detail_load(d, r, row, slowest));
}

/* The figures all partitions must add up to, and the operation's row has. */
static void check_sums(const struct detail *d)
{
	uint64_t binned = 0;

	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++) {
		struct detail_class sum = { 0 };

		for (size_t i = 0; i < d->counts[p]; i++) {
			const struct detail_class *c = &d->classes[p][i];

			sum.calls += c->calls;
			sum.failed += c->failed;
			sum.nested += c->nested;
			sum.good += c->good;
			sum.n += c->n;
			sum.total += c->total;
			sum.bytes += c->bytes;
			sum.max = c->max > sum.max ? c->max : sum.max;
			CHECK(c->p50 <= c->p99 && c->p99 <= c->max);
			CHECK(c->n >= 100 || c->p99 == c->max);
		}
		CHECK(sum.calls == d->row->calls && sum.failed == d->row->failed);
		CHECK(sum.nested == d->row->nested && sum.good == d->row->good);
		CHECK(sum.n == d->row->n && sum.total == d->row->total && sum.max == d->row->max);
		CHECK(sum.bytes == d->row->bytes);
	}
	for (size_t i = 0; i < DETAIL_BINS; i++)
		binned += d->bins[i];
	CHECK(binned == d->row->n);
	CHECK(d->whole.calls == d->row->calls && d->whole.n == d->row->n);
}

static const struct detail_class *class_of(const struct detail *d, enum detail_partition p, uint64_t key)
{
	static const struct detail_class none;

	for (size_t i = 0; i < d->counts[p]; i++)
		if (d->classes[p][i].key == key)
			return &d->classes[p][i];
	CHECK(!"such a class");
	return &none;
}

static void make_copies(struct made *m)
{
	const uint64_t sized = CALL_FLAG_BYTES, kind = CALL_FLAG_KIND, stream = CALL_FLAG_STREAM;

	made_begin(m);
	made_task(m, TASK_EVENT_FORK, S + 1, 10, 10, 10, TASK_FLAG_TREE, "a");
	made_process(m, 20, "b");
	call(m, 100, 900, 10, (struct row_call){ .flags = sized, .bytes = 64 });	/* the first */
	call(m, 2000, 10, 10, (struct row_call){ .flags = sized | kind, .bytes = 127, .kind = 1 });
	call(m, 2100, 20, 10, (struct row_call){ .flags = sized | kind, .bytes = 128, .kind = 9 });
	call(m, 2200, 30, 10, (struct row_call){ .flags = sized | stream, .bytes = 0, .depth = 1 });
	call(m, 2300, 40, 20, (struct row_call){ .flags = stream, .stream = 1, .code = 2, .bytes = 9 });
	call(m, 2400, 50, 20, (struct row_call){ .flags = stream, .stream = 2 });
	call(m, 2500, 60, 20, (struct row_call){ .flags = stream, .stream = 0xabc0 });
	call(m, 2600, 70, 10, (struct row_call){ .flags = stream, .stream = 0xabc0 });
	call(m, 2700, 80, 10, (struct row_call){ .flags = CALL_FLAG_OPEN });
	call(m, 2800, 80, 10, (struct row_call){ .operation = 2 });
}

static void test_classes(void)
{
	const struct detail_class *c;
	struct detail d;
	struct report r;
	struct made m;

	make_copies(&m);
	made_report(&m, true, &r);
	load(&d, &r, "cudaLaunchKernel", 3);
	check_sums(&d);
	CHECK(d.row->calls == 8 && d.row->n == 6 && d.row->failed == 1);
	CHECK(d.counts[DETAIL_THREAD] == 2);
	c = &d.classes[DETAIL_THREAD][0];	/* by total time */
	CHECK(r.tasks.threads[c->key].tid == 10 && c->calls == 5 && c->n == 4 && c->nested == 1);
	CHECK(c->total == 1000 && c->p50 == 20 && c->p99 == 70 && c->max == 70);
	/* Sizes come in order: none, 0, 64 to 127, 128 to 255. The failed call says none. */
	CHECK(d.counts[DETAIL_SIZE] == 4 && d.classes[DETAIL_SIZE][0].key == DETAIL_SIZE_NONE);
	CHECK(d.classes[DETAIL_SIZE][0].calls == 4 && d.classes[DETAIL_SIZE][0].inside == 0);
	CHECK(class_of(&d, DETAIL_SIZE, DETAIL_SIZE_ZERO)->calls == 1);
	c = class_of(&d, DETAIL_SIZE, 2 + 6);
	CHECK(c->calls == 2 && c->n == 1 && c->bytes == 191 && c->inside == 910 && c->max == 10);
	CHECK(class_of(&d, DETAIL_SIZE, 2 + 7)->bytes == 128);
	CHECK(class_of(&d, DETAIL_KIND, 1)->calls == 1);
	CHECK(class_of(&d, DETAIL_KIND, DETAIL_KIND_OTHER)->calls == 1);
	CHECK(class_of(&d, DETAIL_KIND, DETAIL_NONE)->calls == 6);
	/* One handle in two processes is two streams. */
	CHECK(d.counts[DETAIL_STREAM] == 6);
	CHECK(class_of(&d, DETAIL_STREAM, DETAIL_STREAM_DEFAULT)->calls == 1);
	CHECK(class_of(&d, DETAIL_STREAM, DETAIL_STREAM_LEGACY)->failed == 1);
	CHECK(class_of(&d, DETAIL_STREAM, DETAIL_STREAM_THREAD)->calls == 1);
	CHECK(class_of(&d, DETAIL_STREAM, 0xabc0)->calls == 1);
	CHECK(class_of(&d, DETAIL_STREAM, DETAIL_NONE)->calls == 3);
	CHECK(d.slowest_count == 3 && d.slowest[0].first && d.slowest[0].end == S + 1000);
	CHECK(d.slowest[1].end - d.slowest[1].start == 70 && d.slowest[2].tid == 20);
	detail_release(&d);
	report_release(&r);
}

/* Of several calls that began and ended together with the first, one alone is left out. */
static void test_firsts(void)
{
	struct detail d;
	struct report r;
	struct made m;

	made_begin(&m);
	made_task(&m, TASK_EVENT_FORK, S + 1, 10, 10, 10, TASK_FLAG_TREE, "a");
	made_task_row(&m, (struct row_task){ .ts = S + 2, .event = TASK_EVENT_FORK, .tid = 11, .tgid = 10,
					     .start = 11, .process_start = 10, .flags = TASK_FLAG_TREE }, "a");
	made_call(&m, S + 500, 300, 11, 1, 0, 0);
	made_call(&m, S + 500, 300, 10, 1, 0, 0);
	made_call(&m, S + 500, 300, 10, 1, 1, 0);
	made_call(&m, S + 900, 300, 10, 1, 0, 0);
	made_report(&m, true, &r);
	load(&d, &r, "cudaLaunchKernel", 10);
	check_sums(&d);
	CHECK(d.row->n == 3 && d.slowest_count == 4);
	for (size_t i = 0; i < 4; i++)
		CHECK(d.slowest[i].first == (d.slowest[i].tid == 10 && !d.slowest[i].depth &&
					     d.slowest[i].end == S + 500));
	detail_release(&d);
	report_release(&r);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Many calls over several blocks: percentiles of a class are those of a sorted list. */
static void test_many(void)
{
	enum { COUNT = 30000 };
	uint64_t *values = calloc(COUNT, sizeof(*values)), state = 7, n = 0;
	const struct detail_class *c;
	struct detail d;
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_process(&m, 20, "b");
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t ns;

		state = state * 6364136223846793005u + 1442695040888963407u;
		ns = state >> (i % 50 ? 50 : 26);
		made_call(&m, S + 20 + i * 10, ns, i % 3 ? 10 : 20, 1, 0, i % 97 ? 0 : 700);
		if (i % 3 && i % 97)
			values[n++] = ns < S + 20 + i * 10 ? ns : S + 20 + i * 10;
	}
	made_report(&m, true, &r);
	load(&d, &r, "cudaLaunchKernel", DETAIL_SLOWEST_MAX);
	check_sums(&d);
	qsort(values, n, sizeof(*values), by_value);
	c = r.tasks.threads[d.classes[DETAIL_THREAD][0].key].tid == 10 ? &d.classes[DETAIL_THREAD][0] :
									 &d.classes[DETAIL_THREAD][1];
	CHECK(c->n == n && c->p50 == values[(n + 1) / 2 - 1] && c->max == values[n - 1]);
	CHECK(c->p99 == values[(n * 99 + 99) / 100 - 1]);
	CHECK(d.slowest_count == DETAIL_SLOWEST_MAX);
	for (size_t i = 1; i < d.slowest_count; i++)
		CHECK(d.slowest[i].end - d.slowest[i].start <= d.slowest[i - 1].end - d.slowest[i - 1].start);
	free(values);
	detail_release(&d);
	report_release(&r);
}

/* Too many classes: the partition is left whole, the others are not. */
static void test_folded(void)
{
	struct detail d;
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	for (uint64_t i = 0; i < DETAIL_CLASSES_MAX + 1; i++)
		call(&m, 10 * i, 5 + i % 3, 10, (struct row_call){ .flags = CALL_FLAG_STREAM,
								   .stream = 0x1000 + 16 * i });
	made_report(&m, true, &r);
	load(&d, &r, "cudaLaunchKernel", 1);
	check_sums(&d);
	CHECK(d.folded[DETAIL_STREAM] && d.counts[DETAIL_STREAM] == 1);
	CHECK(!d.folded[DETAIL_THREAD] && d.counts[DETAIL_THREAD] == 1);
	CHECK(d.classes[DETAIL_STREAM][0].p50 == d.row->p50 && d.row->p50 == 6);
	detail_release(&d);
	report_release(&r);
}

/* A call that ran, was preempted, and slept: the account has each to the nanosecond. */
static void test_accounts(void)
{
	struct detail d;
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_process(&m, 20, "hog");
	made_process(&m, 30, "hog");
	made_switch(&m, 0, S + 1000, 0, PREV_RUNNABLE, 10, 1000, 1000);
	made_switch(&m, 0, S + 3000, 10, PREV_RUNNABLE | PREV_PREEMPTED, 20, 3000, 3000);
	made_switch(&m, 0, S + 5100, 20, PREV_SLEEPING, 30, 5100, 5100);
	made_switch(&m, 0, S + 7000, 30, PREV_SLEEPING, 10, 4000, 4000);
	made_switch(&m, 0, S + 8000, 10, PREV_SLEEPING, 0, 0, 0);
	made_switch(&m, 0, S + 8500, 0, PREV_RUNNABLE, 10, 500, 0);
	made_switch(&m, 0, S + 9500, 10, PREV_SLEEPING, 0, 0, 0);
	made_call(&m, S + 9000, 7000, 10, 1, 0, 0);
	made_call(&m, S + 9100, 50, 10, 1, 0, 0);
	made_report(&m, true, &r);
	load(&d, &r, "cudaLaunchKernel", 10);
	CHECK(d.slowest_count == 2);
	CHECK(d.accounts[0].running == 1000 + 1000 + 500);
	CHECK(d.accounts[0].waiting == 4000 && d.accounts[0].blocked == 500);
	CHECK(d.accounts[0].device == 0 && d.accounts[0].unrecorded == 0);
	/* No hog took as much as it ran itself, but both together did. */
	CHECK(d.accounts[0].cause.kind == CAUSE_CPU_CONTENTION && d.accounts[0].cause_ns == 4000);
	CHECK(d.accounts[0].cause.ns == 2100);
	CHECK(r.tasks.processes[d.accounts[0].cause.process].tgid == 20);
	CHECK(d.accounts[1].running == 50 && d.accounts[1].cause.kind == CAUSE_OWN_WORK);
	detail_release(&d);
	report_release(&r);
}

static void finds(const struct report *r, const char *name, const char *want)
{
	const struct latency_row *row = NULL;
	struct error e = { 0 };
	int ret = detail_find(r, "op-detail", name, &row, &e);

	CHECK(want ? !ret && !strcmp(row->operation->name, want) && row->process == LATENCY_ALL :
		     ret == ERROR_USAGE && e.hint[0]);
}

static void test_names(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	for (uint64_t i = 1; i <= 4; i++)
		made_call(&m, S + 100 * i, 10, 10, i, 0, 0);
	made_report(&m, true, &r);
	finds(&r, "cuLaunchKernel", "cuLaunchKernel");
	finds(&r, "CUDALAUNCHKERNEL", "cudaLaunchKernel");
	finds(&r, "streamsync", "cudaStreamSynchronize");
	finds(&r, "LaunchKernel", NULL);
	finds(&r, "cudaFree", NULL);
	report_release(&r);
}

static void test_bins(void)
{
	CHECK(detail_bin(0) == 0 && detail_bin(1) == 1 && detail_bin(3) == 5 && detail_bin(4) == 10);
	CHECK(detail_bin(DETAIL_BINS - 1) == 10000000000000000000ull);
	for (size_t i = 1; i < DETAIL_BINS; i++)
		CHECK(detail_bin(i) > detail_bin(i - 1));
}

int main(void)
{
	test_bins();
	test_names();
	test_classes();
	test_firsts();
	test_many();
	test_folded();
	test_accounts();
	return check_result();
}
