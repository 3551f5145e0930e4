// SPDX-License-Identifier: BSD-2-Clause
/* Counts the calls of an operation; blocks without one are decoded once. */
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "calls.h"
#include "detail_private.h"
#include "parallel.h"

#define BIT(column) (1ull << COL_call_##column)
#define MASK (BIT(ts) | BIT(duration) | BIT(tid) | BIT(operation) | BIT(probe) | BIT(depth) | \
	      BIT(bytes) | BIT(kind) | BIT(stream) | BIT(code) | BIT(flags) | BIT(tgid))

/* ---- classes */

static uint32_t *slot_of(const struct class_table *t, uint32_t process, uint64_t key)
{
	uint64_t hash = (key ^ (uint64_t)process << 40 ^ key >> 23) * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(hash >> 32) & (t->slot_count - 1);

	while (t->slots[i]) {
		const struct detail_class *c = &t->classes[t->slots[i] - 1];

		if (c->process == process && c->key == key)
			break;
		i = (i + 1) & (t->slot_count - 1);
	}
	return &t->slots[i];
}

struct detail_class *detail_find_class(const struct class_table *t, uint32_t process, uint64_t key)
{
	uint32_t *slot = t->slot_count ? slot_of(t, process, key) : NULL;

	return slot && *slot ? &t->classes[*slot - 1] : NULL;
}

static int grow_slots(struct class_table *t)
{
	size_t count = t->slot_count ? 2 * t->slot_count : 64;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return ERROR_MEMORY;
	free(t->slots);
	t->slots = slots;
	t->slot_count = count;
	for (size_t i = 0; i < t->count; i++)
		*slot_of(t, t->classes[i].process, t->classes[i].key) = (uint32_t)i + 1;
	return 0;
}

/* NULL: out of memory. */
static struct detail_class *make_class(struct class_table *t, uint32_t process, uint64_t key)
{
	struct detail_class *found = detail_find_class(t, process, key), *classes;

	if (found)
		return found;
	if ((t->count + 1) * 2 > t->slot_count && grow_slots(t))
		return NULL;
	classes = array_reserve(t->classes, &t->capacity, t->count + 1, sizeof(*classes));
	if (!classes)
		return NULL;
	t->classes = classes;
	classes[t->count] = (struct detail_class){ .process = process, .key = key };
	*slot_of(t, process, key) = (uint32_t)t->count + 1;
	return &classes[t->count++];
}

void detail_free_table(struct class_table *t)
{
	free(t->classes);
	free(t->slots);
	*t = (struct class_table){ 0 };
}

static uint64_t size_key(const struct detail_call *call)
{
	if (!call->sized)
		return DETAIL_SIZE_NONE;
	return call->bytes ? DETAIL_SIZE_ZERO + 64 - (uint64_t)__builtin_clzll(call->bytes) :
			     DETAIL_SIZE_ZERO;
}

uint64_t detail_key(const struct detail_builder *b, enum detail_partition p,
		    const struct detail_call *call, uint32_t *process)
{
	*process = TASKS_UNKNOWN;
	if (atomic_load_explicit(&b->folded[p], memory_order_relaxed))
		return 0;
	switch (p) {
	case DETAIL_THREAD:
		*process = call->process;
		return call->thread;
	case DETAIL_SIZE:
		return size_key(call);
	case DETAIL_KIND:
		return call->kind;
	default:
		*process = call->process;
		return call->stream;
	}
}

/* ---- one row */

static uint64_t stream_of(const struct detail_builder *b, const struct columns *rows, uint32_t i)
{
	uint64_t stream = rows->col[COL_call_stream][i];
	const struct probe *probe;

	if (!(rows->col[COL_call_flags][i] & CALL_FLAG_STREAM))
		return DETAIL_NONE;
	if (stream != DETAIL_STREAM_DEFAULT)
		return stream;
	probe = recording_probe(&b->report->recording, rows->col[COL_call_probe][i]);
	return probe && b->own_stream[probe - b->report->recording.probes] ? DETAIL_STREAM_THREAD :
									     DETAIL_STREAM_DEFAULT;
}

static uint64_t kind_of(const struct columns *rows, uint32_t i)
{
	uint64_t kind = rows->col[COL_call_kind][i];

	if (!(rows->col[COL_call_flags][i] & CALL_FLAG_KIND))
		return DETAIL_NONE;
	return kind < DETAIL_KIND_OTHER ? kind : DETAIL_KIND_OTHER;
}

