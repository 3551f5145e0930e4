// SPDX-License-Identifier: BSD-2-Clause
/*
 * What threads and CPUs did at any moment: by hand for each case, then on recordings of a machine
 * whose truth is known, with spans of any size, and beside the sums of procs.h.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "machine.h"

#define S MADE_START
#define E MADE_END
#define SLEEPS PREV_SLEEPING
#define PREEMPTED (PREV_RUNNABLE | PREV_PREEMPTED)
#define SPANS_MAX 64

struct world {
	struct recording recording;
	struct tasks tasks;
	struct keyframes keyframes;
	struct procs procs;
	struct timeline timeline;
	uint64_t borders[SPANS_MAX + 1]; size_t spans;
};

static void world_open(struct world *w, struct made *m, bool closed)
{
	struct error e = { 0 };

	if (closed) {
		CHECK(!writer_close(m->writer, NULL));
	} else {
		CHECK(!writer_flush(m->writer, NULL));
		writer_abandon(m->writer);
	}
	memset(w, 0, sizeof(*w));
	CHECK(!recording_open(&w->recording, m->path, &e));
	CHECK(!tasks_load(&w->tasks, &w->recording));
	CHECK(!keyframes_load(&w->keyframes, &w->tasks, &w->recording));
	CHECK(!procs_load(&w->procs, &w->recording, &w->tasks, &w->keyframes, NULL));
	unlink(m->path);
	free(m->path);
}

static void world_close(struct world *w)
{
	procs_release(&w->procs);
	keyframes_release(&w->keyframes);
	tasks_release(&w->tasks);
	recording_close(&w->recording);
}

static uint32_t thread_of(const struct world *w, uint64_t tid)
{
	return tid ? tasks_thread(&w->tasks, tid, w->recording.end) : TASKS_IDLE;
}

/* One span, or as many as there are borders in between. */
static void set_spans(struct world *w, const uint64_t *borders, size_t count)
{
	w->borders[0] = w->recording.start;
	for (size_t i = 0; i < count; i++)
		w->borders[i + 1] = borders[i];
	w->borders[count + 1] = w->recording.end;
	w->spans = count + 1;
}

/* Add the pieces of a window in the span that is loaded; they must tile it. */
static void add_pieces(struct world *w, uint32_t thread, uint64_t start, uint64_t end, size_t *hint,
		       struct life_truth *out)
{
	struct piece_cursor c;
	struct piece p;
	uint64_t at = start;

	pieces_begin(&c, &w->timeline, thread, start, end, hint);
	while (pieces_next(&c, &p)) {
		bool placed = p.state == PIECE_RUNNING || p.state == PIECE_WAITING;

		CHECK(p.start == at && p.end > p.start && p.end <= end);
		CHECK(!!p.back == (p.state == PIECE_WAITING || p.state == PIECE_BLOCKED));
		CHECK(p.state != PIECE_RUNNING || p.since <= p.start);
		CHECK(!p.left || (p.state == PIECE_RUNNING && p.left->ts >= p.end));
		at = p.end;
		life_add(out,
			 &(struct stretch_truth){ p.start, p.end, p.state, placed ? p.cpu : 0, 0 });
	}
	CHECK(at == end);
}

static void add_slices(struct world *w, uint32_t cpu, uint64_t start, uint64_t end, size_t *hint,
		       struct life_truth *out)
{
	struct slice_cursor c;
	struct slice s;
	uint64_t at = start;

	slices_begin(&c, &w->timeline, cpu, start, end, hint);
	while (slices_next(&c, &s)) {
		CHECK(s.start == at && s.end > s.start && s.end <= end);
		at = s.end;
		life_add(out, &(struct stretch_truth){ s.start, s.end, 0, 0, s.thread });
	}
	CHECK(at == end);
}

struct seen { struct life_truth *threads, *cpus; };

/* Put what one span gave before what later spans gave: the spans come last first. */
static void put_before(struct life_truth *all, struct life_truth *part)
{
	for (size_t i = 0; i < all->count; i++)
		life_add(part, &all->list[i]);
	free(all->list);
	*all = *part;
}

