// SPDX-License-Identifier: BSD-2-Clause
/* What encoder and decoder share, and the decoder. */
#include "column.h"

#include "bytes.h"
#include "error.h"

int column_base_count(uint32_t parameter)
{
	switch (parameter & 0xff) {
	case PREDICT_ZERO:
		return 0;
	case PREDICT_SAME_ROW:
	case PREDICT_ROW_BEFORE:
		return 1;
	case PREDICT_DEPARTURE:
		return 3;
	default:
		return -1;
	}
}

static inline uint64_t base_value(const uint64_t *base, uint32_t i)
{
	return base ? base[i] : 0;
}

/* A direct-mapped table is enough: a thread that lost its slot is merely predicted wrong. */
static void predict_departure(const struct column_bases *bases, uint32_t n, uint64_t *out)
{
	struct { uint64_t who, when; } slot[DEPARTURE_SLOTS] = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		uint64_t now = base_value(bases->base[0], i), left = base_value(bases->base[1], i);
		uint64_t came = base_value(bases->base[2], i);
		uint64_t at = came % DEPARTURE_SLOTS;

		out[i] = came && slot[at].who == came ? now - slot[at].when : 0;
		slot[left % DEPARTURE_SLOTS].who = left;
		slot[left % DEPARTURE_SLOTS].when = now;
	}
}

void column_predict(uint32_t parameter, const struct column_bases *bases, uint32_t n, uint64_t *out)
{
	const uint64_t *base = bases->base[0];
	uint32_t predictor = parameter & 0xff;

	if (n == 0)
		return;
	if (predictor == PREDICT_DEPARTURE) {
		predict_departure(bases, n, out);
	} else if (predictor == PREDICT_ZERO || !base) {
		memset(out, 0, n * sizeof(*out));
	} else if (predictor == PREDICT_SAME_ROW) {
		memcpy(out, base, n * sizeof(*out));
	} else {
		out[0] = 0;
		memcpy(out + 1, base, (n - 1) * sizeof(*out));
	}
}

static int decode_plain(const uint8_t *in, size_t size, uint32_t n, uint64_t *v)
{
	if (size != 8 * (size_t)n)
		return ERROR_DAMAGED;
	for (uint32_t i = 0; i < n; i++)
		v[i] = bytes_get64(in + 8 * (size_t)i);
	return 0;
}

static int decode_packed(const uint8_t *in, size_t size, uint32_t n, uint64_t *v)
{
	size_t used;

	if (packed_read(in, size, n, v, &used) || used != size)
		return ERROR_DAMAGED;
	return 0;
}

static int decode_delta(uint32_t parameter, const uint8_t *in, size_t size, uint32_t n, uint64_t *v)
{
	uint64_t sum;

	if (n == 0 || size < 8)
		return ERROR_DAMAGED;
	if (parameter > DELTA_ZIGZAG)
		return ERROR_UNSUPPORTED;
	if (decode_packed(in + 8, size - 8, n - 1, v + 1))
		return ERROR_DAMAGED;
	v[0] = sum = bytes_get64(in);
	if (parameter == DELTA_ZIGZAG)
		for (uint32_t i = 1; i < n; i++)
			v[i] = sum += (v[i] >> 1) ^ -(v[i] & 1);
	else
		for (uint32_t i = 1; i < n; i++)
			v[i] = sum += v[i];
	return 0;
}

static int decode_dictionary(const uint8_t *in, size_t size, uint32_t n, uint64_t *v)
{
	uint64_t entry[DICTIONARY_MAX];
	unsigned int entries = size >= 2 ? bytes_get16(in) : 0;
	size_t used;

	if (entries == 0 || entries > DICTIONARY_MAX)
		return ERROR_DAMAGED;
	if (packed_read(in + 2, size - 2, entries, entry, &used))
		return ERROR_DAMAGED;
	if (decode_packed(in + 2 + used, size - 2 - used, n, v))
		return ERROR_DAMAGED;
	for (uint32_t i = 0; i < n; i++) {
		if (v[i] >= entries)
			return ERROR_DAMAGED;
		v[i] = entry[v[i]];
	}
	return 0;
}

static uint32_t bitmap_count(const uint8_t *bitmap, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words; i++)
		count += (uint32_t)__builtin_popcountll(bytes_get64(bitmap + 8 * (size_t)i));
	return count;
}

static void place_exceptions(const uint8_t *bitmap, uint32_t n, uint32_t count,
			     const uint64_t *exception, uint64_t *v)
{
	uint32_t next = 0;

	for (uint32_t row = 0; row < n; row += 64) {
		uint64_t word = bytes_get64(bitmap + row / 8);

		for (; word && next < count; word &= word - 1) {
			uint32_t at = row + (uint32_t)__builtin_ctzll(word);

			if (at < n)
				v[at] = exception[next++];
		}
	}
}

static int decode_predicted(uint32_t parameter, const struct column_bases *bases,
			    const uint8_t *in, size_t size, uint32_t n, uint64_t *v,
			    uint64_t *exception)
{
	uint32_t words = (n + 63) / 64, count;
	size_t bitmap = 8 * (size_t)words;

	if (column_base_count(parameter) < 0)
		return ERROR_UNSUPPORTED;
	if (size < bitmap)
		return ERROR_DAMAGED;
	count = bitmap_count(in, words);
	if (count > n || decode_packed(in + bitmap, size - bitmap, count, exception))
		return ERROR_DAMAGED;
	column_predict(parameter, bases, n, v);
	place_exceptions(in, n, count, exception, v);
	return 0;
}

int column_decode(const struct column_encoded *what, const struct column_bases *bases,
		  const uint8_t *in, uint32_t n, uint64_t *v, uint64_t *scratch)
{
	switch (what->encoding) {
	case ENCODING_CONSTANT:
		if (what->size != 0 || what->min != what->max)
			return ERROR_DAMAGED;
		for (uint32_t i = 0; i < n; i++)
			v[i] = what->min;
		return 0;
	case ENCODING_PLAIN:
		return decode_plain(in, what->size, n, v);
	case ENCODING_PACKED:
		return decode_packed(in, what->size, n, v);
	case ENCODING_DELTA:
		return decode_delta(what->parameter, in, what->size, n, v);
	case ENCODING_DICTIONARY:
		return decode_dictionary(in, what->size, n, v);
	case ENCODING_PREDICTED:
		return decode_predicted(what->parameter, bases, in, what->size, n, v,
					scratch);
	default:
		return ERROR_UNSUPPORTED;
	}
}
