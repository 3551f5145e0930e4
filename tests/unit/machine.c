// SPDX-License-Identifier: BSD-2-Clause
#include "machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREEMPTED (PREV_RUNNABLE | PREV_PREEMPTED)

enum life { UNBORN, RUNNING, WAITING, SLEEPING, DEAD };

struct thread_model {
	enum life life;
	uint64_t left, woken, moved, changed;	/* changed: of the last step that touched it */
	uint32_t cpu, moved_from;		/* moved_from: CPU + 1 */
	bool born, early, preempted, mute, by_row;
};

struct model {
	struct made *made;
	const struct machine_options *o;
	struct machine_truth *truth;
	struct thread_model threads[MACHINE_THREADS];
	int on[MACHINE_CPUS];			/* thread, or -1 */
	uint64_t came[MACHINE_CPUS], now, random;
};

static uint64_t chance(struct model *m, uint64_t below)
{
	uint64_t x = m->random += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (x ^ x >> 31) % below;
}

void life_add(struct life_truth *l, const struct stretch_truth *s)
{
	struct stretch_truth *last = l->count ? &l->list[l->count - 1] : NULL;

	if (s->start >= s->end)
		return;
	if (last && last->end == s->start && last->state == s->state && last->cpu == s->cpu &&
	    last->tid == s->tid) {
		last->end = s->end;
		return;
	}
	if (l->count == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 64;
		l->list = realloc(l->list, l->capacity * sizeof(*l->list));
		if (!l->list)
			exit(1);
	}
	l->list[l->count++] = *s;
}

static uint64_t tid_of(int thread)
{
	return thread < 0 ? 0 : MACHINE_TID + (uint64_t)thread;
}

static void stretch(struct model *m, int thread, uint64_t start, uint64_t end,
		    enum piece_state state, uint32_t cpu)
{
	life_add(&m->truth->threads[thread], &(struct stretch_truth){ start, end, state, cpu, 0 });
}

/* From leaving the CPU until ts, by what the row of its return would say. */
static void off_truth(struct model *m, int thread, uint64_t ts)
{
	const struct thread_model *t = &m->threads[thread];
	uint64_t moved = t->moved_from ? t->moved : t->woken;

	stretch(m, thread, t->left, t->woken, PIECE_BLOCKED, 0);
	stretch(m, thread, t->woken, moved, PIECE_WAITING, t->moved_from - 1);
	stretch(m, thread, moved, ts, PIECE_WAITING, t->cpu);
}

static void fill_next(struct model *m, int thread, struct row_switch *row)
{
	struct thread_model *t = &m->threads[thread];

	row->next_tid = tid_of(thread);
	if (chance(m, 100) < m->o->unknown) {
		row->next_flags = NEXT_FLAG_UNKNOWN;
		stretch(m, thread, t->left, m->now, PIECE_UNRECORDED, 0);
		m->truth->unknown++;
		return;
	}
	row->next_off = m->now - t->left;
	row->next_wait = m->now - t->woken;
	row->migrated_from = t->moved_from;
	row->migrated_wait = t->moved_from ? m->now - t->moved : 0;
	row->next_flags = (t->early ? NEXT_FLAG_EARLY_WAKE : 0) |
			  (t->preempted ? NEXT_FLAG_PREEMPTED : 0) |
			  (t->born && !t->by_row ? NEXT_FLAG_FIRST : 0);
	off_truth(m, thread, m->now);
}

static void come(struct model *m, int thread, uint32_t cpu, struct row_switch *row)
{
	struct thread_model *t = &m->threads[thread];

	fill_next(m, thread, row);
	t->life = RUNNING;
	t->cpu = cpu;
	t->changed = m->now;
	t->by_row = true;
	t->moved_from = 0;
	t->early = t->preempted = false;
}

