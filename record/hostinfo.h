/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_HOSTINFO_H
#define INGERO_HOSTINFO_H
/*
 * Facts about the host and the recording as rows of table info (keys: common/format.h), and
 * clock anchors. What cannot be read is left out, never guessed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "../common/error.h"
#include "../common/writer.h"
#include "config.h"

/* One info row; the value is printed as by printf. */
int hostinfo_put(struct writer *w, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * All host.* rows, and record.version, command, cwd, uid, options, buffer. uid: the command's.
 * Keys of moments (record.start, ...) are the caller's to put.
 */
int hostinfo_write(struct writer *w, const struct config *c, uid_t uid);

/*
 * One anchor row: CLOCK_REALTIME and CLOCK_BOOTTIME, each read between two readings of
 * CLOCK_MONOTONIC, the closest of several tries. Returns 0 or the writer's error.
 */
int hostinfo_anchor(struct writer *w);

/* Whether PIDs mean here what they mean to the kernel. */
bool hostinfo_initial_pids(void);

/* CLOCK_MONOTONIC now, in ns. */
uint64_t hostinfo_now(void);

/*
 * Control group of this process, which the command inherits: that of the version 1 cpu controller
 * where there is one, else the version 2 path. "" when it cannot be read.
 */
void hostinfo_cgroup(char *path, size_t size);
#endif
