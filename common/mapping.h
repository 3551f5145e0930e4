/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_MAPPING_H
#define INGERO_MAPPING_H
/*
 * A read-only mapping of a regular file that survives the file being cut underneath: the SIGBUS
 * of a page that is gone is caught, the page reads as zeros from then on, and the mapping
 * remembers it. The handler is installed with the first mapping; a SIGBUS from anywhere else
 * gets what it would have got before. At most MAPPING_LIMIT mappings at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "error.h"

#define MAPPING_LIMIT 64

struct mapping {
	const uint8_t *data;	/* NULL for an empty file */
	size_t size;
	int slot;		/* private */
};

/* ERROR_NOT_OURS when path cannot be opened or is no regular file. */
int mapping_open(struct mapping *m, const char *path, struct error *e);
void mapping_close(struct mapping *m);	/* twice is once */
/*
 * Give back the memory that holds size bytes at offset: what is read there again comes from the
 * page cache or the disk. So that a large file read from end to end does not fill the memory.
 */
void mapping_forget(const struct mapping *m, uint64_t offset, uint64_t size);
/* Whether a page of it was found gone. */
bool mapping_broken(const struct mapping *m);
#endif
