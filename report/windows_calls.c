// SPDX-License-Identifier: BSD-2-Clause
/* The calls that began in a span of time, decoded by all cores, in order of their start. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "calls.h"
#include "parallel.h"
#include "windows_private.h"

#define BIT(column) (1ull << COL_call_##column)
#define MASK (BIT(ts) | BIT(duration) | BIT(tid) | BIT(operation) | BIT(probe) | BIT(depth) | \
	      BIT(bytes) | BIT(kind) | BIT(stream) | BIT(code) | BIT(flags))
#define BATCH_ROWS WINDOWS_ROWS		/* decoded at once */
/* Spans are chosen so that they hold less; only a file of calls that all begin at once has more. */
#define CALLS_MAX (8u * WINDOWS_ROWS)
#define SLICE_LARGE 32
#define HUGE_PAGE (2u << 20)

/* operation_traits, besides CALL_WORK, CALL_PROVES_ALL and CALL_PROVES_STREAM */
#define OPERATION_PROVES_TO_HOST 0x20	/* a synchronous copy: when it is to the host */
#define OPERATION_ANY_STREAM	0x40	/* has a stream; where it was not recorded it may be any */

#define STREAM_LEGACY 1			/* cudaStreamLegacy: the default stream by another name */
#define STREAM_PER_THREAD 2		/* cudaStreamPerThread */
#define STREAM_OF_THREAD (1ull << 63)	/* no user-space address, which handles are */
#define KIND_TO_HOST 2			/* cudaMemcpyDeviceToHost */

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	while (n && strcmp(name, names[n - 1]))
		n--;
	return n > 0;
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcmp(text + n - k, end);
}

static uint8_t traits_of(const struct operation *o)
{
	static const char *const device[] = {
		"cudaDeviceSynchronize", "cudaThreadSynchronize", "cuCtxSynchronize" };
	static const char *const stream[] = { "cudaStreamSynchronize", "cuStreamSynchronize" };
	uint8_t traits = 0;

	if (o->flags & OPERATION_FLAG_WORK)
		traits |= CALL_WORK;
	if (is_one_of(o->name, device, 3))
		traits |= CALL_PROVES_ALL;
	if (is_one_of(o->name, stream, 2))
		traits |= CALL_PROVES_STREAM;
	if (o->category == CATEGORY_COPY && (o->flags & OPERATION_FLAG_SYNC))
		traits |= OPERATION_PROVES_TO_HOST;
	if (ends_in(o->name, "Async") || ends_in(o->name, "MultiDevice"))
		traits |= OPERATION_ANY_STREAM;
	return traits;
}

const struct operation *window_operation(const struct window_calls *c, uint32_t place)
{
	return place < c->recording->operation_count ? &c->recording->operations[place] :
						       &c->latency->unnamed;
}

bool window_operation_waits(const struct operation *o)
{
	return o->category == CATEGORY_SYNC || ((o->flags & OPERATION_FLAG_SYNC) &&
	       (o->category == CATEGORY_COPY || o->category == CATEGORY_SET));
}

static size_t slot_of(const struct window_calls *c, uint64_t start)
{
	return (size_t)(start * 0x9e3779b97f4a7c15ull >> 32) & (c->firsts_size - 1);
}

static int load_firsts(struct window_calls *c)
{
	const struct latency *l = c->latency;

	c->firsts_size = 64;
	while (c->firsts_size < l->row_count * 8)
		c->firsts_size *= 2;
	c->firsts = calloc(c->firsts_size, sizeof(*c->firsts));
	if (!c->firsts)
		return ERROR_MEMORY;
	for (size_t i = 0; i < l->row_count; i++) {
		const struct latency_row *row = &l->rows[i];
		size_t slot = slot_of(c, row->first_ts);

		if (row->process == LATENCY_ALL || !row->has_first)
			continue;
		if (row->first_ts > c->last_first)
			c->last_first = row->first_ts;
		while (c->firsts[slot].start)
			slot = (slot + 1) & (c->firsts_size - 1);
		c->firsts[slot] = (struct first_call){
			row->first_ts, row->first, row->process, row->operation->id };
	}
	return 0;
}

