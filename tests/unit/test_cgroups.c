// SPDX-License-Identifier: BSD-2-Clause
/* Samples of control groups, from a made-up /proc and hierarchies of both versions. */
#include "record/cgroups.h"
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "common/reader.h"
#include "record/hierarchy.h"

#define ROWS 1024

static char folder[] = "/tmp/test-cgroups-XXXXXX";

/* A file with its folders, below the test's own. "@" in the text stands for that. */
static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *p = path + sizeof(folder); (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	if (!CHECK(f != NULL))
		return;
	for (; *text; text++)
		if (*text == '@')
			fputs(folder, f);
		else
			fputc(*text, f);
	fclose(f);
}

static int removed(const char *path, const struct stat *s, int type, struct FTW *at)
{
	(void)s;
	(void)type;
	(void)at;
	return remove(path);
}

static const char *proc(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/proc", folder);
	return path;
}

/* ---- what was written ---- */

struct seen {
	struct row_cgroup row;
	char path[64];
};

static struct seen seen[ROWS];
static size_t nseen;
static struct writer *w;

static void recording_begin(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/out.ing", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || writer_open(&w, fd, NULL))
		exit(1);
}

static void recording_end(void)
{
	struct columns c = { 0 };
	struct reader *r;
	char path[64];

	nseen = 0;
	writer_close(w, NULL);
	snprintf(path, sizeof(path), "%s/out.ing", folder);
	if (reader_open(&r, path, NULL))
		exit(1);
	for (size_t i = 0; i < reader_blocks(r); i++) {
		if (reader_block(r, i)->table != TABLE_cgroup ||
		    reader_load(r, i, UINT64_MAX, &c, NULL))
			continue;
		for (uint32_t row = 0; row < c.rows && nseen < ROWS; row++, nseen++) {
			for (size_t k = 0; k < COLS_cgroup; k++)
				((uint64_t *)&seen[nseen].row)[k] = c.col[k][row];
			snprintf(seen[nseen].path, sizeof(seen[nseen].path), "%s",
				 reader_string(r, seen[nseen].row.path));
		}
	}
	columns_release(&c);
	reader_close(r);
}

/* The last row of a group. */
static const struct row_cgroup *last(const char *path)
{
	static const struct row_cgroup none;

	for (size_t i = nseen; i-- > 0;)
		if (!strcmp(seen[i].path, path))
			return &seen[i].row;
	return &none;
}

static size_t count(const char *path)
{
	size_t n = 0;

	for (size_t i = 0; i < nseen; i++)
		n += !strcmp(seen[i].path, path);
	return n;
}

/* ---- version 1: a hierarchy per controller ---- */

