// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "synth.h"

#define MEMORY_TOTAL (16ull << 30)
#define QUOTA_PERIOD 100000000ull

static void info(struct synth *s, const char *key, const char *value)
{
	struct row_info row = { synth_string(s, key), synth_string(s, value) };

	synth_row(s, TABLE_info, 0, &row);
}

static void info_number(struct synth *s, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	info(s, key, text);
}

static void write_infos(struct synth *s)
{
	info(s, "host.name", "synthetic");
	info(s, "host.kernel", "6.1.0");
	info(s, "host.arch", "x86_64");
	info_number(s, "host.page_size", SYNTH_PAGE);
	info_number(s, "host.cpus", s->cpus);
	info_number(s, "host.cpus_online", s->cpus);
	info(s, "host.cpu_model", "invented");
	info_number(s, "host.memory", MEMORY_TOTAL);
	info(s, "host.distribution", "none");
	info(s, "record.version", INGERO_VERSION);
	info(s, "record.command", "torchrun train.py");
	info_number(s, "record.pid", 1000);
	info_number(s, "record.uid", 1000);
	info(s, "record.cwd", "/home/user");
	info_number(s, "record.buffer", 1 << 20);
	info_number(s, "record.start", SYNTH_START);
}

static void anchor(struct synth *s, uint64_t ts)
{
	struct row_anchor row = {
		ts, SYNTH_REALTIME + (ts - SYNTH_START), ts + SYNTH_BOOT,
	};

	synth_row(s, TABLE_anchor, 0, &row);
}

static void write_operations(struct synth *s)
{
	for (unsigned int i = 0; i < SYNTH_OPERATIONS; i++) {
		const struct synth_operation *o = &synth_operation[i];
		struct row_operation row = {
			.id = i + 1, .name = synth_string(s, o->name), .layer = o->layer,
			.category = o->category, .flags = o->flags,
		};

		synth_row(s, TABLE_operation, 0, &row);
	}
}

static void write_library(struct synth *s, uint64_t id, const char *path, const char *build_id)
{
	struct row_library row = {
		.id = id, .path = synth_string(s, path), .dev = 0xfe01, .inode = 7000 + id,
		.build_id = synth_string(s, build_id), .how = LIBRARY_BEFORE_EXEC,
		.probed = SYNTH_START, .symbols = SYNTH_OPERATIONS / 2,
	};

	synth_row(s, TABLE_library, 0, &row);
}

static uint64_t hits_of(const struct synth *s, unsigned int operation)
{
	uint64_t hits = 0;

	for (uint32_t p = 0; p < s->processes; p++) {
		const struct synth_truth *t = &s->truth[p * SYNTH_OPERATIONS + operation];

		hits += t->calls + t->open;
	}
	return hits;
}

/* At start, and with the hits at the end: the last row of an id counts. */
static void write_probes(struct synth *s)
{
	for (unsigned int i = 0; i < SYNTH_OPERATIONS; i++) {
		struct row_probe row = {
			.id = i + 1, .library = synth_operation[i].layer,
			.symbol = synth_string(s, synth_operation[i].name), .operation = i + 1,
			.offset = 0x40000 + 0x100 * i, .status = PROBE_ATTACHED,
			.hits = hits_of(s, i), .instruction = INSTRUCTION_EMULATED,
		};

		synth_row(s, TABLE_probe, 0, &row);
	}
}

static void task_row(struct synth *s, const struct synth_thread *t, enum task_event event,
		     uint64_t ts)
{
	const struct synth_process *p = &s->process[t->process];
	bool bystander = !(p->flags & TASK_FLAG_TREE), leader = t->tid == p->pid;
	uint64_t boot = bystander ? 1000000 * (uint64_t)p->pid : SYNTH_BOOT;
	struct row_task row = {
		.ts = ts, .event = event, .tid = t->tid, .tgid = p->pid, .ppid = p->ppid,
		.other_tid = event == TASK_EVENT_FORK ? leader ? p->ppid : p->pid : 0,
		.ns_tid = t->tid, .ns_tgid = p->pid, .start = boot + (bystander ? 0 : t->born),
		.process_start = boot + (bystander ? 0 : p->born),
		.name = synth_string(s, t->name), .cgroup = synth_string(s, "/user.slice"),
		.flags = p->flags,
	};

	if (event == TASK_EVENT_EXIT)
		row.flags |= t->tid == p->pid ? TASK_FLAG_GROUP_DEAD : 0;
	else if (event != TASK_EVENT_FORK)
		row.command = synth_string(s, p->command);
	synth_row(s, TABLE_task, 0, &row);
}

