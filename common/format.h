/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_FORMAT_H
#define INGERO_FORMAT_H
/*
 * What the numbers in a file mean: table ids, row structs and enumerations. format-spec/ is
 * the contract in words; ids and values are append-only and 0 means none. A row is an array of
 * 64-bit values in the order of columns.def; struct row_NAME lays names over it.
 */
#include <stdint.h>

#define FORMAT_MAJOR 1
#define FORMAT_MINOR 0
#define FORMAT_MAX_COLUMNS 32		/* of one table, known or not */
#define FORMAT_MAX_ROWS 65536		/* of one block */
#define FORMAT_MAX_CPUS 8192		/* largest CPU number and one */
#define FORMAT_MAX_TEXT (4u << 20)	/* bytes of a TEXT column in one block */
#define FORMAT_MAX_STRINGS (1u << 20)	/* of one file, which is also the largest string id */
#define FORMAT_MAX_STRING 65535		/* bytes of one */
#define FORMAT_MAX_STRING_BYTES (64u << 20) /* of all */

/* enum table: TABLE_string, TABLE_switch, ... */
enum table {
#define TABLE(id, name, scope, text) TABLE_##name = (id),
#define COLUMN(id, table, name, type, enc, text)
#define END_TABLE(name)
#include "columns.def"
	TABLE_LIMIT = 20,		/* one more than the largest */
};

/* Tables that describe the file itself: not in columns.def, never handed out by a reader. */
#define TABLE_SCHEMA 65535
#define TABLE_INDEX 65534
#define TABLE_CLOSE 65533		/* the mark of a clean close */

/* Positions in a row: COL_switch_ts, ..., COLS_switch (their number). */
#define TABLE(id, name, scope, text) enum {
#define COLUMN(id, table, name, type, enc, text) COL_##table##_##name,
#define END_TABLE(name) COLS_##name };
#include "columns.def"

#define TABLE(id, name, scope, text) struct row_##name {
#define COLUMN(id, table, name, type, enc, text) uint64_t name;
#define END_TABLE(name) };
#include "columns.def"

enum column_type {
	TYPE_TIME = 1, TYPE_DURATION = 2, TYPE_UINT = 3, TYPE_INT = 4,
	TYPE_HEX = 5, TYPE_STRING = 6, TYPE_SIZE = 7, TYPE_TEXT = 8,
};

enum table_scope { SCOPE_GLOBAL = 1, SCOPE_CPU = 2 };

enum task_event {
	TASK_EVENT_SNAPSHOT = 1, TASK_EVENT_FORK = 2, TASK_EVENT_EXEC = 3,
	TASK_EVENT_EXIT = 4, TASK_EVENT_RENAME = 5,
};
#define TASK_FLAG_TREE		0x1	/* of the recorded process tree */
#define TASK_FLAG_KTHREAD	0x2
#define TASK_FLAG_RECORDER	0x4	/* a thread of ingero-record itself */
#define TASK_FLAG_ROOT		0x8	/* the command */
#define TASK_FLAG_GROUP_DEAD	0x10	/* exit: the last thread of its process */
#define TASK_FLAG_COMMAND_CUT	0x20	/* command line longer than what was kept */

/* switch.prev_state: low nibble, then flags */
enum prev_state {
	PREV_RUNNABLE = 0, PREV_SLEEPING = 1, PREV_UNINTERRUPTIBLE = 2, PREV_IDLE = 3,
	PREV_STOPPED = 4, PREV_TRACED = 5, PREV_PARKED = 6, PREV_DEAD = 7, PREV_OTHER = 8,
};
#define PREV_STATE_MASK		0x0f
#define PREV_PREEMPTED		0x10
#define PREV_THROTTLED		0x20	/* its group had used up its CPU quota */
#define PREV_IO_WAIT		0x40
/* A switch is involuntary when PREV_PREEMPTED is set or the state is PREV_RUNNABLE. */

enum waker_context {
	WAKER_NONE = 0, WAKER_TASK = 1, WAKER_SOFTIRQ = 2, WAKER_HARDIRQ = 3, WAKER_NMI = 4,
	WAKER_UNKNOWN = 5,		/* this kernel does not tell */
};
/* What the interrupt was: a softirq's vector as the kernel numbers them, plus 1; from 32, a hard interrupt's kind. */
enum waker_vector {
	VECTOR_UNKNOWN = 0, VECTOR_HI = 1, VECTOR_TIMER = 2, VECTOR_NET_TX = 3, VECTOR_NET_RX = 4,
	VECTOR_BLOCK = 5, VECTOR_IRQ_POLL = 6, VECTOR_TASKLET = 7, VECTOR_SCHED = 8,
	VECTOR_HRTIMER = 9, VECTOR_RCU = 10,
	VECTOR_HARD_TIMER = 32,		/* a high-resolution timer expired */
	VECTOR_HARD_DEVICE = 33,	/* a device's handler ran */
};
#define NEXT_FLAG_FIRST		0x1	/* first time on a CPU since it was born */
#define NEXT_FLAG_EARLY_WAKE	0x2	/* woken before it had left the CPU */
#define NEXT_FLAG_UNKNOWN	0x4	/* no storage: next_off and next_wait are not known and 0 */
#define NEXT_FLAG_PREEMPTED	0x8	/* next had left while still runnable: next_wait == next_off */

