// SPDX-License-Identifier: BSD-2-Clause
/* Ranks against a plain sort: awkward sizes, ties, extremes, both widths, values taken out. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "report/quantile.h"

#define MANY 100003

static const unsigned int permille[] = { 500, 950, 990, 999 };

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t largest(const uint64_t *values, size_t n)
{
	uint64_t max = 0;

	for (size_t i = 0; i < n; i++)
		max = values[i] > max ? values[i] : max;
	return max;
}

/* ceil(p * n / 1000) by definition. */
static uint64_t plain(const uint64_t *sorted, size_t n, unsigned int p)
{
	return sorted[(n * p + 999) / 1000 - 1];
}

static void compare(const uint64_t *values, size_t n, unsigned int bits)
{
	uint64_t *sorted = malloc(n * sizeof(*sorted));
	struct quantile q;

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), ascending);
	CHECK(quantile_init(&q, n, largest(values, n), permille, 4, bits) == 0);
	do {
		quantile_add(&q, values, n / 2);
		quantile_add(&q, values + n / 2, n - n / 2);
	} while (quantile_next(&q));
	for (unsigned int i = 0; i < 4; i++)
		CHECK(quantile_value(&q, i) == plain(sorted, n, permille[i]));
	quantile_release(&q);
	free(sorted);
}

static uint64_t shaped(unsigned int shape)
{
	switch (shape) {
	case 0:
		return next_random() % 1000;
	case 1:
		return next_random() >> (next_random() % 64);
	case 2:
		return 7;
	case 3:
		return next_random() % 2 ? UINT64_MAX : 0;
	default:
		return 20000 + next_random() % 3000;
	}
}

static void test_sizes(void)
{
	static const size_t sizes[] = { 1, 2, 3, 19, 20, 21, 99, 100, 101, 999, 1000, 1001, MANY };
	static uint64_t values[MANY];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (unsigned int shape = 0; shape < 5; shape++) {
			for (size_t k = 0; k < sizes[i]; k++)
				values[k] = shaped(shape);
			compare(values, sizes[i], QUANTILE_BITS);
			compare(values, sizes[i], 8);
		}
	}
}

static void test_ranks(void)
{
	CHECK(quantile_rank(0, 500) == 0);
	CHECK(quantile_rank(1, 500) == 1 && quantile_rank(1, 990) == 1);
	CHECK(quantile_rank(100, 990) == 99 && quantile_rank(101, 990) == 100);
	CHECK(quantile_rank(1000, 999) == 999 && quantile_rank(1001, 999) == 1000);
	CHECK(quantile_rank(1ull << 60, 999) ==
	      (uint64_t)(((unsigned __int128)999 * (1ull << 60) + 999) / 1000));
}

/* 32 and 64 bit values mixed, two helpers, and one value taken out again. */
static void test_helpers(void)
{
	static uint32_t small[5000];
	uint64_t large[3] = { 1ull << 33, 1ull << 40, UINT64_MAX }, sorted[5002];
	struct quantile q, helper;
	size_t n = 0;

	for (size_t i = 0; i < 5000; i++)
		sorted[n++] = small[i] = (uint32_t)next_random();
	sorted[n++] = large[0];
	sorted[n++] = large[2];
	qsort(sorted, n, sizeof(*sorted), ascending);
	CHECK(quantile_init(&q, n, UINT64_MAX, permille, 4, 8) == 0);
	CHECK(quantile_init(&helper, n, UINT64_MAX, permille, 4, 8) == 0);
	for (;;) {
		quantile_add32(&q, small, 1234);
		quantile_add32(&helper, small + 1234, 5000 - 1234);
		quantile_add(&helper, large, 3);
		quantile_remove(&q, large[1]);
		quantile_merge(&q, &helper);
		if (!quantile_next(&q))
			break;
		quantile_follow(&helper, &q);
	}
	for (unsigned int i = 0; i < 4; i++)
		CHECK(quantile_value(&q, i) == plain(sorted, n, permille[i]));
	quantile_release(&q);
	quantile_release(&helper);
}

int main(void)
{
	test_ranks();
	test_sizes();
	test_helpers();
	return check_result();
}
