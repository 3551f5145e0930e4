// SPDX-License-Identifier: BSD-2-Clause
/*
 * windows_open() goes through all spans, makes the groups, and keeps the state of the walk at
 * each border and a list of the windows that are in more than one span or were recognised in a
 * later one than they lie in. With these windows_load() goes through any one span again, finds
 * the same windows, and knows now what is long.
 *
 * Percentiles are nearest rank on a histogram with 64 buckets to each power of two: the middle of
 * a bucket is at most 1/128 from either edge. Slow and normal are whole buckets, judged by their
 * middle, so that counts are exact.
 *
 * What lost time is WINDOW_INITIAL when it began before its process had begun INITIAL_MIN
 * work-giving calls, or one in INITIAL_PART of all it would; and is INITIAL_LONG times as long as
 * the group's p50, if that rests on INITIAL_KNOWN members. A short program that starves at every
 * step does not begin for long. A gap (whose call before counts) or call must also have begun
 * before the first idle point: a program that waits for the device has begun.
 */
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "windows_private.h"

#define INITIAL_MIN 10
#define INITIAL_PART 100
#define INITIAL_LONG 10
#define INITIAL_KNOWN 3
#define CELLS 65536			/* of time, by which spans are chosen */
#define CALL_WEIGHT 4			/* rows of table switch that take as much memory */
#define GROUPS_MAX 32768		/* what comes after them belongs to none */
#define KEEP_CALLS (2u << 20)		/* of 32 bytes, so as not to decode them again */

#define GROUP_NONE UINT32_MAX

#define BUCKET_BITS 6			/* 64 to each power of two */
#define BUCKETS (1u << BUCKET_BITS)
#define POWERS (65 - BUCKET_BITS)	/* the first holds 0 to 63, the others a power each */

struct histogram {
	uint32_t *powers[POWERS];	/* BUCKETS counts, or NULL */
	uint64_t normal_below;		/* longer ones are not normal */
	uint64_t slow_from;		/* shortest that is slow; UINT64_MAX none */
};

/* A window the walk of its own span cannot tell of. */
struct straddler { uint64_t key, start, end, work; };

/* A group in the hash table, with what decides about a member while windows are loaded. */
struct slot {
	uint64_t key;			/* 0: empty */
	uint64_t normal_below, slow_from;
	uint32_t group;			/* GROUP_NONE: of no feeding thread */
};

/* Where the windows of a feeder are gathered. A file that changes meanwhile may have more. */
struct region { size_t first, count, room; };

struct windows_state {
	struct window_calls calls;
	struct call_list *lists;	/* by span */
	struct window_walk walk;
	struct histogram *histograms; size_t histogram_capacity;
	struct slot *table; size_t table_size;
	struct straddler *straddlers; size_t straddler_count, straddler_capacity;
	uint32_t *by_thread;		/* feeders in the order of their threads */
	size_t span;			/* that is gone through */
	bool loading;			/* not opening: groups are known */
	bool begun;			/* calls were made before the span */
	struct window *out;
	struct region *regions;		/* by feeder */
};

/* --- spans */

/*
 * The rows of a block are taken to be evenly spread over its time: its share of each cell, times
 * 2^20, is added where it begins and taken away after it ends. Sums of these are exact.
 */
static void add_density(const struct recording *r, enum table table, uint64_t weight,
			uint64_t width, uint64_t *cell)
{
	const struct block_list *list = &r->blocks[table];

	for (size_t i = 0; i < list->count; i++) {
		const struct block_info *b = reader_block(r->reader, list->block[i]);
		uint64_t last = b->last_ts < r->end ? b->last_ts : r->end;
		uint64_t first = b->first_ts < last ? b->first_ts : last, share;

		first = first > r->start ? (first - r->start) / width : 0;
		last = last > r->start ? (last - r->start) / width : 0;
		share = (weight * b->rows << 20) / (last - first + 1);
		cell[first] += share;
		cell[last + 1] -= share;
	}
}

static int add_span(struct windows *w, uint64_t start, uint64_t end)
{
	struct window_span *spans = array_reserve(w->spans, &w->span_capacity, w->span_count + 1,
						  sizeof(*spans));

	if (!spans)
		return ERROR_MEMORY;
	w->spans = spans;
	spans[w->span_count++] = (struct window_span){ start, end };
	return 0;
}