/* A span in several parts, with no hint, one from part to part, or one that is wrong. */
static void in_parts(struct world *w, bool cpu, uint32_t number, uint64_t start, uint64_t end,
		     struct life_truth *out)
{
	size_t hint = number % 4 < 2 ? 0 : number * 7919 % 5000;
	uint64_t part = 1 + (end - start) / (1 + number % 5);

	for (uint64_t at = start; at < end; at += part) {
		uint64_t to = end - at < part ? end : at + part;

		if (cpu)
			add_slices(w, number, at, to, number % 2 ? &hint : NULL, out);
		else
			add_pieces(w, number, at, to, number % 2 ? &hint : NULL, out);
	}
}

/* What every thread and CPU did from start to end, span by span. */
static void look(struct world *w, struct seen *seen)
{
	seen->threads = calloc(w->tasks.thread_count, sizeof(*seen->threads));
	seen->cpus = calloc(w->recording.cpus, sizeof(*seen->cpus));
	CHECK(!timeline_open(&w->timeline, &w->recording, &w->tasks, &w->procs));
	for (size_t i = w->spans; i--;) {
		uint64_t start = w->borders[i], end = w->borders[i + 1];

		CHECK(!timeline_load(&w->timeline, start, end + (i + 1 == w->spans)));
		for (uint32_t t = TASKS_IDLE + 1; t < w->tasks.thread_count; t++) {
			struct life_truth part = { 0 };

			in_parts(w, false, t, start, end, &part);
			put_before(&seen->threads[t], &part);
		}
		for (uint32_t cpu = 0; cpu < w->recording.cpus; cpu++) {
			struct life_truth part = { 0 };

			in_parts(w, true, cpu, start, end, &part);
			put_before(&seen->cpus[cpu], &part);
		}
	}
	timeline_release(&w->timeline);
}

static void seen_release(struct world *w, struct seen *seen)
{
	for (size_t t = 0; t < w->tasks.thread_count; t++)
		free(seen->threads[t].list);
	for (uint32_t cpu = 0; cpu < w->recording.cpus; cpu++)
		free(seen->cpus[cpu].list);
	free(seen->threads);
	free(seen->cpus);
}

/* A few from the first that differs on. */
static void print_life(const char *name, const struct life_truth *l, size_t from)
{
	printf("  %s: %zu,", name, l->count);
	for (size_t i = from; i < l->count && i < from + 6; i++)
		printf(" %c%u/%u %llu-%llu", "?rwbu"[l->list[i].state], l -> list[i].cpu,
		       l->list[i].tid, (unsigned long long)(l->list[i].start - S),
		       (unsigned long long)(l->list[i].end - S));
	printf("\n");
}

static bool same_life(const struct life_truth *a, const struct life_truth *b, const char *what,
		      uint32_t number)
{
	bool same = true;
	size_t from = 0;

	for (size_t i = 0; same && i < a->count && i < b->count; from = i++)
		same = a->list[i].start == b->list[i].start && a->list[i].end == b->list[i].end &&
		       a->list[i].state == b->list[i].state && a->list[i].cpu == b->list[i].cpu &&
		       a->list[i].tid == b->list[i].tid;
	same &= a->count == b->count;
	if (!check_that(same, what, __FILE__, __LINE__)) {
		printf("  %s %u\n", what, number);
		print_life("got ", a, from);
		print_life("want", b, from);
	}
	return same;
}

/* --- by hand */

static void expect(const struct world *w, const struct seen *seen, uint64_t tid,
		   const struct stretch_truth *list)
{
	struct life_truth want = { 0 };

	for (; list->end; list++)
		life_add(&want, &(struct stretch_truth){ S + list->start, S + list->end,
							 list->state, list->cpu, 0 });
	same_life(&seen->threads[thread_of(w, tid)], &want, "thread by hand", (uint32_t)tid);
	free(want.list);
}

