// SPDX-License-Identifier: BSD-2-Clause
/* The encoder's half of column.h: which encoding, and its bytes. */
#include "column.h"

#include <stdlib.h>

#include "bytes.h"

/* With fewer exceptions than one row in this many, nothing else needs trying. */
#define FEW_EXCEPTIONS 32
#define HASH_BITS 10
#define HASH_SLOTS (1u << HASH_BITS)
#define NO_SIZE SIZE_MAX

struct dictionary {
	uint64_t key[HASH_SLOTS];
	uint16_t index[HASH_SLOTS];		/* 1 more than the entry's; 0 empty */
	uint32_t count[DICTIONARY_MAX];
	unsigned int entries;
};

size_t column_bound(uint32_t n)
{
	/* The largest are a dictionary and a prediction with every row an exception. */
	return 2 + packed_bound(DICTIONARY_MAX) + packed_bound(n) + bytes_align8(n) / 8 + 8 +
	       2 * PACKED_SLACK;
}

static bool all_equal(const uint64_t *v, uint32_t n)
{
	uint64_t differs = 0;
	uint32_t i = 0;

	for (; i + 64 <= n && !differs; i += 64)
		for (uint32_t k = i; k < i + 64; k++)
			differs |= v[k] ^ v[0];
	for (; i < n && !differs; i++)
		differs |= v[i] ^ v[0];
	return !differs;
}

static void range(const uint64_t *v, uint32_t n, uint64_t flip, uint64_t *min, uint64_t *max)
{
	uint64_t lo[4], hi[4];

	for (int k = 0; k < 4; k++)
		lo[k] = hi[k] = v[0] ^ flip;
	for (uint32_t i = 0; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++) {
			uint64_t x = v[i + (uint32_t)k] ^ flip;

			lo[k] = x < lo[k] ? x : lo[k];
			hi[k] = x > hi[k] ? x : hi[k];
		}
	for (uint32_t i = n & ~3u; i < n; i++) {
		lo[0] = (v[i] ^ flip) < lo[0] ? v[i] ^ flip : lo[0];
		hi[0] = (v[i] ^ flip) > hi[0] ? v[i] ^ flip : hi[0];
	}
	for (int k = 1; k < 4; k++) {
		lo[0] = lo[k] < lo[0] ? lo[k] : lo[0];
		hi[0] = hi[k] > hi[0] ? hi[k] : hi[0];
	}
	*min = lo[0] ^ flip;
	*max = hi[0] ^ flip;
}

/* Index of x among the entries, added when new; -1 when there is no room for it. */
static int dictionary_index(struct dictionary *d, uint64_t *entries, uint64_t x)
{
	uint32_t slot = (uint32_t)((x * 0x9e3779b97f4a7c15ull) >> (64 - HASH_BITS));

	while (d->index[slot] && d->key[slot] != x)
		slot = (slot + 1) % HASH_SLOTS;
	if (!d->index[slot]) {
		if (d->entries == DICTIONARY_MAX)
			return -1;
		d->key[slot] = x;
		entries[d->entries] = x;
		d->index[slot] = (uint16_t)++d->entries;
	}
	return d->index[slot] - 1;
}

struct ranked { uint64_t entry; uint32_t count, index; };

static int by_count(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->index < y->index ? -1 : 1;
}

/* Frequent entries first: small indices make narrow groups. */
static void rank_entries(struct dictionary *d, uint64_t *entries, uint64_t *indices, uint32_t n)
{
	struct ranked ranked[DICTIONARY_MAX];
	uint64_t rank[DICTIONARY_MAX];

	for (uint32_t i = 0; i < d->entries; i++)
		ranked[i] = (struct ranked){ entries[i], d->count[i], i };
	qsort(ranked, d->entries, sizeof(ranked[0]), by_count);
	for (uint32_t i = 0; i < d->entries; i++) {
		entries[i] = ranked[i].entry;
		rank[ranked[i].index] = i;
	}
	for (uint32_t i = 0; i < n; i++)
		indices[i] = rank[indices[i]];
}

static size_t try_dictionary(struct column_encoder *c, const uint64_t *v, uint32_t n, bool is_signed)
{
	struct dictionary d;
	uint64_t last = v[0];
	int index;

	memset(d.index, 0, sizeof(d.index));
	memset(d.count, 0, sizeof(d.count));
	d.entries = 0;
	index = dictionary_index(&d, c->entries, last);
	for (uint32_t i = 0; i < n; i++) {
		if (v[i] != last) {
			last = v[i];
			index = dictionary_index(&d, c->entries, last);
			if (index < 0)
				return NO_SIZE;
		}
		c->indices[i] = (uint64_t)index;
		d.count[index]++;
	}
	rank_entries(&d, c->entries, c->indices, n);
	packed_plan(&c->entries_plan, c->entries, d.entries, is_signed);
	packed_plan(&c->indices_plan, c->indices, n, false);
	return 2 + c->entries_plan.size + c->indices_plan.size;
}

