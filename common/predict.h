/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_PREDICT_H
#define INGERO_PREDICT_H
/*
 * Which columns of which tables are worth predicting from others, and the order in which columns
 * are encoded so that each comes after those it is predicted from. For the writer only: a block
 * says for itself what it used.
 */
#include <stdint.h>
#include "reader.h"

struct predict_step {
	uint16_t position;	/* of the column in the table */
	uint32_t parameter;	/* PREDICTION(...) to try; 0 none */
};

/* One step per column of t, in encoding order. */
void predict_order(const struct schema_table *t, struct predict_step steps[FORMAT_MAX_COLUMNS]);
#endif
