/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_MAPPINGS_H
#define INGERO_MAPPINGS_H
/*
 * Files mapped executable, by any process, as the kernel reports them: PERF_RECORD_MMAP2 on a
 * dummy event per CPU, with a wake-up at the first record. This is how libraries that nobody
 * could foresee are noticed, and how the recorder learns the device and inode the kernel itself
 * goes by (overlay file systems show stat(2) others).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../common/error.h"

struct mapping {
	uint64_t ts;			/* CLOCK_MONOTONIC ns */
	uint32_t pid, tid;		/* in the recorder's PID namespace */
	uint64_t start, length;		/* address range */
	uint64_t dev, inode;		/* the kernel's own; dev as stat(2) encodes it */
	uint64_t generation;		/* of the inode, whose number may be used again; 0 not known */
	const char *path;		/* as the process names it; valid during the call */
};

typedef void (*mappings_sink)(void *context, const struct mapping *mapping);

struct mappings;

/* cpus: possible CPUs; offline ones are skipped. */
int mappings_open(struct mappings **m, unsigned int cpus, struct error *e);
int mappings_fd(const struct mappings *m);	/* for epoll: readable when there are records */
/* Hand over what has been reported since the last call. */
void mappings_drain(struct mappings *m, mappings_sink sink, void *context);
/*
 * What the kernel reports for the file behind fd: dev, inode and generation of *found are filled.
 * Records of others meanwhile go to sink.
 */
bool mappings_identity(struct mappings *m, int fd, struct mapping *found, mappings_sink sink, void *context);
uint64_t mappings_received(const struct mappings *m);
uint64_t mappings_lost(const struct mappings *m);	/* records the kernel had no room for */
void mappings_close(struct mappings *m);		/* NULL is accepted */
#endif
