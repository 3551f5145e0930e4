// SPDX-License-Identifier: BSD-2-Clause
#include "windows_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S MADE_START

struct call calls[MODEL_CALLS];
size_t call_count;
struct member members[3 * MODEL_CALLS];
size_t member_count;

static const struct { const char *name; uint64_t category, flags; } operations[OPS - LAUNCH] = {
	{ "cudaLaunchKernel", CATEGORY_LAUNCH, OPERATION_FLAG_WORK },
	{ "cudaMemcpyAsync", CATEGORY_COPY, OPERATION_FLAG_WORK },
	{ "cudaStreamSynchronize", CATEGORY_SYNC, OPERATION_FLAG_SYNC },
	{ "cudaDeviceSynchronize", CATEGORY_SYNC, OPERATION_FLAG_SYNC },
	{ "cudaMemcpy", CATEGORY_COPY, OPERATION_FLAG_SYNC | OPERATION_FLAG_WORK },
	{ "cudaMalloc", CATEGORY_MEMORY, 0 },
	{ "cudaEventSynchronize", CATEGORY_SYNC, OPERATION_FLAG_SYNC },
	{ "cudaMemPrefetchAsync", CATEGORY_MEMORY, OPERATION_FLAG_WORK },
};

uint32_t model_pid(uint32_t thread)
{
	return thread < 3 ? 100 : 200;
}

static uint32_t tid_of(uint32_t thread)
{
	return thread < 3 ? 100 + thread : 200 + thread - 3;
}

uint32_t model_thread(const struct report *r, uint32_t thread)
{
	for (uint32_t i = 0; i < MODEL_THREADS; i++)
		if (r->tasks.threads[thread].tid == tid_of(i))
			return i;
	return UINT32_MAX;
}

static uint64_t text(struct made *m, const char *s)
{
	return writer_string(m->writer, s, strlen(s));
}

static void add_operations(struct made *m)
{
	static const char *const symbols[] = { "cudaLaunchKernel", "cudaLaunchKernel_ptsz" };

	for (uint64_t i = LAUNCH; i < OPS; i++) {
		struct row_operation row = {
			.id = i, .name = text(m, operations[i - LAUNCH].name),
			.layer = LAYER_RUNTIME, .category = operations[i - LAUNCH].category,
			.flags = operations[i - LAUNCH].flags };

		writer_row(m->writer, TABLE_operation, 0, &row);
	}
	for (uint64_t i = 0; i < 2; i++) {
		struct row_probe row = { .id = i + 1, .library = 1, .symbol = text(m, symbols[i]),
					 .operation = LAUNCH, .status = PROBE_ATTACHED };

		writer_row(m->writer, TABLE_probe, 0, &row);
	}
}

/* In this order: of two calls that begin at once the first thread's comes first. */
static void add_threads(struct made *m)
{
	for (uint32_t i = 0; i < MODEL_THREADS; i++) {
		bool forked = model_pid(i) == 100 || tid_of(i) != model_pid(i);

		made_task_row(m, (struct row_task){
			.ts = S + 1, .event = forked ? TASK_EVENT_FORK : TASK_EVENT_SNAPSHOT,
			.tid = tid_of(i), .tgid = model_pid(i), .start = tid_of(i),
			.process_start = model_pid(i), .flags = TASK_FLAG_TREE }, "thread");
	}
}

static void add_call(struct made *m, const struct call *c, uint32_t cpu)
{
	struct row_call row = {
		.ts = c->end, .duration = c->end - c->start, .tid = tid_of(c->thread),
		.tgid = model_pid(c->thread), .operation = c->op, .probe = c->probe,
		.depth = c->depth, .code = (uint64_t)c->code, .flags = c->flags };

	if (c->stream != NO_STREAM) {
		row.stream = c->stream;
		row.flags |= CALL_FLAG_STREAM;
	}
	if (c->size) {
		row.bytes = c->size;
		row.flags |= CALL_FLAG_BYTES;
	}
	if (c->kind != 7) {
		row.kind = c->kind;
		row.flags |= CALL_FLAG_KIND;
	}
	writer_row(m->writer, TABLE_call, cpu, &row);
}

static int by_end(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return x->end != y->end ? (x->end < y->end ? -1 : 1) : 0;
}

