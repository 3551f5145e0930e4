/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_BYTES_H
#define INGERO_BYTES_H
/*
 * Little-endian numbers at any address, and small arithmetic that every user of the format needs.
 * The caller has checked that the bytes are there.
 */
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BYTES_LE16(x) __builtin_bswap16(x)
#define BYTES_LE32(x) __builtin_bswap32(x)
#define BYTES_LE64(x) __builtin_bswap64(x)
#else
#define BYTES_LE16(x) (x)
#define BYTES_LE32(x) (x)
#define BYTES_LE64(x) (x)
#endif

static inline uint16_t bytes_get16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return BYTES_LE16(v);
}

static inline uint32_t bytes_get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return BYTES_LE32(v);
}

static inline uint64_t bytes_get64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return BYTES_LE64(v);
}

static inline void bytes_put16(void *p, uint16_t v)
{
	v = BYTES_LE16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void bytes_put32(void *p, uint32_t v)
{
	v = BYTES_LE32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void bytes_put64(void *p, uint64_t v)
{
	v = BYTES_LE64(v);
	memcpy(p, &v, sizeof(v));
}

/* The lowest count bytes of a 64-bit number; count 0 to 8. */
static inline uint64_t bytes_get_n(const uint8_t *p, unsigned int count)
{
	uint64_t v = 0;

	memcpy(&v, p, count);
	return BYTES_LE64(v);
}

static inline void bytes_put_n(uint8_t *p, uint64_t v, unsigned int count)
{
	v = BYTES_LE64(v);
	memcpy(p, &v, count);
}

static inline uint64_t bytes_align8(uint64_t n)
{
	return (n + 7) & ~7ull;
}

/* How many bits v needs; 0 for 0. */
static inline unsigned int bits_of(uint64_t v)
{
	return v ? 64 - (unsigned int)__builtin_clzll(v) : 0;
}

/* The w lowest bits set; w 0 to 64. */
static inline uint64_t bits_mask(unsigned int w)
{
	return w ? ~0ull >> (64 - w) : 0;
}
#endif
