/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_REPORT_H
#define INGERO_REPORT_REPORT_H
/*
 * All numbers of a recording. Every front end shows these and computes none of its own.
 */
#include "chains.h"
#include "completeness.h"
#include "groups.h"
#include "keyframes.h"
#include "latency.h"
#include "procs.h"
#include "recording.h"
#include "roles.h"
#include "select.h"
#include "system.h"
#include "listing.h"
#include "tasks.h"

/* Why there is not one CUDA call, the first that applies. */
enum no_calls {
	NO_CALLS_NOT = 0,		/* there are calls */
	NO_CALLS_NO_LIBRARY,		/* nothing with CUDA symbols was found or mapped */
	NO_CALLS_REFUSED,		/* found, but nothing could be attached */
	NO_CALLS_OUTSIDE,		/* only processes outside the tree called */
	NO_CALLS_LOST,			/* calls were made, all of them were lost */
	NO_CALLS_NEVER,			/* attached, never called */
	NO_CALLS_SELECTED,		/* there are, but none of what is selected */
};

struct report {
	struct recording recording;
	struct tasks tasks;
	struct keyframes keyframes;
	struct procs procs;
	struct latency latency;
	struct completeness completeness;
	struct system_figures system;
	struct roles roles;
	struct chains chains;
	struct selection selection;
	struct worker_groups groups;	/* of the workers in order */
	struct listing_order order_by;	/* of options */
	bool no_group;
	enum no_calls no_calls;
	uint32_t *order;		/* processes selected, else the tree, as tables list them */
	size_t order_count;
	uint64_t covered_until;		/* ns from the start; the span's length */
	uint64_t probe_call;		/* ns a probed call takes longer, calibrated; 0 unknown */
	uint64_t probe_inside;		/* the part of it inside the call's own duration; 0 unknown */
	uint64_t probe_cost;		/* of all calls the tree entered, lost ones too; ns */
	uint64_t tree_running;		/* ns all processes of order ran */
	const char *selected;		/* operations asked for by --ops; NULL: all */
	size_t selected_length;
};

/* options of zeros: all of it, in the default order. */
struct report_options {
	struct select_options select;
	struct listing_order order;
	bool no_group;			/* workers of one kind a line each */
	bool no_chains;			/* leave out what only chains need */
};

/* Read path and fill in everything. options may be NULL. Release in either case. */
int report_open(struct report *r, const char *path, const struct report_options *options,
		struct error *e);
void report_release(struct report *r);

/* Command of the recording, of the root process where the facts lack it; or "". */
const char *report_command(const struct report *r);
/* Exit status as a shell has it of a wait status: 128 + signal when it was killed. */
unsigned int report_exit_status(uint32_t wait_status);
/* True for processes that tables and JSON list: of the tree, or seen in an event. */
bool report_lists(const struct report *r, uint32_t process);
#endif