void synth_exit(struct synth *s, const struct synth_thread *t, uint64_t ts)
{
	task_row(s, t, TASK_EVENT_EXIT, ts);
}

/* A thread stays where it is. */
static void affinity_row(struct synth *s, const struct synth_thread *t)
{
	struct row_affinity row = {
		.ts = t->born, .tid = t->tid, .tgid = s->process[t->process].pid, .count = 1
	};
	char list[12];

	snprintf(list, sizeof(list), "%u", t->cpu);
	row.cpus = synth_string(s, list);
	synth_row(s, TABLE_affinity, 0, &row);
}

static void write_tasks(struct synth *s)
{
	for (uint32_t i = 0; i < s->threads; i++) {
		const struct synth_thread *t = &s->thread[i];
		const struct synth_process *p = &s->process[t->process];

		if (!(p->flags & TASK_FLAG_TREE)) {
			task_row(s, t, TASK_EVENT_SNAPSHOT, t->born);
			continue;
		}
		task_row(s, t, TASK_EVENT_FORK, t->born);
		affinity_row(s, t);
		if (t->tid == p->pid && strcmp(t->name, "pt_data_worker"))
			task_row(s, t, TASK_EVENT_EXEC, t->born + 1);
	}
}

void synth_begin(struct synth *s)
{
	write_infos(s);
	anchor(s, SYNTH_START);
	write_operations(s);
	write_library(s, 1, "/usr/lib/libcudart.so.13", "1111111111111111111111111111111111111111");
	write_library(s, 2, "/usr/lib/libcuda.so.1", "2222222222222222222222222222222222222222");
	write_probes(s);
	write_tasks(s);
}

static uint64_t busy_until_now(const struct synth *s, const struct synth_cpu *cpu)
{
	return cpu->busy + (cpu->current == IDLE ? 0 : s->now - cpu->came);
}

/* The group of all tasks, with a quota of half the CPUs. */
static void cgroup_row(struct synth *s)
{
	struct row_cgroup row = {
		.ts = s->now,
		.path = synth_string(s, "/user.slice"),
		.quota = s->cpus * QUOTA_PERIOD / 2,
		.period = QUOTA_PERIOD,
		.periods = (s->now - SYNTH_START) / QUOTA_PERIOD,
		.memory = MEMORY_TOTAL / 8,
		.memory_limit = MEMORY_TOTAL / 2,
	};

	for (uint32_t i = 0; i < s->cpus; i++) {
		row.throttled += s->cpu[i].throttled;
		row.throttled_time += s->cpu[i].throttled_time;
		row.usage += busy_until_now(s, &s->cpu[i]);
	}
	if (row.throttled > row.periods)
		row.throttled = row.periods;
	synth_row(s, TABLE_cgroup, 0, &row);
}

void synth_sample(struct synth *s)
{
	struct row_system row = {
		.ts = s->now, .runnable = s->cpus, .threads = s->threads, .load1 = 100 * s->cpus,
		.memory_total = MEMORY_TOTAL, .memory_free = MEMORY_TOTAL / 4,
		.memory_available = MEMORY_TOTAL / 2 + 4096 * synth_random(s, 1000),
		.swap_total = 0, .swap_free = 0, .flags = SYSTEM_FLAG_LOAD | SYSTEM_FLAG_MEMORY,
	};

	synth_row(s, TABLE_system, 0, &row);
	for (uint32_t i = 0; i < s->cpus; i++) {
		uint64_t busy = busy_until_now(s, &s->cpu[i]);
		struct row_cpu cpu = {
			.ts = s->now, .cpu = i, .user = busy - busy / 8, .system = busy / 8,
			.idle = s->now - SYNTH_START - busy,
		};

		synth_row(s, TABLE_cpu, 0, &cpu);
	}
	cgroup_row(s);
}