/* slices: cpu is left out; tid as recorded, UINT32_MAX not known. */
static void expect_cpu(const struct world *w, const struct seen *seen, uint32_t cpu,
		       const struct stretch_truth *list)
{
	struct life_truth want = { 0 };

	for (; list->end; list++)
		life_add(&want, &(struct stretch_truth){ S + list->start, S + list->end, 0, 0,
			list->tid == UINT32_MAX ? TASKS_UNKNOWN : thread_of(w, list->tid) });
	same_life(&seen->cpus[cpu], &want, "cpu by hand", cpu);
	free(want.list);
}

#define LIST(...) (const struct stretch_truth[]){ __VA_ARGS__, { 0 } }
#define RUN(start, end, cpu) { start, end, PIECE_RUNNING, cpu, 0 }
#define WAIT(start, end, cpu) { start, end, PIECE_WAITING, cpu, 0 }
#define BLOCK(start, end) { start, end, PIECE_BLOCKED, 0, 0 }
#define NOT(start, end) { start, end, PIECE_UNRECORDED, 0, 0 }
#define ON(start, end, tid) { start, end, 0, 0, tid }
#define END (E - S)

/* The same whatever the borders: one span, and several that begin at rows and beside them. */
static void each_way(struct world *w, void (*test)(const struct world *, const struct seen *))
{
	static const uint64_t borders[] = { S + 1,   S + 99,  S + 100, S + 101, S + 299,
					    S + 300, S + 301, S + 350, S + 650, S + 700,
					    S + 701, S + 899, S + 900, S + 901, E - 1 };
	size_t n = sizeof(borders) / sizeof(*borders);
	struct seen seen;

	for (size_t skip = 0; skip <= n; skip++) {
		set_spans(w, borders + skip, n - skip);
		look(w, &seen);
		test(w, &seen);
		seen_release(w, &seen);
	}
}

static void turns(const struct world *w, const struct seen *seen)
{
	expect(w, seen, 10,
	       LIST(RUN(0, 100, 0), WAIT(100, 300, 0), RUN(300, 700, 0), BLOCK(700, END)));
	expect(w, seen, 20,
	       LIST(WAIT(0, 100, 0), RUN(100, 300, 0), BLOCK(300, 850), WAIT(850, 900, 0),
		    RUN(900, END, 0)));
	expect(w, seen, 40, LIST(BLOCK(0, END)));
	expect(w, seen, 50, LIST(RUN(0, END, 1)));
	expect(w, seen, 60, LIST(BLOCK(0, 850), WAIT(850, END, 1)));
	expect_cpu(w, seen, 0,
		   LIST(ON(0, 100, 10), ON(100, 300, 20), ON(300, 700, 10), ON(700, 900, 0),
			ON(900, END, 20)));
	expect_cpu(w, seen, 1, LIST(ON(0, END, 50)));
}

/* Preempted; blocked then waiting; on a CPU to the end, or on one without rows; always asleep. */
static void test_turns(void)
{
	struct world w;
	struct made m;

	made_begin(&m);
	for (uint64_t pid = 10; pid <= 60; pid += 10)
		made_process(&m, pid, "a");
	made_switch(&m, 0, S + 100, 10, PREEMPTED, 20, 100, 100);
	made_switch(&m, 0, S + 300, 20, SLEEPS, 10, 200, 200);
	made_switch(&m, 0, S + 700, 10, SLEEPS, 0, 0, 0);
	made_switch(&m, 0, S + 900, 0, 0, 20, 600, 50);
	made_state(&m, E - 10, 10, 0, THREAD_BLOCKED, S + 700, 0);
	made_state(&m, E - 10, 20, 0, THREAD_RUNNING, S + 900, 0);
	made_state(&m, E - 10, 40, 0, THREAD_BLOCKED, 0, 0);
	made_state(&m, E - 10, 50, 1, THREAD_RUNNING, 0, 0);
	made_state(&m, E - 10, 60, 1, THREAD_WAITING, 0, S + 850);
	made_coverage(&m, 0, E);
	made_coverage(&m, 1, E);
	world_open(&w, &m, true);
	each_way(&w, turns);
	world_close(&w);
}

