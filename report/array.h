/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_ARRAY_H
#define INGERO_REPORT_ARRAY_H
/*
 * Growing arrays without macros: a pointer, a capacity and a length kept by the owner.
 */
#include <stddef.h>
#include <stdlib.h>

/*
 * Make room for need elements of the given size in array (malloc'd or NULL) and return it, moved
 * where necessary; NULL when out of memory, the old array then still belongs to the caller.
 */
static inline void *array_reserve(void *array, size_t *capacity, size_t need, size_t size)
{
	size_t want = *capacity ? *capacity : 16;
	void *grown;

	if (need <= *capacity)
		return array;
	while (want < need)
		want += want / 2;
	if (want > (size_t)-1 / size)
		return NULL;
	grown = realloc(array, want * size);
	if (grown)
		*capacity = want;
	return grown;
}
#endif