/* A page fault in a virtual machine costs as much as decoding and sorting the calls of the page. */
void *window_buffer(size_t size)
{
	size_t whole = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *buffer;

	if (size < HUGE_PAGE || whole < size)
		return malloc(size + 1);
	buffer = aligned_alloc(HUGE_PAGE, whole);
	if (buffer)
		madvise(buffer, whole, MADV_HUGEPAGE);
	return buffer;
}

/* No more than there are rows. */
static int open_store(struct window_calls *c, uint64_t keep)
{
	const struct block_list *list = &c->recording->blocks[TABLE_call];
	uint64_t rows = 0;

	for (size_t i = 0; i < list->count; i++)
		rows += reader_block(c->recording->reader, list->block[i])->rows;
	c->store.room = rows < keep ? rows : keep;
	c->store.calls = window_buffer(c->store.room * sizeof(*c->store.calls));
	return c->store.calls ? 0 : ERROR_MEMORY;
}

int window_calls_open(struct window_calls *c, struct recording *r, const struct tasks *t,
		      const struct latency *l, uint64_t keep)
{
	memset(c, 0, sizeof(*c));
	c->recording = r;
	c->tasks = t;
	c->latency = l;
	c->worker_count = parallel_workers();
	c->columns = calloc(c->worker_count, sizeof(*c->columns));
	c->operation_traits = calloc(r->operation_count + 1, sizeof(*c->operation_traits));
	c->own_stream = calloc(r->probe_count + 1, sizeof(*c->own_stream));
	c->feeds = calloc(t->thread_count + 1, sizeof(*c->feeds));
	if (!c->columns || !c->operation_traits || !c->own_stream || !c->feeds)
		return ERROR_MEMORY;
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct process *p = &t->processes[t->threads[i].process];

		c->feeds[i] = i != TASKS_UNKNOWN && p->in_tree && !p->recorder;
	}
	for (size_t i = 0; i < r->operation_count; i++)
		c->operation_traits[i] = traits_of(&r->operations[i]);
	for (size_t i = 0; i < r->probe_count; i++)
		c->own_stream[i] = ends_in(r->probes[i].symbol, "_ptsz") ||
				   ends_in(r->probes[i].symbol, "_ptds");
	return load_firsts(c) || open_store(c, keep) ? ERROR_MEMORY : 0;
}

void window_calls_clear(struct window_calls *c)
{
	free(c->raw.calls);
	free(c->sorted.calls);
	c->raw = c->sorted = (struct call_buffer){ 0 };
}

void window_calls_release(struct window_calls *c)
{
	for (unsigned int i = 0; c->columns && i < c->worker_count; i++)
		columns_release(&c->columns[i]);
	free(c->columns);
	free(c->operation_traits);
	free(c->own_stream);
	free(c->firsts);
	free(c->feeds);
	free(c->store.calls);
	window_calls_clear(c);
	memset(c, 0, sizeof(*c));
}

/* --- one row */

static bool is_first(const struct window_calls *c, uint32_t process, uint32_t operation,
		     uint64_t start, uint64_t duration)
{
	for (size_t i = slot_of(c, start); c->firsts[i].start; i = (i + 1) & (c->firsts_size - 1)) {
		const struct first_call *f = &c->firsts[i];

		if (f->start == start && f->duration == duration && f->process == process &&
		    f->operation == operation)
			return true;
	}
	return false;
}

/* As recording_operation() and recording_probe(), without a call where ids have no gaps. */
static inline const struct operation *operation_of(const struct recording *r, uint64_t id)
{
	return id && id <= r->operation_count && r->operations[id - 1].id == id ?
	       &r->operations[id - 1] : recording_operation(r, id);
}

