// SPDX-License-Identifier: BSD-2-Clause
#include "common/reader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "common/bytes.h"
#include "common/checksum.h"
#include "small_file.h"

static char *path;
static uint8_t *original;
static size_t original_size;
static struct reader_damage damage[64];

/* Opens, loads and checks everything. Returns what opening said; *bad gets blocks that failed. */
static int read_all(unsigned int *bad, struct reader_info *info)
{
	struct columns c = { 0 };
	struct reader *r;
	struct error e;
	int err = reader_open(&r, path, &e);

	*bad = 0;
	if (err)
		return err;
	for (size_t i = 0; i < reader_blocks(r); i++) {
		int load = reader_load(r, i, ~0ull, &c, &e), raw = reader_load_raw(r, i, &c, &e);

		*bad += reader_check(r, i, &e) != 0;
		CHECK(load <= 0 && raw <= 0);
	}
	*info = *reader_info(r);
	memcpy(damage, info->damage, info->damage_count * sizeof(damage[0]));
	info->damage = damage;
	columns_release(&c);
	reader_close(r);
	return 0;
}

static int read_bytes(const uint8_t *data, size_t size, unsigned int *bad, struct reader_info *info)
{
	small_write(path, data, size);
	return read_all(bad, info);
}

/* Every prefix is a valid file, from the header on. */
static void test_prefixes(void)
{
	struct reader_info info;
	unsigned int bad;

	for (size_t size = 0; size < original_size; size++) {
		int err = read_bytes(original, size, &bad, &info);

		if (size < 32) {
			CHECK(err == ERROR_NOT_OURS);
			continue;
		}
		CHECK(err == 0 && bad == 0 && !info.closed);
		CHECK(info.valid_until + info.cut == size && info.damage_count == (info.cut > 0));
	}
	CHECK(read_bytes(original, original_size, &bad, &info) == 0 && info.closed && bad == 0);
}

/* No single wrong byte goes unnoticed, and none does harm beyond its block. */
static void test_flips(void)
{
	uint8_t *data = malloc(original_size);
	struct reader_info info;
	unsigned int bad, noticed = 0;

	memcpy(data, original, original_size);
	for (size_t i = 0; i < original_size; i++) {
		int err;

		data[i] ^= 1 << i % 8;
		err = read_bytes(data, original_size, &bad, &info);
		noticed += err || bad || info.damage_count;
		CHECK(i < 32 ? err != 0 : err == 0 && bad + info.damage_count <= 4);
		data[i] = original[i];
	}
	/* Padding of blocks that are not in reader_blocks() alone can be wrong unseen. */
	CHECK(noticed > original_size - 100);
	free(data);
}

static void test_versions(void)
{
	uint8_t *data = malloc(original_size);
	struct reader_info info;
	unsigned int bad;

	memcpy(data, original, original_size);
	data[8] = FORMAT_MAJOR + 1;
	CHECK(read_bytes(data, original_size, &bad, &info) == ERROR_VERSION);
	data[8] = FORMAT_MAJOR;
	data[10] = FORMAT_MINOR + 1;
	CHECK(read_bytes(data, original_size, &bad, &info) == ERROR_DAMAGED);
	bytes_put64(data + 24, checksum(data, 24));
	CHECK(read_bytes(data, original_size, &bad, &info) == 0 && info.minor == FORMAT_MINOR + 1);
	memcpy(data, "\x89ING\n\x1a\n\n", 8);
	CHECK(read_bytes(data, original_size, &bad, &info) == ERROR_NOT_OURS);
	free(data);
}

/* A table, a column and an encoding that nobody knows yet. */
static void test_unknown(void)
{
	uint8_t *data = malloc(original_size);
	size_t at = small_block(original, original_size, 3);
	struct columns c = { 0 };
	struct reader_info info;
	struct reader *r;
	unsigned int bad;

	memcpy(data, original, original_size);
	bytes_put16(data + at + 12, 999);
	small_mend(data, at);
	CHECK(read_bytes(data, original_size, &bad, &info) == 0 && bad == 0);
	CHECK(info.unknown_blocks == 1 && info.damage_count == 0);
	memcpy(data, original, original_size);
	CHECK(bytes_get16(data + at + 12) == TABLE_switch && bytes_get16(data + at + 64) == 1);
	data[at + 64 + 2] = 77;
	small_mend(data, at);
	small_write(path, data, original_size);
	CHECK(reader_open(&r, path, NULL) == 0 && reader_info(r)->unknown_blocks == 1);
	CHECK(reader_load(r, 2, ~0ull, &c, NULL) == 0);
	CHECK(!(c.present & 1ull << COL_switch_ts) && c.col[COL_switch_ts][5] == 0);
	CHECK(c.present & 1ull << COL_switch_next_tid);
	reader_close(r);
	columns_release(&c);
	free(data);
}

