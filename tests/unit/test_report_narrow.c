// SPDX-License-Identifier: BSD-2-Clause
/*
 * A narrowed recording: what threads and CPUs did in it is what they did then in the whole, on
 * recordings of a machine whose truth is known; what is read of the file; calls open at its end.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "machine.h"
#include "report/completeness.h"
#include "report/latency.h"
#include "report/narrow.h"

#define S MADE_START
#define E MADE_END

struct world {
	struct recording recording;
	struct tasks tasks;
	struct keyframes keyframes;
	struct procs procs;
};

static void world_open(struct world *w, const char *path, uint64_t from, uint64_t to)
{
	struct error e = { 0 };

	memset(w, 0, sizeof(*w));
	CHECK(!recording_open(&w->recording, path, &e));
	CHECK(!recording_narrow(&w->recording, from, to, NULL));
	CHECK(!tasks_load(&w->tasks, &w->recording));
	CHECK(!keyframes_load(&w->keyframes, &w->tasks, &w->recording));
	CHECK(!procs_load(&w->procs, &w->recording, &w->tasks, &w->keyframes, NULL));
}

static void world_close(struct world *w)
{
	procs_release(&w->procs);
	keyframes_release(&w->keyframes);
	tasks_release(&w->tasks);
	recording_close(&w->recording);
}

static void finish(struct made *m)
{
	CHECK(!writer_close(m->writer, NULL));
}

static void made_end(struct made *m)
{
	unlink(m->path);
	free(m->path);
}

/* --- by chance */

static uint64_t state;

static uint64_t below(uint64_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 20) % limit;
}

/* What of a life lies in the span; where it says nothing it is unrecorded. */
static void cut(const struct life_truth *l, uint64_t from, uint64_t to, struct life_truth *out)
{
	uint64_t at = from;

	for (size_t i = 0; i < l->count; i++) {
		struct stretch_truth s = l->list[i];

		s.start = s.start > from ? s.start : from;
		s.end = s.end < to ? s.end : to;
		if (s.start >= s.end)
			continue;
		life_add(out, &(struct stretch_truth){ at, s.start, PIECE_UNRECORDED, 0, 0 });
		life_add(out, &s);
		at = s.end;
	}
	life_add(out, &(struct stretch_truth){ at, to, PIECE_UNRECORDED, 0, 0 });
}

static void pieces_of(const struct timeline *tl, uint32_t thread, struct life_truth *out)
{
	struct piece_cursor c;
	struct piece p;

	pieces_begin(&c, tl, thread, tl->recording->start, tl->recording->end, NULL);
	while (pieces_next(&c, &p)) {
		bool placed = p.state == PIECE_RUNNING || p.state == PIECE_WAITING;

		life_add(out, &(struct stretch_truth){ p.start, p.end, p.state,
						       placed ? p.cpu : 0, 0 });
	}
}

static bool same(const struct life_truth *a, const struct life_truth *b)
{
	bool equal = a->count == b->count;

	for (size_t i = 0; equal && i < a->count; i++)
		equal = a->list[i].start == b->list[i].start && a->list[i].end == b->list[i].end &&
			a->list[i].state == b->list[i].state && a->list[i].cpu == b->list[i].cpu;
	return equal;
}

static void print_life(const char *name, const struct life_truth *l)
{
	printf("  %s: %zu,", name, l->count);
	for (size_t i = 0; i < l->count && i < 6; i++)
		printf(" %c%u %llu-%llu", "?rwbu"[l->list[i].state], l->list[i].cpu,
		       (unsigned long long)(l->list[i].start - S),
		       (unsigned long long)(l->list[i].end - S));
	printf("\n");
}

static uint64_t sum_of(const struct life_truth *l, enum piece_state piece, uint64_t from,
		       uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->count; i++) {
		uint64_t start = l->list[i].start > from ? l->list[i].start : from;
		uint64_t end = l->list[i].end < to ? l->list[i].end : to;

		sum += l->list[i].state == piece && start < end ? end - start : 0;
	}
	return sum;
}

static bool same_sums(const struct thread_account *a, const struct life_truth *want)
{
	return a->a.running == sum_of(want, PIECE_RUNNING, a->begin, a->end) &&
	       a->a.waiting == sum_of(want, PIECE_WAITING, a->begin, a->end) &&
	       a->a.blocked == sum_of(want, PIECE_BLOCKED, a->begin, a->end) &&
	       a->a.unrecorded == sum_of(want, PIECE_UNRECORDED, a->begin, a->end);
}

