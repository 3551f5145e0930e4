// SPDX-License-Identifier: BSD-2-Clause
/* Advice: every cause has a sentence, a fix and a proof, of the chain's own figures and no others. */
#include <string.h>
#include "check.h"
#include "chain_made.h"
#include "report/advice.h"
#include "report/advice_values.h"
#include "report/chain_text.h"

#define HAS(text, part) has(text, part, true)
#define LACKS(text, part) has(text, part, false)

static struct report r;
static struct effect effect;
static struct cause cause;

static void has(const char *text, const char *part, bool want)
{
	if (!CHECK(!strstr(text, part) == !want))
		printf("\"%s\" in \"%s\"\n", part, text);
}

/* Placeholders are known, brackets are pairs and not nested. */
static void test_templates(void)
{
	const char *texts[3];

	for (size_t i = 0; i < advice_rows(); i++) {
		advice_row(i, texts);
		for (unsigned int k = 0; k < 3; k++) {
			const char *at = texts[k];
			int inside = 0;

			for (; *at; at++) {
				inside += (*at == '[') - (*at == ']');
				if (*at == '{' && !CHECK(advice_known(at + 1, strcspn(at + 1, "}"))))
					printf("%s\n", at);
				if (!CHECK(inside == 0 || inside == 1))
					printf("%s\n", texts[k]);
			}
			CHECK(!inside);
		}
	}
}

static void complete(const struct chain *c)
{
	struct advice a;

	advice_give(&a, &r, c);
	if (!CHECK(*a.cause && *a.fix && *a.proof))
		printf("kind %d: \"%s\" \"%s\" \"%s\"\n", c->verdict, a.cause, a.fix, a.proof);
	for (unsigned int i = 0; i < 3; i++) {
		const char *text = i ? i == 1 ? a.fix : a.proof : a.cause;

		if (!CHECK(!strpbrk(text, "{}[]") && !strstr(text, "  ")))
			printf("\"%s\"\n", text);
	}
}

/* Of every kind, with nothing known but the kind, and with everything. */
static void test_all_kinds(void)
{
	static const struct chain_evidence all = {
		.windows = 10, .window_ns = 1000000, .switches = 5, .page_events = 7, .pages = 9,
		.major_faults = 1, .reclaims = 2, .reclaim_ns = 500, .births = 3, .busy = 50,
		.cpu_time = 100, .runnable = 100, .allowed_cpus = 2, .quota = 150000000,
		.quota_period = 100000000, .throttled_periods = 8, .periods = 10, .quota_path = "/job",
		.workers = 4, .syncs = 10,
	};

	for (unsigned int kind = 0; kind < CAUSE_LIMIT; kind++)
		for (unsigned int place = EFFECT_SLOW_CALL; place <= EFFECT_STARVATION; place++)
			for (unsigned int known = 0; known < 4; known++) {
				struct chain c = chain_of(&r, &effect, &cause);

				c.verdict = kind;
				effect.kind = place;
				effect.next = place == EFFECT_GAP ? effect.operation : NULL;
				cause.kind = kind && kind != CAUSE_HANDOFF ? kind : CAUSE_PEER_WORK;
				if (known & 1)
					c.evidence = all;
				if (known & 2)
					cause.process = TASKS_UNKNOWN, cause.thread = TASKS_NONE;
				complete(&c);
			}
}

static struct advice of(struct chain *c)
{
	struct advice a;

	c->verdict = cause.kind;
	advice_give(&a, &r, c);
	return a;
}

static void blame(uint32_t pid)
{
	cause.process = chain_process(&r, pid);
	cause.thread = chain_thread(&r, pid);
}

