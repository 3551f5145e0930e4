// SPDX-License-Identifier: BSD-2-Clause
#include "common/writer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "common/reader.h"
#include "small_file.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static char *path;

static struct reader *open_file(void)
{
	struct reader *r = NULL;
	struct error e;

	if (!CHECK(reader_open(&r, path, &e) == 0)) {
		printf("%s\n", e.text);
		exit(1);
	}
	return r;
}

/* The first block of a table, all columns loaded. */
static const struct block_info *load(struct reader *r, enum table table, uint32_t cpu,
				     struct columns *c)
{
	for (size_t i = 0; i < reader_blocks(r); i++) {
		const struct block_info *info = reader_block(r, i);

		if (info->table == table && info->cpu == cpu) {
			CHECK(reader_load(r, i, ~0ull, c, NULL) == 0);
			return info;
		}
	}
	CHECK(!"the table has no block");
	exit(1);
}

static void test_empty(void)
{
	struct reader *r;

	CHECK(writer_close(small_writer(path), NULL) == 0);
	r = open_file();
	CHECK(reader_info(r)->closed && reader_info(r)->index_used);
	CHECK(reader_blocks(r) == 0 && reader_info(r)->damage_count == 0);
	reader_close(r);
	CHECK(writer_close(NULL, NULL) == 0);
	writer_abandon(NULL);
}

static void test_rows_come_back(void)
{
	struct columns c = { 0 };
	struct reader *r;
	uint64_t rows = 0;

	small_file(path, 1);
	r = open_file();
	CHECK(reader_info(r)->damage_count == 0 && reader_info(r)->index_used);
	load(r, TABLE_info, 0, &c);
	CHECK(c.rows == 1 && !strcmp(reader_string(r, c.col[COL_info_key][0]), "host.name"));
	CHECK(!strcmp(reader_string(r, c.col[COL_info_value][0]), "box"));
	for (size_t i = 0; i < reader_blocks(r); i++)
		if (reader_block(r, i)->table == TABLE_switch)
			rows += reader_block(r, i)->rows;
	CHECK(rows == 2 * SMALL_SWITCHES);
	load(r, TABLE_switch, 1, &c);
	CHECK(c.rows == SMALL_SWITCHES / 2 && c.col[COL_switch_ts][5] == 1005005);
	CHECK(c.col[COL_switch_waker_tid][5] == 7 && c.col[COL_switch_migrated_from][5] == 0);
	CHECK(c.present == (1ull << COLS_switch) - 1);
	columns_release(&c);
	reader_close(r);
}

static void test_min_start(void)
{
	struct columns c = { 0 };
	const struct block_info *info;
	struct reader *r = open_file();

	info = load(r, TABLE_call, 1, &c);
	CHECK(info->first_ts == 2000000 && info->last_ts == 2000000 + 100 * (SMALL_CALLS - 1));
	CHECK(info->min_start == 1999950);
	CHECK((int64_t)c.col[COL_call_code][9] == -1);
	columns_release(&c);
	reader_close(r);
}

/* Rows out of order, some at the same time, come back in order; equal ones as they were given. */
static void test_sorted(void)
{
	struct writer *w = small_writer(path);
	struct columns c = { 0 };
	struct reader *r;
	uint32_t wrong = 0;

	for (uint64_t i = 0; i < 3000; i++) {
		struct row_page row = { .ts = 5000 + (i * 7919) % 1000, .tid = 1, .events = i };

		writer_row(w, TABLE_page, 0, &row);
	}
	CHECK(writer_close(w, NULL) == 0);
	r = open_file();
	load(r, TABLE_page, 0, &c);
	for (uint32_t i = 1; i < c.rows; i++) {
		wrong += c.col[COL_page_ts][i] < c.col[COL_page_ts][i - 1];
		wrong += c.col[COL_page_ts][i] == c.col[COL_page_ts][i - 1] &&
			 c.col[COL_page_events][i] < c.col[COL_page_events][i - 1];
		wrong += c.col[COL_page_ts][i] != 5000 + c.col[COL_page_events][i] * 7919 % 1000;
	}
	CHECK(c.rows == 3000 && wrong == 0);
	columns_release(&c);
	reader_close(r);
}

/* Tables in which the last row of an id counts must keep their order. */
static void test_unsorted(void)
{
	struct writer *w = small_writer(path);
	struct columns c = { 0 };
	struct reader *r;

	for (uint64_t i = 0; i < 3; i++) {
		struct row_library row = { .id = 3 - i, .mapped = 100 - i };

		writer_row(w, TABLE_library, 0, &row);
	}
	CHECK(writer_close(w, NULL) == 0);
	r = open_file();
	CHECK(load(r, TABLE_library, 0, &c)->first_ts == 98);
	CHECK(c.col[COL_library_id][0] == 3 && c.col[COL_library_id][2] == 1);
	columns_release(&c);
	reader_close(r);
}

