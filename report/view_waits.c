// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include "fmt.h"
#include "timeline.h"
#include "view.h"
#include "view_processes.h"
#include "view_text.h"
#include "waits.h"

#define WAITERS_SHOWN 10	/* in text */
#define PIECES_SHOWN 6		/* of each, */
#define PIECES_LEAST 50		/* if they are at least this part of its time */
#define LABEL_SIZE 128
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct listing_column columns[] = {
	{ "waiter", "waiter", CELL_TEXT, COLUMN_DATA },
	{ "pid", "PID", CELL_ID, COLUMN_DATA },
	{ "tid", "TID", CELL_ID, COLUMN_DATA },
	{ "threads", "threads", CELL_COUNT, COLUMN_DATA },
	{ "state", "state", CELL_TEXT, COLUMN_DATA },
	{ "how", "how", CELL_TEXT, COLUMN_DATA },
	{ "waited_for", "waited for", CELL_TEXT, COLUMN_DATA },
	{ "waited_for_pid", "its PID", CELL_ID, COLUMN_DATA },
	{ "waited_for_tid", "its TID", CELL_ID, COLUMN_DATA },
	{ "time_ns", "time", CELL_NS, COLUMN_DATA | COLUMN_MAIN },
	{ "off_cpu_ns", "off the CPU", CELL_NS, COLUMN_DATA },
	{ "share", "share", CELL_SHARE, COLUMN_DATA },
	{ "count", "times", CELL_COUNT, COLUMN_DATA },
	{ "longest_ns", "longest", CELL_NS, COLUMN_DATA },
};

static const struct listing_column text_columns[] = {
	{ "waiter", "waiter", CELL_TEXT, COLUMN_SHRINK },
	{ "waited_for", "waited for", CELL_TEXT, COLUMN_SHRINK },
	{ "time_ns", "time", CELL_NS, COLUMN_MAIN },
	{ "share", "share", CELL_SHARE, 0 },
	{ "count", "times", CELL_COUNT, 0 },
	{ "longest_ns", "max", CELL_NS, 0 },
};

/* key: in JSON and CSV; text: where nobody is named; did: what somebody did. */
static const struct { const char *key, *text, *did; } words[WAIT_HOWS] = {
	[WAIT_RAN] = { "ran", "", "ran" },
	[WAIT_LATENCY] = { "latency", "nobody ran: wake-up", "" },
	[WAIT_THROTTLED] = { "throttled", "CPU quota used up", "" },
	[WAIT_UNRECORDED] = { "unrecorded", "unrecorded, runnable", "" },
	[WAIT_WOKEN] = { "woken", "", "woke it" },
	[WAIT_DISK] = { "disk", "the disk", "" },
	[WAIT_NETWORK] = { "network", "the network", "" },
	[WAIT_TIMER] = { "timer", "a timer", "" },
	[WAIT_INTERRUPT] = { "interrupt", "a device's interrupt", "" },
	[WAIT_UNKNOWN] = { "unknown", "unrecorded, asleep", "" },
	[WAIT_OPEN] = { "open", "asleep until the end", "" },
};

static const char note[] =
	"Who ran on the CPU it waited for, or what ended its sleep; share of its time off the CPU. Who woke a thread need not be to blame: --chains goes on from there.";

/* A process, or the group it stands for. */
static const char *name_process(const struct report *r, uint32_t process, char buf[LABEL_SIZE])
{
	const struct worker_group *group = worker_group_of(r, process);
	const struct process *p = &r->tasks.processes[process];

	if (group)
		snprintf(buf, LABEL_SIZE, "%zu workers", group->count);
	else if (process == TASKS_UNKNOWN)
		snprintf(buf, LABEL_SIZE, "outside the tree");
	else if (p->recorder)
		snprintf(buf, LABEL_SIZE, "recorder");
	else
		process_label(r, process, buf, LABEL_SIZE);
	return buf;
}

static const char *name_waiter(const struct report *r, const struct waiter *w, char buf[LABEL_SIZE])
{
	char process[LABEL_SIZE];

	name_process(r, w->process, process);
	if (w->whole || w->thread == r->tasks.processes[w->process].leader)
		snprintf(buf, LABEL_SIZE, "%s", process);
	else if (w->thread != TASKS_NONE)
		snprintf(buf, LABEL_SIZE, "%.60s: %s %u", process, w->name,
			 r->tasks.threads[w->thread].tid);
	else
		snprintf(buf, LABEL_SIZE, "%.60s: %s (%llu)", process, w->name,
			 (unsigned long long)w->threads);
	return buf;
}

static const char *name_cause(const struct report *r, const struct waiter *w,
			      const struct wait_piece *p, char buf[LABEL_SIZE])
{
	if (p->process == TASKS_NONE)
		snprintf(buf, LABEL_SIZE, "%s", words[p->how].text);
	else if (p->thread == TASKS_NONE)
		name_process(r, p->process, buf);
	else if (p->thread == w->thread || (w->whole && p->threads == 1))
		snprintf(buf, LABEL_SIZE, "itself");
	else if (w->whole)
		snprintf(buf, LABEL_SIZE, "its own threads");
	else if (p->threads > 1)
		snprintf(buf, LABEL_SIZE, "its %s (%llu)", r->tasks.threads[p->thread].name,
			 (unsigned long long)p->threads);
	else
		snprintf(buf, LABEL_SIZE, "its %s %u", r->tasks.threads[p->thread].name,
			 r->tasks.threads[p->thread].tid);
	return buf;
}

