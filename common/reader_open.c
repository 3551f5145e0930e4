// SPDX-License-Identifier: BSD-2-Clause
/* Opening a file: header, every block's header, schema, strings, index. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "reader_private.h"
#include "schema.h"

static void damage(struct reader *r, uint64_t offset, uint64_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Note a damaged place; those beyond the limit go unmentioned. */
static void damage(struct reader *r, uint64_t offset, uint64_t size, const char *fmt, ...)
{
	struct reader_damage *d = &r->damage[r->info.damage_count];
	va_list args;

	if (r->info.damage_count == READER_MAX_DAMAGE)
		return;
	r->info.damage_count++;
	d->offset = offset;
	d->size = size;
	va_start(args, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, args);
	va_end(args);
}

/* ---- lists of blocks; their lengths are bounded by the size of the file ---- */

static int grow(void **list, size_t *room, size_t used, size_t element)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (used < *room)
		return 0;
	grown = realloc(*list, more * element);
	if (!grown)
		return ERROR_MEMORY;
	*list = grown;
	*room = more;
	return 0;
}

static int add_block(struct reader *r, const struct block *b, uint64_t offset)
{
	if (grow((void **)&r->block, &r->block_room, r->blocks, sizeof(*r->block)))
		return ERROR_MEMORY;
	r->block[r->blocks++] = (struct block_info){
		.table = b->table, .cpu = b->cpu, .rows = b->rows, .first_ts = b->first_ts,
		.last_ts = b->last_ts, .min_start = b->min_start, .offset = offset,
		.size = b->header_size + b->payload_size,
	};
	return 0;
}

static int add_offset(struct reader *r, uint64_t offset)
{
	if (grow((void **)&r->offset, &r->offset_room, r->offsets, sizeof(*r->offset)))
		return ERROR_MEMORY;
	r->offset[r->offsets++] = offset;
	return 0;
}

/* ---- schema ---- */

static bool good_name(const char *name, uint64_t length)
{
	if (length == 0 || length >= sizeof(((struct schema_column *)0)->name))
		return false;
	for (uint64_t i = 0; i < length; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') ||
		      name[i] == '_'))
			return false;
	return true;
}

static int add_table(struct reader *r, uint64_t id, uint64_t scope, const char *name, size_t length)
{
	struct schema_table *more;

	if (id == 0 || id >= TABLE_CLOSE || r->tables == SCHEMA_MAX_TABLES ||
	    reader_find_table(r, (uint16_t)id) || scope == 0 || scope > UINT8_MAX)
		return ERROR_DAMAGED;
	more = realloc(r->table, (r->tables + 1) * sizeof(*more));
	if (!more)
		return ERROR_MEMORY;
	r->table = more;
	more = &more[r->tables++];
	*more = (struct schema_table){ .id = (uint16_t)id, .scope = (uint8_t)scope };
	memcpy(more->name, name, length);
	return 0;
}

/* A column of the table named last. */
static int add_column(struct reader *r, uint64_t table, uint64_t id, uint64_t type,
		      const char *name, size_t length)
{
	struct schema_table *t = r->tables ? &r->table[r->tables - 1] : NULL;
	struct schema_column *c;

	if (!t || t->id != table || id > UINT8_MAX || type == 0 || type > UINT8_MAX ||
	    t->ncolumns == FORMAT_MAX_COLUMNS || schema_position(t, (uint16_t)id) >= 0)
		return ERROR_DAMAGED;
	c = &t->column[t->ncolumns++];
	*c = (struct schema_column){ .id = (uint16_t)id, .type = (uint8_t)type };
	memcpy(c->name, name, length);
	return 0;
}

static int read_schema_rows(struct reader *r, const struct columns *rows)
{
	const char *name = rows->text;

	for (uint32_t i = 0; i < rows->rows; i++) {
		uint64_t table = rows->col[COL_schema_table][i];
		uint64_t column = rows->col[COL_schema_column][i];
		uint64_t type = rows->col[COL_schema_type][i];
		uint64_t length = rows->col[COL_schema_name][i];
		int err;

		if (!good_name(name, length))
			return ERROR_DAMAGED;
		if (column == 0)
			err = add_table(r, table, type, name, length);
		else
			err = add_column(r, table, column, type, name, length);
		if (err)
			return err;
		name += length;
	}
	return 0;
}

