// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include "tables.h"

void tables_measure(const struct recording *r, struct table_size sizes[TABLE_LIMIT])
{
	memset(sizes, 0, TABLE_LIMIT * sizeof(*sizes));
	for (unsigned int t = 0; t < TABLE_LIMIT; t++) {
		for (size_t i = 0; i < r->blocks[t].count; i++) {
			const struct block_info *b = reader_block(r->reader, r->blocks[t].block[i]);

			sizes[t].blocks++;
			sizes[t].rows += b->rows;
			sizes[t].bytes += b->size;
		}
	}
}

const char *tables_name(unsigned int table)
{
	static const char *const names[TABLE_LIMIT] = {
#define TABLE(id, name, scope, text) [id] = #name,
#define COLUMN(id, table, name, type, enc, text)
#define END_TABLE(name)
#include "../common/columns.def"
	};

	return table < TABLE_LIMIT && names[table] ? names[table] : "";
}