static size_t try_prediction(struct column_encoder *c, const struct column_hint *hint,
			     const struct column_bases *bases, const uint64_t *v, uint32_t n)
{
	uint32_t count = 0;

	column_predict(hint->prediction, bases, n, c->predicted);
	for (uint32_t row = 0; row < n; row += 64) {
		uint32_t end = n - row < 64 ? n : row + 64;
		uint64_t word = 0;

		for (uint32_t i = row; i < end; i++) {
			uint64_t other = v[i] != c->predicted[i];

			c->exceptions[count] = v[i];
			count += (uint32_t)other;
			word |= other << (i - row);
		}
		c->bitmap[row / 64] = word;
	}
	packed_plan(&c->exceptions_plan, c->exceptions, count, hint->type == TYPE_INT);
	return 8 * (size_t)((n + 63) / 64) + c->exceptions_plan.size;
}

static void encode_delta(struct column_encoder *c, const uint64_t *v, uint32_t n, uint8_t *out,
			 struct column_encoded *result)
{
	uint64_t negative = 0;

	for (uint32_t i = 1; i < n; i++) {
		c->differences[i - 1] = v[i] - v[i - 1];
		negative |= c->differences[i - 1];
	}
	if (negative >> 63) {
		for (uint32_t i = 0; i + 1 < n; i++) {
			uint64_t d = c->differences[i];

			c->differences[i] = d << 1 ^ -(d >> 63);
		}
		result->parameter = DELTA_ZIGZAG;
	}
	packed_plan(&c->plan, c->differences, n - 1, false);
	bytes_put64(out, v[0]);
	packed_write(&c->plan, c->differences, out + 8);
	result->encoding = ENCODING_DELTA;
	result->size = 8 + c->plan.size;
}

static void write_dictionary(const struct column_encoder *c, uint8_t *out)
{
	bytes_put16(out, (uint16_t)c->entries_plan.n);
	packed_write(&c->entries_plan, c->entries, out + 2);
	packed_write(&c->indices_plan, c->indices, out + 2 + c->entries_plan.size);
}

static void write_predicted(const struct column_encoder *c, uint32_t n, uint8_t *out)
{
	for (uint32_t i = 0; i < (n + 63) / 64; i++, out += 8)
		bytes_put64(out, c->bitmap[i]);
	packed_write(&c->exceptions_plan, c->exceptions, out);
}

static void encode_plain(const uint64_t *v, uint32_t n, uint8_t *out, struct column_encoded *result)
{
	for (uint32_t i = 0; i < n; i++)
		bytes_put64(out + 8 * (size_t)i, v[i]);
	result->encoding = ENCODING_PLAIN;
	result->size = 8 * (size_t)n;
}

static void encode_smallest(struct column_encoder *c, const struct column_hint *hint,
			    const struct column_bases *bases, const uint64_t *v, uint32_t n,
			    uint8_t *out, struct column_encoded *result)
{
	size_t packed = NO_SIZE, dictionary = NO_SIZE, predicted = NO_SIZE, best;
	bool is_signed = hint->type == TYPE_INT;

	if (hint->prediction)
		predicted = try_prediction(c, hint, bases, v, n);
	if (predicted == NO_SIZE || c->exceptions_plan.n >= n / FEW_EXCEPTIONS) {
		packed_plan(&c->plan, v, n, is_signed);
		packed = c->plan.size;
		dictionary = try_dictionary(c, v, n, is_signed);
	}
	best = packed < dictionary ? packed : dictionary;
	if (predicted < best) {
		write_predicted(c, n, out);
		result->encoding = ENCODING_PREDICTED;
		result->parameter = hint->prediction;
		result->size = predicted;
	} else if (8 * (size_t)n <= best) {
		encode_plain(v, n, out, result);
	} else if (dictionary < packed) {
		write_dictionary(c, out);
		result->encoding = ENCODING_DICTIONARY;
		result->size = dictionary;
	} else {
		packed_write(&c->plan, v, out);
		result->encoding = ENCODING_PACKED;
		result->size = packed;
	}
}

void column_encode(struct column_encoder *c, const struct column_hint *hint,
		   const struct column_bases *bases, const uint64_t *v, uint32_t n, uint8_t *out,
		   struct column_encoded *result)
{
	*result = (struct column_encoded){ .encoding = ENCODING_CONSTANT };
	if (n == 0)
		return;
	result->min = result->max = v[0];
	if (all_equal(v, n))
		return;
	range(v, n, hint->type == TYPE_INT ? 1ull << 63 : 0, &result->min, &result->max);
	if (hint->encoding == ENCODING_DELTA)
		encode_delta(c, v, n, out, result);
	else
		encode_smallest(c, hint, bases, v, n, out, result);
}
