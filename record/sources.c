// SPDX-License-Identifier: BSD-2-Clause
#include "sources.h"
#include <stdio.h>
#include <string.h>

static const struct { const char *name; unsigned int bit; } names[] = {
	{ "interrupts", SOURCES_INTERRUPTS }, { "syscalls", SOURCES_SYSCALLS },
	{ "throttling", SOURCES_THROTTLING }, { "faults", SOURCES_FAULTS },
	{ "reclaim", SOURCES_RECLAIM }, { "cgroups", SOURCES_CGROUPS },
	{ "affinity", SOURCES_AFFINITY },
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static unsigned int bit_of(const char *word, size_t length)
{
	for (size_t i = 0; i < NAMES; i++)
		if (strlen(names[i].name) == length && !strncmp(names[i].name, word, length))
			return names[i].bit;
	return 0;
}

static int unknown(const char *word, size_t length, struct error *e)
{
	char all[SOURCES_TEXT];

	if (!length)
		return error_set(e, ERROR_USAGE, "--without: an empty name");
	sources_text(~0u, all);
	error_set(e, ERROR_USAGE, "--without: \"%.*s\" is nothing that can be left out",
		  length > 60 ? 60 : (int)length, word);
	return error_hint(e, "it takes names out of %s", all);
}

int sources_parse(const char *list, unsigned int *set, struct error *e)
{
	*set = 0;
	while (list) {
		size_t length = strcspn(list, ",");
		unsigned int bit = bit_of(list, length);

		if (!bit)
			return unknown(list, length, e);
		*set |= bit;
		list = list[length] ? list + length + 1 : NULL;
	}
	return 0;
}

void sources_text(unsigned int set, char text[SOURCES_TEXT])
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < NAMES; i++)
		if (set & names[i].bit)
			used += snprintf(text + used, SOURCES_TEXT - used, "%s%s", used ? "," : "",
					 names[i].name);
}
