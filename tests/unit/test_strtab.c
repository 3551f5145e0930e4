// SPDX-License-Identifier: BSD-2-Clause
#include "common/strtab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "common/error.h"

static void test_intern(void)
{
	struct strtab t;
	uint32_t id;
	bool added;

	strtab_init(&t);
	CHECK(strtab_intern(&t, "one", 3, &id, &added) == 0 && id == 1 && added);
	CHECK(strtab_intern(&t, "two", 3, &id, &added) == 0 && id == 2 && added);
	CHECK(strtab_intern(&t, "one more", 3, &id, &added) == 0 && id == 1 && !added);
	CHECK(!strcmp(strtab_text(&t, 1), "one") && !strcmp(strtab_text(&t, 2), "two"));
	CHECK(!strcmp(strtab_text(&t, 0), "") && !strcmp(strtab_text(&t, 3), ""));
	CHECK(strtab_known(&t, 0) && strtab_known(&t, 2) && !strtab_known(&t, 3));
	strtab_release(&t);
}

static void test_many(void)
{
	struct strtab t;
	char text[32];
	uint32_t id;
	bool added;

	strtab_init(&t);
	for (uint32_t i = 0; i < 20000; i++) {
		int n = snprintf(text, sizeof(text), "string %u", i);

		if (strtab_intern(&t, text, (size_t)n, &id, &added) || id != i + 1)
			CHECK(false);
	}
	CHECK(!strcmp(strtab_text(&t, 12346), "string 12345"));
	CHECK(strtab_intern(&t, "string 777", 10, &id, &added) == 0 && id == 778 && !added);
	strtab_release(&t);
}

static void test_long(void)
{
	struct strtab t;
	char *text = malloc(70000);
	uint32_t id;
	bool added;

	memset(text, 'x', 70000);
	strtab_init(&t);
	CHECK(strtab_intern(&t, text, 70000, &id, &added) == 0);
	CHECK(strlen(strtab_text(&t, id)) == FORMAT_MAX_STRING);
	CHECK(strtab_put(&t, 2, text, 70000) == ERROR_LIMIT);
	strtab_release(&t);
	free(text);
}

static void test_put(void)
{
	struct strtab t;

	strtab_init(&t);
	CHECK(strtab_put(&t, 0, "", 0) == ERROR_DAMAGED);
	CHECK(strtab_put(&t, 1000, "far", 3) == 0);
	CHECK(strtab_put(&t, 1000, "again", 5) == ERROR_DAMAGED);
	CHECK(strtab_put(&t, FORMAT_MAX_STRINGS + 1ull, "x", 1) == ERROR_LIMIT);
	CHECK(strtab_put(&t, 1ull << 40, "x", 1) == ERROR_LIMIT);
	CHECK(!strcmp(strtab_text(&t, 1000), "far") && !strcmp(strtab_text(&t, 999), ""));
	CHECK(!strtab_known(&t, 999));
	strtab_release(&t);
}

/* 64 MiB of text and no more. */
static void test_full(void)
{
	char *text = calloc(1, FORMAT_MAX_STRING);
	struct strtab t;
	uint32_t id;
	bool added;
	int err = 0;

	strtab_init(&t);
	for (uint32_t i = 0; i < 2000 && !err; i++) {
		memcpy(text, &i, sizeof(i));
		err = strtab_intern(&t, text, FORMAT_MAX_STRING, &id, &added);
	}
	CHECK(err == ERROR_LIMIT && t.bytes <= FORMAT_MAX_STRING_BYTES);
	strtab_release(&t);
	free(text);
}

int main(void)
{
	test_intern();
	test_many();
	test_long();
	test_put();
	test_full();
	return check_result();
}