static uint64_t leave(struct model *m, int thread, uint32_t cpu, bool others)
{
	struct thread_model *t = &m->threads[thread];
	uint64_t kind = chance(m, 20);

	stretch(m, thread, m->came[cpu], m->now, PIECE_RUNNING, cpu);
	t->left = t->woken = t->changed = m->now;
	t->by_row = true;
	if (!kind && t->born) {
		t->life = DEAD;
		m->truth->deaths++;
		made_task(m->made, TASK_EVENT_EXIT, m->now, tid_of(thread), tid_of(thread),
			  tid_of(thread), TASK_FLAG_TREE | TASK_FLAG_GROUP_DEAD, "t");
		return PREV_DEAD;
	}
	if (kind < 7 && others) {
		t->life = WAITING;
		t->preempted = true;
		m->truth->preempted++;
		return PREEMPTED;
	}
	t->early = kind == 7;
	t->life = t->early ? WAITING : SLEEPING;
	m->truth->early += t->early;
	return kind == 8 ? PREV_UNINTERRUPTIBLE | PREV_IO_WAIT : PREV_SLEEPING;
}

static int find(struct model *m, enum life life, int cpu)
{
	uint32_t from = (uint32_t)chance(m, m->o->threads);

	for (uint32_t i = 0; i < m->o->threads; i++) {
		uint32_t k = (from + i) % m->o->threads;

		if (m->threads[k].life == life && m->threads[k].changed < m->now &&
		    (cpu < 0 || m->threads[k].cpu == (uint32_t)cpu))
			return (int)k;
	}
	return -1;
}

static void do_switch(struct model *m, uint32_t cpu)
{
	struct row_switch row = { .ts = m->now };
	int prev = m->on[cpu], next = find(m, WAITING, (int)cpu);

	if ((prev < 0 && next < 0) || m->came[cpu] == m->now)
		return;
	if (!chance(m, 4) && prev >= 0)
		next = -1;
	row.prev_tid = tid_of(prev);
	if (prev >= 0)
		row.prev_state = leave(m, prev, cpu, next >= 0);
	life_add(&m->truth->cpus[cpu],
		 &(struct stretch_truth){ m->came[cpu], m->now, 0, 0, (uint32_t)tid_of(prev) });
	if (next >= 0)
		come(m, next, cpu, &row);
	m->on[cpu] = next;
	m->came[cpu] = m->now;
	if (chance(m, 100) < m->o->lost)
		return;
	m->truth->rows++;
	writer_row(m->made->writer, TABLE_switch, cpu, &row);
	if (!chance(m, 200))
		writer_flush(m->made->writer, NULL);
}

static void wake(struct model *m)
{
	int thread = find(m, SLEEPING, -1);

	if (thread < 0)
		return;
	m->threads[thread].life = WAITING;
	m->threads[thread].woken = m->threads[thread].changed = m->now;
	m->threads[thread].cpu = (uint32_t)chance(m, m->o->cpus);
}

static void migrate(struct model *m)
{
	int thread = find(m, WAITING, -1);
	uint32_t cpu = (uint32_t)chance(m, m->o->cpus);

	if (thread < 0 || m->threads[thread].moved_from || m->threads[thread].cpu == cpu)
		return;
	m->threads[thread].moved_from = m->threads[thread].cpu + 1;
	m->threads[thread].moved = m->threads[thread].changed = m->now;
	m->threads[thread].cpu = cpu;
	m->truth->migrated++;
}

static void give_birth(struct model *m)
{
	int thread = find(m, UNBORN, -1);
	struct thread_model *t = &m->threads[thread < 0 ? 0 : thread];

	if (thread < 0)
		return;
	*t = (struct thread_model){
		.life = WAITING, .left = m->now, .woken = m->now, .changed = m->now, .born = true,
		.cpu = (uint32_t)chance(m, m->o->cpus), .mute = t->mute,
	};
	m->truth->births++;
	made_task(m->made, TASK_EVENT_FORK, m->now, tid_of(thread), tid_of(thread), tid_of(thread),
		  TASK_FLAG_TREE, "t");
}

static void keyframe(struct model *m, int thread)
{
	const struct thread_model *t = &m->threads[thread];

	if (t->mute || t->life == UNBORN || t->life == DEAD)
		return;
	made_state(m->made, m->now, tid_of(thread), t->cpu,
		   t->life == RUNNING ? THREAD_RUNNING :
		   t->life == WAITING ? THREAD_WAITING :
					THREAD_BLOCKED,
		   t->life == RUNNING ? m->came[t->cpu] : t->left,
		   t->life == WAITING ? t->woken : 0);
}

