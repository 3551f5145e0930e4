// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include "fmt.h"
#include "json.h"

#define DEPTH_MAX 16
#define DEPTH_OF_LINES 2	/* objects deeper than this stay on one line */

void json_init(struct json *j, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	while (*s) {
		unsigned char c = (unsigned char)*s;
		unsigned int length = fmt_utf8(s);

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else if (!length)
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(s, 1, length, out);
		s += length ? length : 1;
	}
	fputc('"', out);
}

static void new_line(struct json *j)
{
	if (j->depth <= DEPTH_OF_LINES)
		fprintf(j->out, "\n%*s", (int)j->depth * 2, "");
}

/* What stands before a value: the comma, the line break, the key. */
static void begin(struct json *j, const char *key)
{
	if (j->more[j->depth])
		fputs(j->depth > DEPTH_OF_LINES ? ", " : ",", j->out);
	j->more[j->depth] = true;
	if (j->depth)
		new_line(j);
	if (key) {
		put_string(j->out, key);
		fputs(": ", j->out);
	}
}

static void open_level(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	fputc(bracket, j->out);
	if (j->depth < DEPTH_MAX)
		j->depth++;
	j->more[j->depth] = false;
}

static void close_level(struct json *j, char bracket)
{
	bool filled = j->more[j->depth];

	if (j->depth)
		j->depth--;
	if (filled && j->depth < DEPTH_OF_LINES)
		new_line(j);
	fputc(bracket, j->out);
	if (!j->depth)
		fputc('\n', j->out);
}

void json_object(struct json *j, const char *key)
{
	open_level(j, key, '{');
}

void json_object_end(struct json *j)
{
	close_level(j, '}');
}

void json_array(struct json *j, const char *key)
{
	open_level(j, key, '[');
}

void json_array_end(struct json *j)
{
	close_level(j, ']');
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	fprintf(j->out, "%lld", (long long)value);
}

void json_ratio(struct json *j, const char *key, uint64_t numerator, uint64_t denominator)
{
	unsigned __int128 millionths;

	if (!denominator) {
		json_null(j, key);
		return;
	}
	millionths = (unsigned __int128)numerator * 1000000 / denominator;
	begin(j, key);
	fprintf(j->out, "%llu.%06u", (unsigned long long)(millionths / 1000000),
		(unsigned int)(millionths % 1000000));
}

void json_number(struct json *j, const char *key, const char *digits)
{
	begin(j, key);
	fputs(digits, j->out);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->out);
}

void json_uint_or_null(struct json *j, const char *key, bool known, uint64_t value)
{
	if (known)
		json_uint(j, key, value);
	else
		json_null(j, key);
}

void json_string(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	put_string(j->out, value);
}
