// SPDX-License-Identifier: BSD-2-Clause
/* Who is who: reused numbers, threads that exec, parents, names, roles, losses. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "made.h"

#define S MADE_START
#define E MADE_END
#define TREE TASK_FLAG_TREE

static const struct process *number(const struct report *r, uint32_t pid, unsigned int nth)
{
	for (size_t i = 1; i < r->tasks.process_count; i++)
		if (r->tasks.processes[i].tgid == pid && !nth--)
			return &r->tasks.processes[i];
	return NULL;
}

static void test_reused(void)
{
	const struct process *one, *two;
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 9, "parent");
	made_task_row(&m, (struct row_task){ .ts = S + 10, .event = TASK_EVENT_FORK, .tid = 10,
		.tgid = 10, .ppid = 9, .start = 100, .process_start = 100, .flags = TREE }, "one");
	made_task_row(&m, (struct row_task){ .ts = S + 100, .event = TASK_EVENT_EXIT, .tid = 10,
		.tgid = 10, .start = 100, .process_start = 100, .exit_code = 3 << 8,
		.flags = TREE | TASK_FLAG_GROUP_DEAD }, "one");
	made_task_row(&m, (struct row_task){ .ts = S + 200, .event = TASK_EVENT_FORK, .tid = 10,
		.tgid = 10, .ppid = 9, .start = 300, .process_start = 300, .flags = TREE }, "two");
	made_switch(&m, 0, S + 20, 0, 0, 10, 10, 10);
	made_switch(&m, 0, S + 120, 10, PREV_DEAD, 0, 0, 0);
	made_switch(&m, 0, S + 210, 0, 0, 10, 10, 10);
	made_call(&m, S + 50, 10, 10, 1, 0, 0);
	made_call(&m, S + 250, 20, 10, 1, 0, 0);
	made_coverage(&m, 0, E);
	made_report(&m, true, &r);

	one = number(&r, 10, 0);
	two = number(&r, 10, 1);
	if (CHECK(one && two)) {
		CHECK(!strcmp(one->name, "one") && !strcmp(two->name, "two"));
		CHECK(one->id != two->id && one->ppid == 9 && two->ppid == 9);
		CHECK(r.tasks.processes[one->parent].tgid == 9);
		CHECK(one->exit_known && report_exit_status(one->exit_status) == 3);
		CHECK(!two->exit_known && !two->end);
		CHECK(r.procs.processes[one - r.tasks.processes].a.running == 100);
		CHECK(r.procs.processes[two - r.tasks.processes].a.running == E - (S + 210));
		CHECK(r.latency.process_calls[one->id] == 1);
		CHECK(r.latency.process_calls[two->id] == 1);
	}
	report_release(&r);
}

/* Thread 11 of process 10 execs: it goes on as 10, and its time is whole. */
static void test_exec_of_thread(void)
{
	const struct thread_account *t;
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "leader");
	made_task_row(&m, (struct row_task){ .ts = S + 10, .event = TASK_EVENT_FORK, .tid = 11,
		.tgid = 10, .start = 50, .process_start = 10, .flags = TREE }, "thread");
	made_task_row(&m, (struct row_task){ .ts = S + 100, .event = TASK_EVENT_EXIT, .tid = 10,
		.tgid = 10, .start = 10, .process_start = 10, .flags = TREE }, "leader");
	made_task_row(&m, (struct row_task){ .ts = S + 200, .event = TASK_EVENT_EXEC, .tid = 10,
		.tgid = 10, .other_tid = 11, .start = 10, .process_start = 10, .flags = TREE },
		"new");
	/* The old leader dies after its exit event; the thread switches as 10 before its exec event. */
	made_switch(&m, 0, S + 110, 10, PREV_DEAD, 11, 100, 40);
	made_switch(&m, 0, S + 150, 10, PREV_SLEEPING, 0, 0, 0);
	made_switch(&m, 0, S + 170, 0, 0, 10, 20, 5);
	made_coverage(&m, 0, E);
	made_report(&m, true, &r);

	CHECK(r.procs.breaks == 0);
	t = &r.procs.threads[3];
	CHECK(r.tasks.threads[3].tid == 10 && r.tasks.threads[3].former_tid == 11);
	CHECK(t->a.running == 40 + (E - (S + 170)) && t->a.waiting == 45 && t->a.blocked == 75);
	CHECK(t->a.unrecorded == 0 && t->begin == S + 10 && t->end == E);
	t = &r.procs.threads[2];
	CHECK(t->a.running == 110 && t->end == S + 110 && t->a.unrecorded == 0);
	CHECK(!strcmp(number(&r, 10, 0)->name, "new") && !number(&r, 10, 1));
	report_release(&r);
}

