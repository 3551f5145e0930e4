/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_VIEW_PROCESSES_H
#define INGERO_REPORT_VIEW_PROCESSES_H
/*
 * What the tables of processes and threads have in common. A row stands for a process or thread,
 * or, where group is not NULL, for all of a group of workers; process is then one of them.
 */
#include "report.h"

/* As processes ended; of a group where all ended alike. signal 0: by itself. */
struct exit_status { bool known, running; uint32_t code, signal; };

/* Whether it has a row: all but the members of a group, whose first one stands for it. */
bool list_stands(const struct report *r, uint32_t process);
/* Processes selected, what says little last; returns how many come before that. */
size_t list_processes(const struct report *r, struct listing_set *set);
/* The process of a row of that table, or the first of its group. */
uint32_t list_process_at(const struct report *r, const struct listing *t, size_t row);
/* A line on each group below the table. */
void list_group_notes(const struct report *r, struct listing *t);

void list_number(struct listing *t, bool known, uint64_t n, bool lossy);
/* When; as ns since the start of the recording, and as time of day. */
void list_time(const struct report *r, struct listing *t, bool known, uint64_t ts);
/* "worker 2", "80 workers", "80 workers of main 2" */
void list_role(const struct report *r, struct listing *t, uint32_t process,
	       const struct worker_group *group);
void list_exit(const struct report *r, uint32_t process, const struct worker_group *group,
	       struct exit_status *status);

/* The threads of a process, or of the group it stands for, by running time; limit: lines. */
void print_thread_table(const struct report *r, uint32_t process, size_t limit,
			const struct page *out);
/* "80 workers pt_data_worker of main: 20 generations, 4 at a time, lifetime 2.1 s each, ..." */
const char *group_text(const struct report *r, const struct worker_group *group, char *buf,
		       size_t size);
#endif
