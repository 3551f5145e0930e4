// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>

#include "synth.h"

#define CODE_FAILED 2			/* cudaErrorMemoryAllocation */
#define DRIVER_LAUNCH 6			/* positions in synth_operation */
#define DRIVER_MALLOC 7

const struct synth_operation synth_operation[SYNTH_OPERATIONS] = {
	{ "cudaLaunchKernel", LAYER_RUNTIME, CATEGORY_LAUNCH, OPERATION_FLAG_WORK,
	  CALL_FLAG_STREAM },
	{ "cudaMemcpyAsync", LAYER_RUNTIME, CATEGORY_COPY, OPERATION_FLAG_WORK,
	  CALL_FLAG_BYTES | CALL_FLAG_KIND | CALL_FLAG_STREAM },
	{ "cudaStreamSynchronize", LAYER_RUNTIME, CATEGORY_SYNC, OPERATION_FLAG_SYNC,
	  CALL_FLAG_STREAM },
	{ "cudaMalloc", LAYER_RUNTIME, CATEGORY_MEMORY, 0, CALL_FLAG_BYTES },
	{ "cudaFree", LAYER_RUNTIME, CATEGORY_MEMORY, OPERATION_FLAG_SYNC, 0 },
	{ "cudaMemsetAsync", LAYER_RUNTIME, CATEGORY_SET, OPERATION_FLAG_WORK,
	  CALL_FLAG_BYTES | CALL_FLAG_STREAM },
	{ "cuLaunchKernel", LAYER_DRIVER, CATEGORY_LAUNCH, OPERATION_FLAG_WORK, CALL_FLAG_STREAM },
	{ "cuMemAlloc", LAYER_DRIVER, CATEGORY_MEMORY, 0, CALL_FLAG_BYTES },
};

int synth_callers(struct synth *s)
{
	const struct synth_options *o = &s->options;
	uint64_t callers = o->processes * o->threads, each = o->calls / callers;

	for (uint32_t i = 0; i < s->threads; i++) {
		const struct synth_thread *t = &s->thread[i];
		const struct synth_process *p = &s->process[t->process];
		uint64_t n = s->callers % o->threads;

		if (!p->caller)
			continue;
		/* Later threads of a process begin when the first has made each operation. */
		s->caller[s->callers] = (struct synth_caller){
			.thread = i, .quota = each + (s->callers < o->calls % callers),
			.free_at = t->born + 5000 + 4 * n * o->operations * s->spacing,
			.hangs = s->callers < o->open,
		};
		s->callers++;
	}
	return 0;
}

static uint64_t duration_of(struct synth *s)
{
	static const uint64_t ties[] = { 1000, 2000, 2000, 3000, 50000 };
	static const uint64_t extremes[] = { 0, 1, 0, 127, 128, 65535, 65536, UINT32_MAX };

	if (s->options.neighbour)
		return s->spacing / 6 + synth_random(s, s->spacing / 60 + 1);
	switch (s->options.shape) {
	case SHAPE_TIES:
		return ties[synth_random(s, 5)];
	case SHAPE_EXTREMES:
		/* An hour now and then, and 2^32 ns seldom: the file's span must stay sane. */
		if (synth_random(s, 1 + s->options.calls / 2) == 0)
			return 3600000000000;
		return extremes[synth_random(s, synth_random(s, 1000) ? 7 : 8)];
	default:
		return 1 + synth_spread(s, s->spacing / 6) +
		       (synth_random(s, 100) ? 0 : 20 * s->spacing);
	}
}

static void fill_call(struct synth *s, const struct synth_caller *c, uint64_t operation,
		      struct row_call *call)
{
	const struct synth_operation *o = &synth_operation[operation];

	call->tid = s->thread[c->thread].tid;
	call->tgid = s->process[s->thread[c->thread].process].pid;
	call->operation = operation + 1;
	call->probe = operation + 1;
	call->flags = o->call_flags;
	if (o->call_flags & CALL_FLAG_BYTES)
		call->bytes = 1ull << (8 + synth_random(s, 16));
	if (o->call_flags & CALL_FLAG_KIND)
		call->kind = 1 + synth_random(s, 2);
	if (o->call_flags & CALL_FLAG_STREAM)
		call->stream = 0x7f0000001000 + 0x100 * synth_random(s, 3);
}

/* The driver's call inside the runtime's, where there is one: the middle half. */
static void fill_child(struct synth *s, struct synth_caller *c)
{
	uint64_t inside = c->call.duration;

	c->child = (struct row_call){
		.ts = c->call.ts - inside / 4, .duration = inside / 2, .depth = 1,
	};
	fill_call(s, c, c->call.operation == 1 ? DRIVER_LAUNCH : DRIVER_MALLOC, &c->child);
}

static uint64_t gap_of(struct synth *s)
{
	if (s->options.neighbour)
		return s->spacing / 3 + synth_random(s, s->spacing / 30 + 1);
	return s->options.shape == SHAPE_EXTREMES ? 1 + synth_random(s, 1000) :
						    1 + synth_spread(s, s->spacing / 3);
}

