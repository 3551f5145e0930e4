// SPDX-License-Identifier: BSD-2-Clause
/* Workers that are made anew: which are one group, their generations, medians and sums. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "made.h"
#include "report/groups.h"
#include "report/view.h"

#define S MADE_START
#define E MADE_END
#define MAIN 10

static void begin(struct made *m)
{
	made_begin(m);
	made_process(m, MAIN, "main");
	made_call(m, S + 2000, 100, MAIN, 1, 0, 0);
}

static void worker(struct made *m, uint64_t pid, uint64_t birth, uint64_t end)
{
	struct row_task row = { .ts = S + birth, .event = TASK_EVENT_FORK, .tid = pid, .tgid = pid,
				.ppid = MAIN, .start = pid, .process_start = pid,
				.flags = TASK_FLAG_TREE };

	made_task_row(m, row, "w");
	if (!end)
		return;
	row.ts = S + end;
	row.event = TASK_EVENT_EXIT;
	row.flags |= TASK_FLAG_GROUP_DEAD;
	made_task_row(m, row, "w");
}

/* The thread pid comes to CPU 0 at ts, for 10 ns. */
static void comes(struct made *m, uint64_t ts, uint64_t pid, uint64_t off, uint64_t wait,
		  uint64_t context, uint64_t flags)
{
	struct row_switch row = { .ts = S + ts, .next_tid = pid, .next_off = off, .next_wait = wait,
				  .waker_context = context, .next_flags = flags };

	writer_row(m->writer, TABLE_switch, 0, &row);
	row = (struct row_switch){ .ts = S + ts + 10, .prev_tid = pid,
				   .prev_state = PREV_SLEEPING };
	writer_row(m->writer, TABLE_switch, 0, &row);
}

/* Two at a time, three times; the second generation begins when the first has just ended. */
static void three_generations(struct made *m)
{
	worker(m, 21, 1000, 10000);
	worker(m, 22, 1100, 11000);
	worker(m, 23, 11000, 20000);
	worker(m, 24, 11500, 21000);
	worker(m, 25, 30000, 45000);
	worker(m, 26, 30100, 0);
}

static void test_generations(void)
{
	const struct worker_group *g;
	struct report r;
	struct made m;

	begin(&m);
	three_generations(&m);
	made_report(&m, true, &r);
	if (CHECK(r.groups.count == 1)) {
		g = &r.groups.list[0];
		CHECK(g->count == 6 && g->generations == 3 && g->at_once == 2);
		CHECK(r.tasks.processes[g->main].tgid == MAIN);
		CHECK(r.tasks.processes[g->members[0]].tgid == 21);
		CHECK(g->lifetime.n == 5 && g->lifetime.ns == 9500);
		CHECK(g->startup.n == 0);
		CHECK(g->sum.processes == 6 && g->sum.threads == 6 && g->sum.alive);
		CHECK(g->sum.begin == S + 1000 && g->sum.end == E);
		CHECK(worker_group_of(&r, g->members[3]) == g);
		CHECK(!worker_group_of(&r, g->main));
		r.no_group = true;
		CHECK(!worker_group_of(&r, g->members[3]));
	}
	report_release(&r);
}

/* Until a thread's first wait for another; being made, disks and interrupts are none. */
static void test_startup(void)
{
	struct report r;
	struct made m;

	begin(&m);
	three_generations(&m);
	comes(&m, 1200, 21, 200, 40, WAKER_TASK, NEXT_FLAG_FIRST);
	comes(&m, 2000, 21, 300, 10, WAKER_TASK, NEXT_FLAG_IO_WAIT);
	comes(&m, 3000, 21, 300, 10, WAKER_SOFTIRQ, 0);
	comes(&m, 4000, 21, 300, 300, WAKER_TASK, 0);
	comes(&m, 5000, 21, 700, 100, WAKER_TASK, 0);
	comes(&m, 6000, 21, 300, 100, WAKER_TASK, 0);
	comes(&m, 12000, 23, 100, 0, WAKER_TASK, 0);
	comes(&m, 12100, 24, 50, 0, WAKER_TASK, 0);
	made_report(&m, true, &r);
	if (CHECK(r.groups.count == 1)) {
		/* 3,300, 900 and 550 */
		CHECK(r.groups.list[0].startup.n == 3 && r.groups.list[0].startup.ns == 900);
		CHECK(made_thread_account(&r, 21)->first_wait == S + 4300);
		CHECK(made_thread_account(&r, 22)->first_wait == UINT64_MAX);
	}
	report_release(&r);
}

/* Too few, or all at the same time, or no workers at all: every process for itself. */
static void test_no_group(void)
{
	struct report r;
	struct made m;

	begin(&m);
	worker(&m, 21, 1000, 10000);
	worker(&m, 22, 1000, 10000);
	worker(&m, 23, 11000, 20000);
	worker(&m, 24, 11000, 20000);
	made_report(&m, true, &r);
	CHECK(!r.groups.count);
	report_release(&r);

	begin(&m);
	for (uint64_t i = 0; i < 8; i++)
		worker(&m, 21 + i, 1000 + i, 20000 + i);
	made_report(&m, true, &r);
	CHECK(!r.groups.count);
	report_release(&r);

	made_begin(&m);
	made_report(&m, true, &r);
	CHECK(!r.groups.count);
	report_release(&r);
}

