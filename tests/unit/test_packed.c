// SPDX-License-Identifier: BSD-2-Clause
#include "common/packed.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "common/error.h"

static uint64_t state = 88172645463325252ull;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t v[FORMAT_MAX_ROWS], back[FORMAT_MAX_ROWS + 1];
static struct packed_plan plan;
static uint8_t stream[FORMAT_MAX_ROWS * 9 + 65536];

/* There and back; nothing but the n values may be written on the way back. */
static bool round_trip(uint32_t n, bool is_signed)
{
	size_t used = 0;

	packed_plan(&plan, v, n, is_signed);
	memset(stream, 0xa5, plan.size + PACKED_SLACK);
	packed_write(&plan, v, stream);
	back[n] = 0x1234567890abcdef;
	return plan.size <= packed_bound(n) &&
	       packed_read(stream, plan.size, n, back, &used) == 0 && used == plan.size &&
	       !memcmp(v, back, n * sizeof(*v)) && back[n] == 0x1234567890abcdef;
}

static void test_widths(void)
{
	static const uint32_t sizes[] = { 0, 1, 2, 7, 8, 9, 127, 128, 129, 255, 256, 1000 };

	for (unsigned int width = 0; width <= 64; width++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			uint64_t mask = width ? ~0ull >> (64 - width) : 0, base = random64();

			for (uint32_t i = 0; i < sizes[s]; i++)
				v[i] = base + (random64() & mask);
			CHECK(round_trip(sizes[s], false));
			CHECK(round_trip(sizes[s], true));
		}
}

/* A few large values among small ones, at every width of both. */
static void test_patches(void)
{
	for (unsigned int low = 0; low < 64; low += 3)
		for (unsigned int high = low; high <= 63; high += 5) {
			for (uint32_t i = 0; i < 300; i++)
				v[i] = (random64() & ((1ull << low) - 1)) |
				       (random64() % 40 ? 0 : random64() >> (63 - high));
			CHECK(round_trip(300, false));
		}
	for (uint32_t i = 0; i < 128; i++)
		v[i] = i == 64 ? 1ull << 40 : i % 8;
	packed_plan(&plan, v, 128, false);
	CHECK(plan.patched && plan.width[0] == 3 && plan.count[0] == 1);
}

static void test_signed(void)
{
	for (uint32_t i = 0; i < 200; i++)
		v[i] = i % 10 ? 0 : (uint64_t)-1;
	packed_plan(&plan, v, 200, true);
	CHECK(plan.width[0] == 1 && plan.min == (uint64_t)-1 && plan.max == 0);
	CHECK(round_trip(200, true));
	packed_plan(&plan, v, 200, false);
	CHECK(plan.min == 0 && plan.max == (uint64_t)-1);
}

static void test_range(void)
{
	uint64_t min, max;

	for (uint32_t i = 0; i < 1000; i++)
		v[i] = 5000 + i % 700;
	v[777] = 3;
	v[131] = UINT64_MAX;
	packed_range(v, 1000, false, &min, &max);
	CHECK(min == 3 && max == UINT64_MAX);
	packed_range(v, 1000, true, &min, &max);
	CHECK(min == UINT64_MAX && max == 5699);
	packed_range(v, 1, false, &min, &max);
	CHECK(min == 5000 && max == 5000);
}

static void test_largest(void)
{
	for (uint32_t i = 0; i < FORMAT_MAX_ROWS; i++)
		v[i] = random64();
	CHECK(round_trip(FORMAT_MAX_ROWS, false));
}

/* The stream in a buffer of exactly its size, so that a sanitizer sees a read beyond it. */
static int read_exactly(size_t size, uint32_t n)
{
	uint8_t *exact = malloc(size ? size : 1);
	size_t used;
	int err;

	memcpy(exact, stream, size);
	err = packed_read(exact, size, n, back, &used);
	free(exact);
	return err;
}

static void test_cut(void)
{
	for (uint32_t i = 0; i < 200; i++)
		v[i] = random64() >> (random64() % 30 ? 50 : 10);
	CHECK(round_trip(200, false));
	for (size_t size = 0; size < plan.size; size++)
		CHECK(read_exactly(size, 200) == ERROR_DAMAGED);
	CHECK(read_exactly(plan.size, 200) == 0);
}

/* Any byte may be anything: the answer is right or ERROR_DAMAGED, never a crash. */
static void test_garbage(void)
{
	for (int turn = 0; turn < 20000; turn++) {
		uint32_t n = (uint32_t)(random64() % 300);
		size_t size = random64() % 600;

		for (size_t i = 0; i < size; i++)
			stream[i] = (uint8_t)(random64() >> (random64() % 8 * 8) & 0x3f);
		if (size > 1) {
			stream[0] %= 10;
			stream[1] %= 2;
		}
		CHECK(read_exactly(size, n) <= 0);
	}
}

int main(void)
{
	test_widths();
	test_patches();
	test_signed();
	test_range();
	test_largest();
	test_cut();
	test_garbage();
	return check_result();
}
