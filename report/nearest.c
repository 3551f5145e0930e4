// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "nearest.h"
#include "words.h"

#define NEAREST 3

static int by_distance(const void *a, const void *b)
{
	const struct near *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return x->calls != y->calls ? (x->calls > y->calls ? -1 : 1) : strcmp(x->name, y->name);
}

const char *nearest_text(struct near *list, size_t count, char *buf, size_t size)
{
	struct words w;

	if (count)
		qsort(list, count, sizeof(*list), by_distance);
	*buf = '\0';
	words_begin(&w, buf, size);
	for (size_t i = 0; i < count && i < NEAREST; i++)
		words_item(&w, ", ", "%s", list[i].name);
	if (count > NEAREST)
		words_add(&w, ", ...");
	return buf;
}
