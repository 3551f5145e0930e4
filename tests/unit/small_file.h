/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_SMALL_FILE_H
#define INGERO_SMALL_FILE_H
/*
 * Files for tests: a small one with rows of several tables, and bytes to and from disk. All of
 * it ends the test program when the disk does not play along.
 */
#include <stddef.h>
#include <stdint.h>
#include "common/writer.h"

#define SMALL_SWITCHES 300	/* rows of each of the two CPUs */
#define SMALL_CALLS 40

/* A path nobody else uses, in TMPDIR or /tmp; malloc'd. The file is there and empty. */
char *small_path(void);
/* A writer to a new file at path. */
struct writer *small_writer(const char *path);
/* Fill w with the rows of the small file, flushed twice on the way. */
void small_rows(struct writer *w);
/* The small file, closed or not. */
void small_file(const char *path, int closed);

uint8_t *small_read(const char *path, size_t *size);	/* malloc'd */
void small_write(const char *path, const void *data, size_t size);
/* Where block number i begins (0 is the schema); 0 when there are not so many. */
size_t small_block(const uint8_t *data, size_t size, unsigned int i);
/* Compute the header's checksum of the block at offset anew. */
void small_mend(uint8_t *data, size_t offset);
#endif
