/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_BLOCK_H
#define INGERO_BLOCK_H
/*
 * One block of the file: a header, a directory of its columns, a checksum over both, and the
 * columns' bytes. Offsets of a block and of each column in it are multiples of 8. This is the
 * only module that knows lz4. The layout is section 2 of format-spec/README.md.
 */
#include <stddef.h>
#include <stdint.h>
#include "column.h"
#include "error.h"
#include "reader.h"

#define FILE_HEADER_SIZE 32
#define BLOCK_ALIGN 8
#define BLOCK_FIXED 64
#define BLOCK_ENTRY 40
#define BLOCK_MAX_ENTRIES 64		/* every column, and the bytes of texts */
#define BLOCK_HEADER_SIZE(entries) (BLOCK_FIXED + (size_t)(entries) * BLOCK_ENTRY + 8)
#define BLOCK_MAX_COLUMN_ID 255		/* a prediction names columns by one byte */
/* No column is larger than this, stored or encoded. */
#define BLOCK_MAX_COLUMN (FORMAT_MAX_TEXT + 65536u)

enum compression { COMPRESSION_NONE = 0, COMPRESSION_LZ4 = 1 };

struct block_entry {
	uint16_t column;
	uint8_t compression;
	uint32_t stored;
	uint64_t at;			/* from the start of the payload */
	uint64_t checksum;
	struct column_encoded what;	/* what.size: encoded, that is, after lz4 is undone */
};

struct block {
	uint16_t table, entries;
	uint32_t cpu, rows;
	uint32_t header_size;
	uint64_t payload_size, sequence;
	uint64_t first_ts, last_ts, min_start;
	struct block_entry entry[BLOCK_MAX_ENTRIES];
};

/* The file's own header: magic, u16 major, u16 minor, u32 size, u64 0, u64 XXH64 of these. */
void block_file_header(uint8_t out[FILE_HEADER_SIZE]);
/* ERROR_NOT_OURS, ERROR_VERSION or ERROR_DAMAGED, with *why; major and minor as far as known. */
int block_check_file_header(const uint8_t *p, uint64_t size, uint16_t *major, uint16_t *minor,
			    const char **why);

/*
 * Check and take apart the header at p, of which available bytes exist. Nothing beyond them is
 * read. ERROR_DAMAGED, with *why, unless magic, sizes, checksum and bounds are right and the
 * payload is there too (then b is filled all the same and *why says so).
 */
int block_parse(struct block *b, const uint8_t *p, uint64_t available, const char **why);
/* Whether these bytes, the last of a file, are the beginning of a block and no more. */
bool block_is_cut(const uint8_t *p, uint64_t available);
/* Offset of the next place after from (a multiple of 8) with a block magic; size when none. */
uint64_t block_find(const uint8_t *p, uint64_t from, uint64_t size);

int block_entry_of(const struct block *b, uint16_t column);	/* entry of its values; -1 without */
int block_text_of(const struct block *b, uint16_t column);	/* of its text bytes */
/* The set of entries (bits) needed to decode those of want, which are values. */
uint64_t block_needs(const struct block *b, uint64_t want);
/* Whether this program can decode entry i: its encoding, its compression and those of its bases. */
bool block_known(const struct block *b, unsigned int i);
/* Largest encoded size among these entries that are compressed: the scratch they need. */
size_t block_scratch(const struct block *b, uint64_t entries);

/* Whether the stored bytes of entry i have its checksum. */
bool block_intact(const struct block *b, const uint8_t *payload, unsigned int i);
/*
 * The encoded bytes of entry i, checksum verified, lz4 undone into scratch (what.size bytes).
 * NULL when damaged, with *why.
 */
const uint8_t *block_bytes(const struct block *b, const uint8_t *payload, unsigned int i,
			   uint8_t *scratch, const char **why);
/*
 * Decode entry i to values[i], room for b->rows; its bases must have been decoded to theirs.
 * spare is room for b->rows values more. Returns as column_decode() does, with *why.
 */
int block_values(const struct block *b, const uint8_t *payload, unsigned int i,
		 uint64_t *const *values, uint64_t *spare, uint8_t *scratch, const char **why);

/* Rows to be made a block: col[i] by position in schema; text of the one TEXT column. */
struct block_rows {
	const struct schema_table *schema;
	uint32_t cpu, rows;
	uint64_t sequence, first_ts, last_ts, min_start;
	const uint64_t *col[FORMAT_MAX_COLUMNS];
	const uint8_t *text;
	size_t text_size;
};

struct block_encoder;
struct block_encoder *block_encoder_new(void);		/* NULL: out of memory */
void block_encoder_free(struct block_encoder *e);
/* Encode; *out stays owned by the encoder until the next call. Returns 0 or ERROR_MEMORY. */
int block_encode(struct block_encoder *e, const struct block_rows *rows, const uint8_t **out,
		 size_t *size);
#endif