static int choose_spans(struct windows *w, const struct recording *r, uint64_t rows)
{
	uint64_t width = (r->end - r->start) / CELLS + 1, at = r->start, density = 0, sum = 0;
	uint64_t *cell = calloc(CELLS + 1, sizeof(*cell));
	int ret = 0;

	if (!cell)
		return ERROR_MEMORY;
	add_density(r, TABLE_switch, 1, width, cell);
	add_density(r, TABLE_call, CALL_WEIGHT, width, cell);
	for (uint64_t i = 0; i < CELLS && !ret; i++) {
		density += cell[i];
		if (sum && (sum + density) >> 20 > rows && i * width < r->end - r->start) {
			ret = add_span(w, at, r->start + i * width);
			at = r->start + i * width;
			sum = 0;
		}
		sum += density;
	}
	free(cell);
	return ret ? ret : add_span(w, at, r->end);
}

static bool is_last(const struct windows *w, size_t span)
{
	return span + 1 == w->span_count;
}

static int walk_span(struct windows *w, size_t span)
{
	struct windows_state *s = w->state;
	struct call_list *list = &s->lists[span];
	int ret = 0;

	s->span = span;
	if (!list->kept)
		ret = window_calls_load(&s->calls, span ? w->spans[span].start : 0,
					is_last(w, span) ? UINT64_MAX : w->spans[span].end, list);
	if (!ret)
		ret = window_walk_calls(&s->walk, list->calls, list->count);
	return !ret && is_last(w, span) ? window_walk_finish(&s->walk) : ret;
}

/* --- groups */

static struct slot *slot_of(const struct windows_state *s, uint64_t key)
{
	size_t i = (size_t)((key ^ key >> 31) * 0x9e3779b97f4a7c15ull >> 32);

	for (i &= s->table_size - 1; s->table[i].key && s->table[i].key != key;)
		i = (i + 1) & (s->table_size - 1);
	return &s->table[i];
}

static int grow_table(struct windows_state *s)
{
	size_t old_size = s->table_size, size = old_size ? old_size * 2 : 256;
	struct slot *old = s->table, *table = calloc(size, sizeof(*table));

	if (!table)
		return ERROR_MEMORY;
	s->table = table;
	s->table_size = size;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].key)
			*slot_of(s, old[i].key) = old[i];
	free(old);
	return 0;
}

static uint32_t feeder_of_key(uint64_t key)
{
	return (uint32_t)(key >> 32) & 0x3fffffff;
}

static void describe(const struct windows *w, uint64_t key, struct window_group *g)
{
	const struct window_walk *walk = &w->state->walk;
	const struct window_calls *calls = &w->state->calls;
	const struct feeder *feeder = &walk->feeders[feeder_of_key(key)];
	uint16_t detail = (uint16_t)key;

	*g = (struct window_group){
		.kind = (enum effect_kind)(key >> 62), .thread = feeder->thread,
		.process = walk->processes[feeder->process].process,
		.operation = window_operation(calls, (uint16_t)(key >> 16)),
		.copy_kind = WINDOWS_KIND_NONE,
	};
	if (g->kind == EFFECT_GAP) {
		g->next = window_operation(calls, detail & (GAP_FED - 1));
		g->fed = detail & GAP_FED;
	}
	if (g->kind != EFFECT_SLOW_CALL)
		return;
	if ((detail & 0xff) < CALL_KIND_OTHER)
		g->copy_kind = (uint8_t)detail;
	g->size_class = (uint8_t)(detail >> 8);
	g->synchronising = window_operation_waits(g->operation);
}

/* A new group in an empty slot; *slot stays NULL when there are too many. */
static int add_group(struct windows *w, uint64_t key, struct slot **slot)
{
	struct windows_state *s = w->state;
	size_t n = w->group_count + 1;
	struct window_group *groups;
	struct histogram *histograms;

	*slot = NULL;
	if (n > GROUPS_MAX)
		return 0;
	groups = array_reserve(w->groups, &w->group_capacity, n, sizeof(*groups));
	if (!groups)
		return ERROR_MEMORY;
	w->groups = groups;
	histograms = array_reserve(s->histograms, &s->histogram_capacity, n, sizeof(*histograms));
	if (!histograms)
		return ERROR_MEMORY;
	s->histograms = histograms;
	if (n * 2 > s->table_size && grow_table(s))
		return ERROR_MEMORY;
	describe(w, key, &groups[n - 1]);
	memset(&histograms[n - 1], 0, sizeof(*histograms));
	w->group_count = n;
	*slot = slot_of(s, key);
	**slot = (struct slot){ .key = key, .group = (uint32_t)n - 1 };
	return 0;
}

