// SPDX-License-Identifier: BSD-2-Clause
/* Samples, host facts and anchors, written to a file and read back, against /proc as it is now. */
#include "record/sysstat.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "check.h"
#include "common/reader.h"
#include "record/hostinfo.h"

#define FILE_NAME "sysstat.ing"
#define ALL UINT64_MAX

static struct reader *reader;

static uint64_t proc_number(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	char line[512];
	uint64_t value = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) &&
		    sscanf(line + strlen(key), "%" SCNu64, &value) == 1)
			break;
	if (f)
		fclose(f);
	return value;
}

static void write_samples(void)
{
	int fd = open(FILE_NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *command[] = { "prog", "secret", NULL };
	struct config config = { .command = command, .no_args = true, .options = "--no-args" };
	struct sysstat *s = NULL;
	struct writer *w = NULL;
	struct error e = { 0 };

	CHECK(fd >= 0 && !writer_open(&w, fd, &e) && !sysstat_open(&s, &e));
	if (!w || !s)
		return;
	CHECK(!sysstat_sample(s, w));
	usleep(50000);
	CHECK(!sysstat_sample(s, w));
	CHECK(!hostinfo_write(w, &config, 1234) && !hostinfo_anchor(w));
	sysstat_close(s);
	sysstat_close(NULL);
	CHECK(!writer_close(w, &e));
}

/* All rows of a table into rows[], value after value. Returns their number. */
static size_t table_rows(enum table table, size_t columns, uint64_t *rows, size_t room)
{
	struct columns c = { 0 };
	struct error e = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < reader_blocks(reader); i++) {
		if (reader_block(reader, i)->table != table || reader_load(reader, i, ALL, &c, &e))
			continue;
		for (uint32_t row = 0; row < c.rows && n < room; row++, n++)
			for (size_t k = 0; k < columns; k++)
				rows[n * columns + k] = c.col[k] ? c.col[k][row] : 0;
	}
	columns_release(&c);
	return n;
}

static bool close_to(uint64_t a, uint64_t b)
{
	uint64_t difference = a > b ? a - b : b - a;

	return difference <= b / 10;
}

static void test_system(void)
{
	struct row_system rows[4];
	size_t n = table_rows(TABLE_system, COLS_system, (uint64_t *)rows, 4);

	CHECK(n == 2);
	if (n != 2)
		return;
	CHECK(rows[1].ts - rows[0].ts >= 50000000 && rows[1].ts - rows[0].ts < 5000000000);
	CHECK(rows[1].flags & SYSTEM_FLAG_MEMORY && rows[1].flags & SYSTEM_FLAG_LOAD);
	CHECK(rows[1].memory_total == 1024 * proc_number("/proc/meminfo", "MemTotal:"));
	CHECK(close_to(rows[1].memory_available,
		       1024 * proc_number("/proc/meminfo", "MemAvailable:")));
	CHECK(rows[1].swap_total == 1024 * proc_number("/proc/meminfo", "SwapTotal:"));
	CHECK(rows[1].memory_free <= rows[1].memory_total);
	CHECK(rows[1].threads > 1 && rows[1].runnable < rows[1].threads);
	CHECK(!!(rows[1].flags & SYSTEM_FLAG_PSI) == !access("/proc/pressure/io", R_OK));
	if (rows[1].flags & SYSTEM_FLAG_PSI)
		CHECK(rows[1].psi_cpu_some >= rows[0].psi_cpu_some);
}

static uint64_t total(const struct row_cpu *row)
{
	return row->user + row->system + row->irq + row->idle + row->iowait + row->steal;
}

static void test_cpus(void)
{
	static struct row_cpu rows[8192];
	size_t n = table_rows(TABLE_cpu, COLS_cpu, (uint64_t *)rows, 8192);
	size_t cpus = sysconf(_SC_NPROCESSORS_ONLN);

	CHECK(n == 2 * cpus);
	for (size_t i = 0; i < n / 2; i++) {
		const struct row_cpu *before = &rows[i], *after = &rows[n / 2 + i];

		CHECK(before->cpu == after->cpu && total(after) >= total(before));
		CHECK(after->user % 10000000 == 0);	/* ticks, in ns */
		/* A CPU's time adds up to the machine's, which counts from boot. */
		CHECK(total(after) / 1100000000 <= proc_number("/proc/uptime", "") + 1);
	}
}

static const char *info(const char *key)
{
	static struct row_info rows[64];
	size_t n = table_rows(TABLE_info, COLS_info, (uint64_t *)rows, 64);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(reader_string(reader, rows[i].key), key))
			return reader_string(reader, rows[i].value);
	return "";
}

static void test_host(void)
{
	CHECK(atol(info("host.page_size")) == sysconf(_SC_PAGESIZE));
	CHECK(atol(info("host.cpus_online")) == sysconf(_SC_NPROCESSORS_ONLN));
	CHECK(*info("host.name") && *info("host.kernel") && *info("host.arch"));
	CHECK(strtoull(info("host.memory"), NULL, 10) ==
	      1024 * proc_number("/proc/meminfo", "MemTotal:"));
	CHECK(!strcmp(info("record.command"), "prog"));		/* --no-args keeps the secret */
	CHECK(!strcmp(info("record.options"), "--no-args"));
	CHECK(!strcmp(info("record.uid"), "1234"));
}

static void test_anchor(void)
{
	struct row_anchor row[2];
	struct timespec now;

	CHECK(table_rows(TABLE_anchor, COLS_anchor, (uint64_t *)row, 2) == 1);
	clock_gettime(CLOCK_REALTIME, &now);
	CHECK(row[0].ts <= hostinfo_now() && hostinfo_now() - row[0].ts < 10000000000);
	CHECK((uint64_t)now.tv_sec - row[0].realtime / 1000000000 <= 10);
	CHECK(row[0].boottime + 1000000 >= row[0].ts);	/* it only ever gains on monotonic time */
}

int main(void)
{
	char directory[] = "/tmp/test-sysstat-XXXXXX";
	struct error e = { 0 };

	if (!mkdtemp(directory) || chdir(directory))
		return 1;
	write_samples();
	CHECK(!reader_open(&reader, FILE_NAME, &e));
	if (reader) {
		test_system();
		test_cpus();
		test_host();
		test_anchor();
	}
	reader_close(reader);
	unlink(FILE_NAME);
	CHECK(!rmdir(directory));
	return check_result();
}
