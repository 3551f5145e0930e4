// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who took a feeding thread's time: one rule each. A main thread launches, synchronises and is
 * then off the CPU for most of a millisecond, twelve times; what ended that, and what the others
 * did meanwhile, is each case's own.
 */
#include <string.h>
#include "check.h"
#include "made.h"

#define US 1000ull
#define ROUNDS 12
#define ROUND (1000 * US)
#define OFF (80 * US)			/* main leaves the CPU this long after a round begins */
#define BACK (950 * US)			/* and returns */
#define END (MADE_START + ROUNDS * ROUND)

enum { MAIN = 100, SIBLING = 101, WORKER = 200, FEEDER = 250, HOG = 300, KERNEL = 400 };
enum { LAUNCH = 11, SYNC = 12, FILL = 13 };
/* x86-64 */
enum { CALL_READ = 0, CALL_POLL = 7, CALL_SENDTO = 44, CALL_FUTEX = 202, CALL_CLOCK_NANOSLEEP = 230 };
#define IN(syscall) ((syscall) + 1)

struct scene { struct made m; uint64_t at; };

static void put(struct scene *s, uint32_t cpu, struct row_switch row)
{
	row.ts += s->at;
	writer_row(s->m.writer, TABLE_switch, cpu, &row);
}

static void task(struct scene *s, uint64_t tid, uint64_t tgid, uint64_t flags, const char *name)
{
	made_task_row(&s->m, (struct row_task){ .ts = MADE_START, .event = TASK_EVENT_SNAPSHOT, .tid = tid,
		      .tgid = tgid, .start = tid, .process_start = tgid, .flags = flags }, name);
}

static void operation(struct scene *s, uint64_t id, const char *name, uint64_t category, uint64_t flags)
{
	struct row_operation row = { .id = id, .name = writer_string(s->m.writer, name, strlen(name)),
				     .layer = LAYER_RUNTIME, .category = category, .flags = flags };

	writer_row(s->m.writer, TABLE_operation, 0, &row);
}

static void begin(struct scene *s)
{
	char number[32];

	made_begin(&s->m);
	snprintf(number, sizeof(number), "%llu", END);
	made_fact(&s->m, "record.stop", number);
	made_fact(&s->m, "host.arch", "x86_64");
	operation(s, LAUNCH, "cudaLaunchThing", CATEGORY_LAUNCH, OPERATION_FLAG_WORK);
	operation(s, FILL, "cudaFillThing", CATEGORY_LAUNCH, OPERATION_FLAG_WORK);
	operation(s, SYNC, "cudaDeviceSynchronize", CATEGORY_SYNC, OPERATION_FLAG_SYNC);
	task(s, MAIN, MAIN, TASK_FLAG_TREE | TASK_FLAG_ROOT, "main");
	task(s, SIBLING, MAIN, TASK_FLAG_TREE, "sibling");
	task(s, WORKER, WORKER, TASK_FLAG_TREE, "worker");
	task(s, FEEDER, FEEDER, TASK_FLAG_TREE, "feeder");
	task(s, HOG, HOG, 0, "hog");
	task(s, KERNEL, KERNEL, TASK_FLAG_KTHREAD, "kworker");
}

/* The round's calls; sync_ns: how long the second takes. */
static void calls(struct scene *s, uint64_t sync_ns)
{
	made_call(&s->m, s->at + 10 * US, 5 * US, MAIN, LAUNCH, 0, 0);
	made_call(&s->m, s->at + 11 * US + sync_ns, sync_ns, MAIN, SYNC, 0, 0);
}

/* main leaves CPU 0 asleep and returns; back says how. */
static void sleep_until(struct scene *s, struct row_switch back, uint64_t next)
{
	put(s, 0, (struct row_switch){ .ts = OFF, .prev_tid = MAIN, .prev_state = PREV_SLEEPING, .next_tid = next });
	back.ts = BACK;
	back.prev_tid = next;
	back.next_tid = MAIN;
	back.next_off = BACK - OFF;
	put(s, 0, back);
}

