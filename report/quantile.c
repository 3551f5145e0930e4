// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "../common/error.h"
#include "quantile.h"

static size_t cells(const struct quantile *q)
{
	return (size_t)1 << q->bits;
}

static uint64_t *histogram_of(const struct quantile *q, unsigned int target)
{
	return q->histogram + target * cells(q);
}

static unsigned int bits_of(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 1;
}

static void share_prefixes(struct quantile *q)
{
	for (unsigned int i = 0; i < q->count; i++) {
		q->share[i] = i;
		for (unsigned int k = 0; k < i; k++)
			if (q->prefix[k] == q->prefix[i]) {
				q->share[i] = k;
				break;
			}
	}
}

int quantile_init(struct quantile *q, uint64_t n, uint64_t max, const unsigned int *permille,
		  unsigned int count, unsigned int bits)
{
	unsigned int passes = (bits_of(max) + bits - 1) / bits;

	memset(q, 0, sizeof(*q));
	q->count = count < QUANTILE_TARGETS ? count : QUANTILE_TARGETS;
	q->bits = bits;
	q->shift = (passes - 1) * bits;
	for (unsigned int i = 0; i < q->count; i++)
		q->rank[i] = quantile_rank(n, permille[i]);
	share_prefixes(q);
	q->histogram = calloc(q->count << bits, sizeof(*q->histogram));
	return q->histogram ? 0 : ERROR_MEMORY;
}

void quantile_release(struct quantile *q)
{
	free(q->histogram);
	q->histogram = NULL;
}

/* shift + bits may reach 64 and more in the first pass, where a plain shift is undefined. */
static uint64_t leading(uint64_t value, unsigned int shift)
{
	return shift < 64 ? value >> shift : 0;
}

static inline void count_value(struct quantile *q, uint64_t value, uint64_t weight)
{
	uint64_t digit = (value >> q->shift) & (cells(q) - 1);
	uint64_t prefix = leading(value, q->shift + q->bits);

	for (unsigned int i = 0; i < q->count; i++)
		if (q->share[i] == i && q->prefix[i] == prefix)
			histogram_of(q, i)[digit] += weight;
}

void quantile_add(struct quantile *q, const uint64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		count_value(q, values[i], 1);
}

/* One prefix at a time keeps the loop free of branches over targets. */
static void count32(uint64_t *histogram, const uint32_t *values, size_t n, unsigned int shift,
		    unsigned int bits, uint64_t prefix)
{
	uint32_t mask = (1u << bits) - 1;

	for (size_t i = 0; i < n; i++)
		if (leading(values[i], shift + bits) == prefix)
			histogram[values[i] >> shift & mask]++;
}

void quantile_add32(struct quantile *q, const uint32_t *values, size_t n)
{
	for (unsigned int i = 0; i < q->count; i++) {
		if (q->share[i] != i)
			continue;
		if (q->shift < 32)
			count32(histogram_of(q, i), values, n, q->shift, q->bits, q->prefix[i]);
		else if (!q->prefix[i])
			histogram_of(q, i)[0] += n;
	}
}

void quantile_remove(struct quantile *q, uint64_t value)
{
	count_value(q, value, (uint64_t)-1);
}

void quantile_merge(struct quantile *q, const struct quantile *from)
{
	size_t n = q->count * cells(q);

	for (size_t i = 0; i < n; i++)
		q->histogram[i] += from->histogram[i];
}

static void descend(struct quantile *q, unsigned int target)
{
	const uint64_t *histogram = histogram_of(q, q->share[target]);
	uint64_t digit = 0, last = cells(q) - 1;

	while (digit < last && q->rank[target] > histogram[digit])
		q->rank[target] -= histogram[digit++];
	q->prefix[target] = q->prefix[target] << q->bits | digit;
}

bool quantile_next(struct quantile *q)
{
	for (unsigned int i = 0; i < q->count; i++)
		descend(q, i);
	if (!q->shift)
		return false;
	q->shift -= q->bits;
	share_prefixes(q);
	memset(q->histogram, 0, q->count * cells(q) * sizeof(*q->histogram));
	return true;
}

void quantile_follow(struct quantile *q, const struct quantile *from)
{
	uint64_t *histogram = q->histogram;

	*q = *from;
	q->histogram = histogram;
	memset(histogram, 0, q->count * cells(q) * sizeof(*histogram));
}