static void calls(struct made *m, uint64_t pid, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		made_call(m, S + 1000 + i, 1, pid, 1, 0, 0);
}

static void child(struct made *m, uint64_t pid, uint64_t parent, const char *name)
{
	made_task_row(m, (struct row_task){ .ts = S + pid, .event = TASK_EVENT_FORK, .tid = pid,
		.tgid = pid, .ppid = parent, .start = pid, .process_start = pid, .flags = TREE },
		name);
}

static void has_role(const struct report *r, uint32_t pid, const char *want)
{
	char buf[64];

	if (!CHECK(!strcmp(roles_text(&r->roles, number(r, pid, 0)->id, buf, sizeof(buf)), want)))
		printf("%u is \"%s\", not \"%s\"\n", pid, buf, want);
}

static void test_roles(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "torchrun");
	child(&m, 20, 10, "python3");
	child(&m, 30, 10, "python3");
	child(&m, 40, 10, "monitor");
	child(&m, 21, 20, "pt_data_worker");
	child(&m, 22, 20, "pt_data_worker");
	child(&m, 23, 20, "sh");
	child(&m, 31, 30, "pt_data_worker");
	made_switch(&m, 0, S + 200, 0, 0, 21, 10, 10);
	made_switch(&m, 0, S + 900, 21, PREV_SLEEPING, 0, 0, 0);
	made_switch(&m, 0, S + 910, 0, 0, 23, 10, 10);
	made_switch(&m, 0, S + 920, 23, PREV_SLEEPING, 0, 0, 0);
	calls(&m, 20, 100);
	calls(&m, 30, 10);
	calls(&m, 40, 9);
	made_report(&m, true, &r);

	has_role(&r, 20, "main 1");
	has_role(&r, 30, "main 2");
	has_role(&r, 40, "helper");
	has_role(&r, 10, "helper");
	has_role(&r, 21, "worker 1 of main 1");
	has_role(&r, 22, "worker 2 of main 1");
	has_role(&r, 23, "helper");
	has_role(&r, 31, "worker 1 of main 2");
	CHECK(r.order_count == 8 && r.tasks.processes[r.order[0]].tgid == 20);
	report_release(&r);
}

static void program(struct made *m, uint64_t pid, uint64_t parent, const char *name,
		    const char *command)
{
	child(m, pid, parent, name);
	made_task_row(m, (struct row_task){ .ts = S + pid + 1, .event = TASK_EVENT_EXEC, .tid = pid,
		.tgid = pid, .other_tid = pid, .start = pid, .process_start = pid, .flags = TREE,
		.command = writer_string(m->writer, command, strlen(command)) }, name);
}