static void test_workers(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct cause two[2];
	struct advice a;

	blame(21);
	c.evidence.workers = 4;
	c.evidence.allowed_cpus = 4;
	a = of(&c);
	HAS(a.cause, "4 workers and main compete for 4 CPUs (100.0 % of the lost time)");
	/* What strangers took beside them is not the workers'. */
	two[0] = two[1] = cause;
	two[0].ns = 150000;
	two[1].ns = 50000;
	two[1].process = chain_process(&r, 40);
	two[1].thread = chain_thread(&r, 40);
	c.causes = two;
	c.cause_count = 2;
	HAS(of(&c).cause, "compete for 4 CPUs; processes outside the tree took 25.0 %, most of it hog 40 (");
	c.causes = &cause;
	c.cause_count = 1;
	HAS(a.fix, "num_workers=3 or fewer");
	LACKS(a.fix, "persistent_workers");
	c.evidence.births = 8;
	HAS(of(&c).fix, "persistent_workers=True (8 processes");
	c.evidence.allowed_cpus = 1;
	HAS(of(&c).fix, "num_workers=0");
	c.evidence.allowed_cpus = 8;
	a = of(&c);
	LACKS(a.fix, "num_workers=");
	LACKS(a.fix, "index it directly");
	HAS(a.fix, "OMP_NUM_THREADS=1");
	effect.kind = EFFECT_STARVATION;
	HAS(of(&c).fix, "where the data is a tensor in memory, index it directly, without workers; else one");
	effect.kind = EFFECT_SLOW_CALL;
	c.evidence.allowed_cpus = 0;
	a = of(&c);
	LACKS(a.cause, "CPUs");
	LACKS(a.fix, "num_workers=");
}

static void test_outside(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct advice a = of(&c);

	HAS(a.cause, "hog 40, outside the tree");
	HAS(a.fix, "taskset -cp LIST 40");
	HAS(a.proof, "kill -STOP 40");
	LACKS(a.fix, "num_workers");
	c.evidence.allowed_cpus = 1;
	HAS(of(&c).fix, "more than one CPU");
	blame(50);
	cause.processes = 2;
	a = of(&c);
	HAS(a.cause, "cc1 (2 processes), outside");
	LACKS(a.fix, " 50");
	cause.processes = 1;
	blame(60);
	HAS(of(&c).cause, "kernel threads");
}

static void test_own_work(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct advice a;

	cause.kind = CAUSE_OWN_WORK;
	cause.hops = 0;
	blame(10);
	effect.kind = EFFECT_STARVATION;
	effect.lost = effect.calls * 2000000;
	a = of(&c);
	HAS(a.cause, "main itself was busy between batches");
	HAS(a.fix, "index it directly and a batch at a time (__getitems__), not item by item; else prepare");
	HAS(a.fix, "num_workers=1");
	LACKS(a.fix, "busy already");
	c.evidence.cpu_time = 100;
	c.evidence.busy = 97;
	HAS(of(&c).fix, "(num_workers=1 or more), which may not help when the CPUs are busy already (97.0 %)");
	c.evidence.allowed_cpus = 1;
	LACKS(of(&c).fix, "num_workers");
	c.evidence.workers = 4;
	HAS(of(&c).cause, "for all its 4 workers");
	effect.lost = effect.calls * 1000;
	HAS(of(&c).fix, "index it directly, without workers; else fewer synchronises");
	HAS(of(&c).fix, "CUDA graphs");
	effect.kind = EFFECT_GAP;
	effect.operation = effect.next = chain_operation(&r, "cudaLaunchKernel");
	HAS(of(&c).fix, "garbage collection");
	effect.calls = effect.all;
	HAS(of(&c).fix, "CUDA graphs");
}

