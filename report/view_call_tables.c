// SPDX-License-Identifier: BSD-2-Clause
/* Calls that failed, by code; and calls that never returned. */
#include <stdio.h>
#include "calls.h"
#include "cuda_errors.h"
#include "view.h"
#include "view_processes.h"
#include "view_text.h"

static const struct listing_column error_columns[] = {
	{ "pid", "PID", CELL_ID, 0 },
	{ "process_name", "process", CELL_TEXT, COLUMN_SHRINK },
	{ "role", "role", CELL_TEXT, COLUMN_WIDE },
	{ "operation", "CUDA operation", CELL_TEXT, COLUMN_SHRINK },
	{ "code", "code", CELL_ID, 0 },
	{ "name", "error", CELL_TEXT, COLUMN_SHRINK },
	{ "count", "calls", CELL_COUNT, COLUMN_SUM | COLUMN_MAIN },
};

static const struct listing_column open_columns[] = {
	{ "pid", "PID", CELL_ID, 0 },
	{ "process_name", "process", CELL_TEXT, COLUMN_SHRINK },
	{ "role", "role", CELL_TEXT, COLUMN_WIDE },
	{ "tid", "TID", CELL_ID, 0 },
	{ "thread", "thread", CELL_TEXT, COLUMN_WIDE },
	{ "operation", "CUDA operation", CELL_TEXT, COLUMN_SHRINK },
	{ "start_ns", "since", CELL_TIME, 0 },
	{ "age_ns", "age", CELL_NS, COLUMN_MAIN },
	{ "depth", "depth", CELL_COUNT, COLUMN_OPTIONAL },
	{ "reason", "reason", CELL_TEXT, 0 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_process(struct listing *t, const struct report *r, uint32_t process)
{
	const struct process *p = &r->tasks.processes[process];
	bool known = process != TASKS_UNKNOWN;
	char role[64];

	list_number(t, known, p->tgid, false);
	listing_text(t, known ? p->name : NULL);
	roles_text(&r->roles, process, role, sizeof(role));
	listing_text(t, *role ? role : NULL);
}

/* Codes are not below 0, but a file may say anything. */
static void add_code(struct listing *t, int64_t code)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)code);
	if (code == CALLS_OTHER_CODES)
		listing_none(t);
	else if (code < 0)
		listing_text(t, text);
	else
		listing_number(t, (uint64_t)code);
}

int view_error_tables(struct report *r, const char *argument, struct listing_set *out,
		      struct error *e)
{
	struct listing *t =
		listing_set_add(out, "errors", NULL, error_columns, COUNT(error_columns));
	char buf[80];

	(void)argument;
	(void)e;
	for (size_t i = 0; i < r->latency.error_count; i++) {
		const struct latency_error *error = &r->latency.errors[i];

		if (error->process == LATENCY_ALL)
			continue;
		add_process(t, r, error->process);
		listing_text(t, error->operation->name);
		add_code(t, error->code);
		cuda_error_name(error->operation->layer, error->code, buf, sizeof(buf));
		listing_text(t, error->code == CALLS_OTHER_CODES ? "other codes" :
				*buf ? buf : NULL);
		list_number(t, true, error->count, r->completeness.calls_lossy);
	}
	if (!listing_rows(t))
		listing_note(t, "no call failed");
	return 0;
}

static const char *reason_text(enum open_reason reason)
{
	return reason == OPEN_AT_END ? "end" :
	       reason == OPEN_THREAD_ENDED ? "thread ended" : "abandoned";
}

static void add_open(struct listing *t, const struct report *r, const struct latency_open *open)
{
	const struct thread *thread = &r->tasks.threads[open->thread];

	add_process(t, r, open->process);
	list_number(t, open->thread != TASKS_UNKNOWN, thread->tid, false);
	listing_text(t, open->thread != TASKS_UNKNOWN ? thread->name : NULL);
	listing_text(t, open->operation->name);
	list_time(r, t, true, open->start);
	list_number(t, true, open->age, r->completeness.calls_lossy);
	list_number(t, true, open->depth, false);
	listing_text(t, reason_text(open->reason));
}

int view_open_tables(struct report *r, const char *argument, struct listing_set *out,
		     struct error *e)
{
	struct listing *t =
		listing_set_add(out, "open_calls", NULL, open_columns, COUNT(open_columns));
	bool reasons[OPEN_ABANDONED + 1] = { false };

	(void)argument;
	(void)e;
	for (size_t i = 0; i < r->latency.open_count; i++) {
		add_open(t, r, &r->latency.open[i]);
		reasons[r->latency.open[i].reason] = true;
	}
	if (!listing_rows(t))
		listing_note(t, "every call returned");
	if (reasons[OPEN_AT_END])
		listing_note(t, "end: still open when the recording ended");
	if (reasons[OPEN_THREAD_ENDED])
		listing_note(t, "thread ended: and the call with it; age is up to then");
	if (reasons[OPEN_ABANDONED])
		listing_note(t, "abandoned: its stack frame was left without a return (longjmp)");
	return 0;
}
