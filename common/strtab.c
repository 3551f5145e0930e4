// SPDX-License-Identifier: BSD-2-Clause
#include "strtab.h"

#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "error.h"

#define CHUNK_SIZE (256u << 10)

void strtab_init(struct strtab *t)
{
	*t = (struct strtab){ .chunk_used = CHUNK_SIZE };
}

void strtab_release(struct strtab *t)
{
	for (size_t i = 0; i < t->chunks; i++)
		free(t->chunk[i]);
	free(t->chunk);
	free(t->string);
	free(t->slot);
	strtab_init(t);
}

/* A copy of s with a NUL behind it; NULL when out of memory. */
static const char *keep(struct strtab *t, const char *s, size_t length)
{
	char *at;

	if (t->chunk_used + length + 1 > CHUNK_SIZE) {
		char **more = realloc(t->chunk, (t->chunks + 1) * sizeof(*more));

		if (!more)
			return NULL;
		t->chunk = more;
		more[t->chunks] = malloc(CHUNK_SIZE);
		if (!more[t->chunks])
			return NULL;
		t->chunks++;
		t->chunk_used = 0;
	}
	at = t->chunk[t->chunks - 1] + t->chunk_used;
	memcpy(at, s, length);
	at[length] = '\0';
	t->chunk_used += length + 1;
	t->bytes += length + 1;
	return at;
}

/* Room for ids up to and including id. */
static int reserve(struct strtab *t, uint32_t id)
{
	struct strtab_string *more;
	uint32_t room = t->room ? t->room : 256;

	while (room < id)
		room *= 2;
	if (room == t->room)
		return 0;
	more = realloc(t->string, room * sizeof(*more));
	if (!more)
		return ERROR_MEMORY;
	memset(more + t->room, 0, (room - t->room) * sizeof(*more));
	t->string = more;
	t->room = room;
	return 0;
}

int strtab_put(struct strtab *t, uint64_t id, const char *s, size_t length)
{
	const char *kept;

	if (id == 0)
		return ERROR_DAMAGED;
	if (id > FORMAT_MAX_STRINGS || length > FORMAT_MAX_STRING ||
	    t->bytes + length + 1 > FORMAT_MAX_STRING_BYTES)
		return ERROR_LIMIT;
	if (reserve(t, (uint32_t)id))
		return ERROR_MEMORY;
	if (t->string[id - 1].text)
		return ERROR_DAMAGED;
	kept = keep(t, s, length);
	if (!kept)
		return ERROR_MEMORY;
	t->string[id - 1] = (struct strtab_string){ kept, (uint32_t)length };
	if (id > t->count)
		t->count = (uint32_t)id;
	return 0;
}

static void hash_in(struct strtab *t, uint32_t id)
{
	const struct strtab_string *s = &t->string[id - 1];
	uint32_t at = (uint32_t)checksum(s->text, s->length) & (t->slots - 1);

	while (t->slot[at])
		at = (at + 1) & (t->slots - 1);
	t->slot[at] = id;
}

static int grow_hash(struct strtab *t)
{
	uint32_t slots = t->slots ? t->slots * 2 : 1024;
	uint32_t *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return ERROR_MEMORY;
	free(t->slot);
	t->slot = slot;
	t->slots = slots;
	for (uint32_t id = 1; id <= t->count; id++)
		hash_in(t, id);
	return 0;
}

static uint32_t find(const struct strtab *t, const char *s, size_t length)
{
	uint32_t at = (uint32_t)checksum(s, length) & (t->slots - 1);

	for (; t->slot[at]; at = (at + 1) & (t->slots - 1)) {
		const struct strtab_string *other = &t->string[t->slot[at] - 1];

		if (other->length == length && !memcmp(other->text, s, length))
			return t->slot[at];
	}
	return 0;
}

int strtab_intern(struct strtab *t, const char *s, size_t length, uint32_t *id, bool *added)
{
	int err;

	*added = false;
	if (length > FORMAT_MAX_STRING)
		length = FORMAT_MAX_STRING;
	if (t->count >= t->slots / 2 && grow_hash(t))
		return ERROR_MEMORY;
	*id = find(t, s, length);
	if (*id)
		return 0;
	err = strtab_put(t, t->count + 1ull, s, length);
	if (err)
		return err;
	*id = t->count;
	hash_in(t, *id);
	*added = true;
	return 0;
}

const char *strtab_text(const struct strtab *t, uint64_t id)
{
	if (id == 0 || id > t->count || !t->string[id - 1].text)
		return "";
	return t->string[id - 1].text;
}

bool strtab_known(const struct strtab *t, uint64_t id)
{
	return id == 0 || (id <= t->count && t->string[id - 1].text);
}
