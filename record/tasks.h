/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_TASKS_H
#define INGERO_TASKS_H
/*
 * What /proc knows of tasks and the programs in the kernel do not.
 *
 * Threads that exist but that the kernel's task iterator did not list: some virtual machines hide
 * those of their agents, which run and take CPU time all the same. Their names come from /proc.
 */
#include "../common/writer.h"
#include "ingest.h"

/*
 * After the snapshot: a task row of event SNAPSHOT, stamped now, for every thread in /proc that
 * it left out. Start times are /proc's, in clock ticks. Nothing is done inside a PID namespace,
 * where /proc shows other numbers. Returns the number of rows.
 */
unsigned int tasks_hidden(const struct ingest *in, struct writer *w);

/*
 * Control group of this process, which the command inherits: that of the version 1 cpu controller
 * where there is one, else the version 2 path. "" when it cannot be read.
 */
void tasks_cgroup(char *path, size_t size);
#endif
