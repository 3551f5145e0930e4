// SPDX-License-Identifier: BSD-2-Clause
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "reader_private.h"
#include "schema.h"

/* Distance between columns beyond their rows; see STAGGER in writer.c. */
#define STAGGER 24u

/* What an absent column reads as; never written. */
static uint64_t zeros[FORMAT_MAX_ROWS];

struct layout {
	uint64_t *values[BLOCK_MAX_ENTRIES];
	uint64_t *spare;
	uint8_t *text, *scratch;
	size_t text_size;
};

static int damaged(struct error *e, const struct block *b, uint64_t offset, const char *why)
{
	const struct schema_table *t = schema_find(b->table);

	return error_at(e, ERROR_DAMAGED, "block", offset,
			"block at offset %llu, table \"%s\": %s", (unsigned long long)offset,
			t ? t->name : "?", why);
}

/* Entries with the values asked for, if known; *unknown gets the positions of the others. */
static uint64_t wanted(const struct block *b, const struct schema_table *t, uint64_t mask,
		       uint64_t *unknown)
{
	uint64_t want = 0;

	*unknown = 0;
	for (unsigned int i = 0; i < t->ncolumns; i++) {
		int at = mask >> i & 1 ? block_entry_of(b, t->column[i].id) : -1;

		if (at >= 0 && block_known(b, (unsigned int)at))
			want |= 1ull << at;
		else if (at >= 0)
			*unknown |= 1ull << i;
	}
	return block_needs(b, want);
}

/* Entry of the text the mask asks for, or -1. */
static int wanted_text(const struct block *b, const struct schema_table *t, uint64_t mask)
{
	for (unsigned int i = 0; i < t->ncolumns; i++)
		if (mask >> i & 1 && t->column[i].type == TYPE_TEXT)
			return block_text_of(b, t->column[i].id);
	return -1;
}

/* Cut the caller's buffer, grown as needed, into columns. Bounded by what block_parse() allows. */
static int lay_out(struct layout *l, const struct block *b, uint64_t entries, int text,
		   struct columns *out)
{
	size_t stride = b->rows + STAGGER, scratch = block_scratch(b, entries), size;
	uint64_t *at;

	if (text >= 0 && b->entry[text].compression == COMPRESSION_LZ4 &&
	    b->entry[text].what.size > scratch)
		scratch = b->entry[text].what.size;
	l->text_size = text >= 0 ? b->entry[text].what.size : 0;
	size = ((size_t)__builtin_popcountll(entries) + 1) * stride * sizeof(uint64_t);
	size += l->text_size + scratch;
	if (size > out->buffer_size) {
		free(out->buffer);
		out->buffer_size = 0;
		out->buffer = malloc(size);
		if (!out->buffer)
			return ERROR_MEMORY;
		out->buffer_size = size;
	}
	at = out->buffer;
	for (unsigned int i = 0; i < b->entries; i++)
		if (entries >> i & 1) {
			l->values[i] = at;
			at += stride;
		}
	l->spare = at;
	l->text = (uint8_t *)(at + stride);
	l->scratch = l->text + l->text_size;
	return 0;
}

static int decode_text(const struct block *b, const uint8_t *payload, int text,
		       const struct layout *l, struct columns *out, const char **why)
{
	const uint8_t *bytes = block_bytes(b, payload, (unsigned int)text, l->scratch, why);

	if (!bytes)
		return ERROR_DAMAGED;
	memcpy(l->text, bytes, l->text_size);
	out->text = (const char *)l->text;
	out->text_size = l->text_size;
	return 0;
}

/* The lengths of a text column must use up its bytes. */
static bool text_adds_up(const struct schema_table *t, const struct columns *out)
{
	for (unsigned int i = 0; i < t->ncolumns; i++) {
		uint64_t sum = 0;

		if (t->column[i].type != TYPE_TEXT || !out->col[i])
			continue;
		for (uint32_t row = 0; row < out->rows; row++) {
			if (out->col[i][row] > out->text_size - sum)
				return false;
			sum += out->col[i][row];
		}
		return sum == out->text_size;
	}
	return true;
}

static void hand_out(const struct block *b, const struct schema_table *t, uint64_t mask,
		     uint64_t entries, const struct layout *l, struct columns *out)
{
	for (unsigned int i = 0; i < t->ncolumns; i++) {
		int at = mask >> i & 1 ? block_entry_of(b, t->column[i].id) : -1;

		if (at >= 0 && entries >> at & 1)
			out->col[i] = l->values[at];
		else if (mask >> i & 1)
			out->col[i] = zeros;
	}
}

