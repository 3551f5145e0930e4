// SPDX-License-Identifier: BSD-2-Clause
/* What cannot be added up, the percentiles, comes from further passes over the calls. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "../common/options.h"
#include "detail_private.h"
#include "nearest.h"
#include "parallel.h"
#include "words.h"

#define TARGETS 2
#define MANY_BITS 8		/* where there are so many classes that 11 would take too much */
#define QUANTILE_BYTES (48u << 20)	/* for all of them at once */

static const unsigned int permille[TARGETS] = { 500, 990 };

#define DECADE(ns) (ns), 2 * (ns), 5 * (ns)
#define DECADES(ns) DECADE(ns), DECADE(10 * (ns)), DECADE(100 * (ns))

static const uint64_t bounds[DETAIL_BINS] = {
	0, DECADES(1ull), DECADES(1000ull), DECADES(1000000ull), DECADES(1000000000ull),
	DECADES(1000000000000ull), DECADES(1000000000000000ull), DECADE(1000000000000000000ull),
	10000000000000000000ull,
};

uint64_t detail_bin(size_t i)
{
	return bounds[i < DETAIL_BINS ? i : DETAIL_BINS - 1];
}

/* ---- percentiles */

static struct quantile *quantile_of(const struct detail_builder *b, unsigned int worker,
				    size_t place)
{
	if (place < b->batch_first || place - b->batch_first >= b->batch_count)
		return NULL;
	return &b->quantiles[worker * b->batch_count + place - b->batch_first];
}

static size_t place_of(const struct detail_builder *b, enum detail_partition p,
		       const struct detail_call *call)
{
	const struct class_table *t = &b->workers[0].tables[p];
	uint32_t process;
	uint64_t key = detail_key(b, p, call, &process);

	return b->base[p] + (size_t)(detail_find_class(t, process, key) - t->classes);
}

static struct detail_class *class_at(const struct detail_builder *b, size_t place)
{
	enum detail_partition p = 0;

	while (place >= b->base[p + 1])
		p++;
	return &b->workers[0].tables[p].classes[place - b->base[p]];
}

/* First calls are fed too, and taken out again by end_pass(). */
static int feed_call(struct detail_builder *b, unsigned int worker, const struct detail_call *call)
{
	uint64_t ns = call->end - call->start;

	for (enum detail_partition p = 0; call->good && p < DETAIL_PARTITIONS; p++) {
		struct quantile *q = quantile_of(b, worker, place_of(b, p, call));

		if (q && q->histogram)
			quantile_add(q, &ns, 1);
	}
	return 0;
}

static void remove_firsts(struct detail_builder *b)
{
	const struct detail_call *firsts = b->workers[0].firsts;

	for (size_t i = 0; i < b->first_count; i++) {
		for (enum detail_partition p = 0; firsts[i].first && p < DETAIL_PARTITIONS; p++) {
			struct quantile *q = quantile_of(b, 0, place_of(b, p, &firsts[i]));

			if (q && q->histogram)
				quantile_remove(q, firsts[i].end - firsts[i].start);
		}
	}
}

/* All quantiles have the same number of passes. */
static bool end_pass(struct detail_builder *b)
{
	bool more = false;

	for (size_t i = 0; i < b->batch_count; i++)
		for (unsigned int w = 1; b->quantiles[i].histogram && w < b->worker_count; w++)
			quantile_merge(&b->quantiles[i], &b->quantiles[w * b->batch_count + i]);
	remove_firsts(b);
	for (size_t i = 0; i < b->batch_count; i++) {
		struct quantile *q = &b->quantiles[i];

		if (!q->histogram)
			continue;
		more = quantile_next(q);
		for (unsigned int w = 1; more && w < b->worker_count; w++)
			quantile_follow(&b->quantiles[w * b->batch_count + i], q);
	}
	return more;
}

static int one_batch(struct detail_builder *b, unsigned int bits)
{
	size_t n = b->batch_count * b->worker_count;
	int ret = 0;

	b->quantiles = calloc(n + 1, sizeof(*b->quantiles));
	if (!b->quantiles)
		return ERROR_MEMORY;
	for (size_t i = 0; i < n && !ret; i++) {
		uint64_t count = class_at(b, b->batch_first + i % b->batch_count)->n;

		if (count)
			ret = quantile_init(&b->quantiles[i], count, b->longest, permille, TARGETS,
					    bits);
	}
	while (!ret) {
		ret = detail_each_call(b, feed_call);
		if (!ret && !end_pass(b))
			break;
	}
	for (size_t i = 0; i < b->batch_count && !ret; i++) {
		struct detail_class *c = class_at(b, b->batch_first + i);

		c->p50 = c->n ? quantile_value(&b->quantiles[i], 0) : 0;
		c->p99 = c->n ? quantile_value(&b->quantiles[i], 1) : 0;
	}
	for (size_t i = 0; i < n; i++)
		quantile_release(&b->quantiles[i]);
	free(b->quantiles);
	return ret;
}

