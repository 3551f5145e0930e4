// SPDX-License-Identifier: BSD-2-Clause
/* What a block claims about itself, held against what is in it. */
#include <string.h>

#include "bytes.h"
#include "reader_private.h"
#include "schema.h"

static int wrong(struct error *e, const struct block_info *info, const char *what, const char *name)
{
	return error_at(e, ERROR_DAMAGED, "block", info->offset, "block at offset %llu: %s%s%s%s",
			(unsigned long long)info->offset, what, *name ? " \"" : "", name,
			*name ? "\"" : "");
}

static bool range_holds(const struct block_entry *e, uint8_t type, const uint64_t *v, uint32_t n)
{
	uint64_t flip = type == TYPE_INT ? 1ull << 63 : 0, min = e->what.min ^ flip;
	uint64_t max = e->what.max ^ flip, lowest = UINT64_MAX, highest = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t x = v[i] ^ flip;

		lowest = x < lowest ? x : lowest;
		highest = x > highest ? x : highest;
	}
	return n == 0 || (lowest == min && highest == max);
}

static int check_ranges(const struct block *b, const struct block_info *info,
			const struct schema_table *t, const struct columns *c, struct error *e)
{
	for (unsigned int i = 0; i < t->ncolumns; i++) {
		int at = block_entry_of(b, t->column[i].id);

		if (at >= 0 && c->present >> i & 1 &&
		    !range_holds(&b->entry[at], t->column[i].type, c->col[i], c->rows))
			return wrong(e, info, "wrong smallest or largest value of column",
				     t->column[i].name);
	}
	return 0;
}

static int check_times(const struct block_info *info, const struct schema_table *t,
		       const struct columns *c, struct error *e)
{
	int time = schema_time(t);
	const uint64_t *ts = time >= 0 ? c->col[time] : NULL;
	uint64_t first = ts && c->rows ? ts[0] : 0, last = first;

	for (uint32_t i = 1; ts && i < c->rows; i++) {
		if (time == 0 && ts[i] < ts[i - 1])
			return wrong(e, info, "rows are not in time order", "");
		first = ts[i] < first ? ts[i] : first;
		last = ts[i] > last ? ts[i] : last;
	}
	if (first != info->first_ts || last != info->last_ts)
		return wrong(e, info, "wrong first or last time", "");
	return 0;
}

static int check_min_start(const struct block_info *info, const struct columns *c, struct error *e)
{
	uint64_t least = info->first_ts;

	for (uint32_t i = 0; info->table == TABLE_call && i < c->rows; i++) {
		uint64_t ts = c->col[COL_call_ts][i], duration = c->col[COL_call_duration][i];

		if (duration > ts)
			return wrong(e, info, "a call begins before time 0", "");
		least = ts - duration < least ? ts - duration : least;
	}
	return least == info->min_start ? 0 : wrong(e, info, "wrong smallest start", "");
}

static int check_padding(const struct reader *r, const struct block *b,
			 const struct block_info *info, struct error *e)
{
	const uint8_t *payload = r->map.data + info->offset + b->header_size;

	for (unsigned int i = 0; i < b->entries; i++) {
		uint64_t from = b->entry[i].at + b->entry[i].stored;

		for (uint64_t k = from; k < bytes_align8(from); k++)
			if (payload[k])
				return wrong(e, info, "padding is not zero", "");
	}
	return 0;
}

/* Entries the file's schema has no column for: their checksums at least. */
static int check_strangers(const struct reader *r, const struct block *b,
			   const struct block_info *info, const struct schema_table *t,
			   struct error *e)
{
	const uint8_t *payload = r->map.data + info->offset + b->header_size;

	for (unsigned int i = 0; i < b->entries; i++) {
		if (t && schema_position(t, b->entry[i].column) < 0)
			return wrong(e, info, "a column that the schema does not have", "");
		if (!block_intact(b, payload, i))
			return wrong(e, info, "a column fails its checksum", "");
	}
	return 0;
}

static int check_known(const struct block_info *info, const struct columns *c, struct error *e)
{
	int err = check_min_start(info, c, e);

	if (!err && schema_find(info->table)->scope == SCOPE_GLOBAL && info->cpu)
		err = wrong(e, info, "a CPU for a table without streams", "");
	return err;
}

int reader_check(const struct reader *r, size_t i, struct error *e)
{
	const struct block_info *info = &r->block[i];
	const struct schema_table *t = reader_find_table(r, info->table);
	struct columns c = { 0 };
	const char *why;
	struct block b;
	int err;

	if (block_parse(&b, r->map.data + info->offset, info->size, &why))
		return wrong(e, info, why, "");
	err = check_strangers(r, &b, info, t, e);
	if (!err)
		err = check_padding(r, &b, info, e);
	if (err || !t)
		return err;
	err = reader_load_raw(r, i, &c, e);
	if (!err)
		err = check_ranges(&b, info, t, &c, e);
	if (!err)
		err = check_times(info, t, &c, e);
	columns_release(&c);
	if (err || !schema_find(info->table))
		return err;
	err = reader_load(r, i, bits_mask(schema_find(info->table)->ncolumns), &c, e);
	if (!err)
		err = check_known(info, &c, e);
	columns_release(&c);
	return err;
}
