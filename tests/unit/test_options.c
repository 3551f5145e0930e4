// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../common/options.h"
#include "check.h"

#define MAX_WORDS 16

/* What one command line came to. */
struct outcome {
	bool force, quiet, help, version;
	const char *output, *strict;
	uint64_t size, count, room, share;
	int rc, first, argc;
	char *argv[MAX_WORDS + 1];
	struct error e;
	struct option_row rows[11];
};

static void fill_rows(struct outcome *o)
{
	const struct option_row rows[] = {
		{ "output", 'o', OPTION_STRING, &o->output, "FILE", "write to FILE", 0, 0 },
		{ "force", 'f', OPTION_FLAG, &o->force, NULL, "overwrite", 0, 0 },
		{ "quiet", 'q', OPTION_FLAG, &o->quiet, NULL, "say less", 0, 0 },
		{ "buffer", 0, OPTION_SIZE, &o->size, "SIZE", "bytes", 4096, 1ull << 30 },
		{ "count", 'n', OPTION_UINT, &o->count, "N", "how many", 0, 0 },
		{ "strict", 's', OPTION_OPTIONAL, &o->strict, "LEVEL", "how strict", 0, 0 },
		{ "room", 0, OPTION_SIZE, &o->room, "SIZE", "room", 0, 0 },
		{ "share-of-the-whole", 0, OPTION_SIZE, &o->share, "SIZE",
		  "how much of all that there is goes to it", 0, 1536 << 10 },
		{ "help", 'h', OPTION_HELP, &o->help, NULL, "this text", 0, 0 },
		{ "version", 'V', OPTION_VERSION, NULL, NULL, "the version", 0, 0 },
		{ 0 },
	};

	memcpy(o->rows, rows, sizeof(rows));
}

/* Words are separated by single spaces; "%" stands for an empty word. */
static struct outcome *parse(bool stop, const char *line)
{
	static struct outcome o;
	static char text[512];
	char *rest = text, *word;

	memset(&o, 0, sizeof(o));
	fill_rows(&o);
	snprintf(text, sizeof(text), "program %s", line);
	while (o.argc < MAX_WORDS && (word = strsep(&rest, " ")))
		if (*word)
			o.argv[o.argc++] = strcmp(word, "%") ? word : word + 1;
	o.rc = options_parse(o.rows, o.argc, o.argv, stop, &o.first, &o.e);
	return &o;
}

static bool word_is(const struct outcome *o, int i, const char *word)
{
	return i < o->argc && !strcmp(o->argv[i], word);
}

static void test_forms(void)
{
	static const char *const lines[] = {
		"--output=a -f -q -n 7", "--output a --force --quiet --count=7",
		"-oa -fqn7", "-fq -n 7 -o a", "-fqo a --count 7", "-o b --output a -qf -n 1 -n 7",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct outcome *o = parse(false, lines[i]);

		CHECK(o->rc == 0);
		CHECK(o->output && !strcmp(o->output, "a"));
		CHECK(o->force && o->quiet && o->count == 7);
		CHECK(o->first == o->argc);
	}
	CHECK(parse(false, "--output=")->output[0] == '\0');
	CHECK(!strcmp(parse(false, "-o -")->output, "-"));
	CHECK(!strcmp(parse(false, "-o --force")->output, "--force"));
	CHECK(!strcmp(parse(false, "--output=a=b")->output, "a=b"));
}

/* A value only behind "=", so that what follows can be an operand. */
static void test_optional(void)
{
	struct outcome *o = parse(false, "--strict all");

	CHECK(o->rc == 0 && !strcmp(o->strict, "") && word_is(o, o->first, "all"));
	o = parse(false, "--strict=all");
	CHECK(o->rc == 0 && !strcmp(o->strict, "all") && o->first == o->argc);
	o = parse(false, "-fsq");
	CHECK(o->rc == 0 && o->force && o->quiet && !strcmp(o->strict, ""));
	CHECK(!parse(false, "-f")->strict);
}

static void test_sizes(void)
{
	CHECK(parse(false, "--buffer 4096")->size == 4096);
	CHECK(parse(false, "--buffer=4K")->size == 4096);
	CHECK(parse(false, "--buffer=4k")->size == 4096);
	CHECK(parse(false, "--buffer=3M")->size == 3u << 20);
	CHECK(parse(false, "--buffer=1G")->size == 1u << 30);
	CHECK(parse(false, "--count 18446744073709551615")->count == UINT64_MAX);
	CHECK(parse(false, "--count 0")->rc == 0);
}

static void refused(const char *line, const char *text, const char *hint)
{
	struct outcome *o = parse(false, line);

	if (!CHECK(o->rc == ERROR_USAGE && o->e.code == ERROR_USAGE && strstr(o->e.text, text) &&
		   strstr(o->e.hint, hint)))
		printf("\"%s\": rc %d, text \"%s\", hint \"%s\"; expected \"%s\" and \"%s\"\n",
		       line, o->rc, o->e.text, o->e.hint, text, hint);
}

