// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who waited for whom: each way by hand, then on recordings of a machine of any size that its
 * pieces add up to the accounts, whatever the spans in which they are read.
 */
#include <string.h>
#include "check.h"
#include "machine.h"
#include "report/timeline.h"
#include "report/waits.h"

#define S MADE_START
#define E MADE_END
#define SLEEPS PREV_SLEEPING
#define PREEMPTED (PREV_RUNNABLE | PREV_PREEMPTED)

static void row(struct made *m, uint32_t cpu, struct row_switch r)
{
	writer_row(m->writer, TABLE_switch, cpu, &r);
}

/* The piece of one waiter, or one of zeros. */
static struct wait_piece piece_of(const struct waits *w, const struct report *r, uint32_t pid,
				  enum wait_how how, uint32_t who)
{
	for (size_t i = 0; i < w->piece_count; i++) {
		const struct wait_piece *p = &w->pieces[i];
		const struct waiter *waiter = &w->waiters[p->waiter];
		uint32_t other = p->process == TASKS_NONE ? 0 : r->tasks.processes[p->process].tgid;

		if (r->tasks.processes[waiter->process].tgid == pid && p->how == how &&
		    other == who)
			return *p;
	}
	return (struct wait_piece){ 0 };
}

static bool is_piece(struct wait_piece p, uint64_t ns, uint64_t count, uint64_t longest)
{
	if (p.ns == ns && p.count == count && p.longest == longest)
		return true;
	printf("  %llu ns, %llu times, %llu longest\n", (unsigned long long)p.ns,
	       (unsigned long long)p.count, (unsigned long long)p.longest);
	return false;
}

static uint64_t sum_of(const struct waits *w, size_t waiter, bool runnable)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->piece_count; i++)
		if (w->pieces[i].waiter == waiter &&
		    wait_how_runnable(w->pieces[i].how) == runnable)
			sum += w->pieces[i].ns;
	return sum;
}

static void adds_up(const struct waits *w, const struct report *r)
{
	uint64_t waiting = 0, blocked = 0, want_waiting = 0, want_blocked = 0;

	for (size_t i = 0; i < w->count; i++) {
		CHECK(sum_of(w, i, true) == w->waiters[i].waiting);
		CHECK(sum_of(w, i, false) == w->waiters[i].blocked);
		waiting += w->waiters[i].waiting;
		blocked += w->waiters[i].blocked;
	}
	for (size_t i = 0; i < r->order_count; i++) {
		want_waiting += r->procs.processes[r->order[i]].a.waiting;
		want_blocked += r->procs.processes[r->order[i]].a.blocked;
	}
	CHECK(waiting == want_waiting && blocked == want_blocked);
}

/*
 * 100 sleeps until 200 wakes it on CPU 1, waits while 300 runs and while CPU 0 idles; it sleeps
 * again until a timer, the disk and the network; at the end it is still asleep.
 */
static void sleeps_and_waits(struct made *m)
{
	made_process(m, 100, "python3");
	made_process(m, 200, "python3");
	made_process(m, 300, "hog");
	row(m, 0,
	    (struct row_switch){ .ts = S + 10000,
				 .prev_tid = 100,
				 .prev_state = SLEEPS,
				 .next_tid = 300,
				 .next_off = 10000,
				 .next_wait = 10000 });
	row(m, 0, (struct row_switch){ .ts = S + 60000, .prev_tid = 300, .prev_state = SLEEPS });
	row(m, 0,
	    (struct row_switch){ .ts = S + 70000,
				 .next_tid = 100,
				 .next_off = 60000,
				 .next_wait = 30000,
				 .waker_tid = 200,
				 .waker_context = WAKER_TASK });
	row(m, 0, (struct row_switch){ .ts = S + 80000, .prev_tid = 100, .prev_state = SLEEPS });
	row(m, 0, (struct row_switch){
		.ts = S + 90000, .next_tid = 100, .next_off = 10000, .waker_context = WAKER_HARDIRQ,
		.waker_vector = VECTOR_HARD_TIMER });
	row(m, 0, (struct row_switch){ .ts = S + 100000, .prev_tid = 100, .prev_state = SLEEPS });
	row(m, 0,
	    (struct row_switch){ .ts = S + 120000,
				 .next_tid = 100,
				 .next_off = 20000,
				 .waker_context = WAKER_SOFTIRQ,
				 .waker_vector = VECTOR_BLOCK });
	row(m, 0, (struct row_switch){ .ts = S + 130000, .prev_tid = 100, .prev_state = SLEEPS });
	row(m, 0,
	    (struct row_switch){ .ts = S + 160000,
				 .next_tid = 100,
				 .next_off = 30000,
				 .waker_context = WAKER_SOFTIRQ,
				 .waker_vector = VECTOR_NET_RX });
	row(m, 0, (struct row_switch){ .ts = S + 200000, .prev_tid = 100, .prev_state = SLEEPS });
	made_coverage(m, 0, E);
}