static inline const struct probe *probe_of(const struct recording *r, uint64_t id)
{
	return id && id <= r->probe_count && r->probes[id - 1].id == id ?
	       &r->probes[id - 1] : recording_probe(r, id);
}

/* Which stream the call was on, as a number: a handle, or one made of the thread's TID. */
static uint64_t stream_of(const struct window_calls *c, const struct columns *rows, uint32_t i,
			  uint8_t traits)
{
	uint64_t flags = rows->col[COL_call_flags][i];
	uint64_t stream = flags & CALL_FLAG_STREAM ? rows->col[COL_call_stream][i] : 0;
	const struct probe *probe;

	if (!(flags & CALL_FLAG_STREAM) &&
	    ((flags & CALL_FLAG_READ_FAILED) || (traits & OPERATION_ANY_STREAM)))
		return STREAM_UNKNOWN;
	if (stream == STREAM_PER_THREAD)
		return STREAM_OF_THREAD | rows->col[COL_call_tid][i];
	if (stream)
		return stream == STREAM_LEGACY ? 0 : stream;
	probe = probe_of(c->recording, rows->col[COL_call_probe][i]);
	if (probe && c->own_stream[probe - c->recording->probes])
		return STREAM_OF_THREAD | rows->col[COL_call_tid][i];
	return 0;
}

static uint8_t kind_of(const struct columns *rows, uint32_t i)
{
	if (!(rows->col[COL_call_flags][i] & CALL_FLAG_KIND))
		return CALL_KIND_NONE;
	return rows->col[COL_call_kind][i] < CALL_KIND_OTHER ?
	       (uint8_t)rows->col[COL_call_kind][i] : CALL_KIND_OTHER;
}

static uint8_t size_class(const struct columns *rows, uint32_t i)
{
	if (!(rows->col[COL_call_flags][i] & CALL_FLAG_BYTES))
		return 0;
	return (uint8_t)(64 - __builtin_clzll(rows->col[COL_call_bytes][i] | 1));
}

static uint8_t call_traits(const struct operation *o, uint8_t traits, uint64_t stream,
			   const struct columns *rows, uint32_t i)
{
	uint8_t kind = kind_of(rows, i), result = (uint8_t)(kind << CALL_KIND_SHIFT);

	if (rows->col[COL_call_code][i] && !calls_good(o, (int64_t)rows->col[COL_call_code][i]))
		return result;
	if ((traits & OPERATION_PROVES_TO_HOST) && kind == KIND_TO_HOST)
		traits |= CALL_PROVES_STREAM;
	if (stream == STREAM_UNKNOWN)
		traits &= (uint8_t)~CALL_PROVES_STREAM;
	return result | CALL_GOOD |
	       (traits & (CALL_WORK | CALL_PROVES_ALL | CALL_PROVES_STREAM));
}

/* The thread of a row that counts, or TASKS_UNKNOWN. */
static uint32_t feeding_thread(const struct window_calls *c, const struct columns *rows, uint32_t i)
{
	uint64_t ts = rows->col[COL_call_ts][i];
	uint32_t thread;

	if (rows->col[COL_call_depth][i] || !recording_in_span(c->recording, ts) ||
	    (rows->col[COL_call_flags][i] & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED)))
		return TASKS_UNKNOWN;
	thread = tasks_thread(c->tasks, rows->col[COL_call_tid][i], ts);
	return c->feeds[thread] ? thread : TASKS_UNKNOWN;
}

static void fill_call(const struct window_calls *c, const struct columns *rows, uint32_t i,
		      struct window_call *call)
{
	const struct recording *r = c->recording;
	const struct operation *o = operation_of(r, rows->col[COL_call_operation][i]);
	uint32_t place = o ? (uint32_t)(o - r->operations) : (uint32_t)r->operation_count;
	uint8_t traits = c->operation_traits[place];