/* A thread has CPU 1 from "from" to "to", asleep before; it leaves asleep too. */
static void on_cpu1(struct scene *s, uint64_t tid, uint64_t from, uint64_t to, struct row_switch came)
{
	came.ts = from;
	came.next_tid = tid;
	put(s, 1, came);
	put(s, 1, (struct row_switch){ .ts = to, .prev_tid = tid, .prev_state = PREV_SLEEPING });
}

static struct row_switch woken_by(uint64_t waker)
{
	return (struct row_switch){ .next_wait = 0, .waker_tid = waker, .waker_context = WAKER_TASK };
}

static struct row_switch woken_in(uint64_t context, uint64_t vector, uint64_t syscall)
{
	return (struct row_switch){ .waker_context = context, .waker_vector = vector,
				    .next_syscall = syscall };
}

struct expected { enum cause_kind kind; uint32_t pid, hops, percent; };

/* The chain that lost most; what is harmless is one of its own. */
static const struct chain *largest_chain(const struct report *r)
{
	const struct chains *c = &r->chains;
	const struct chain *most = NULL;

	for (size_t i = 0; i < c->count; i++)
		most = !most || c->chains[i].lost > most->lost ? &c->chains[i] : most;
	for (size_t i = 0; i < c->small_count; i++)
		most = !most || c->small[i].lost > most->lost ? &c->small[i] : most;
	return most;
}

static void check_sums(const struct chain *c)
{
	const struct chain_account *a = &c->account;
	uint64_t causes = 0;

	for (size_t i = 0; i < c->cause_count; i++)
		causes += c->causes[i].ns;
	CHECK(a->running + a->waiting + a->wake_latency + a->throttled + a->blocked + a->unrecorded +
	      a->unexplained == c->lost);
	CHECK(causes + a->unrecorded + a->unexplained == c->lost);
}

/* What is no fault of the host is in a chain of its own. */
static bool harmless(const struct expected *e)
{
	return e->kind == CAUSE_DEVICE || e->kind == CAUSE_EXTERNAL ||
	       ((e->kind == CAUSE_SLEEP || e->kind == CAUSE_NETWORK) && !e->hops);
}

/* The largest cause, or with CAUSE_NONE that most of it is unexplained. */
static void expect(const char *name, struct scene *s, struct expected e)
{
	const struct chain *c;
	struct report r;
	bool good;

	made_report(&s->m, true, &r);
	c = largest_chain(&r);
	if (!CHECK(c)) {
		printf("# %s: no chain\n", name);
		report_release(&r);
		return;
	}
	check_sums(c);
	if (e.kind == CAUSE_NONE) {
		CHECK(c->account.unexplained * 100 >= c->lost * e.percent);
		report_release(&r);
		return;
	}
	CHECK(c->harmless == harmless(&e));
	good = CHECK(c->cause_count && c->causes[0].kind == e.kind);
	good = good && CHECK(c->causes[0].hops == e.hops);
	good = good && CHECK(r.tasks.processes[c->causes[0].process].tgid == e.pid);
	good = good && CHECK(c->causes[0].ns * 100 >= c->lost * e.percent);
	if (!good && c->cause_count)
		printf("# %s: %s by %u, %u hops, %llu of %llu ns\n", name, cause_kind_name(c->causes[0].kind),
		       r.tasks.processes[c->causes[0].process].tgid, c->causes[0].hops,
		       (unsigned long long)c->causes[0].ns, (unsigned long long)c->lost);
	report_release(&r);
}

/* One way to be woken, with nobody else about. */
static void woken(const char *name, struct row_switch back, struct expected e)
{
	struct scene s;

	begin(&s);
	for (s.at = MADE_START; s.at < END; s.at += ROUND) {
		calls(&s, 5 * US);
		sleep_until(&s, back, 0);
	}
	expect(name, &s, e);
}