static bool is_wanted(const struct detail_builder *b, const struct columns *rows, uint32_t i)
{
	uint64_t operation = rows->col[COL_call_operation][i];

	if (b->operation ? operation != b->operation :
	    recording_operation(&b->report->recording, operation) != NULL)
		return false;
	return !(rows->col[COL_call_flags][i] & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED)) &&
	       recording_in_span(&b->report->recording, rows->col[COL_call_ts][i]);
}

static void read_call(const struct detail_builder *b, const struct columns *rows, uint32_t i,
		      struct detail_call *call)
{
	const struct tasks *t = &b->report->tasks;
	uint64_t end = rows->col[COL_call_ts][i], ns = rows->col[COL_call_duration][i];

	*call = (struct detail_call){
		.start = end - (ns < end ? ns : end), .end = end,
		.code = (int64_t)rows->col[COL_call_code][i],
		.depth = (uint32_t)rows->col[COL_call_depth][i],
		.tid = (uint32_t)rows->col[COL_call_tid][i],
		.thread = tasks_thread(t, rows->col[COL_call_tid][i], end),
		.sized = rows->col[COL_call_flags][i] & CALL_FLAG_BYTES,
		.bytes = rows->col[COL_call_bytes][i],
		.stream = stream_of(b, rows, i), .kind = kind_of(rows, i),
	};
	call->process = call->thread != TASKS_UNKNOWN ? t->threads[call->thread].process :
			tasks_process(t, rows->col[COL_call_tgid][i], end);
	call->good = calls_good(b->operation ? b->detail->row->operation : NULL, call->code);
}

static int one_block(void *context, unsigned int worker, size_t job)
{
	struct detail_builder *b = context;
	struct columns *rows = &b->workers[worker].columns;
	uint32_t block = b->report->recording.blocks[TABLE_call].block[job];
	bool without = true;
	struct detail_call call;
	int ret;

	if (b->without[job])
		return 0;
	ret = recording_load(&b->report->recording, block, MASK, rows);
	for (uint32_t i = 0; i < rows->rows && !ret; i++) {
		if (!is_wanted(b, rows, i))
			continue;
		read_call(b, rows, i, &call);
		if (!select_thread(&b->report->selection, call.thread))
			continue;
		without = false;
		ret = b->visit(b, worker, &call);
	}
	b->without[job] = without;
	return ret;
}

int detail_each_call(struct detail_builder *b,
		     int (*visit)(struct detail_builder *b, unsigned int worker,
				  const struct detail_call *call))
{
	b->visit = visit;
	return parallel_run(b->report->recording.blocks[TABLE_call].count, one_block, b);
}

/* ---- counting */

