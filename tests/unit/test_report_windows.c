// SPDX-License-Identifier: BSD-2-Clause
/*
 * Slow calls, gaps and idle stretches. Random calls of several threads and streams are compared
 * with what follows from the definitions by looking at each pair of calls; spans of a few rows
 * must give the same windows as one span. Then each rule by hand.
 */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "windows_compare.h"
#include "report/windows_private.h"

#define S MADE_START

/* --- random calls */

static uint64_t random_state;

static uint64_t some(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % below;
}

/* In steps, so that several things happen at once now and then. */
static uint64_t some_time(uint64_t step)
{
	return step * (1 + some(6)) * (some(12) ? 1 : 60);
}

static uint64_t some_stream(uint32_t op)
{
	static const uint64_t streams[] = { 0, 0, 0, 1, 2, 0x7f00, 0x7f00, 0x7f80 };

	if (op == LAUNCH || op == COPY_ASYNC || op == STREAM_SYNC)
		return some(30) ? streams[some(8)] : NO_STREAM;
	return NO_STREAM;
}

static struct call some_call(uint32_t thread, uint64_t start, uint64_t step, bool one_stream)
{
	static const uint32_t ops[] = { LAUNCH, LAUNCH, LAUNCH, COPY_ASYNC, STREAM_SYNC,
					STREAM_SYNC, DEVICE_SYNC, COPY, MALLOC, EVENT_SYNC };
	uint32_t op = some(60) ? ops[some(10)] : PREFETCH;
	bool copies = op == COPY || op == COPY_ASYNC;
	uint64_t one = op == COPY_ASYNC ? 0 : NO_STREAM;

	return (struct call){
		.thread = thread, .op = op, .start = start, .end = start + some_time(step),
		.stream = one_stream && some(20) ? one : some_stream(op),
		.size = copies || op == MALLOC ? 1 + some(4) : 0,
		.kind = copies && some(9) ? 1 + some(2) : 7, .probe = some(9) ? 1 : 2,
		.code = some(25) ? 0 : 2, .flags = some(90) ? 0 : CALL_FLAG_READ_FAILED };
}

/*
 * Some calls have one inside, which counts for nothing; some never returned. The first idlers
 * threads give no work, and all but the first of them synchronise.
 */
static void fill(size_t n, uint32_t threads, uint64_t step, bool one_stream, uint32_t idlers)
{
	uint64_t now[MODEL_THREADS];

	for (uint32_t i = 0; i < threads; i++)
		now[i] = S + 5000 + 100 * i;
	for (call_count = 0; call_count + 1 < n;) {
		uint32_t thread = (uint32_t)some(threads);
		struct call c = some_call(thread, now[thread], step, one_stream);

		if (thread < idlers)
			c.op = !thread || some(2) ? MALLOC : DEVICE_SYNC;
		now[thread] = c.end + some_time(step) - (some(8) ? 0 : step);
		if (!some(40))
			c.flags |= some(2) ? CALL_FLAG_OPEN : CALL_FLAG_ABANDONED;
		calls[call_count++] = c;
		if (some(5) || c.flags)
			continue;
		calls[call_count] = c;
		calls[call_count].depth = 1;
		calls[call_count].end -= (c.end - c.start) / 3;
		calls[call_count++].start += (c.end - c.start) / 3;
	}
}

/* What the random calls led to, over all of them: what is not there is not tested. */
struct variety { uint64_t kinds[4], initial, slow, fed, early, dropped; };

static void add_variety(struct variety *v)
{
	for (size_t i = 0; i < member_count; i++) {
		v->kinds[members[i].kind]++;
		bool slow = members[i].flags & WINDOW_SLOW;

		if (members[i].kind == EFFECT_STARVATION) {
			v->initial += members[i].initial;
			continue;
		}
		v->slow += slow;
		v->fed += slow && members[i].fed;
		v->early += slow && (members[i].flags & WINDOW_INITIAL);
	}
	for (uint32_t pid = 100; pid <= 200; pid += 100)
		v->dropped += model_feeding(pid).dropped;
}

