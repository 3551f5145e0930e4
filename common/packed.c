// SPDX-License-Identifier: BSD-2-Clause
#include "packed.h"

#include "bytes.h"
#include "error.h"

/* A patch takes eight bits for its position beside the bits it saves. */
#define POSITION_BITS 8
/* Narrower groups have nothing to gain from patches. */
#define PATCH_MIN_WIDTH 3

struct group {
	unsigned int width, count, high;
	uint64_t reference;
};

static uint32_t group_count(uint32_t n)
{
	return (n + PACKED_GROUP - 1) / PACKED_GROUP;
}

static size_t bit_bytes(size_t values, unsigned int width)
{
	return (values * width + 7) / 8;
}

static size_t group_bytes(uint32_t m, unsigned int width, unsigned int count, unsigned int high)
{
	return bit_bytes(m, width) + count + bit_bytes(count, high);
}

/* v[i] ^ flip orders signed numbers as unsigned ones when flip is the sign bit. */
static void group_range(const uint64_t *v, uint32_t m, uint64_t flip, uint64_t *min, uint64_t *max)
{
	uint64_t lo0 = v[0] ^ flip, hi0 = lo0, lo1 = lo0, hi1 = lo0;
	uint32_t i;

	for (i = 0; i + 1 < m; i += 2) {
		uint64_t a = v[i] ^ flip, b = v[i + 1] ^ flip;

		lo0 = a < lo0 ? a : lo0;
		hi0 = a > hi0 ? a : hi0;
		lo1 = b < lo1 ? b : lo1;
		hi1 = b > hi1 ? b : hi1;
	}
	if (i < m) {
		uint64_t a = v[i] ^ flip;

		lo0 = a < lo0 ? a : lo0;
		hi0 = a > hi0 ? a : hi0;
	}
	*min = (lo0 < lo1 ? lo0 : lo1) ^ flip;
	*max = (hi0 > hi1 ? hi0 : hi1) ^ flip;
}

/* The width that makes the group smallest, with what does not fit in it as patches. */
static void group_patch(struct group *g, const uint64_t *v, uint32_t m)
{
	uint8_t histogram[2][65] = { 0 };
	unsigned int full = g->width, over = 0;
	size_t best = (size_t)m * full;
	uint32_t i;

	for (i = 0; i + 1 < m; i += 2) {
		histogram[0][bits_of(v[i] - g->reference)]++;
		histogram[1][bits_of(v[i + 1] - g->reference)]++;
	}
	if (i < m)
		histogram[0][bits_of(v[i] - g->reference)]++;
	for (unsigned int w = full; w-- > 0;) {
		size_t cost;

		over += histogram[0][w + 1] + histogram[1][w + 1];
		cost = (size_t)m * w + over * (POSITION_BITS + full - w);
		if (cost < best) {
			best = cost;
			g->width = w;
			g->count = over;
			g->high = full - w;
		}
	}
}

void packed_plan(struct packed_plan *plan, const uint64_t *v, uint32_t n, bool is_signed)
{
	uint64_t flip = is_signed ? 1ull << 63 : 0, references = 0, max;
	uint32_t groups = group_count(n), patches = 0;
	size_t data = 0;

	for (uint32_t i = 0; i < groups; i++) {
		const uint64_t *at = v + (size_t)i * PACKED_GROUP;
		uint32_t left = n - i * PACKED_GROUP, m = left < PACKED_GROUP ? left : PACKED_GROUP;
		struct group g = { 0 };

		group_range(at, m, flip, &g.reference, &max);
		g.width = bits_of(max - g.reference);
		if (g.width >= PATCH_MIN_WIDTH)
			group_patch(&g, at, m);
		plan->width[i] = (uint8_t)g.width;
		plan->count[i] = (uint8_t)g.count;
		plan->high[i] = (uint8_t)g.high;
		plan->reference[i] = g.reference;
		references |= g.reference;
		patches += g.count;
		data += group_bytes(m, g.width, g.count, g.high);
	}
	plan->n = n;
	plan->patched = patches > 0;
	plan->reference_bytes = (uint8_t)((bits_of(references) + 7) / 8);
	plan->size = 2 + (size_t)groups * ((plan->patched ? 3 : 1) + plan->reference_bytes) + data;
}

size_t packed_bound(uint32_t n)
{
	return 2 + (size_t)group_count(n) * 11 + 8 * (size_t)n;
}