/* What a script starts one after the other takes no worker's place, however often. */
static void test_kinds(void)
{
	struct report r;
	struct made m;

	made_begin(&m);
	made_process(&m, 10, "python3");
	made_process(&m, 40, "python3");
	for (uint64_t i = 0; i < 3; i++)
		program(&m, 20 + i * 2, 10, "bash", "bash step.sh");
	child(&m, 30, 10, "pt_data_worker");
	child(&m, 31, 10, "pt_data_worker");
	child(&m, 32, 10, "pt_data_pin");
	program(&m, 50, 40, "python3", "python3 -c spawn_main(pipe=7)");
	program(&m, 52, 40, "python3", "python3 -c spawn_main(pipe=11)");
	program(&m, 54, 40, "python3", "python3 -c tracker(7)");
	made_switch(&m, 0, S + 200, 0, 0, 30, 10, 10);
	made_switch(&m, 0, S + 900, 30, PREV_SLEEPING, 0, 0, 0);
	made_switch(&m, 0, S + 910, 0, 0, 20, 10, 10);
	made_switch(&m, 0, S + 920, 20, PREV_SLEEPING, 32, 10, 10);
	made_switch(&m, 0, S + 9900, 32, PREV_SLEEPING, 50, 10, 10);
	made_switch(&m, 0, S + 9990, 50, PREV_SLEEPING, 0, 0, 0);
	calls(&m, 10, 100);
	calls(&m, 40, 100);
	made_report(&m, true, &r);

	has_role(&r, 30, "worker 1 of main 1");
	has_role(&r, 31, "worker 2 of main 1");
	has_role(&r, 32, "helper");
	has_role(&r, 20, "helper");
	has_role(&r, 24, "helper");
	has_role(&r, 50, "worker 1 of main 2");
	has_role(&r, 52, "worker 2 of main 2");
	has_role(&r, 54, "helper");
	report_release(&r);
}

/* Calls whose row was lost paid for the probe too; those from outside the tree did not. */
static void test_cost(void)
{
	struct row_counter entries = { .ts = S + 1, .source = SOURCE_CALL_ENTRY, .entries = 100,
				       .emitted = 60, .filtered = 30, .lost = 10 };
	struct report r;
	struct made m;

	made_begin(&m);
	made_fact(&m, "record.probe_call_ns", "2000");
	made_fact(&m, "record.probe_inside_ns", "900");
	made_process(&m, 10, "a");
	calls(&m, 10, 5);
	writer_row(m.writer, TABLE_counter, 0, &entries);
	made_report(&m, true, &r);
	CHECK(r.probe_cost == 70 * 2000 && r.probe_inside == 900);
	report_release(&r);
}

static void test_completeness(void)
{
	struct row_counter counter = { .ts = S + 1, .source = SOURCE_SWITCH, .entries = 10,
				       .emitted = 6, .filtered = 1, .lost = 3 };
	struct row_counter later = { .ts = S + 2, .source = SOURCE_SWITCH, .entries = 20,
				     .emitted = 14, .filtered = 1, .lost = 5 };
	struct row_counter skipped = { .ts = S + 2, .source = SOURCE_CALL_ENTRY, .missed = 4 };
	struct row_loss loss = { .source = SOURCE_SWITCH, .first = S, .last = S + 9, .count = 7,
				 .reason = LOSS_RING_FULL, .pages = 11 };
	struct report r;
	struct made m;

	made_begin(&m);
	writer_row(m.writer, TABLE_counter, 0, &counter);
	writer_row(m.writer, TABLE_counter, 0, &later);
	writer_row(m.writer, TABLE_counter, 0, &skipped);
	writer_row(m.writer, TABLE_loss, 0, &loss);
	made_report(&m, true, &r);

	CHECK(!r.completeness.complete && r.completeness.closed);
	CHECK(r.completeness.sources[SOURCE_SWITCH].lost == 5);
	CHECK(r.completeness.sources[SOURCE_SWITCH].all == 7);
	CHECK(r.completeness.sources[SOURCE_SWITCH].pages == 11);
	CHECK(r.completeness.sources[SOURCE_CALL_ENTRY].all == 4);
	CHECK(r.completeness.lost == 11 && r.completeness.unbalanced == 0);
	CHECK(r.completeness.calls_lossy && r.completeness.switches_lossy);
	CHECK(r.no_calls == NO_CALLS_NO_LIBRARY);
	report_release(&r);
}

int main(void)
{
	test_reused();
	test_exec_of_thread();
	test_roles();
	test_kinds();
	test_cost();
	test_completeness();
	return check_result();
}
