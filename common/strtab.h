/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_STRTAB_H
#define INGERO_STRTAB_H
/*
 * Strings by number and numbers by string. One module for both directions of a file: the writer
 * interns and gets ids from 1 up; the reader puts strings at the ids the file gives them. Never
 * more than FORMAT_MAX_STRINGS strings and FORMAT_MAX_STRING_BYTES bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "format.h"

struct strtab {
	char **chunk;			/* where the bytes are; they never move */
	size_t chunks, chunk_used, bytes;
	struct strtab_string { const char *text; uint32_t length; } *string;	/* by id - 1 */
	uint32_t count, room;
	uint32_t *slot;			/* hash table of ids; intern only */
	uint32_t slots;
};

void strtab_init(struct strtab *t);
void strtab_release(struct strtab *t);

/*
 * The id of a string, added when new (*added). At most FORMAT_MAX_STRING bytes of it count.
 * Returns 0, ERROR_MEMORY, or ERROR_LIMIT when the table is full.
 */
int strtab_intern(struct strtab *t, const char *s, size_t length, uint32_t *id, bool *added);

/* Put a string at an id. ERROR_LIMIT, ERROR_MEMORY, or ERROR_DAMAGED when the id is taken or 0. */
int strtab_put(struct strtab *t, uint64_t id, const char *s, size_t length);

/* Text of id, NUL-terminated, valid while t lives; "" for 0 or unknown. */
const char *strtab_text(const struct strtab *t, uint64_t id);
bool strtab_known(const struct strtab *t, uint64_t id);	/* true for 0 */
#endif
