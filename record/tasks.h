/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_TASKS_H
#define INGERO_TASKS_H
/*
 * Threads that exist but that the kernel's task iterator did not list: some virtual machines hide
 * those of their agents, which run and take CPU time all the same. Their names come from /proc.
 */
#include "../common/writer.h"
#include "ingest.h"

/*
 * After the snapshot: a task row of event SNAPSHOT, stamped now, for every thread in /proc that
 * it left out and that is older than born_before (CLOCK_BOOTTIME ns, when births began to be
 * reported: a younger one has its own row). Start times are /proc's, in clock ticks. Nothing is
 * done inside a PID namespace, where /proc shows other numbers. Returns the number of rows.
 */
unsigned int tasks_hidden(const struct ingest *in, struct writer *w, uint64_t born_before);
#endif
