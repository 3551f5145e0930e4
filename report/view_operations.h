/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_VIEW_OPERATIONS_H
#define INGERO_REPORT_VIEW_OPERATIONS_H
/*
 * The table of operations, as every view has it: by total time, of one process or of all.
 */
#include "report.h"

enum operation_rows {
	OPERATIONS_TOP = 1, OPERATIONS_NESTED = 2,	/* nested: no call of it was at top level */
	OPERATIONS_ALL = OPERATIONS_TOP | OPERATIONS_NESTED,
};

#define OPERATIONS_BOUND "= the p99 of fewer than 100 calls is their maximum"

/* An empty one, for such rows. */
struct listing *operation_table(struct listing_set *set, const char *key,
				enum operation_rows which);
void operation_row(struct listing *t, const struct report *r, const struct latency_row *row);
/* All rows; returns whether there is a p99 of fewer than 100 calls. process: or LATENCY_ALL. */
bool operation_rows(struct listing *t, const struct report *r, uint32_t process,
		    enum operation_rows which);
#endif
