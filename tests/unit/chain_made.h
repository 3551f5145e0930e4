/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_CHAIN_MADE_H
#define INGERO_CHAIN_MADE_H
/*
 * A report with chains made by hand: python3 (main, PID 10) with a thread pt_data_pin (11), its
 * workers 20 to 23, a helper sh (30), and outside the tree hog (40), two of cc1 (50, 51) and a kernel
 * thread (60). No chain, nothing that cannot be told. Two CPUs of it in host.cpus_online.
 */
#include "made.h"

void chain_made(struct report *r);
/* Call it in place of report_release(): the chains are the test's own. */
void chain_made_release(struct report *r);

/* Places in r->tasks. */
uint32_t chain_process(const struct report *r, uint32_t pid);
uint32_t chain_thread(const struct report *r, uint32_t tid);
const struct operation *chain_operation(const struct report *r, const char *name);

/* A chain of process 10 with one effect and one cause that took all of it; both belong to the caller. */
struct chain chain_of(const struct report *r, struct effect *e, struct cause *c);
#endif
