// SPDX-License-Identifier: BSD-2-Clause
/*
 * The walk over all calls in the order in which they began. What depends on returns is known
 * when a call begins, since its end is known then: until when other threads are in work-giving
 * calls, and which call will prove the device idle. Only the one that returns first can: the
 * device is known to be idle then, and the others prove nothing new; and a work-giving call of
 * another thread before it returns leaves none of them.
 *
 * Before the first idle point nothing is known about work given before the recording: it is
 * taken to have been on the stream that is waited for.
 *
 * A call that begins before its thread's last one has ended can only come from a damaged file:
 * it is left out, so that windows stay disjoint.
 */
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "windows_private.h"

enum { STREAMS_NONE = 0, STREAMS_ONE, STREAMS_MIXED };

int window_walk_open(struct window_walk *k, struct windows *w, const struct window_calls *c,
		     const struct tasks *t)
{
	memset(k, 0, sizeof(*k));
	k->windows = w;
	k->calls = c;
	k->tasks = t;
	k->feeder_of = calloc(t->thread_count + 1, sizeof(*k->feeder_of));
	k->process_of = calloc(t->process_count + 1, sizeof(*k->process_of));
	return k->feeder_of && k->process_of ? 0 : ERROR_MEMORY;
}

void window_walk_release(struct window_walk *k)
{
	free(k->feeder_of);
	free(k->process_of);
	free(k->feeders);
	free(k->processes);
	free(k->threads_saved);
	free(k->processes_saved);
	free(k->counts);
	memset(k, 0, sizeof(*k));
}

static int add_process(struct window_walk *k, uint32_t process, uint32_t *place)
{
	struct feeding_process *grown;

	if (!k->process_of[process]) {
		grown = array_reserve(k->processes, &k->process_capacity, k->process_count + 1,
				      sizeof(*grown));
		if (!grown)
			return ERROR_MEMORY;
		k->processes = grown;
		grown[k->process_count++] = (struct feeding_process){ .process = process };
		k->process_of[process] = (uint32_t)k->process_count;
	}
	*place = k->process_of[process] - 1;
	return 0;
}

static int add_feeder(struct window_walk *k, const struct window_call *c)
{
	struct feeder *grown = array_reserve(k->feeders, &k->feeder_capacity, k->feeder_count + 1,
					     sizeof(*grown));
	uint32_t place;

	if (!grown)
		return ERROR_MEMORY;
	k->feeders = grown;
	if (add_process(k, k->tasks->threads[c->thread].process, &place))
		return ERROR_MEMORY;
	grown[k->feeder_count++] = (struct feeder){ .thread = c->thread, .process = place,
						    .first = c->start };
	k->feeder_of[c->thread] = (uint32_t)k->feeder_count;
	return 0;
}

static int save_threads(struct window_walk *k)
{
	struct saved_thread *grown;

	for (uint32_t i = 0; i < k->feeder_count; i++) {
		struct feeder *f = &k->feeders[i];

		if (!f->changed)
			continue;
		grown = array_reserve(k->threads_saved, &k->threads_saved_capacity,
				      k->saved.threads + 1, sizeof(*grown));
		if (!grown)
			return ERROR_MEMORY;
		k->threads_saved = grown;
		grown[k->saved.threads++] = (struct saved_thread){ i, f->calls, f->at };
		f->changed = false;
		f->calls = 0;
	}
	return 0;
}

static int save_processes(struct window_walk *k)
{
	struct saved_process *grown;

	for (uint32_t i = 0; i < k->process_count; i++) {
		struct feeding_process *p = &k->processes[i];

		if (!p->changed)
			continue;
		grown = array_reserve(k->processes_saved, &k->processes_saved_capacity,
				      k->saved.processes + 1, sizeof(*grown));
		if (!grown)
			return ERROR_MEMORY;
		k->processes_saved = grown;
		grown[k->saved.processes++] = (struct saved_process){ i, p->at };
		p->changed = false;
	}
	return 0;
}

