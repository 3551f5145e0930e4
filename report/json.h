/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_JSON_H
#define INGERO_REPORT_JSON_H
/*
 * Writes one JSON document. Strings become valid UTF-8 whatever bytes they hold (what is no
 * UTF-8 becomes U+FFFD); numbers are printed with integer arithmetic, free of the locale.
 * key is NULL inside an array. The caller closes what it opened; nesting is at most 16 deep.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	unsigned int depth;
	bool more[17];		/* a value was written at this depth */
};

void json_init(struct json *j, FILE *out);
void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
/* numerator / denominator with six decimals; null when the denominator is 0. */
void json_ratio(struct json *j, const char *key, uint64_t numerator, uint64_t denominator);
/* A number that stands in digits already. */
void json_number(struct json *j, const char *key, const char *digits);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* The value, or null where it is not known. */
void json_uint_or_null(struct json *j, const char *key, bool known, uint64_t value);
void json_string(struct json *j, const char *key, const char *value);
#endif