/* --- histograms */

static unsigned int power_of(uint64_t value)
{
	return value < BUCKETS ? 0 : 64 - BUCKET_BITS - (unsigned int)__builtin_clzll(value);
}

static int add_member(struct window_group *g, struct histogram *h, uint64_t value)
{
	unsigned int power = power_of(value);
	uint32_t **counts = &h->powers[power];

	g->count++;
	g->total += value;
	if (value > g->max)
		g->max = value;
	if (!*counts)
		*counts = calloc(BUCKETS, sizeof(**counts));
	if (!*counts)
		return ERROR_MEMORY;
	(*counts)[(power ? value >> (power - 1) : value) & (BUCKETS - 1)]++;
	return 0;
}

struct bucket { uint64_t low, width, middle, count; };

static struct bucket bucket_at(const struct histogram *h, unsigned int power, unsigned int i)
{
	struct bucket b = { .low = i, .width = 1, .count = h->powers[power][i] };

	if (power) {
		b.low = (uint64_t)(BUCKETS + i) << (power - 1);
		b.width = 1ull << (power - 1);
	}
	b.middle = b.low + b.width / 2;
	return b;
}

static void find_percentiles(struct window_group *g, struct histogram *h)
{
	uint64_t half = (g->count + 1) / 2, most = g->count - g->count / 100, sum = 0;

	for (unsigned int i = 0; i < POWERS * BUCKETS; i++) {
		struct bucket b;

		if (!h->powers[i / BUCKETS])
			continue;
		b = bucket_at(h, i / BUCKETS, i % BUCKETS);
		if (sum < half && sum + b.count >= half) {
			g->p50 = b.middle;
			h->normal_below = b.low + b.width;
		}
		if (sum < most && sum + b.count >= most)
			g->p99 = b.middle;
		sum += b.count;
	}
	if (g->p50 > g->max)
		g->p50 = g->max;
	if (g->p99 > g->max)
		g->p99 = g->max;
}

static bool is_slow(uint64_t value, uint64_t p50)
{
	return value && (value - 1) / WINDOWS_SLOW_FACTOR >= p50 &&
	       value - p50 >= WINDOWS_EXCESS_MIN;
}

/* A bucket is slow when its middle is: so counts are exact, and each member's case is clear. */
static void find_slow(struct window_group *g, struct histogram *h)
{
	h->slow_from = UINT64_MAX;
	for (unsigned int i = 0; i < POWERS * BUCKETS && g->count >= WINDOWS_GROUP_MIN; i++) {
		struct bucket b;

		if (!h->powers[i / BUCKETS])
			continue;
		b = bucket_at(h, i / BUCKETS, i % BUCKETS);
		if (!b.count || !is_slow(b.middle, g->p50))
			continue;
		if (h->slow_from == UINT64_MAX)
			h->slow_from = b.low;
		g->slow += b.count;
		g->lost += b.count * (b.middle - g->p50);
	}
	if (g->slow >= WINDOWS_SLOW_MIN)
		return;
	h->slow_from = UINT64_MAX;
	g->slow = g->lost = 0;
}

static void release_counts(struct histogram *h)
{
	for (unsigned int i = 0; i < POWERS; i++) {
		free(h->powers[i]);
		h->powers[i] = NULL;
	}
}

static void finish_groups(struct windows *w)
{
	for (size_t i = 0; i < w->group_count; i++) {
		struct window_group *g = &w->groups[i];
		struct histogram *h = &w->state->histograms[i];

		find_percentiles(g, h);
		if (g->kind == EFFECT_STARVATION) {
			h->normal_below = h->slow_from = 0;
			g->slow = g->count;
			g->lost = g->total;
		} else {
			find_slow(g, h);
		}
		release_counts(h);
	}
}

/* --- windows */

/* What decides about members of each group, so that no other memory is looked at for most. */
static void set_limits(struct windows_state *s, const uint64_t *wanted)
{
	for (size_t i = 0; i < s->table_size; i++) {
		struct slot *slot = &s->table[i];
		bool asked = slot->key && slot->group != GROUP_NONE &&
			     (wanted[slot->group / 64] >> slot->group % 64 & 1);

		slot->normal_below = asked ? s->histograms[slot->group].normal_below : 0;
		slot->slow_from = asked ? s->histograms[slot->group].slow_from : UINT64_MAX;
	}
}

