/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_WRITER_H
#define INGERO_WRITER_H
/*
 * Writes an .ing file: rows are appended to one builder per (table, CPU) and leave as
 * compressed, checksummed blocks when a builder is full or writer_flush() is called. Whatever
 * has been flushed is readable even if the file ends there. One thread at a time.
 * Failures of write(2) are kept: the first is returned from every later call. All builders
 * together take at most 128 MiB or 256 rows each, strings at most FORMAT_MAX_STRING_BYTES.
 */
#include <stddef.h>
#include <stdint.h>
#include "error.h"
#include "format.h"

struct writer;

/* Takes over fd (open for writing, empty). Writes header and schema at once. */
int writer_open(struct writer **w, int fd, struct error *e);

/*
 * Append one row: COLS_<table> values in columns.def order. cpu is 0 for tables of GLOBAL scope.
 * Rows of table string are written by writer_string() only. Rows of a table that begins with a
 * time should come in its order; the writer sorts a block whose rows do not. Other tables keep
 * the order in which rows came.
 */
int writer_row(struct writer *w, enum table table, uint32_t cpu, const void *row);

/*
 * The number of string s, interned for the life of the writer; 0 for NULL or "", and when the
 * file's strings have reached their limits (format.h). FORMAT_MAX_STRING bytes of it are kept.
 */
uint32_t writer_string(struct writer *w, const char *s, size_t length);

/*
 * Write every builder that holds rows: strings first, state last, so that a coverage row vouches
 * for all before it.
 */
int writer_flush(struct writer *w, struct error *e);

uint64_t writer_bytes(const struct writer *w);		/* written so far */

/* Flush, write index and the mark of a clean close, close the fd, free. NULL is accepted. */
int writer_close(struct writer *w, struct error *e);
/* Free without writing anything more; closes the fd. */
void writer_abandon(struct writer *w);
#endif