/* The calls go to two CPUs, in blocks of some hundred that overlap in time. */
static void begin(struct made *m)
{
	char number[32];

	made_begin(m);
	snprintf(number, sizeof(number), "%llu", S + MODEL_SPAN);
	made_fact(m, "record.stop", number);
	add_operations(m);
	add_threads(m);
}

void model_report(struct report *r)
{
	static struct call sorted[MODEL_CALLS];
	struct made m;

	begin(&m);
	memcpy(sorted, calls, sizeof(sorted));
	qsort(sorted, call_count, sizeof(*sorted), by_end);
	for (size_t i = 0; i < call_count; i++) {
		add_call(&m, &sorted[i], (sorted[i].thread + (uint32_t)(i / 90)) % 2);
		if (i % 170 == 169)
			writer_flush(m.writer, NULL);
	}
	made_report(&m, true, r);
}

/* --- the same by definition */

/* begins: the work that ends it; or, where it was none, the synchronise that showed that. */
struct idle { uint32_t by; size_t begins; uint64_t from; bool dropped; };
static struct idle idles[MODEL_CALLS];
static size_t idle_count;

static bool same_process(uint32_t a, uint32_t b)
{
	return model_pid(a) == model_pid(b);
}

/* In the order in which they began. */
static int by_start(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

static bool counts(const struct call *c)
{
	return !c->depth && !(c->flags & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED));
}

static bool is_work(const struct call *c)
{
	return counts(c) && !c->code && (operations[c->op - LAUNCH].flags & OPERATION_FLAG_WORK);
}

static uint64_t stream(const struct call *c)
{
	bool has_stream = c->op == PREFETCH || c->op == COPY_ASYNC ||
			  (c->flags & CALL_FLAG_READ_FAILED);

	if (c->stream == NO_STREAM && has_stream)
		return UINT64_MAX;
	if (c->stream == 2 || ((c->stream == 0 || c->stream == NO_STREAM) && c->probe == 2))
		return 1000000 + c->thread;
	return c->stream == 1 || c->stream == NO_STREAM ? 0 : c->stream;
}

static bool proves(size_t i)
{
	const struct call *s = &calls[i];
	const struct idle *last = NULL;
	bool all = s->op == DEVICE_SYNC, work = false, one = true;

	if (!counts(s) || s->code || !(all || s->op == STREAM_SYNC ||
				      (s->op == COPY && s->kind == 2)))
		return false;
	for (size_t k = 0; k < idle_count; k++)
		if (same_process(calls[idles[k].by].thread, s->thread)) {
			if (idles[k].dropped && s->end > idles[k].from && i < idles[k].begins)
				return false;
			if (!idles[k].dropped)
				last = &idles[k];
		}
	for (size_t k = 0; k < call_count; k++) {
		const struct call *c = &calls[k];

		if (!is_work(c) || !same_process(c->thread, s->thread))
			continue;
		if (c->thread != s->thread && c->start < s->end && (k > i || c->end > s->start))
			return false;
		if ((last && c->start < last->from) || (k > i && c->start >= s->end))
			continue;
		work = true;
		one &= stream(c) == stream(s) && stream(c) != UINT64_MAX;
	}
	return (work || !last) && (all || (one && stream(s) != UINT64_MAX));
}

static int by_return(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (calls[x].end != calls[y].end)
		return calls[x].end < calls[y].end ? -1 : 1;
	return (x > y) - (x < y);
}

static bool ends_idle(const struct call *c, const struct call *by)
{
	return is_work(c) && c->start >= by->end && same_process(c->thread, by->thread);
}

/* Of the thread that is known to be idle. */
static bool shows_work(const struct call *c, const struct call *by)
{
	bool waits = operations[c->op - LAUNCH].flags & OPERATION_FLAG_SYNC;

	return counts(c) && c->thread == by->thread && c->start >= by->end && waits &&
	       !is_work(c) && c->end - c->start > 50000;
}

static void find_idles(void)
{
	static size_t order[MODEL_CALLS];

	for (size_t i = 0; i < call_count; i++)
		order[i] = i;
	qsort(order, call_count, sizeof(*order), by_return);
	idle_count = 0;
	for (size_t k = 0; k < call_count; k++) {
		size_t i = order[k], end = 0;

		if (!proves(i))
			continue;
		while (end < call_count && !ends_idle(&calls[end], &calls[i]) &&
		       !shows_work(&calls[end], &calls[i]))
			end++;
		idles[idle_count++] = (struct idle){
			(uint32_t)i, end, calls[i].end,
			end < call_count && shows_work(&calls[end], &calls[i]) };
	}
}