static uint64_t longest(const struct detail_builder *b)
{
	uint64_t ns = b->workers[0].whole.max;

	for (size_t i = 0; i < b->first_count; i++)
		ns = b->firsts[i].duration > ns ? b->firsts[i].duration : ns;
	return ns;
}

static int find_percentiles(struct detail_builder *b)
{
	const size_t one = TARGETS * sizeof(uint64_t) * b->worker_count;
	unsigned int bits = QUANTILE_BITS;
	size_t all, batch;
	int ret = 0;

	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++)
		b->base[p + 1] = b->base[p] + b->workers[0].tables[p].count;
	all = b->base[DETAIL_PARTITIONS];
	if (all * (one << bits) > QUANTILE_BYTES)
		bits = MANY_BITS;
	batch = QUANTILE_BYTES / (one << bits) ? QUANTILE_BYTES / (one << bits) : 1;
	b->longest = longest(b);
	for (size_t at = 0; at < all && !ret; at += batch) {
		b->batch_first = at;
		b->batch_count = all - at < batch ? all - at : batch;
		ret = one_batch(b, bits);
	}
	return ret;
}

/* ---- the whole */

static int by_key(const void *left, const void *right)
{
	const struct detail_class *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static int by_total(const void *left, const void *right)
{
	const struct detail_class *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return by_key(left, right);
}

static void hand_out(struct detail_builder *b)
{
	struct detail *d = b->detail;
	struct detail_worker *all = &b->workers[0];

	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++) {
		bool ordered = p == DETAIL_SIZE || p == DETAIL_KIND;

		d->classes[p] = all->tables[p].classes;
		d->counts[p] = all->tables[p].count;
		d->folded[p] = atomic_load(&b->folded[p]);
		all->tables[p].classes = NULL;
		if (d->counts[p])
			qsort(d->classes[p], d->counts[p], sizeof(*d->classes[p]),
			      ordered ? by_key : by_total);
	}
	d->whole = all->whole;
	memcpy(d->bins, all->bins, sizeof(d->bins));
	d->slowest = all->slowest;
	d->slowest_count = all->slowest_count;
	all->slowest = NULL;
}

static int load_firsts(struct detail_builder *b)
{
	const struct latency *l = &b->report->latency;

	b->firsts = calloc(l->row_count + 1, sizeof(*b->firsts));
	if (!b->firsts)
		return ERROR_MEMORY;
	for (size_t i = 0; i < l->row_count; i++) {
		const struct latency_row *row = &l->rows[i];

		if (row->process == LATENCY_ALL || !row->has_first ||
		    row->operation != b->detail->row->operation)
			continue;
		b->firsts[b->first_count++] =
			(struct detail_first){ row->process, row->first_ts, row->first };
		b->last_first = row->first_ts > b->last_first ? row->first_ts : b->last_first;
	}
	return 0;
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcmp(text + n - k, end);
}

static int open_builder(struct detail_builder *b)
{
	const struct recording *rec = &b->report->recording;

	b->worker_count = parallel_workers();
	b->workers = calloc(b->worker_count, sizeof(*b->workers));
	b->without = calloc(rec->blocks[TABLE_call].count + 1, sizeof(*b->without));
	b->own_stream = calloc(rec->probe_count + 1, sizeof(*b->own_stream));
	if (!b->workers || !b->without || !b->own_stream || load_firsts(b))
		return ERROR_MEMORY;
	for (size_t i = 0; i < rec->probe_count; i++)
		b->own_stream[i] = ends_in(rec->probes[i].symbol, "_ptsz") ||
				   ends_in(rec->probes[i].symbol, "_ptds");
	for (unsigned int i = 0; i < b->worker_count; i++) {
		b->workers[i].slowest = calloc(b->slowest + 1, sizeof(struct detail_call));
		b->workers[i].firsts = calloc(b->first_count + 1, sizeof(struct detail_call));
		if (!b->workers[i].slowest || !b->workers[i].firsts)
			return ERROR_MEMORY;
	}
	return 0;
}

