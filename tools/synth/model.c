// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "synth.h"

#define DEFAULT_GAP 20000		/* ns between two switches of a CPU, about */
#define DEFAULT_SPACING 20000		/* ns between two calls of a thread, about */
#define ROOT_PID 1000
#define RECORDER_PID 800
#define HOG_PID 900
#define NEIGHBOUR_PID 950
#define KTHREAD_PID 20

#define GOLDEN 0x9e3779b97f4a7c15ull

/* splitmix64: every seed is a good one */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t synth_random(struct synth *s, uint64_t below)
{
	return mix(s->random += GOLDEN) % below;
}

uint64_t synth_derived(uint64_t a, uint64_t b, uint64_t below)
{
	return mix(a * GOLDEN + b) % below;
}

/* 2^(k/2) for a bell-shaped k from -8 to 8, with an even jitter of half as much again. */
uint64_t synth_spread(struct synth *s, uint64_t median)
{
	uint64_t r = synth_random(s, 1ull << 32);
	int k = __builtin_popcountll(r & 0xffff) - 8;
	uint64_t value = median * (k & 1 ? 181 : 128) / 128 * (192 + (r >> 16 & 127)) / 256;

	/* k & 1 contributes the square root of two; the rest are halvings and doublings. */
	k = (k - (k & 1)) / 2;
	return k < 0 ? value >> -k : value << k;
}

uint64_t synth_string(struct synth *s, const char *text)
{
	return writer_string(s->w, text, text ? strlen(text) : 0);
}

void synth_row(struct synth *s, enum table table, uint32_t cpu, const void *row)
{
	if (writer_row(s->w, table, cpu, row))
		s->failed = true;
}

static uint32_t add_process(struct synth *s, uint32_t pid, uint32_t ppid, const char *name,
			    const char *command, uint64_t flags)
{
	s->process[s->processes] = (struct synth_process){
		.pid = pid, .ppid = ppid, .name = name, .command = command, .flags = flags,
		.born = SYNTH_START,
	};
	return s->processes++;
}

static void add_thread(struct synth *s, uint32_t process, uint32_t tid, const char *name,
		       uint64_t born)
{
	s->thread[s->threads] = (struct synth_thread){
		.tid = tid,
		.process = process,
		.cpu = s->threads % (uint32_t)s->options.cpus,
		.name = name,
		.life = born ? LIFE_UNBORN : LIFE_SLEEPING,
		.born = born ? born : SYNTH_START,
		.since = SYNTH_START,
	};
	s->threads++;
}

/* Tasks that were there before and are none of ours. */
static void add_bystanders(struct synth *s)
{
	for (uint32_t cpu = 0; cpu < s->cpus; cpu++) {
		uint32_t p = add_process(s, KTHREAD_PID + cpu, 2, "kworker", "", TASK_FLAG_KTHREAD);

		add_thread(s, p, KTHREAD_PID + cpu, "kworker", 0);
	}
	add_thread(s, add_process(s, HOG_PID, 1, "hog", "hog --forever", 0), HOG_PID, "hog", 0);
	add_thread(s, add_process(s, RECORDER_PID, 1, "ingero-record",
				  "ingero-record -- torchrun train.py", TASK_FLAG_RECORDER),
		   RECORDER_PID, "ingero-record", 0);
}

/* A thread for each that makes calls, on a CPU that those two share. */
static void add_neighbours(struct synth *s)
{
	uint32_t p;

	if (!s->options.neighbour)
		return;
	p = add_process(s, NEIGHBOUR_PID, 1, "neighbour", "neighbour --greedy", 0);
	for (uint32_t i = 0; i < s->callers; i++) {
		uint32_t cpu = (uint32_t)s->options.cpus + i;

		s->thread[s->caller[i].thread].cpu = cpu;
		s->caller[i].neighbour = s->threads;
		add_thread(s, p, NEIGHBOUR_PID + i, "neighbour", 0);
		s->thread[s->caller[i].neighbour].cpu = cpu;
		s->cpu[cpu].quota = 0;
	}
}

static uint64_t generations(const struct synth_options *o)
{
	return o->generations ? o->generations : 1;
}

/* A generation has three quarters of its part of the span, so that the next finds it gone. */
static void add_worker(struct synth *s, uint64_t number, uint32_t main, uint64_t born)
{
	const struct synth_options *o = &s->options;
	uint64_t part = s->span / generations(o), generation = number / o->workers;
	uint32_t pid = main + (uint32_t)(o->threads + number);
	uint32_t p = add_process(s, pid, main, "python3", "python3 train.py --epochs 1", TASK_FLAG_TREE);

	s->process[p].born = born + 20000 + 1000 * (number % o->workers) + part * generation;
	add_thread(s, p, pid, "pt_data_worker", s->process[p].born);
	if (o->generations > 1)
		s->thread[s->threads - 1].dies = SYNTH_START + part * generation + part / 4 * 3;
}

