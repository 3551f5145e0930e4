/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_TABLES_H
#define INGERO_REPORT_TABLES_H
/*
 * What each table takes of the file.
 */
#include <stdint.h>
#include "recording.h"

struct table_size { uint64_t blocks, rows, bytes; };

/* Fills sizes by table id, of the tables this program knows. */
void tables_measure(const struct recording *r, struct table_size sizes[TABLE_LIMIT]);
/* Name of the table; "" for an id that is none. */
const char *tables_name(unsigned int table);
#endif
