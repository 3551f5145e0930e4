// SPDX-License-Identifier: BSD-2-Clause
/* What narrows a report: moments as they are typed, names, and calls of a part of a process. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "check.h"
#include "made.h"
#include "report/moment.h"
#include "report/select_names.h"

#define S MADE_START
#define E MADE_END
#define SECOND 1000000000ull

static uint64_t moment(const struct recording *r, const char *text)
{
	uint64_t ts = 0;

	CHECK(moment_read(r, text, &ts));
	return ts;
}

/* 100 s of monotonic time, from 1970-01-02 23:59:10.5 on. */
static struct recording clocked(struct anchor *anchor)
{
	*anchor = (struct anchor){ 5 * SECOND, (int64_t)(2 * 86400 * SECOND - 495 * SECOND / 10), 0 };
	return (struct recording){
		.whole_start = 5 * SECOND, .whole_end = 105 * SECOND,
		.anchors = anchor, .anchor_count = 1,
	};
}

static void test_moments(void)
{
	struct anchor anchor;
	struct recording r = clocked(&anchor);

	CHECK(moment(&r, "0") == 5 * SECOND);
	CHECK(moment(&r, "2.5") == 75 * SECOND / 10);
	CHECK(moment(&r, "2.5s") == 75 * SECOND / 10);
	CHECK(moment(&r, "300ms") == 53 * SECOND / 10);
	CHECK(moment(&r, "1min") == 65 * SECOND && moment(&r, "1m") == 65 * SECOND);
	CHECK(moment(&r, "25%") == 30 * SECOND && moment(&r, "0.5%") == 55 * SECOND / 10);
	CHECK(moment(&r, "-5s") == 100 * SECOND && moment(&r, "-10%") == 95 * SECOND);
	CHECK(moment(&r, "1.0000000019") == 6 * SECOND + 1);
	CHECK(moment(&r, "1h") == 3605 * SECOND);
	CHECK(moment(&r, "-1h") == 0);
}

static void test_clock(void)
{
	struct anchor anchor;
	struct recording r = clocked(&anchor);

	CHECK(moment(&r, "23:59:10.5") == 5 * SECOND);
	CHECK(moment(&r, "23:59:20.25") == 5 * SECOND + 975 * SECOND / 100);
	/* The day after, and before the start: the nearest day, though the machine was not on yet. */
	CHECK(moment(&r, "00:00") == 5 * SECOND + 495 * SECOND / 10);
	CHECK(moment(&r, "00:00:40") == 5 * SECOND + 895 * SECOND / 10);
	CHECK(moment(&r, "23:59:08.5") == 3 * SECOND);
	CHECK(moment(&r, "13:00") == 0);
	CHECK(moment(&r, "11:00") == 5 * SECOND + 495 * SECOND / 10 + 11 * 3600 * SECOND);
}

static void test_no_moments(void)
{
	static const char *const bad[] = {
		"", "-", "s", "1e3", "1.", ".5", "1 s", " 1", "1x", "%", "1%%", "--1", "+1", "0x10", "25:00",
		"12:60", "12:00:61", "12:", "12:00:", "12:00:00.", "12:00x", "9999999999999999", "nan",
	};
	struct anchor anchor;
	struct recording r = clocked(&anchor);
	uint64_t ts;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!moment_read(&r, bad[i], &ts));
	r.anchor_count = 0;
	CHECK(!moment_read(&r, "12:00", &ts));
}

static void test_globs(void)
{
	CHECK(name_glob("pt_*", "pt_data_worker", false) && !name_glob("pt_", "pt_data_worker", false));
	CHECK(name_glob("p?[a-d_]*", "pt_data", false) && !name_glob("PT*", "pt_data", false));
	CHECK(name_glob("CUDA*", "cudaMalloc", true));
	CHECK(name_glob("*", "a/b", false) && name_glob("*", "", false) && name_glob("*", ".x", false));
	CHECK(name_is_glob("a*") && name_is_glob("[a]") && !name_is_glob("a]b.c"));
}

static bool selects(struct report *r, const struct select_options *o, uint32_t tid)
{
	struct selection *s = &r->selection;
	uint32_t thread = tasks_thread(&r->tasks, tid, E);
	struct error e = { 0 };

	select_release(s);
	s->options = *o;
	if (select_resolve(s, r, &e)) {
		CHECK(e.code == ERROR_USAGE && *e.hint);
		s->by_thread = s->by_operation = false;
		return false;
	}
	return select_thread(s, thread);
}

static bool by_comm(struct report *r, const char *comm, uint32_t tid)
{
	return selects(r, &(struct select_options){ .comm = comm }, tid);
}

/* "shell" execs "python3", which calls itself "trainer"; it has a thread, and there is a stranger. */
static void fill_names(struct made *m)
{
	made_begin(m);
	made_task(m, TASK_EVENT_FORK, S + 10, 10, 10, 10, TASK_FLAG_TREE, "shell");
	made_task(m, TASK_EVENT_EXEC, S + 20, 10, 10, 10, TASK_FLAG_TREE, "python3");
	made_task(m, TASK_EVENT_RENAME, S + 30, 10, 10, 10, TASK_FLAG_TREE, "trainer");
	made_task_row(m, (struct row_task){ .event = TASK_EVENT_FORK, .ts = S + 40, .tid = 11, .tgid = 10,
					    .start = 11, .process_start = 10, .flags = TASK_FLAG_TREE }, "io");
	made_process(m, 20, "helper");
	made_task(m, TASK_EVENT_SNAPSHOT, S, 30, 30, 30, 0, "hog");
	made_switch(m, 0, S + 100, 0, 0, 30, 50, 10);
	made_switch(m, 0, S + 200, 30, 0, 0, 0, 0);
}

