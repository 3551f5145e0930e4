/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_QUANTILE_H
#define INGERO_REPORT_QUANTILE_H
/*
 * Exact nearest-rank percentiles of a multiset that need not fit into memory. The p per mille of
 * n values is value number ceil(p * n / 1000) in ascending order, in integers.
 *
 * The values are fed once per pass; each pass counts, for every rank that is wanted, the next
 * lower bits of the values that share the rank's leading bits so far, and so fixes these bits.
 * A multiset with maximum m needs ceil(bits of m / bits a pass) passes. Values are never stored,
 * order does not matter, and a value can be taken out again by quantile_remove() in each pass.
 *
 *	quantile_init(&q, n, max, permille, 3, QUANTILE_BITS);
 *	do {
 *		quantile_add(&q, values, n);
 *	} while (quantile_next(&q));
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUANTILE_BITS 11	/* a pass: histograms of 2,048 counts stay in the cache */
#define QUANTILE_TARGETS 4	/* ranks that can be asked for at once */

struct quantile {
	unsigned int count, bits, shift;
	uint64_t rank[QUANTILE_TARGETS];	/* from 1, among the values with this prefix */
	uint64_t prefix[QUANTILE_TARGETS];	/* the value's bits above shift + bits */
	unsigned int share[QUANTILE_TARGETS];	/* the first target with the same prefix */
	uint64_t *histogram;			/* count x 2^bits */
};

/* Rank of the p per mille of n values, from 1; 0 when n is 0. */
static inline uint64_t quantile_rank(uint64_t n, unsigned int permille)
{
	return n / 1000 * permille + (n % 1000 * permille + 999) / 1000;
}

/*
 * Ask for count ranks of n > 0 values of at most max. bits of 1 to 16 are fixed in a pass.
 * Returns 0 or ERROR_MEMORY; release in either case.
 */
int quantile_init(struct quantile *q, uint64_t n, uint64_t max, const unsigned int *permille,
		  unsigned int count, unsigned int bits);
void quantile_release(struct quantile *q);

void quantile_add(struct quantile *q, const uint64_t *values, size_t n);
void quantile_add32(struct quantile *q, const uint32_t *values, size_t n);
void quantile_remove(struct quantile *q, uint64_t value);
/* Add the counts of another one in the same pass, made by quantile_init() with the same numbers. */
void quantile_merge(struct quantile *q, const struct quantile *from);

/* End a pass. True: feed all values once more; false: quantile_value() holds the answers. */
bool quantile_next(struct quantile *q);
/* Copy how far from has come, with empty counts: for the helpers of the next pass. */
void quantile_follow(struct quantile *q, const struct quantile *from);

static inline uint64_t quantile_value(const struct quantile *q, unsigned int target)
{
	return q->prefix[target];
}
#endif
