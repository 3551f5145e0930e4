// SPDX-License-Identifier: BSD-2-Clause
#include "ingest.h"
#include <stdlib.h>
#include <string.h>
#include "affinity.h"
#include "cuda_api.h"
#include "hostinfo.h"

#define COMMANDS_MAX (32ull << 20)	/* bytes of command lines; the strings of a file have a limit */
#define PID_LIMIT (1u << 22)		/* PID_MAX_LIMIT of 64-bit kernels */

/* bpf/wire.h promises that these are the same, so that rows are plain copies. */
#define SAME(wire, disk) _Static_assert((int)(wire) == (int)(disk), #wire)
SAME(WIRE_TASK_RENAME, TASK_EVENT_RENAME);
SAME(WIRE_TASK_EXIT, TASK_EVENT_EXIT);
SAME(WIRE_TASK_EXEC, TASK_EVENT_EXEC);
SAME(WIRE_TASK_FORK, TASK_EVENT_FORK);
SAME(WIRE_TASK_SNAPSHOT, TASK_EVENT_SNAPSHOT);
SAME(WIRE_TASK_TREE, TASK_FLAG_TREE);
SAME(WIRE_TASK_KTHREAD, TASK_FLAG_KTHREAD);
SAME(WIRE_TASK_RECORDER, TASK_FLAG_RECORDER);
SAME(WIRE_TASK_ROOT, TASK_FLAG_ROOT);
SAME(WIRE_TASK_GROUP_DEAD, TASK_FLAG_GROUP_DEAD);
SAME(WIRE_TASK_ARGS_CUT, TASK_FLAG_COMMAND_CUT);
SAME(WIRE_PREV_SLEEPING, PREV_SLEEPING);
SAME(WIRE_PREV_UNINTERRUPTIBLE, PREV_UNINTERRUPTIBLE);
SAME(WIRE_PREV_IDLE, PREV_IDLE);
SAME(WIRE_PREV_STOPPED, PREV_STOPPED);
SAME(WIRE_PREV_TRACED, PREV_TRACED);
SAME(WIRE_PREV_PARKED, PREV_PARKED);
SAME(WIRE_PREV_DEAD, PREV_DEAD);
SAME(WIRE_PREV_OTHER, PREV_OTHER);
SAME(WIRE_PREV_PREEMPTED, PREV_PREEMPTED);
SAME(WIRE_PREV_IO_WAIT, PREV_IO_WAIT);
SAME(WIRE_PREV_THROTTLED, PREV_THROTTLED);
SAME(WIRE_VECTOR_HARD_TIMER, VECTOR_HARD_TIMER);
SAME(WIRE_VECTOR_HARD_DEVICE, VECTOR_HARD_DEVICE);
SAME(WIRE_RECLAIM_GLOBAL, RECLAIM_GLOBAL);
SAME(WIRE_RECLAIM_CGROUP, RECLAIM_CGROUP);
SAME(WIRE_WAKER_TASK, WAKER_TASK);
SAME(WIRE_WAKER_SOFTIRQ, WAKER_SOFTIRQ);
SAME(WIRE_WAKER_HARDIRQ, WAKER_HARDIRQ);
SAME(WIRE_WAKER_NMI, WAKER_NMI);
SAME(WIRE_WAKER_UNKNOWN, WAKER_UNKNOWN);
SAME(WIRE_NEXT_FIRST, NEXT_FLAG_FIRST);
SAME(WIRE_NEXT_EARLY_WAKE, NEXT_FLAG_EARLY_WAKE);
SAME(WIRE_NEXT_UNKNOWN, NEXT_FLAG_UNKNOWN);
SAME(WIRE_NEXT_PREEMPTED, NEXT_FLAG_PREEMPTED);
SAME(WIRE_NEXT_THROTTLED, NEXT_FLAG_THROTTLED);
SAME(WIRE_NEXT_IO_WAIT, NEXT_FLAG_IO_WAIT);
SAME(WIRE_CALL_BYTES, CALL_FLAG_BYTES);
SAME(WIRE_CALL_KIND, CALL_FLAG_KIND);
SAME(WIRE_CALL_STREAM, CALL_FLAG_STREAM);
SAME(WIRE_CALL_READ_FAILED, CALL_FLAG_READ_FAILED);
SAME(WIRE_CALL_OPEN, CALL_FLAG_OPEN);
SAME(WIRE_CALL_ABANDONED, CALL_FLAG_ABANDONED);
SAME(WIRE_CALL_PAGES, CALL_FLAG_PAGES);
SAME(WIRE_THREAD_RUNNING, THREAD_RUNNING);
SAME(WIRE_THREAD_WAITING, THREAD_WAITING);
SAME(WIRE_THREAD_BLOCKED, THREAD_BLOCKED);
SAME(WIRE_LOSS_RING_FULL, LOSS_RING_FULL);
SAME(WIRE_LOSS_NO_STORAGE, LOSS_NO_STORAGE);
SAME(WIRE_LOSS_TOO_DEEP, LOSS_TOO_DEEP);
SAME(WIRE_SOURCE_SWITCH, SOURCE_SWITCH);
SAME(WIRE_SOURCE_CALL_ENTRY, SOURCE_CALL_ENTRY);
SAME(WIRE_SOURCE_CALL_RETURN, SOURCE_CALL_RETURN);
SAME(WIRE_SOURCE_PAGE_ALLOC, SOURCE_PAGE_ALLOC);
SAME(WIRE_SOURCE_RENAME, SOURCE_RENAME);
SAME(WIRE_SOURCE_STATE, SOURCE_STATE);
SAME(WIRE_SOURCE_INTERRUPT, SOURCE_INTERRUPT);
SAME(WIRE_SOURCE_RECLAIM, SOURCE_RECLAIM);
SAME(WIRE_SOURCE_LIMIT, SOURCE_LIMIT);