	call->operation = (uint16_t)place;
	call->size_class = size_class(rows, i);
	call->stream = traits & ~OPERATION_ANY_STREAM ? stream_of(c, rows, i, traits) : 0;
	call->traits = call_traits(o, traits, call->stream, rows, i);
	if ((call->traits & CALL_GOOD) && call->start <= c->last_first &&
	    is_first(c, c->tasks->threads[call->thread].process, o ? o->id : 0, call->start,
		     rows->col[COL_call_duration][i]))
		call->traits |= CALL_FIRST;
}

/* --- blocks */

struct block_job { uint32_t block; size_t at, kept; };

struct batch {
	struct window_calls *calls;
	uint64_t from, until;
	struct block_job *jobs; size_t count;
	uint64_t rows;
};

static int one_block(void *context, unsigned int worker, size_t job)
{
	struct batch *b = context;
	struct window_calls *c = b->calls;
	struct columns *rows = &c->columns[worker];
	struct block_job *j = &b->jobs[job];
	struct window_call *out = &c->raw.calls[c->count + j->at];
	uint64_t first = c->recording->start;
	int ret = recording_load(c->recording, j->block, MASK, rows);

	for (uint32_t i = 0; i < rows->rows && !ret; i++) {
		uint64_t ts = rows->col[COL_call_ts][i], duration = rows->col[COL_call_duration][i];
		uint64_t start = ts > duration ? ts - duration : 0;
		uint32_t thread;

		if (start < b->from || start >= b->until)
			continue;
		thread = feeding_thread(c, rows, i);
		if (thread == TASKS_UNKNOWN)
			continue;
		out->start = start < first ? first : start;
		out->end = ts < first ? first : ts;
		out->thread = thread;
		fill_call(c, rows, i, out++);
	}
	j->kept = (size_t)(out - &c->raw.calls[c->count + j->at]);
	return ret;
}

/* Room for need calls, the first of which stay. Some more is taken, since spans differ little. */
static int make_room(struct call_buffer *b, size_t keep, size_t need)
{
	size_t room = need + need / 4 + 1;
	struct window_call *calls;

	if (need <= b->room)
		return 0;
	calls = window_buffer(room * sizeof(*calls));
	if (!calls)
		return ERROR_MEMORY;
	if (keep)
		memcpy(calls, b->calls, keep * sizeof(*calls));
	free(b->calls);
	*b = (struct call_buffer){ calls, room };
	return 0;
}

/* Decode the blocks side by side, each to the place it may need, then close the ranks. */
static int read_batch(struct batch *b)
{
	struct window_calls *c = b->calls;
	size_t from = c->count;
	int ret = make_room(&c->raw, c->count, c->count + b->rows);

	if (!ret)
		ret = parallel_run(b->count, one_block, b);
	for (size_t i = 0; i < b->count && !ret; i++) {
		memmove(&c->raw.calls[c->count], &c->raw.calls[from + b->jobs[i].at],
			b->jobs[i].kept * sizeof(*c->raw.calls));
		c->count += b->jobs[i].kept;
	}
	b->count = 0;
	b->rows = 0;
	return ret;
}

static int read_blocks(struct batch *b)
{
	const struct recording *r = b->calls->recording;
	const struct block_list *list = &r->blocks[TABLE_call];
	int ret = 0;

	for (size_t i = 0; i < list->count && !ret; i++) {
		const struct block_info *info = reader_block(r->reader, list->block[i]);

		if (info->last_ts < b->from || info->min_start >= b->until)
			continue;
		if (b->rows + info->rows > BATCH_ROWS && b->count)
			ret = read_batch(b);
		if (b->calls->count >= CALLS_MAX)
			break;
		b->jobs[b->count++] = (struct block_job){ list->block[i], b->rows, 0 };
		b->rows += info->rows;
	}
	return ret ? ret : read_batch(b);
}

/* --- order */

