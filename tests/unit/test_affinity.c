// SPDX-License-Identifier: BSD-2-Clause
/* CPU masks as lists. */
#include "record/affinity.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

static uint64_t mask[AFFINITY_WORDS];
static char text[AFFINITY_TEXT];

static void set(unsigned int first, unsigned int last)
{
	for (unsigned int cpu = first; cpu <= last; cpu++)
		mask[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static bool gives(unsigned int words, unsigned int count, const char *list)
{
	return affinity_text(mask, words, text) == count && !strcmp(text, list);
}

static void check_text(void)
{
	CHECK(gives(1, 0, "") && gives(0, 0, ""));
	set(0, 0);
	CHECK(gives(1, 1, "0"));
	set(3, 5);
	CHECK(gives(1, 4, "0,3-5"));
	set(62, 65);
	CHECK(gives(1, 6, "0,3-5,62-63") && gives(2, 8, "0,3-5,62-65"));
	set(0, 64 * AFFINITY_WORDS - 1);
	CHECK(gives(AFFINITY_WORDS, 8192, "0-8191"));
}

/* Every other CPU of 8,192 does not fit: the list is cut, the number is right. */
static void check_cut(void)
{
	memset(mask, 0x55, sizeof(mask));
	CHECK(affinity_text(mask, AFFINITY_WORDS, text) == 4096);
	CHECK(strlen(text) < AFFINITY_TEXT && strlen(text) > AFFINITY_TEXT - 64);
	CHECK(!strncmp(text, "0,2,4,", 6));
}

static void check_online(void)
{
	memset(mask, 0xff, sizeof(mask));
	CHECK((long)affinity_list(mask, AFFINITY_WORDS, text) == sysconf(_SC_NPROCESSORS_ONLN));
	CHECK((long)affinity_list(mask, 4 * AFFINITY_WORDS, text) == sysconf(_SC_NPROCESSORS_ONLN));
	memset(mask, 0, sizeof(mask));
	CHECK(!affinity_list(mask, AFFINITY_WORDS, text) && !*text);
}

int main(void)
{
	check_text();
	check_cut();
	check_online();
	return check_result();
}
