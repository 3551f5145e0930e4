// SPDX-License-Identifier: BSD-2-Clause
#include "block.h"

#include <lz4.h>
#include <stdlib.h>

#include "bytes.h"
#include "checksum.h"
#include "predict.h"
#include "schema.h"

/* High bit, CR LF, ^Z and LF, as in PNG: a transfer as text breaks it. */
static const uint8_t file_magic[8] = { 0x89, 'I', 'N', 'G', '\r', '\n', 0x1a, '\n' };
static const uint8_t block_magic[8] = { 0x8d, 'I', 'N', 'G', 'B', 'L', 'K', '\n' };

/* Smaller columns are tried whole; of larger ones a piece must shrink first. */
#define TRIAL_SIZE 1024
/* Less saved than one byte in this many is not worth undoing. */
#define WORTH_ONE_IN 16

struct block_encoder {
	struct column_encoder column;
	uint8_t *out, *encoded;
	size_t out_room, encoded_room;
};

/* ---- headers ---- */

void block_file_header(uint8_t out[FILE_HEADER_SIZE])
{
	memset(out, 0, FILE_HEADER_SIZE);
	memcpy(out, file_magic, sizeof(file_magic));
	bytes_put16(out + 8, FORMAT_MAJOR);
	bytes_put16(out + 10, FORMAT_MINOR);
	bytes_put32(out + 12, FILE_HEADER_SIZE);
	bytes_put64(out + 24, checksum(out, 24));
}

int block_check_file_header(const uint8_t *p, uint64_t size, uint16_t *major, uint16_t *minor,
			    const char **why)
{
	*why = "it does not begin as an .ing file";
	if (size < sizeof(file_magic) || memcmp(p, file_magic, sizeof(file_magic)))
		return ERROR_NOT_OURS;
	*why = "it ends inside its header";
	if (size < FILE_HEADER_SIZE)
		return ERROR_NOT_OURS;
	*major = bytes_get16(p + 8);
	*minor = bytes_get16(p + 10);
	if (*major > FORMAT_MAJOR)
		return ERROR_VERSION;
	*why = "its header fails its checksum";
	if (*major == 0 || bytes_get32(p + 12) != FILE_HEADER_SIZE ||
	    bytes_get64(p + 24) != checksum(p, 24))
		return ERROR_DAMAGED;
	return 0;
}

static void put_entry(uint8_t *p, const struct block_entry *e)
{
	bytes_put16(p, e->column);
	p[2] = e->what.encoding;
	p[3] = e->compression;
	bytes_put32(p + 4, e->stored);
	bytes_put32(p + 8, (uint32_t)e->what.size);
	bytes_put32(p + 12, e->what.parameter);
	bytes_put64(p + 16, e->what.min);
	bytes_put64(p + 24, e->what.max);
	bytes_put64(p + 32, e->checksum);
}

static void get_entry(struct block_entry *e, const uint8_t *p)
{
	e->column = bytes_get16(p);
	e->what.encoding = p[2];
	e->compression = p[3];
	e->stored = bytes_get32(p + 4);
	e->what.size = bytes_get32(p + 8);
	e->what.parameter = bytes_get32(p + 12);
	e->what.min = bytes_get64(p + 16);
	e->what.max = bytes_get64(p + 24);
	e->checksum = bytes_get64(p + 32);
}

static void put_header(uint8_t *p, const struct block *b)
{
	memcpy(p, block_magic, sizeof(block_magic));
	bytes_put32(p + 8, b->header_size);
	bytes_put16(p + 12, b->table);
	bytes_put16(p + 14, b->entries);
	bytes_put32(p + 16, b->cpu);
	bytes_put32(p + 20, b->rows);
	bytes_put64(p + 24, b->payload_size);
	bytes_put64(p + 32, b->sequence);
	bytes_put64(p + 40, b->first_ts);
	bytes_put64(p + 48, b->last_ts);
	bytes_put64(p + 56, b->min_start);
	for (unsigned int i = 0; i < b->entries; i++)
		put_entry(p + BLOCK_FIXED + (size_t)i * BLOCK_ENTRY, &b->entry[i]);
	bytes_put64(p + b->header_size - 8, checksum(p, b->header_size - 8));
}