/* Of a part of the recording in which nobody sees the process begin. */
static bool begun_before(const struct windows_state *s, uint32_t process)
{
	return s->begun && s->calls.tasks->processes[process].birth < s->calls.recording->first;
}

static bool is_initial(const struct windows *w, const struct slot *slot, const struct straddler *whole)
{
	const struct windows_state *s = w->state;
	const struct window_group *group = &w->groups[slot->group];
	const struct feeder *f = &s->walk.feeders[feeder_of_key(whole->key)];
	const struct feeding_process *p = &s->walk.processes[f->process];
	uint64_t part = p->all_work / INITIAL_PART;

	if (begun_before(s, group->process) ||
	    whole->work >= (part > INITIAL_MIN ? part : INITIAL_MIN))
		return false;
	if (group->kind != EFFECT_STARVATION && whole->start >= p->first_idle)
		return false;
	return group->count < INITIAL_KNOWN || (whole->end - whole->start) / INITIAL_LONG >= group->p50;
}

/* Add the part of a window that is inside the span to its feeder's. */
static void add_part(struct windows *w, const struct slot *slot, const struct straddler *whole)
{
	struct windows_state *s = w->state;
	const struct window_span *span = &w->spans[s->span];
	struct region *region = &s->regions[feeder_of_key(slot->key)];
	uint64_t duration = whole->end - whole->start;
	struct window part = { whole->start, whole->end, whole->start, whole->end, slot->group,
			       WINDOW_HEAD | WINDOW_TAIL };

	if ((duration >= slot->normal_below && duration < slot->slow_from) ||
	    region->count == region->room)
		return;
	part.flags |= duration < slot->normal_below ? WINDOW_NORMAL : WINDOW_SLOW;
	if (part.start < span->start) {
		part.start = span->start;
		part.flags &= ~(uint32_t)WINDOW_HEAD;
	}
	if (part.end > span->end) {
		part.end = span->end;
		part.flags &= ~(uint32_t)WINDOW_TAIL;
	}
	if ((part.flags & WINDOW_SLOW) && is_initial(w, slot, whole))
		part.flags |= WINDOW_INITIAL;
	s->out[region->first + region->count++] = part;
}

static int keep_straddler(struct windows_state *s, const struct straddler *found)
{
	struct straddler *straddlers = array_reserve(s->straddlers, &s->straddler_capacity,
						     s->straddler_count + 1, sizeof(*straddlers));

	if (!straddlers)
		return ERROR_MEMORY;
	s->straddlers = straddlers;
	straddlers[s->straddler_count++] = *found;
	return 0;
}

int windows_found(struct windows *w, uint64_t key, uint64_t start, uint64_t end, uint64_t work)
{
	struct windows_state *s = w->state;
	const struct window_span *span = &w->spans[s->span];
	bool inside = start >= span->start && end <= span->end;
	struct straddler whole = { key, start, end, work };
	struct slot *slot = slot_of(s, key);
	int ret = 0;

	if (s->loading) {
		if (inside && slot->key)
			add_part(w, slot, &whole);
		return 0;
	}
	if (!slot->key)
		ret = add_group(w, key, &slot);
	if (ret || !slot)
		return ret;
	ret = add_member(&w->groups[slot->group], &s->histograms[slot->group], end - start);
	return ret || inside ? ret : keep_straddler(s, &whole);
}

/* --- opening */

static int by_process(const void *a, const void *b)
{
	const struct feeding *x = a, *y = b;

	return (x->process > y->process) - (x->process < y->process);
}

static int make_feeding(struct windows *w)
{
	const struct window_walk *walk = &w->state->walk;

	w->feeding = calloc(walk->process_count + 1, sizeof(*w->feeding));
	if (!w->feeding)
		return ERROR_MEMORY;
	w->feeding_count = walk->process_count;
	for (size_t i = 0; i < walk->process_count; i++) {
		const struct feeding_process *p = &walk->processes[i];

		w->feeding[i] = (struct feeding){
			.process = p->process, .syncs = p->at.syncs, .work = p->all_work,
			.provable = p->at.syncs > 0,
		};
	}
	for (size_t i = 0; i < walk->feeder_count; i++) {
		const struct feeder *f = &walk->feeders[i];

		w->feeding[f->process].threads += f->feeds;
		w->feeding[f->process].span += f->feeds ? f->last - f->first : 0;
	}
	qsort(w->feeding, w->feeding_count, sizeof(*w->feeding), by_process);
	return 0;
}