/* A total order: what it does not tell apart is the same call twice. */
static bool before(const struct window_call *a, const struct window_call *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	if (a->thread != b->thread)
		return a->thread < b->thread;
	if (a->end != b->end)
		return a->end < b->end;
	return memcmp(a, b, sizeof(*a)) < 0;
}

static int by_start(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

static bool in_order(const struct window_call *calls, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (before(&calls[i], &calls[i - 1]))
			return false;
	return true;
}

/* Fast, since calls stand near their places. */
static void insert_all(struct window_call *calls, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct window_call moved;
		size_t k = i;

		if (!before(&calls[i], &calls[i - 1]))
			continue;
		moved = calls[i];
		for (; k && before(&moved, &calls[k - 1]); k--)
			calls[k] = calls[k - 1];
		calls[k] = moved;
	}
}

/* Slices that hold many, as where time is spent unevenly. */
static void sort_large(struct window_call *calls, const uint32_t *ends, size_t slices)
{
	size_t begin = 0;

	for (size_t i = 0; i < slices; begin = ends[i++]) {
		size_t n = ends[i] - begin;

		if (n > SLICE_LARGE && !in_order(&calls[begin], n))
			qsort(&calls[begin], n, sizeof(*calls), by_start);
	}
}

/* Counts to the places where slices begin; returns the largest count. */
static uint32_t add_up(uint32_t *counts, size_t slices)
{
	uint32_t sum = 0, most = 0;

	for (size_t i = 0; i < slices; i++) {
		uint32_t n = counts[i];

		counts[i] = sum;
		sum += n;
		most = n > most ? n : most;
	}
	return most;
}

/* Into slices of equal time in one go; little is left to sort, as blocks go by time of return. */
static int sort_calls(const struct window_calls *c, uint64_t from, uint64_t last,
		      struct window_call *sorted)
{
	const struct window_call *raw = c->raw.calls;
	unsigned int shift = 0;
	uint32_t *ends, most;
	size_t slices;

	while ((last - from) >> shift > c->count / 4)
		shift++;
	slices = (size_t)((last - from) >> shift) + 1;
	ends = calloc(slices, sizeof(*ends));
	if (!ends)
		return ERROR_MEMORY;
	for (size_t i = 0; i < c->count; i++)
		ends[(raw[i].start - from) >> shift]++;
	most = add_up(ends, slices);
	for (size_t i = 0; i < c->count; i++)
		sorted[ends[(raw[i].start - from) >> shift]++] = raw[i];
	if (most > SLICE_LARGE)
		sort_large(sorted, ends, slices);
	insert_all(sorted, c->count);
	free(ends);
	return 0;
}

static int put_in_order(struct window_calls *c, uint64_t from, uint64_t until,
			struct call_list *list)
{
	const struct recording *r = c->recording;
	bool in_place = in_order(c->raw.calls, c->count);

	list->count = c->count;
	list->kept = c->count <= c->store.room - c->stored;
	if (list->kept)
		list->calls = &c->store.calls[c->stored];
	else if (in_place)
		list->calls = c->raw.calls;
	else if (make_room(&c->sorted, 0, c->count))
		return ERROR_MEMORY;
	else
		list->calls = c->sorted.calls;
	if (list->kept)
		c->stored += c->count;
	if (!in_place)
		return sort_calls(c, from > r->start ? from : r->start,
				  until < r->end ? until : r->end, list->calls);
	if (list->kept && c->count)
		memcpy(list->calls, c->raw.calls, c->count * sizeof(*list->calls));
	return 0;
}

int window_calls_load(struct window_calls *c, uint64_t from, uint64_t until,
		      struct call_list *list)
{
	struct batch b = { .calls = c, .from = from, .until = until };
	int ret;

	c->count = 0;
	b.jobs = malloc((c->recording->blocks[TABLE_call].count + 1) * sizeof(*b.jobs));
	ret = b.jobs ? read_blocks(&b) : ERROR_MEMORY;
	free(b.jobs);
	return ret ? ret : put_in_order(c, from, until, list);
}
