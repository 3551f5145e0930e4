// SPDX-License-Identifier: BSD-2-Clause
/* CUDA calls: what is counted where, first calls, errors, open calls, reading them twice. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "made.h"

#define S MADE_START
#define E MADE_END

/* A process whose start is recorded: forked inside the span. */
static void forked(struct made *m, uint64_t pid, const char *name)
{
	made_task(m, TASK_EVENT_FORK, S + 1, pid, pid, pid, TASK_FLAG_TREE, name);
}

static void test_counts(void)
{
	const struct latency_row *row;
	struct report r;
	struct made m;

	made_begin(&m);
	forked(&m, 10, "a");
	made_process(&m, 20, "there before");
	made_call(&m, S + 1000, 500, 10, 1, 0, 0);	/* the first */
	made_call(&m, S + 1010, 5, 10, 1, 1, 0);	/* nested */
	made_call(&m, S + 1030, 7, 10, 1, 0, 2);	/* failed */
	made_call(&m, S + 1050, 9, 10, 1, 0, 0);
	made_call(&m, S + 1051, 4, 10, 3, 0, 600);	/* an answer */
	made_call(&m, S + 1060, 6, 10, 1, 0, 600);	/* not from a query: an error */
	made_call(&m, S + 1100, 50, 20, 1, 0, 0);
	made_report(&m, true, &r);

	row = made_row(&r, 10, "cudaLaunchKernel");
	CHECK(row->calls == 5 && row->failed == 2 && row->nested == 1 && row->open == 0);
	CHECK(row->has_first && row->first == 500 && row->n == 2);
	CHECK(row->p50 == 5 && row->p95 == 9 && row->p99 == 9 && row->max == 9);
	CHECK(row->total == 509);
	row = made_row(&r, 10, "cudaStreamQuery");
	CHECK(row->calls == 1 && row->failed == 0 && row->first == 4);
	CHECK(row->n == 0 && row->max == 0 && row->total == 4);
	row = made_row(&r, 20, "cudaLaunchKernel");
	CHECK(!row->has_first && row->n == 1 && row->p50 == 50 && row->max == 50);
	row = made_row(&r, 0, "cudaLaunchKernel");
	CHECK(row->calls == 6 && row->n == 3 && !row->has_first && row->firsts == 1);
	CHECK(row->p50 == 9 && row->max == 50 && row->total == 559);
	CHECK(r.latency.error_count == 4);
	for (size_t i = 0; i < 4; i++) {
		const struct latency_error *e = &r.latency.errors[i];

		CHECK(e->count == 1 && e->code == (i % 2 ? 600 : 2));
		CHECK((e->process == LATENCY_ALL) == (i < 2));
		CHECK(i < 2 || r.tasks.processes[e->process].tgid == 10);
	}
	CHECK(r.latency.calls == 7);
	report_release(&r);
}

/* The first call is the one that began first, wherever its row stands. */
static void test_first(void)
{
	const struct latency_row *row;
	struct report r;
	struct made m;

	made_begin(&m);
	forked(&m, 10, "a");
	made_call(&m, S + 200, 20, 10, 1, 0, 0);
	made_call(&m, S + 900, 800, 10, 1, 0, 0);	/* began before the other one */
	made_call(&m, S + 950, 800, 10, 1, 0, 2);	/* a failed one is never it */
	made_report(&m, true, &r);

	row = made_row(&r, 10, "cudaLaunchKernel");
	CHECK(row->first == 800 && row->first_ts == S + 100);
	CHECK(row->n == 1 && row->max == 20 && row->p99 == 20);
	report_release(&r);
}

static void test_open(void)
{
	struct row_call hung = { .ts = S + 5000, .duration = 4000, .tid = 10, .tgid = 10,
				 .operation = 2, .flags = CALL_FLAG_OPEN };
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_process(&m, 20, "b");
	writer_row(m.writer, TABLE_call, 0, &hung);
	/* Found open twice; one of the keyframe's calls returned afterwards, one before the last. */
	made_state(&m, S + 3000, 20, 0, THREAD_BLOCKED, S, 0);
	made_open_call(&m, S + 3000, 20, 1, S + 2500);
	made_open_call(&m, S + 3000, 20, 2, S + 2000);
	made_state(&m, E - 100, 20, 0, THREAD_BLOCKED, S, 0);
	made_open_call(&m, E - 100, 20, 2, S + 2000);
	made_open_call(&m, E - 100, 20, 4, E - 200);
	made_call(&m, E - 50, 150, 20, 4, 0, 0);
	made_report(&m, true, &r);

	CHECK(r.latency.open_count == 2);
	CHECK(r.latency.open[0].age == E - (S + 2000));
	CHECK(r.latency.open[0].reason == OPEN_AT_END);
	CHECK(r.latency.open[1].age == 4000 && r.latency.open[1].reason == OPEN_THREAD_ENDED);
	CHECK(made_row(&r, 20, "cudaStreamSynchronize")->open == 1);
	CHECK(made_row(&r, 20, "cudaStreamSynchronize")->calls == 0);
	CHECK(!made_row(&r, 20, "cudaLaunchKernel"));
	CHECK(made_row(&r, 20, "cuLaunchKernel")->calls == 1);
	CHECK(made_row(&r, 0, "cudaStreamSynchronize")->open == 2);
	report_release(&r);
}

static void fill_many(struct made *m)
{
	uint64_t state = 1;

	made_begin(m);
	forked(m, 10, "a");
	forked(m, 20, "b");
	for (uint64_t i = 0; i < 30000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		made_call(m, S + 100 + i * 10, state >> (i % 50 ? 50 : 30) & ~0x3ull,
			  i % 3 ? 10 : 20, 1 + i % 2, 0, i % 97 ? 0 : 700);
	}
}

/* Too many durations to keep: the rows read again must give the same figures. */
static void test_twice(void)
{
	struct latency again;
	struct report r;
	struct made m;

	fill_many(&m);
	made_report(&m, true, &r);
	CHECK(latency_load(&again, &r.recording, &r.tasks, &r.keyframes, NULL, 1000) == 0);
	CHECK(again.row_count == r.latency.row_count && again.row_count == 6);
	for (size_t i = 0; i < again.row_count; i++)
		CHECK(!memcmp(&again.rows[i], &r.latency.rows[i], sizeof(*again.rows)) ||
		      (again.rows[i].p50 == r.latency.rows[i].p50 &&
		       again.rows[i].p95 == r.latency.rows[i].p95 &&
		       again.rows[i].p99 == r.latency.rows[i].p99 &&
		       again.rows[i].max == r.latency.rows[i].max &&
		       again.rows[i].n == r.latency.rows[i].n));
	CHECK(again.rows[0].p50 > 0 && again.rows[0].max > again.rows[0].p99);
	latency_release(&again);
	report_release(&r);
}

/* TIDs nobody introduced, operations nobody named. */
static void test_unknown(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_call(&m, S + 100, 10, 77, 1, 0, 0);
	made_call(&m, S + 200, 10, 10, 99, 0, 0);
	made_call(&m, S + 300, 10, UINT64_MAX, 1, 0, 0);
	made_report(&m, true, &r);

	CHECK(r.latency.unknown_operations == 1);
	CHECK(r.latency.process_calls[TASKS_UNKNOWN] == 2);
	CHECK(made_row(&r, 0, "(unnamed)")->calls == 1);
	CHECK(made_row(&r, 0, "cudaLaunchKernel")->calls == 2);
	report_release(&r);
}

int main(void)
{
	test_counts();
	test_first();
	test_open();
	test_twice();
	test_unknown();
	return check_result();
}