static void test_random(void)
{
	static const uint64_t steps[] = { 700, 100, 1000, 300 };
	struct variety v = { 0 };

	for (uint64_t seed = 1; seed <= 30; seed++) {
		uint32_t threads = 1 + (uint32_t)(seed % MODEL_THREADS);
		struct report r;

		random_state = seed;
		fill(seed % 6 ? 500 : 1500, threads, steps[seed % 4], seed % 2,
		     seed > 24 ? 1 + (uint32_t)some(2) : 0);
		model_report(&r);
		model_windows();
		add_variety(&v);
		compare_with_spans(&r, WINDOWS_ROWS, 0, 1);
		compare_with_spans(&r, 400, MODEL_CALLS, 4);
		compare_with_spans(&r, 12, call_count / 2, 50);
		report_release(&r);
	}
	CHECK(v.kinds[EFFECT_SLOW_CALL] > 5000 && v.kinds[EFFECT_GAP] > 5000);
	CHECK(v.kinds[EFFECT_STARVATION] > 200 + v.initial && v.initial > 50 && v.slow > 200);
	CHECK(v.fed > 20 && v.early > 100 && v.dropped > 30);
}

/* --- each rule by hand: every one of them is held against the model, too */

/* Twenty launches of 100 ns, slow ones among them, by thread 3: no first calls there. */
static void launches(unsigned int n, unsigned int slow_ones, uint64_t slow_ns)
{
	uint64_t now = 1000;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t ns = i < slow_ones ? slow_ns : 100;

		add(3, LAUNCH, now, now + ns);
		now += ns + 50;
	}
}

static const struct window_group *call_group(void)
{
	for (size_t i = 0; i < hand.group_count; i++)
		if (hand.groups[i].kind == EFFECT_SLOW_CALL)
			return &hand.groups[i];
	return NULL;
}

