/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_COLUMN_H
#define INGERO_COLUMN_H
/*
 * One column of one block as bytes and back, before compression. The encoder picks whatever is
 * smallest among what the column's kind makes likely; the decoder takes them all.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "format.h"
#include "packed.h"

/* In files: append-only. */
enum encoding {
	ENCODING_CONSTANT = 1,	/* every value is the directory's min; no bytes */
	ENCODING_PLAIN = 2,	/* 8 bytes a value */
	ENCODING_PACKED = 3,	/* a packed stream (packed.h) */
	ENCODING_DELTA = 4,	/* u64 first value, packed stream of the n - 1 differences */
	ENCODING_TEXT = 5,	/* bytes of a TEXT column, rows back to back */
	ENCODING_DICTIONARY = 6,/* u16 entries, packed stream of them, packed stream of indices */
	ENCODING_PREDICTED = 7,	/* bitmap of rows not as predicted, packed stream of their values */
};

/* Parameter of ENCODING_DELTA. */
#define DELTA_ZIGZAG 1

/*
 * Parameter of ENCODING_PREDICTED: predictor in the lowest byte, then the ids of the columns it
 * looks at. A column that is not in the block reads as zeros.
 */
enum predictor {
	PREDICT_SAME_ROW = 1,	/* a's value in the same row */
	PREDICT_ROW_BEFORE = 2,	/* a's value in the row before; 0 in the first */
	PREDICT_DEPARTURE = 3,	/* a: time, b: who left, c: who came: time since c's last leaving */
	PREDICT_ZERO = 4,	/* 0 */
};
#define PREDICTION(predictor, a, b, c) \
	((uint32_t)(predictor) | (uint32_t)(a) << 8 | (uint32_t)(b) << 16 | (uint32_t)(c) << 24)
#define PREDICTION_BASE(parameter, i) ((uint8_t)((parameter) >> (8 * ((i) + 1))))

#define DICTIONARY_MAX 256
#define DEPARTURE_SLOTS 1024	/* a number's slot is the number modulo this */

/* Columns a prediction looks at: base[i] is n values, or NULL for zeros. */
struct column_bases { const uint64_t *base[3]; };

/* How many columns a predictor looks at; -1 for one that is not known. */
int column_base_count(uint32_t parameter);
/* The n predicted values. The predictor must be known. */
void column_predict(uint32_t parameter, const struct column_bases *bases, uint32_t n,
		    uint64_t *out);

/* Scratch of the encoder, used again for each column. */
struct column_encoder {
	struct packed_plan plan;		/* of the values, or of their differences */
	struct packed_plan entries_plan, indices_plan, exceptions_plan;
	uint64_t differences[FORMAT_MAX_ROWS], indices[FORMAT_MAX_ROWS];
	uint64_t exceptions[FORMAT_MAX_ROWS], predicted[FORMAT_MAX_ROWS];
	uint64_t entries[DICTIONARY_MAX], bitmap[FORMAT_MAX_ROWS / 64];
	uint32_t prediction;			/* the one that the exceptions are from */
};

struct column_encoded {
	uint8_t encoding;
	uint32_t parameter;
	uint64_t min, max;	/* ordered as int64_t for columns of type INT */
	size_t size;		/* bytes written to out */
};

struct column_hint {
	uint8_t type;		/* enum column_type */
	uint8_t encoding;	/* first choice, from columns.def */
	uint32_t prediction;	/* parameter to try for ENCODING_PREDICTED, or 0 */
};

/* What column_encode() needs for n values in out. */
size_t column_bound(uint32_t n);
void column_encode(struct column_encoder *c, const struct column_hint *hint,
		   const struct column_bases *bases, const uint64_t *v, uint32_t n, uint8_t *out,
		   struct column_encoded *result);

/*
 * Decode n values to v; scratch is room for n more. Returns 0, ERROR_DAMAGED, or
 * ERROR_UNSUPPORTED for an encoding or predictor that is not known.
 */
int column_decode(const struct column_encoded *what, const struct column_bases *bases,
		  const uint8_t *in, uint32_t n, uint64_t *v, uint64_t *scratch);
#endif
