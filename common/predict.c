// SPDX-License-Identifier: BSD-2-Clause
#include "predict.h"

#include <stdbool.h>

#include "column.h"
#include "schema.h"

/* Column ids are positions + 1 for as long as no id has been retired; a unit test checks. */
#define ID(table, column) (COL_##table##_##column + 1)
#define SAME(table, column, from) \
	{ TABLE_##table, ID(table, column), PREDICTION(PREDICT_SAME_ROW, ID(table, from), 0, 0) }

/* A row may only use columns without a row, or with an earlier one. */
static const struct rule { uint16_t table, column; uint32_t parameter; } rules[] = {
	{ TABLE_switch, ID(switch, prev_tid),
	  PREDICTION(PREDICT_ROW_BEFORE, ID(switch, next_tid), 0, 0) },
	{ TABLE_switch, ID(switch, next_off),
	  PREDICTION(PREDICT_DEPARTURE, ID(switch, ts), ID(switch, prev_tid),
		     ID(switch, next_tid)) },
	SAME(switch, next_wait, next_off),
	SAME(switch, waker_tid, prev_tid),
	SAME(switch, prev_pages, prev_page_events),
	SAME(page, pages, events),
	SAME(call, tgid, tid),
	SAME(task, tid, tgid),
	SAME(task, ns_tid, tid),
	SAME(task, ns_tgid, tgid),
	SAME(task, process_start, start),
	SAME(state, tgid, tid),
	SAME(state, pages, page_events),
	SAME(counter, emitted, entries),
	SAME(counter, filtered, entries),
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

static bool has_rule(uint16_t table, uint16_t column)
{
	for (unsigned int i = 0; i < RULES; i++)
		if (rules[i].table == table && rules[i].column == column)
			return true;
	return false;
}

void predict_order(const struct schema_table *t, struct predict_step steps[FORMAT_MAX_COLUMNS])
{
	unsigned int n = 0;

	for (uint16_t i = 0; i < t->ncolumns; i++)
		if (!has_rule(t->id, t->column[i].id))
			steps[n++] = (struct predict_step){ i, 0 };
	for (unsigned int i = 0; i < RULES; i++)
		if (rules[i].table == t->id) {
			uint16_t at = (uint16_t)schema_position(t, rules[i].column);

			steps[n++] = (struct predict_step){ at, rules[i].parameter };
		}
}
