// SPDX-License-Identifier: BSD-2-Clause
#include "made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "small_file.h"

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static uint64_t text(struct made *m, const char *s)
{
	return writer_string(m->writer, s, strlen(s));
}

static void operation(struct made *m, uint64_t id, const char *name, uint64_t layer,
		      uint64_t category)
{
	struct row_operation row = { .id = id, .name = text(m, name), .layer = layer,
				     .category = category };

	writer_row(m->writer, TABLE_operation, 0, &row);
}

void made_begin(struct made *m)
{
	char number[32];

	m->path = small_path();
	m->writer = small_writer(m->path);
	made_fact(m, "host.page_size", "4096");
	made_fact(m, "host.cpus", "2");
	snprintf(number, sizeof(number), "%llu", MADE_START);
	made_fact(m, "record.start", number);
	snprintf(number, sizeof(number), "%llu", MADE_END);
	made_fact(m, "record.stop", number);
	operation(m, 1, "cudaLaunchKernel", LAYER_RUNTIME, CATEGORY_LAUNCH);
	operation(m, 2, "cudaStreamSynchronize", LAYER_RUNTIME, CATEGORY_SYNC);
	operation(m, 3, "cudaStreamQuery", LAYER_RUNTIME, CATEGORY_QUERY);
	operation(m, 4, "cuLaunchKernel", LAYER_DRIVER, CATEGORY_LAUNCH);
}

void made_fact(struct made *m, const char *key, const char *value)
{
	struct row_info row = { text(m, key), text(m, value) };

	writer_row(m->writer, TABLE_info, 0, &row);
}

void made_task_row(struct made *m, struct row_task row, const char *name)
{
	row.name = text(m, name);
	writer_row(m->writer, TABLE_task, 0, &row);
}

void made_task(struct made *m, uint64_t event, uint64_t ts, uint64_t tid, uint64_t tgid,
	       uint64_t start, uint64_t flags, const char *name)
{
	made_task_row(m, (struct row_task){ .ts = ts, .event = event, .tid = tid, .tgid = tgid,
					    .start = start, .process_start = start,
					    .flags = flags }, name);
}

void made_process(struct made *m, uint64_t pid, const char *name)
{
	made_task(m, TASK_EVENT_SNAPSHOT, MADE_START, pid, pid, pid, TASK_FLAG_TREE, name);
}

void made_switch(struct made *m, uint32_t cpu, uint64_t ts, uint64_t prev, uint64_t prev_state,
		 uint64_t next, uint64_t off, uint64_t wait)
{
	struct row_switch row = { .ts = ts, .prev_tid = prev, .prev_state = prev_state,
				  .next_tid = next, .next_off = off, .next_wait = wait };

	writer_row(m->writer, TABLE_switch, cpu, &row);
}

void made_call(struct made *m, uint64_t end, uint64_t duration, uint64_t tid, uint64_t op,
	       uint64_t depth, int64_t code)
{
	struct row_call row = { .ts = end, .duration = duration, .tid = tid, .tgid = tid,
				.operation = op, .depth = depth, .code = (uint64_t)code };

	writer_row(m->writer, TABLE_call, 0, &row);
}

void made_state(struct made *m, uint64_t ts, uint64_t tid, uint64_t cpu, enum thread_state state,
		uint64_t since, uint64_t runnable_since)
{
	struct row_state row = { .ts = ts, .kind = STATE_KIND_THREAD, .cpu = cpu, .tid = tid,
				 .tgid = tid, .state = state, .since = since,
				 .runnable_since = runnable_since };

	writer_row(m->writer, TABLE_state, 0, &row);
}

void made_open_call(struct made *m, uint64_t ts, uint64_t tid, uint64_t op, uint64_t start)
{
	struct row_state row = { .ts = ts, .kind = STATE_KIND_OPEN_CALL, .tid = tid, .tgid = tid,
				 .since = start, .operation = op };

	writer_row(m->writer, TABLE_state, 0, &row);
}

void made_coverage(struct made *m, uint64_t cpu, uint64_t until)
{
	struct row_state row = { .ts = until, .kind = STATE_KIND_COVERAGE, .cpu = cpu,
				 .since = until };

	writer_row(m->writer, TABLE_state, 0, &row);
}

void made_report(struct made *m, bool closed, struct report *r)
{
	made_report_of(m, closed, NULL, r);
}

void made_report_of(struct made *m, bool closed, const struct report_options *options,
		    struct report *r)
{
	struct error e = { 0 };

	if (closed) {
		need(!writer_close(m->writer, NULL), "writer_close");
	} else {
		need(!writer_flush(m->writer, NULL), "writer_flush");
		writer_abandon(m->writer);
	}
	need(!report_open(r, m->path, options, &e), e.text);
	unlink(m->path);
	free(m->path);
}

static const struct process *find_process(const struct report *r, uint32_t pid)
{
	for (size_t i = 1; i < r->tasks.process_count; i++)
		if (r->tasks.processes[i].tgid == pid)
			return &r->tasks.processes[i];
	need(false, "no such process");
	return NULL;
}

const struct process_account *made_process_account(const struct report *r, uint32_t pid)
{
	return &r->procs.processes[find_process(r, pid) - r->tasks.processes];
}

const struct thread_account *made_thread_account(const struct report *r, uint32_t tid)
{
	for (size_t i = 2; i < r->tasks.thread_count; i++)
		if (r->tasks.threads[i].tid == tid)
			return &r->procs.threads[i];
	need(false, "no such thread");
	return NULL;
}

const struct latency_row *made_row(const struct report *r, uint32_t pid, const char *name)
{
	for (size_t i = 0; i < r->latency.row_count; i++) {
		const struct latency_row *row = &r->latency.rows[i];
		bool wanted = pid ? row->process != LATENCY_ALL &&
				    r->tasks.processes[row->process].tgid == pid :
				    row->process == LATENCY_ALL;

		if (wanted && !strcmp(row->operation->name, name))
			return row;
	}
	return NULL;
}
