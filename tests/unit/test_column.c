// SPDX-License-Identifier: BSD-2-Clause
#include "common/column.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "common/bytes.h"
#include "common/error.h"

#define MOST 5000

static struct column_encoder encoder;
static uint64_t v[MOST], back[MOST], spare[MOST], a[MOST], b[MOST], c[MOST];
static uint64_t state = 1;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Encode v, expect the encoding, decode from a buffer of exactly the size. */
static bool round_trip(const struct column_hint *hint, const struct column_bases *bases, uint32_t n,
		       uint8_t expected)
{
	uint8_t *out = malloc(column_bound(n)), *exact;
	struct column_encoded e;
	uint64_t min = v[0], max = v[0];
	bool good;

	column_encode(&encoder, hint, bases, v, n, out, &e);
	exact = malloc(e.size + 1);
	memcpy(exact, out, e.size);
	good = e.encoding == expected && e.size <= column_bound(n) &&
	       column_decode(&e, bases, exact, n, back, spare) == 0 &&
	       !memcmp(v, back, n * sizeof(*v));
	for (uint32_t i = 0; i < n && hint->type != TYPE_INT; i++) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
	}
	if (hint->type != TYPE_INT)
		good = good && e.min == min && e.max == max;
	free(exact);
	free(out);
	return good;
}

static const struct column_hint packed = { TYPE_UINT, ENCODING_PACKED, 0 };
static const struct column_hint delta = { TYPE_TIME, ENCODING_DELTA, 0 };
static const struct column_bases none;

static void test_constant(void)
{
	for (uint32_t i = 0; i < 100; i++)
		v[i] = 77;
	CHECK(round_trip(&packed, &none, 100, ENCODING_CONSTANT));
	CHECK(round_trip(&delta, &none, 1, ENCODING_CONSTANT));
	v[99] = 78;
	CHECK(round_trip(&packed, &none, 100, ENCODING_PACKED));
}

static void test_plain(void)
{
	for (uint32_t i = 0; i < 1000; i++)
		v[i] = random64();
	CHECK(round_trip(&packed, &none, 1000, ENCODING_PLAIN));
}

static void test_delta(void)
{
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = 1000000000 + 1000 * i + random64() % 50;
	CHECK(round_trip(&delta, &none, MOST, ENCODING_DELTA));
	CHECK(round_trip(&delta, &none, 2, ENCODING_DELTA));
	v[3] = 0;
	v[4] = UINT64_MAX;
	CHECK(round_trip(&delta, &none, MOST, ENCODING_DELTA));
	/* Steps that go up and yet round the corner of 2^64. */
	for (uint32_t i = 0; i < 6; i++)
		v[i] = i * (1ull << 62) + 7 - i;
	CHECK(round_trip(&delta, &none, 6, ENCODING_DELTA));
}

static void test_dictionary(void)
{
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = 7 + random64() % 5 * 0x123456789abull;
	CHECK(round_trip(&packed, &none, MOST, ENCODING_DICTIONARY));
	/* More different values than a dictionary holds, hidden from the sample in the middle. */
	for (uint32_t i = 0; i < 1000; i++)
		v[i] = random64() >> 20;
	CHECK(round_trip(&packed, &none, MOST, ENCODING_PACKED));
}

static void test_signed(void)
{
	static const struct column_hint hint = { TYPE_INT, ENCODING_PACKED, 0 };
	struct column_encoded e;
	uint8_t out[4096];

	for (uint32_t i = 0; i < 500; i++)
		v[i] = (uint64_t)-(int64_t)(i % 100);
	column_encode(&encoder, &hint, &none, v, 500, out, &e);
	CHECK((int64_t)e.min == -99 && e.max == 0 && e.size < 600);
	CHECK(round_trip(&hint, &none, 500, ENCODING_PACKED));
}

static void test_same_row(void)
{
	struct column_hint hint = { TYPE_UINT, ENCODING_PACKED, PREDICTION(PREDICT_SAME_ROW, 9, 0, 0) };
	struct column_bases bases = { { a, NULL, NULL } };

	for (uint32_t i = 0; i < MOST; i++) {
		a[i] = random64() >> 30;
		v[i] = i % 50 ? a[i] : random64() >> 30;
	}
	CHECK(round_trip(&hint, &bases, MOST, ENCODING_PREDICTED));
	CHECK(round_trip(&hint, &bases, 65, ENCODING_PREDICTED));
	/* A base that is not in the block is all zeros. */
	bases.base[0] = NULL;
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = i % 100 == 7 ? random64() : 0;
	CHECK(round_trip(&hint, &bases, MOST, ENCODING_PREDICTED) ||
	      round_trip(&hint, &bases, MOST, ENCODING_PACKED));
}

