// SPDX-License-Identifier: BSD-2-Clause
#include "common/schema.h"

#include <string.h>

#include "check.h"
#include "common/column.h"
#include "common/predict.h"

/* What the encoder's rules rely on: see predict.c. */
static void test_ids(void)
{
	for (size_t i = 0; i < schema_count(); i++) {
		const struct schema_table *t = schema_at(i);

		CHECK(t->id > 0 && t->id < TABLE_LIMIT && schema_find(t->id) == t);
		CHECK(t->ncolumns > 0 && t->ncolumns <= FORMAT_MAX_COLUMNS);
		for (uint16_t k = 0; k < t->ncolumns; k++) {
			CHECK(t->column[k].id == k + 1);
			CHECK(t->column[k].type >= TYPE_TIME && t->column[k].type <= TYPE_TEXT);
			CHECK(schema_encoding(t->id, k) == ENCODING_PACKED ||
			      schema_encoding(t->id, k) == ENCODING_DELTA);
		}
	}
	CHECK(!schema_find(0) && !schema_find(TABLE_LIMIT) && !schema_find(TABLE_SCHEMA));
}

static void test_lookup(void)
{
	CHECK(schema_position(schema_find(TABLE_switch), 6) == COL_switch_next_tid);
	CHECK(schema_position(schema_find(TABLE_switch), 99) == -1);
	CHECK(schema_time(schema_find(TABLE_switch)) == 0);
	CHECK(schema_time(schema_find(TABLE_loss)) == COL_loss_first);
	CHECK(schema_time(schema_find(TABLE_string)) == -1);
}

/* Each column once, and after those it is predicted from. */
static void test_order(void)
{
	for (size_t i = 0; i < schema_count(); i++) {
		const struct schema_table *t = schema_at(i);
		struct predict_step steps[FORMAT_MAX_COLUMNS];
		uint64_t done = 0;

		predict_order(t, steps);
		for (unsigned int k = 0; k < t->ncolumns; k++) {
			uint32_t p = steps[k].parameter;

			for (int b = 0; b < column_base_count(p); b++)
				CHECK(done >> schema_position(t, PREDICTION_BASE(p, b)) & 1);
			CHECK(!(done >> steps[k].position & 1));
			done |= 1ull << steps[k].position;
		}
		CHECK(done == (1ull << t->ncolumns) - 1);
	}
}

int main(void)
{
	test_ids();
	test_lookup();
	test_order();
	return check_result();
}
