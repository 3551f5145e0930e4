/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_LISTING_PRIVATE_H
#define INGERO_REPORT_LISTING_PRIVATE_H
/*
 * What the parts of a listing share: listing.c the table, listing_order.c sorting and cutting,
 * listing_text.c text.
 */
#include "listing.h"

/* Rows that listing_order() left; all of them where it was not called. */
size_t listing_shown(const struct listing *t);
const struct cell *listing_cell(const struct listing *t, size_t row, size_t column);
/* The sum of a column's rows from first on: known where there is something to sum. */
struct cell listing_sum(const struct listing *t, size_t column, size_t first);
#endif