/* A call that gives the device work may only have waited for room in its queue. */
static void test_queue(void)
{
	struct operation copy = { .name = "cudaMemcpyAsync", .category = CATEGORY_COPY,
				  .flags = OPERATION_FLAG_WORK };
	struct chain c = chain_of(&r, &effect, &cause);
	struct advice a;

	cause.kind = CAUSE_OWN_WORK;
	cause.hops = 0;
	blame(10);
	effect.operation = chain_operation(&r, "cudaLaunchKernel");
	a = of(&c);
	HAS(a.cause, "main itself was busy inside cudaLaunchKernel: either the device's queue was full");
	HAS(a.fix, "only if it is not busy, CUDA graphs");
	effect.operation = &copy;
	a = of(&c);
	HAS(a.cause, "busy inside cudaMemcpyAsync: either the device's queue was full");
	HAS(a.fix, "only if it is not busy, copy from and to pinned memory");
	copy.flags |= OPERATION_FLAG_SYNC;
	a = of(&c);
	HAS(a.cause, "the library copied on the CPU");
	LACKS(a.cause, "queue");
	effect.operation = chain_operation(&r, "cudaStreamQuery");
	LACKS(of(&c).fix, "on the CPU");
}

/* Reads or writes: the file does not say which. */
static void test_disk(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct advice a;

	cause.kind = CAUSE_DISK;
	cause.hops = 0;
	blame(10);
	effect.kind = EFFECT_STARVATION;
	c.evidence.workers = 4;
	c.evidence.switches = 3;
	c.evidence.major_faults = 1;
	a = of(&c);
	HAS(a.cause, "main waited for the disk itself, and the device had nothing to do");
	LACKS(a.cause, "read");
	HAS(a.fix, "read ahead in other processes (num_workers, prefetch_factor) or, for checkpoints, write");
	c.evidence.switches = 2;
	HAS(of(&c).cause, "memory to be read from disk: 1 major page fault");
	c.evidence.major_faults = 0;
	cause.hops = 1;
	blame(21);
	a = of(&c);
	HAS(a.cause, "worker 2 waited for the disk");
	HAS(a.fix, "more workers (num_workers) hide latency");
}

/* A thread that has nothing to do is not told to do it faster. */
static void test_from_outside(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct advice a;

	cause.kind = CAUSE_NETWORK;
	cause.hops = 0;
	blame(10);
	effect.kind = EFFECT_STARVATION;
	a = of(&c);
	HAS(a.cause, "nothing had come by network (requests or data), and main waited for it itself");
	HAS(a.fix, "if it is data: fetch ahead in workers (num_workers, prefetch_factor)");
	effect.kind = EFFECT_GAP;
	cause.hops = 1;
	blame(21);
	HAS(of(&c).cause, "nothing had come by network (requests or data), and worker 2 waited");
	cause.kind = CAUSE_EXTERNAL;
	blame(40);
	a = of(&c);
	HAS(a.cause, "main waited for a process outside the tree (hog 40), or for something that did not come "
		     "before its time limit");
	cause.hops = 0;
	blame(10);
	a = of(&c);
	HAS(a.cause, "a process outside the tree, or for something that did not come before its time limit");
	LACKS(a.cause, "sleep");
}

static void test_startup(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct advice a;

	cause.kind = CAUSE_WORKER_STARTUP;
	blame(21);
	effect.kind = EFFECT_STARVATION;
	c.evidence.workers = 4;
	a = of(&c);
	HAS(a.cause, "ran until their first wait");
	HAS(a.fix, "index it directly, without workers; else persistent_workers=True");
	HAS(a.proof, "the first batch is still to be computed");
	cause.kind = CAUSE_PEER_WORK;
	HAS(of(&c).fix, "index it directly");
	c.evidence.allowed_cpus = 8;
	c.evidence.cpu_time = 100;
	HAS(of(&c).fix, "index it directly");
}

static void test_quota(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct advice a;

	cause.kind = CAUSE_CPU_QUOTA;
	cause.hops = 0;
	blame(10);
	a = of(&c);
	HAS(a.cause, "the control group had used up its CPU quota, and main stood still");
	c.evidence.quota = 150000000;
	c.evidence.quota_period = 100000000;
	c.evidence.quota_path = "/job";
	c.evidence.throttled_periods = 83;
	c.evidence.periods = 100;
	a = of(&c);
	HAS(a.cause, "/job had used up its CPU quota of 1.50 CPUs (150 ms each 100 ms)");
	HAS(a.cause, "throttled in 83.0 % of the periods");
	HAS(a.fix, "cpu.max");
}

