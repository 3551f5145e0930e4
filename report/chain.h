/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_CHAIN_H
#define INGERO_REPORT_CHAIN_H
/*
 * What a chain from cause to effect is made of. Times are ns; points in time are CLOCK_MONOTONIC;
 * processes and threads are named by their place in tasks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "recording.h"

#define CHAINS_HOPS 8			/* wake-ups followed */
#define CHAINS_WORST 3			/* windows kept of each chain */
#define CHAINS_LOW_PERMILLE 10		/* of the active span: listed on request */
#define CHAINS_MEDIUM_PERMILLE 30
#define CHAINS_HIGH_PERMILLE 100

enum effect_kind { EFFECT_SLOW_CALL = 1, EFFECT_GAP = 2, EFFECT_STARVATION = 3 };

/* "slow_call", "gap", "starvation" */
const char *effect_kind_name(enum effect_kind kind);

/* In the order in which they are preferred where two took as much. */
enum cause_kind {
	CAUSE_NONE = 0,
	CAUSE_CPU_CONTENTION,	/* a thread waited for a CPU, others ran on it */
	CAUSE_CPU_QUOTA,	/* its group had used up its CPU quota */
	CAUSE_DISK,		/* blocked until block I/O, or a page from disk, was there */
	CAUSE_NETWORK,		/* blocked until something came by network */
	CAUSE_RECLAIM,		/* reclaiming memory before it got a page */
	CAUSE_PAGE_ALLOCATION,	/* running, most of it to get fresh pages */
	CAUSE_LOCK_GUESS,	/* probably an interpreter lock; a guess */
	CAUSE_SLEEP,		/* asleep on a timer in a sleep call */
	CAUSE_OWN_WORK,		/* the feeding thread itself running */
	CAUSE_PEER_WORK,	/* another thread running, whom it waited for */
	CAUSE_WORKER_STARTUP,	/* workers being made, until they first wait for somebody; their last run before they end */
	CAUSE_WAKE_LATENCY,	/* runnable, and nobody ran on its CPU */
	CAUSE_HANDOFF,		/* of verdicts only: peers working and waiting, and wake-up latency */
	CAUSE_INITIALISATION,	/* before the work had begun */
	CAUSE_EXTERNAL,		/* a process outside the tree had nothing to hand on yet; time limits ran out for nothing */
	CAUSE_DEVICE,		/* waiting for the device in a synchronising call: no host problem */
	CAUSE_STEAL,		/* on a CPU that the hypervisor had taken away */
	CAUSE_LIMIT,
};

/* "cpu_contention", ...: as in the JSON document. */
const char *cause_kind_name(enum cause_kind kind);

/* What was seen of it in the windows; sums over the part of the time that is this cause's. */
struct cause {
	enum cause_kind kind;
	uint32_t process;	/* who took the time; TASKS_UNKNOWN: nobody in particular */
	uint32_t thread;	/* of process, the one that took most; TASKS_NONE: none */
	uint32_t processes;	/* outside the tree, and helpers: this many of one name, process the worst of them */
	uint64_t ns;
	uint32_t hops;		/* from the feeding thread to who: 0 itself */
	uint32_t path[CHAINS_HOPS + 1];	/* threads from the feeding one on, hops of them, of the largest part */
};

struct chain_account {
	uint64_t running, waiting, wake_latency, throttled, blocked, unrecorded, unexplained;
	uint64_t device;	/* of blocked: in synchronising calls, for the device */
	uint64_t clamped;	/* by which normal calls exceed slow ones in some state; not in the sum */
};

struct effect {
	enum effect_kind kind;
	uint32_t thread;			/* the feeding one */
	const struct operation *operation;	/* the call; of a gap the one before; of starvation the one that left the device idle */
	const struct operation *next;		/* of a gap the call after; else NULL */
	uint64_t calls;				/* windows that lost time */
	uint64_t all;				/* windows of this kind, normal ones too */
	uint64_t lost;
	uint64_t max;				/* of all of them */
	uint64_t p50, p99;			/* likewise, within 1 % */
	uint32_t group;				/* of windows.h: calls alike, copies of one size and kind */
	uint8_t copy_kind, size_class;		/* as there */
};

/* One slow call or gap. */
struct chain_window {
	uint32_t effect;			/* of the chain */
	uint64_t start, end, lost;
	enum cause_kind kind;			/* of most of it */
	uint32_t process;			/* who took most of it; or TASKS_UNKNOWN */
};

/* Facts of the windows that sentences and fixes rest on. */
struct chain_evidence {
	uint64_t windows, window_ns;
	uint64_t switches;		/* off-CPU periods of the feeding threads in them */
	uint64_t page_events, pages;	/* of the feeding threads, in them */
	uint64_t major_faults, reclaims, reclaim_ns;
	uint64_t migrations;		/* while waiting */
	uint64_t births;		/* workers of the process born in them */
	/* Of a sample of the windows: time of all CPUs, busy time, threads running or waiting (thread-ns). */
	uint64_t cpu_time, busy, runnable;
	uint64_t allowed_cpus;		/* of the feeding process; 0 not recorded */
	uint64_t quota, quota_period;	/* the tightest of its groups; 0 none */
	uint64_t throttled_periods, periods;	/* of that group, over the recording */
	const char *quota_path;		/* that group, or NULL */
	uint64_t workers;		/* of the feeding process, alive at once */
	uint64_t syncs;			/* idle points of the device, for the mean period of a batch */
};

/* Add the figures of the windows; what is of the process stays. */
void chain_evidence_add(struct chain_evidence *to, const struct chain_evidence *from);

enum severity { SEVERITY_NONE = 0, SEVERITY_LOW = 1, SEVERITY_MEDIUM = 2, SEVERITY_HIGH = 3 };
const char *severity_name(enum severity s);	/* "LOW", "MEDIUM", "HIGH" */

struct chain {
	uint32_t process;			/* the feeding one */
	enum severity severity;
	uint64_t lost, span;			/* span: active spans of its feeding threads together */
	/*
	 * The verdict: the class, or the family CAUSE_HANDOFF, or CAUSE_NONE where nothing
	 * explains half; and what of lost it explains. culprits: in the tree or outside it.
	 */
	enum cause_kind verdict;
	uint64_t explained;
	bool outside;				/* most of it was taken outside the tree */
	bool harmless;				/* nothing on the host is to be put right: see findings.h */
	struct effect *effects; size_t effect_count;	/* most lost first */
	struct cause *causes; size_t cause_count;	/* most ns first */
	struct chain_account account;
	struct chain_window worst[CHAINS_WORST]; size_t worst_count;	/* most lost first */
	struct chain_evidence evidence;
};

/* A stretch of a thread's time, as --explain shows it. */
enum stretch_state {
	STRETCH_RUNNING = 1, STRETCH_WAITING, STRETCH_THROTTLED, STRETCH_BLOCKED, STRETCH_UNRECORDED,
};

struct stretch {
	uint64_t start, end;
	enum stretch_state state;
	uint32_t depth;			/* 0 on the feeding thread, n on a thread n wake-ups away */
	uint32_t thread;		/* whose time it is */
	uint32_t by;			/* waiting: who ran on the CPU; blocked: who woke it; else TASKS_NONE */
	uint32_t cpu;			/* running, waiting */
	uint32_t context, vector;	/* blocked: enum waker_context and waker_vector */
	uint32_t syscall;		/* blocked: number of the system call and 1; 0 none */
	bool io_wait;
	enum cause_kind kind;		/* what this stretch counts as */
};
#endif