/* What the file calls a known column must be what this program takes it for. */
static bool schema_agrees(const struct reader *r)
{
	for (size_t i = 0; i < r->tables; i++) {
		const struct schema_table *known = schema_find(r->table[i].id);

		for (unsigned int k = 0; known && k < known->ncolumns; k++) {
			int at = schema_position(&r->table[i], known->column[k].id);

			if (at >= 0 && r->table[i].column[at].type != known->column[k].type)
				return false;
		}
	}
	return true;
}

/* Without a usable schema in the file, this program's own stands in. */
static int use_own_schema(struct reader *r)
{
	free(r->table);
	r->tables = 0;
	r->table = malloc(schema_count() * sizeof(*r->table));
	if (!r->table)
		return ERROR_MEMORY;
	for (size_t i = 0; i < schema_count(); i++)
		r->table[r->tables++] = *schema_at(i);
	return 0;
}

static int read_schema(struct reader *r, const struct block *b, uint64_t offset)
{
	struct columns rows = { .present = bits_mask(COLS_schema) };
	int err = reader_decode(r, b, offset, &schema_of_schema, bits_mask(COLS_schema), &rows,
				NULL);

	if (!err)
		err = read_schema_rows(r, &rows);
	columns_release(&rows);
	if (!err && schema_agrees(r))
		return 0;
	if (err == ERROR_MEMORY)
		return err;
	damage(r, offset, b->header_size + b->payload_size, "the schema is damaged");
	r->tables = 0;
	return 0;
}

/* ---- index ---- */

/* An index is believed only as far as it says what the walk over the blocks has found. */
static int check_index(struct reader *r, const struct block *b, uint64_t offset)
{
	struct columns rows = { .present = bits_mask(COLS_index) };
	int err = reader_decode(r, b, offset, &schema_of_index, bits_mask(COLS_index), &rows, NULL);

	for (uint32_t i = 0; !err && i < rows.rows; i++) {
		if (r->indexed >= r->offsets ||
		    r->offset[r->indexed++] != rows.col[COL_index_offset][i]) {
			err = ERROR_DAMAGED;
			break;
		}
	}
	columns_release(&rows);
	if (err == ERROR_MEMORY)
		return err;
	if (err && !r->index_wrong) {
		damage(r, offset, b->header_size + b->payload_size,
		       "the index does not name the blocks that are there");
		r->index_wrong = true;
	}
	return 0;
}

/* ---- walking over the blocks ---- */

static bool has_unknown(const struct block *b)
{
	if (!schema_find(b->table))
		return true;
	for (unsigned int i = 0; i < b->entries; i++)
		if (!block_known(b, i))
			return true;
	return false;
}

static int visit(struct reader *r, const struct block *b, uint64_t offset)
{
	switch (b->table) {
	case TABLE_CLOSE:
		r->info.closed = true;
		return 0;
	case TABLE_INDEX:
		return check_index(r, b, offset);
	case TABLE_SCHEMA:
		if (add_offset(r, offset))
			return ERROR_MEMORY;
		return r->tables ? 0 : read_schema(r, b, offset);
	default:
		r->info.unknown_blocks += has_unknown(b);
		return add_offset(r, offset) || add_block(r, b, offset) ? ERROR_MEMORY : 0;
	}
}

/* Offset of the next good block after a bad place. */
static uint64_t resynchronise(const struct reader *r, uint64_t offset, struct block *b)
{
	const char *why;

	do {
		offset = block_find(r->map.data, offset + BLOCK_ALIGN, r->map.size);
	} while (offset < r->map.size &&
		 block_parse(b, r->map.data + offset, r->map.size - offset, &why));
	return offset;
}

#define FORGET_EVERY (16u << 20)	/* bytes: headers bring in what is around them */

static int walk(struct reader *r)
{
	uint64_t offset = FILE_HEADER_SIZE, next_sequence = 0, forgotten = 0;
	const char *why = "";
	struct block b;

	r->info.valid_until = offset;
	while (offset < r->map.size) {
		if (block_parse(&b, r->map.data + offset, r->map.size - offset, &why)) {
			uint64_t next = resynchronise(r, offset, &b);

			damage(r, offset, next - offset, "%s", why);
			if (next >= r->map.size) {
				r->info.cut = block_is_cut(r->map.data + offset, next - offset) ?
						      next - offset : 0;
				break;
			}
			offset = next;
		}
		if (b.sequence != next_sequence)
			damage(r, offset, 0, "block %llu is here, where block %llu should be",
			       (unsigned long long)b.sequence, (unsigned long long)next_sequence);
		next_sequence = b.sequence + 1;
		if (r->info.closed) {
			damage(r, offset, 0, "a block behind the close mark");
			r->info.closed = false;
		}
		if (visit(r, &b, offset))
			return ERROR_MEMORY;
		offset += b.header_size + b.payload_size;
		r->info.valid_until = offset;
		if (offset - forgotten >= FORGET_EVERY) {
			mapping_forget(&r->map, forgotten, offset - forgotten);
			forgotten = offset;
		}
	}
	return 0;
}

