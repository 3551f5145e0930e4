/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_CGROUPS_H
#define INGERO_CGROUPS_H
/*
 * Samples of control groups, versions 1 and 2: those the processes of the tree are in, and those
 * above them. One that has a CPU quota gets a row at each sample; the command's own group gets
 * one a second in any case. At most CGROUPS_MAX groups are followed, their files stay open, and
 * looking for new ones costs a bounded number of reads each time.
 *
 * Of a process, its group in the hierarchy of the cpu controller counts. Where version 1 keeps
 * cpuacct or memory elsewhere, usage is taken only of a group of the same path, memory of the
 * process's own group there.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "../common/error.h"
#include "../common/writer.h"

#define CGROUPS_MAX 64

struct cgroups;

/*
 * proc is where to find self/mountinfo and PID/cgroup: "/proc". Only a lack of memory is an error;
 * without a hierarchy there are no rows, and cgroups_found() says so.
 */
int cgroups_open(struct cgroups **c, const char *proc, struct error *e);
bool cgroups_found(const struct cgroups *c);

/* Look where the command is now. pid is as /proc has it. */
void cgroups_command(struct cgroups *c, pid_t pid);
/* Another process of the tree, looked at once, then in turn; context is the struct cgroups. */
void cgroups_process(void *context, uint32_t pid);

/* Write the rows that are due, stamped now; with all, one for the command's own group too. */
void cgroups_sample(struct cgroups *c, struct writer *w, bool all);
void cgroups_close(struct cgroups *c);		/* NULL is accepted */
#endif
