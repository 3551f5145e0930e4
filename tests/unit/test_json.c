// SPDX-License-Identifier: BSD-2-Clause
/* The emitter: nesting, commas, numbers at their limits, strings of any bytes. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "report/json.h"

static void fill(struct json *j)
{
	json_object(j, NULL);
	json_uint(j, "u", UINT64_MAX);
	json_int(j, "i", INT64_MIN);
	json_ratio(j, "third", 1, 3);
	json_ratio(j, "big", UINT64_MAX, 1);
	json_ratio(j, "none", 1, 0);
	json_bool(j, "b", false);
	json_uint_or_null(j, "null", false, 5);
	json_array(j, "list");
	json_object(j, NULL);
	json_string(j, "s", "a\"\\\n\x01\x7f");
	json_string(j, "utf8", "\xc3\xa9\xff\xed\xa0\x80" "x");
	json_object_end(j);
	json_array(j, NULL);
	json_array_end(j);
	json_array_end(j);
	json_object(j, "empty");
	json_object_end(j);
	json_object_end(j);
}

int main(void)
{
	static const char want[] =
		"{\n"
		"  \"u\": 18446744073709551615,\n"
		"  \"i\": -9223372036854775808,\n"
		"  \"third\": 0.333333,\n"
		"  \"big\": 18446744073709551615.000000,\n"
		"  \"none\": null,\n"
		"  \"b\": false,\n"
		"  \"null\": null,\n"
		"  \"list\": [\n"
		"    {\"s\": \"a\\\"\\\\\\u000a\\u0001\\u007f\", "
		"\"utf8\": \"\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\"},\n"
		"    []\n"
		"  ],\n"
		"  \"empty\": {}\n"
		"}\n";
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct json j;

	json_init(&j, f);
	fill(&j);
	fclose(f);
	if (!CHECK(!strcmp(text, want)))
		printf("%s", text);
	free(text);
	return check_result();
}
