// SPDX-License-Identifier: BSD-2-Clause
#include "chain_made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forked(struct made *m, uint64_t tid, uint64_t tgid, const char *name)
{
	struct row_task row = {
		.ts = MADE_START + 1, .event = TASK_EVENT_FORK, .tid = tid, .tgid = tgid, .ppid = 10,
		.start = tid, .process_start = tgid, .flags = TASK_FLAG_TREE,
	};

	made_task_row(m, row, name);
}

static void outside(struct made *m, uint64_t pid, const char *name, uint64_t flags)
{
	made_task(m, TASK_EVENT_SNAPSHOT, MADE_START, pid, pid, pid, flags, name);
}

void chain_made(struct report *r)
{
	struct made m;

	made_begin(&m);
	made_fact(&m, "host.cpus_online", "2");
	made_process(&m, 10, "python3");
	forked(&m, 11, 10, "pt_data_pin");
	for (uint64_t pid = 20; pid < 24; pid++)
		forked(&m, pid, pid, "pt_data_worker");
	forked(&m, 30, 30, "sh");
	outside(&m, 40, "hog", 0);
	outside(&m, 50, "cc1", 0);
	outside(&m, 51, "cc1", 0);
	outside(&m, 60, "kworker/0:1", TASK_FLAG_KTHREAD);
	for (uint64_t i = 1; i <= 20; i++)
		made_call(&m, MADE_START + i * 1000, 100 + i, 10, i % 2 + 1, 0, 0);
	made_report(&m, true, r);
	chains_release(&r->chains);
	r->chains.span = 1000000;
}

void chain_made_release(struct report *r)
{
	memset(&r->chains, 0, sizeof(r->chains));
	report_release(r);
}

uint32_t chain_process(const struct report *r, uint32_t pid)
{
	for (uint32_t i = 1; i < r->tasks.process_count; i++)
		if (r->tasks.processes[i].tgid == pid)
			return i;
	fprintf(stderr, "no process %u\n", pid);
	exit(1);
}

uint32_t chain_thread(const struct report *r, uint32_t tid)
{
	for (uint32_t i = 2; i < r->tasks.thread_count; i++)
		if (r->tasks.threads[i].tid == tid)
			return i;
	fprintf(stderr, "no thread %u\n", tid);
	exit(1);
}

const struct operation *chain_operation(const struct report *r, const char *name)
{
	for (size_t i = 0; i < r->recording.operation_count; i++)
		if (!strcmp(r->recording.operations[i].name, name))
			return &r->recording.operations[i];
	fprintf(stderr, "no operation %s\n", name);
	exit(1);
}

struct chain chain_of(const struct report *r, struct effect *e, struct cause *c)
{
	struct chain chain = {
		.process = chain_process(r, 10), .severity = SEVERITY_HIGH, .lost = 200000,
		.span = 1000000, .explained = 200000, .effects = e, .effect_count = 1, .causes = c,
		.cause_count = 1, .account = { .waiting = 200000 },
	};

	*e = (struct effect){
		.kind = EFFECT_SLOW_CALL, .thread = chain_thread(r, 10),
		.operation = chain_operation(r, "cudaStreamSynchronize"), .calls = 10, .all = 400,
		.lost = 200000, .p50 = 1000, .p99 = 42000, .max = 50000,
	};
	*c = (struct cause){
		.kind = CAUSE_CPU_CONTENTION, .process = chain_process(r, 40),
		.thread = chain_thread(r, 40), .ns = 200000, .hops = 1, .path = { chain_thread(r, 10) },
	};
	chain.verdict = c->kind;
	return chain;
}