static void compare_threads(const struct world *w, const struct timeline *tl,
			    const struct machine_truth *t)
{
	const struct recording *r = &w->recording;

	for (uint32_t i = 0; i < t->thread_count; i++) {
		uint32_t thread = tasks_thread(&w->tasks, MACHINE_TID + i, r->end);
		struct life_truth want = { 0 }, got = { 0 };

		if (thread == TASKS_UNKNOWN || !t->threads[i].count)
			continue;
		cut(&t->threads[i], r->start, r->end, &want);
		pieces_of(tl, thread, &got);
		if (!check_that(same(&got, &want), "thread as it was", __FILE__, __LINE__) ||
		    !check_that(same_sums(&w->procs.threads[thread], &want), "its sums", __FILE__,
				__LINE__)) {
			printf("  thread %u\n", MACHINE_TID + i);
			print_life("got ", &got);
			print_life("want", &want);
		}
		free(want.list);
		free(got.list);
	}
}

static void compare_cpus(const struct world *w, const struct machine_truth *t)
{
	const struct recording *r = &w->recording;

	for (uint32_t cpu = 0; cpu < r->cpus && cpu < MACHINE_CPUS; cpu++) {
		const struct cpu_account *c = &w->procs.cpus[cpu];
		uint64_t idle = 0;

		for (size_t k = 0; k < t->cpus[cpu].count; k++) {
			const struct stretch_truth *s = &t->cpus[cpu].list[k];
			uint64_t start = s->start > r->start ? s->start : r->start;
			uint64_t end = s->end < r->end ? s->end : r->end;

			idle += !s->tid && start < end ? end - start : 0;
		}
		CHECK(!c->present || c->busy + c->idle + c->unrecorded == r->end - r->start);
		CHECK(!c->present || c->idle == idle);
	}
}

/* Anywhere, and at the very moments of changes; of any length. */
static void choose(const struct recording *r, const struct machine_truth *t, uint64_t *from,
		   uint64_t *to)
{
	const struct life_truth *l = &t->cpus[0];
	uint64_t span = r->end - r->start, length = 1 + below(below(2) ? span - 1 : span / 100 + 1);

	*from = r->start + below(span - length + 1);
	if (below(2) && l->count > 1)
		*from = l->list[below(l->count)].start;
	*to = *from + length < r->end ? *from + length : r->end;
	if (below(3) == 0 && l->count > 1)
		*to = l->list[below(l->count)].end;
	if (*to <= *from)
		*to = *from + 1 <= r->end ? *from + 1 : r->end;
}

static void one_part(const char *path, const struct recording *whole, const struct machine_truth *t)
{
	struct timeline tl;
	uint64_t from, to;
	struct world w;

	choose(whole, t, &from, &to);
	if (from >= to)
		return;
	world_open(&w, path, from, to);
	CHECK(!timeline_open(&tl, &w.recording, &w.tasks, &w.procs));
	CHECK(!timeline_load(&tl, from, to + 1));
	compare_threads(&w, &tl, t);
	compare_cpus(&w, t);
	timeline_release(&tl);
	world_close(&w);
}

static void test_machines(void)
{
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct machine_options o = {
			.seed = seed, .cpus = 1 + (uint32_t)(seed % 3),
			.threads = 4 + (uint32_t)(seed % 20), .steps = 2000,
		};
		struct machine_truth t;
		struct world whole;
		struct made m;

		state = seed;
		made_begin(&m);
		machine_run(&m, &o, &t);
		finish(&m);
		world_open(&whole, m.path, 0, UINT64_MAX);
		CHECK(!whole.recording.narrowed);
		for (unsigned int i = 0; i < 30; i++)
			one_part(m.path, &whole.recording, &t);
		world_close(&whole);
		made_end(&m);
		machine_release(&t);
	}
}

/* --- by hand */

/*
 * CPU 1 has no row at all, CPU 0 none near the part; a keyframe after it, and rows far behind.
 * 20 fell asleep before it, and was woken long after the keyframe; 30 runs on CPU 1 all the time.
 */