static void interrupts(void)
{
	struct row_switch io = woken_in(WAKER_SOFTIRQ, VECTOR_BLOCK, IN(CALL_READ));
	struct row_switch sender = woken_in(WAKER_SOFTIRQ, VECTOR_NET_RX, IN(CALL_READ));

	woken("block", io, (struct expected){ CAUSE_DISK, MAIN, 0, 85 });
	io = woken_in(WAKER_TASK, 0, IN(CALL_READ));
	io.waker_tid = KERNEL;
	io.next_flags = NEXT_FLAG_IO_WAIT;
	woken("kernel thread, in I/O wait", io, (struct expected){ CAUSE_DISK, MAIN, 0, 85 });
	woken("network", woken_in(WAKER_SOFTIRQ, VECTOR_NET_RX, IN(CALL_READ)),
	      (struct expected){ CAUSE_NETWORK, MAIN, 0, 85 });
	sender.waker_tid = WORKER;	/* interrupted while it did something else */
	sender.waker_syscall = IN(CALL_FUTEX);
	woken("network, not by who was interrupted", sender, (struct expected){ CAUSE_NETWORK, MAIN, 0, 85 });
	woken("sleep", woken_in(WAKER_HARDIRQ, VECTOR_HARD_TIMER, IN(CALL_CLOCK_NANOSLEEP)),
	      (struct expected){ CAUSE_SLEEP, MAIN, 0, 85 });
	woken("time limit of poll", woken_in(WAKER_HARDIRQ, VECTOR_HARD_TIMER, IN(CALL_POLL)),
	      (struct expected){ CAUSE_SLEEP, MAIN, 0, 85 });
	woken("lock, nobody ran", woken_in(WAKER_HARDIRQ, VECTOR_HARD_TIMER, IN(CALL_FUTEX)),
	      (struct expected){ CAUSE_NONE, 0, 0, 80 });
	woken("interrupt of no known kind", woken_in(WAKER_HARDIRQ, VECTOR_UNKNOWN, IN(CALL_READ)),
	      (struct expected){ CAUSE_NONE, 0, 0, 80 });
	woken("nobody known", woken_by(0), (struct expected){ CAUSE_NONE, 0, 0, 80 });
}

static void waiting(void)
{
	struct row_switch back = { .next_wait = BACK - OFF, .next_flags = NEXT_FLAG_PREEMPTED };

	woken("nobody on its CPU", back, (struct expected){ CAUSE_WAKE_LATENCY, 0, 0, 85 });
	back.next_flags |= NEXT_FLAG_THROTTLED;
	woken("quota", back, (struct expected){ CAUSE_CPU_QUOTA, MAIN, 0, 85 });
}

/* The hog has CPU 0 meanwhile, or only CPU 1, where main does not wait. */
static void hog(bool same_cpu, uint64_t tid, struct expected e)
{
	struct row_switch back = { .next_wait = BACK - OFF };
	struct scene s;

	begin(&s);
	for (s.at = MADE_START; s.at < END; s.at += ROUND) {
		calls(&s, 5 * US);
		sleep_until(&s, back, same_cpu ? tid : 0);
		if (!same_cpu)
			on_cpu1(&s, tid, OFF, BACK, (struct row_switch){ 0 });
	}
	expect("hog", &s, e);
}

/* It waited on CPU 1, where the hog ran, and was moved to an idle one for the last 100 us. */
static void moved(void)
{
	struct row_switch back = { .next_wait = BACK - OFF, .migrated_from = 2, .migrated_wait = 100 * US };
	struct scene s;

	begin(&s);
	for (s.at = MADE_START; s.at < END; s.at += ROUND) {
		calls(&s, 5 * US);
		sleep_until(&s, back, 0);
		on_cpu1(&s, HOG, OFF, BACK, (struct row_switch){ 0 });
	}
	expect("moved", &s, (struct expected){ CAUSE_CPU_CONTENTION, HOG, 1, 75 });
}

/* main waits for the worker, which does what "came" says until from, and then runs to the end. */
static void peer(const char *name, uint64_t tid, uint64_t from, struct row_switch came, struct row_switch back,
		 struct expected e)
{
	struct scene s;

	begin(&s);
	for (s.at = MADE_START; s.at < END; s.at += ROUND) {
		calls(&s, 5 * US);
		sleep_until(&s, back, 0);
		on_cpu1(&s, tid, from, BACK, came);
	}
	expect(name, &s, e);
}