static void add_member(struct member m)
{
	members[member_count++] = m;
}

/* Of the first n calls, those of the process that gave work are few, or few of all. */
static bool is_early(uint32_t thread, size_t n)
{
	uint64_t before = 0, all = 0;

	for (size_t i = 0; i < call_count; i++)
		if (is_work(&calls[i]) && same_process(calls[i].thread, thread)) {
			all++;
			before += i < n;
		}
	return before < 10 || before < all / 100;
}

/* Of a call or gap: what began before the first idle point. */
static bool is_initial(uint32_t thread, size_t n, uint64_t start)
{
	for (size_t i = 0; i < idle_count; i++)
		if (!idles[i].dropped && same_process(calls[idles[i].by].thread, thread) &&
		    idles[i].from <= start)
			return false;
	return is_early(thread, n);
}

static size_t begun_before(uint64_t ts)
{
	size_t n = 0;

	while (n < call_count && calls[n].start < ts)
		n++;
	return n;
}

static void add_idles(uint32_t thread, uint64_t last)
{
	for (size_t i = 0; i < idle_count; i++) {
		const struct call *by = &calls[idles[i].by];
		uint64_t end = idles[i].begins < call_count ? calls[idles[i].begins].start : last;

		if (end > last)
			end = last;
		if (by->thread == thread && end > idles[i].from && !idles[i].dropped)
			add_member((struct member){
				.kind = EFFECT_STARVATION, .thread = thread, .op = by->op,
				.copy_kind = WINDOWS_KIND_NONE, .start = idles[i].from, .end = end,
				.initial = is_early(thread, begun_before(idles[i].from)) });
	}
}

static bool in_idle(size_t i)
{
	for (size_t k = 0; k < idle_count; k++)
		if (calls[idles[k].by].thread == calls[i].thread &&
		    calls[i].start >= idles[k].from && i < idles[k].begins)
			return true;
	return false;
}

static bool gap_in_idle(const struct call *c)
{
	for (size_t k = 0; k < idle_count; k++) {
		size_t end = idles[k].begins;
		bool over = end < call_count && c->end >= calls[end].start;

		if (calls[idles[k].by].thread == c->thread &&
		    (c->end == idles[k].from || (c->end > idles[k].from && !over)))
			return true;
	}
	return false;
}

static bool is_first(const struct call *c)
{
	const struct call *first = NULL;

	for (size_t i = 0; i < call_count; i++)
		if (calls[i].op == c->op && !calls[i].code && model_pid(calls[i].thread) == 100 &&
		    !(calls[i].flags & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED)) &&
		    (!first || calls[i].start < first->start ||
		     (calls[i].start == first->start && calls[i].end < first->end)))
			first = &calls[i];
	return model_pid(c->thread) == 100 && first->start == c->start && first->end == c->end;
}

/* Another thread was in a work-giving call in the gap before call i. */
static bool is_fed(const struct call *last, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_work(&calls[k]) && same_process(calls[k].thread, last->thread) &&
		    calls[k].thread != last->thread && calls[k].end > last->end)
			return true;
	return false;
}

static bool gives_work(uint32_t thread, bool any_thread)
{
	for (size_t i = 0; i < call_count; i++)
		if (is_work(&calls[i]) && (calls[i].thread == thread ||
					   (any_thread && same_process(calls[i].thread, thread))))
			return true;
	return false;
}

static bool feeds(uint32_t thread)
{
	bool proved = false, called = false;

	for (size_t i = 0; i < idle_count; i++)
		proved |= !idles[i].dropped && calls[idles[i].by].thread == thread;
	for (size_t i = 0; i < call_count; i++)
		called |= counts(&calls[i]) && calls[i].thread == thread;
	return gives_work(thread, false) || proved || (called && !gives_work(thread, true));
}

struct model_feeding model_feeding(uint32_t pid)
{
	struct model_feeding f = { 0 };

	for (uint32_t t = 0; t < MODEL_THREADS; t++) {
		uint64_t first = 0, last = 0;

		for (size_t i = 0; i < call_count; i++) {
			if (calls[i].thread != t || !counts(&calls[i]))
				continue;
			first = first ? first : calls[i].start;
			last = calls[i].end;
			f.work += model_pid(t) == pid && is_work(&calls[i]);
		}
		if (model_pid(t) != pid || !feeds(t))
			continue;
		f.threads++;
		f.span += last - first;
	}
	for (size_t i = 0; i < idle_count; i++)
		if (model_pid(calls[idles[i].by].thread) == pid) {
			f.syncs += !idles[i].dropped;
			f.dropped += idles[i].dropped;
		}
	return f;
}

