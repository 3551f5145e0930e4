// SPDX-License-Identifier: BSD-2-Clause
/* The encoder's half of column.h: which encoding, and its bytes. */
#include "column.h"

#include <stdlib.h>

#include "bytes.h"

/* Longer columns are judged by this many rows out of their middle. */
#define SAMPLE 1024u
/* How much larger than the sample promised a column may turn out before it is judged again. */
#define SURPRISE(size) ((size) + (size) / 4 + 64)
#define HASH_BITS 10		/* at most a quarter full */
#define HASH_SLOTS (1u << HASH_BITS)
#define NO_SIZE SIZE_MAX

/* The values met so far; index is 1 more than the entry's, 0 for an empty slot. */
struct dictionary {
	uint64_t key[HASH_SLOTS];
	uint16_t index[HASH_SLOTS];
	unsigned int entries;
};

struct choice {
	uint8_t encoding;
	uint32_t prediction;
	size_t size;
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

static inline uint32_t slot_of(uint64_t x)
{
	return (uint32_t)((x * 0x9e3779b97f4a7c15ull) >> (64 - HASH_BITS));
}

/* Index of x among the entries, added when new; -1 when there is no room for it. */
static int dictionary_search(struct dictionary *d, uint64_t *entries, uint64_t x)
{
	uint32_t slot = slot_of(x);

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

static inline int dictionary_index(struct dictionary *d, uint64_t *entries, uint64_t x)
{
	uint32_t slot = slot_of(x);

	if (__builtin_expect(d->index[slot] && d->key[slot] == x, 1))
		return d->index[slot] - 1;
	return dictionary_search(d, entries, x);
}

struct ranked { uint64_t entry; uint32_t count, index; };

static int by_count(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->index < y->index ? -1 : 1;
}

/*
 * Start with what a sample holds, frequent entries first: small indices make narrow groups.
 * False when the sample alone has too many.
 */
static bool dictionary_begin(struct dictionary *d, uint64_t *entries, const uint64_t *v, uint32_t n)
{
	struct ranked ranked[DICTIONARY_MAX];
	uint32_t count[DICTIONARY_MAX] = { 0 }, found;

	memset(d->index, 0, sizeof(d->index));
	d->entries = 0;
	for (uint32_t i = 0; i < n; i++) {
		int index = dictionary_index(d, entries, v[i]);

		if (index < 0)
			return false;
		count[index]++;
	}
	found = d->entries;
	for (uint32_t i = 0; i < found; i++)
		ranked[i] = (struct ranked){ entries[i], count[i], i };
	qsort(ranked, found, sizeof(ranked[0]), by_count);
	memset(d->index, 0, sizeof(d->index));
	d->entries = 0;
	for (uint32_t i = 0; i < found; i++)
		dictionary_search(d, entries, ranked[i].entry);
	return true;
}

/* Rows out of the middle of n that stand for all. */
static uint32_t sample_of(uint32_t n, uint32_t *first)
{
	*first = n > 2 * SAMPLE ? n / 2 - SAMPLE / 2 : 0;
	return n > 2 * SAMPLE ? SAMPLE : n;
}

/* Size as a dictionary, prepared in c; NO_SIZE when there are too many entries. */
static size_t try_dictionary(struct column_encoder *c, const uint64_t *v, uint32_t n,
			     bool is_signed)
{
	uint32_t first, sample = sample_of(n, &first);
	struct dictionary d;

	if (!dictionary_begin(&d, c->entries, v + first, sample))
		return NO_SIZE;
	for (uint32_t i = 0; i < n; i++) {
		int index = dictionary_index(&d, c->entries, v[i]);

		if (index < 0)
			return NO_SIZE;
		c->indices[i] = (uint64_t)index;
	}
	packed_plan(&c->entries_plan, c->entries, d.entries, is_signed);
	packed_plan(&c->indices_plan, c->indices, n, false);
	return 2 + c->entries_plan.size + c->indices_plan.size;
}

/* Size with the prediction and a list of exceptions, prepared in c. */
static size_t try_prediction(struct column_encoder *c, uint32_t prediction,
			     const struct column_bases *bases, const uint64_t *v, uint32_t n,
			     bool is_signed)
{
	uint32_t count = 0;

	c->prediction = prediction;
	column_predict(prediction, bases, n, c->predicted);
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
	packed_plan(&c->exceptions_plan, c->exceptions, count, is_signed);
	return 8 * (size_t)((n + 63) / 64) + c->exceptions_plan.size;
}

static void encode_delta(struct column_encoder *c, const uint64_t *v, uint32_t n, bool is_signed,
			 uint8_t *out, struct column_encoded *result)
{
	uint64_t all = 0;

	for (uint32_t i = 1; i < n; i++) {
		c->differences[i - 1] = v[i] - v[i - 1];
		all |= c->differences[i - 1];
	}
	if (all >> 63) {
		for (uint32_t i = 0; i + 1 < n; i++) {
			uint64_t d = c->differences[i];

			c->differences[i] = d << 1 ^ -(d >> 63);
		}
		result->parameter = DELTA_ZIGZAG;
	}
	/* So small that their sum cannot pass 2^64: ascending, and min is the first already. */
	if (all >> 46 == 0 && v[0] >> 63 == 0)
		result->max = v[n - 1];
	else
		packed_range(v, n, is_signed, &result->min, &result->max);
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

/* Whether a prediction of 0 may be worth its bitmap: not for columns without zeros. */
static bool has_zeros(const uint64_t *v, uint32_t n)
{
	uint32_t first, sample = sample_of(n, &first), zeros = 0;

	for (uint32_t i = first; i < first + sample; i++)
		zeros += v[i] == 0;
	return zeros > sample / 8;
}

/* One encoding of n rows, prepared in c; NO_SIZE when it is not possible. */
static size_t prepare(struct column_encoder *c, uint8_t encoding, uint32_t prediction,
		      const struct column_hint *hint, const struct column_bases *bases,
		      const uint64_t *v, uint32_t n)
{
	bool is_signed = hint->type == TYPE_INT;

	switch (encoding) {
	case ENCODING_PACKED:
		packed_plan(&c->plan, v, n, is_signed);
		return c->plan.size;
	case ENCODING_DICTIONARY:
		return try_dictionary(c, v, n, is_signed);
	default:
		if (!prediction || (prediction == PREDICT_ZERO && !has_zeros(v, n)))
			return NO_SIZE;
		return try_prediction(c, prediction, bases, v, n, is_signed);
	}
}

/* The smallest encoding of n rows, prepared in c. */
static struct choice choose(struct column_encoder *c, const struct column_hint *hint,
			    const struct column_bases *bases, const uint64_t *v, uint32_t n)
{
	const struct choice candidates[] = {
		{ ENCODING_PACKED, 0, 0 }, { ENCODING_DICTIONARY, 0, 0 },
		{ ENCODING_PREDICTED, PREDICT_ZERO, 0 }, { ENCODING_PREDICTED, hint->prediction, 0 },
	};
	struct choice best = { ENCODING_PLAIN, 0, 8 * (size_t)n };

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		struct choice other = candidates[i];

		other.size = prepare(c, other.encoding, other.prediction, hint, bases, v, n);
		if (other.size < best.size)
			best = other;
	}
	/* Both predictions are prepared in one place: the other one may be there now. */
	if (best.encoding == ENCODING_PREDICTED && c->prediction != best.prediction)
		prepare(c, best.encoding, best.prediction, hint, bases, v, n);
	return best;
}

static struct choice choose_by_sample(struct column_encoder *c, const struct column_hint *hint,
				      const struct column_bases *bases, const uint64_t *v,
				      uint32_t n)
{
	struct column_bases middle = *bases;
	uint32_t first, sample = sample_of(n, &first);
	struct choice choice;
	size_t promised;

	if (sample == n)
		return choose(c, hint, bases, v, n);
	for (int i = 0; i < 3; i++)
		if (middle.base[i])
			middle.base[i] += first;
	choice = choose(c, hint, &middle, v + first, sample);
	if (choice.encoding == ENCODING_PLAIN)
		return choose(c, hint, bases, v, n);
	promised = choice.size * n / sample;
	choice.size = prepare(c, choice.encoding, choice.prediction, hint, bases, v, n);
	if (choice.size > SURPRISE(promised))
		return choose(c, hint, bases, v, n);
	return choice;
}

static void encode_smallest(struct column_encoder *c, const struct column_hint *hint,
			    const struct column_bases *bases, const uint64_t *v, uint32_t n,
			    uint8_t *out, struct column_encoded *result)
{
	struct choice choice = choose_by_sample(c, hint, bases, v, n);

	result->encoding = choice.encoding;
	result->size = choice.size;
	switch (result->encoding) {
	case ENCODING_PREDICTED:
		result->parameter = choice.prediction;
		write_predicted(c, n, out);
		packed_range(v, n, hint->type == TYPE_INT, &result->min, &result->max);
		break;
	case ENCODING_DICTIONARY:
		write_dictionary(c, out);
		result->min = c->entries_plan.min;
		result->max = c->entries_plan.max;
		break;
	case ENCODING_PACKED:
		packed_write(&c->plan, v, out);
		result->min = c->plan.min;
		result->max = c->plan.max;
		break;
	default:
		encode_plain(v, n, out, result);
		packed_range(v, n, hint->type == TYPE_INT, &result->min, &result->max);
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
	if (hint->encoding == ENCODING_DELTA)
		encode_delta(c, v, n, hint->type == TYPE_INT, out, result);
	else
		encode_smallest(c, hint, bases, v, n, out, result);
}