struct ingest {
	struct writer *w;
	uint64_t command_bytes, commands_cut;	/* command lines stored; how many were not */
	uint32_t root;
	uint64_t rows[WIRE_SOURCE_LIMIT];
	uint64_t *calls;		/* by probe */
	size_t ncalls;
	uint8_t *tree;			/* a bit per PID: processes of the tree */
	uint8_t *listed;		/* a bit per TID: threads that had a task row */
	void (*on_process)(void *context, uint32_t tgid);
	void *context;
};

int ingest_open(struct ingest **out, struct writer *w, struct error *e)
{
	struct ingest *in = calloc(1, sizeof(*in));

	*out = in;
	if (in) {
		in->tree = calloc(1, PID_LIMIT / 8);
		in->listed = calloc(1, PID_LIMIT / 8);
	}
	if (!in || !in->tree || !in->listed)
		return error_set(e, ERROR_MEMORY, "out of memory");
	in->w = w;
	return 0;
}

void ingest_processes(struct ingest *in, void (*on_process)(void *context, uint32_t tgid),
		      void *context)
{
	in->on_process = on_process;
	in->context = context;
}

static void bit_set(uint8_t *bits, uint32_t pid, bool value)
{
	if (pid >= PID_LIMIT)
		return;
	if (value)
		bits[pid / 8] |= 1u << pid % 8;
	else
		bits[pid / 8] &= ~(1u << pid % 8);
}

static bool bit_get(const uint8_t *bits, uint32_t pid)
{
	return pid < PID_LIMIT && bits[pid / 8] >> pid % 8 & 1;
}

bool ingest_listed(const struct ingest *in, uint32_t tid)
{
	return bit_get(in->listed, tid);
}

bool ingest_in_tree(const struct ingest *in, uint32_t pid)
{
	return bit_get(in->tree, pid);
}

static void on_switch(struct ingest *in, unsigned int cpu, const struct wire_switch *record)
{
	struct row_switch row = {
		.ts = record->h.ts, .prev_tid = record->h.tid, .prev_state = record->prev_state,
		.prev_page_events = record->page_events, .prev_pages = record->pages,
		.next_tid = record->next_tid, .next_off = record->off, .next_wait = record->wait,
		.wake_latency = record->wake_latency, .waker_tid = record->waker_tid,
		.waker_context = record->waker_context, .migrated_from = record->migrated_from,
		.migrated_wait = record->migrated_wait, .next_flags = record->next_flags,
		.next_throttled = record->throttled, .next_syscall = record->syscall, .waker_syscall = record->waker_syscall,
		.waker_vector = record->waker_vector, .prev_major_faults = record->major_faults,
	};

	in->rows[SOURCE_SWITCH]++;
	writer_row(in->w, TABLE_switch, cpu, &row);
}