static void test_ways(void)
{
	struct report r;
	struct waits w;
	struct made m;

	made_begin(&m);
	sleeps_and_waits(&m);
	made_report(&m, true, &r);
	CHECK(!waits_load(&w, &r, TIMELINE_ROWS));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_WOKEN, 200), 30000, 1, 30000));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_RAN, 300), 20000, 1, 20000));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_LATENCY, 0), 10000, 1, 10000));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_TIMER, 0), 10000, 1, 10000));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_DISK, 0), 20000, 1, 20000));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_NETWORK, 0), 30000, 1, 30000));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_OPEN, 0), E - S - 200000, 1, E - S - 200000));
	CHECK(is_piece(piece_of(&w, &r, 300, WAIT_RAN, 100), 10000, 1, 10000));
	adds_up(&w, &r);
	waits_release(&w);
	report_release(&r);
}

/* The quota first, then a wait on CPU 1, then one here; twice, so that the longest counts. */
static void test_throttled_and_moved(void)
{
	struct report r;
	struct waits w;
	struct made m;

	made_begin(&m);
	made_process(&m, 100, "python3");
	made_process(&m, 200, "hog");
	made_process(&m, 300, "other");
	row(&m, 1,
	    (struct row_switch){
		    .ts = S + 1000, .prev_tid = 0, .next_tid = 300, .next_off = 1000 });
	row(&m, 0,
	    (struct row_switch){ .ts = S + 2000,
				 .prev_tid = 100,
				 .prev_state = PREEMPTED,
				 .next_tid = 200,
				 .next_off = 2000 });
	row(&m, 0,
	    (struct row_switch){ .ts = S + 102000,
				 .prev_tid = 200,
				 .prev_state = SLEEPS,
				 .next_tid = 100,
				 .next_off = 100000,
				 .next_wait = 100000,
				 .next_flags = NEXT_FLAG_THROTTLED,
				 .next_throttled = 20000,
				 .migrated_from = 2,
				 .migrated_wait = 30000 });
	row(&m, 0, (struct row_switch){ .ts = S + 110000, .prev_tid = 100, .prev_state = PREEMPTED,
					.next_tid = 200, .next_off = 8000 });
	row(&m, 0,
	    (struct row_switch){ .ts = S + 150000,
				 .prev_tid = 200,
				 .prev_state = SLEEPS,
				 .next_tid = 100,
				 .next_off = 40000,
				 .next_wait = 40000 });
	made_coverage(&m, 0, E);
	made_coverage(&m, 1, E);
	made_report(&m, true, &r);
	CHECK(!waits_load(&w, &r, TIMELINE_ROWS));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_THROTTLED, 0), 20000, 1, 20000));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_RAN, 300), 50000, 1, 50000));
	CHECK(is_piece(piece_of(&w, &r, 100, WAIT_RAN, 200), 70000, 2, 40000));
	adds_up(&w, &r);
	waits_release(&w);
	report_release(&r);
}