static void decide(struct synth *s, struct synth_caller *c)
{
	uint64_t gap = gap_of(s);
	uint64_t operation = c->operation++ % s->options.operations;

	c->call = (struct row_call){ .duration = duration_of(s) };
	c->call.ts = c->free_at + gap + c->call.duration;
	fill_call(s, c, operation, &c->call);
	if (s->options.neighbour)
		synth_neighbour_decide(s, c);
	if (synth_random(s, 100) < s->options.failed)
		c->call.code = CODE_FAILED;
	c->nested = c->quota >= 2 && (operation == 0 || operation == 3) &&
		    synth_random(s, 100) < s->options.nested;
	if (c->nested)
		fill_child(s, c);
	c->ready = true;
}

static int keep_duration(struct synth_truth *t, uint64_t duration)
{
	if (t->good == t->room) {
		uint64_t room = t->room ? 2 * t->room : 64;
		uint64_t *more = realloc(t->duration, room * sizeof(*more));

		if (!more)
			return ERROR_MEMORY;
		t->duration = more;
		t->room = room;
	}
	t->duration[t->good++] = duration;
	return 0;
}

static void note(struct synth *s, const struct synth_caller *c, const struct row_call *call)
{
	uint32_t p = s->thread[c->thread].process;
	struct synth_truth *t = &s->truth[p * SYNTH_OPERATIONS + call->operation - 1];
	uint64_t start = call->ts - call->duration;

	s->process[p].calls++;
	t->calls++;
	t->nested += call->depth > 0;
	if (call->code) {
		t->failed++;
		return;
	}
	if (!t->good || start < t->first_start) {
		t->first_start = start;
		t->first = call->duration;
	}
	t->total += call->depth ? 0 : call->duration;
	t->bytes += call->bytes;
	if (keep_duration(t, call->duration))
		s->failed = true;
}

static void emit(struct synth *s, struct synth_caller *c, const struct row_call *call)
{
	uint32_t cpu = s->thread[c->thread].cpu;

	note(s, c, call);
	synth_row(s, TABLE_call, cpu, call);
	s->cpu[cpu].call_rows++;
	c->quota--;
	c->made++;
}

/* In order of return: the child's row comes first. */
static void emit_until(struct synth *s, struct synth_caller *c, uint64_t until)
{
	if (c->nested && c->child.ts < until) {
		emit(s, c, &c->child);
		c->nested = false;
	}
	if (c->call.ts < until) {
		emit(s, c, &c->call);
		c->free_at = c->call.ts;
		c->ready = false;
	}
}

bool synth_calls(struct synth *s, uint64_t until)
{
	bool more = false;

	for (uint32_t i = 0; i < s->callers; i++) {
		struct synth_caller *c = &s->caller[i];

		while (c->quota) {
			if (!c->ready)
				decide(s, c);
			if (s->options.neighbour)
				synth_neighbour_rows(s, c, until);
			emit_until(s, c, until);
			if (c->ready)
				break;
		}
		more |= c->quota > 0;
	}
	return more;
}

static void open_row(struct synth *s, const struct synth_caller *c, const struct row_call *call,
		     uint64_t ts, uint64_t start)
{
	struct synth_thread *t = &s->thread[c->thread];
	struct row_state row = {
		.ts = ts, .kind = STATE_KIND_OPEN_CALL, .cpu = t->cpu, .tid = call->tid,
		.tgid = call->tgid, .since = start, .operation = call->operation,
		.probe = call->probe, .depth = call->depth,
	};

	t->open_calls++;
	synth_row(s, TABLE_state, 0, &row);
}

static bool is_open(const struct row_call *call, uint64_t ts)
{
	return call->ts - call->duration < ts && call->ts >= ts;
}

/* A call that never returns, of a thread that has made all the others. */
static void hang(struct synth *s, struct synth_caller *c, uint64_t ts)
{
	struct row_call call = { .duration = 0 };
	uint64_t start = c->free_at + 1000;

	fill_call(s, c, c->operation % s->options.operations, &call);
	s->truth[s->thread[c->thread].process * SYNTH_OPERATIONS + call.operation - 1].open++;
	open_row(s, c, &call, ts, start < ts ? start : ts);
}

void synth_open_calls(struct synth *s, uint64_t ts, bool last)
{
	for (uint32_t i = 0; i < s->threads; i++)
		s->thread[i].open_calls = 0;
	for (uint32_t i = 0; i < s->callers; i++) {
		struct synth_caller *c = &s->caller[i];

		if (c->ready && is_open(&c->call, ts))
			open_row(s, c, &c->call, ts, c->call.ts - c->call.duration);
		if (c->ready && c->nested && is_open(&c->child, ts))
			open_row(s, c, &c->child, ts, c->child.ts - c->child.duration);
		if (last && c->hangs)
			hang(s, c, ts);
	}
}
