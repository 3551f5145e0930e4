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
	if (hits > outside && select_any(&r->selection))
		return NO_CALLS_SELECTED;
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

static bool in_order(const struct report *r, uint32_t process)
{
	const struct selection *s = &r->selection;

	return select_offers(r, process, s->by_thread || s->options.all) &&
	       select_process(s, process);
}

/* Mains, workers main by main, then helpers by the time they ran, then those outside the tree. */
static int make_order(struct report *r)
{
	size_t n = r->tasks.process_count;
	struct ranked *ranked = calloc(n, sizeof(*ranked));

	r->order = calloc(n, sizeof(*r->order));
	if (!ranked || !r->order)
		return free(ranked), ERROR_MEMORY;
	for (uint32_t i = 1; i < n; i++) {
		const struct process_role *role = &r->roles.processes[i];

		if (!in_order(r, i))
			continue;
		ranked[r->order_count++] = (struct ranked){
			i, role->role ? role->role : ROLE_HELPER + 1,
			role->main == TASKS_NONE ? 0 : role->main, role->number,
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

static int load_accounts(struct report *r, struct error *e)
{
	uint64_t *stalling;
	int ret = select_stalling(r, &stalling, e);

	if (!ret)
		ret = procs_load(&r->procs, &r->recording, &r->tasks, &r->keyframes, stalling);
	free(stalling);
	return ret;
}

/* Percentiles are left for later where only some of the calls will count. */
static int load(struct report *r, const struct select_options *o, struct error *e)
{
	bool narrowed = o->pid || o->tid || o->comm || o->role || o->op;
	int ret = tasks_load(&r->tasks, &r->recording);

	if (!ret)
		ret = keyframes_load(&r->keyframes, &r->tasks, &r->recording);
	if (!ret)
		ret = load_accounts(r, e);
	if (!ret)
		ret = latency_load(&r->latency, &r->recording, &r->tasks, &r->keyframes,
				   NULL, narrowed ? LATENCY_COUNT : LATENCY_KEEP);
	if (!ret)
		ret = system_load(&r->system, &r->recording, &r->procs);
	if (!ret)
		ret = roles_load(&r->roles, &r->tasks, &r->procs, &r->latency);
	return ret ? ret : completeness_load(&r->completeness, &r->recording);
}

/* A process that is selected in part has the sums of that part. */
static void narrow_processes(struct report *r)
{
	for (uint32_t i = 1; r->selection.by_thread && i < r->tasks.process_count; i++) {
		struct account *a = &r->procs.processes[i].a;

		if (!select_process(&r->selection, i))
			continue;
		*a = (struct account){ 0 };
		for (uint32_t k = r->tasks.processes[i].first_thread; k != TASKS_NONE;
		     k = r->tasks.threads[k].next)
			if (select_thread(&r->selection, k))
				account_add(a, &r->procs.threads[k].a);
	}
}

/* What is the selection's alone; roles and chains come from everything. */
static int narrow(struct report *r)
{
	int ret;

	narrow_processes(r);
	latency_release(&r->latency);
	ret = latency_load(&r->latency, &r->recording, &r->tasks, &r->keyframes, &r->selection,
			   LATENCY_KEEP);
	if (!ret && r->no_calls == NO_CALLS_NOT && !r->latency.calls && !r->latency.open_count)
		r->no_calls = NO_CALLS_SELECTED;
	return ret;
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

/* Paid by every call that entered a probe, its row lost or not; in a part that is not known. */
static void find_cost(struct report *r)
{
	const struct source_counts *s = &r->completeness.sources[SOURCE_CALL_ENTRY];
	uint64_t calls = r->latency.calls;

	if (s->known && s->entries >= s->filtered && !r->selection.by_time && !r->selection.by_cpu)
		calls = s->entries - s->filtered;
	r->probe_call = recording_number(&r->recording, "record.probe_call_ns", 0);
	r->probe_inside = recording_number(&r->recording, "record.probe_inside_ns", 0);
	r->probe_cost = calls * r->probe_call;
}

/* From everything; then what is left of everything is narrowed. */
static int load_chains(struct report *r, bool none)
{
	bool narrowed = r->selection.by_thread || r->selection.by_operation;
	int ret;

	r->no_calls = find_no_calls(r);
	find_cost(r);
	ret = none ? 0 : chains_load(&r->chains, r);
	if (!ret && narrowed)
		ret = narrow(r);
	return ret || none || !narrowed ? ret : chains_narrow(&r->chains, r);
}

int report_open(struct report *r, const char *path, const struct report_options *options,
		struct error *e)
{
	static const struct report_options none;
	int ret;

	memset(r, 0, sizeof(*r));
	options = options ? options : &none;
	r->order_by = options->order;
	r->no_group = options->no_group;
	ret = recording_open(&r->recording, path, e);
	if (!ret)
		ret = select_span(&r->selection, &options->select, &r->recording, e);
	if (ret)
		return ret;
	ret = load(r, &options->select, e);
	if (!ret)
		ret = select_resolve(&r->selection, r, e);
	if (ret == ERROR_USAGE)
		return ret;
	if (!ret)
		ret = load_chains(r, options->no_chains);
	if (!ret)
		ret = make_order(r);
	if (!ret)
		ret = worker_groups_load(&r->groups, r);
	r->covered_until = r->recording.whole_end - r->recording.whole_start;
	find_selected(r);
	if (ret)
		return error_set(e, ret, "cannot read \"%s\": %s", path,
				 ret == ERROR_MEMORY ? "out of memory" : "damaged");
	return 0;
}

void report_release(struct report *r)
{
	worker_groups_release(&r->groups);
	select_release(&r->selection);
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
