/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_PROBES_H
#define INGERO_PROBES_H
/*
 * The BPF side, behind one object: the only module that includes the skeleton. Phases, each of
 * which may be undone by probes_close() at any time:
 *
 *   open -> attach -> snapshot -> library... -> start -> drain and keyframe... -> stop -> drain -> close
 *
 * Records reach the sink as bpf/wire.h has them. All functions return 0 or a negative
 * error_code and fill the struct error.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "../bpf/wire.h"
#include "../common/error.h"

struct probes;

/* Called for each record; cpu is that of the ring, 0 for the life ring and the iterators. */
typedef void (*probes_sink)(void *context, unsigned int cpu, const struct wire_header *record, size_t size);

struct probes_config {
	uint64_t buffer;		/* bytes of each ring, a power of two; two rings a CPU */
	bool keep_args;			/* whole command lines */
	unsigned int without;		/* enum sources */
	probes_sink sink;
	void *context;
};

/* Load the programs into the kernel. ERROR_UNSUPPORTED and ERROR_SYSTEM carry a hint. */
int probes_open(struct probes **p, const struct probes_config *config, struct error *e);

/*
 * A rehearsal, before probes_attach(): probe one place of this very program and record the calls
 * this thread makes there as if it belonged to the tree, into another sink. probes_rehearsed()
 * hands over the records, takes the probe away and sets all counters back to 0.
 */
int probes_rehearse(struct probes *p, unsigned long offset, unsigned int symbol, probes_sink sink, void *context,
		    struct error *e);
int probes_rehearsed(struct probes *p, struct error *e);

/* Attach tracepoints; thread states are followed from here on, rows come after probes_start(). */
int probes_attach(struct probes *p, struct error *e);

/* Report every task of the machine to the sink and give it storage; command, the recorder's child, is the tree's root. */
int probes_snapshot(struct probes *p, pid_t command, struct error *e);

/*
 * Probe count symbols of the file behind path. offsets are file offsets, cookies are
 * probe << 32 | symbol row. refused[i] (refused may be NULL) is set to errno where one was refused.
 * 0 when at least one is attached.
 */
int probes_library(struct probes *p, const char *path, const unsigned long *offsets, const uint64_t *cookies,
		   size_t count, int *refused, struct error *e);

/* SIGINT and SIGQUIT that were sent to the command so far. */
unsigned int probes_command_interrupts(const struct probes *p);

/* The recording is [start, stop), CLOCK_MONOTONIC ns; both lie a moment in the future when set. */
void probes_start(struct probes *p, uint64_t start);
void probes_stop(struct probes *p, uint64_t stop);

int probes_drain_life(struct probes *p, struct error *e);
int probes_drain(struct probes *p, struct error *e);	/* all rings, until they are empty */

/* Report every thread of the tree, and others whose state changed after since, with their open calls. */
int probes_keyframe(struct probes *p, uint64_t since, struct error *e);

/* Detach everything that produces; maps stay readable. */
void probes_detach(struct probes *p);

unsigned int probes_cpus(const struct probes *p);	/* possible CPUs */
/* enum sources that were wanted, but are not in this kernel; after probes_attach(). */
unsigned int probes_lacks(const struct probes *p);

/* Counters of one CPU; the caller's struct is filled. */
int probes_counters(struct probes *p, struct wire_cpu *by_cpu, struct error *e);
/* Runs the kernel skipped, of one source; -1 where it does not count them. */
int64_t probes_missed(struct probes *p, unsigned int source);
/* The loss history of one source, one slot: an array of probes_cpus() entries. */
int probes_losses(struct probes *p, unsigned int source, unsigned int slot, struct wire_loss *by_cpu);
/* Calls from outside the tree, one entry per call: false when there are no more. Start with *key zeroed and first true. */
bool probes_outside(struct probes *p, bool first, struct wire_outside *key, uint64_t *count);

void probes_close(struct probes *p);		/* NULL is accepted */
#endif
