// SPDX-License-Identifier: BSD-2-Clause
#include "view_json.h"

static uint64_t since_start(const struct report *r, uint64_t ts)
{
	return ts > r->recording.whole_start ? ts - r->recording.whole_start : 0;
}

static void put_account(const struct account *a, struct json *j)
{
	json_uint(j, "switches_voluntary", a->voluntary);
	json_uint(j, "switches_involuntary", a->involuntary);
	json_uint(j, "running_ns", a->running);
	json_uint(j, "waiting_ns", a->waiting);
	json_uint(j, "blocked_ns", a->blocked);
	json_uint(j, "unrecorded_ns", a->unrecorded);
	json_uint_or_null(j, "off_cpu_mean_ns", a->off_periods, account_off_mean(a));
	json_uint_or_null(j, "off_cpu_max_ns", a->off_periods, a->off_max);
	json_uint(j, "off_cpu_periods", a->off_periods);
}

static void put_threads(const struct report *r, uint32_t process, struct json *j)
{
	json_array(j, "thread_list");
	for (uint32_t i = r->tasks.processes[process].first_thread; i != TASKS_NONE;
	     i = r->tasks.threads[i].next) {
		const struct thread *thread = &r->tasks.threads[i];
		const struct thread_account *t = &r->procs.threads[i];

		if (!select_lives(r, i))
			continue;
		json_object(j, NULL);
		json_uint(j, "tid", thread->tid);
		json_string(j, "name", thread->name);
		json_uint(j, "start_ns", since_start(r, t->begin));
		json_uint_or_null(j, "end_ns", !t->alive, since_start(r, t->end));
		json_uint(j, "life_ns", t->end - t->begin);
		put_account(&t->a, j);
		json_uint(j, "page_allocations", t->a.page_events);
		json_uint(j, "page_bytes", t->a.pages * r->recording.page_size);
		json_uint(j, "cuda_calls", r->latency.thread_calls[i]);
		json_uint(j, "chain_breaks", t->a.breaks);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_names(const struct report *r, uint32_t process, struct json *j)
{
	json_array(j, "names");
	for (size_t i = 0; i < r->tasks.name_count; i++) {
		const struct name_change *change = &r->tasks.names[i];

		if (r->tasks.processes[process].leader != change->thread)
			continue;
		json_object(j, NULL);
		json_uint(j, "at_ns", since_start(r, change->ts));
		json_string(j, "name", change->name);
		json_bool(j, "exec", change->exec);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_stalls(const struct report *r, uint32_t process, struct json *j)
{
	json_array(j, "stalls");
	for (unsigned int i = 0; i < PROCS_STALLS; i++) {
		const struct stall *s = &r->procs.processes[process].stalls[i];

		if (!s->off)
			break;
		json_object(j, NULL);
		json_uint(j, "tid", r->tasks.threads[s->thread].tid);
		json_uint(j, "end_ns", since_start(r, s->end));
		json_uint(j, "off_ns", s->off);
		json_uint(j, "waiting_ns", s->wait);
		json_bool(j, "open", s->open);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_identity(const struct report *r, uint32_t process, struct json *j)
{
	const struct process *p = &r->tasks.processes[process];
	char role[64];

	json_uint(j, "id", p->id);
	json_uint(j, "pid", p->tgid);
	json_uint_or_null(j, "ppid", p->ppid, p->ppid);
	json_uint_or_null(j, "parent", p->parent != TASKS_NONE, p->parent);
	json_uint_or_null(j, "namespace_pid", p->ns_tgid, p->ns_tgid);
	json_string(j, "name", p->name);
	json_string(j, "command", p->command);
	json_string(j, "role", roles_text(&r->roles, process, role, sizeof(role)));
	json_bool(j, "in_tree", p->in_tree);
}

/* exit_status goes by the wait status: the code of a normal exit, 128 + signal otherwise. */
static void put_life(const struct report *r, uint32_t process, struct json *j)
{
	const struct process *p = &r->tasks.processes[process];
	const struct process_account *a = &r->procs.processes[process];
	uint32_t signal = p->exit_status & 0x7f;

	json_uint_or_null(j, "exit_code", p->exit_known, report_exit_status(p->exit_status));
	json_uint_or_null(j, "exit_signal", p->exit_known && signal, signal);
	json_uint(j, "start_ns", since_start(r, a->begin));
	json_bool(j, "start_recorded", process_start_in_span(p, &r->recording));
	json_uint_or_null(j, "end_ns", p->end, since_start(r, a->end > p->end ? a->end : p->end));
}

static void put_process(const struct report *r, uint32_t process, struct json *j)
{
	const struct process_account *a = &r->procs.processes[process];

	json_object(j, NULL);
	put_identity(r, process, j);
	put_life(r, process, j);
	put_account(&a->a, j);
	json_uint(j, "threads", r->tasks.processes[process].threads);
	json_uint(j, "page_allocations", a->a.page_events);
	json_uint(j, "page_bytes", a->a.pages * r->recording.page_size);
	json_uint(j, "cuda_calls", r->latency.process_calls[process]);
	json_uint(j, "cuda_time_ns", r->latency.process_time[process]);
	json_uint(j, "chain_breaks", a->a.breaks);
	json_bool(j, "lossy", r->completeness.switches_lossy);
	if (r->tasks.processes[process].in_tree) {
		put_names(r, process, j);
		put_stalls(r, process, j);
		put_threads(r, process, j);
	}
	json_object_end(j);
}

static void put_median(struct json *j, const char *key, const char *count,
		       const struct group_median *m)
{
	json_uint_or_null(j, key, m->n, m->ns);
	json_uint(j, count, m->n);
}

static void put_group(const struct report *r, const struct worker_group *g, struct json *j)
{
	const struct thread_sum *s = &g->sum;

	json_object(j, NULL);
	json_uint(j, "main", g->main);
	json_string(j, "name", s->name);
	json_array(j, "members");
	for (size_t i = 0; i < g->count; i++)
		json_uint(j, NULL, g->members[i]);
	json_array_end(j);
	json_uint(j, "workers", g->count);
	json_uint(j, "at_once", g->at_once);
	json_uint(j, "generations", g->generations);
	put_median(j, "lifetime_ns", "lifetime_n", &g->lifetime);
	put_median(j, "startup_ns", "startup_n", &g->startup);
	json_uint(j, "start_ns", since_start(r, s->begin));
	json_uint_or_null(j, "end_ns", !s->alive, since_start(r, s->end));
	put_account(&s->a, j);
	json_uint(j, "threads", s->threads);
	json_uint(j, "page_allocations", s->a.page_events);
	json_uint(j, "page_bytes", s->a.pages * r->recording.page_size);
	json_uint(j, "cuda_calls", s->calls);
	json_uint(j, "cuda_time_ns", s->call_time);
	json_uint(j, "chain_breaks", s->a.breaks);
	json_object_end(j);
}

static void put_groups(const struct report *r, struct json *j)
{
	json_array(j, "groups");
	for (size_t i = 0; i < r->groups.count; i++)
		put_group(r, &r->groups.list[i], j);
	json_array_end(j);
}

void view_json_processes(const struct report *r, struct json *j)
{
	json_array(j, "processes");
	for (uint32_t i = 1; i < r->tasks.process_count; i++)
		if (select_offers(r, i, true) && select_process(&r->selection, i))
			put_process(r, i, j);
	json_array_end(j);
	put_groups(r, j);
}