static void row(struct made *m, uint32_t cpu, struct row_switch values)
{
	writer_row(m->writer, TABLE_switch, cpu, &values);
}

static void arrivals(const struct world *w, const struct seen *seen)
{
	/* Early wake: it waits from the moment it left. */
	expect(w, seen, 10,
	       LIST(RUN(0, 100, 0), WAIT(100, 300, 0), RUN(300, 650, 0), BLOCK(650, 700),
		    WAIT(700, 800, 1), WAIT(800, 900, 0), RUN(900, END, 0)));
	/* Born, then waiting for its first turn. */
	expect(w, seen, 30, LIST(NOT(0, 40), WAIT(40, 100, 0), RUN(100, 300, 0), BLOCK(300, END)));
	/* No storage: how long it was off the CPU is not known. */
	expect(w, seen, 20, LIST(RUN(0, 350, 1), NOT(350, 701), RUN(701, END, 1)));
}

static void test_arrivals(void)
{
	struct world w;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_process(&m, 20, "b");
	made_task(&m, TASK_EVENT_FORK, S + 40, 30, 30, 30, TASK_FLAG_TREE, "c");
	row(&m, 0,
	    (struct row_switch){ .ts = S + 100,
				 .prev_tid = 10,
				 .prev_state = SLEEPS,
				 .next_tid = 30,
				 .next_off = 60,
				 .next_wait = 60,
				 .next_flags = NEXT_FLAG_FIRST });
	row(&m, 0,
	    (struct row_switch){ .ts = S + 300,
				 .prev_tid = 30,
				 .prev_state = SLEEPS,
				 .next_tid = 10,
				 .next_off = 200,
				 .next_wait = 200,
				 .next_flags = NEXT_FLAG_EARLY_WAKE });
	row(&m, 0, (struct row_switch){ .ts = S + 650, .prev_tid = 10, .prev_state = SLEEPS });
	row(&m, 0,
	    (struct row_switch){ .ts = S + 900,
				 .next_tid = 10,
				 .next_off = 250,
				 .next_wait = 200,
				 .migrated_from = 2,
				 .migrated_wait = 100 });
	row(&m, 1, (struct row_switch){ .ts = S + 350, .prev_tid = 20, .prev_state = SLEEPS });
	row(&m, 1,
	    (struct row_switch){ .ts = S + 701, .next_tid = 20, .next_flags = NEXT_FLAG_UNKNOWN });
	made_state(&m, E, 30, 0, THREAD_BLOCKED, S + 300, 0);
	made_coverage(&m, 0, E);
	made_coverage(&m, 1, E);
	world_open(&w, &m, true);
	each_way(&w, arrivals);
	world_close(&w);
}

static void breaks(const struct world *w, const struct seen *seen)
{
	expect(w, seen, 10,
	       LIST(RUN(0, 100, 0), BLOCK(100, 190), WAIT(190, 200, 0), NOT(200, END)));
	expect(w, seen, 20, LIST(NOT(0, 700), BLOCK(700, END)));
	expect(w, seen, 30, LIST(NOT(0, 300), BLOCK(300, END)));
	expect_cpu(w, seen, 0,
		   LIST(ON(0, 100, 10), ON(100, 200, 0), ON(200, 700, UINT32_MAX),
			ON(700, END, 0)));
	expect_cpu(w, seen, 1, LIST(ON(0, 300, UINT32_MAX), ON(300, END, 0)));
}

/* Rows that never came; and one who left first but cannot have been there since the start. */
static void test_breaks(void)
{
	struct world w;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_process(&m, 20, "b");
	made_task(&m, TASK_EVENT_FORK, S + 40, 30, 30, 30, TASK_FLAG_TREE, "c");
	made_switch(&m, 0, S + 100, 10, SLEEPS, 0, 0, 0);
	made_switch(&m, 0, S + 200, 0, 0, 10, 100, 10);
	made_switch(&m, 0, S + 700, 20, SLEEPS, 0, 0, 0);
	made_switch(&m, 1, S + 300, 30, SLEEPS, 0, 0, 0);
	made_coverage(&m, 0, E);
	made_coverage(&m, 1, E);
	world_open(&w, &m, true);
	each_way(&w, breaks);
	world_close(&w);
}

