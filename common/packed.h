/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_PACKED_H
#define INGERO_PACKED_H
/*
 * The packed stream: numbers in groups of 128, each group a reference (its smallest value) and
 * the differences from it in a fixed number of bits. Where a few values of a group are much
 * larger than the rest, only their low bits are packed and the high ones follow as patches.
 *
 *   u8 reference bytes (0 to 8), u8 patched (0 or 1)
 *   u8 width[groups]; and if patched: u8 count[groups], u8 high_width[groups]
 *   reference[groups], each of "reference bytes" bytes
 *   per group: its values, width bits each, lowest bit first, padded to a byte;
 *   then count positions of one byte, then count high parts of high_width bits, padded to a byte
 *
 * All sums are modulo 2^64. format-spec/ has the same in more words.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "format.h"

#define PACKED_GROUP 128
#define PACKED_MAX_GROUPS (FORMAT_MAX_ROWS / PACKED_GROUP)
/* Bytes behind the end of an output buffer that packed_write() may overwrite. */
#define PACKED_SLACK 16

struct packed_plan {
	uint32_t n;
	uint8_t reference_bytes;
	bool patched;
	size_t size;			/* of the stream, exactly */
	uint64_t min, max;		/* of the values; when n > 0 */
	uint8_t width[PACKED_MAX_GROUPS], count[PACKED_MAX_GROUPS], high[PACKED_MAX_GROUPS];
	uint64_t reference[PACKED_MAX_GROUPS];
};

/* Decide widths and patches for n <= FORMAT_MAX_ROWS values; is_signed orders them as int64_t. */
void packed_plan(struct packed_plan *plan, const uint64_t *v, uint32_t n, bool is_signed);

/* Smallest and largest of n > 0 values. */
void packed_range(const uint64_t *v, uint32_t n, bool is_signed, uint64_t *min, uint64_t *max);

/* Write the stream planned for v; out holds plan->size + PACKED_SLACK bytes. */
void packed_write(const struct packed_plan *plan, const uint64_t *v, uint8_t *out);

/* No stream of n values is longer than this. */
size_t packed_bound(uint32_t n);

/*
 * Read n values from a stream of at most size bytes. *used gets the stream's own length. Returns
 * 0, or ERROR_DAMAGED when the stream does not hold n values or breaks a bound.
 */
int packed_read(const uint8_t *in, size_t size, uint32_t n, uint64_t *v, size_t *used);
#endif