static size_t bin_of(uint64_t ns)
{
	size_t low = 0, high = DETAIL_BINS;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (detail_bin(middle) <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void add_call(struct detail_class *c, const struct detail_call *call)
{
	uint64_t ns = call->end - call->start;

	c->calls++;
	c->nested += call->depth > 0;
	c->failed += !call->good;
	if (!call->good)
		return;
	c->good++;
	c->total += call->depth ? 0 : ns;
	c->bytes += call->sized ? call->bytes : 0;
	c->inside += call->sized ? ns : 0;
	if (call->first)
		return;
	c->n++;
	c->max = ns > c->max ? ns : c->max;
}

/* A total order: longest first; what it does not tell apart is the same call twice. */
static int by_duration(const void *left, const void *right)
{
	const struct detail_call *a = left, *b = right;
	uint64_t x = a->end - a->start, y = b->end - b->start;

	if (x != y)
		return x > y ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->code < b->code ? -1 : a->code > b->code;
}

static void note_slow(const struct detail_builder *b, struct detail_worker *w,
		      const struct detail_call *call)
{
	size_t i = w->slowest_count;

	if (i == b->slowest && (!i || by_duration(call, &w->slowest[i - 1]) >= 0))
		return;
	i = i == b->slowest ? i - 1 : w->slowest_count++;
	for (; i && by_duration(call, &w->slowest[i - 1]) < 0; i--)
		w->slowest[i] = w->slowest[i - 1];
	w->slowest[i] = *call;
}

static int count_call(struct detail_builder *b, unsigned int worker, const struct detail_call *call)
{
	struct detail_worker *w = &b->workers[worker];

	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++) {
		uint32_t process;
		uint64_t key = detail_key(b, p, call, &process);
		struct detail_class *c = make_class(&w->tables[p], process, key);

		if (!c)
			return ERROR_MEMORY;
		add_call(c, call);
		if (w->tables[p].count > DETAIL_CLASSES_MAX)
			atomic_store(&b->folded[p], true);
	}
	add_call(&w->whole, call);
	if (call->good && !call->first)
		w->bins[bin_of(call->end - call->start)]++;
	note_slow(b, w, call);
	return 0;
}

static int by_first_process(const void *key, const void *element)
{
	const uint32_t *process = key;
	const struct detail_first *f = element;

	return *process < f->process ? -1 : *process > f->process;
}

/* The first call of its process, or one that began and ended with it; or NULL. */
static struct detail_first *first_of(const struct detail_builder *b, const struct detail_call *call)
{
	struct detail_first *f;

	if (!call->good || call->start > b->last_first || !b->first_count)
		return NULL;
	f = bsearch(&call->process, b->firsts, b->first_count, sizeof(*f), by_first_process);
	return f && f->start == call->start && f->duration == call->end - call->start ? f : NULL;
}

/* What could be the first one is held back until the last of them is known. */
static int count_or_hold(struct detail_builder *b, unsigned int worker,
			 const struct detail_call *call)
{
	const struct detail_first *f = first_of(b, call);
	struct detail_call *held = f ? &b->workers[worker].firsts[f - b->firsts] : NULL;
	struct detail_call other;

	if (!held)
		return count_call(b, worker, call);
	if (!held->first) {
		*held = *call;
		held->first = true;
		return 0;
	}
	other = *call;
	if (by_duration(call, held) < 0) {
		other = *held;
		other.first = false;
		*held = *call;
		held->first = true;
	}
	return count_call(b, worker, &other);
}

static void add_sums(struct detail_class *to, const struct detail_class *from)
{
	to->calls += from->calls;
	to->failed += from->failed;
	to->nested += from->nested;
	to->good += from->good;
	to->n += from->n;
	to->total += from->total;
	to->inside += from->inside;
	to->bytes += from->bytes;
	to->max = from->max > to->max ? from->max : to->max;
}

static int unite_tables(struct detail_builder *b, const struct detail_worker *from)
{
	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++) {
		struct class_table *table = &b->workers[0].tables[p];

		for (size_t i = 0; i < from->tables[p].count; i++) {
			const struct detail_class *c = &from->tables[p].classes[i];
			struct detail_class *to = make_class(table, c->process, c->key);

			if (!to)
				return ERROR_MEMORY;
			add_sums(to, c);
		}
		if (table->count > DETAIL_CLASSES_MAX)
			atomic_store(&b->folded[p], true);
	}
	return 0;
}

/* Each worker's candidates for the first calls against those of worker 0. */
static int unite_firsts(struct detail_builder *b, const struct detail_worker *from)
{
	int ret = 0;

	for (size_t i = 0; i < b->first_count && !ret; i++) {
		struct detail_call call = from->firsts[i];

		call.first = false;
		if (from->firsts[i].first)
			ret = count_or_hold(b, 0, &call);
	}
	return ret;
}

static int unite(struct detail_builder *b)
{
	struct detail_worker *all = &b->workers[0];
	int ret = 0;

	for (unsigned int w = 1; w < b->worker_count && !ret; w++) {
		const struct detail_worker *from = &b->workers[w];

		add_sums(&all->whole, &from->whole);
		for (size_t i = 0; i < DETAIL_BINS; i++)
			all->bins[i] += from->bins[i];
		for (size_t i = 0; i < from->slowest_count; i++)
			note_slow(b, all, &from->slowest[i]);
		ret = unite_tables(b, from);
		if (!ret)
			ret = unite_firsts(b, from);
	}
	for (size_t i = 0; i < b->first_count && !ret; i++)
		if (all->firsts[i].first)
			ret = count_call(b, 0, &all->firsts[i]);
	return ret;
}

static void clear_worker(struct detail_builder *b, struct detail_worker *w)
{
	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++)
		detail_free_table(&w->tables[p]);
	memset(&w->whole, 0, sizeof(w->whole));
	memset(w->bins, 0, sizeof(w->bins));
	memset(w->firsts, 0, (b->first_count + 1) * sizeof(*w->firsts));
	w->slowest_count = 0;
}

static unsigned int folded(const struct detail_builder *b)
{
	unsigned int n = 0;

	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++)
		n += atomic_load(&b->folded[p]);
	return n;
}

/* Once more where a partition turned out to have too many classes. */
int detail_count(struct detail_builder *b)
{
	unsigned int before;
	int ret;

	do {
		before = folded(b);
		for (unsigned int i = 0; i < b->worker_count; i++)
			clear_worker(b, &b->workers[i]);
		ret = detail_each_call(b, count_or_hold);
		if (!ret)
			ret = unite(b);
	} while (!ret && folded(b) != before);
	return ret;
}