static void add_thread(uint32_t thread)
{
	const struct call *last = NULL;
	size_t last_place = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < call_count; i++) {
		const struct call *c = &calls[i];
		uint32_t class = 0;

		if (c->thread != thread || !counts(c))
			continue;
		if (last && !gap_in_idle(last))
			add_member((struct member){
				.kind = EFFECT_GAP, .thread = thread, .op = last->op, .next = c->op,
				.copy_kind = WINDOWS_KIND_NONE, .start = last->end,
				.end = c->start, .fed = is_fed(last, i),
				.initial = is_initial(thread, last_place + 1, last->end) });
		while (c->size >> class)
			class++;
		if (!c->code && !in_idle(i) && !is_first(c))
			add_member((struct member){
				.kind = EFFECT_SLOW_CALL, .thread = thread, .op = c->op,
				.copy_kind = c->kind == 7 ? WINDOWS_KIND_NONE : (uint32_t)c->kind,
				.size_class = class, .start = c->start, .end = c->end,
				.initial = is_initial(thread, i, c->start) });
		last = c;
		last_place = i;
		end = c->end;
	}
	add_idles(thread, end);
}

bool model_same_group(const struct member *a, const struct member *b)
{
	return a->kind == b->kind && a->thread == b->thread && a->op == b->op &&
	       a->next == b->next && a->copy_kind == b->copy_kind &&
	       a->size_class == b->size_class && a->fed == b->fed;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The bucket: 64 of equal width to each power of two. */
static uint64_t bucket_of(uint64_t value, uint64_t *middle)
{
	uint64_t power = 64, width;

	*middle = value;
	if (value < 64)
		return value;
	while (power * 2 <= value)
		power *= 2;
	width = power / 64;
	*middle = value / width * width + width / 2;
	return value / width * width;
}

static bool slow(uint64_t value, uint64_t p50)
{
	uint64_t middle;

	bucket_of(value, &middle);
	return middle > 3 * p50 && middle >= p50 + 10000;
}

static void judge(struct member *m)
{
	static uint64_t values[3 * MODEL_CALLS];
	uint64_t own = m->end - m->start, unused, p50;

	for (size_t i = 0; i < member_count; i++)
		if (model_same_group(&members[i], m)) {
			values[m->count++] = members[i].end - members[i].start;
			m->total += members[i].end - members[i].start;
		}
	qsort(values, m->count, sizeof(*values), by_value);
	p50 = values[(m->count + 1) / 2 - 1];
	m->max = values[m->count - 1];
	bucket_of(p50, &m->p50);
	bucket_of(values[(m->count * 99 + 99) / 100 - 1], &m->p99);
	m->p50 = m->p50 < m->max ? m->p50 : m->max;
	m->p99 = m->p99 < m->max ? m->p99 : m->max;
	for (size_t i = 0; i < m->count; i++)
		if (m->count >= 10 && slow(values[i], m->p50)) {
			m->slow++;
			m->lost += values[i] - m->p50;
		}
	if (m->slow < 3)
		m->slow = m->lost = 0;
	if (m->kind == EFFECT_STARVATION) {
		m->slow = m->count;
		m->lost = m->total;
		m->flags = WINDOW_SLOW;
	} else if (bucket_of(own, &unused) <= bucket_of(p50, &unused)) {
		m->flags = WINDOW_NORMAL;
	} else if (m->slow && slow(own, m->p50)) {
		m->flags = WINDOW_SLOW;
	}
	if (m->flags == WINDOW_SLOW && m->initial && (m->count < 3 || own / 10 >= m->p50))
		m->flags |= WINDOW_INITIAL;
}

static int by_place(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

void model_windows(void)
{
	qsort(calls, call_count, sizeof(*calls), by_start);
	find_idles();
	member_count = 0;
	for (uint32_t i = 0; i < MODEL_THREADS; i++)
		if (feeds(i))
			add_thread(i);
	for (size_t i = 0; i < member_count; i++)
		judge(&members[i]);
	qsort(members, member_count, sizeof(*members), by_place);
}
