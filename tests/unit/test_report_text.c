// SPDX-License-Identifier: BSD-2-Clause
/* What the text views say in words: prices, choices, open calls, helpers folded, narrow pages. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "made.h"
#include "report/fmt.h"
#include "report/view.h"
#include "small_file.h"

#define S MADE_START
#define E MADE_END

static char *shown(const struct report *r,
		   void (*view)(const struct report *r, const struct page *out))
{
	char *text = NULL;
	size_t size;
	struct page page = { .file = open_memstream(&text, &size), .width = PAGE_WIDTH };

	view(r, &page);
	fclose(page.file);
	return text;
}

/* The same of any view in text; of one that wants an argument: of the first operation. */
static char *listed(struct report *r, const struct view *v)
{
	char *text = NULL;
	size_t size;
	struct error e = { 0 };
	struct page page = { .file = open_memstream(&text, &size), .width = PAGE_WIDTH };
	bool wanted = v->argument && !v->optional;

	if (!wanted || r->latency.row_count)
		CHECK(!view_show(v, wanted ? r->latency.rows[0].operation->name : NULL, VIEW_TEXT, r,
				 &page, &e));
	fclose(page.file);
	return text;
}

static void narrow(char *text)
{
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (!CHECK(fmt_width(line) <= PAGE_WIDTH))
			printf("too wide: %s\n", line);
}

#define HAS(text, part) has(text, part, true)
#define LACKS(text, part) has(text, part, false)

static void has(const char *text, const char *part, bool want)
{
	if (!CHECK(!strstr(text, part) == !want))
		printf("\"%s\" in\n%s", part, text);
}

/* Every view within the page; only the default one is returned. */
static char *summary(struct report *r)
{
	char *text;

	for (const struct view *v = views; v->help; v++) {
		text = listed(r, v);
		narrow(text);
		free(text);
	}
	return shown(r, view_summary);
}

static void ended(struct made *m, uint64_t i, uint64_t operation, uint64_t flags)
{
	struct row_call row = { .ts = S + 1000 + i, .duration = 100 + i, .tid = 10, .tgid = 10,
				.operation = operation, .flags = flags };

	writer_row(m->writer, TABLE_call, 0, &row);
}

static void test_open(void)
{
	struct report r;
	struct made m;
	char *text;

	made_begin(&m);
	made_fact(&m, "record.probe_call_ns", "2200");
	made_fact(&m, "record.probe_inside_ns", "900");
	made_fact(&m, "record.options", "-o x.ing --ops launch,sync");
	made_fact(&m, "host.memory", "17179869184");
	made_process(&m, 10, "a");
	for (uint64_t i = 0; i < 50; i++)
		ended(&m, i, 1, CALL_FLAG_ABANDONED);
	ended(&m, 0, 2, CALL_FLAG_OPEN);
	made_call(&m, S + 2000, 10, 10, 1, 0, 2);
	made_state(&m, E - 100, 10, 0, THREAD_BLOCKED, S, 0);
	for (uint64_t i = 0; i < 10; i++)
		made_open_call(&m, E - 100, 10, 3, E - 5000 - i);
	made_report(&m, true, &r);
	text = summary(&r);
	HAS(text, "left by a jump (longjmp): cudaLaunchKernel x 50, longest after 149 ns\n");
	HAS(text, "thread ended: cudaStreamSynchronize x 1, after 100 ns\n");
	HAS(text, "still open: cudaStreamQuery for 5.01 us since");
	HAS(text, "and 2 more: --open\n");
	HAS(text, "times include the probes: about 900 ns, and 2.20 us more for each nested call\n");
	HAS(text, "\nonly: launch,sync (--ops)\n");
	HAS(text, "16.0 GiB memory\n");
	free(text);
	text = shown(&r, view_processes);
	HAS(text, "failed: cudaLaunchKernel: 2 (cudaErrorMemoryAllocation) x 1\n");
	free(text);
	report_release(&r);
}

/* Helpers that hardly ran are one line; the command, and who called, keep their own. */
static void test_folded(void)
{
	struct report r;
	struct made m;
	char *text;

	made_begin(&m);
	made_process(&m, 10, "main");
	made_task(&m, TASK_EVENT_SNAPSHOT, S, 11, 11, 11, TASK_FLAG_TREE | TASK_FLAG_ROOT, "launcher");
	for (uint64_t i = 20; i < 25; i++)
		made_process(&m, i, "shell");
	made_process(&m, 30, "busy");
	made_switch(&m, 0, S + 500000, 10, PREV_SLEEPING, 30, 1, 1);
	made_switch(&m, 0, S + 600000, 30, PREV_SLEEPING, 20, 1, 1);
	made_switch(&m, 0, S + 600100, 20, PREV_SLEEPING, 0, 0, 0);
	made_call(&m, S + 2000, 10, 10, 1, 0, 0);
	made_report(&m, true, &r);
	text = summary(&r);
	LACKS(text, "shell");
	HAS(text, "5 more");
	HAS(text, "busy");
	HAS(text, "launcher");
	free(text);
	report_release(&r);
}

/* Under loss every figure that rests on it is marked. */
static void test_lossy(void)
{
	struct row_loss loss = { .source = SOURCE_CALL_RETURN, .first = S, .last = S + 9,
				 .count = 7, .reason = LOSS_RING_FULL };
	struct report r;
	struct made m;
	char *text;

	made_begin(&m);
	made_task(&m, TASK_EVENT_FORK, S + 1, 10, 10, 10, TASK_FLAG_TREE, "a");
	made_call(&m, S + 1000, 500, 10, 1, 0, 0);
	made_call(&m, S + 2000, 700, 10, 1, 0, 0);
	made_call(&m, S + 3000, 700, 10, 1, 0, 2);
	writer_row(m.writer, TABLE_loss, 0, &loss);
	made_report(&m, true, &r);
	text = summary(&r);
	HAS(text, "~1.20");
	HAS(text, "first calls, apart: cudaLaunchKernel ~500 ns");
	HAS(text, "x ~1\n");
	free(text);
	report_release(&r);
}

/* Neither a start nor an event: an error with a hint, and no report. */
static void test_nothing(void)
{
	struct error e = { 0 };
	char *path = small_path();
	struct writer *w = small_writer(path);
	struct report r;

	CHECK(!writer_flush(w, NULL));
	writer_abandon(w);
	CHECK(report_open(&r, path, NULL, &e) == ERROR_NOT_OURS);
	CHECK(strstr(e.text, "before its first event") && e.hint[0]);
	report_release(&r);
	unlink(path);
	free(path);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	test_open();
	test_folded();
	test_lossy();
	test_nothing();
	return check_result();
}