/* Each main with its other threads and its workers. */
static void add_main(struct synth *s, uint32_t number, uint32_t pid, uint32_t ppid, uint64_t flags)
{
	const struct synth_options *o = &s->options;
	uint64_t born = SYNTH_START + 1000 + 1000 * (uint64_t)number;
	uint32_t p = add_process(s, pid, ppid, "python3", "python3 train.py --epochs 1", flags);

	s->process[p].born = born;
	s->process[p].caller = true;
	add_thread(s, p, pid, "python3", born);
	for (uint64_t i = 1; i < o->threads; i++)
		add_thread(s, p, pid + (uint32_t)i, "pt_autograd_0", born + 100 * i);
	for (uint64_t i = 0; i < o->workers * generations(o); i++)
		add_worker(s, i, pid, born);
}

static void add_tree(struct synth *s)
{
	const struct synth_options *o = &s->options;
	uint32_t step = (uint32_t)(o->threads + o->workers * generations(o) + 1);
	uint32_t p;

	if (o->processes <= 1) {
		add_main(s, 0, ROOT_PID, RECORDER_PID, TASK_FLAG_TREE | TASK_FLAG_ROOT);
		return;
	}
	p = add_process(s, ROOT_PID, RECORDER_PID, "torchrun", "torchrun train.py",
			TASK_FLAG_TREE | TASK_FLAG_ROOT);
	add_thread(s, p, ROOT_PID, "torchrun", SYNTH_START + 500);
	s->process[p].born = SYNTH_START + 500;
	for (uint32_t i = 0; i < o->processes; i++)
		add_main(s, i, ROOT_PID + 1 + i * step, ROOT_PID, TASK_FLAG_TREE);
}

/* Pace of switches and calls such that both fill about the same span. */
static void set_pace(struct synth *s)
{
	const struct synth_options *o = &s->options;
	uint64_t rows = o->switches / o->cpus + 1;	/* of the CPUs without a neighbour */
	uint64_t calls = o->calls / (o->processes * o->threads) + 1;
	uint64_t span = rows * DEFAULT_GAP > calls * DEFAULT_SPACING ? rows * DEFAULT_GAP :
								       calls * DEFAULT_SPACING;

	s->span = span;
	s->gap = span / rows;
	s->spacing = span / calls;
	if (o->shape == SHAPE_EXTREMES)
		span += 4000000000000ull;
	s->slice = span / 4000 > SYNTH_SLICE ? span / 4000 : SYNTH_SLICE;
	s->now = SYNTH_START;
}

static int allocate(struct synth *s)
{
	const struct synth_options *o = &s->options;
	size_t processes = s->cpus + 4 + o->processes * (1 + o->workers * generations(o));
	size_t threads = s->cpus + 4 + o->processes * (2 * o->threads + o->workers * generations(o));

	s->process = calloc(processes, sizeof(*s->process));
	s->thread = calloc(threads, sizeof(*s->thread));
	s->cpu = calloc(s->cpus, sizeof(*s->cpu));
	s->caller = calloc(o->processes * o->threads, sizeof(*s->caller));
	s->truth = calloc(processes * SYNTH_OPERATIONS, sizeof(*s->truth));
	return s->process && s->thread && s->cpu && s->caller && s->truth ? 0 : ERROR_MEMORY;
}

int synth_init(struct synth *s, const struct synth_options *options, struct writer *w)
{
	uint64_t own = options->neighbour ? options->processes * options->threads : 0;
	uint64_t cpus = options->cpus;
	int ret;

	*s = (struct synth){ .options = *options, .w = w, .random = options->seed };
	s->cpus = (uint32_t)(cpus + own);
	if (allocate(s))
		return ERROR_MEMORY;
	for (uint32_t i = 0; i < s->cpus; i++)
		s->cpu[i] = (struct synth_cpu){
			.current = IDLE, .came = SYNTH_START, .last = SYNTH_START,
			.quota = options->switches / cpus + (i < options->switches % cpus),
		};
	set_pace(s);
	add_bystanders(s);
	add_tree(s);
	ret = synth_callers(s);
	add_neighbours(s);
	return ret;
}

void synth_release(struct synth *s)
{
	for (size_t i = 0; s->truth && i < (size_t)s->processes * SYNTH_OPERATIONS; i++)
		free(s->truth[i].duration);
	free(s->truth);
	free(s->process);
	free(s->thread);
	free(s->cpu);
	free(s->caller);
}
