// SPDX-License-Identifier: BSD-2-Clause
/*
 * Figures by step of time: by hand where a border cuts something, then on recordings of a machine
 * whose truth is known, in steps and spans of any size, beside the figures of the whole.
 */
#include <string.h>
#include "check.h"
#include "machine.h"
#include "report/series.h"
#include "report/timeline.h"

#define S MADE_START
#define E MADE_END
#define STEP 250000ull			/* four of them */

static void load(struct report *r, uint64_t step, struct series *s)
{
	CHECK(!series_load(s, r, step, TIMELINE_ROWS));
	CHECK(s->step == step);
}

static struct report hand_made(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 100, "python3");
	/* Runs across two borders; then waits across one, which 100 has meanwhile. */
	made_switch(&m, 0, S + 100000, 0, 0, 100, 100000, 0);
	made_switch(&m, 0, S + 600000, 100, PREV_SLEEPING, 0, 0, 0);
	made_switch(&m, 0, S + 800000, 0, 0, 100, 200000, 150000);
	made_switch(&m, 0, S + 900000, 100, PREV_SLEEPING, 0, 0, 0);
	made_coverage(&m, 0, E);
	/* Not the first of its process, which was there before: all rank. */
	made_call(&m, S + 120000, 10000, 100, 1, 0, 0);
	made_call(&m, S + 130000, 2000, 100, 1, 0, 0);
	made_call(&m, S + 550000, 400000, 100, 2, 0, 0);
	made_call(&m, S + 549000, 1000, 100, 4, 1, 0);
	made_call(&m, S + 900000, 50000, 100, 1, 0, 999);
	made_report(&m, true, &r);
	return r;
}

static void test_borders(void)
{
	struct report r = hand_made();
	struct series s;

	load(&r, STEP, &s);
	CHECK(s.count == 4);
	CHECK(s.steps[0].busy == 150000 && s.steps[1].busy == 250000);
	CHECK(s.steps[2].busy == 100000 && s.steps[3].busy == 100000);
	CHECK(s.steps[2].runnable == 200000 && s.steps[3].runnable == 150000);
	CHECK(s.steps[0].switches == 0 && s.steps[2].switches == 1 && s.steps[3].switches == 1);
	CHECK(s.cpus[2].busy == 100000 && s.cpus[2].idle == 150000 && !s.cpus[2].unrecorded);
	CHECK(s.steps[0].cpu_time == 250000 * r.recording.cpus_present);
	series_release(&s);
	report_release(&r);
}

static void test_calls(void)
{
	struct report r = hand_made();
	struct series s;

	load(&r, STEP, &s);
	CHECK(s.steps[0].calls == 2 && s.steps[0].n == 2);
	CHECK(s.steps[0].p50 == 2000 && s.steps[0].p99 == 10000 && s.steps[0].max == 10000);
	/* Clipped: from 150000 to 550000. */
	CHECK(s.steps[0].cuda == 12000 + 100000 && s.steps[1].cuda == 250000);
	CHECK(s.steps[2].cuda == 50000);
	/* The nested one is among the calls, and not ranked. */
	CHECK(s.steps[2].calls == 2 && s.steps[2].n == 1 && s.steps[2].p99 == 400000);
	CHECK(s.steps[1].calls == 0 && s.steps[1].n == 0 && s.steps[1].p50 == 0);
	CHECK(s.steps[3].calls == 1 && s.steps[3].failed == 1 && s.steps[3].n == 0 &&
	      !s.steps[3].cuda);
	series_release(&s);
	report_release(&r);
}

/* The last step is shorter; a step may be longer than the span. */
static void test_lengths(void)
{
	struct report r = hand_made();
	struct series s;

	load(&r, 300000, &s);
	CHECK(s.count == 4 && s.steps[3].start == 900000 && s.steps[3].length == 100000);
	CHECK(s.steps[3].switches == 1 && s.steps[2].switches == 1);
	series_release(&s);
	load(&r, 7000000, &s);
	CHECK(s.count == 1 && s.steps[0].length == E - S && s.steps[0].busy == r.system.busy);
	CHECK(s.steps[0].runnable == r.system.runnable && s.steps[0].calls == 5);
	series_release(&s);
	report_release(&r);
}

static void test_choice(void)
{
	struct report r = hand_made();
	struct error e = { 0 };
	uint64_t step = 0;

	CHECK(!series_step(&r, NULL, &step, &e) && step == 100000);
	CHECK(!series_step(&r, "", &step, &e) && step == 100000);
	CHECK(!series_step(&r, "0.5ms", &step, &e) && step == 500000);
	CHECK(!series_step(&r, "250ns", &step, &e) && step == 250);
	CHECK(!series_step(&r, "2", &step, &e) && step == 2000000000);
	CHECK(series_step(&r, "200ns", &step, &e) == ERROR_USAGE && strstr(e.hint, "500ns"));
	CHECK(series_step(&r, "0", &step, &e) == ERROR_USAGE);
	CHECK(series_step(&r, "-1s", &step, &e) == ERROR_USAGE);
	CHECK(series_step(&r, "1sec", &step, &e) == ERROR_USAGE && strstr(e.text, "1sec"));
	CHECK(series_memory_step(&r, "1ns", &step, &e) == ERROR_USAGE && strstr(e.hint, "500ns"));
	/* Longer recordings: 1 s from ten of them on, and what is allowed where there are too many. */
	r.recording.end = S + 30000000000ull;
	CHECK(!series_step(&r, NULL, &step, &e) && step == 1000000000);
	r.recording.end = S + 9000000000ull;
	CHECK(!series_step(&r, NULL, &step, &e) && step == 500000000);
	r.recording.end = S + 7200000000000ull;
	CHECK(!series_step(&r, NULL, &step, &e) && step == 2000000000);
	r.recording.end = E;
	report_release(&r);
}

