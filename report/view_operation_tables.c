// SPDX-License-Identifier: BSD-2-Clause
/* --ops: all operations, those at top level by the time spent in them, then the nested ones. */
#include "view.h"
#include "view_operations.h"

int view_operation_tables(struct report *r, const char *argument, struct listing_set *out,
			  struct error *e)
{
	struct listing *t = operation_table(out, "operations", OPERATIONS_ALL);
	bool bound = operation_rows(t, r, LATENCY_ALL, OPERATIONS_TOP);
	size_t top = listing_rows(t);

	(void)argument;
	(void)e;
	bound |= operation_rows(t, r, LATENCY_ALL, OPERATIONS_NESTED);
	if (!listing_rows(t))
		listing_note(t, r->no_calls == NO_CALLS_SELECTED ?
				"there is no CUDA call in this part of the recording" :
				"no CUDA call was recorded");
	if (listing_rows(t) > top && top)
		listing_note(t, "operations without a total were called inside others only");
	if (bound)
		listing_note(t, "%s", OPERATIONS_BOUND);
	return 0;
}