/* ---- strings ---- */

static int put_strings(struct reader *r, const struct columns *rows, uint64_t offset)
{
	const char *text = rows->text;

	for (uint32_t i = 0; i < rows->rows; i++) {
		uint64_t length = rows->col[COL_string_text][i];
		int err = strtab_put(&r->strings, rows->col[COL_string_id][i], text ? text : "",
				     length);

		if (err == ERROR_MEMORY)
			return err;
		if (err) {
			damage(r, offset, 0, "string %llu is out of range or there twice",
			       (unsigned long long)rows->col[COL_string_id][i]);
			return 0;
		}
		if (text)
			text += length;
	}
	return 0;
}

static int read_strings(struct reader *r)
{
	uint64_t mask = bits_mask(COLS_string);
	struct columns rows = { 0 };
	int err = 0;

	for (size_t i = 0; i < r->blocks && err != ERROR_MEMORY; i++) {
		struct error e;

		if (r->block[i].table != TABLE_string)
			continue;
		err = reader_load(r, i, mask, &rows, &e);
		if (!err)
			err = put_strings(r, &rows, r->block[i].offset);
		else if (err != ERROR_MEMORY)
			damage(r, r->block[i].offset, r->block[i].size, "strings are damaged");
	}
	columns_release(&rows);
	return err == ERROR_MEMORY ? err : 0;
}

/* ---- open and close ---- */

static int check_header(struct reader *r, const char *path, struct error *e)
{
	const char *why = "it is empty";
	int err = ERROR_NOT_OURS;

	if (r->map.size)
		err = block_check_file_header(r->map.data, r->map.size, &r->info.major,
					      &r->info.minor, &why);
	if (err == ERROR_VERSION) {
		error_at(e, err, "header", 8,
			 "cannot read \"%s\": format version %u.%u is newer than %u.%u",
			 path, r->info.major, r->info.minor, FORMAT_MAJOR, FORMAT_MINOR);
		error_hint(e, "use a program at least as new as the one that recorded it");
	} else if (err) {
		error_at(e, err, "header", 0, "cannot read \"%s\": %s", path, why);
	}
	return err;
}

static int fill(struct reader *r, const char *path, struct error *e)
{
	int err = mapping_open(&r->map, path, e);

	if (err)
		return err;
	r->info.size = r->map.size;
	r->info.damage = r->damage;
	err = check_header(r, path, e);
	if (err)
		return err;
	if (walk(r))
		return error_set(e, ERROR_MEMORY, "out of memory for the blocks of \"%s\"", path);
	r->info.index_used = r->info.closed && !r->index_wrong && r->indexed == r->offsets;
	if (r->tables == 0 && use_own_schema(r))
		return error_set(e, ERROR_MEMORY, "out of memory for the schema of \"%s\"", path);
	if (read_strings(r))
		return error_set(e, ERROR_MEMORY, "out of memory for the strings of \"%s\"", path);
	if (mapping_broken(&r->map))
		return error_set(e, ERROR_DAMAGED, "cannot read \"%s\": it was cut meanwhile", path);
	return 0;
}

int reader_open(struct reader **out, const char *path, struct error *e)
{
	struct reader *r = calloc(1, sizeof(*r));
	int err;

	*out = NULL;
	if (!r)
		return error_set(e, ERROR_MEMORY, "out of memory opening \"%s\"", path);
	r->map.slot = -1;
	strtab_init(&r->strings);
	err = fill(r, path, e);
	free(r->offset);
	r->offset = NULL;
	if (err) {
		reader_close(r);
		return err;
	}
	*out = r;
	return 0;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	mapping_close(&r->map);
	strtab_release(&r->strings);
	free(r->table);
	free(r->block);
	free(r->offset);
	free(r);
}
