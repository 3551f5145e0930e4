// SPDX-License-Identifier: BSD-2-Clause
/* Where the time went: tiles, breaks, both ends of the span, open periods, pages; by hand. */
#include <stdlib.h>
#include "check.h"
#include "made.h"

#define S MADE_START
#define E MADE_END
#define SLEEPS PREV_SLEEPING
#define PREEMPTED (PREV_RUNNABLE | PREV_PREEMPTED)

/* What a thread of life ns is made of. */
static void parts(const struct thread_account *t, uint64_t running, uint64_t waiting,
		  uint64_t blocked, uint64_t unrecorded)
{
	CHECK(t->a.running == running);
	CHECK(t->a.waiting == waiting);
	CHECK(t->a.blocked == blocked);
	CHECK(t->a.unrecorded == unrecorded);
	CHECK(running + waiting + blocked + unrecorded == t->end - t->begin);
}

/* Two threads take turns on CPU 0; CPU 1 has no row. */
static void test_turns(void)
{
	const struct thread_account *t;
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_process(&m, 20, "b");
	made_switch(&m, 0, S + 100, 10, PREEMPTED, 20, 100, 100);
	made_switch(&m, 0, S + 300, 20, SLEEPS, 10, 200, 200);
	made_switch(&m, 0, S + 700, 10, SLEEPS, 0, 0, 0);
	made_switch(&m, 0, S + 900, 0, 0, 20, 600, 50);
	made_coverage(&m, 0, E);
	made_coverage(&m, 1, E);
	made_report(&m, true, &r);

	t = made_thread_account(&r, 10);
	parts(t, 100 + 400, 200, E - (S + 700), 0);
	CHECK(t->a.voluntary == 1 && t->a.involuntary == 1 && t->a.off_periods == 2);
	CHECK(t->a.off_max == E - (S + 700) && t->a.off_max_end == E);
	t = made_thread_account(&r, 20);
	parts(t, 200 + (E - (S + 900)), 100 + 50, 550, 0);
	CHECK(t->a.voluntary == 1 && t->a.involuntary == 0 && t->a.off_periods == 2);
	CHECK(t->a.off_max == 600 && t->a.off_max_end == S + 900);
	CHECK(r.procs.cpus[0].idle == 200 && r.procs.cpus[0].busy == E - S - 200);
	CHECK(r.procs.cpus[1].idle == E - S && r.procs.cpus[1].busy == 0);
	CHECK(r.procs.breaks == 0 && r.procs.rows == 4 && r.procs.inconsistent == 0);
	CHECK(r.system.busy == E - S - 200 && r.system.cpu_time == 2 * (E - S));
	CHECK(r.system.runnable == r.procs.running + r.procs.waiting);
	report_release(&r);
}

/* A row that never came: the tile is unrecorded, both threads are told of it. */
static void test_break(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_process(&m, 20, "b");
	made_switch(&m, 0, S + 100, 10, SLEEPS, 0, 0, 0);
	made_switch(&m, 0, S + 200, 0, 0, 10, 100, 10);
	made_switch(&m, 0, S + 600, 20, SLEEPS, 0, 0, 0);
	made_coverage(&m, 0, E);
	made_report(&m, true, &r);

	CHECK(r.procs.breaks == 1 && r.procs.cpus[0].breaks == 1);
	CHECK(r.procs.cpus[0].unrecorded == 400);
	parts(made_thread_account(&r, 10), 100, 10, 90, E - (S + 200));
	parts(made_thread_account(&r, 20), 0, 0, E - (S + 600), 600);
	CHECK(made_process_account(&r, 10)->a.breaks == 1);
	CHECK(made_process_account(&r, 20)->a.breaks == 1);
	CHECK(r.completeness.complete);
	report_release(&r);
}

/* Born and gone inside the span, seen by keyframes only, and waiting at the end. */
static void test_lives(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "sleeper");
	made_process(&m, 20, "spinner");
	made_process(&m, 40, "waiter");
	made_task(&m, TASK_EVENT_FORK, S + 50, 30, 30, 30, TASK_FLAG_TREE, "short");
	made_task(&m, TASK_EVENT_EXIT, S + 180, 30, 30, 30,
		  TASK_FLAG_TREE | TASK_FLAG_GROUP_DEAD, "short");
	made_switch(&m, 0, S + 80, 0, 0, 30, 30, 30);
	made_switch(&m, 0, S + 200, 30, PREV_DEAD, 40, 200, 20);
	made_switch(&m, 0, S + 300, 40, PREEMPTED, 0, 0, 0);
	made_state(&m, E - 10, 10, 0, THREAD_BLOCKED, 0, 0);
	made_state(&m, E - 10, 20, 1, THREAD_RUNNING, 0, 0);
	made_state(&m, E - 10, 40, 0, THREAD_WAITING, S + 300, S + 300);
	made_coverage(&m, 0, E);
	made_coverage(&m, 1, E);
	made_report(&m, true, &r);

	parts(made_thread_account(&r, 10), 0, 0, E - S, 0);
	parts(made_thread_account(&r, 20), E - S, 0, 0, 0);
	parts(made_thread_account(&r, 30), 120, 30, 0, 0);
	CHECK(made_thread_account(&r, 30)->end == S + 200);
	CHECK(made_thread_account(&r, 30)->a.voluntary == 1);
	parts(made_thread_account(&r, 40), 100, 20 + E - (S + 300), 180, 0);
	CHECK(made_process_account(&r, 40)->stalls[0].off == E - (S + 300));
	CHECK(made_process_account(&r, 40)->stalls[0].open);
	CHECK(made_process_account(&r, 40)->stalls[1].off == 200);
	CHECK(r.procs.cpus[1].busy == E - S);
	report_release(&r);
}

