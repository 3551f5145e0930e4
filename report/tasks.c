// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "tasks.h"

#define SLOT_BITS TASKS_SLOT_BITS

/* A row and its place in the file, by which rows of one moment keep their order. */
struct event { struct row_task row; uint64_t order; };
struct loader {
	struct tasks *tasks;
	struct recording *recording;
	struct event *events;
	size_t count, capacity;
};

static struct tid_slot *slot_of(const struct tasks *t, uint64_t tid)
{
	return tasks_slot(t, tid);
}

static struct tid_slot *slot_make(struct tasks *t, uint64_t tid)
{
	struct tid_slot **page = &t->slots[tid >> SLOT_BITS];

	if (!*page) {
		*page = malloc(sizeof(**page) << SLOT_BITS);
		if (!*page)
			return NULL;
		for (unsigned int i = 0; i < 1u << SLOT_BITS; i++)
			(*page)[i] = (struct tid_slot){ TASKS_UNKNOWN, 0, TASKS_NONE };
	}
	return slot_of(t, tid);
}

uint32_t tasks_thread_at(const struct tasks *t, const struct tid_slot *slot, uint64_t ts)
{
	uint32_t span;

	for (span = slot->span; t->spans[span].from > ts && t->spans[span].earlier;)
		span = t->spans[span].earlier;
	return t->spans[span].thread;
}

uint32_t tasks_process(const struct tasks *t, uint64_t tgid, uint64_t ts)
{
	const struct tid_slot *slot = slot_of(t, tgid);
	uint32_t p = slot ? slot->process : TASKS_NONE;

	while (p != TASKS_NONE && t->processes[p].birth > ts &&
	       t->processes[p].previous != TASKS_NONE)
		p = t->processes[p].previous;
	return p == TASKS_NONE ? TASKS_UNKNOWN : p;
}

static int add_span(struct tasks *t, uint64_t from, uint32_t thread, uint32_t earlier,
		    uint32_t *number)
{
	struct tid_span *spans = array_reserve(t->spans, &t->span_capacity, t->span_count + 1,
					       sizeof(*spans));

	if (!spans)
		return ERROR_MEMORY;
	t->spans = spans;
	*number = (uint32_t)t->span_count;
	spans[t->span_count++] = (struct tid_span){ from, thread, earlier };
	return 0;
}

/* From ts on, tid means thread. */
static int give_tid(struct tasks *t, uint64_t tid, uint64_t ts, uint32_t thread)
{
	struct tid_slot *slot = slot_make(t, tid);
	int ret = 0;

	if (!slot)
		return ERROR_MEMORY;
	if (slot->thread == TASKS_UNKNOWN) {
		slot->thread = thread;
		return 0;
	}
	if (!slot->span)
		ret = add_span(t, 0, slot->thread, 0, &slot->span);
	if (!ret)
		ret = add_span(t, ts, thread, slot->span, &slot->span);
	slot->thread = thread;
	return ret;
}

static struct process *add_process(struct tasks *t, uint64_t tgid)
{
	struct process *p = array_reserve(t->processes, &t->process_capacity,
					  t->process_count + 1, sizeof(*p));

	if (!p)
		return NULL;
	t->processes = p;
	p += t->process_count;
	*p = (struct process){
		.id = (uint32_t)t->process_count++, .tgid = (uint32_t)tgid,
		.parent = TASKS_NONE, .leader = TASKS_NONE, .first_thread = TASKS_NONE,
		.last_thread = TASKS_NONE, .previous = TASKS_NONE,
		.name = "", .command = "", .cgroup = "",
	};
	return p;
}

static struct thread *add_thread(struct tasks *t, uint64_t tid, uint32_t process)
{
	struct thread *thread = array_reserve(t->threads, &t->thread_capacity,
					      t->thread_count + 1, sizeof(*thread));
	struct process *p = &t->processes[process];
	uint32_t number = (uint32_t)t->thread_count;

	if (!thread)
		return NULL;
	t->threads = thread;
	thread += number;
	*thread = (struct thread){ .tid = (uint32_t)tid, .process = process,
				   .next = TASKS_NONE, .name = "" };
	if (p->last_thread == TASKS_NONE)
		p->first_thread = number;
	else
		t->threads[p->last_thread].next = number;
	p->last_thread = number;
	p->threads++;
	if (tid == p->tgid && p->leader == TASKS_NONE)
		p->leader = number;
	t->thread_count++;
	return thread;
}