static void on_pages(struct ingest *in, unsigned int cpu, const struct wire_pages *record)
{
	struct row_page row = {
		.ts = record->h.ts, .tid = record->h.tid, .events = record->events, .pages = record->pages,
	};

	writer_row(in->w, TABLE_page, cpu, &row);
}

static void on_reclaim(struct ingest *in, unsigned int cpu, const struct wire_reclaim *record)
{
	struct row_reclaim row = {
		.ts = record->h.ts, .duration = record->duration, .tid = record->h.tid,
		.kind = record->kind, .pages = record->pages,
	};

	writer_row(in->w, TABLE_reclaim, cpu, &row);
}

static void calls_count(struct ingest *in, uint32_t probe)
{
	uint64_t *bigger;

	if (probe >= in->ncalls) {
		bigger = realloc(in->calls, (probe + 64) * sizeof(*bigger));
		if (!bigger)
			return;
		memset(bigger + in->ncalls, 0, (probe + 64 - in->ncalls) * sizeof(*bigger));
		in->calls = bigger;
		in->ncalls = probe + 64;
	}
	in->calls[probe]++;
}

static void on_call(struct ingest *in, unsigned int cpu, const struct wire_call *record)
{
	struct row_call row = {
		.ts = record->h.ts, .duration = record->duration, .tid = record->h.tid,
		.operation = cuda_symbol_operation(record->symbol), .probe = record->probe,
		.depth = record->depth, .bytes = record->bytes, .kind = record->kind, .stream = record->stream,
		.code = (uint64_t)(int64_t)record->code, .flags = record->flags, .tgid = record->tgid,
		.page_events = record->page_events,
	};

	in->rows[SOURCE_CALL_RETURN]++;
	calls_count(in, record->probe);
	writer_row(in->w, TABLE_call, cpu, &row);
}

static uint64_t args_string(struct ingest *in, const struct wire_task *record, size_t size)
{
	char text[WIRE_ARGS];
	size_t length = record->args_length;

	if (record->event != WIRE_TASK_EXEC || length > WIRE_ARGS || length > size - sizeof(*record))
		return 0;
	memcpy(text, record->args, length);
	while (length && !text[length - 1])
		length--;
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			text[i] = ' ';
	if (in->command_bytes + length > COMMANDS_MAX) {
		in->commands_cut++;
		return 0;
	}
	in->command_bytes += length;
	return writer_string(in->w, text, length);
}

static void on_task(struct ingest *in, const struct wire_task *record, size_t size)
{
	static const uint8_t sources[] = {
		[WIRE_TASK_FORK] = SOURCE_FORK, [WIRE_TASK_EXEC] = SOURCE_EXEC,
		[WIRE_TASK_EXIT] = SOURCE_EXIT, [WIRE_TASK_RENAME] = SOURCE_RENAME,
	};
	struct row_task row = {
		.ts = record->h.ts, .event = record->event, .tid = record->h.tid, .tgid = record->tgid,
		.ppid = record->ppid, .other_tid = record->other_tid, .ns_tid = record->ns_tid,
		.ns_tgid = record->ns_tgid, .start = record->start, .process_start = record->process_start,
		.name = writer_string(in->w, record->comm, strnlen(record->comm, WIRE_COMM)),
		.command = args_string(in, record, size), .exit_code = record->exit_code,
		.flags = record->flags,
	};
	char cgroup[4096];
	bool ended = record->event == WIRE_TASK_EXIT && record->flags & WIRE_TASK_GROUP_DEAD;

	if (record->event < sizeof(sources))
		in->rows[sources[record->event]]++;
	bit_set(in->listed, record->h.tid, true);
	if (record->flags & WIRE_TASK_ROOT) {
		in->root = record->tgid;
		hostinfo_cgroup(cgroup, sizeof(cgroup));
		row.cgroup = writer_string(in->w, cgroup, strlen(cgroup));
	}
	if (record->flags & WIRE_TASK_TREE) {
		bit_set(in->tree, record->tgid, !ended);
		bit_set(in->tree, record->ns_tgid, !ended);
	}
	writer_row(in->w, TABLE_task, 0, &row);
}

