/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_LOSSES_H
#define INGERO_LOSSES_H
/*
 * What was lost, and the account that shows it: the programs' own counters, their history of
 * losses by second, and up to when each CPU is covered. Writes tables counter, loss and the
 * coverage rows of table state.
 */
#include <stdint.h>
#include "../common/writer.h"
#include "mappings.h"
#include "probes.h"

struct losses;

/* mappings may be NULL; both must outlive the losses. */
int losses_open(struct losses **l, struct writer *w, struct probes *p, const struct mappings *mappings,
		struct error *e);
/* Write counters that changed, and the seconds of loss that are over. */
void losses_update(struct losses *l);
/* Write a coverage row per CPU: everything before until has been handed to the writer. */
void losses_coverage(struct losses *l, uint64_t until);
/* Final counters, the last seconds, runs that the kernel skipped. */
void losses_finish(struct losses *l);
uint64_t losses_total(const struct losses *l);	/* events lost, all sources, as of the last update */
void losses_close(struct losses *l);		/* NULL is accepted */
#endif