static void not_closed(const struct world *w, const struct seen *seen)
{
	expect(w, seen, 10,
	       LIST(RUN(0, 100, 0), BLOCK(100, 300), WAIT(300, 350, 1), RUN(350, 400, 1)));
	expect(w, seen, 20, LIST(RUN(0, 350, 1), WAIT(350, 400, 1)));
	expect_cpu(w, seen, 0, LIST(ON(0, 100, 10), ON(100, 400, 0)));
}

/* Not closed: what comes after the least covered CPU is not there; a row may be at the very end. */
static void test_not_closed(void)
{
	static const uint64_t borders[] = { S + 100, S + 350 };
	struct seen seen;
	struct world w;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_process(&m, 20, "b");
	made_switch(&m, 0, S + 100, 10, SLEEPS, 0, 0, 0);
	made_switch(&m, 0, S + 500, 0, 0, 10, 10, 10);
	made_switch(&m, 1, S + 350, 20, PREEMPTED, 10, 250, 50);
	made_switch(&m, 1, S + 400, 10, SLEEPS, 20, 50, 50);
	made_coverage(&m, 0, S + 900);
	made_coverage(&m, 1, S + 400);
	world_open(&w, &m, false);
	for (size_t n = 0; n <= 2; n++) {
		set_spans(&w, borders, n);
		look(&w, &seen);
		not_closed(&w, &seen);
		seen_release(&w, &seen);
	}
	world_close(&w);
}

/* The last span is longer by 1 ns: a thread that is off the CPU at the end has no return then. */
static void test_past_the_end(void)
{
	struct piece_cursor c;
	struct piece p;
	struct world w;
	struct made m;
	uint64_t at = S;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_switch(&m, 0, S + 100, 10, SLEEPS, 0, 0, 0);
	world_open(&w, &m, true);
	CHECK(!timeline_open(&w.timeline, &w.recording, &w.tasks, &w.procs));
	CHECK(!timeline_load(&w.timeline, S, E + 1));
	pieces_begin(&c, &w.timeline, thread_of(&w, 10), S, E + 1, NULL);
	while (pieces_next(&c, &p) && CHECK(p.start == at && p.end > at))
		at = p.end;
	CHECK(at == E + 1);
	timeline_release(&w.timeline);
	world_close(&w);
}

/* Values no recorder writes: whatever comes out tiles each window. */
static void test_hostile(void)
{
	static const uint64_t odd[] = {
		0, 1, 50, S - 1, S + 250, UINT32_MAX, UINT64_MAX - 5, UINT64_MAX
	};
	static const uint64_t borders[] = { S + 150, S + 400 };
	struct seen seen;
	struct world w;
	struct made m;

	for (unsigned int i = 0; i < 8 * 8; i++) {
		uint64_t a = odd[i % 8], b = odd[i / 8];

		made_begin(&m);
		made_process(&m, 10, "a");
		made_process(&m, 20, "b");
		row(&m, 0,
		    (struct row_switch){ .ts = S + 100,
					 .prev_tid = 10,
					 .next_tid = 20,
					 .next_off = a,
					 .next_wait = b,
					 .migrated_from = 7,
					 .migrated_wait = a });
		row(&m, 1,
		    (struct row_switch){ .ts = S + 200,
					 .prev_tid = 20,
					 .next_tid = 10,
					 .next_off = b,
					 .next_wait = a,
					 .migrated_from = b,
					 .migrated_wait = b });
		row(&m, 0,
		    (struct row_switch){ .ts = S + 300,
					 .prev_tid = 20,
					 .next_tid = 10,
					 .next_off = 250,
					 .next_wait = a,
					 .migrated_from = 2,
					 .migrated_wait = b });
		row(&m, 1,
		    (struct row_switch){
			    .ts = S + 300, .prev_tid = 10, .next_tid = a, .next_off = b });
		made_state(&m, S + 500, 10, a, (enum thread_state)(1 + i % 4), b, a);
		made_state(&m, b, 20, b, (enum thread_state)(1 + i % 3), a, b);
		made_coverage(&m, 1, E);
		world_open(&w, &m, true);
		set_spans(&w, borders, i % 3);
		look(&w, &seen);
		seen_release(&w, &seen);
		world_close(&w);
	}
}

