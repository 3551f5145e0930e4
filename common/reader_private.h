/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_READER_PRIVATE_H
#define INGERO_READER_PRIVATE_H
/* Shared by reader.c, which loads blocks, and reader_open.c, which finds them. */
#include "block.h"
#include "mapping.h"
#include "reader.h"
#include "strtab.h"

#define READER_MAX_DAMAGE 64

struct reader {
	struct mapping map;
	struct reader_info info;
	struct reader_damage damage[READER_MAX_DAMAGE];
	struct block_info *block;
	size_t blocks, block_room;
	struct schema_table *table;		/* the file's own schema */
	size_t tables;
	struct strtab strings;
	/* While opening: offsets of all blocks an index should name, and how many it has named. */
	uint64_t *offset;
	size_t offsets, offset_room, indexed;
	bool index_wrong;
};

/*
 * Decode the columns of t that mask names from block b at offset. out->present is left to the
 * caller except that columns of unknown encoding are cleared from it.
 */
int reader_decode(const struct reader *r, const struct block *b, uint64_t offset,
		  const struct schema_table *t, uint64_t mask, struct columns *out,
		  struct error *e);
/* Table id of the file's schema; NULL when it has none. */
const struct schema_table *reader_find_table(const struct reader *r, uint16_t id);
#endif