/* Groups of threads that turned out not to feed: their keys stay in the table. */
static int leave_out_groups(struct windows *w)
{
	struct windows_state *s = w->state;
	uint32_t *place = calloc(w->group_count + 1, sizeof(*place));
	uint32_t n = 0;

	if (!place)
		return ERROR_MEMORY;
	for (size_t i = 0; i < w->group_count; i++) {
		struct histogram unused = s->histograms[n];

		place[i] = GROUP_NONE;
		if (!s->walk.feeders[s->walk.feeder_of[w->groups[i].thread] - 1].feeds)
			continue;
		w->groups[n] = w->groups[i];
		s->histograms[n] = s->histograms[i];
		s->histograms[i] = unused;
		place[i] = n++;
	}
	for (size_t i = 0; i < s->table_size; i++)
		if (s->table[i].key)
			s->table[i].group = place[s->table[i].group];
	for (size_t i = n; i < w->group_count; i++)
		release_counts(&s->histograms[i]);
	w->group_count = n;
	free(place);
	return 0;
}

struct numbered { uint32_t thread, feeder; };

static int by_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return (x->thread > y->thread) - (x->thread < y->thread);
}

static int order_feeders(struct windows_state *s)
{
	size_t n = s->walk.feeder_count;
	struct numbered *numbered = calloc(n + 1, sizeof(*numbered));

	s->by_thread = calloc(n + 1, sizeof(*s->by_thread));
	s->regions = calloc(n + 1, sizeof(*s->regions));
	if (!numbered || !s->by_thread || !s->regions)
		return free(numbered), ERROR_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		numbered[i] = (struct numbered){ s->walk.feeders[i].thread, i };
	qsort(numbered, n, sizeof(*numbered), by_number);
	for (size_t i = 0; i < n; i++)
		s->by_thread[i] = numbered[i].feeder;
	free(numbered);
	return 0;
}

static int all_spans(struct windows *w)
{
	struct windows_state *s = w->state;
	int ret = 0;

	s->lists = calloc(w->span_count, sizeof(*s->lists));
	if (!s->lists)
		return ERROR_MEMORY;
	for (size_t i = 0; i < w->span_count && !ret; i++) {
		ret = window_walk_save(&s->walk, i);
		if (!ret)
			ret = walk_span(w, i);
	}
	if (!ret)
		ret = window_walk_save(&s->walk, w->span_count);
	window_calls_clear(&s->calls);
	s->walk.closed = true;
	for (size_t i = 0; i < s->walk.process_count; i++) {
		struct feeding_process *p = &s->walk.processes[i];

		p->all_work = p->at.work;
		p->first_idle = p->at.syncs ? p->at.first_idle : UINT64_MAX;
	}
	for (size_t i = 0; i < s->walk.feeder_count; i++) {
		struct feeder *f = &s->walk.feeders[i];

		f->feeds = f->at.works || f->at.proofs || !s->walk.processes[f->process].all_work;
	}
	return ret;
}

static bool calls_before_span(const struct recording *r)
{
	const struct block_list *list = recording_all(r, TABLE_call);

	for (size_t i = 0; i < list->count; i++)
		if (reader_block(r->reader, list->block[i])->min_start < r->first)
			return true;
	return false;
}

int windows_open_sized(struct windows *w, struct recording *r, const struct tasks *t,
		       const struct latency *l, struct windows_sizes sizes)
{
	int ret;

	memset(w, 0, sizeof(*w));
	w->state = calloc(1, sizeof(*w->state));
	if (!w->state)
		return ERROR_MEMORY;
	w->state->begun = calls_before_span(r);
	ret = choose_spans(w, r, sizes.rows);
	if (!ret)
		ret = window_calls_open(&w->state->calls, r, t, l, sizes.keep);
	if (!ret)
		ret = window_walk_open(&w->state->walk, w, &w->state->calls, t);
	if (!ret)
		ret = grow_table(w->state);
	if (!ret)
		ret = all_spans(w);
	if (!ret)
		ret = make_feeding(w);
	if (!ret)
		ret = order_feeders(w->state);
	if (!ret)
		ret = leave_out_groups(w);
	if (!ret)
		finish_groups(w);
	return ret;
}