static void test_refusals(void)
{
	refused("--ouput=a", "unknown option \"--ouput\"", "did you mean \"--output\"?");
	refused("--forse", "unknown option \"--forse\"", "\"--force\"");
	refused("--out a", "unknown option \"--out\"", "\"--output\"");
	refused("--cot", "unknown option \"--cot\"", "--help");
	refused("--nothing-like-it", "unknown option", "--help");
	refused("-fx", "unknown option \"-x\"", "--help");
	refused("--force=1", "\"--force\" takes no value: \"1\"", "");
	refused("--output", "\"--output\" needs a value", "--output=FILE");
	refused("-o", "\"--output\" needs a value", "--output=FILE");
	refused("-fo -- a", "\"--output\" needs a value", "--output=FILE");
	refused("--count=", "not a number: \"\"", "whole number");
	refused("--count %", "not a number: \"\"", "whole number");
	refused("--count -1", "not a number: \"-1\"", "whole number");
	refused("--count +1", "not a number", "");
	refused("--count 1x", "not a number", "");
	refused("--count 1K", "not a number", "");
	refused("--count 0x10", "not a number", "");
	refused("--count 18446744073709551616", "too large", "");
	refused("--buffer 17179869184G", "too large", "");
	refused("--buffer 4KB", "not a number", "");
	refused("--buffer K", "not a number", "");
	refused("--buffer 4095", "out of range: \"4095\"", "takes a size from 4K to 1G,");
	refused("--buffer 2G", "out of range: \"2G\"", "in bytes or with K, M or G");
	refused("--room 1x", "not a number: \"1x\"", "--room takes a size in bytes or with K, M or G");
	refused("--share-of-the-whole 2M", "out of range", "from 0 to 1536K,");
}

static void test_operands(void)
{
	struct outcome *o = parse(false, "a -f b -o c d -- -q");

	CHECK(o->rc == 0 && o->force && !o->quiet && !strcmp(o->output, "c"));
	CHECK(o->first == o->argc - 4);
	CHECK(word_is(o, o->first, "a") && word_is(o, o->first + 1, "b"));
	CHECK(word_is(o, o->first + 2, "d") && word_is(o, o->first + 3, "-q"));

	o = parse(true, "-f command -q --help");
	CHECK(o->rc == 0 && o->force && !o->quiet && word_is(o, o->first, "command"));
	o = parse(true, "-f -- -q --help");
	CHECK(o->rc == 0 && o->force && !o->quiet && word_is(o, o->first, "-q"));
	o = parse(true, "-f --");
	CHECK(o->rc == 0 && o->first == o->argc);
	o = parse(false, "- -f");
	CHECK(o->rc == 0 && o->force && o->first == 2 && word_is(o, 2, "-"));
	o = parse(false, "");
	CHECK(o->rc == 0 && o->first == 1);
	CHECK(options_parse(o->rows, 0, o->argv, false, &o->first, NULL) == 0 && o->first == 0);
	CHECK(options_parse(o->rows, 2, (char *[]){ "x", "-z", NULL }, false, &o->first, NULL) < 0);
}

static void test_requests(void)
{
	static const struct option_usage usage = { "program", "[options]", "does nothing", "more" };
	struct outcome *o = parse(false, "-f --help --no-such-option");
	char *text;

	CHECK(o->rc == OPTIONS_HELP && o->help && o->force);
	text = options_answer(o->rc, &usage, o->rows);
	CHECK(text && strstr(text, "usage: program [options]\ndoes nothing\n"));
	CHECK(text && strstr(text, "  -o, --output=FILE       write to FILE\n"));
	CHECK(text && strstr(text, "      --buffer=SIZE       bytes; from 4K to 1G, in bytes or with K, M or G\n"));
	CHECK(text && !strstr(text, "list-options") && strstr(text, "\n\nmore\n"));
	free(text);

	o = parse(true, "--list-options");
	CHECK(o->rc == OPTIONS_LIST);
	text = options_answer(o->rc, &usage, o->rows);
	CHECK(text && !strcmp(text, "output\to\tFILE\tneeded\twrite to FILE\n"
			      "force\tf\t\tnone\toverwrite\n"
			      "quiet\tq\t\tnone\tsay less\n"
			      "buffer\t\tSIZE\tneeded\tbytes\n"
			      "count\tn\tN\tneeded\thow many\n"
			      "strict\ts\tLEVEL\toptional\thow strict\n"
			      "room\t\tSIZE\tneeded\troom\n"
			      "share-of-the-whole\t\tSIZE\tneeded\t"
			      "how much of all that there is goes to it\n"
			      "help\th\t\tnone\tthis text\n"
			      "version\tV\t\tnone\tthe version\n"));
	free(text);

	o = parse(false, "-qV");
	CHECK(o->rc == OPTIONS_VERSION && o->quiet);
	text = options_answer(o->rc, &usage, o->rows);
	CHECK(text && !strcmp(text, "program " INGERO_VERSION "\n"));
	free(text);
}

/* No line is wider than 80 columns, however the texts of a program are laid out. */
static void test_width(void)
{
	static const struct option_usage usage = {
		"program", "[options]", "does nothing", "one two three four five six seven eight nine "
		"ten eleven twelve\nthirteen fourteen fifteen\n\nsixteen",
	};
	char *text = options_help(&usage, parse(false, "-f")->rows);

	if (!CHECK(text))
		return;
	CHECK(strstr(text, "      --share-of-the-whole=SIZE\n"
		     "                          how much of all that there is goes to it; from 0 to\n"
		     "                          1536K, in bytes or with K, M or G\n"));
	CHECK(strstr(text, "\n\none two three four five six seven eight nine ten eleven twelve "
		     "thirteen fourteen\nfifteen\n\nsixteen\n"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		CHECK(strcspn(line, "\n") <= 80);
	free(text);
}

int main(void)
{
	test_forms();
	test_optional();
	test_sizes();
	test_refusals();
	test_operands();
	test_requests();
	test_width();
	return check_result();
}