static bool same_start(uint64_t a, uint64_t b)
{
	return a == b || !a || !b;
}

/* The process of an event; a start time that differs from the last one's means another process. */
static int find_process(struct tasks *t, uint64_t tgid, uint64_t start, uint64_t ts,
			uint32_t *found)
{
	struct tid_slot *slot = slot_make(t, tgid);
	struct process *p;

	if (!slot)
		return ERROR_MEMORY;
	if (slot->process != TASKS_NONE && same_start(t->processes[slot->process].start, start)) {
		*found = slot->process;
		if (start)
			t->processes[*found].start = start;
		return 0;
	}
	p = add_process(t, tgid);
	if (!p)
		return ERROR_MEMORY;
	p->start = start;
	p->birth = ts;
	p->previous = slot->process;
	*found = slot->process = (uint32_t)(p - t->processes);
	return 0;
}

static int find_thread(struct tasks *t, const struct row_task *row, uint64_t birth,
		       uint32_t *found)
{
	struct tid_slot *slot = slot_make(t, row->tid);
	struct thread *thread;
	uint32_t process;
	int ret;

	if (!slot)
		return ERROR_MEMORY;
	*found = slot->thread;
	if (slot->thread != TASKS_UNKNOWN && same_start(t->threads[slot->thread].start, row->start))
		return 0;
	if (t->thread_count >= TASKS_MAX) {
		t->overflow++;
		*found = TASKS_UNKNOWN;
		return 0;
	}
	ret = find_process(t, row->tgid, row->process_start, birth, &process);
	if (ret)
		return ret;
	thread = add_thread(t, row->tid, process);
	if (!thread)
		return ERROR_MEMORY;
	thread->birth = birth;
	thread->start = row->start;
	*found = (uint32_t)(thread - t->threads);
	return give_tid(t, row->tid, birth, *found);
}

static void note_exec(struct tasks *t, uint32_t thread)
{
	for (size_t i = t->name_count; i; i--)
		if (t->names[i - 1].thread == thread) {
			t->names[i - 1].exec = true;
			return;
		}
}

static int change_name(struct loader *l, uint64_t ts, uint32_t number, uint64_t string, bool exec)
{
	struct tasks *t = l->tasks;
	struct thread *thread = &t->threads[number];
	const char *name = reader_string(l->recording->reader, string);
	struct name_change *names;

	if (!*name)
		return 0;
	/* The kernel renames within an exec, before it tells of the exec. */
	if (exec && !strcmp(thread->name, name))
		note_exec(t, number);
	if (*thread->name && strcmp(thread->name, name)) {
		names = array_reserve(t->names, &t->name_capacity, t->name_count + 1,
				      sizeof(*names));
		if (!names)
			return ERROR_MEMORY;
		t->names = names;
		names[t->name_count++] = (struct name_change){ ts, number, exec, name };
	}
	thread->name = name;
	if (t->processes[thread->process].leader == number)
		t->processes[thread->process].name = name;
	return 0;
}

static void set_process(struct loader *l, const struct row_task *row, struct process *p)
{
	struct reader *reader = l->recording->reader;

	p->in_tree |= !!(row->flags & TASK_FLAG_TREE);
	p->recorder |= !!(row->flags & TASK_FLAG_RECORDER);
	p->kernel |= !!(row->flags & TASK_FLAG_KTHREAD);
	p->root |= !!(row->flags & TASK_FLAG_ROOT);
	if (row->ns_tgid)
		p->ns_tgid = (uint32_t)row->ns_tgid;
	if (row->command) {
		p->command = reader_string(reader, row->command);
		p->command_cut = row->flags & TASK_FLAG_COMMAND_CUT;
	}
	if (row->cgroup)
		p->cgroup = reader_string(reader, row->cgroup);
}