int window_walk_save(struct window_walk *k, size_t span)
{
	struct saved_counts *counts = array_reserve(k->counts, &k->counts_capacity, span + 1,
						    sizeof(*counts));

	if (!counts)
		return ERROR_MEMORY;
	k->counts = counts;
	if (save_threads(k) || save_processes(k))
		return ERROR_MEMORY;
	counts[span] = k->saved;
	return 0;
}

void window_walk_restore(struct window_walk *k, size_t span)
{
	for (size_t i = 0; i < k->feeder_count; i++)
		memset(&k->feeders[i].at, 0, sizeof(k->feeders[i].at));
	for (size_t i = 0; i < k->process_count; i++)
		memset(&k->processes[i].at, 0, sizeof(k->processes[i].at));
	for (size_t i = 0; i < k->counts[span].threads; i++)
		k->feeders[k->threads_saved[i].feeder].at = k->threads_saved[i].at;
	for (size_t i = 0; i < k->counts[span].processes; i++)
		k->processes[k->processes_saved[i].process].at = k->processes_saved[i].at;
}

/* The call that proves the device idle has returned before ts. */
static void settle(struct window_walk *k, struct walk_process *p, uint64_t ts)
{
	struct feeder *f;

	if (!p->prover || p->proof > ts)
		return;
	f = &k->feeders[p->prover - 1];
	f->at.idle = true;
	f->at.dropped = false;
	f->at.proofs++;
	f->at.idle_start = p->proof;
	f->at.idle_end = UINT64_MAX;
	f->at.idle_work = p->work;
	f->at.idle_operation = f->at.operation;
	f->changed = true;
	p->idler = p->prover;
	p->prover = 0;
	p->streams_before = p->streams;
	p->streams = STREAMS_NONE;
	if (!p->syncs++)
		p->first_idle = p->proof;
}

/* A thread gives the device work: it is idle no longer, and no call in progress proves it is. */
static void end_idle(struct window_walk *k, struct walk_process *p, uint64_t ts)
{
	if (p->idler) {
		struct feeder *f = &k->feeders[p->idler - 1];

		f->at.idle_end = ts;
		f->changed = true;
	}
	p->idler = 0;
	p->prover = 0;
}

/* On the thread of an idle stretch, in it: a device with nothing to do is not waited for. */
static bool waited(const struct window_walk *k, const struct walk_thread *t,
		   const struct window_call *c)
{
	return t->idle && t->idle_end == UINT64_MAX && c->end - c->start > WINDOWS_SYNC_WAITED &&
	       window_operation_waits(window_operation(k->calls, c->operation));
}

/* As if its idle point had not been proved; what began in it stays outside all groups. */
static void drop_idle(struct walk_process *p, struct walk_thread *t, uint64_t ts)
{
	t->idle_end = ts;
	t->dropped = true;
	t->proofs--;
	p->idler = 0;
	p->streams = p->streams_before;
	p->syncs--;
}

static int found_idle(struct window_walk *k, uint32_t feeder, uint64_t end)
{
	struct walk_thread *t = &k->feeders[feeder].at;

	t->idle = false;
	if (t->dropped || end <= t->idle_start)
		return 0;
	return windows_found(k->windows, group_key(EFFECT_STARVATION, feeder, t->idle_operation, 0),
			     t->idle_start, end, t->idle_work);
}

/* Until when other threads are in work-giving calls that have begun. */
static uint64_t others_until(const struct walk_process *p, uint32_t feeder)
{
	return p->busy == feeder + 1 ? p->other_busy_until : p->busy_until;
}

/* What was between the thread's last call and this one. */
static int before_call(struct window_walk *k, const struct walk_process *p, uint32_t feeder,
		       const struct window_call *c)
{
	struct walk_thread *t = &k->feeders[feeder].at;
	uint16_t fed = others_until(p, feeder) > t->end ? GAP_FED : 0;
	bool inside = t->idle && (t->end == t->idle_start || t->end < t->idle_end);
	int ret = 0;

	if (t->idle && t->idle_end <= c->start)
		ret = found_idle(k, feeder, t->idle_end);
	if (inside || ret || !t->called)
		return ret;
	return windows_found(k->windows, group_key(EFFECT_GAP, feeder, t->operation, c->operation | fed),
			     t->end, c->start, t->work);
}

