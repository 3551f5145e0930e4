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

/*
 * The planning of widths is where an encoder spends its time, and 64-bit minima and leading zeros
 * come cheap only with AVX2 and LZCNT: on x86-64 the same source is compiled for both.
 */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* v[i] ^ flip orders signed numbers as unsigned ones when flip is the sign bit. */
ALWAYS_INLINE void range_of(const uint64_t *v, uint32_t n, uint64_t flip, uint64_t *min,
			    uint64_t *max)
{
	/* Compared as signed, which is what AVX2 has. */
	int64_t sign = (int64_t)(flip ^ 1ull << 63), lo[8], hi[8];
	uint32_t i = 0;

	for (int k = 0; k < 8; k++)
		lo[k] = hi[k] = (int64_t)v[0] ^ sign;
	for (; i + 8 <= n; i += 8)
		for (int k = 0; k < 8; k++) {
			int64_t x = (int64_t)v[i + (uint32_t)k] ^ sign;

			lo[k] = x < lo[k] ? x : lo[k];
			hi[k] = x > hi[k] ? x : hi[k];
		}
	for (; i < n; i++) {
		int64_t x = (int64_t)v[i] ^ sign;

		lo[0] = x < lo[0] ? x : lo[0];
		hi[0] = x > hi[0] ? x : hi[0];
	}
	for (int k = 1; k < 8; k++) {
		lo[0] = lo[k] < lo[0] ? lo[k] : lo[0];
		hi[0] = hi[k] > hi[0] ? hi[k] : hi[0];
	}
	*min = (uint64_t)(lo[0] ^ sign);
	*max = (uint64_t)(hi[0] ^ sign);
}

/* In pieces of a constant length, for which compilers find the vector form. */
ALWAYS_INLINE void range_by_groups(const uint64_t *v, uint32_t n, uint64_t flip, uint64_t *min,
				   uint64_t *max)
{
	uint64_t least = UINT64_MAX, most = 0, lo, hi;

	for (; n; v += PACKED_GROUP) {
		uint32_t m = n < PACKED_GROUP ? n : PACKED_GROUP;

		if (m == PACKED_GROUP)
			range_of(v, PACKED_GROUP, flip, &lo, &hi);
		else
			range_of(v, m, flip, &lo, &hi);
		least = (lo ^ flip) < least ? lo ^ flip : least;
		most = (hi ^ flip) > most ? hi ^ flip : most;
		n -= m;
	}
	*min = least ^ flip;
	*max = most ^ flip;
}

/* The width that makes the group smallest, with what does not fit in it as patches. */
ALWAYS_INLINE void group_patch(struct group *g, const uint64_t *v, uint32_t m)
{
	uint8_t histogram[4][65] = { 0 };
	unsigned int full = g->width, over = 0;
	size_t best = (size_t)m * full;
	uint32_t i = 0;

	/* Four, since a counter just stored is slow to load again. */
	for (; i + 4 <= m; i += 4) {
		histogram[0][bits_of(v[i] - g->reference)]++;
		histogram[1][bits_of(v[i + 1] - g->reference)]++;
		histogram[2][bits_of(v[i + 2] - g->reference)]++;
		histogram[3][bits_of(v[i + 3] - g->reference)]++;
	}
	for (; i < m; i++)
		histogram[0][bits_of(v[i] - g->reference)]++;
	for (unsigned int w = full; w-- > 0;) {
		size_t cost;

		over += histogram[0][w + 1] + histogram[1][w + 1] + histogram[2][w + 1] +
			histogram[3][w + 1];
		cost = (size_t)m * w + over * (POSITION_BITS + full - w);
		if (cost < best) {
			best = cost;
			g->width = w;
			g->count = over;
			g->high = full - w;
		}
		/* Even without patches at all the rest could not make up for these. */
		if ((size_t)over * POSITION_BITS > best)
			break;
	}
}