int windows_open(struct windows *w, struct recording *r, const struct tasks *t,
		 const struct latency *l)
{
	return windows_open_sized(w, r, t, l, (struct windows_sizes){ WINDOWS_ROWS, KEEP_CALLS });
}

static void state_release(struct windows_state *s, size_t groups)
{
	for (size_t i = 0; i < groups; i++)
		release_counts(&s->histograms[i]);
	window_calls_release(&s->calls);
	window_walk_release(&s->walk);
	free(s->histograms);
	free(s->lists);
	free(s->table);
	free(s->straddlers);
	free(s->by_thread);
	free(s->out);
	free(s->regions);
	free(s);
}

void windows_release(struct windows *w)
{
	if (w->state)
		state_release(w->state, w->group_count);
	free(w->groups);
	free(w->spans);
	free(w->feeding);
	memset(w, 0, sizeof(*w));
}

/* --- loading */

static bool crosses(const struct windows *w, size_t span, const struct straddler *whole)
{
	const struct window_span *s = &w->spans[span];

	if (whole->start == whole->end)
		return whole->start >= s->start && (whole->start < s->end || is_last(w, span));
	return whole->start < s->end && whole->end > s->start;
}

/*
 * Room for what a feeder can have in the span: a gap and a call for each call, and an idle
 * stretch in place of the calls in it, of which one may be in the span before; one more at the
 * end of the walk; and what straddles. Memory that is not written to costs nothing.
 */
static size_t lay_out(struct windows *w, size_t span)
{
	struct windows_state *s = w->state;
	const struct window_walk *walk = &s->walk;
	size_t sum = 0;

	for (size_t i = 0; i < walk->feeder_count; i++)
		s->regions[i] = (struct region){ .room = 3 };
	for (size_t i = walk->counts[span].threads; i < walk->counts[span + 1].threads; i++) {
		const struct saved_thread *saved = &walk->threads_saved[i];

		s->regions[saved->feeder].room += 2ull * saved->calls;
	}
	for (size_t i = 0; i < s->straddler_count; i++)
		s->regions[feeder_of_key(s->straddlers[i].key)].room +=
			crosses(w, span, &s->straddlers[i]);
	for (size_t i = 0; i < walk->feeder_count; i++) {
		struct region *region = &s->regions[s->by_thread[i]];

		region->first = sum;
		sum += region->room;
	}
	return sum;
}

/* As much as the largest span can need, the first time. */
static int make_room(struct windows *w)
{
	struct windows_state *s = w->state;
	size_t most = 0;

	if (s->out)
		return 0;
	for (size_t i = 0; i < w->span_count; i++) {
		size_t need = lay_out(w, i);

		most = need > most ? need : most;
	}
	s->out = window_buffer(most * sizeof(*s->out));
	return s->out ? 0 : ERROR_MEMORY;
}

static void add_straddlers(struct windows *w, size_t span, bool from_before)
{
	const struct windows_state *s = w->state;

	for (size_t i = 0; i < s->straddler_count; i++)
		if (crosses(w, span, &s->straddlers[i]) &&
		    (s->straddlers[i].start < w->spans[span].start) == from_before)
			add_part(w, slot_of(s, s->straddlers[i].key), &s->straddlers[i]);
}

static size_t close_ranks(struct windows_state *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->walk.feeder_count; i++) {
		const struct region *region = &s->regions[s->by_thread[i]];

		memmove(&s->out[n], &s->out[region->first], region->count * sizeof(*s->out));
		n += region->count;
	}
	return n;
}

int windows_load(struct windows *w, size_t span, const uint64_t *wanted, const struct window **out,
		 size_t *count)
{
	struct windows_state *s = w->state;
	int ret = make_room(w);

	*out = NULL;
	*count = 0;
	if (ret)
		return ret;
	lay_out(w, span);
	s->loading = true;
	s->span = span;
	set_limits(s, wanted);
	window_walk_restore(&s->walk, span);
	add_straddlers(w, span, true);
	ret = walk_span(w, span);
	add_straddlers(w, span, false);
	if (ret)
		return ret;
	*out = s->out;
	*count = close_ranks(s);
	return 0;
}