static void get_fixed(struct block *b, const uint8_t *p)
{
	b->header_size = bytes_get32(p + 8);
	b->table = bytes_get16(p + 12);
	b->entries = bytes_get16(p + 14);
	b->cpu = bytes_get32(p + 16);
	b->rows = bytes_get32(p + 20);
	b->payload_size = bytes_get64(p + 24);
	b->sequence = bytes_get64(p + 32);
	b->first_ts = bytes_get64(p + 40);
	b->last_ts = bytes_get64(p + 48);
	b->min_start = bytes_get64(p + 56);
}

/*
 * An entry against the limits that hold for every encoding, known or not. seen has a bit for each
 * column with values, and one for each with text, that came before.
 */
static bool entry_sane(const struct block_entry *e, uint64_t seen[2][4])
{
	uint64_t *word = &seen[e->what.encoding == ENCODING_TEXT][e->column / 64 % 4];
	uint64_t bit = 1ull << e->column % 64;

	if (e->column == 0 || e->column > BLOCK_MAX_COLUMN_ID || *word & bit)
		return false;
	*word |= bit;
	if (e->stored > BLOCK_MAX_COLUMN || e->what.size > BLOCK_MAX_COLUMN)
		return false;
	return e->compression != COMPRESSION_NONE || e->stored == e->what.size;
}

int block_parse(struct block *b, const uint8_t *p, uint64_t available, const char **why)
{
	uint64_t payload = 0, seen[2][4] = { { 0 } };

	*why = "no block begins here";
	if (available < BLOCK_HEADER_SIZE(0) || memcmp(p, block_magic, sizeof(block_magic)))
		return ERROR_DAMAGED;
	get_fixed(b, p);
	*why = "a block header contradicts itself";
	if (b->entries > BLOCK_MAX_ENTRIES || b->header_size != BLOCK_HEADER_SIZE(b->entries) ||
	    b->rows > FORMAT_MAX_ROWS)
		return ERROR_DAMAGED;
	*why = "a block header is cut";
	if (b->header_size > available)
		return ERROR_DAMAGED;
	*why = "a block header fails its checksum";
	if (bytes_get64(p + b->header_size - 8) != checksum(p, b->header_size - 8))
		return ERROR_DAMAGED;
	*why = "a block header asks for more than the format allows";
	for (unsigned int i = 0; i < b->entries; i++) {
		get_entry(&b->entry[i], p + BLOCK_FIXED + (size_t)i * BLOCK_ENTRY);
		if (!entry_sane(&b->entry[i], seen))
			return ERROR_DAMAGED;
		b->entry[i].at = payload;
		payload += bytes_align8(b->entry[i].stored);
	}
	if (payload != b->payload_size || b->first_ts > b->last_ts)
		return ERROR_DAMAGED;
	*why = "a block's data is cut";
	return payload > available - b->header_size ? ERROR_DAMAGED : 0;
}

bool block_is_cut(const uint8_t *p, uint64_t available)
{
	size_t magic = available < sizeof(block_magic) ? available : sizeof(block_magic);
	uint64_t header = available >= 12 ? bytes_get32(p + 8) : BLOCK_HEADER_SIZE(0);
	const char *why;
	struct block b;

	if (memcmp(p, block_magic, magic))
		return false;
	if (available < header)
		return header <= BLOCK_HEADER_SIZE(BLOCK_MAX_ENTRIES);
	return block_parse(&b, p, UINT64_MAX, &why) == 0;
}

uint64_t block_find(const uint8_t *p, uint64_t from, uint64_t size)
{
	uint64_t magic = bytes_get64(block_magic);

	for (; from + BLOCK_HEADER_SIZE(0) <= size; from += BLOCK_ALIGN)
		if (bytes_get64(p + from) == magic)
			return from;
	return size;
}

/* ---- reading ---- */

int block_entry_of(const struct block *b, uint16_t column)
{
	for (unsigned int i = 0; i < b->entries; i++)
		if (b->entry[i].column == column && b->entry[i].what.encoding != ENCODING_TEXT)
			return (int)i;
	return -1;
}

int block_text_of(const struct block *b, uint16_t column)
{
	for (unsigned int i = 0; i < b->entries; i++)
		if (b->entry[i].column == column && b->entry[i].what.encoding == ENCODING_TEXT)
			return (int)i;
	return -1;
}

/* Entry of base k of entry i: one that stands before i, or -1 for zeros. */
static int base_entry(const struct block *b, unsigned int i, unsigned int k)
{
	int at = block_entry_of(b, PREDICTION_BASE(b->entry[i].what.parameter, k));

	return at < (int)i ? at : -1;
}