/* A pool whose workers are replaced one by one: no two of 21, 23, 25 lived at the same time. */
static void test_rolling(void)
{
	struct report r;
	struct made m;

	begin(&m);
	worker(&m, 21, 1000, 10000);
	worker(&m, 22, 2000, 15000);
	worker(&m, 23, 10500, 20000);
	worker(&m, 24, 15500, 25000);
	worker(&m, 25, 20500, 0);
	made_report(&m, true, &r);
	if (CHECK(r.groups.count == 1))
		CHECK(r.groups.list[0].generations == 3 && r.groups.list[0].at_once == 2);
	report_release(&r);
}

static struct account total(const struct report *r)
{
	struct account sum = { 0 };

	for (size_t i = 0; i < r->order_count; i++)
		account_add(&sum, &r->procs.processes[r->order[i]].a);
	return sum;
}

/* Rows of a table add up to the whole, with groups and without. */
static void test_partition(void)
{
	struct report r;
	struct made m;
	struct account all;

	begin(&m);
	three_generations(&m);
	comes(&m, 5000, 21, 700, 100, WAKER_TASK, 0);
	comes(&m, 12000, 23, 100, 20, WAKER_TASK, 0);
	made_report(&m, true, &r);
	all = total(&r);
	for (r.no_group = false;; r.no_group = true) {
		struct account sum = { 0 };

		for (size_t i = 0; i < r.order_count; i++) {
			const struct worker_group *g = worker_group_of(&r, r.order[i]);
			struct thread_sum one;

			thread_sum_process(&r, r.order[i], &one);
			if (!g)
				account_add(&sum, &one.a);
			else if (g->members[0] == r.order[i])
				account_add(&sum, &g->sum.a);
		}
		CHECK(!memcmp(&sum, &all, sizeof(sum)));
		CHECK(sum.running && sum.blocked && sum.waiting);
		if (r.no_group)
			break;
	}
	CHECK(r.groups.list[0].thread_count == 1 && r.groups.list[0].threads[0].threads == 6);
	CHECK(!memcmp(&r.groups.list[0].threads[0].a, &r.groups.list[0].sum.a, sizeof(all)));
	report_release(&r);
}

static char *listed(struct report *r, const char *name, enum view_format format)
{
	char *text = NULL;
	size_t size;
	struct error e = { 0 };
	struct page page = { .file = open_memstream(&text, &size), .width = PAGE_WIDTH };

	for (const struct view *v = views + 1; v->help; v++)
		if (!strcmp(v->name, name))
			CHECK(!view_show(v, NULL, format, r, &page, &e));
	fclose(page.file);
	return text;
}

static void has(char *text, const char *part)
{
	if (!CHECK(strstr(text, part) != NULL))
		printf("\"%s\" in\n%s", part, text);
	free(text);
}

static void test_words(void)
{
	struct report r;
	struct made m;

	begin(&m);
	three_generations(&m);
	made_report(&m, true, &r);
	has(listed(&r, "tree", VIEW_TEXT), "\n  w       - 6 workers        1     999 running ");
	has(listed(&r, "tree", VIEW_TEXT), "6 workers w of main: 3 generations, 2 at a time, "
	    "lifetime 9.50 us each (of 5)\n");
	has(listed(&r, "per-process", VIEW_TEXT), "ended: 5 with exit code 0, 1 still running\n");
	has(listed(&r, "threads", VIEW_CSV), "\n,,w,w,6 workers,6,");
	r.no_group = true;
	has(listed(&r, "tree", VIEW_CSV), "\n1,w,26,10,worker 6,1,30100,969900,,running,,,");
	report_release(&r);
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");

		longest = length > longest ? length : longest;
		text += length + (text[length] == '\n');
	}
	return longest;
}

static size_t lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* A thousand processes, command lines of 200 characters, a page of 80 columns or of 240. */
static void test_many(void)
{
	char command[201], *text = NULL;
	struct report r;
	struct made m;
	size_t size;

	memset(command, 'x', sizeof(command) - 1);
	command[200] = '\0';
	begin(&m);
	for (uint64_t i = 0; i < 1000; i++) {
		struct row_task row = { .ts = S, .event = TASK_EVENT_SNAPSHOT, .tid = 100 + i,
					.tgid = 100 + i, .start = 100 + i, .process_start = 100 + i,
					.flags = TASK_FLAG_TREE,
					.command = writer_string(m.writer, command, 200) };

		made_task_row(&m, row, "helper");
	}
	made_report(&m, true, &r);
	for (size_t width = PAGE_WIDTH; width <= 240; width += 160) {
		struct page page = { .file = open_memstream(&text, &size), .width = width };

		view_summary(&r, &page);
		fclose(page.file);
		CHECK(longest_line(text) <= width && lines(text) < 40);
		CHECK(strstr(text, " 990 more ") != NULL);
		CHECK(!strstr(text, "running") == (width == PAGE_WIDTH));
		CHECK(!strstr(text, " command") == (width == PAGE_WIDTH));
		free(text);
	}
	r.order_by.top = 30;
	CHECK(lines(text = listed(&r, "per-process", VIEW_CSV)) == 31);
	free(text);
	report_release(&r);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	test_generations();
	test_startup();
	test_no_group();
	test_rolling();
	test_partition();
	test_words();
	test_many();
	return check_result();
}