ALWAYS_INLINE void plan_groups(struct packed_plan *plan, const uint64_t *v, uint32_t n,
			       uint64_t flip)
{
	uint64_t references = 0, least = UINT64_MAX, most = 0, max;
	uint32_t groups = group_count(n), patches = 0;
	size_t data = 0;

	for (uint32_t i = 0; i < groups; i++, v += PACKED_GROUP) {
		uint32_t left = n - i * PACKED_GROUP, m = left < PACKED_GROUP ? left : PACKED_GROUP;
		struct group g = { 0 };

		if (m == PACKED_GROUP)
			range_of(v, PACKED_GROUP, flip, &g.reference, &max);
		else
			range_of(v, m, flip, &g.reference, &max);
		least = (g.reference ^ flip) < least ? g.reference ^ flip : least;
		most = (max ^ flip) > most ? max ^ flip : most;
		g.width = bits_of(max - g.reference);
		if (g.width >= PATCH_MIN_WIDTH)
			group_patch(&g, v, m);
		plan->width[i] = (uint8_t)g.width;
		plan->count[i] = (uint8_t)g.count;
		plan->high[i] = (uint8_t)g.high;
		plan->reference[i] = g.reference;
		references |= g.reference;
		patches += g.count;
		data += group_bytes(m, g.width, g.count, g.high);
	}
	plan->min = least ^ flip;
	plan->max = most ^ flip;
	plan->patched = patches > 0;
	plan->reference_bytes = (uint8_t)((bits_of(references) + 7) / 8);
	plan->size = 2 + (size_t)groups * ((plan->patched ? 3 : 1) + plan->reference_bytes) + data;
}

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt")))
#define HAVE_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))

AVX2 static void plan_groups_avx2(struct packed_plan *plan, const uint64_t *v, uint32_t n,
				  uint64_t flip)
{
	plan_groups(plan, v, n, flip);
}

AVX2 static void range_avx2(const uint64_t *v, uint32_t n, uint64_t flip, uint64_t *min,
			    uint64_t *max)
{
	range_by_groups(v, n, flip, min, max);
}
#else
#define HAVE_AVX2 false
#define plan_groups_avx2 plan_groups
#define range_avx2 range_by_groups
#endif

void packed_range(const uint64_t *v, uint32_t n, bool is_signed, uint64_t *min, uint64_t *max)
{
	uint64_t flip = is_signed ? 1ull << 63 : 0;

	if (HAVE_AVX2)
		range_avx2(v, n, flip, min, max);
	else
		range_by_groups(v, n, flip, min, max);
}

void packed_plan(struct packed_plan *plan, const uint64_t *v, uint32_t n, bool is_signed)
{
	uint64_t flip = is_signed ? 1ull << 63 : 0;

	plan->n = n;
	if (HAVE_AVX2)
		plan_groups_avx2(plan, v, n, flip);
	else
		plan_groups(plan, v, n, flip);
}

size_t packed_bound(uint32_t n)
{
	return 2 + (size_t)group_count(n) * 11 + 8 * (size_t)n;
}

/* Any width, one value at a time. */
static void pack_any(const uint64_t *v, uint32_t m, uint64_t reference, unsigned int w,
		     uint8_t *out)
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
	uint32_t i = 0;

	while (found < g->count) {
		/* Most values have no patch: pass over four at a time. */
		while (i + 4 <= m && !(((v[i] - g->reference) | (v[i + 1] - g->reference) |
					(v[i + 2] - g->reference) | (v[i + 3] - g->reference)) >>
				       g->width))
			i += 4;
		for (uint32_t end = i + 4 < m ? i + 4 : m; i < end && found < g->count; i++) {
			uint64_t over = (v[i] - g->reference) >> g->width;

			out[found] = (uint8_t)i;
			high[found] = over;
			found += over != 0;
		}
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
		struct group g = {
			plan->width[i], plan->count[i], plan->high[i], plan->reference[i],
		};

		pack(v, m, g.reference, g.width, out);
		out += bit_bytes(m, g.width);
		if (g.count)
			out = write_patches(&g, v, m, out);
	}
}

/* Widths above 56 bits: a value may span nine bytes. in has 16 readable bytes behind the values. */
static void unpack_wide(const uint8_t *in, uint32_t m, uint64_t reference, unsigned int w,
			uint64_t *v)
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

static int read_group(const struct group *g, const uint8_t *in, size_t size, uint32_t m,
		      uint64_t *v)
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
		g.reference = bytes_get_n(references, reference_bytes);
		references += reference_bytes;
		if (read_group(&g, in + at, size - at, m, v))
			return ERROR_DAMAGED;
		at += length;
	}
	*used = at;
	return 0;
}