#define NEXT_FLAG_THROTTLED	0x10	/* it waited because its group had used up its CPU quota */
#define NEXT_FLAG_IO_WAIT	0x20	/* it slept in I/O wait, as PREV_IO_WAIT said when it left */

#define CALL_FLAG_BYTES		0x1
#define CALL_FLAG_KIND		0x2
#define CALL_FLAG_STREAM	0x4
#define CALL_FLAG_READ_FAILED	0x8	/* an argument could not be read */
#define CALL_FLAG_OPEN		0x10	/* never returned: its thread ended; ts is the end */
#define CALL_FLAG_ABANDONED	0x20	/* never returned: its stack frame was left (longjmp) */
#define CALL_FLAG_PAGES		0x40	/* page_events is known: no switch between entry and return */

enum state_kind { STATE_KIND_THREAD = 1, STATE_KIND_COVERAGE = 2, STATE_KIND_OPEN_CALL = 3 };
enum thread_state { THREAD_RUNNING = 1, THREAD_WAITING = 2, THREAD_BLOCKED = 3 };

#define SYSTEM_FLAG_LOAD	0x1
#define SYSTEM_FLAG_MEMORY	0x2
#define SYSTEM_FLAG_PSI		0x4

enum reclaim_kind { RECLAIM_GLOBAL = 1, RECLAIM_CGROUP = 2 };

enum cuda_layer { LAYER_RUNTIME = 1, LAYER_DRIVER = 2 };
enum cuda_category {
	CATEGORY_MEMORY = 1, CATEGORY_COPY = 2, CATEGORY_SET = 3, CATEGORY_LAUNCH = 4,
	CATEGORY_SYNC = 5, CATEGORY_EVENT = 6, CATEGORY_STREAM = 7, CATEGORY_MODULE = 8,
	CATEGORY_GRAPH = 9, CATEGORY_QUERY = 10, CATEGORY_OTHER = 11,
};
#define OPERATION_FLAG_SYNC	0x1	/* may wait for the device */
#define OPERATION_FLAG_WORK	0x2	/* gives the device work */

enum library_how { LIBRARY_BEFORE_EXEC = 1, LIBRARY_LATE = 2 };
enum probe_status { PROBE_ATTACHED = 1, PROBE_REFUSED = 2 };
enum probe_instruction { INSTRUCTION_EMULATED = 1, INSTRUCTION_SINGLE_STEPPED = 2 };

enum event_source {
	SOURCE_SWITCH = 1, SOURCE_WAKING = 2, SOURCE_WAKEUP = 3, SOURCE_WAKEUP_NEW = 4,
	SOURCE_MIGRATE = 5, SOURCE_PAGE_ALLOC = 6, SOURCE_FORK = 7, SOURCE_EXEC = 8,
	SOURCE_EXIT = 9, SOURCE_RENAME = 10, SOURCE_CALL_ENTRY = 11, SOURCE_CALL_RETURN = 12,
	SOURCE_MMAP = 13, SOURCE_STATE = 14, SOURCE_INTERRUPT = 15, SOURCE_RECLAIM = 16, SOURCE_LIMIT = 17,
};
enum loss_reason {
	LOSS_RING_FULL = 1, LOSS_NO_STORAGE = 2, LOSS_TOO_DEEP = 3, LOSS_WRITE_FAILED = 4,
};
#define COUNTER_FLAG_MISSED_UNKNOWN 0x1	/* this kernel does not count skipped runs */

/*
 * info keys. Host: host.name, host.kernel, host.arch, host.page_size, host.cpus (possible),
 * host.cpus_online, host.cpu_model, host.memory (bytes), host.distribution.
 * Recording: record.version, record.command, record.start and record.stop (monotonic ns),
 * record.uid, record.cwd, record.exit_status (of the command), record.options,
 * record.buffer (bytes a CPU and ring), record.error (why recording failed after the start),
 * record.page_fault_ns (time of the first touch of a page, measured at start),
 * record.probe_call_ns (time a probed call takes longer, calibrated) and record.probe_inside_ns (the
 * part of it inside the recorded duration), record.pid (the command's), record.commands_left_out
 * (command lines not stored, after 32 MiB of them; absent: none), record.without (sources switched
 * off, a comma between; absent: none), record.lacks (sources this kernel does not have, likewise).
 */
#endif
