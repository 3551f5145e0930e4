// SPDX-License-Identifier: BSD-2-Clause
/* --without: names to sets and back. */
#include "record/sources.h"
#include <string.h>
#include "check.h"

static unsigned int parsed(const char *list)
{
	struct error e = { 0 };
	unsigned int set = 0;

	CHECK(!sources_parse(list, &set, &e));
	return set;
}

static bool refused(const char *list, const char *word)
{
	struct error e = { 0 };
	unsigned int set;

	return sources_parse(list, &set, &e) == ERROR_USAGE && e.code == ERROR_USAGE &&
	       strstr(e.text, word);
}

int main(void)
{
	char text[SOURCES_TEXT];

	CHECK(parsed(NULL) == 0);
	CHECK(parsed("interrupts") == SOURCES_INTERRUPTS);
	CHECK(parsed("affinity,faults,affinity") == (SOURCES_FAULTS | SOURCES_AFFINITY));
	CHECK(refused("", "empty") && refused("faults,", "empty") && refused(",faults", "empty"));
	CHECK(refused("fault", "\"fault\"") && refused("faultss", "\"faultss\"") &&
	      refused("faults, reclaim", "\" reclaim\""));
	CHECK(refused("switches", "\"switches\""));
	sources_text(0, text);
	CHECK(!strcmp(text, ""));
	sources_text(SOURCES_RECLAIM | SOURCES_SYSCALLS, text);
	CHECK(!strcmp(text, "syscalls,reclaim"));
	sources_text(~0u, text);
	CHECK(strlen(text) + 1 <= SOURCES_TEXT && parsed(text) == 0x7f);
	return check_result();
}