static void test_slow(void)
{
	static const struct { unsigned int n, slow; uint64_t ns; unsigned int found; } cases[] = {
		{ 20, 3, 20000, 3 },
		{ 20, 2, 20000, 0 },		/* too few slow ones */
		{ 9, 3, 20000, 0 },		/* too few calls */
		{ 10, 3, 20000, 3 },
		{ 20, 3, 9000, 0 },		/* not 10 us longer */
		{ 20, 4, 10300, 4 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct window_group *g;
		uint64_t lost = cases[i].found * (cases[i].ns - 100);

		reset();
		launches(cases[i].n, cases[i].slow, cases[i].ns);
		finish();
		g = call_group();
		CHECK(g && g->count == cases[i].n && g->slow == cases[i].found && g->p50 == 100);
		CHECK(g && g->lost <= lost + lost / 80 && g->lost + lost / 80 >= lost);
		CHECK(g && g->max == cases[i].ns && !g->synchronising);
		release();
	}
}

/* 3 x p50 counts, not 10 us alone; bytes and kinds of copy are groups of their own. */
static void test_groups(void)
{
	uint64_t now = 1000;

	reset();
	for (unsigned int i = 0; i < 36; i++) {
		uint64_t ns = (i % 2 ? 100000 : 20000) + (i < 8 ? 40000 : 0);

		add(3, COPY, now, now + ns)->size = i % 2 ? 1 << 20 : 1 << 10;
		at->kind = 1;
		now += ns + 50;
	}
	finish();
	for (size_t i = 0; i < hand.group_count; i++) {
		const struct window_group *g = &hand.groups[i];

		if (g->kind != EFFECT_SLOW_CALL)
			continue;
		CHECK(g->count == 18 && g->synchronising && g->copy_kind == 1);
		CHECK(g->size_class == (g->p50 > 50000 ? 21 : 11));
		CHECK(g->slow == (g->p50 > 50000 ? 0 : 0));
	}
	release();
}

static void test_gaps(void)
{
	const struct window *w;
	uint64_t now = 1000;

	reset();
	for (unsigned int i = 0; i < 16; i++) {
		add(3, LAUNCH, now, now + 100)->code = i == 5 ? 2 : 0;
		add(3, MALLOC, now + 300, now + 400);
		now += i % 5 == 4 ? 20000 : 500;
	}
	finish();
	/* After the fifth, tenth and fifteenth pair. */
	w = window_at(EFFECT_GAP, 3, 1000 + 4 * 500 + 400);
	CHECK(w && (w->flags & WINDOW_SLOW) && w->end - w->start == 19600);
	CHECK(w && op_id(hand.groups[w->group].operation) == MALLOC);
	CHECK(w && op_id(hand.groups[w->group].next) == LAUNCH);
	CHECK(w && hand.groups[w->group].count == 15 && hand.groups[w->group].slow == 3);
	CHECK(call_group()->count == 15 || call_group()->count == 16);
	CHECK(idles_found() == 0 && feeding_of(200)->syncs == 0);
	CHECK(feeding_of(200)->threads == 1 && !feeding_of(100));
	CHECK(feeding_of(200)->span == calls[call_count - 1].end - calls[0].start);
	release();
}

/* From the return of a device synchronise to the next work; calls in between are part of it. */
static void test_idle(void)
{
	reset();
	add(3, LAUNCH, 1000, 1100);
	add(3, DEVICE_SYNC, 1200, 5000);
	add(3, MALLOC, 5500, 5600);
	add(3, LAUNCH, 6000, 6100)->code = 2;		/* gave no work */
	add(3, LAUNCH, 7000, 7100);
	add(3, MALLOC, 7500, 7600);
	finish();
	CHECK(idles_found() == 1 && idle_is(3, 5000, 7000));
	CHECK(!window_at(EFFECT_GAP, 3, 5000) && !window_at(EFFECT_SLOW_CALL, 3, 5500));
	CHECK(!window_at(EFFECT_GAP, 3, 6100) && window_at(EFFECT_GAP, 3, 7100));
	CHECK(feeding_of(200)->syncs == 1);
	CHECK(window_at(EFFECT_STARVATION, 3, 5000)->flags & WINDOW_INITIAL);
	release();
}

/* Without work to come it lasts until the thread's last call; a second proof proves nothing new. */
static void test_idle_at_end(void)
{
	reset();
	add(3, DEVICE_SYNC, 1200, 5000);
	add(3, DEVICE_SYNC, 5500, 5600);
	add(3, DEVICE_SYNC, 5800, 6000)->code = 2;
	finish();
	CHECK(idles_found() == 1 && idle_is(3, 5000, 6000) && feeding_of(200)->syncs == 1);
	release();
	/* Another thread's work after the last call changes nothing. */
	add(4, LAUNCH, 9000, 9100);
	finish();
	CHECK(idles_found() == 1 && idle_is(3, 5000, 6000));
	release();
	/* But in it: the rest of that call is its own time. */
	reset();
	add(3, DEVICE_SYNC, 1200, 5000);
	add(4, LAUNCH, 8500, 8600);
	add(3, MALLOC, 8000, 9000);
	finish();
	CHECK(idles_found() == 1 && idle_is(3, 5000, 8500));
	release();
	reset();
	add(3, LAUNCH, 1000, 1100);
	add(3, DEVICE_SYNC, 1200, 5000);
	finish();
	CHECK(idles_found() == 0 && feeding_of(200)->syncs == 1);
	release();
}

static void test_streams(void)
{
	static const struct { uint64_t work, other, sync; uint32_t probe; bool idle; } cases[] = {
		{ 0x7f00, 0x7f00, 0x7f00, 1, true },
		{ 0x7f00, 0x7f80, 0x7f00, 1, false },
		{ 0x7f00, 0x7f00, 0x7f80, 1, false },
		{ 0, 1, NO_STREAM, 1, true },		/* the default stream's three names */
		{ 0, 2, 0, 1, false },
		{ 2, 2, 2, 1, true },
		{ 0, 0, 0, 2, true },			/* of the thread, by the variant */
		{ 2, 2, 0, 2, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		reset();
		add(3, LAUNCH, 1000, 1100)->stream = cases[i].work;
		at->probe = cases[i].probe;
		add(3, LAUNCH, 1200, 1300)->stream = cases[i].other;
		at->probe = cases[i].probe;
		add(3, STREAM_SYNC, 2000, 3000)->stream = cases[i].sync;
		at->probe = cases[i].probe;
		add(3, LAUNCH, 4000, 4100);
		finish();
		CHECK(idles_found() == cases[i].idle && feeding_of(200)->syncs == cases[i].idle);
		release();
	}
}

/* What was given before an idle point no longer matters after it. */
static void test_streams_after_idle(void)
{
	reset();
	add(3, LAUNCH, 1000, 1100)->stream = 0x7f00;
	add(3, LAUNCH, 1200, 1300)->stream = 0x7f80;
	add(3, STREAM_SYNC, 1400, 1500)->stream = 0x7f00;
	add(3, DEVICE_SYNC, 2000, 3000);
	add(3, LAUNCH, 4000, 4100)->stream = 0x7f80;
	add(3, STREAM_SYNC, 4200, 5000)->stream = 0x7f80;
	add(3, PREFETCH, 6000, 6100);			/* on what stream is not known */
	add(3, STREAM_SYNC, 6200, 7000)->stream = 0;
	add(3, LAUNCH, 8000, 8100);
	finish();
	CHECK(idles_found() == 2 && idle_is(3, 3000, 4000) && idle_is(3, 5000, 6000));
	release();
}

/* A synchronous copy proves it when it is to the host and all was on the default stream. */
static void test_copies(void)
{
	static const struct { uint64_t kind, stream; int64_t code; bool idle; } cases[] = {
		{ 2, NO_STREAM, 0, true }, { 1, NO_STREAM, 0, false }, { 7, NO_STREAM, 0, false },
		{ 4, NO_STREAM, 0, false }, { 2, 0x7f00, 0, false }, { 2, NO_STREAM, 2, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		reset();
		add(3, LAUNCH, 1000, 1100)->stream = cases[i].stream;
		add(3, COPY, 2000, 3000)->kind = cases[i].kind;
		at->code = cases[i].code;
		add(3, LAUNCH, 4000, 4100);
		finish();
		CHECK(idles_found() == cases[i].idle);
		release();
	}
}

/* Another thread's work: in a synchronise it proves nothing, after it, it ends the idle stretch. */
static void test_threads(void)
{
	static const struct {
		uint64_t start, end;
		bool idle, first_gap, call, second_gap;
	} cases[] = {
		{ 1000, 1300, false, true, true, true },	/* in it at its start */
		{ 1500, 1600, false, true, true, true },
		{ 4900, 9000, false, true, true, true },
		{ 5000, 5500, false, false, true, true },	/* idle, but for no time */
		{ 5300, 5400, true, false, true, true },
		{ 5700, 5800, true, false, false, true },
		{ 6500, 6600, true, false, false, false },
		{ 1000, 1200, true, false, false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		reset();
		add(4, LAUNCH, cases[i].start, cases[i].end);
		add(3, DEVICE_SYNC, 1200, 5000);
		add(3, MALLOC, 5500, 6000);
		add(3, MALLOC, 7000, 7500);
		add(3, LAUNCH, 8000, 8100);
		finish();
		CHECK(idles_found() == cases[i].idle);
		if (cases[i].idle)
			CHECK(idle_is(3, 5000, cases[i].start > 5000 ? cases[i].start : 8000));
		CHECK(!window_at(EFFECT_GAP, 3, 5000) == !cases[i].first_gap);
		CHECK(!window_at(EFFECT_SLOW_CALL, 3, 5500) == !cases[i].call);
		CHECK(!window_at(EFFECT_GAP, 3, 6000) == !cases[i].second_gap);
		release();
	}
}

/* Recognised in a span in which its own thread makes no call, and going on into later ones. */
static void test_idle_over_spans(void)
{
	reset();
	add(3, LAUNCH, 1000, 1100);
	add(3, DEVICE_SYNC, 1200, 5000);
	for (uint64_t i = 0; i < 10; i++)
		add(4, MALLOC, 5200 + 200 * i, 5300 + 200 * i);
	add(3, MALLOC, 8000, 8100);
	add(3, MALLOC, 8200, 8300);
	add(3, LAUNCH, 9000, 9100);
	add(3, MALLOC, 9200, 9300);
	add(4, LAUNCH, 9500, 9600);
	finish();
	CHECK(idles_found() == 1 && idle_is(3, 5000, 9000));
	CHECK(window_at(EFFECT_GAP, 4, 5300) && !window_at(EFFECT_GAP, 3, 8100));
	release();
}

/* Of two that return at once the one that began first proves it. */
static void test_tie(void)
{
	for (uint32_t first = 3; first <= 4; first++) {
		reset();
		add(first, DEVICE_SYNC, 1000, 5000);
		add(7 - first, DEVICE_SYNC, 1100, 5000);
		add(3, LAUNCH, 6000, 6100);
		add(4, MALLOC, 7000, 7100);
		add(4, LAUNCH, 7200, 7300);
		finish();
		CHECK(idles_found() == 1 && idle_is(first, 5000, 6000));
		CHECK(window_at(EFFECT_GAP, 7 - first, 5000));
		release();
	}
}

/* Threads of one process share its idle points, those of another do not. */
static void test_processes(void)
{
	reset();
	add(0, LAUNCH, 1000, 1100);
	add(0, DEVICE_SYNC, 1200, 5000);
	add(1, DEVICE_SYNC, 1300, 4000);
	add(3, LAUNCH, 2000, 2100);
	add(1, MALLOC, 4500, 4600);
	add(0, LAUNCH, 6000, 6100);
	add(1, MALLOC, 6500, 6600);
	finish();
	CHECK(idles_found() == 1 && idle_is(1, 4000, 6000));
	CHECK(feeding_of(100)->syncs == 1 && feeding_of(100)->threads == 2);
	CHECK(feeding_of(100)->span == 6100 - 1000 + 6600 - 1300);
	CHECK(feeding_of(200)->syncs == 0 && feeding_of(200)->span == 100);
	release();
}

/* The first call of an operation is in no group where the start of the process is recorded. */
static void test_first(void)
{
	reset();
	for (uint64_t i = 0; i < 12; i++) {
		add(0, MALLOC, 1000 + 1000 * i, 1500 + 1000 * i);
		add(3, MALLOC, 1000 + 1000 * i, 1500 + 1000 * i);
	}
	finish();
	CHECK(!window_at(EFFECT_SLOW_CALL, 0, 1000) && window_at(EFFECT_SLOW_CALL, 0, 2000));
	CHECK(window_at(EFFECT_SLOW_CALL, 3, 1000) && window_at(EFFECT_GAP, 0, 1500));
	release();
}

/*
 * Idle before ten work-giving calls, or one in a hundred of all, have begun, and for long: the
 * first fifteen of forty stretches are.
 */
static void test_initial(void)
{
	for (unsigned int more = 0; more < 2; more++) {
		uint64_t now = 1000, late = 0;

		reset();
		for (unsigned int i = 0; i < 40; i++) {
			add(3, LAUNCH, now, now + 10);
			add(3, DEVICE_SYNC, now + 20, now + 30);
			now += i < 15 ? 2000 : 100;
		}
		for (unsigned int i = 0; more && i < 1960; i++, now += 20)
			add(3, LAUNCH, now, now + 10);
		finish();
		for (size_t i = 0; i < found_count; i++)
			if (hand.groups[found[i].group].kind == EFFECT_STARVATION)
				late += !(found[i].flags & WINDOW_INITIAL);
		/* The last of the short run ends with the thread's last call: no time. */
		CHECK(late == (more ? 40 - 15 : 39 - 9));
		release();
	}
}

/* Gaps in which another thread launches are long, and are so whenever it does. */
static void test_fed(void)
{
	for (unsigned int other = 0; other < 2; other++) {
		const struct window *w;
		uint64_t now = 1000;
		size_t fed = 0;

		reset();
		for (unsigned int i = 0; i < 200; i++) {
			add(3, LAUNCH, now, now + 5000);
			now += 15000;
			if (i % 10 != 9)
				continue;
			for (uint64_t k = 0; other && k < 40; k++)
				add(4, LAUNCH, now + 100 * k, now + 100 * k + 50);
			now += 50000;
		}
		finish();
		for (size_t i = 0; i < hand.group_count; i++)
			fed += hand.groups[i].fed && hand.groups[i].thread == feeder(3);
		CHECK(fed == other);
		/* The first is before 10 calls of two threads, and alone not 10 times as long. */
		w = window_at(EFFECT_GAP, 3, 1000 + 9 * 15000 + 5000);
		CHECK(w && (w->flags & (WINDOW_SLOW | WINDOW_NORMAL)) ==
			   (other ? WINDOW_NORMAL : WINDOW_SLOW));
		CHECK(w && hand.groups[w->group].fed == other);
		CHECK(w && hand.groups[w->group].count == (other ? 19 : 199));
		CHECK(w && op_id(hand.groups[w->group].next) == LAUNCH);
		release();
	}
}

/*
 * Some are longer than the others in which another thread launches; the first one so early that
 * it is the beginning, for all the work of the other thread in it.
 */
static void test_fed_slow(void)
{
	const struct window *w;
	uint64_t now = 1000;
	size_t slow = 0;

	reset();
	for (unsigned int i = 0; i < 80; i++) {
		add(3, LAUNCH, now, now + 5000);
		now += 15000;
		if (i % 2)
			add(4, LAUNCH, now - 6000, now - 3000);
		for (uint64_t k = 0; i == 1 && k < 12; k++)
			add(4, LAUNCH, now + 100 * k, now + 100 * k + 50);
		now += i % 20 == 1 ? 900000 : i % 2 ? 50000 : 0;
	}
	finish();
	for (size_t i = 0; i < hand.group_count; i++)
		if (hand.groups[i].fed && hand.groups[i].thread == feeder(3))
			slow += hand.groups[i].slow;
	CHECK(slow == 4);
	w = window_at(EFFECT_GAP, 3, 1000 + 15000 + 5000);
	CHECK(w && (w->flags & WINDOW_SLOW) && (w->flags & WINDOW_INITIAL));
	release();
}

/* A synchronise that waits in an idle stretch shows that there was none, and may begin one. */
static void test_waited(void)
{
	static const struct {
		uint32_t op, thread;
		uint64_t stream, ns;
		unsigned int idles;
		uint64_t from, to;
	} cases[] = {
		{ EVENT_SYNC, 3, NO_STREAM, 50001, 0, 0, 0 },
		{ EVENT_SYNC, 3, NO_STREAM, 50000, 1, 5000, 90000 },
		{ EVENT_SYNC, 4, NO_STREAM, 50001, 1, 5000, 90000 },
		{ MALLOC, 3, NO_STREAM, 50001, 1, 5000, 90000 },
		{ DEVICE_SYNC, 3, NO_STREAM, 60000, 1, 66000, 90000 },
		{ STREAM_SYNC, 3, 0x7f00, 60000, 1, 66000, 90000 },
		{ STREAM_SYNC, 3, 0x7f80, 60000, 0, 0, 0 },
		{ COPY, 3, NO_STREAM, 60000, 1, 5000, 6000 },	/* takes its own time */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct feeding *f;

		reset();
		add(3, LAUNCH, 1000, 1100)->stream = 0x7f00;
		add(3, DEVICE_SYNC, 1200, 5000);
		add(3, MALLOC, 5500, 5600);
		add(cases[i].thread, cases[i].op, 6000, 6000 + cases[i].ns);
		at->stream = cases[i].stream;
		add(3, LAUNCH, 90000, 90100);
		add(4, LAUNCH, 95000, 95100);
		finish();
		CHECK(idles_found() == cases[i].idles);
		if (cases[i].idles)
			CHECK(idle_is(3, cases[i].from, cases[i].to));
		/* What began in it is in no group in either case; what waited is. */
		CHECK(!window_at(EFFECT_SLOW_CALL, 3, 5500) && !window_at(EFFECT_GAP, 3, 5600));
		if (cases[i].op != DEVICE_SYNC)		/* of two, the longer one is neither */
			CHECK(!window_at(EFFECT_SLOW_CALL, 3, 6000) ==
			      (cases[i].from == 5000 && cases[i].op != COPY));
		f = feeding_of(200);
		CHECK(f->syncs == cases[i].idles && f->provable == (cases[i].idles > 0));
		release();
	}
}

/* Slow before ten calls that give work and before the first idle point: the beginning. */
static void test_initial_calls(void)
{
	static const struct { unsigned int slow; uint64_t ns; bool sync; uint64_t initial; } cases[] = {
		{ 20, 20000, false, 10 }, { 20, 20000, true, 1 }, { 4, 20000, false, 4 },
		{ 20, 900, false, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t now = 1000, calls_found = 0, gaps_found = 0;

		reset();
		for (unsigned int k = 0; k < 100; k++) {
			uint64_t ns = k < cases[i].slow ? cases[i].ns : 100;

			add(3, LAUNCH, now, now + ns);
			now += 2 * ns;
			if (!k && cases[i].sync)
				add(3, DEVICE_SYNC, now, now + 10), now += 10;
		}
		finish();
		for (size_t k = 0; k < found_count; k++) {
			bool initial = found[k].flags & WINDOW_INITIAL;

			calls_found += initial &&
				       hand.groups[found[k].group].kind == EFFECT_SLOW_CALL;
			gaps_found += initial && hand.groups[found[k].group].kind == EFFECT_GAP;
		}
		CHECK(calls_found == cases[i].initial);
		/* A gap goes with the call before it. */
		CHECK(gaps_found == cases[i].initial - (cases[i].initial == 10 || cases[i].sync));
		release();
	}
}

/* A thread that only asks and allocates is none; where no thread gives work, each is one. */
static void test_feeding(void)
{
	for (unsigned int work = 0; work < 2; work++) {
		reset();
		for (uint64_t i = 0; i < 20; i++) {
			add(3, work ? LAUNCH : MALLOC, 1000 + 1000 * i, 1500 + 1000 * i);
			add(4, MALLOC, 1200 + 1000 * i, 1300 + 1000 * i);
		}
		finish();
		CHECK((window_at(EFFECT_GAP, 4, 1300) == NULL) == work);
		CHECK((window_at(EFFECT_SLOW_CALL, 4, 1200) == NULL) == work);
		CHECK(window_at(EFFECT_GAP, 3, 1500) && window_at(EFFECT_SLOW_CALL, 3, 1000));
		CHECK(feeding_of(200)->threads == (work ? 1 : 2));
		CHECK(feeding_of(200)->span == (work ? 19500 : 19500 + 19100));
		CHECK(feeding_of(200)->work == (work ? 20 : 0) && !feeding_of(200)->provable);
		release();
	}
}

/* Nor is one whose only proof was none. */
static void test_feeding_dropped(void)
{
	for (uint64_t ns = 50000; ns <= 50001; ns++) {
		reset();
		add(3, LAUNCH, 1000, 1100);
		add(4, DEVICE_SYNC, 1200, 5000);
		add(4, EVENT_SYNC, 6000, 6000 + ns);
		add(3, LAUNCH, 90000, 90100);
		finish();
		CHECK(feeding_of(200)->threads == (ns == 50000 ? 2 : 1));
		CHECK(idles_found() == (ns == 50000));
		release();
	}
}

/* Only groups that are wanted are loaded. */
static void test_wanted(void)
{
	uint64_t wanted[1] = { 0 };
	size_t n = 0;

	reset();
	launches(20, 3, 20000);
	finish();
	for (size_t i = 0; i < hand.group_count; i++)
		if (hand.groups[i].kind == EFFECT_GAP)
			wanted[0] |= 1ull << i;
	load_all(&hand, wanted);
	for (size_t i = 0; i < found_count; i++)
		n += hand.groups[found[i].group].kind == EFFECT_GAP;
	CHECK(n == found_count && n == 19);
	memset(wanted, 0, sizeof(wanted));
	load_all(&hand, wanted);
	CHECK(found_count == 0);
	release();
}

/* Without calls there is one span, and nothing in it. */
static void test_nothing(void)
{
	reset();
	finish();
	CHECK(hand.group_count == 0 && hand.feeding_count == 0 && found_count == 0);
	release();
	windows_release(&(struct windows){ 0 });
}

/* Calls of one thread that overlap, as only a damaged file has them: windows stay disjoint. */
static void test_overlap(void)
{
	struct windows w;
	struct report r;
	size_t whole;

	random_state = 99;
	fill(800, MODEL_THREADS, 100, true, 0);
	for (size_t i = 0; i < call_count; i++) {
		if (!some(4))
			calls[i].end += some(30000);
		if (!some(20))
			calls[i].depth = 0;
	}
	model_report(&r);
	CHECK(!windows_open(&w, &r.recording, &r.tasks, &r.latency));
	load_all(&w, everything);
	whole = found_count;
	windows_release(&w);
	CHECK(!windows_open_sized(&w, &r.recording, &r.tasks, &r.latency,
				  (struct windows_sizes){ 12, 0 }));
	CHECK(w.span_count > 30);
	load_all(&w, everything);
	join(&w);
	CHECK(found_count == whole && whole > 100);
	windows_release(&w);
	report_release(&r);
}

int main(void)
{
	test_nothing();
	test_slow();
	test_groups();
	test_gaps();
	test_idle();
	test_idle_at_end();
	test_streams();
	test_streams_after_idle();
	test_copies();
	test_threads();
	test_idle_over_spans();
	test_tie();
	test_processes();
	test_first();
	test_initial();
	test_fed();
	test_fed_slow();
	test_waited();
	test_initial_calls();
	test_feeding();
	test_feeding_dropped();
	test_wanted();
	test_random();
	test_overlap();
	return check_result() | compare_result();
}
