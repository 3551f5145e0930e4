/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_CHECK_H
#define INGERO_CHECK_H
/*
 * What a unit test checks with. CHECK(condition) says where and what when the condition does not
 * hold, and goes on; main ends with "return check_result();", which prints the sum. A test that
 * cannot run here prints why and returns CHECK_SKIP.
 */
#include <stdbool.h>
#include <stdio.h>

#define CHECK_SKIP 77

static unsigned int check_count, check_failures;

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)

static inline bool check_that(bool holds, const char *text, const char *file, int line)
{
	check_count++;
	if (holds)
		return true;
	check_failures++;
	printf("not ok: %s:%d: %s\n", file, line, text);
	return false;
}

static inline int check_result(void)
{
	if (check_failures)
		printf("not ok: %u of %u checks failed\n", check_failures, check_count);
	else
		printf("ok: %u checks\n", check_count);
	return check_failures || !check_count;
}
#endif
