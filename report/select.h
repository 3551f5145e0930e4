/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_SELECT_H
#define INGERO_REPORT_SELECT_H
/*
 * Narrowing: which part of a recording a report is about.
 *
 * By time and CPU the recording itself is made smaller before anything is read: it looks as if it
 * had begun and been stopped then (see narrow.h). By process, thread, role and operation the
 * figures are made of what is left; whole processes and the machine stay what they were where they
 * explain something (chains, roles, the system's lines). A list is commas between alternatives;
 * several options must all hold.
 *
 *	pid	PIDs, of the machine or of the process's own namespace
 *	tid	TIDs
 *	comm	globs; the name of the process (then all its threads) or of the thread: the last
 *		one, or one that an exec or a rename gave it before
 *	role	main, worker, helper, other (outside the tree); "worker 3" one of them
 *	op	globs of operations, case ignored; "launch" alone matches what contains it
 *	cpu	CPUs, as 0-3,8
 *	from, to  moments, last, skip spans, as moment.h has them; all that are given must hold
 *
 * Names and numbers that mean nothing in what is left of the recording are errors, each of a list.
 * Processes outside the tree are meant where they are named by PID, TID or role "other", by comm
 * only if no process of the tree is; or with all. tree_only: never.
 */
#include <stdbool.h>
#include <stdint.h>
#include "../common/error.h"
#include "recording.h"

struct report;

/* As on the command line; NULL and false: not given. */
struct select_options {
	const char *pid, *tid, *comm, *role, *op, *cpu;
	const char *from, *to, *last, *skip;
	bool tree_only, all;
};

/* What of how many that there are in the narrowed span. */
struct selected_count { size_t selected, all; };

struct selection {
	struct select_options options;
	bool by_time, by_cpu;		/* the recording was narrowed */
	uint64_t *cpus;			/* bit per CPU of the recording, or NULL */
	struct selected_count cpu;
	bool by_thread, by_operation;	/* what the bitmaps below say matters */
	uint64_t *threads;		/* bit per thread of tasks */
	uint64_t *processes;		/* bit per process: has a selected thread */
	uint64_t *operations;		/* bit per operation id */
	size_t thread_bits, process_bits, operation_bits;
	bool process_outside;		/* one at least is not of the tree */
	struct selected_count process, operation;
	struct selected_count thread;	/* of the processes selected */
};

/*
 * Narrow the recording by time and CPU; before anything of it is loaded. ERROR_USAGE with a hint
 * that says what there is (the span, the CPUs); ERROR_MEMORY.
 */
int select_span(struct selection *s, const struct select_options *options, struct recording *r,
		struct error *e);
/*
 * Find the threads, processes and operations meant; after tasks and roles are known. ERROR_USAGE
 * when nothing matches, with a hint that lists what there is to choose from; ERROR_MEMORY.
 */
int select_resolve(struct selection *s, const struct report *r, struct error *e);
/*
 * The threads whose stalls are asked for, a bit each, before the time of any thread is known; NULL:
 * all. The caller frees it. Errors as above.
 */
int select_stalling(const struct report *r, uint64_t **stalling, struct error *e);
void select_release(struct selection *s);
/*
 * Whether a process is there to choose from: known, alive at some time of the span, and of the
 * tree, or outside too and not tree_only.
 */
bool select_offers(const struct report *r, uint32_t process, bool outside);
/* Whether a thread is selected, and alive at some time of the span. */
bool select_lives(const struct report *r, uint32_t thread);

static inline bool select_bit(const uint64_t *bits, size_t count, uint64_t i)
{
	return i < count && (bits[i / 64] >> (i % 64) & 1);
}

static inline bool select_thread(const struct selection *s, uint32_t thread)
{
	return !s->by_thread || select_bit(s->threads, s->thread_bits, thread);
}

static inline bool select_process(const struct selection *s, uint32_t process)
{
	return !s->by_thread || select_bit(s->processes, s->process_bits, process);
}

static inline bool select_operation(const struct selection *s, uint64_t id)
{
	return !s->by_operation || select_bit(s->operations, s->operation_bits, id);
}

static inline bool select_any(const struct selection *s)
{
	return s->by_time || s->by_cpu || s->by_thread || s->by_operation;
}
#endif