/* How many; none too for what is no prediction or an unknown one. */
static unsigned int base_count(const struct block_entry *e)
{
	int count = e->what.encoding == ENCODING_PREDICTED ? column_base_count(e->what.parameter) : 0;

	return count > 0 ? (unsigned int)count : 0;
}

uint64_t block_needs(const struct block *b, uint64_t want)
{
	for (unsigned int i = b->entries; i-- > 0;) {
		if (!(want >> i & 1))
			continue;
		for (unsigned int k = 0; k < base_count(&b->entry[i]); k++) {
			int base = base_entry(b, i, k);

			if (base >= 0)
				want |= 1ull << base;
		}
	}
	return want;
}

bool block_known(const struct block *b, unsigned int i)
{
	const struct block_entry *e = &b->entry[i];

	if (e->what.encoding < ENCODING_CONSTANT || e->what.encoding > ENCODING_PREDICTED ||
	    e->compression > COMPRESSION_LZ4)
		return false;
	if (e->what.encoding == ENCODING_DELTA && e->what.parameter > DELTA_ZIGZAG)
		return false;
	if (e->what.encoding == ENCODING_PREDICTED && column_base_count(e->what.parameter) < 0)
		return false;
	for (unsigned int k = 0; k < base_count(e); k++) {
		int base = base_entry(b, i, k);

		/* It stands before i, so this ends. */
		if (base >= 0 && !block_known(b, (unsigned int)base))
			return false;
	}
	return true;
}

size_t block_scratch(const struct block *b, uint64_t entries)
{
	size_t most = 0;

	for (unsigned int i = 0; i < b->entries; i++)
		if (entries >> i & 1 && b->entry[i].compression && b->entry[i].what.size > most)
			most = b->entry[i].what.size;
	return most;
}

bool block_intact(const struct block *b, const uint8_t *payload, unsigned int i)
{
	const struct block_entry *e = &b->entry[i];

	return checksum(payload + e->at, e->stored) == e->checksum;
}

const uint8_t *block_bytes(const struct block *b, const uint8_t *payload, unsigned int i,
			   uint8_t *scratch, const char **why)
{
	const struct block_entry *e = &b->entry[i];
	const uint8_t *in = payload + e->at;
	int size;

	*why = "a column fails its checksum";
	if (!block_intact(b, payload, i))
		return NULL;
	if (e->compression == COMPRESSION_NONE)
		return in;
	*why = "a column is compressed in an unknown way";
	if (e->compression != COMPRESSION_LZ4)
		return NULL;
	*why = "a column does not decompress to its size";
	size = LZ4_decompress_safe((const char *)in, (char *)scratch, (int)e->stored,
				   (int)e->what.size);
	return size == (int)e->what.size ? scratch : NULL;
}

int block_values(const struct block *b, const uint8_t *payload, unsigned int i,
		 uint64_t *const *values, uint64_t *spare, uint8_t *scratch, const char **why)
{
	const struct block_entry *e = &b->entry[i];
	struct column_bases bases = { { NULL, NULL, NULL } };
	const uint8_t *in = block_bytes(b, payload, i, scratch, why);
	int err;

	if (!in)
		return ERROR_DAMAGED;
	for (unsigned int k = 0; k < base_count(e); k++) {
		int base = base_entry(b, i, k);

		bases.base[k] = base >= 0 ? values[base] : NULL;
	}
	err = column_decode(&e->what, &bases, in, b->rows, values[i], spare);
	*why = err == ERROR_UNSUPPORTED ? "a column's encoding is unknown" :
					  "a column does not decode";
	return err;
}

/* ---- writing ---- */

struct block_encoder *block_encoder_new(void)
{
	return calloc(1, sizeof(struct block_encoder));
}

void block_encoder_free(struct block_encoder *e)
{
	if (!e)
		return;
	free(e->out);
	free(e->encoded);
	free(e);
}

static int make_room(uint8_t **p, size_t *room, size_t size)
{
	uint8_t *more;

	if (size <= *room)
		return 0;
	more = realloc(*p, size);
	if (!more)
		return ERROR_MEMORY;
	*p = more;
	*room = size;
	return 0;
}

static bool worth_it(int compressed, size_t size)
{
	return compressed > 0 && (size_t)compressed + size / WORTH_ONE_IN + 8 <= size;
}

