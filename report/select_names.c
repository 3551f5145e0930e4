// SPDX-License-Identifier: BSD-2-Clause
#include <fnmatch.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../common/options.h"
#include "array.h"
#include "fmt.h"
#include "select_names.h"
#include "tasks.h"

#define SHOWN 10

static bool read_number(const char *text, uint32_t *number)
{
	uint64_t value = 0;

	for (const char *at = text; *at; at++) {
		if (*at < '0' || *at > '9' || value >= TASKS_TID_LIMIT)
			return false;
		value = value * 10 + (uint64_t)(*at - '0');
	}
	*number = (uint32_t)value;
	return *text && value < TASKS_TID_LIMIT;
}

static int add_name(struct name_list *l, const char *text, bool numbers, struct error *e)
{
	struct name *name = &l->names[l->count];
	char shown[128];

	if (l->count == NAMES_MAX)
		return error_set(e, ERROR_USAGE, "option \"--%s\": more than %d names", l->option,
				 NAMES_MAX);
	*name = (struct name){ .text = text };
	if (!*text) {
		error_set(e, ERROR_USAGE, "option \"--%s\": an empty name", l->option);
		return error_hint(e, "commas stand between names: --%s=A,B", l->option);
	}
	if (numbers && !read_number(text, &name->number)) {
		error_set(e, ERROR_USAGE, "option \"--%s\": no number: \"%s\"", l->option,
			  fmt_text(shown, sizeof(shown), text, 60));
		return error_hint(e, "--%s=123 or --%s=123,456", l->option, l->option);
	}
	l->count++;
	return 0;
}

int name_list_read(struct name_list *l, const char *option, const char *text, bool numbers,
		   struct error *e)
{
	char *at, *name;
	int ret = 0;

	*l = (struct name_list){ .option = option };
	if (!text)
		return 0;
	l->copy = at = strdup(text);
	l->names = calloc(NAMES_MAX, sizeof(*l->names));
	if (!l->copy || !l->names)
		return error_set(e, ERROR_MEMORY, "out of memory");
	while (!ret && (name = strsep(&at, ",")))
		ret = add_name(l, name, numbers, e);
	return ret;
}

void name_list_release(struct name_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i].threads);
	free(l->names);
	free(l->copy);
	*l = (struct name_list){ 0 };
}

const struct name *name_list_missing(const struct name_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (!l->names[i].found)
			return &l->names[i];
	return NULL;
}

bool name_is_glob(const char *text)
{
	return text[strcspn(text, "*?[")];
}

/* Whatever the locale is: the same file and options give the same report. */
bool name_glob(const char *glob, const char *text, bool fold)
{
	static locale_t c;
	locale_t before;
	bool matches;

	if (!c)
		c = newlocale(LC_ALL_MASK, "C", NULL);
	before = uselocale(c);
	matches = !fnmatch(glob, text, fold ? FNM_CASEFOLD : 0);
	uselocale(before);
	return matches;
}

/* How unlike; UINT_MAX where it is no slip of the finger. Stars and the like do not count. */
static unsigned int unlike(const char *wanted, const char *text)
{
	char plain[64];
	size_t n = 0;
	unsigned int distance;

	for (; *wanted && n < sizeof(plain) - 1; wanted++)
		if (!strchr("*?[]", *wanted))
			plain[n++] = *wanted;
	distance = options_distance(plain, n, text);
	return distance <= (n < 6 ? 2 : n / 3) ? distance : UINT_MAX;
}

void choices_add(struct choices *c, const char *text, uint64_t weight, const char *wanted)
{
	struct choice *list = array_reserve(c->list, &c->capacity, c->count + 1, sizeof(*list));
	struct choice *choice;

	if (!list)
		return;
	c->list = list;
	choice = &list[c->count++];
	choice->weight = weight;
	choice->distance = wanted ? unlike(wanted, text) : UINT_MAX;
	fmt_text(choice->text, sizeof(choice->text), text, 40);
}

/* Of one text the one that weighs most first. */
static int by_text(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;
	int texts = strcmp(x->text, y->text);

	return texts ? texts : (x->weight < y->weight) - (x->weight > y->weight);
}

static int by_likeness(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void join_same(struct choices *c)
{
	size_t kept = 0;

	qsort(c->list, c->count, sizeof(*c->list), by_text);
	for (size_t i = 0; i < c->count; i++)
		if (!kept || strcmp(c->list[kept - 1].text, c->list[i].text))
			c->list[kept++] = c->list[i];
	c->count = kept;
	qsort(c->list, c->count, sizeof(*c->list), by_likeness);
}

const char *choices_text(struct choices *c, char *buf, size_t size)
{
	size_t length = 0, i;

	buf[0] = '\0';
	if (c->count)
		join_same(c);
	for (i = 0; i < c->count && i < SHOWN; i++) {
		/* Room is left for how many more there are. */
		if (length + strlen(c->list[i].text) + 24 > size)
			break;
		length += (size_t)snprintf(buf + length, size - length, "%s%s", i ? ", " : "",
					   c->list[i].text);
	}
	if (i < c->count)
		snprintf(buf + length, size - length, ", %zu more", c->count - i);
	free(c->list);
	*c = (struct choices){ 0 };
	return buf;
}