/* Of a main, the leader and callers are waiters of their own, the rest by name; workers are whole. */
static void test_waiters(void)
{
	static const uint64_t tids[] = { 100, 101, 102, 103 };
	struct report r;
	struct waits w;
	struct made m;
	size_t singles = 0, joined = 0;

	made_begin(&m);
	for (size_t i = 0; i < 4; i++)
		made_task_row(&m,
			      (struct row_task){ .ts = S,
						 .event = TASK_EVENT_SNAPSHOT,
						 .tid = tids[i],
						 .tgid = 100,
						 .start = tids[i],
						 .process_start = 100,
						 .flags = TASK_FLAG_TREE },
			      i < 2 ? "python3" : "pool");
	writer_row(m.writer, TABLE_call, 0, &(struct row_call){
		.ts = S + 50000, .duration = 100, .tid = 101, .tgid = 100, .operation = 1 });
	for (size_t i = 0; i < 4; i++)
		row(&m, 0,
		    (struct row_switch){ .ts = S + 10000 * (i + 1),
					 .prev_tid = i ? tids[i - 1] : 0,
					 .prev_state = SLEEPS,
					 .next_tid = tids[i],
					 .next_off = 1000,
					 .waker_tid = 103,
					 .waker_context = WAKER_TASK });
	made_coverage(&m, 0, E);
	made_report(&m, true, &r);
	CHECK(!waits_load(&w, &r, TIMELINE_ROWS));
	CHECK(w.count == 3);
	for (size_t i = 0; i < w.count; i++) {
		const struct waiter *waiter = &w.waiters[i];

		singles += waiter->thread != TASKS_NONE && waiter->threads == 1;
		joined += waiter->thread == TASKS_NONE && waiter->threads == 2 &&
			  !strcmp(waiter->name, "pool");
		CHECK(!waiter->whole);
	}
	CHECK(singles == 2 && joined == 1 && w.waiters[0].calls && !w.waiters[1].calls);
	for (size_t i = 0; i < w.piece_count; i++)
		if (w.pieces[i].how == WAIT_WOKEN)
			CHECK(r.tasks.threads[w.pieces[i].thread].tid == 102 &&
			      w.pieces[i].threads == 2);
	adds_up(&w, &r);
	waits_release(&w);
	report_release(&r);
}

static void same_pieces(const struct waits *a, const struct waits *b)
{
	if (!check_that(a->piece_count == b->piece_count, "number of pieces", __FILE__, __LINE__))
		return;
	for (size_t i = 0; i < a->piece_count; i++)
		CHECK(!memcmp(&a->pieces[i], &b->pieces[i], sizeof(a->pieces[i])));
}

static void one_machine(const struct machine_options *o, uint64_t *kinds)
{
	static const size_t rows[] = { TIMELINE_ROWS, 300, 20, 1 };
	struct machine_truth t;
	struct waits whole, w;
	struct report r;
	struct made m;

	made_begin(&m);
	machine_run(&m, o, &t);
	made_report(&m, true, &r);
	CHECK(!waits_load(&whole, &r, rows[0]));
	adds_up(&whole, &r);
	for (size_t i = 1; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK(!waits_load(&w, &r, rows[i]));
		same_pieces(&whole, &w);
		waits_release(&w);
	}
	for (size_t i = 0; i < whole.piece_count; i++)
		kinds[whole.pieces[i].how]++;
	waits_release(&whole);
	report_release(&r);
	machine_release(&t);
}

static void test_machines(void)
{
	uint64_t kinds[WAIT_HOWS] = { 0 };

	for (uint64_t seed = 1; seed <= 20; seed++)
		one_machine(
			&(struct machine_options){
				.seed = seed,
				.cpus = 1 + (uint32_t)(seed % 3),
				.threads = 4 + (uint32_t)(seed % 20),
				.steps = 1500,
				.unknown = seed % 4 ? 0 : 5,
				.lost = seed % 5 ? 0 : 5,
				.mute = seed % 2 ? 0 : 40,
			},
			kinds);
	CHECK(kinds[WAIT_RAN] && kinds[WAIT_LATENCY] && kinds[WAIT_UNRECORDED] && kinds[WAIT_OPEN]);
}

int main(void)
{
	test_ways();
	test_throttled_and_moved();
	test_waiters();
	test_machines();
	return check_result();
}