/* In a damaged file a thread may end twice: the last one counts, whatever order CPUs are gone through. */
static void test_two_ends(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_switch(&m, 0, S + 300, 10, PREV_DEAD, 0, 0, 0);
	made_switch(&m, 1, S + 100, 10, PREV_DEAD, 0, 0, 0);
	made_report(&m, true, &r);
	CHECK(made_thread_account(&r, 10)->end == S + 300);
	report_release(&r);
}

/* Not closed: what comes after the least covered CPU does not count. */
static void test_not_closed(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_switch(&m, 0, S + 100, 10, SLEEPS, 0, 0, 0);
	made_switch(&m, 0, S + 500, 0, 0, 10, 400, 100);
	made_switch(&m, 1, S + 50, 0, 0, 0, 0, 0);
	made_call(&m, S + 90, 10, 10, 1, 0, 0);
	made_call(&m, S + 600, 30, 10, 1, 0, 0);
	made_coverage(&m, 0, S + 900);
	made_coverage(&m, 1, S + 400);
	made_report(&m, false, &r);

	CHECK(!r.completeness.closed && !r.completeness.complete);
	CHECK(r.covered_until == 400);
	parts(made_thread_account(&r, 10), 100, 0, 300, 0);
	CHECK(r.procs.cpus[0].idle == 300);
	CHECK(r.latency.calls == 1);
	report_release(&r);
}

/* Who left first cannot have been there since the start when it arrived later or elsewhere. */
static void test_first_row(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_task(&m, TASK_EVENT_FORK, S + 50, 30, 30, 30, TASK_FLAG_TREE, "born later");
	made_switch(&m, 0, S + 20, 0, 0, 10, 20, 5);
	made_switch(&m, 0, S + 60, 10, SLEEPS, 0, 0, 0);
	made_switch(&m, 1, S + 200, 30, SLEEPS, 0, 0, 0);
	made_coverage(&m, 0, E);
	made_coverage(&m, 1, E);
	made_report(&m, true, &r);

	CHECK(r.procs.cpus[1].unrecorded == 200);
	parts(made_thread_account(&r, 30), 0, 0, E - (S + 200), 150);
	report_release(&r);
}

/* Counts on switch rows, in long slices, and pending at the end; the recorder is apart. */
static void test_pages_and_recorder(void)
{
	struct row_page page = { S + 300, 10, 1024, 2048 };
	struct row_switch row = { .ts = S + 400, .prev_tid = 10, .prev_state = SLEEPS,
				  .prev_page_events = 3, .prev_pages = 12, .next_tid = 50,
				  .next_off = 400, .next_wait = 400 };
	struct row_state state = { .ts = E - 5, .kind = STATE_KIND_THREAD, .tid = 50, .tgid = 50,
				   .state = THREAD_RUNNING, .since = S + 400, .page_events = 7,
				   .pages = 7 };
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_task(&m, TASK_EVENT_SNAPSHOT, S, 50, 50, 50, TASK_FLAG_RECORDER, "ingero-record");
	writer_row(m.writer, TABLE_page, 0, &page);
	writer_row(m.writer, TABLE_switch, 0, &row);
	writer_row(m.writer, TABLE_state, 0, &state);
	made_coverage(&m, 0, E);
	made_report(&m, true, &r);

	CHECK(made_process_account(&r, 10)->a.page_events == 1027);
	CHECK(made_process_account(&r, 10)->a.pages == 2060);
	CHECK(made_process_account(&r, 50)->a.page_events == 7);
	CHECK(r.procs.recorder_running == E - (S + 400) && r.procs.recorder_waiting == 400);
	CHECK(r.procs.running == 400);
	CHECK(r.order_count == 1);
	report_release(&r);
}

/* Many rows in many blocks: the seams between them leave nothing out. */
static void test_seams(void)
{
	uint64_t n = 200000, step = (E - S) * 1000 / n;
	struct report r;
	struct made m;

	made_begin(&m);
	made_fact(&m, "record.stop", "1001000000");
	made_process(&m, 10, "a");
	made_process(&m, 20, "b");
	for (uint64_t i = 1; i < n; i++) {
		made_switch(&m, 0, S + i * step, i % 2 ? 10 : 20, SLEEPS, i % 2 ? 20 : 10, step,
			    step / 2);
		if (i % 5000 == 0)
			writer_flush(m.writer, NULL);
	}
	made_coverage(&m, 0, 1001000000);
	made_report(&m, true, &r);

	CHECK(reader_blocks(r.recording.reader) > 20);
	CHECK(r.procs.breaks == 0 && r.procs.rows == n - 1);
	CHECK(made_thread_account(&r, 10)->a.running == n / 2 * step);
	CHECK(made_thread_account(&r, 20)->a.running == n / 2 * step);
	CHECK(made_thread_account(&r, 10)->a.unrecorded == 0);
	CHECK(made_thread_account(&r, 20)->a.unrecorded == 0);
	CHECK(r.procs.cpus[0].busy == n * step);
	report_release(&r);
}

int main(void)
{
	test_turns();
	test_break();
	test_lives();
	test_two_ends();
	test_not_closed();
	test_first_row();
	test_pages_and_recorder();
	test_seams();
	return check_result();
}