/* "worker 2 ran" */
static const char *tell_cause(const struct report *r, const struct waiter *w,
			      const struct wait_piece *p, char buf[LABEL_SIZE])
{
	size_t length = strlen(name_cause(r, w, p, buf));

	if (*words[p->how].did)
		snprintf(buf + length, LABEL_SIZE - length, " %s", words[p->how].did);
	return buf;
}

static uint64_t off_cpu(const struct waiter *w)
{
	return w->waiting + w->blocked;
}

static void add_piece(struct listing *t, const struct report *r, const struct waiter *w,
		      const struct wait_piece *p)
{
	bool lossy = r->completeness.switches_lossy, named = p->process != TASKS_NONE && p->process;
	const struct tasks *tasks = &r->tasks;
	char buf[LABEL_SIZE];

	listing_text(t, name_waiter(r, w, buf));
	list_number(t, !worker_group_of(r, w->process), tasks->processes[w->process].tgid, false);
	list_number(t, w->thread != TASKS_NONE,
		    w->thread != TASKS_NONE ? tasks->threads[w->thread].tid : 0, false);
	listing_number(t, w->threads);
	listing_text(t, wait_how_runnable(p->how) ? "waiting" : "blocked");
	listing_text(t, words[p->how].key);
	listing_text(t, name_cause(r, w, p, buf));
	list_number(t, named && !worker_group_of(r, p->process),
		    named ? tasks->processes[p->process].tgid : 0, false);
	list_number(t, p->threads == 1, p->threads == 1 ? tasks->threads[p->thread].tid : 0, false);
	list_number(t, true, p->ns, lossy);
	list_number(t, true, off_cpu(w), lossy);
	listing_pair(t, p->ns, off_cpu(w));
	list_number(t, true, p->count, lossy);
	list_number(t, true, p->longest, lossy);
}

static void add_line(struct listing *t, const struct report *r, const struct waiter *w,
		     const char *waiter, const char *who, const struct wait_piece *p)
{
	bool lossy = r->completeness.switches_lossy;

	listing_text(t, waiter);
	listing_text(t, who);
	list_number(t, true, p->ns, lossy);
	listing_pair(t, p->ns, off_cpu(w));
	list_number(t, p->count, p->count, lossy);
	list_number(t, p->longest, p->longest, lossy);
}

/* What most of its time went to, a line each; the rest in one. */
static void add_waiter(struct listing *t, const struct report *r, const struct waits *all,
		       const struct waiter *w)
{
	const struct wait_piece *p = &all->pieces[w->first];
	struct wait_piece total = { .ns = off_cpu(w) }, rest = { 0 };
	char name[LABEL_SIZE], who[LABEL_SIZE];
	/* Sorted anew, each line needs to say whose it is. */
	const char *again = r->order_by.column ? name : "";
	size_t shown = 0;

	name_waiter(r, w, name);
	add_line(t, r, w, name, "all in all", &total);
	while (shown < w->count && shown < PIECES_SHOWN && p[shown].ns >= total.ns / PIECES_LEAST) {
		add_line(t, r, w, again, tell_cause(r, w, &p[shown], who), &p[shown]);
		shown++;
	}
	for (size_t i = shown; i < w->count; i++) {
		rest.ns += p[i].ns;
		rest.count += p[i].count;
		rest.longest = rest.longest > p[i].longest ? rest.longest : p[i].longest;
	}
	snprintf(who, sizeof(who), "%zu others", w->count - shown);
	if (rest.ns)
		add_line(t, r, w, again, who, &rest);
}

static void add_waiters(struct listing *t, const struct report *r, const struct waits *w)
{
	size_t shown = 0, left = 0;
	char buf[FMT_SIZE];
	uint64_t ns = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct waiter *waiter = &w->waiters[i];

		if (!off_cpu(waiter))
			continue;
		if (shown++ < WAITERS_SHOWN) {
			add_waiter(t, r, w, waiter);
			continue;
		}
		left++;
		ns += off_cpu(waiter);
	}
	if (left)
		listing_note(t,
			     "%zu more that were off the CPU for %s together: --csv has them all.",
			     left, fmt_span(buf, ns));
	listing_note(t, "%s", note);
}

int view_wait_tables(struct report *r, const char *argument, struct listing_set *out,
		     struct error *e)
{
	struct listing *t = listing_set_add(out, "waits", NULL, columns, COUNT(columns));
	struct listing *text = listing_set_add(out, "waiters", "who waited for whom", text_columns,
					       COUNT(text_columns));
	struct waits w;
	int ret = waits_load(&w, r, TIMELINE_ROWS);

	(void)argument;
	for (size_t i = 0; i < w.piece_count && !ret; i++)
		add_piece(t, r, &w.waiters[w.pieces[i].waiter], &w.pieces[i]);
	if (!ret)
		add_waiters(text, r, &w);
	waits_release(&w);
	return ret ? error_set(e, ret, "out of memory") : 0;
}
