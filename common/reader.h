/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_READER_H
#define INGERO_READER_H
/*
 * Reads an .ing file through a read-only mapping. reader_open() validates the header, the schema
 * and every block header (never the index alone); payloads are checked when loaded. A damaged or
 * cut block is listed as such and skipped, never fatal. After open, all functions may be called
 * from several threads at once, each with its own struct columns. A file that shrinks while it
 * is read gives ERROR_DAMAGED, not SIGBUS.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "error.h"
#include "format.h"

struct reader;

struct block_info {
	uint16_t table;			/* id as in the file; may be unknown to this reader */
	uint32_t cpu;
	uint32_t rows;
	uint64_t first_ts, last_ts;	/* range of the first TIME column; 0, 0 without */
	uint64_t min_start;		/* table call: smallest ts - duration; else first_ts */
	uint64_t offset, size;		/* in the file, header included */
};

struct reader_damage { uint64_t offset, size; char text[96]; };

struct reader_info {
	uint16_t major, minor;
	bool closed;			/* ended by writer_close() */
	bool index_used;
	uint64_t size;			/* of the file */
	uint64_t valid_until;		/* offset after the last good block */
	uint64_t cut;			/* bytes of an unfinished block at the end; the last damage too */
	size_t damage_count;		/* at most 64 are kept */
	const struct reader_damage *damage;
	uint64_t unknown_blocks;	/* of tables or encodings not known here; skipped */
};

/* Decoded columns of one block. Zero-initialise; buffers are reused between loads. */
struct columns {
	uint32_t rows;
	uint64_t present;			/* bit i: column i is in the block */
	/* By position in columns.def. Not asked for: NULL. */
	const uint64_t *col[FORMAT_MAX_COLUMNS];
	const char *text;			/* bytes of the TEXT column, rows back to back; or NULL */
	size_t text_size;
	void *buffer; size_t buffer_size;	/* private */
};

int reader_open(struct reader **r, const char *path, struct error *e);
void reader_close(struct reader *r);		/* NULL is accepted */
const struct reader_info *reader_info(const struct reader *r);

size_t reader_blocks(const struct reader *r);	/* in file order, good headers only */
const struct block_info *reader_block(const struct reader *r, size_t i);

/*
 * Decode the columns of block i whose bit is set in mask (1ull << COL_table_name). Columns of
 * the mask that the file does not have read as zeros (bit clear in present). Returns 0, or
 * ERROR_DAMAGED naming the offset.
 */
int reader_load(const struct reader *r, size_t i, uint64_t mask, struct columns *out,
		struct error *e);
void columns_release(struct columns *c);

/* Block i is not needed for a while: the memory that holds its bytes may be used for others. */
void reader_forget(const struct reader *r, size_t i);
/* Check everything block i says about itself: checksums, ranges, times, order, padding. */
int reader_check(const struct reader *r, size_t i, struct error *e);

/* Text of string id, never NULL ("" for 0 or unknown), NUL-terminated, valid while r lives. */
const char *reader_string(const struct reader *r, uint64_t id);
bool reader_string_known(const struct reader *r, uint64_t id);	/* true for 0 */

/* The schema as the file has it, for tools that print tables they do not know. */
struct schema_column { uint16_t id; uint8_t type; char name[32]; };
struct schema_table {
	uint16_t id;
	uint8_t scope;
	uint16_t ncolumns;
	char name[32];
	struct schema_column column[FORMAT_MAX_COLUMNS];
};
size_t reader_tables(const struct reader *r);
const struct schema_table *reader_table(const struct reader *r, size_t i);
/* Decode all columns of block i by the file's own schema; col[] by position in that. */
int reader_load_raw(const struct reader *r, size_t i, struct columns *out, struct error *e);
#endif