static void close_builder(struct detail_builder *b)
{
	for (unsigned int i = 0; b->workers && i < b->worker_count; i++) {
		struct detail_worker *w = &b->workers[i];

		for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++)
			detail_free_table(&w->tables[p]);
		free(w->slowest);
		free(w->firsts);
		columns_release(&w->columns);
	}
	free(b->workers);
	free(b->without);
	free(b->own_stream);
	free(b->firsts);
}

static int find_accounts(struct detail *d, struct report *r)
{
	d->accounts = calloc(d->slowest_count + 1, sizeof(*d->accounts));
	if (!d->accounts)
		return ERROR_MEMORY;
	for (size_t i = 0; i < d->slowest_count; i++)
		d->accounts[i] = (struct call_account){
			.process = d->slowest[i].process, .thread = d->slowest[i].thread,
			.operation = d->row->operation, .start = d->slowest[i].start,
			.end = d->slowest[i].end,
		};
	return chains_account(d->accounts, d->slowest_count, r);
}

int detail_load(struct detail *d, struct report *r, const struct latency_row *row, uint64_t slowest)
{
	struct detail_builder b = {
		.detail = d, .report = r,
		.slowest = slowest < DETAIL_SLOWEST_MAX ? slowest : DETAIL_SLOWEST_MAX,
		.operation = row->operation == &r->latency.unnamed ? 0 : row->operation->id,
	};
	int ret;

	*d = (struct detail){ .row = row };
	ret = open_builder(&b);
	if (!ret)
		ret = detail_count(&b);
	if (!ret)
		ret = find_percentiles(&b);
	if (!ret)
		hand_out(&b);
	close_builder(&b);
	return ret ? ret : find_accounts(d, r);
}

void detail_release(struct detail *d)
{
	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++)
		free(d->classes[p]);
	free(d->slowest);
	free(d->accounts);
	memset(d, 0, sizeof(*d));
}

/* ---- by name */

/* To the name as a whole, or to a part of it: that is what is often typed. */
static unsigned int distance_to(const char *known, const char *name)
{
	size_t length = strlen(name), n = strlen(known);
	unsigned int best = options_distance(name, length, known);

	for (size_t i = 0; i + length <= n; i++) {
		unsigned int part = options_distance(known + i, length, name);

		best = part < best ? part : best;
	}
	return best;
}

/* Operations that contain the name or, without any, all of them: the nearest first. */
static int hint_nearest(const struct report *r, const char *name, bool containing, struct error *e)
{
	struct near *near = calloc(r->latency.row_count + 1, sizeof(*near));
	char text[256];
	size_t n = 0;

	for (size_t i = 0; near && i < r->latency.row_count; i++) {
		const struct latency_row *row = &r->latency.rows[i];
		const char *known = row->operation->name;

		if (row->process == LATENCY_ALL && (!containing || strcasestr(known, name)))
			near[n++] = (struct near){ known, distance_to(known, name), row->calls };
	}
	nearest_text(near, n, text, sizeof(text));
	free(near);
	return n ? error_hint(e, "one of: %s", text) :
		   error_hint(e, "there is no CUDA call in %s",
			      select_any(&r->selection) ? "what was selected" : "the recording");
}

/* Rows over all processes with such a name; the last one to *row. */
static size_t matches(const struct report *r, const char *name, const struct latency_row **row,
		      bool (*match)(const char *known, const char *name))
{
	size_t n = 0;

	for (size_t i = 0; i < r->latency.row_count; i++) {
		if (r->latency.rows[i].process != LATENCY_ALL ||
		    !match(r->latency.rows[i].operation->name, name))
			continue;
		*row = &r->latency.rows[i];
		n++;
	}
	return n;
}

static bool is_same(const char *known, const char *name)
{
	return !strcmp(known, name);
}

static bool is_same_word(const char *known, const char *name)
{
	return !strcasecmp(known, name);
}

static bool contains(const char *known, const char *name)
{
	return strcasestr(known, name) != NULL;
}

int detail_find(const struct report *r, const char *option, const char *name,
		const struct latency_row **row, struct error *e)
{
	bool (*const ways[])(const char *, const char *) = { is_same, is_same_word, contains };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways) && !n; i++)
		n = matches(r, name, row, ways[i]);
	if (n == 1 || (n && is_same((*row)->operation->name, name)))
		return 0;
	error_set(e, ERROR_USAGE, n ? "option \"--%s\": \"%s\" is in several names" :
				      "option \"--%s\": \"%s\" was not called", option, name);
	return hint_nearest(r, name, n > 0, e);
}