static int found_call(struct window_walk *k, const struct walk_process *p, uint32_t feeder,
		      const struct window_call *c)
{
	uint16_t detail = (uint16_t)(c->size_class << 8 | c->traits >> CALL_KIND_SHIFT);

	if (k->feeders[feeder].at.idle || (c->traits & (CALL_GOOD | CALL_FIRST)) != CALL_GOOD)
		return 0;
	return windows_found(k->windows, group_key(EFFECT_SLOW_CALL, feeder, c->operation, detail),
			     c->start, c->end, p->work);
}

static void give_work(struct walk_process *p, uint32_t feeder, const struct window_call *c)
{
	p->work++;
	if (p->streams == STREAMS_NONE)
		p->streams = STREAMS_ONE, p->stream = c->stream;
	else if (p->streams != STREAMS_ONE || c->stream != p->stream)
		p->streams = STREAMS_MIXED;
	if (p->busy == feeder + 1) {
		p->busy_until = c->end;
	} else if (c->end > p->busy_until) {
		p->other_busy_until = p->busy_until;
		p->busy_until = c->end;
		p->busy = feeder + 1;
	} else if (c->end > p->other_busy_until) {
		p->other_busy_until = c->end;
	}
}

/* Unless another thread begins work meanwhile, the device is known to be idle when c returns. */
static bool may_prove(const struct walk_process *p, uint32_t feeder, const struct window_call *c)
{
	if (p->idler || others_until(p, feeder) > c->start)
		return false;
	if (p->prover && p->proof <= c->end)
		return false;
	if (c->traits & CALL_PROVES_ALL)
		return true;
	return p->streams == STREAMS_NONE || (p->streams == STREAMS_ONE && p->stream == c->stream);
}

static int one_call(struct window_walk *k, uint32_t feeder, const struct window_call *c)
{
	struct feeder *f = &k->feeders[feeder];
	struct feeding_process *process = &k->processes[f->process];
	struct walk_process *p = &process->at;
	int ret;

	if (c->start < f->at.end)
		return 0;
	settle(k, p, c->start);
	if (c->traits & CALL_WORK)
		end_idle(k, p, c->start);
	else if (waited(k, &f->at, c))
		drop_idle(p, &f->at, c->start);
	ret = before_call(k, p, feeder, c);
	if (!ret)
		ret = found_call(k, p, feeder, c);
	f->at.called = true;
	f->at.end = f->last = c->end;
	f->at.operation = c->operation;
	f->changed = process->changed = true;
	f->calls++;
	if (c->traits & CALL_WORK) {
		give_work(p, feeder, c);
		f->at.works = true;
	}
	f->at.work = p->work;
	if ((c->traits & (CALL_PROVES_ALL | CALL_PROVES_STREAM)) && may_prove(p, feeder, c)) {
		p->prover = feeder + 1;
		p->proof = c->end;
	}
	return ret;
}

int window_walk_calls(struct window_walk *k, const struct window_call *calls, size_t count)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++) {
		const struct window_call *c = &calls[i];

		if (!k->feeder_of[c->thread] && !k->closed)
			ret = add_feeder(k, c);
		if (!ret && k->feeder_of[c->thread])
			ret = one_call(k, k->feeder_of[c->thread] - 1, c);
	}
	return ret;
}

int window_walk_finish(struct window_walk *k)
{
	int ret = 0;

	for (size_t i = 0; i < k->process_count; i++)
		settle(k, &k->processes[i].at, UINT64_MAX);
	for (uint32_t i = 0; i < k->feeder_count && !ret; i++) {
		const struct walk_thread *t = &k->feeders[i].at;

		if (t->idle)
			ret = found_idle(k, i, t->idle_end < t->end ? t->idle_end : t->end);
	}
	return ret;
}