/* The first parent counts: later ones are who inherited an orphan. */
static void set_parent(struct tasks *t, const struct row_task *row, struct process *p)
{
	uint32_t parent;

	if (p->ppid || !row->ppid)
		return;
	p->ppid = (uint32_t)row->ppid;
	parent = tasks_process(t, row->ppid, row->ts);
	if (parent != TASKS_UNKNOWN && &t->processes[parent] != p)
		p->parent = parent;
	else if (parent == TASKS_UNKNOWN)
		p->parent = TASKS_NONE;
	/* Until it execs, a child runs its parent's command line. */
	if (p->parent != TASKS_NONE && !*p->command && row->event == TASK_EVENT_FORK)
		p->command = t->processes[p->parent].command;
}

static void note_fork(struct tasks *t, const struct row_task *row, uint32_t number)
{
	struct thread *thread = &t->threads[number];
	struct process *p = &t->processes[thread->process];

	thread->born = true;
	thread->birth = row->ts;
	if (p->leader == number) {
		p->born = true;
		p->birth = row->ts;
	}
}

/*
 * Where the old leader's last row is: it may leave the CPU for the last time after its exit
 * event, and the thread that takes over its TID may switch before its exec event.
 */
static int find_last_row(struct recording *r, uint64_t tid, uint64_t from, uint64_t to,
			 uint64_t *found)
{
	const struct block_list *list = recording_all(r, TABLE_switch);
	uint64_t mask = 1 << COL_switch_ts | 1 << COL_switch_prev_tid | 1 << COL_switch_prev_state;
	struct columns c = { 0 };
	int ret = 0;

	for (size_t b = 0; b < list->count && !ret; b++) {
		const struct block_info *info = reader_block(r->reader, list->block[b]);

		if (info->last_ts < from || info->first_ts > to)
			continue;
		ret = recording_load(r, list->block[b], mask, &c);
		for (uint32_t i = 0; i < c.rows; i++) {
			uint64_t ts = c.col[COL_switch_ts][i];

			if (ts >= from && ts <= to && c.col[COL_switch_prev_tid][i] == tid &&
			    (c.col[COL_switch_prev_state][i] & PREV_STATE_MASK) == PREV_DEAD)
				*found = ts;
		}
	}
	columns_release(&c);
	return ret;
}

static int take_over(struct loader *l, const struct row_task *row)
{
	struct tasks *t = l->tasks;
	uint32_t mover = tasks_thread(t, row->other_tid, row->ts);
	uint32_t leader = tasks_thread(t, row->tid, row->ts);
	uint64_t seam = row->ts;
	int ret = 0;

	if (mover == TASKS_UNKNOWN || mover == leader)
		return 0;
	if (leader != TASKS_UNKNOWN) {
		if (!t->threads[leader].exit)
			t->threads[leader].exit = row->ts;
		/* Before the span it does not matter. */
		if (row->ts >= l->recording->first)
			ret = find_last_row(l->recording, row->tid, t->threads[leader].exit,
					    row->ts, &seam);
		if (ret)
			return ret;
		if (seam < row->ts)
			seam++;
	}
	t->threads[mover].former_tid = (uint32_t)row->other_tid;
	t->threads[mover].tid = (uint32_t)row->tid;
	t->threads[mover].start = row->start;
	t->processes[t->threads[mover].process].leader = mover;
	return give_tid(t, row->tid, seam, mover);
}

static void note_exit(struct tasks *t, const struct row_task *row, uint32_t number)
{
	struct thread *thread = &t->threads[number];
	struct process *p = &t->processes[thread->process];

	thread->exit = row->ts;
	if (row->flags & TASK_FLAG_GROUP_DEAD)
		p->end = row->ts;
	if (p->leader == number || (!p->exit_known && row->flags & TASK_FLAG_GROUP_DEAD)) {
		p->exit_status = (uint32_t)row->exit_code;
		p->exit_known = true;
	}
}