static void test_names(void)
{
	struct report r;
	struct made m;

	fill_names(&m);
	made_report(&m, true, &r);
	CHECK(by_comm(&r, "trainer", 10));
	CHECK(by_comm(&r, "trainer", 11));
	CHECK(!by_comm(&r, "trainer", 20));
	CHECK(by_comm(&r, "python3", 10) && by_comm(&r, "py*", 11));
	/* The name it was forked with was its parent's. */
	CHECK(!by_comm(&r, "shell", 10));
	CHECK(by_comm(&r, "io", 11) && !by_comm(&r, "io", 10));
	/* A stranger only where nothing of the tree has the name. */
	CHECK(by_comm(&r, "hog", 30) && by_comm(&r, "io,hog", 30) && by_comm(&r, "io,hog", 11));
	CHECK(!by_comm(&r, "h*", 30) && by_comm(&r, "h*", 20));
	CHECK(selects(&r, &(struct select_options){ .comm = "h*", .all = true }, 30));
	CHECK(!selects(&r, &(struct select_options){ .comm = "hog", .tree_only = true }, 30));
	CHECK(selects(&r, &(struct select_options){ .role = "other" }, 30));
	CHECK(selects(&r, &(struct select_options){ .pid = "30,10" }, 30));
	CHECK(!selects(&r, &(struct select_options){ .pid = "30,31" }, 30));
	CHECK(!selects(&r, &(struct select_options){ .pid = "30", .tree_only = true }, 30));
	CHECK(!selects(&r, &(struct select_options){ .comm = "io", .pid = "20" }, 11));
	report_release(&r);
}

/* Two threads of a process whose start is recorded; and another process. */
static void fill_calls(struct made *m)
{
	uint64_t state = 7;

	made_begin(m);
	made_task(m, TASK_EVENT_FORK, S + 1, 10, 10, 10, TASK_FLAG_TREE, "a");
	made_task_row(m, (struct row_task){ .event = TASK_EVENT_FORK, .ts = S + 2, .tid = 11, .tgid = 10,
					    .start = 11, .process_start = 10, .flags = TASK_FLAG_TREE }, "b");
	made_process(m, 20, "c");
	for (uint64_t i = 0; i < 30000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		made_call(m, S + 100 + i * 10, state >> 60, i % 3 ? 10 + i % 2 : 20, 1 + i % 2 * 3, 0,
			  i % 97 ? 0 : 700);
	}
	made_open_call(m, E, 11, 1, S + 500000);
}

/* With few durations kept, rows are read again: the figures are the same. */
static void compare_sizes(struct report *r)
{
	struct latency few, many;

	CHECK(!latency_load(&few, &r->recording, &r->tasks, &r->keyframes, &r->selection, 100));
	CHECK(!latency_load(&many, &r->recording, &r->tasks, &r->keyframes, &r->selection, LATENCY_KEEP));
	CHECK(few.row_count == many.row_count && few.calls == many.calls && few.calls);
	for (size_t i = 0; i < few.row_count && i < many.row_count; i++) {
		few.rows[i].operation = many.rows[i].operation;
		CHECK(!memcmp(&few.rows[i], &many.rows[i], sizeof(few.rows[i])));
	}
	latency_release(&few);
	latency_release(&many);
}

static void test_calls(void)
{
	uint64_t n = 0, firsts = 0, open = 0, whole = 0;
	struct report r;
	struct made m;

	fill_calls(&m);
	made_report(&m, true, &r);
	for (size_t i = 0; i < r.latency.row_count; i++)
		whole += r.latency.rows[i].process == LATENCY_ALL ? r.latency.rows[i].n : 0;
	for (uint32_t tid = 10; tid <= 20; tid += tid == 11 ? 9 : 1) {
		char text[16];
		struct latency part;

		snprintf(text, sizeof(text), "%u", tid);
		CHECK(selects(&r, &(struct select_options){ .tid = text }, tid));
		compare_sizes(&r);
		CHECK(!latency_load(&part, &r.recording, &r.tasks, &r.keyframes, &r.selection, LATENCY_KEEP));
		for (size_t i = 0; i < part.row_count; i++) {
			n += part.rows[i].process == LATENCY_ALL ? part.rows[i].n : 0;
			firsts += part.rows[i].process == LATENCY_ALL ? 0 : part.rows[i].has_first;
		}
		open += part.open_count;
		latency_release(&part);
	}
	CHECK(n == whole && firsts == 2 && open == 1);
	CHECK(selects(&r, &(struct select_options){ .op = "cudaLaunchKernel" }, 10));
	CHECK(r.selection.operation.selected == 1 && r.selection.operation.all == 2);
	compare_sizes(&r);
	CHECK(selects(&r, &(struct select_options){ .op = "LAUNCH" }, 10) && r.selection.operation.selected == 2);
	CHECK(!selects(&r, &(struct select_options){ .op = "cudaMalloc" }, 10));
	report_release(&r);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	test_moments();
	test_clock();
	test_no_moments();
	test_globs();
	test_names();
	test_calls();
	return check_result();
}