static void peers(void)
{
	struct row_switch send = woken_in(WAKER_SOFTIRQ, VECTOR_NET_RX, IN(CALL_READ));
	struct row_switch late = { .next_off = 850 * US };

	peer("worker at work", WORKER, OFF, (struct row_switch){ .next_off = 100 * US }, woken_by(WORKER),
	     (struct expected){ CAUSE_PEER_WORK, WORKER, 1, 85 });
	peer("outside at work", HOG, OFF, (struct row_switch){ .next_off = 100 * US }, woken_by(HOG),
	     (struct expected){ CAUSE_PEER_WORK, HOG, 1, 85 });
	send.waker_tid = WORKER;
	send.waker_syscall = IN(CALL_SENDTO);
	peer("loopback", WORKER, OFF, (struct row_switch){ .next_off = 100 * US }, send,
	     (struct expected){ CAUSE_PEER_WORK, WORKER, 1, 85 });
	late.waker_context = WAKER_HARDIRQ;
	late.waker_vector = VECTOR_HARD_TIMER;
	late.next_syscall = IN(CALL_CLOCK_NANOSLEEP);
	peer("worker asleep", WORKER, OFF + 800 * US, late, woken_by(WORKER),
	     (struct expected){ CAUSE_SLEEP, WORKER, 1, 80 });
	peer("outsider asleep", HOG, OFF + 800 * US, late, woken_by(HOG),
	     (struct expected){ CAUSE_EXTERNAL, HOG, 1, 80 });
	late.waker_context = WAKER_SOFTIRQ;
	late.waker_vector = VECTOR_NET_RX;
	late.next_syscall = IN(CALL_POLL);
	peer("outsider waits for the network", HOG, OFF + 800 * US, late, woken_by(HOG),
	     (struct expected){ CAUSE_EXTERNAL, HOG, 1, 80 });
	late = (struct row_switch){ .next_off = 850 * US, .next_wait = 850 * US };
	peer("worker waits, nobody ran", WORKER, OFF + 800 * US, late, woken_by(WORKER),
	     (struct expected){ CAUSE_WAKE_LATENCY, 0, 1, 80 });
	late.next_flags = NEXT_FLAG_THROTTLED;
	peer("worker throttled", WORKER, OFF + 800 * US, late, woken_by(WORKER),
	     (struct expected){ CAUSE_CPU_QUOTA, WORKER, 1, 80 });
}

/* main <- feeder <- worker <- CPU 1, which the hog had. */
static void three_hops(void)
{
	struct row_switch feeder = woken_by(WORKER), back = woken_by(FEEDER);
	struct scene s;

	begin(&s);
	feeder.next_off = 900 * US;
	for (s.at = MADE_START; s.at < END; s.at += ROUND) {
		calls(&s, 5 * US);
		put(&s, 0, (struct row_switch){ .ts = OFF, .prev_tid = MAIN, .prev_state = PREV_SLEEPING });
		put(&s, 1, (struct row_switch){ .ts = OFF, .next_tid = HOG, .next_off = 5 * US });
		put(&s, 1, (struct row_switch){ .ts = BACK - 40 * US, .prev_tid = HOG, .next_tid = WORKER,
						.prev_state = PREV_PREEMPTED, .next_off = BACK - 40 * US - OFF,
						.next_wait = BACK - 40 * US - OFF });
		put(&s, 1, (struct row_switch){ .ts = BACK - 20 * US, .prev_tid = WORKER, .prev_state = PREV_SLEEPING });
		feeder.ts = BACK - 20 * US;
		feeder.next_tid = FEEDER;
		put(&s, 0, feeder);
		back.ts = BACK;
		back.prev_tid = FEEDER;
		back.prev_state = PREV_SLEEPING;
		back.next_tid = MAIN;
		back.next_off = BACK - OFF;
		put(&s, 0, back);
	}
	expect("three hops", &s, (struct expected){ CAUSE_CPU_CONTENTION, HOG, 3, 80 });
}