static int apply(struct loader *l, const struct row_task *row)
{
	struct tasks *t = l->tasks;
	uint64_t birth = row->event == TASK_EVENT_FORK ? row->ts : l->recording->whole_start;
	uint32_t number;
	int ret = 0;

	if (!row->tid || row->tid >= TASKS_TID_LIMIT || row->tgid >= TASKS_TID_LIMIT)
		return 0;
	if (row->event == TASK_EVENT_EXEC && row->other_tid && row->other_tid != row->tid)
		ret = take_over(l, row);
	if (!ret)
		ret = find_thread(t, row, birth, &number);
	if (ret || number == TASKS_UNKNOWN)
		return ret;
	t->threads[number].flags |= (uint32_t)row->flags;
	if (row->start)
		t->threads[number].start = row->start;
	set_process(l, row, &t->processes[t->threads[number].process]);
	if (row->event == TASK_EVENT_FORK)
		note_fork(t, row, number);
	if (t->processes[t->threads[number].process].leader == number)
		set_parent(t, row, &t->processes[t->threads[number].process]);
	if (row->event == TASK_EVENT_EXEC)
		t->processes[t->threads[number].process].execed = true;
	if (row->event == TASK_EVENT_EXIT)
		note_exit(t, row, number);
	return change_name(l, row->ts, number, row->name, row->event == TASK_EVENT_EXEC);
}

/* What a number means after a narrowed span changes with these. */
static bool counts_later(const struct recording *r, const struct row_task *row)
{
	return row->ts <= r->whole_end &&
	       (row->event == TASK_EVENT_EXIT || row->event == TASK_EVENT_FORK);
}

static void apply_later(struct tasks *t, const struct row_task *row)
{
	struct thread *thread = &t->threads[tasks_thread(t, row->tid, row->ts)];

	if (row->event == TASK_EVENT_EXIT && !thread->later_exit && !thread->tid_until)
		thread->later_exit = row->ts;
	if (row->event == TASK_EVENT_FORK && !thread->tid_until)
		thread->tid_until = row->ts;
}

static int collect(void *context, const void *values)
{
	struct loader *l = context;
	const struct row_task *row = values;
	struct event *events;

	if (!recording_reached(l->recording, row->ts) && !counts_later(l->recording, row))
		return 0;
	events = array_reserve(l->events, &l->capacity, l->count + 1, sizeof(*events));
	if (!events)
		return ERROR_MEMORY;
	l->events = events;
	events[l->count] = (struct event){ *row, l->count };
	l->count++;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->row.ts != y->row.ts)
		return x->row.ts < y->row.ts ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The two threads that stand for none, and span 0, which stands for "no span". */
static int add_fixed(struct tasks *t)
{
	uint32_t span;

	if (!add_process(t, 0) || add_span(t, 0, TASKS_UNKNOWN, 0, &span))
		return ERROR_MEMORY;
	if (!add_thread(t, 0, TASKS_UNKNOWN) || !add_thread(t, 0, TASKS_UNKNOWN))
		return ERROR_MEMORY;
	t->threads[TASKS_UNKNOWN].name = "unknown";
	t->threads[TASKS_IDLE].name = "idle";
	t->processes[TASKS_UNKNOWN].name = "unknown";
	return give_tid(t, 0, 0, TASKS_IDLE);
}

int tasks_load(struct tasks *t, struct recording *r)
{
	struct loader l = { .tasks = t, .recording = r };
	int ret;

	memset(t, 0, sizeof(*t));
	ret = add_fixed(t);
	if (!ret)
		ret = recording_rows(r, TABLE_task, collect, &l);
	if (!ret && l.count)
		qsort(l.events, l.count, sizeof(*l.events), by_time);
	for (size_t i = 0; i < l.count && !ret; i++)
		if (recording_reached(r, l.events[i].row.ts))
			ret = apply(&l, &l.events[i].row);
		else
			apply_later(t, &l.events[i].row);
	free(l.events);
	return ret;
}

int tasks_ensure(struct tasks *t, const struct recording *r, uint64_t tid, uint64_t tgid,
		 uint64_t ts, uint32_t *thread)
{
	struct row_task row = { .tid = tid, .tgid = tgid };

	*thread = tasks_thread(t, tid, ts);
	if (*thread != TASKS_UNKNOWN || !tid || tid >= TASKS_TID_LIMIT || tgid >= TASKS_TID_LIMIT)
		return 0;
	return find_thread(t, &row, r->whole_start, thread);
}

void tasks_release(struct tasks *t)
{
	free(t->threads);
	free(t->processes);
	free(t->names);
	free(t->spans);
	for (size_t i = 0; i < sizeof(t->slots) / sizeof(*t->slots); i++)
		free(t->slots[i]);
	memset(t, 0, sizeof(*t));
}