static void on_state(struct ingest *in, const struct wire_state *record)
{
	struct row_state row = {
		.ts = record->h.ts, .kind = STATE_KIND_THREAD, .cpu = record->cpu, .tid = record->h.tid,
		.tgid = record->tgid, .state = record->state, .since = record->since,
		.runnable_since = record->runnable_since, .page_events = record->page_events,
		.pages = record->pages, .depth = record->open_calls, .syscall = record->syscall,
	};

	if (record->h.tid == record->tgid && ingest_in_tree(in, record->tgid) && in->on_process)
		in->on_process(in->context, record->tgid);
	writer_row(in->w, TABLE_state, 0, &row);
}

static void on_open_call(struct ingest *in, const struct wire_open_call *record)
{
	struct row_state row = {
		.ts = record->h.ts, .kind = STATE_KIND_OPEN_CALL, .tid = record->h.tid, .tgid = record->tgid,
		.since = record->start, .operation = cuda_symbol_operation(record->symbol),
		.probe = record->probe, .depth = record->depth,
	};

	writer_row(in->w, TABLE_state, 0, &row);
}

static void on_affinity(struct ingest *in, const struct wire_affinity *record)
{
	struct row_affinity row = { .ts = record->h.ts, .tid = record->h.tid, .tgid = record->tgid };
	char list[AFFINITY_TEXT];

	row.count = affinity_list((const uint64_t *)record->mask, record->words, list);
	row.cpus = writer_string(in->w, list, strlen(list));
	writer_row(in->w, TABLE_affinity, 0, &row);
}

void ingest_record(void *context, unsigned int cpu, const struct wire_header *record, size_t size)
{
	switch (record->kind) {
	case WIRE_SWITCH:
		on_switch(context, cpu, (const void *)record);
		break;
	case WIRE_PAGES:
		on_pages(context, cpu, (const void *)record);
		break;
	case WIRE_RECLAIM:
		on_reclaim(context, cpu, (const void *)record);
		break;
	case WIRE_AFFINITY:
		on_affinity(context, (const void *)record);
		break;
	case WIRE_CALL:
		on_call(context, cpu, (const void *)record);
		break;
	case WIRE_TASK:
		on_task(context, (const void *)record, size);
		break;
	case WIRE_STATE:
		on_state(context, (const void *)record);
		break;
	case WIRE_OPEN_CALL:
		on_open_call(context, (const void *)record);
		break;
	}
}

void ingest_operations(struct ingest *in)
{
	for (unsigned int id = 1; id <= cuda_operation_count(); id++) {
		const struct cuda_symbol *symbol = &cuda_symbols[cuda_operation_row(id)];
		struct row_operation row = {
			.id = id, .name = writer_string(in->w, symbol->operation, strlen(symbol->operation)),
			.layer = symbol->layer, .category = symbol->category, .flags = symbol->flags,
		};

		writer_row(in->w, TABLE_operation, 0, &row);
	}
}

uint64_t ingest_rows(const struct ingest *in, unsigned int source)
{
	return source < WIRE_SOURCE_LIMIT ? in->rows[source] : 0;
}

uint64_t ingest_calls(const struct ingest *in, uint32_t probe)
{
	return probe < in->ncalls ? in->calls[probe] : 0;
}

uint64_t ingest_commands_cut(const struct ingest *in)
{
	return in->commands_cut;
}

uint32_t ingest_root(const struct ingest *in)
{
	return in->root;
}

void ingest_close(struct ingest *in)
{
	if (!in)
		return;
	free(in->calls);
	free(in->tree);
	free(in->listed);
	free(in);
}