/* A thread that has been woken and not yet come on waits; of others see synth_switches(). */
static void thread_row(struct synth *s, const struct synth_thread *t)
{
	const struct synth_cpu *cpu = &s->cpu[t->cpu];
	bool running = t->life == LIFE_RUNNING;
	struct row_state row = {
		.ts = s->now, .kind = STATE_KIND_THREAD, .cpu = t->cpu, .tid = t->tid,
		.tgid = s->process[t->process].pid, .since = t->since, .depth = t->open_calls,
		.state = running ? THREAD_RUNNING : THREAD_BLOCKED,
	};

	if (t->life == LIFE_UNBORN || t->life == LIFE_PREEMPTED) {
		row.state = THREAD_WAITING;
		row.since = t->life == LIFE_UNBORN ? t->born : t->since;
		row.runnable_since = row.since;
	} else if (t->life == LIFE_SLEEPING && cpu->ready && &s->thread[cpu->next] == t &&
		   cpu->next != IDLE && cpu->ts - cpu->wait < s->now) {
		row.state = THREAD_WAITING;
		row.runnable_since = cpu->ts - cpu->wait;
	}
	if (row.state == THREAD_BLOCKED)
		row.syscall = t->syscall;
	if (running) {
		row.page_events = cpu->page_events;
		row.pages = cpu->pages;
	}
	synth_row(s, TABLE_state, 0, &row);
}

static void counter(struct synth *s, uint64_t source, uint32_t cpu, uint64_t emitted, uint64_t lost)
{
	struct row_counter row = {
		.ts = s->now, .source = source, .cpu = cpu, .entries = emitted + lost,
		.emitted = emitted, .lost = lost,
	};

	if (row.entries)
		synth_row(s, TABLE_counter, 0, &row);
}

static uint64_t hanging_on(const struct synth *s, uint32_t cpu)
{
	uint64_t hanging = 0;

	for (uint32_t i = 0; i < s->callers; i++)
		hanging += s->caller[i].hangs && s->thread[s->caller[i].thread].cpu == cpu;
	return hanging;
}

static void write_counters(struct synth *s, bool last)
{
	for (uint32_t i = 0; i < s->cpus; i++) {
		const struct synth_cpu *cpu = &s->cpu[i];

		counter(s, SOURCE_SWITCH, i, cpu->rows - cpu->lost, cpu->lost);
		counter(s, SOURCE_CALL_RETURN, i, cpu->call_rows, 0);
		counter(s, SOURCE_CALL_ENTRY, i, cpu->call_rows + (last ? hanging_on(s, i) : 0), 0);
		counter(s, SOURCE_PAGE_ALLOC, i, cpu->allocations, 0);
		counter(s, SOURCE_RECLAIM, i, cpu->reclaims, 0);
	}
}

static void coverage(struct synth *s)
{
	for (uint32_t i = 0; i < s->cpus; i++) {
		struct row_state row = {
			.ts = s->now, .kind = STATE_KIND_COVERAGE, .cpu = i, .since = s->now,
		};

		synth_row(s, TABLE_state, 0, &row);
	}
}

void synth_keyframe(struct synth *s, bool last)
{
	synth_open_calls(s, s->now, last);
	for (uint32_t i = 0; i < s->threads; i++)
		if (s->thread[i].life != LIFE_DEAD &&
		    (s->thread[i].life != LIFE_UNBORN || s->thread[i].born < s->now))
			thread_row(s, &s->thread[i]);
	write_counters(s, last);
	if ((s->now - SYNTH_START) % (100 * s->slice) == 0)
		anchor(s, s->now);
	coverage(s);
	if (writer_flush(s->w, NULL))
		s->failed = true;
}

void synth_end(struct synth *s)
{
	synth_settle(s, s->now);
	synth_sample(s);
	write_probes(s);
	info_number(s, "record.stop", s->now);
	info_number(s, "record.exit_status", 0);
	anchor(s, s->now);
	synth_keyframe(s, true);
}
