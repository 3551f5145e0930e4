// SPDX-License-Identifier: BSD-2-Clause
#include "schema.h"

#include "column.h"

static const struct schema_table known[] = {
#define TABLE(id, name, scope, text) { (id), SCOPE_##scope, COLS_##name, #name, {
#define COLUMN(id, table, name, type, enc, text) { (id), TYPE_##type, #name },
#define END_TABLE(name) } },
#include "columns.def"
};

static const uint8_t encodings[TABLE_LIMIT][FORMAT_MAX_COLUMNS] = {
#define TABLE(id, name, scope, text) [id] = {
#define COLUMN(id, table, name, type, enc, text) ENCODING_##enc,
#define END_TABLE(name) },
#include "columns.def"
};

#define TABLE(id, name, scope, text)
#define COLUMN(id, table, name, type, enc, text)
#define END_TABLE(name) \
	_Static_assert(COLS_##name <= FORMAT_MAX_COLUMNS, "table " #name " is too wide");
#include "columns.def"

const struct schema_table schema_of_schema = {
	TABLE_SCHEMA, SCOPE_GLOBAL, COLS_schema, "schema", {
		{ 1, TYPE_UINT, "table" }, { 2, TYPE_UINT, "column" },
		{ 3, TYPE_UINT, "type" }, { 4, TYPE_TEXT, "name" },
	},
};

const struct schema_table schema_of_index = {
	TABLE_INDEX, SCOPE_GLOBAL, COLS_index, "index", { { 1, TYPE_UINT, "offset" } },
};

size_t schema_count(void)
{
	return sizeof(known) / sizeof(known[0]);
}

const struct schema_table *schema_at(size_t i)
{
	return &known[i];
}

const struct schema_table *schema_find(uint16_t id)
{
	for (size_t i = 0; i < schema_count(); i++)
		if (known[i].id == id)
			return &known[i];
	return NULL;
}

int schema_position(const struct schema_table *t, uint16_t column)
{
	for (unsigned int i = 0; i < t->ncolumns; i++)
		if (t->column[i].id == column)
			return (int)i;
	return -1;
}

int schema_time(const struct schema_table *t)
{
	for (unsigned int i = 0; i < t->ncolumns; i++)
		if (t->column[i].type == TYPE_TIME)
			return (int)i;
	return -1;
}

uint8_t schema_encoding(uint16_t table, unsigned int position)
{
	if (table == TABLE_INDEX)
		return ENCODING_DELTA;
	if (table >= TABLE_LIMIT)
		return ENCODING_PACKED;
	return encodings[table][position];
}