/* --- pages and reclaim */

static void test_pages(void)
{
	struct row_page page = { S + 400, 10, 1000, 2000 };
	struct row_reclaim reclaim = { S + 250, 100, 10, RECLAIM_GLOBAL, 32 };
	uint64_t events = 0, pages = 0;
	struct piece p;
	struct piece_cursor c;
	struct world w;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "a");
	made_switch(&m, 0, S + 200, 0, 0, 10, 200, 200);
	writer_row(m.writer, TABLE_page, 0, &page);
	row(&m, 0, (struct row_switch){ .ts = S + 500, .prev_tid = 10, .prev_state = SLEEPS,
		.prev_page_events = 100, .prev_pages = 100 });
	writer_row(m.writer, TABLE_reclaim, 0, &reclaim);
	made_coverage(&m, 0, E);
	world_open(&w, &m, true);
	CHECK(!timeline_open(&w.timeline, &w.recording, &w.tasks, &w.procs));
	CHECK(!timeline_load(&w.timeline, S, E + 1));
	/* Half of the flush's time, half of the row's. */
	pieces_begin(&c, &w.timeline, thread_of(&w, 10), S + 300, S + 450, NULL);
	CHECK(pieces_next(&c, &p) && p.state == PIECE_RUNNING && p.since == S + 200);
	timeline_piece_pages(&w.timeline, thread_of(&w, 10), &p, &events, &pages);
	CHECK(events == 500 + 50 && pages == 1000 + 50);
	CHECK(timeline_reclaim(&w.timeline, thread_of(&w, 10), S + 249)->start == S + 150);
	CHECK(!timeline_reclaim(&w.timeline, thread_of(&w, 10), S + 250));
	timeline_release(&w.timeline);
	world_close(&w);
}

/* --- by chance */

static uint64_t state;

static uint64_t below(uint64_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 20) % limit;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Borders anywhere, and at the very moments of changes. */
static void random_spans(struct world *w, const struct machine_truth *t, size_t count)
{
	uint64_t borders[SPANS_MAX];

	for (size_t i = 0; i < count; i++) {
		const struct life_truth *l = &t->cpus[below(MACHINE_CPUS - 1)];
		uint64_t at =
			w->recording.start + 1 + below(w->recording.end - w->recording.start - 1);

		if (below(2) && l->count > 1)
			at = l->list[1 + below(l->count - 1)].start + below(3) - 1;
		borders[i] = at;
	}
	qsort(borders, count, sizeof(*borders), by_value);
	set_spans(w, borders, count);
}

static void compare_truth(const struct world *w, const struct seen *seen,
			  const struct machine_truth *t)
{
	for (uint32_t i = 0; i < t->thread_count; i++) {
		uint32_t thread = thread_of(w, MACHINE_TID + i);
		struct life_truth want = { 0 };
		uint64_t begin, end;

		if (thread == TASKS_UNKNOWN || !t->threads[i].count)
			continue;
		begin = t->threads[i].list[0].start;
		end = t->threads[i].list[t->threads[i].count - 1].end;
		life_add(&want, &(struct stretch_truth){ S, begin, PIECE_UNRECORDED, 0, 0 });
		for (size_t k = 0; k < t->threads[i].count; k++)
			life_add(&want, &t->threads[i].list[k]);
		life_add(&want, &(struct stretch_truth){ end, t->end, PIECE_UNRECORDED, 0, 0 });
		same_life(&seen->threads[thread], &want, "thread as it was", MACHINE_TID + i);
		free(want.list);
	}
	for (uint32_t cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		struct life_truth want = { 0 };

		for (size_t k = 0; k < t->cpus[cpu].count; k++) {
			struct stretch_truth s = t->cpus[cpu].list[k];

			s.tid = thread_of(w, s.tid);
			life_add(&want, &s);
		}
		same_life(&seen->cpus[cpu], &want, "cpu as it was", cpu);
		free(want.list);
	}
}