/* Any width, one value at a time. */
static void pack_any(const uint64_t *v, uint32_t m, uint64_t reference, unsigned int w, uint8_t *out)
{
	uint64_t mask = bits_mask(w), word = 0;
	unsigned int fill = 0;
	size_t size = bit_bytes(m, w), done = 0;

	if (w == 0)
		return;
	for (uint32_t i = 0; i < m; i++) {
		uint64_t x = (v[i] - reference) & mask;

		word |= x << fill;
		if (fill + w >= 64) {
			bytes_put64(out + done, word);
			done += 8;
			word = fill ? x >> (64 - fill) : 0;
			fill = fill + w - 64;
		} else {
			fill += w;
		}
	}
	bytes_put_n(out + done, word, (unsigned int)(size - done));
}

/*
 * Eight values of w bits fill w bytes, so with w known every shift is a constant. A step stores
 * eight bytes, of which the later ones are overwritten by the next step.
 */
#define PACK_STEP(W, k) \
	word |= ((v[k] - reference) & mask) << (((k) * (W)) & 7); \
	bytes_put64(out + (((k) * (W)) >> 3), word); \
	word >>= (((k) * (W) & 7) + (W)) & ~7u;
#define PACK_CASE(W) \
	case W: \
		for (; i + 8 <= m; i += 8, v += 8, out += (W)) { \
			const uint64_t mask = (1ull << (W)) - 1; \
			uint64_t word = 0; \
			PACK_STEP(W, 0) PACK_STEP(W, 1) PACK_STEP(W, 2) PACK_STEP(W, 3) \
			PACK_STEP(W, 4) PACK_STEP(W, 5) PACK_STEP(W, 6) PACK_STEP(W, 7) \
		} \
		break;
#define CASES_8(C, a) C(a) C(a + 1) C(a + 2) C(a + 3) C(a + 4) C(a + 5) C(a + 6) C(a + 7)

/* out has PACKED_SLACK bytes behind the packed ones. */
static void pack(const uint64_t *v, uint32_t m, uint64_t reference, unsigned int w, uint8_t *out)
{
	uint32_t i = 0;

	switch (w) {
	CASES_8(PACK_CASE, 1)
	CASES_8(PACK_CASE, 9)
	CASES_8(PACK_CASE, 17)
	CASES_8(PACK_CASE, 25)
	CASES_8(PACK_CASE, 33)
	default:
		break;
	}
	pack_any(v, m - i, reference, w, out);
}

static uint8_t *write_patches(const struct group *g, const uint64_t *v, uint32_t m, uint8_t *out)
{
	uint64_t high[PACKED_GROUP];
	unsigned int found = 0;

	for (uint32_t i = 0; i < m && found < g->count; i++) {
		uint64_t over = (v[i] - g->reference) >> g->width;

		out[found] = (uint8_t)i;
		high[found] = over;
		found += over != 0;
	}
	out += g->count;
	pack(high, g->count, 0, g->high, out);
	return out + bit_bytes(g->count, g->high);
}

void packed_write(const struct packed_plan *plan, const uint64_t *v, uint8_t *out)
{
	uint32_t groups = group_count(plan->n);

	*out++ = plan->reference_bytes;
	*out++ = plan->patched;
	memcpy(out, plan->width, groups);
	out += groups;
	if (plan->patched) {
		memcpy(out, plan->count, groups);
		memcpy(out + groups, plan->high, groups);
		out += 2 * (size_t)groups;
	}
	for (uint32_t i = 0; i < groups; i++, out += plan->reference_bytes)
		bytes_put_n(out, plan->reference[i], plan->reference_bytes);
	for (uint32_t i = 0; i < groups; i++, v += PACKED_GROUP) {
		uint32_t left = plan->n - i * PACKED_GROUP;
		uint32_t m = left < PACKED_GROUP ? left : PACKED_GROUP;
		struct group g = { plan->width[i], plan->count[i], plan->high[i], plan->reference[i] };

		pack(v, m, g.reference, g.width, out);
		out += bit_bytes(m, g.width);
		if (g.count)
			out = write_patches(&g, v, m, out);
	}
}

/* Widths above 56 bits: a value may span nine bytes. in has 16 readable bytes behind the values. */
static void unpack_wide(const uint8_t *in, uint32_t m, uint64_t reference, unsigned int w, uint64_t *v)
{
	uint64_t mask = bits_mask(w);

	for (uint32_t i = 0; i < m; i++) {
		size_t bit = (size_t)i * w;
		unsigned int shift = bit & 7;
		uint64_t x = bytes_get64(in + bit / 8) >> shift;

		if (shift)
			x |= (uint64_t)in[bit / 8 + 8] << (64 - shift);
		v[i] = reference + (x & mask);
	}
}