static void step(struct model *m)
{
	uint64_t what = chance(m, 20);

	m->now += chance(m, 8) ? 1 + chance(m, 1500) : 0;
	if (what < 6)
		wake(m);
	else if (what == 6)
		migrate(m);
	else if (what == 7 && !chance(m, 8))
		give_birth(m);
	else
		do_switch(m, (uint32_t)chance(m, m->o->cpus));
	if (!chance(m, 500))
		for (uint32_t i = 0; i < m->o->threads; i++)
			keyframe(m, (int)i);
}

/* A few have a CPU from the start, most sleep, a quarter is yet to be born. */
static void set_out(struct model *m)
{
	for (uint32_t i = 0; i < m->o->threads; i++) {
		struct thread_model *t = &m->threads[i];

		*t = (struct thread_model){
			.life = i % 4 == 3 ? UNBORN : SLEEPING,
			.left = MADE_START,
			.woken = MADE_START,
			.mute = chance(m, 100) < m->o->mute,
		};
		if (t->life != UNBORN)
			made_process(m->made, tid_of((int)i), "t");
	}
	for (uint32_t cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		m->on[cpu] = -1;
		m->came[cpu] = MADE_START;
	}
	for (uint32_t cpu = 0; cpu < m->o->cpus && cpu * 4 < m->o->threads; cpu++) {
		if (!chance(m, 2))
			continue;
		m->on[cpu] = (int)cpu * 4;
		m->threads[cpu * 4].life = RUNNING;
		m->threads[cpu * 4].cpu = cpu;
	}
}

/*
 * What the end of the recording cuts off. Without a keyframe, rows alone tell: a thread sleeps
 * from the row it left with, or waits if it left runnable; of one without rows nothing is known.
 */
static void close_life(struct model *m, int thread)
{
	struct thread_model *t = &m->threads[thread];

	if (t->life == UNBORN || t->life == DEAD)
		return;
	t->moved_from = 0;	/* no keyframe tells it */
	if (t->mute && t->life != RUNNING) {
		if (!t->by_row) {
			stretch(m, thread, t->left, m->now, PIECE_UNRECORDED, 0);
			return;
		}
		t->woken = t->preempted ? t->left : m->now;
		t->cpu = UINT16_MAX;	/* where it would wait by now */
	}
	if (t->life == SLEEPING)
		t->woken = m->now;
	if (t->life == RUNNING)
		stretch(m, thread, m->came[t->cpu], m->now,
			t->mute && !t->by_row ? PIECE_UNRECORDED : PIECE_RUNNING,
			t->mute && !t->by_row ? 0 : t->cpu);
	else
		off_truth(m, thread, m->now);
}

static void close_all(struct model *m)
{
	char text[32];

	m->now += 1000;
	for (uint32_t i = 0; i < m->o->threads; i++) {
		keyframe(m, (int)i);
		close_life(m, (int)i);
	}
	for (uint32_t cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		life_add(&m->truth->cpus[cpu], &(struct stretch_truth){
			m->came[cpu], m->now, 0, 0, (uint32_t)tid_of(m->on[cpu]) });
		made_coverage(m->made, cpu, m->now);
	}
	snprintf(text, sizeof(text), "%llu", (unsigned long long)m->now);
	made_fact(m->made, "record.stop", text);
}

void machine_run(struct made *made, const struct machine_options *o, struct machine_truth *t)
{
	struct model m = { .made = made, .o = o, .truth = t, .now = MADE_START, .random = o->seed };

	memset(t, 0, sizeof(*t));
	made_fact(made, "host.cpus", "4");
	set_out(&m);
	for (uint32_t i = 0; i < o->steps; i++)
		step(&m);
	close_all(&m);
	t->end = m.now;
	t->thread_count = o->threads;
}

void machine_release(struct machine_truth *t)
{
	for (size_t i = 0; i < MACHINE_THREADS; i++)
		free(t->threads[i].list);
	for (size_t i = 0; i < MACHINE_CPUS; i++)
		free(t->cpus[i].list);
}