/* Strings before the rows that name them, coverage behind everything it vouches for. */
static void test_order(void)
{
	struct writer *w = small_writer(path);
	struct row_state state = { .ts = 9, .kind = STATE_KIND_COVERAGE };
	struct row_page page = { .ts = 8 };
	struct row_info info = { .key = 0 };
	struct reader *r;

	writer_row(w, TABLE_state, 0, &state);
	info.key = writer_string(w, "k", 1);
	writer_row(w, TABLE_info, 0, &info);
	writer_row(w, TABLE_page, 3, &page);
	CHECK(writer_flush(w, NULL) == 0);
	writer_abandon(w);
	r = open_file();
	CHECK(!reader_info(r)->closed && reader_blocks(r) == 4);
	CHECK(reader_block(r, 0)->table == TABLE_string);
	CHECK(reader_block(r, 3)->table == TABLE_state);
	reader_close(r);
}

static void test_strings(void)
{
	struct writer *w = small_writer(path);
	char *text = malloc(70000);
	uint32_t first, again;
	struct reader *r;

	memset(text, 'y', 70000);
	CHECK(writer_string(w, NULL, 5) == 0 && writer_string(w, "", 0) == 0);
	first = writer_string(w, "abc", 3);
	again = writer_string(w, "abcdef", 3);
	CHECK(first && first == again);
	/* More text than one block is given. */
	for (uint32_t i = 0; i < 100; i++) {
		memcpy(text, &i, sizeof(i));
		again = writer_string(w, text, 70000);
	}
	CHECK(writer_close(w, NULL) == 0);
	r = open_file();
	CHECK(!strcmp(reader_string(r, first), "abc"));
	CHECK(strlen(reader_string(r, again)) == 1 && reader_string_known(r, again));
	CHECK(!memcmp(reader_string(r, again) + 4, "yyyy", 4));
	CHECK(reader_info(r)->damage_count == 0);
	reader_close(r);
	free(text);
}

/* A disk that is full: kept, told by every call, and what came before stays readable. */
static void test_full_disk(void)
{
	int fd = open("/dev/full", O_WRONLY);
	struct row_page page = { .ts = 1 };
	struct rlimit limit, small = { 4096, RLIM_INFINITY };
	struct error e;
	struct writer *w;
	struct reader *r;

	CHECK(writer_open(&w, fd, &e) == ERROR_SYSTEM && !w);
	getrlimit(RLIMIT_FSIZE, &limit);
	small.rlim_max = limit.rlim_max;
	w = small_writer(path);
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	for (uint64_t i = 0; i < 200000; i++) {
		page.tid = i * i;
		page.ts = i;
		writer_row(w, TABLE_page, 0, &page);
	}
	CHECK(writer_flush(w, &e) == ERROR_SYSTEM && strstr(e.text, "cannot write"));
	CHECK(writer_row(w, TABLE_page, 0, &page) == ERROR_SYSTEM);
	CHECK(writer_bytes(w) <= 4096);
	CHECK(writer_close(w, &e) == ERROR_SYSTEM);
	setrlimit(RLIMIT_FSIZE, &limit);
	r = open_file();
	CHECK(!reader_info(r)->closed && reader_info(r)->cut > 0);
	reader_close(r);
}

static void test_wrong_rows(void)
{
	struct writer *w = small_writer(path);
	struct row_page page = { .ts = 1 };

	CHECK(writer_row(w, TABLE_page, FORMAT_MAX_CPUS, &page) == ERROR_LIMIT);
	writer_abandon(w);
	w = small_writer(path);
	CHECK(writer_row(w, TABLE_LIMIT, 0, &page) == ERROR_LIMIT);
	writer_abandon(w);
	w = small_writer(path);
	CHECK(writer_row(w, TABLE_info, 1, &page) == ERROR_LIMIT);
	writer_abandon(w);
}

/* Many CPUs and many rows in bounded memory, and every row arrives. */
static void test_bounded(void)
{
	struct writer *w = small_writer(path);
	struct row_switch row = { .ts = 0 };
	struct rusage usage;
	struct reader *r;
	uint64_t rows = 0;
	long before;

	getrusage(RUSAGE_SELF, &usage);
	before = usage.ru_maxrss;
	for (uint64_t i = 0; i < 4000000; i++) {
		row.ts = i;
		row.next_tid = i % 77;
		writer_row(w, TABLE_switch, (uint32_t)(i % 512), &row);
	}
	getrusage(RUSAGE_SELF, &usage);
	/* Not what a sanitizer adds to it. */
	CHECK(SANITIZED || usage.ru_maxrss - before < (200 << 10));
	CHECK(writer_close(w, NULL) == 0);
	r = open_file();
	for (size_t i = 0; i < reader_blocks(r); i++)
		rows += reader_block(r, i)->rows;
	CHECK(rows == 4000000 && reader_info(r)->index_used);
	reader_close(r);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	path = small_path();
	test_empty();
	test_rows_come_back();
	test_min_start();
	test_sorted();
	test_unsorted();
	test_order();
	test_strings();
	test_full_disk();
	test_wrong_rows();
	test_bounded();
	unlink(path);
	free(path);
	return check_result();
}
