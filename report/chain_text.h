/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_CHAIN_TEXT_H
#define INGERO_REPORT_CHAIN_TEXT_H
/*
 * How chains speak: names of processes and threads, kinds of causes, places, headlines. Text and
 * JSON say the same by it. Functions with buf write at most size bytes there and return it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "report.h"
#include "chains.h"

#define CHAIN_NAME 160		/* bytes for a name */
#define CHAIN_LINE 1024		/* bytes for a sentence */

/* "waiting for a CPU", "own work", ... */
const char *chain_class(enum cause_kind kind);

/*
 * In full: "hog (outside the tree)", "python3 (main)", "pt_data_worker (worker 1)", with the
 * thread where the name alone would mislead; of quotas the control group; or "nobody".
 */
const char *chain_who(const struct report *r, const struct chain *c, const struct cause *cause,
		      char *buf, size_t size);
/* In short: "hog 1234", "main", "worker 1", "thread pt_data_pin". thread may be TASKS_NONE. */
const char *chain_label(const struct report *r, const struct chain *c, uint32_t process,
			uint32_t thread, char *buf, size_t size);
/* The thread whose state the cause is: the one who waited, slept or worked; TASKS_NONE: not kept. */
uint32_t chain_actor(const struct chain *c, const struct cause *cause);
/* "main <- thread pt_data_pin <- worker 2, which waited for a CPU: hog 1234 ran". */
const char *chain_story(const struct report *r, const struct chain *c, const struct cause *cause,
			char *buf, size_t size);

/* A moment as --explain takes it: seconds from the start, to the microsecond. */
const char *chain_moment(const struct recording *r, uint64_t ts, char *buf, size_t size);
/* "cudaMemcpyAsync"; of a gap "cudaLaunchKernel -> cudaMemcpyAsync". */
const char *effect_place(const struct effect *e, char *buf, size_t size);
const char *chain_headline(const struct report *r, const struct chain *c, char *buf, size_t size);
/* Why nothing can be said, and how to record it. */
const char *cannot_text(const struct report *r, const struct cannot_tell *t, char *buf, size_t size);
const char *cannot_name(enum cannot_reason reason);

/* Lost time by kind of cause, most first, then unrecorded and unexplained: parts add up to lost. */
struct class_share { enum cause_kind kind; const char *name; uint64_t ns; };
#define CHAIN_CLASSES (CAUSE_LIMIT + 2)
size_t chain_classes(const struct chain *c, struct class_share out[CHAIN_CLASSES]);
uint64_t chain_class_ns(const struct chain *c, enum cause_kind kind);
/* The largest cause of a kind; NULL without any. */
const struct cause *chain_cause(const struct chain *c, enum cause_kind kind);

/*
 * The causes of a kind that somebody is known for (or all causes, with CAUSE_LIMIT), most first, at
 * most max. *more: how many processes there are beyond them; *rest: their ns.
 */
size_t chain_culprits(const struct chain *c, enum cause_kind kind, const struct cause **out, size_t max,
		      size_t *more, uint64_t *rest);
/* "worker 1", "hog 1234", "cc1 (48 processes)". */
const char *culprit_label(const struct report *r, const struct chain *c, const struct cause *who,
			  char *buf, size_t size);

/* parts as shares of whole (100, 1000), rounded so that they add up to it: largest remainder. */
void shares_round(const uint64_t *parts, size_t count, unsigned int whole, unsigned int *shares);
#endif
