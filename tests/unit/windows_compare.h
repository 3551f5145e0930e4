/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_WINDOWS_COMPARE_H
#define INGERO_WINDOWS_COMPARE_H
/*
 * Compares what report/windows.h finds in the calls of windows_model.h with the model, and makes
 * such calls one by one, in ns from MADE_START.
 */
#include "windows_model.h"

extern struct window found[4 * MODEL_CALLS];	/* by load_all() */
extern size_t found_count;
extern const uint64_t everything[64];		/* all groups are wanted */

uint32_t op_id(const struct operation *o);
/* The parts in all spans; join() puts together what goes on in several. */
void load_all(struct windows *w, const uint64_t *wanted);
void join(const struct windows *w);
/* Opens with spans of that size, of which there must be at least so many, and compares. */
void compare_with_spans(struct report *r, uint64_t rows, uint64_t keep, size_t spans);
void compare(const struct report *r, const struct windows *w);

/* As check_result(), of what was checked in here: main() returns 1 if either does. */
int compare_result(void);

extern struct call *at;			/* the call added last */
extern struct windows hand;		/* from finish() to release() */
extern struct report hand_report;

void reset(void);
struct call *add(uint32_t thread, uint32_t op, uint64_t start, uint64_t end);
/* Make the recording, compare it with the model, and load all windows. */
void finish(void);
void release(void);
/* The window of the kind that begins there on the thread; NULL: none. */
const struct window *window_at(enum effect_kind kind, uint32_t thread, uint64_t start);
bool idle_is(uint32_t thread, uint64_t start, uint64_t end);
uint64_t idles_found(void);
const struct feeding *feeding_of(uint32_t pid);
uint32_t feeder(uint32_t thread);	/* its number in hand_report */
#endif