int reader_decode(const struct reader *r, const struct block *b, uint64_t offset,
		  const struct schema_table *t, uint64_t mask, struct columns *out,
		  struct error *e)
{
	const uint8_t *payload = r->map.data + offset + b->header_size;
	uint64_t unknown, entries = wanted(b, t, mask, &unknown);
	int text = wanted_text(b, t, mask);
	const char *why = "";
	struct layout l = { .text_size = 0 };

	memset(out->col, 0, sizeof(out->col));
	out->text = NULL;
	out->text_size = 0;
	out->rows = b->rows;
	out->present &= ~unknown;
	if (lay_out(&l, b, entries, text, out))
		return error_set(e, ERROR_MEMORY, "out of memory for a block");
	for (unsigned int i = 0; i < b->entries; i++)
		if (entries >> i & 1 &&
		    block_values(b, payload, i, l.values, l.spare, l.scratch, &why))
			return damaged(e, b, offset, why);
	if (text >= 0 && decode_text(b, payload, text, &l, out, &why))
		return damaged(e, b, offset, why);
	hand_out(b, t, mask, entries, &l, out);
	if (!text_adds_up(t, out))
		return damaged(e, b, offset, "lengths of texts do not add up");
	if (mapping_broken(&r->map))
		return damaged(e, b, offset, "the file was cut while it was read");
	return 0;
}

static int parse_again(const struct reader *r, size_t i, struct block *b, struct error *e)
{
	const struct block_info *info = &r->block[i];
	const char *why;

	/* Checked at open, but the bytes may have changed since. */
	if (block_parse(b, r->map.data + info->offset, info->size, &why) ||
	    b->table != info->table || b->rows != info->rows)
		return error_at(e, ERROR_DAMAGED, "block", info->offset,
				"block at offset %llu changed while it was read: %s",
				(unsigned long long)info->offset, why);
	return 0;
}

int reader_load(const struct reader *r, size_t i, uint64_t mask, struct columns *out,
		struct error *e)
{
	const struct schema_table *known = schema_find(r->block[i].table);
	const struct schema_table *file = reader_find_table(r, r->block[i].table);
	struct block b;

	if (!known)
		return error_at(e, ERROR_UNSUPPORTED, "block", r->block[i].offset,
				"table %u is not known", r->block[i].table);
	if (parse_again(r, i, &b, e))
		return ERROR_DAMAGED;
	out->present = 0;
	for (unsigned int k = 0; k < known->ncolumns; k++)
		if (file && schema_position(file, known->column[k].id) >= 0)
			out->present |= mask & 1ull << k;
	return reader_decode(r, &b, r->block[i].offset, known, mask, out, e);
}

int reader_load_raw(const struct reader *r, size_t i, struct columns *out, struct error *e)
{
	const struct schema_table *file = reader_find_table(r, r->block[i].table);
	struct block b;

	if (!file)
		return error_at(e, ERROR_UNSUPPORTED, "block", r->block[i].offset,
				"table %u is not in the file's schema", r->block[i].table);
	if (parse_again(r, i, &b, e))
		return ERROR_DAMAGED;
	out->present = bits_mask(file->ncolumns);
	return reader_decode(r, &b, r->block[i].offset, file, out->present, out, e);
}

void reader_forget(const struct reader *r, size_t i)
{
	mapping_forget(&r->map, r->block[i].offset, r->block[i].size);
}

void columns_release(struct columns *c)
{
	free(c->buffer);
	*c = (struct columns){ 0 };
}

const struct reader_info *reader_info(const struct reader *r)
{
	return &r->info;
}

size_t reader_blocks(const struct reader *r)
{
	return r->blocks;
}

const struct block_info *reader_block(const struct reader *r, size_t i)
{
	return &r->block[i];
}

const char *reader_string(const struct reader *r, uint64_t id)
{
	return strtab_text(&r->strings, id);
}

bool reader_string_known(const struct reader *r, uint64_t id)
{
	return strtab_known(&r->strings, id);
}

size_t reader_tables(const struct reader *r)
{
	return r->tables;
}

const struct schema_table *reader_table(const struct reader *r, size_t i)
{
	return &r->table[i];
}

const struct schema_table *reader_find_table(const struct reader *r, uint16_t id)
{
	for (size_t i = 0; i < r->tables; i++)
		if (r->table[i].id == id)
			return &r->table[i];
	return NULL;
}
