/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_TIMELINE_PRIVATE_H
#define INGERO_REPORT_TIMELINE_PRIVATE_H
/*
 * What timeline_load.c (rows of a span) and timeline_index.c (which of them are a thread's) share.
 */
#include "timeline.h"

/* A block of table switch with rows in the span, or with the row before it, and where these go. */
struct slot {
	uint32_t block;
	uint32_t came;			/* thread of the last row before the span, with before */
	size_t at, room, rows;		/* rows of the room there is for the whole block */
	bool before;
};

struct timeline_loader {
	struct slot *slots; size_t slot_count, slot_capacity;
	struct columns *columns;	/* by worker */
	unsigned int workers;
	uint32_t *before;		/* by CPU: place + 1 of the last block begun before the span */
	uint32_t *touched; size_t touched_count, touched_capacity;	/* threads with an opener */
	struct timeline_return *returns; size_t returns_capacity;	/* of rows, by place */
	struct timeline_return *scratch; size_t scratch_capacity;
};

/* Room for tl->row_count rows. ERROR_MEMORY. */
int timeline_index_reserve(struct timeline *tl);
/* Fill in first and index from returns. ERROR_MEMORY. */
int timeline_index(struct timeline *tl);
#endif
