/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_TASKS_H
#define INGERO_REPORT_TASKS_H
/*
 * Who ran: processes and threads from table task. A thread is (TID, start time), a process
 * (TGID, start time of its leader); a number used again is another thread. A thread other than
 * the leader that execs takes over its process's TID: it stays one thread, with two TIDs.
 *
 * Threads and processes are named by their place in the arrays. Two stand for no real thread:
 * TASKS_UNKNOWN for TIDs the table never introduced, TASKS_IDLE for TID 0; both belong to
 * process TASKS_UNKNOWN, which is in no tree.
 *
 * After tasks_load() and keyframes_load() nothing changes, so that any number of threads may
 * call tasks_thread().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "recording.h"

#define TASKS_UNKNOWN 0u
#define TASKS_IDLE 1u
#define TASKS_NONE UINT32_MAX
#define TASKS_TID_LIMIT (1u << 22)	/* the kernel's PID_MAX_LIMIT */
#define TASKS_SLOT_BITS 10
#define TASKS_MAX (1u << 20)		/* threads; what comes after them is TASKS_UNKNOWN */

struct thread {
	uint32_t tid, former_tid;	/* former_tid: before an exec that changed it, or 0 */
	uint32_t process;
	uint32_t next;			/* of the same process, or TASKS_NONE */
	uint32_t flags;			/* TASK_FLAG_* */
	bool born;			/* its fork is recorded */
	uint64_t start;			/* CLOCK_BOOTTIME, 0 unknown */
	uint64_t birth;			/* its fork, or the start of the recording */
	uint64_t exit;			/* its exit event, 0 none */
	/* After a narrowed span: its exit event, and when its TID became another's; 0 never. */
	uint64_t later_exit, tid_until;
	const char *name;		/* the last one */
};

struct process {
	uint32_t id;			/* from 1 in order of appearance; 0 for TASKS_UNKNOWN */
	uint32_t tgid, ns_tgid, ppid;
	uint32_t parent;		/* process, or TASKS_NONE */
	uint32_t leader;		/* thread, or TASKS_NONE */
	uint32_t first_thread, last_thread, threads;
	uint32_t previous;		/* earlier process with this TGID, or TASKS_NONE */
	uint64_t start;			/* CLOCK_BOOTTIME, 0 unknown */
	uint64_t birth, end;		/* end: 0 while alive */
	bool born, in_tree, recorder, kernel, root;
	bool execed;			/* an exec is recorded */
	bool exit_known;
	uint32_t exit_status;		/* wait status as wait(2) has it */
	const char *name, *command, *cgroup;
	bool command_cut;
};

/* A new name of a thread, by rename or exec. */
struct name_change { uint64_t ts; uint32_t thread; bool exec; const char *name; };

struct tid_span { uint64_t from; uint32_t thread, earlier; };
/* span 0 means "none": thread is then the only one the TID ever had. */
struct tid_slot { uint32_t thread, span, process; };

struct tasks {
	struct thread *threads; size_t thread_count, thread_capacity;
	struct process *processes; size_t process_count, process_capacity;
	struct name_change *names; size_t name_count, name_capacity;
	struct tid_span *spans; size_t span_count, span_capacity;
	struct tid_slot *slots[TASKS_TID_LIMIT >> TASKS_SLOT_BITS];
	uint64_t overflow;		/* threads beyond TASKS_MAX */
};

int tasks_load(struct tasks *t, struct recording *r);
void tasks_release(struct tasks *t);

static inline struct tid_slot *tasks_slot(const struct tasks *t, uint64_t tid)
{
	struct tid_slot *page = tid < TASKS_TID_LIMIT ? t->slots[tid >> TASKS_SLOT_BITS] : NULL;

	return page ? &page[tid & ((1u << TASKS_SLOT_BITS) - 1)] : NULL;
}

/* The thread of a slot with spans. */
uint32_t tasks_thread_at(const struct tasks *t, const struct tid_slot *slot, uint64_t ts);

/* The thread that had tid at ts; TASKS_UNKNOWN if none. */
static inline uint32_t tasks_thread(const struct tasks *t, uint64_t tid, uint64_t ts)
{
	const struct tid_slot *slot = tasks_slot(t, tid);

	if (!slot)
		return TASKS_UNKNOWN;
	return slot->span ? tasks_thread_at(t, slot, ts) : slot->thread;
}

/* The process with this TGID that was born last before ts; TASKS_UNKNOWN if none. */
uint32_t tasks_process(const struct tasks *t, uint64_t tgid, uint64_t ts);
/*
 * The same as tasks_thread(), but a thread that is not known is added to process tgid, alive
 * since the start of the recording. TASKS_UNKNOWN for numbers no kernel gives. ERROR_MEMORY.
 */
int tasks_ensure(struct tasks *t, const struct recording *r, uint64_t tid, uint64_t tgid,
		 uint64_t ts, uint32_t *thread);

/* True where the first moments of the process are in the recording. */
static inline bool process_start_recorded(const struct process *p)
{
	return p->born || (p->root && p->execed);
}

/* And in its span. */
static inline bool process_start_in_span(const struct process *p, const struct recording *r)
{
	return process_start_recorded(p) && p->birth >= r->first;
}
#endif