static void version_1(void)
{
	put("proc/self/mountinfo",
	    "31 23 0:28 / @/v1 rw - tmpfs tmpfs rw\n"
	    "32 31 0:29 / @/v1/cpu\\040and\\040acct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	    "35 31 0:32 / @/v1/memory rw - cgroup cgroup rw,memory\n"
	    "41 31 0:38 / @/v1/unified rw - cgroup2 cgroup2 rw\n");
	put("proc/10/cgroup", "4:memory:/job\n2:cpu,cpuacct:/slice/job\n0::/elsewhere\n");
	put("proc/11/cgroup", "4:memory:/\n2:cpu,cpuacct:/slice/job/worker\n0::/elsewhere\n");
	put("v1/cpu and acct/slice/cpu.cfs_quota_us", "50000\n");
	put("v1/cpu and acct/slice/cpu.cfs_period_us", "100000\n");
	put("v1/cpu and acct/slice/cpu.stat",
	    "nr_periods 30\nnr_throttled 4\nthrottled_time 123456789\nnr_bursts 0\n");
	put("v1/cpu and acct/slice/cpuacct.usage", "777000000\n");
	put("v1/cpu and acct/slice/job/cpu.cfs_quota_us", "-1\n");
	put("v1/cpu and acct/slice/job/cpu.cfs_period_us", "100000\n");
	put("v1/cpu and acct/slice/job/cpu.stat",
	    "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
	put("v1/cpu and acct/slice/job/cpuacct.usage", "555000000\n");
	put("v1/cpu and acct/slice/job/worker/cpu.cfs_quota_us", "20000\n");
	put("v1/cpu and acct/slice/job/worker/cpu.cfs_period_us", "50000\n");
	put("v1/memory/job/memory.usage_in_bytes", "4096000\n");
	put("v1/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
	put("v1/memory/memory.limit_in_bytes", "8000000\n");
}

static void check_version_1(void)
{
	struct cgroups *c;

	version_1();
	CHECK(!cgroups_open(&c, proc(), NULL) && cgroups_found(c));
	recording_begin();
	cgroups_command(c, 10);
	cgroups_process(c, 11);
	cgroups_process(c, 12);		/* gone already */
	cgroups_sample(c, w, false);
	cgroups_sample(c, w, false);
	cgroups_sample(c, w, true);
	recording_end();
	cgroups_close(c);
	CHECK(count("/slice") == 3 && count("/slice/job") == 2 && count("/slice/job/worker") == 3 &&
	      count("/") == 0);
	CHECK(last("/slice")->quota == 50000000 && last("/slice")->period == 100000000);
	CHECK(last("/slice")->periods == 30 && last("/slice")->throttled == 4);
	CHECK(last("/slice")->throttled_time == 123456789 && last("/slice")->usage == 777000000);
	CHECK(last("/slice")->memory == 0 && last("/slice")->memory_limit == 0);
	CHECK(last("/slice/job")->quota == 0 && last("/slice/job")->period == 0);
	CHECK(last("/slice/job")->usage == 555000000);
	CHECK(last("/slice/job")->memory == 4096000 && last("/slice/job")->memory_limit == 8000000);
	CHECK(last("/slice/job/worker")->quota == 20000000 &&
	      last("/slice/job/worker")->period == 50000000);
	CHECK(last("/slice")->ts > 0);
}

/* The command goes elsewhere; a group that is gone is forgotten. */
static void check_moves(void)
{
	struct cgroups *c;
	char gone[128];

	version_1();
	CHECK(!cgroups_open(&c, proc(), NULL));
	recording_begin();
	cgroups_command(c, 10);
	put("proc/10/cgroup", "4:memory:/other\n2:cpu,cpuacct:/slice/job\n");
	put("v1/memory/other/memory.usage_in_bytes", "1\n");
	put("v1/memory/other/memory.limit_in_bytes", "5000000\n");
	cgroups_command(c, 10);
	cgroups_sample(c, w, true);
	put("proc/10/cgroup", "4:memory:/other\n2:cpu,cpuacct:/slice\n");
	/* Much like reading the file of a group that was removed. */
	put("v1/cpu and acct/slice/job/cpu.cfs_quota_us", "");
	cgroups_command(c, 10);
	cgroups_sample(c, w, true);
	cgroups_sample(c, w, true);
	recording_end();
	cgroups_close(c);
	CHECK(last("/slice/job")->memory == 1 && last("/slice/job")->memory_limit == 5000000);
	CHECK(count("/slice/job") == 1 && count("/slice") == 3);
	snprintf(gone, sizeof(gone), "%s/v1", folder);
	nftw(gone, removed, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- version 2, seen from a container that has a part of it ---- */

static void check_version_2(void)
{
	struct cgroups *c;

	put("proc/self/mountinfo", "41 31 0:38 /pod @/v2 rw - cgroup2 cgroup2 rw,nsdelegate\n");
	put("proc/10/cgroup", "0::/pod/a/b\n");
	put("proc/11/cgroup", "0::/other/x\n");
	put("proc/12/cgroup", "0::/../x\n");
	put("v2/a/cpu.max", "150000 100000\n");
	put("v2/a/cpu.stat",
	    "usage_usec 1234\nuser_usec 1\nnr_periods 9\nnr_throttled 2\nthrottled_usec 5678\n");
	put("v2/a/memory.current", "1000\n");
	put("v2/a/memory.max", "max\n");
	put("v2/a/b/cpu.max", "max 100000\n");
	put("v2/a/b/cpu.stat", "usage_usec 12\n");
	put("v2/a/b/memory.current", "300\n");
	put("v2/a/b/memory.max", "4000\n");
	put("v2/a/b/memory.high", "3000\n");
	put("v2/memory.max", "7000\n");
	CHECK(!cgroups_open(&c, proc(), NULL) && cgroups_found(c));
	recording_begin();
	cgroups_command(c, 10);
	cgroups_process(c, 11);
	cgroups_process(c, 12);
	cgroups_sample(c, w, true);
	recording_end();
	cgroups_close(c);
	CHECK(nseen == 2);
	CHECK(last("/pod/a")->quota == 150000000 && last("/pod/a")->period == 100000000);
	CHECK(last("/pod/a")->periods == 9 && last("/pod/a")->throttled == 2);
	CHECK(last("/pod/a")->throttled_time == 5678000 && last("/pod/a")->usage == 1234000);
	CHECK(last("/pod/a")->memory == 1000 && last("/pod/a")->memory_limit == 7000);
	CHECK(last("/pod/a/b")->quota == 0 && last("/pod/a/b")->usage == 12000);
	CHECK(last("/pod/a/b")->memory == 300 && last("/pod/a/b")->memory_limit == 3000);
}

/* More groups than are followed, more processes than are looked at in one go. */
static void check_bounds(void)
{
	struct cgroups *c;
	char name[64], text[64];

	put("proc/self/mountinfo", "41 31 0:38 / @/v2 rw - cgroup2 cgroup2 rw\n");
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "proc/%d/cgroup", 1000 + i);
		snprintf(text, sizeof(text), "0::/%s%d\n", i < 70 ? "same" : "g", i < 70 ? 0 : i);
		put(name, text);
		snprintf(name, sizeof(name), "v2/g%d/cpu.max", i);
		put(name, "1000 100000\n");
	}
	CHECK(!cgroups_open(&c, proc(), NULL));
	recording_begin();
	for (int pass = 0; pass < 6; pass++) {
		for (int i = 0; i < 200; i++)
			cgroups_process(c, 1000 + i);
		cgroups_process(c, 1u << 30);
		cgroups_sample(c, w, true);
	}
	recording_end();
	CHECK(nseen > 3 * CGROUPS_MAX && nseen <= 6 * CGROUPS_MAX && count("/g70") > 0);
	CHECK(count("/g70") == 5);	/* none of the first 64 processes told of it */
	cgroups_close(c);
	put("proc/self/mountinfo", "garbage\n1 2 3 - cgroup2\n - cgroup\n");
	CHECK(!cgroups_open(&c, proc(), NULL) && !cgroups_found(c));
	cgroups_command(c, 10);
	recording_begin();
	cgroups_sample(c, w, true);
	recording_end();
	CHECK(nseen == 0);
	cgroups_close(c);
	cgroups_close(NULL);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	check_version_1();
	check_moves();
	check_version_2();
	check_bounds();
	nftw(folder, removed, 8, FTW_DEPTH | FTW_PHYS);
	return check_result();
}