/* Store encoded bytes at out, through lz4 where it pays. out has room for both forms. */
static void store(struct block_entry *entry, const uint8_t *encoded, uint8_t *out)
{
	int size = (int)entry->what.size, room = LZ4_compressBound(size), compressed = 0;
	bool try = true;

	if (size > 4 * TRIAL_SIZE) {
		const char *middle = (const char *)encoded + size / 2;

		compressed = LZ4_compress_default(middle, (char *)out, TRIAL_SIZE, room);
		try = worth_it(compressed, TRIAL_SIZE);
	}
	if (try)
		compressed = LZ4_compress_default((const char *)encoded, (char *)out, size, room);
	if (try && worth_it(compressed, entry->what.size)) {
		entry->compression = COMPRESSION_LZ4;
		entry->stored = (uint32_t)compressed;
	} else {
		memcpy(out, encoded, entry->what.size);
		entry->stored = (uint32_t)entry->what.size;
	}
	entry->checksum = checksum(out, entry->stored);
	memset(out + entry->stored, 0, bytes_align8(entry->stored) - entry->stored);
}

static bool all_zero(const struct column_encoded *what)
{
	return what->encoding == ENCODING_CONSTANT && what->min == 0;
}

static void encode_column(struct block_encoder *e, struct block *b, const struct block_rows *rows,
			  const struct predict_step *step, uint8_t *payload)
{
	const struct schema_column *c = &rows->schema->column[step->position];
	struct column_hint hint = { c->type, schema_encoding(b->table, step->position),
				    step->parameter };
	struct block_entry *entry = &b->entry[b->entries];
	struct column_bases bases = { { NULL, NULL, NULL } };

	for (int k = 0; k < column_base_count(step->parameter); k++) {
		int at = schema_position(rows->schema, PREDICTION_BASE(step->parameter, k));

		bases.base[k] = at >= 0 ? rows->col[at] : NULL;
	}
	*entry = (struct block_entry){ .column = c->id, .at = b->payload_size };
	column_encode(&e->column, &hint, &bases, rows->col[step->position], rows->rows,
		      e->encoded, &entry->what);
	if (all_zero(&entry->what))
		return;
	store(entry, e->encoded, payload + b->payload_size);
	b->payload_size += bytes_align8(entry->stored);
	b->entries++;
}

static void encode_text(struct block *b, const struct block_rows *rows, uint16_t column,
			uint8_t *payload)
{
	struct block_entry *entry = &b->entry[b->entries];

	if (rows->text_size == 0)
		return;
	*entry = (struct block_entry){ .column = column, .at = b->payload_size };
	entry->what.encoding = ENCODING_TEXT;
	entry->what.size = rows->text_size;
	store(entry, rows->text, payload + b->payload_size);
	b->payload_size += bytes_align8(entry->stored);
	b->entries++;
}

static size_t payload_bound(const struct block_rows *rows)
{
	size_t column = (size_t)LZ4_compressBound((int)column_bound(rows->rows)) + 8;
	size_t text = (size_t)LZ4_compressBound((int)rows->text_size) + 8;

	return rows->schema->ncolumns * column + text;
}

int block_encode(struct block_encoder *e, const struct block_rows *rows, const uint8_t **out,
		 size_t *size)
{
	size_t most = BLOCK_HEADER_SIZE(rows->schema->ncolumns + 1u);
	struct predict_step steps[FORMAT_MAX_COLUMNS];
	struct block b = {
		.table = rows->schema->id, .cpu = rows->cpu, .rows = rows->rows,
		.sequence = rows->sequence, .first_ts = rows->first_ts, .last_ts = rows->last_ts,
		.min_start = rows->min_start,
	};
	uint8_t *payload, *start;

	if (make_room(&e->out, &e->out_room, most + payload_bound(rows)) ||
	    make_room(&e->encoded, &e->encoded_room, column_bound(rows->rows)))
		return ERROR_MEMORY;
	payload = e->out + most;
	predict_order(rows->schema, steps);
	for (unsigned int i = 0; i < rows->schema->ncolumns; i++)
		encode_column(e, &b, rows, &steps[i], payload);
	for (unsigned int i = 0; i < rows->schema->ncolumns; i++)
		if (rows->schema->column[i].type == TYPE_TEXT)
			encode_text(&b, rows, rows->schema->column[i].id, payload);
	/* The header's length is known only now: it goes directly before the payload. */
	b.header_size = (uint32_t)BLOCK_HEADER_SIZE(b.entries);
	start = payload - b.header_size;
	put_header(start, &b);
	*out = start;
	*size = b.header_size + b.payload_size;
	return 0;
}