#define UNPACK_STEP(W, k) \
	v[k] = reference + ((bytes_get64(in + (((k) * (W)) >> 3)) >> (((k) * (W)) & 7)) & mask);
#define UNPACK_CASE(W) \
	case W: \
		for (uint32_t i = 0; i < m; i += 8, v += 8, in += (W)) { \
			const uint64_t mask = (1ull << (W)) - 1; \
			UNPACK_STEP(W, 0) UNPACK_STEP(W, 1) UNPACK_STEP(W, 2) UNPACK_STEP(W, 3) \
			UNPACK_STEP(W, 4) UNPACK_STEP(W, 5) UNPACK_STEP(W, 6) UNPACK_STEP(W, 7) \
		} \
		break;

/* Writes m values rounded up to eight; in has 16 readable bytes behind the packed ones. */
static void unpack(const uint8_t *in, uint32_t m, uint64_t reference, unsigned int w, uint64_t *v)
{
	switch (w) {
	case 0:
		for (uint32_t i = 0; i < m; i++)
			v[i] = reference;
		break;
	CASES_8(UNPACK_CASE, 1)
	CASES_8(UNPACK_CASE, 9)
	CASES_8(UNPACK_CASE, 17)
	CASES_8(UNPACK_CASE, 25)
	CASES_8(UNPACK_CASE, 33)
	CASES_8(UNPACK_CASE, 41)
	CASES_8(UNPACK_CASE, 49)
	default:
		unpack_wide(in, m, reference, w, v);
	}
}

static int read_patches(const struct group *g, const uint8_t *in, uint32_t m, uint64_t *v)
{
	uint8_t padded[PACKED_GROUP * 8 + PACKED_SLACK];
	uint64_t high[PACKED_GROUP];

	memcpy(padded, in + g->count, bit_bytes(g->count, g->high));
	unpack(padded, g->count, 0, g->high, high);
	for (unsigned int i = 0; i < g->count; i++) {
		if (in[i] >= m)
			return ERROR_DAMAGED;
		v[in[i]] += high[i] << g->width;
	}
	return 0;
}

/* The last group, or one too near the end of the input to be read eight bytes at a time. */
static void unpack_padded(const struct group *g, const uint8_t *in, uint32_t m, uint64_t *v)
{
	uint8_t padded[PACKED_GROUP * 8 + PACKED_SLACK];
	uint64_t full[PACKED_GROUP];

	memcpy(padded, in, bit_bytes(m, g->width));
	unpack(padded, m, g->reference, g->width, full);
	memcpy(v, full, m * sizeof(*v));
}

static int read_group(const struct group *g, const uint8_t *in, size_t size, uint32_t m, uint64_t *v)
{
	size_t low = bit_bytes(m, g->width);

	if (m == PACKED_GROUP && low + PACKED_SLACK <= size)
		unpack(in, m, g->reference, g->width, v);
	else
		unpack_padded(g, in, m, v);
	return g->count ? read_patches(g, in + low, m, v) : 0;
}

int packed_read(const uint8_t *in, size_t size, uint32_t n, uint64_t *v, size_t *used)
{
	uint32_t groups = group_count(n);
	unsigned int reference_bytes = size >= 2 ? in[0] : 9, patched = size >= 2 ? in[1] : 2;
	size_t at = 2 + (size_t)groups * ((patched ? 3 : 1) + reference_bytes);
	const uint8_t *width = in + 2, *references = width + (size_t)groups * (patched ? 3 : 1);

	if (reference_bytes > 8 || patched > 1 || at > size)
		return ERROR_DAMAGED;
	for (uint32_t i = 0; i < groups; i++, v += PACKED_GROUP) {
		uint32_t left = n - i * PACKED_GROUP, m = left < PACKED_GROUP ? left : PACKED_GROUP;
		struct group g = { .width = width[i] };
		size_t length;

		if (patched) {
			g.count = width[groups + i];
			g.high = width[2 * (size_t)groups + i];
		}
		length = group_bytes(m, g.width, g.count, g.high);
		if (g.width + g.high > 64 || g.count > m || length > size - at)
			return ERROR_DAMAGED;
		g.reference = bytes_get_n(references + (size_t)i * reference_bytes, reference_bytes);
		if (read_group(&g, in + at, size - at, m, v))
			return ERROR_DAMAGED;
		at += length;
	}
	*used = at;
	return 0;
}