static void test_quiet(void)
{
	struct world w;
	struct made m;
	uint32_t t;

	made_begin(&m);
	for (uint64_t pid = 10; pid <= 30; pid += 10)
		made_process(&m, pid, "a");
	made_switch(&m, 0, S + 100, 20, PREV_SLEEPING, 10, 100, 100);
	CHECK(!writer_flush(m.writer, NULL));
	made_state(&m, S + 500000, 10, 0, THREAD_RUNNING, S + 100, 0);
	made_state(&m, S + 500001, 20, 0, THREAD_BLOCKED, S + 100, 0);
	made_state(&m, S + 500002, 30, 1, THREAD_RUNNING, 0, 0);
	made_coverage(&m, 0, S + 500000);
	made_coverage(&m, 1, S + 500000);
	made_switch(&m, 0, S + 900000, 10, PREV_SLEEPING, 20, 899900, 10);
	finish(&m);
	world_open(&w, m.path, S + 1000, S + 3000);
	t = tasks_thread(&w.tasks, 10, S + 3000);
	CHECK(w.procs.threads[t].a.running == 2000 && !w.procs.threads[t].a.voluntary);
	t = tasks_thread(&w.tasks, 20, S + 3000);
	CHECK(w.procs.threads[t].a.blocked == 2000 && w.procs.threads[t].a.off_periods == 1);
	t = tasks_thread(&w.tasks, 30, S + 3000);
	CHECK(w.procs.threads[t].a.running == 2000);
	CHECK(!w.procs.rows && w.procs.cpus[0].busy == 2000 && w.procs.cpus[1].busy == 2000);
	CHECK(!w.recording.blocks[TABLE_switch].count && w.recording.all[TABLE_switch].count == 2);
	world_close(&w);
	made_end(&m);
}

static void open_calls(const char *path, uint64_t from, uint64_t to, uint64_t calls, size_t open)
{
	struct latency l;
	struct world w;

	world_open(&w, path, from, to);
	CHECK(!latency_load(&l, &w.recording, &w.tasks, &w.keyframes, NULL, LATENCY_KEEP));
	if (!check_that(l.calls == calls && l.open_count == open, "calls", __FILE__, __LINE__))
		printf("  %llu-%llu: %llu calls, %zu open\n", (unsigned long long)(from - S),
		       (unsigned long long)(to - S), (unsigned long long)l.calls, l.open_count);
	latency_release(&l);
	world_close(&w);
}

/* Two calls one after the other, and a third that never returns. */
static void test_open_calls(void)
{
	struct row_call call = { .ts = S + 200, .duration = 100, .tid = 10, .tgid = 10,
				 .operation = 1 };
	struct row_state hung = { .ts = E, .kind = STATE_KIND_OPEN_CALL, .tid = 10, .tgid = 10,
				  .since = S + 500, .operation = 2 };
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	writer_row(m.writer, TABLE_call, 0, &call);
	call.ts = S + 400;
	writer_row(m.writer, TABLE_call, 1, &call);
	made_state(&m, E, 10, 0, THREAD_BLOCKED, S + 500, 0);
	writer_row(m.writer, TABLE_state, 0, &hung);
	made_coverage(&m, 0, E);
	made_coverage(&m, 1, E);
	finish(&m);
	open_calls(m.path, S, S + 100, 0, 0);
	open_calls(m.path, S, S + 101, 0, 1);
	open_calls(m.path, S + 100, S + 200, 0, 1);
	open_calls(m.path, S + 150, S + 201, 1, 0);
	open_calls(m.path, S + 200, S + 350, 1, 1);
	open_calls(m.path, S + 401, S + 500, 0, 0);
	open_calls(m.path, S + 401, S + 501, 0, 1);
	open_calls(m.path, S + 600, E, 0, 1);
	open_calls(m.path, S, E, 2, 1);
	made_end(&m);
}

static bool is_lossy(const char *path, uint64_t from, uint64_t to)
{
	struct completeness c;
	struct world w;
	bool lossy;

	world_open(&w, path, from, to);
	CHECK(!completeness_load(&c, &w.recording));
	lossy = c.switches_lossy;
	CHECK(!c.complete && c.lost && !c.calls_lossy && lossy == !!c.second_count);
	completeness_release(&c);
	world_close(&w);
	return lossy;
}

/* Only what overlaps a loss rests on lost events; the recording is not complete in any case. */
static void test_losses(void)
{
	struct row_loss loss = { SOURCE_SWITCH, 0, S + 1000, S + 2000, 5, LOSS_RING_FULL, 0 };
	struct row_counter counter = { .ts = E, .source = SOURCE_SWITCH, .entries = 5, .lost = 5 };
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	writer_row(m.writer, TABLE_loss, 0, &loss);
	writer_row(m.writer, TABLE_counter, 0, &counter);
	finish(&m);
	CHECK(!is_lossy(m.path, S, S + 1000));
	CHECK(is_lossy(m.path, S, S + 1001));
	CHECK(is_lossy(m.path, S + 1500, S + 1600));
	CHECK(is_lossy(m.path, S + 2000, E));
	CHECK(!is_lossy(m.path, S + 2001, E));
	made_end(&m);
}

int main(void)
{
	test_machines();
	test_quiet();
	test_open_calls();
	test_losses();
	return check_result();
}