/* The two ways to the same sums. */
static void compare_sums(const struct world *w, const struct seen *seen)
{
	for (uint32_t t = TASKS_IDLE + 1; t < w->tasks.thread_count; t++) {
		const struct thread_account *a = &w->procs.threads[t];
		uint64_t sums[PIECE_UNRECORDED + 1] = { 0 };

		for (size_t i = 0; i < seen->threads[t].count; i++) {
			const struct stretch_truth *s = &seen->threads[t].list[i];
			uint64_t from = s->start > a->begin ? s->start : a->begin;
			uint64_t to = s->end < a->end ? s->end : a->end;

			sums[s->state] += from < to ? to - from : 0;
		}
		if (!check_that(sums[PIECE_RUNNING] == a->a.running &&
					sums[PIECE_WAITING] == a->a.waiting &&
					sums[PIECE_BLOCKED] == a->a.blocked &&
					sums[PIECE_UNRECORDED] == a->a.unrecorded,
				"sums", __FILE__, __LINE__))
			printf("  thread %u: r %llu w %llu b %llu u %llu, procs %llu %llu %llu %llu\n",
			       w->tasks.threads[t].tid, (unsigned long long)sums[1],
			       (unsigned long long)sums[2], (unsigned long long)sums[3],
			       (unsigned long long)sums[4], (unsigned long long)a->a.running,
			       (unsigned long long)a->a.waiting, (unsigned long long)a->a.blocked,
			       (unsigned long long)a->a.unrecorded);
	}
}

static void compare_seen(const struct world *w, const struct seen *a, const struct seen *b)
{
	for (uint32_t t = TASKS_IDLE + 1; t < w->tasks.thread_count; t++)
		same_life(&a->threads[t], &b->threads[t], "thread, with other borders",
			  w->tasks.threads[t].tid);
	for (uint32_t cpu = 0; cpu < w->recording.cpus; cpu++)
		same_life(&a->cpus[cpu], &b->cpus[cpu], "cpu, with other borders", cpu);
}

static void one_machine(const struct machine_options *o, struct machine_truth *t)
{
	static const size_t counts[] = { 0, 1, 5, 40 };
	struct seen whole, seen;
	struct world w;
	struct made m;

	made_begin(&m);
	machine_run(&m, o, t);
	world_open(&w, &m, true);
	set_spans(&w, NULL, 0);
	look(&w, &whole);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		random_spans(&w, t, counts[i]);
		look(&w, &seen);
		if (!o->lost)
			compare_truth(&w, &seen, t);
		compare_seen(&w, &seen, &whole);
		seen_release(&w, &seen);
	}
	compare_sums(&w, &whole);
	seen_release(&w, &whole);
	world_close(&w);
}

static void test_machines(void)
{
	uint64_t kinds[7] = { 0 };

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct machine_options o = {
			.seed = seed,
			.cpus = 1 + (uint32_t)(seed % 3),
			.threads = 4 + (uint32_t)(seed % 20),
			.steps = 4000,
			.unknown = seed % 4 ? 0 : 5,
			.lost = seed % 5 ? 0 : 1 + (uint32_t)(seed % 4) * 5,
			.mute = seed % 2 ? 0 : 40,
		};
		struct machine_truth t;

		state = seed;
		one_machine(&o, &t);
		kinds[0] += t.rows;
		kinds[1] += t.early;
		kinds[2] += t.migrated;
		kinds[3] += t.unknown;
		kinds[4] += t.births;
		kinds[5] += t.deaths;
		kinds[6] += t.preempted;
		machine_release(&t);
	}
	for (unsigned int i = 0; i < 7; i++)
		CHECK(kinds[i] > 20);
}

int main(void)
{
	test_turns();
	test_arrivals();
	test_breaks();
	test_not_closed();
	test_past_the_end();
	test_hostile();
	test_pages();
	test_machines();
	return check_result();
}
