/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_SCHEMA_H
#define INGERO_SCHEMA_H
/*
 * The tables and columns this program knows, from columns.def, in the same shape in which a
 * reader hands out those of a file. All data is constant.
 */
#include <stddef.h>
#include <stdint.h>
#include "format.h"
#include "reader.h"

#define SCHEMA_MAX_TABLES 256	/* of one file */

size_t schema_count(void);
const struct schema_table *schema_at(size_t i);		/* i < schema_count() */
const struct schema_table *schema_find(uint16_t id);	/* NULL: unknown */

/* Position of the column with this id in t; -1 when it has none. */
int schema_position(const struct schema_table *t, uint16_t column);

/* Position of the first column of type TIME; -1 without. */
int schema_time(const struct schema_table *t);

/* The encoding columns.def asks for, of a column of a known table. */
uint8_t schema_encoding(uint16_t table, unsigned int position);

/*
 * The layouts of the tables that describe the file itself, TABLE_SCHEMA and TABLE_INDEX: they
 * are fixed by the format and stand in no schema block.
 */
extern const struct schema_table schema_of_schema;
extern const struct schema_table schema_of_index;

enum { COL_schema_table, COL_schema_column, COL_schema_type, COL_schema_name, COLS_schema };
enum { COL_index_offset, COLS_index };
#endif
