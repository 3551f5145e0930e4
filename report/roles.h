/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_ROLES_H
#define INGERO_REPORT_ROLES_H
/*
 * A guess at what each process of the tree is there for. Every process with at least a tenth of
 * the CUDA calls of the one with most is a main (without any call, the command is). Children of
 * a main of one kind are its workers: of one name and, but for numbers, one command line, forked
 * and never exec'd, or two and more that exec'd. Of several kinds the largest counts; one that
 * exec'd only if it ran longer too than the one that only forked. Children that were made before the
 * main's last exec belong to another program. The rest are helpers. Mains
 * are numbered where there are several, workers always.
 */
#include <stddef.h>
#include <stdint.h>
#include "latency.h"
#include "procs.h"
#include "tasks.h"

enum role { ROLE_NONE = 0, ROLE_MAIN = 1, ROLE_WORKER = 2, ROLE_HELPER = 3 };

struct process_role {
	enum role role;
	uint32_t number;	/* of a main where there are several, else 0; of a worker */
	uint32_t main;		/* process a worker belongs to; else TASKS_NONE */
};

struct roles {
	struct process_role *processes;	/* by process */
	uint32_t mains;
};

/* ERROR_MEMORY. */
int roles_load(struct roles *r, const struct tasks *t, const struct procs *p,
	       const struct latency *l);
void roles_release(struct roles *r);

/* "main", "main 2", "worker 3", "worker 3 of main 2", "helper", "" into buf. */
const char *roles_text(const struct roles *r, uint32_t process, char *buf, size_t size);
#endif