/* A fork in the second step; pages by step, by tenth of the life, and in all. */
static void test_memory(void)
{
	struct series_memory m;
	struct report r;
	struct made made;

	made_begin(&made);
	made_process(&made, 100, "python3");
	made_task(&made, TASK_EVENT_FORK, S + 400000, 200, 200, 200, TASK_FLAG_TREE, "python3");
	writer_row(made.writer, TABLE_page, 0,
		   &(struct row_page){ .ts = S + 420000, .tid = 200, .events = 3, .pages = 5 });
	writer_row(made.writer, TABLE_switch, 0,
		   &(struct row_switch){ .ts = S + 700000,
					 .prev_tid = 200,
					 .prev_page_events = 2,
					 .prev_pages = 9,
					 .next_tid = 100,
					 .next_off = 700000 });
	made_coverage(&made, 0, E);
	made_report(&made, true, &r);
	CHECK(!series_memory_load(&m, &r, STEP));
	for (size_t i = 0; i < m.count; i++) {
		const struct series_growth *g = &m.processes[i];

		if (r.tasks.processes[g->process].tgid != 200)
			continue;
		CHECK(g->forked && g->begin == S + 400000 && g->first == 1 && g->count == 3);
		CHECK(g->all.events == 5 && g->all.pages == 14 && g->first_second.pages == 14);
		CHECK(g->steps[0].events == 3 && g->steps[1].events == 2 &&
		      g->steps[2].events == 0);
		CHECK(g->tenths[0].pages == 5 && g->tenths[5].pages == 9);
	}
	CHECK(m.count == 2);
	series_memory_release(&m);
	report_release(&r);
}

/* What of the machine's truth lies in a step. */
static uint64_t overlap(const struct life_truth *l, enum piece_state state, uint64_t from,
			uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->count; i++) {
		uint64_t low = l->list[i].start > from ? l->list[i].start : from;
		uint64_t high = l->list[i].end < to ? l->list[i].end : to;

		if (l->list[i].state == state && low < high)
			sum += high - low;
	}
	return sum;
}

static void compare_truth(const struct series *s, const struct machine_truth *t)
{
	for (size_t i = 0; i < s->count; i++) {
		uint64_t from = S + s->steps[i].start, to = from + s->steps[i].length;
		uint64_t running = 0, waiting = 0;

		for (uint32_t k = 0; k < t->thread_count; k++) {
			running += overlap(&t->threads[k], PIECE_RUNNING, from, to);
			waiting += overlap(&t->threads[k], PIECE_WAITING, from, to);
		}
		CHECK(s->steps[i].busy == running);
		CHECK(s->steps[i].runnable == running + waiting);
	}
}

static void compare_whole(const struct series *s, const struct report *r)
{
	struct series_step sum = { 0 };
	uint64_t switches = 0;

	for (size_t i = 0; i < s->count; i++) {
		sum.busy += s->steps[i].busy;
		sum.cpu_time += s->steps[i].cpu_time;
		sum.unrecorded += s->steps[i].unrecorded;
		sum.runnable += s->steps[i].runnable;
		sum.switches += s->steps[i].switches;
		sum.length += s->steps[i].length;
	}
	for (size_t i = 0; i < r->tasks.process_count; i++)
		switches += r->procs.processes[i].a.voluntary + r->procs.processes[i].a.involuntary;
	CHECK(sum.length == r->recording.end - r->recording.start);
	CHECK(sum.busy == r->system.busy && sum.cpu_time == r->system.cpu_time);
	CHECK(sum.unrecorded == r->system.unrecorded && sum.runnable == r->system.runnable);
	CHECK(sum.switches == switches);
}

static void one_machine(const struct machine_options *o)
{
	static const size_t rows[] = { TIMELINE_ROWS, 300, 20 };
	struct machine_truth t;
	struct report r;
	struct made m;

	made_begin(&m);
	machine_run(&m, o, &t);
	made_report(&m, true, &r);
	for (uint64_t parts = 1; parts < 200; parts = parts * 7 + 1) {
		uint64_t step = (r.recording.end - r.recording.start) / parts + 1;

		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			struct series s;

			CHECK(!series_load(&s, &r, step, rows[i]));
			compare_whole(&s, &r);
			if (!o->lost)
				compare_truth(&s, &t);
			series_release(&s);
		}
	}
	report_release(&r);
	machine_release(&t);
}

static void test_machines(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		one_machine(&(struct machine_options){
			.seed = seed,
			.cpus = 1 + (uint32_t)(seed % 3),
			.threads = 4 + (uint32_t)(seed % 20),
			.steps = 1500,
			.unknown = seed % 4 ? 0 : 5,
			.lost = seed % 5 ? 0 : 5,
			.mute = seed % 2 ? 0 : 40,
		});
}

int main(void)
{
	test_borders();
	test_calls();
	test_lengths();
	test_choice();
	test_memory();
	test_machines();
	return check_result();
}