static void test_zero(void)
{
	for (uint32_t i = 0; i < MOST; i++)
		v[i] = random64() % 2 ? random64() >> 48 : 0;
	CHECK(round_trip(&packed, &none, MOST, ENCODING_PREDICTED));
	CHECK(round_trip(&packed, &none, 700, ENCODING_PREDICTED));
}

static void test_row_before(void)
{
	struct column_hint hint = { TYPE_UINT, ENCODING_PACKED, PREDICTION(PREDICT_ROW_BEFORE, 9, 0, 0) };
	struct column_bases bases = { { a, NULL, NULL } };

	for (uint32_t i = 0; i < MOST; i++) {
		a[i] = random64() >> 40;
		v[i] = i ? a[i - 1] : 5;
	}
	CHECK(round_trip(&hint, &bases, MOST, ENCODING_PREDICTED));
}

static void test_departure(void)
{
	struct column_hint hint = {
		TYPE_DURATION, ENCODING_PACKED, PREDICTION(PREDICT_DEPARTURE, 1, 2, 3),
	};
	struct column_bases bases = { { a, b, c } };
	uint64_t left[2000] = { 0 }, who = 0;

	for (uint32_t i = 0; i < MOST; i++) {
		a[i] = 5000000 + 700 * i + random64() % 300;
		b[i] = who;
		who = random64() % 12;
		/* Two numbers that share a slot of the predictor. */
		c[i] = who = who == 11 ? 1034 : who;
		v[i] = c[i] && left[c[i]] ? a[i] - left[c[i]] : 0;
		left[b[i]] = a[i];
	}
	CHECK(round_trip(&hint, &bases, MOST, ENCODING_PREDICTED));
}

static void decode_must_fail(uint8_t encoding, uint32_t parameter, const char *in, size_t size,
			     uint32_t n, int expected)
{
	struct column_encoded e = { .encoding = encoding, .parameter = parameter, .size = size };
	uint8_t *exact = malloc(size + 1);

	memcpy(exact, in, size);
	CHECK(column_decode(&e, &none, exact, n, back, spare) == expected);
	free(exact);
}

static void test_refusals(void)
{
	decode_must_fail(ENCODING_CONSTANT, 0, "x", 1, 3, ERROR_DAMAGED);
	decode_must_fail(ENCODING_PLAIN, 0, "1234567", 7, 1, ERROR_DAMAGED);
	decode_must_fail(ENCODING_DELTA, 0, "1234567", 7, 1, ERROR_DAMAGED);
	decode_must_fail(ENCODING_DELTA, 0, "12345678\0\0", 10, 0, ERROR_DAMAGED);
	decode_must_fail(ENCODING_DELTA, 2, "12345678\0\0", 10, 1, ERROR_UNSUPPORTED);
	decode_must_fail(ENCODING_PACKED, 0, "\0\0\0extra", 8, 1, ERROR_DAMAGED);
	decode_must_fail(ENCODING_DICTIONARY, 0, "\0\0", 2, 1, ERROR_DAMAGED);
	decode_must_fail(ENCODING_DICTIONARY, 0, "\xff\xff", 2, 1, ERROR_DAMAGED);
	/* One entry, and an index of 1. */
	decode_must_fail(ENCODING_DICTIONARY, 0, "\1\0\0\0\0\1\0\0\1", 9, 1, ERROR_DAMAGED);
	decode_must_fail(ENCODING_PREDICTED, 99, "\0\0\0\0\0\0\0\0\0\0", 10, 1, ERROR_UNSUPPORTED);
	decode_must_fail(ENCODING_PREDICTED, PREDICT_SAME_ROW, "\0\0\0", 3, 1, ERROR_DAMAGED);
	/* More exceptions in the bitmap than rows. */
	decode_must_fail(ENCODING_PREDICTED, PREDICT_SAME_ROW, "\xff\0\0\0\0\0\0\0\0\0\0", 11, 1,
			 ERROR_DAMAGED);
	/* An exception behind the last row: nothing is written there. */
	back[1] = 42;
	decode_must_fail(ENCODING_PREDICTED, PREDICT_SAME_ROW, "\2\0\0\0\0\0\0\0\0\0\0", 11, 1, 0);
	CHECK(back[0] == 0 && back[1] == 42);
	decode_must_fail(0, 0, "", 0, 1, ERROR_UNSUPPORTED);
	decode_must_fail(ENCODING_TEXT, 0, "", 0, 1, ERROR_UNSUPPORTED);
	decode_must_fail(200, 0, "", 0, 1, ERROR_UNSUPPORTED);
}

int main(void)
{
	test_constant();
	test_plain();
	test_delta();
	test_dictionary();
	test_signed();
	test_same_row();
	test_zero();
	test_row_before();
	test_departure();
	test_refusals();
	return check_result();
}