static void test_peers(void)
{
	struct cause two[2];
	struct chain c = chain_of(&r, &effect, &cause);
	struct advice a;

	cause.kind = CAUSE_PEER_WORK;
	blame(22);
	c.evidence.workers = 4;
	c.evidence.busy = 30;
	c.evidence.cpu_time = 100;
	c.evidence.allowed_cpus = 8;
	HAS(of(&c).cause, "worker 3 at work, far more than for the others");
	two[0] = two[1] = cause;
	two[1].process = chain_process(&r, 23);
	two[0].ns = two[1].ns = 100000;
	c.causes = two;
	c.cause_count = 2;
	a = of(&c);
	HAS(a.cause, "its 4 workers at work");
	HAS(a.fix, "more workers than 4 (num_workers; it may use 8 CPUs)");
	c.evidence.allowed_cpus = 4;
	LACKS(of(&c).fix, "more workers than");
	c.causes = &cause;
	c.cause_count = 1;
	cause.process = c.process;
	cause.thread = chain_thread(&r, 11);
	HAS(of(&c).cause, "thread pt_data_pin of the same process");
}

static void test_guess_and_none(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct cause three[3];
	struct advice a;

	cause.kind = CAUSE_LOCK_GUESS;
	cause.process = c.process;
	cause.thread = chain_thread(&r, 11);
	a = of(&c);
	HAS(a.cause, "probably the interpreter lock: thread pt_data_pin ran while main waited");
	HAS(a.cause, "; a guess)");
	for (unsigned int i = 0; i < 3; i++)
		three[i] = (struct cause){ .kind = CAUSE_OWN_WORK, .process = c.process, .ns = 60000,
					   .thread = chain_thread(&r, 10) };
	three[1].kind = CAUSE_DISK;
	three[2].kind = CAUSE_SLEEP;
	c.causes = three;
	c.cause_count = 3;
	c.account.unexplained = 20000;
	c.verdict = CAUSE_NONE;
	advice_give(&a, &r, &c);
	HAS(a.cause, "no single one: waiting for the disk 30 %, asleep on a timer 30 %, own work 30 %, "
		     "unexplained 10 %; none explains half");
	HAS(a.fix, "begin with waiting for the disk (30.0 %): ");
}

/* Nothing known, or nothing of the host's: there is a fix all the same, and no sentence of another row. */
static void test_none_at_all(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct cause two[2] = { cause, cause };

	c.verdict = CAUSE_NONE;
	c.cause_count = 0;
	complete(&c);
	two[0].kind = CAUSE_DEVICE;
	two[0].ns = 90000;
	two[1].kind = CAUSE_INITIALISATION;
	two[1].ns = 90000;
	c.causes = two;
	c.cause_count = 2;
	c.harmless = true;
	complete(&c);
}

/* What else took a good part has its fix told after the verdict's. */
static void test_second(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct cause two[2] = { cause, cause };

	two[0].ns = 140000;
	two[1].ns = 60000;
	two[1].kind = CAUSE_CPU_QUOTA;
	c.causes = two;
	c.cause_count = 2;
	c.explained = 140000;
	HAS(of(&c).fix, "; for out of CPU quota (30.0 %): raise cpu.max");
	HAS(of(&c).cause, "(70.0 % of the lost time)");
	two[0].ns = 175000;
	two[1].ns = 25000;
	LACKS(of(&c).fix, "cpu.max");
}

int main(void)
{
	chain_made(&r);
	test_templates();
	test_all_kinds();
	test_workers();
	test_outside();
	test_own_work();
	test_queue();
	test_disk();
	test_from_outside();
	test_startup();
	test_quota();
	test_peers();
	test_guess_and_none();
	test_none_at_all();
	test_second();
	chain_made_release(&r);
	return check_result();
}
