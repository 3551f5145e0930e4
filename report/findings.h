/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_FINDINGS_H
#define INGERO_REPORT_FINDINGS_H
/*
 * From sums over windows to accounts of lost time, and from these to verdicts.
 *
 * Lost time of a group of calls or gaps is the sum of (duration - p50) over its slow ones. By
 * state it is what the slow ones have beyond the same number of normal ones: their mean, scaled
 * so that the states add up to p50. A state in which normal ones exceed slow ones counts 0, the
 * others are scaled to the sum, and the excess is kept as "clamped". Of idle stretches all is lost.
 */
#include <stdbool.h>
#include "blame.h"

/* One effect and its account, or several joined into one. Zero-initialise; release. */
struct finding {
	uint32_t process;
	uint64_t lost;
	bool harmless;			/* nothing on the host is to be put right: see finding_of_group() */
	struct effect *effects; size_t effect_count, effect_capacity;
	struct cause *causes; size_t cause_count, cause_capacity;
	struct chain_account account;
	struct chain_window worst[CHAINS_WORST]; size_t worst_count;
	struct chain_evidence evidence;
	uint64_t lossy;			/* ns of lost in which rows were lost */
};

/*
 * Account of group g, in two parts, of which each may have lost nothing: what the host lost, and
 * what is harmless: waiting for the device, initialisation, outsiders, the recorder, a thread's own
 * sleep or wait for the network outside a call. page_ns: price of a page allocation. ERROR_MEMORY.
 */
int finding_of_group(struct finding f[2], const struct blame *b, uint32_t g, uint64_t page_ns);
/* Effects of the same group become one. ERROR_MEMORY. */
int finding_add(struct finding *to, const struct finding *from);
/* A part as it is, nothing subtracted. ERROR_MEMORY. */
int finding_add_part(struct finding *f, const struct part *p);
/* Processes of one name, outside the tree or helpers in it, become one cause of each kind. */
void finding_join_names(struct finding *f, const struct tasks *t, const struct roles *r);
void finding_sort(struct finding *f);	/* effects by lost time, causes by share */
void finding_release(struct finding *f);

struct verdict {
	enum cause_kind kind;		/* CAUSE_NONE: nothing explains half */
	uint64_t explained;
	bool outside;
	const char *name;		/* of who took most of it; "" where that is not the point */
	bool workers;			/* it was workers of the process: their numbers do not matter */
};

/*
 * The class that explains at least half; else the family of hand-offs between processes; else
 * one process that explains half in several ways; else none.
 */
struct verdict finding_verdict(const struct finding *f, const struct tasks *t, const struct roles *r);
#endif