/* Only the columns asked for are decoded; those not asked for are NULL. */
static void test_mask(void)
{
	struct columns c = { 0 };
	struct reader *r;

	small_write(path, original, original_size);
	CHECK(reader_open(&r, path, NULL) == 0);
	CHECK(reader_load(r, 2, 1ull << COL_switch_prev_tid, &c, NULL) == 0);
	CHECK(c.col[COL_switch_prev_tid] && c.col[COL_switch_prev_tid][1] == 101);
	CHECK(!c.col[COL_switch_ts] && !c.col[COL_switch_next_tid]);
	CHECK(c.present == 1ull << COL_switch_prev_tid && !c.text);
	reader_close(r);
	columns_release(&c);
}

/* Garbage before, between and behind blocks: what is good is found again. */
static void test_resynchronise(void)
{
	size_t at = small_block(original, original_size, 3), size = original_size + 400;
	uint8_t *data = malloc(size + 160);
	struct reader_info info;
	unsigned int bad;

	memcpy(data, original, at);
	memset(data + at, 0xee, 400);
	/* A lure: the beginning of a block that is none. */
	memcpy(data + at + 16, original + at, 64);
	memcpy(data + at + 400, original + at, original_size - at);
	CHECK(read_bytes(data, size, &bad, &info) == 0 && bad == 0);
	CHECK(info.damage_count == 2 && info.damage[0].offset == at && info.damage[0].size == 400);
	CHECK(info.closed && !info.index_used);
	memset(data + size, 0, 160);
	CHECK(read_bytes(data, size + 160, &bad, &info) == 0 && info.damage_count == 3);
	CHECK(info.cut == 0);
	free(data);
}

static void test_lost_schema(void)
{
	uint8_t *data = malloc(original_size);
	struct columns c = { 0 };
	struct reader *r;

	memcpy(data, original, original_size);
	data[40] ^= 0xff;
	small_write(path, data, original_size);
	CHECK(reader_open(&r, path, NULL) == 0 && reader_info(r)->damage_count > 0);
	CHECK(reader_tables(r) >= 15 && reader_load_raw(r, 2, &c, NULL) == 0);
	CHECK(c.rows == SMALL_SWITCHES / 2);
	reader_close(r);
	columns_release(&c);
	free(data);
}

static void test_not_files(void)
{
	struct reader *r;
	struct error e;
	char *fifo = small_path();

	CHECK(reader_open(&r, "/nonexistent/x.ing", &e) == ERROR_NOT_OURS && !r);
	CHECK(reader_open(&r, "/", &e) == ERROR_NOT_OURS && strstr(e.text, "directory"));
	CHECK(reader_open(&r, "/dev/zero", &e) == ERROR_NOT_OURS);
	unlink(fifo);
	CHECK(mkfifo(fifo, 0600) == 0 && reader_open(&r, fifo, &e) == ERROR_NOT_OURS);
	unlink(fifo);
	free(fifo);
}

/* The file is cut while it is open: an error, no SIGBUS. */
static void test_truncated_underneath(void)
{
	struct columns c = { 0 };
	struct writer *w = small_writer(path);
	struct reader *r;
	struct error e;
	int failed = 0;

	for (uint64_t i = 0; i < 60000; i++) {
		struct row_page row = { i, i * 2654435761u % 1000003, i % 13, i % 17 };

		writer_row(w, TABLE_page, 0, &row);
	}
	writer_close(w, NULL);
	CHECK(reader_open(&r, path, &e) == 0);
	CHECK(truncate(path, 2000) == 0);
	for (size_t i = 0; i < reader_blocks(r); i++)
		failed += reader_load(r, i, ~0ull, &c, &e) == ERROR_DAMAGED;
	CHECK(failed == (int)reader_blocks(r) && failed > 2);
	columns_release(&c);
	reader_close(r);
}

/* A SIGBUS that is not ours still ends the program. */
static void test_other_sigbus(void)
{
	struct reader *r;
	int status;
	pid_t child;

	small_write(path, original, original_size);
	CHECK(reader_open(&r, path, NULL) == 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		raise(SIGBUS);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !(WIFEXITED(status) && WEXITSTATUS(status) == 0));
	reader_close(r);
}

int main(void)
{
	path = small_path();
	small_file(path, 1);
	original = small_read(path, &original_size);
	test_prefixes();
	test_flips();
	test_versions();
	test_unknown();
	test_mask();
	test_resynchronise();
	test_lost_schema();
	test_not_files();
	test_truncated_underneath();
	test_other_sigbus();
	unlink(path);
	free(path);
	free(original);
	return check_result();
}
