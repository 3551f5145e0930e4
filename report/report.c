// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "report.h"

static enum no_calls find_no_calls(const struct report *r)
{
	const struct recording *rec = &r->recording;
	uint64_t attached = 0, outside = 0, hits = 0;

	if (r->latency.calls || r->latency.open_count)
		return NO_CALLS_NOT;
	for (size_t i = 0; i < rec->library_count; i++) {
		attached += rec->libraries[i].attached;
		outside += rec->libraries[i].outside;
		hits += rec->libraries[i].hits;
	}
	if (!rec->library_count)
		return NO_CALLS_NO_LIBRARY;
	if (!attached)
		return NO_CALLS_REFUSED;
	if (r->completeness.calls_lossy)
		return NO_CALLS_LOST;
	return outside && hits <= outside ? NO_CALLS_OUTSIDE : NO_CALLS_NEVER;
}

/* What qsort's comparison needs besides its two elements. */
struct ranked { uint32_t process; enum role role; uint32_t group, number; uint64_t running; };

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->role != y->role)
		return x->role < y->role ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->running != y->running)
		return x->running > y->running ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

/* Mains, workers main by main, then helpers by the time they ran. */
static int make_order(struct report *r)
{
	size_t n = r->tasks.process_count;
	struct ranked *ranked = calloc(n, sizeof(*ranked));

	r->order = calloc(n, sizeof(*r->order));
	if (!ranked || !r->order)
		return free(ranked), ERROR_MEMORY;
	for (uint32_t i = 1; i < n; i++) {
		const struct process_role *role = &r->roles.processes[i];

		if (!r->tasks.processes[i].in_tree || r->tasks.processes[i].recorder)
			continue;
		ranked[r->order_count++] = (struct ranked){
			i, role->role, role->main == TASKS_NONE ? 0 : role->main, role->number,
			r->procs.processes[i].a.running,
		};
	}
	qsort(ranked, r->order_count, sizeof(*ranked), by_rank);
	for (size_t i = 0; i < r->order_count; i++) {
		r->order[i] = ranked[i].process;
		r->tree_running += ranked[i].running;
	}
	free(ranked);
	return 0;
}

static int load(struct report *r)
{
	int ret = tasks_load(&r->tasks, &r->recording);

	if (!ret)
		ret = keyframes_load(&r->keyframes, &r->tasks, &r->recording);
	if (!ret)
		ret = procs_load(&r->procs, &r->recording, &r->tasks, &r->keyframes);
	if (!ret)
		ret = latency_load(&r->latency, &r->recording, &r->tasks, &r->keyframes,
				   LATENCY_KEEP);
	if (!ret)
		ret = system_load(&r->system, &r->recording, &r->procs);
	if (!ret)
		ret = roles_load(&r->roles, &r->tasks, &r->procs, &r->latency);
	if (!ret)
		ret = completeness_load(&r->completeness, &r->recording);
	return ret ? ret : make_order(r);
}

/* The value of --ops among the recorder's options. */
static void find_selected(struct report *r)
{
	const char *at = recording_fact(&r->recording, "record.options");

	while (at && *at) {
		size_t length = strcspn(at, " ");

		if (length >= 5 && !strncmp(at, "--ops", 5) && (at[5] == '=' || at[5] == ' ')) {
			r->selected = at + 6;
			r->selected_length = strcspn(r->selected, " ");
		}
		at += length + strspn(at + length, " ");
	}
}

/* The price was paid by every call that entered a probe, its row lost or not. */
static void find_cost(struct report *r)
{
	const struct source_counts *s = &r->completeness.sources[SOURCE_CALL_ENTRY];
	uint64_t calls = r->latency.calls;

	if (s->known && s->entries >= s->filtered)
		calls = s->entries - s->filtered;
	r->probe_call = recording_number(&r->recording, "record.probe_call_ns", 0);
	r->probe_inside = recording_number(&r->recording, "record.probe_inside_ns", 0);
	r->probe_cost = calls * r->probe_call;
}

int report_open(struct report *r, const char *path, struct error *e)
{
	int ret;

	memset(r, 0, sizeof(*r));
	ret = recording_open(&r->recording, path, e);
	if (ret)
		return ret;
	ret = load(r);
	if (!ret)
		ret = chains_load(&r->chains, r);
	if (ret)
		return error_set(e, ret, "cannot read \"%s\": %s", path,
				 ret == ERROR_MEMORY ? "out of memory" : "damaged");
	r->covered_until = r->recording.end - r->recording.start;
	r->no_calls = find_no_calls(r);
	find_selected(r);
	find_cost(r);
	return 0;
}

void report_release(struct report *r)
{
	chains_release(&r->chains);
	free(r->order);
	roles_release(&r->roles);
	completeness_release(&r->completeness);
	latency_release(&r->latency);
	procs_release(&r->procs);
	keyframes_release(&r->keyframes);
	tasks_release(&r->tasks);
	recording_close(&r->recording);
}

const char *report_command(const struct report *r)
{
	const char *command = recording_fact(&r->recording, "record.command");

	if (command && *command)
		return command;
	for (size_t i = 0; i < r->tasks.process_count; i++)
		if (r->tasks.processes[i].root)
			return r->tasks.processes[i].command;
	return "";
}

unsigned int report_exit_status(uint32_t wait_status)
{
	return wait_status & 0x7f ? 128 + (wait_status & 0x7f) : wait_status >> 8 & 0xff;
}

bool report_lists(const struct report *r, uint32_t process)
{
	const struct process *p = &r->tasks.processes[process];
	const struct account *a = &r->procs.processes[process].a;

	if (!process || p->recorder)
		return false;
	return p->in_tree || a->voluntary || a->involuntary || a->arrivals || a->running ||
	       a->waiting || r->latency.process_calls[process];
}