/* A timed wait that ran out while another thread of the process ran. */
static void lock_guess(void)
{
	struct row_switch back = woken_in(WAKER_HARDIRQ, VECTOR_HARD_TIMER, IN(CALL_FUTEX));

	peer("lock", SIBLING, OFF, (struct row_switch){ 0 }, back,
	     (struct expected){ CAUSE_LOCK_GUESS, MAIN, 1, 85 });
}

/* Its time limit runs out half-way; what ended the waiting came later. */
static void ticking(struct row_switch last, struct expected e)
{
	struct row_switch tick = woken_in(WAKER_HARDIRQ, VECTOR_HARD_TIMER, IN(CALL_POLL));
	struct scene s;

	begin(&s);
	tick.ts = OFF + 400 * US;
	tick.next_tid = MAIN;
	tick.next_off = 400 * US;
	last.ts = BACK;
	last.next_tid = MAIN;
	last.next_off = BACK - OFF - 410 * US;
	for (s.at = MADE_START; s.at < END; s.at += ROUND) {
		calls(&s, 5 * US);
		put(&s, 0, (struct row_switch){ .ts = OFF, .prev_tid = MAIN, .prev_state = PREV_SLEEPING });
		put(&s, 0, tick);
		put(&s, 0, (struct row_switch){ .ts = OFF + 410 * US, .prev_tid = MAIN,
						.prev_state = PREV_SLEEPING });
		put(&s, 0, last);
		on_cpu1(&s, WORKER, OFF, BACK, (struct row_switch){ .next_off = 100 * US });
	}
	expect("ticking", &s, e);
}

/* main is busy all the time; at the end of each round it has made a worker. */
static void workers_made(void)
{
	struct scene s;
	uint64_t pid = 500;

	begin(&s);
	for (s.at = MADE_START; s.at < END; s.at += ROUND, pid++) {
		calls(&s, 5 * US);
		made_task_row(&s.m, (struct row_task){
			.ts = s.at + BACK, .event = TASK_EVENT_FORK, .tid = pid, .tgid = pid, .ppid = MAIN,
			.other_tid = MAIN, .start = pid, .process_start = pid, .flags = TASK_FLAG_TREE }, "worker");
	}
	s.at = MADE_START;
	put(&s, 1, (struct row_switch){ .ts = 0, .prev_tid = 0, .next_tid = HOG });
	made_state(&s.m, END, MAIN, 0, THREAD_RUNNING, MADE_START, 0);
	expect("workers made", &s, (struct expected){ CAUSE_OWN_WORK, MAIN, 0, 85 });
}

/* A row that is there several times, as in a damaged file, counts once. */
static void reclaim(uint64_t duration, unsigned int times, enum cause_kind kind, uint32_t percent)
{
	struct scene s;

	begin(&s);
	for (s.at = MADE_START; s.at < END; s.at += ROUND) {
		struct row_reclaim row = { .ts = s.at + BACK, .duration = duration, .tid = MAIN,
					   .kind = RECLAIM_CGROUP, .pages = 32 };

		calls(&s, 5 * US);
		for (unsigned int i = 0; i < times; i++)
			writer_row(s.m.writer, TABLE_reclaim, 0, &row);
	}
	/* A row, so that there are switches; main has CPU 0 all the time. */
	put(&s, 1, (struct row_switch){ .ts = 0, .prev_tid = 0, .next_tid = HOG });
	made_state(&s.m, END, MAIN, 0, THREAD_RUNNING, MADE_START, 0);
	expect("reclaim", &s, (struct expected){ kind, MAIN, 0, percent });
}

/*
 * Every fourth synchronise is long: 600 us. Off the CPU from 100 us on for "off", then on it until
 * the return. Only a stretch that the return follows at once can have cost something.
 */
