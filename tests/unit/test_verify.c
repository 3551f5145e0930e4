// SPDX-License-Identifier: BSD-2-Clause
#include "common/verify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "common/bytes.h"
#include "small_file.h"

static char *path;
static char said[4096];

static void say(void *arg, enum verify_kind kind, const char *line)
{
	size_t used = strlen(said);

	(void)arg;
	snprintf(said + used, sizeof(said) - used, "%d %s\n", (int)kind, line);
}

static int verify(void)
{
	struct reader *r;
	int found;

	said[0] = '\0';
	if (!CHECK(reader_open(&r, path, NULL) == 0))
		return -1;
	found = verify_file(r, say, NULL);
	reader_close(r);
	return found;
}

static void count(struct writer *w, uint64_t source, uint64_t cpu, uint64_t entries, uint64_t emitted)
{
	struct row_counter row = {
		.ts = 9000000, .source = source, .cpu = cpu, .entries = entries, .emitted = emitted,
	};

	writer_row(w, TABLE_counter, 0, &row);
}

static void with_counters(uint64_t entries, uint64_t switches, uint64_t calls)
{
	struct writer *w = small_writer(path);

	small_rows(w);
	/* An older row of the same counter does not count. */
	count(w, SOURCE_SWITCH, 0, 7, 7);
	count(w, SOURCE_SWITCH, 0, entries, switches);
	count(w, SOURCE_SWITCH, 1, SMALL_SWITCHES, SMALL_SWITCHES);
	/* Counted on another CPU than the rows are on. */
	count(w, SOURCE_CALL_RETURN, 0, calls, calls);
	writer_close(w, NULL);
}

static void test_sound(void)
{
	small_file(path, 1);
	CHECK(verify() == 0 && !strstr(said, "not closed"));
	small_file(path, 0);
	CHECK(verify() == 0 && strstr(said, "0 not closed cleanly"));
	with_counters(SMALL_SWITCHES, SMALL_SWITCHES, SMALL_CALLS);
	CHECK(verify() == 0);
}

static void test_counts(void)
{
	with_counters(SMALL_SWITCHES + 1, SMALL_SWITCHES, SMALL_CALLS);
	CHECK(verify() > 0 && strstr(said, "301 entries are not 300 emitted"));
	with_counters(SMALL_SWITCHES - 1, SMALL_SWITCHES - 1, SMALL_CALLS);
	CHECK(verify() == 1 && strstr(said, "CPU 0: 300 switch rows, but 299 were emitted"));
	with_counters(SMALL_SWITCHES, SMALL_SWITCHES, SMALL_CALLS + 1);
	CHECK(verify() == 1 && strstr(said, "40 call rows, but 41 were emitted"));
}

static void test_breaks(void)
{
	struct writer *w = small_writer(path);
	struct row_switch row = { .ts = 1, .prev_tid = 5, .next_tid = 6 };

	writer_row(w, TABLE_switch, 1, &row);
	row = (struct row_switch){ .ts = 2, .prev_tid = 7, .next_tid = 5 };
	writer_row(w, TABLE_switch, 1, &row);
	writer_close(w, NULL);
	CHECK(verify() == 0 && strstr(said, "0 CPU 1: 1 of 2 switches follow a row that is missing"));
}

static void test_dangling_string(void)
{
	struct writer *w = small_writer(path);
	struct row_info row = { .key = 12345 };

	writer_row(w, TABLE_info, 0, &row);
	writer_close(w, NULL);
	CHECK(verify() == 1 && strstr(said, "names string 12345"));
}

/* Header fields that contradict the rows, under checksums that are right. */
static void test_lies(void)
{
	static const struct { size_t at; const char *what; } lies[] = {
		{ 40, "wrong first or last time" }, { 48, "wrong first or last time" },
		{ 56, "wrong smallest start" }, { 64 + 16, "wrong smallest or largest" },
		{ 64 + 24, "wrong smallest or largest" },
	};
	size_t size, at;
	uint8_t *data;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		small_file(path, 1);
		data = small_read(path, &size);
		at = small_block(data, size, 3);
		bytes_put64(data + at + lies[i].at, bytes_get64(data + at + lies[i].at) + 1 -
			    2 * (lies[i].at == 40));
		small_mend(data, at);
		small_write(path, data, size);
		CHECK(verify() == 1 && strstr(said, lies[i].what));
		free(data);
	}
}

int main(void)
{
	path = small_path();
	test_sound();
	test_counts();
	test_breaks();
	test_dangling_string();
	test_lies();
	unlink(path);
	free(path);
	return check_result();
}