static void synchronise(const char *name, uint64_t off, uint64_t waiter, struct expected e)
{
	struct scene s;

	begin(&s);
	for (uint64_t i = 0; i < 4 * ROUNDS; i++) {
		uint64_t sync = i % 4 == 3 ? 600 * US : 20 * US;

		s.at = MADE_START + i * ROUND;
		made_call(&s.m, s.at + 10 * US, 5 * US, MAIN, LAUNCH, 0, 0);
		made_call(&s.m, s.at + 11 * US + sync, sync, MAIN, SYNC, 0, 0);
		made_call(&s.m, s.at + ROUND - US, ROUND - sync - 13 * US, MAIN, FILL, 0, 0);
		if (sync < 100 * US)
			continue;
		put(&s, 0, (struct row_switch){ .ts = 111 * US, .prev_tid = MAIN, .next_tid = waiter,
						.prev_state = PREV_PREEMPTED });
		put(&s, 0, (struct row_switch){ .ts = 111 * US + off, .prev_tid = waiter, .next_tid = MAIN,
						.prev_state = PREV_PREEMPTED, .next_off = off, .next_wait = off,
						.next_flags = NEXT_FLAG_PREEMPTED });
	}
	made_state(&s.m, s.at, MAIN, 0, THREAD_RUNNING, s.at - 1, 0);
	expect(name, &s, e);
}

/* A thread that reclaims memory, or reads a page from disk, does not wait for the device. */
static void host_part(bool disk)
{
	struct row_switch back = woken_in(WAKER_SOFTIRQ, VECTOR_BLOCK, 0);
	struct scene s;

	begin(&s);
	for (uint64_t i = 0; i < 4 * ROUNDS; i++) {
		uint64_t sync = i % 4 == 3 ? 600 * US : 20 * US;
		struct row_reclaim row = { .tid = MAIN, .kind = RECLAIM_GLOBAL, .duration = 500 * US };

		s.at = MADE_START + i * ROUND;
		row.ts = s.at + 550 * US;
		made_call(&s.m, s.at + 10 * US, 5 * US, MAIN, LAUNCH, 0, 0);
		made_call(&s.m, s.at + 11 * US + sync, sync, MAIN, SYNC, 0, 0);
		made_call(&s.m, s.at + ROUND - US, ROUND - sync - 13 * US, MAIN, FILL, 0, 0);
		if (sync < 100 * US)
			continue;
		if (!disk) {
			writer_row(s.m.writer, TABLE_reclaim, 0, &row);
			continue;
		}
		back.ts = 400 * US;
		back.next_tid = MAIN;
		back.next_off = 350 * US;
		put(&s, 0, (struct row_switch){ .ts = 50 * US, .prev_tid = MAIN, .prev_state = PREV_UNINTERRUPTIBLE });
		put(&s, 0, back);
	}
	put(&s, 1, (struct row_switch){ .ts = ROUND - 1, .prev_tid = 0, .next_tid = HOG });
	made_state(&s.m, s.at + ROUND - 1, MAIN, 0, THREAD_RUNNING, MADE_START, 0);
	expect(disk ? "disk in a copy" : "reclaim in a copy", &s,
	       (struct expected){ disk ? CAUSE_DISK : CAUSE_RECLAIM, MAIN, 0, 95 });
}

int main(void)
{
	interrupts();
	waiting();
	hog(true, HOG, (struct expected){ CAUSE_CPU_CONTENTION, HOG, 1, 85 });
	hog(true, WORKER, (struct expected){ CAUSE_CPU_CONTENTION, WORKER, 1, 85 });
	hog(false, HOG, (struct expected){ CAUSE_WAKE_LATENCY, 0, 0, 85 });
	moved();
	peers();
	three_hops();
	lock_guess();
	reclaim(BACK - OFF, 1, CAUSE_RECLAIM, 85);
	reclaim((BACK - OFF) / 3, 3, CAUSE_OWN_WORK, 60);
	ticking(woken_by(WORKER), (struct expected){ CAUSE_PEER_WORK, WORKER, 1, 85 });
	ticking(woken_in(WAKER_SOFTIRQ, VECTOR_NET_RX, IN(CALL_POLL)), (struct expected){ CAUSE_NETWORK, MAIN, 0, 85 });
	workers_made();
	host_part(true);
	host_part(false);
	synchronise("the device was busy", 200 * US, HOG, (struct expected){ CAUSE_DEVICE, MAIN, 0, 95 });
	synchronise("the last stretch", 480 * US, HOG, (struct expected){ CAUSE_CPU_CONTENTION, HOG, 1, 75 });
	return check_result();
}
