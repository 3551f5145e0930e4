// SPDX-License-Identifier: BSD-2-Clause
#include "record/output.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"

static struct error e;

static int open_as_self(struct output *o, const char *path, bool force)
{
	memset(&e, 0, sizeof(e));
	return output_open(o, path, force, geteuid(), getegid(), &e);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static bool holds(const char *path, const char *text)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	char bytes[64] = "";
	bool same = fd >= 0 && read(fd, bytes, sizeof(bytes) - 1) >= 0 && !strcmp(bytes, text);

	if (fd >= 0)
		close(fd);
	return same;
}

static int names(void)
{
	FILE *f = popen("ls -A | wc -l", "re");
	int n = -1;

	CHECK(f && fscanf(f, "%d", &n) == 1);
	if (f)
		pclose(f);
	return n;
}

static void test_create(void)
{
	struct output o = { .fd = -1 };
	struct stat st;
	int fd;

	umask(0);
	output_release(&o);
	CHECK(!open_as_self(&o, "a", false));
	fd = output_detach(&o);
	CHECK(write(fd, "new", 3) == 3 && !close(fd));
	CHECK(!output_commit(&o, &e));
	output_release(&o);
	output_release(&o);
	CHECK(holds("a", "new") && !stat("a", &st) && (st.st_mode & 07777) == 0600);
	CHECK(open_as_self(&o, "a", false) == ERROR_USAGE);
	CHECK(strstr(e.text, "\"a\"") && strstr(e.hint, "-f"));
	CHECK(holds("a", "new"));
	CHECK(open_as_self(&o, "no/such/directory", false) == ERROR_SYSTEM);
	CHECK(!unlink("a"));
}

static void test_replace(void)
{
	struct output o;

	put("a", "old");
	CHECK(!link("a", "other"));
	CHECK(!open_as_self(&o, "a", true) && write(o.fd, "new", 3) == 3);
	CHECK(holds("a", "old"));		/* until the start has succeeded */
	CHECK(!output_commit(&o, &e) && holds("a", "new"));
	output_release(&o);
	CHECK(holds("a", "new") && holds("other", "old"));
	CHECK(!open_as_self(&o, "a", true));
	output_discard(&o);			/* a start that failed */
	output_release(&o);
	CHECK(holds("a", "new") && names() == 2);
	CHECK(!open_as_self(&o, "b", true));
	output_discard(&o);
	output_release(&o);
	CHECK(names() == 2);
	CHECK(!unlink("a") && !unlink("other"));
}

/* Neither a link, nor a pipe, nor a folder is followed, opened or replaced. */
static void test_refused(void)
{
	struct output o;

	put("victim", "safe");
	CHECK(!symlink("victim", "link") && !symlink("nowhere", "dangling"));
	CHECK(!mkfifo("pipe", 0600) && !mkdir("folder", 0700));
	for (int force = 0; force < 2; force++) {
		CHECK(open_as_self(&o, "link", force) == ERROR_USAGE);
		CHECK(open_as_self(&o, "dangling", force) == ERROR_USAGE);
		CHECK(open_as_self(&o, "pipe", force) == ERROR_USAGE);
		CHECK(open_as_self(&o, "folder", force) == ERROR_USAGE);
	}
	CHECK(holds("victim", "safe") && names() == 5);
	CHECK(!unlink("victim") && !unlink("link") && !unlink("dangling") && !unlink("pipe"));
	CHECK(!rmdir("folder"));
}

/* Somebody puts another file under the name: that one is not removed. */
static void test_exchanged(void)
{
	struct output o;

	CHECK(!open_as_self(&o, "a", false));
	CHECK(!unlink("a"));
	put("a", "theirs");
	output_discard(&o);
	output_release(&o);
	CHECK(holds("a", "theirs") && !unlink("a"));
}

static void test_owner(void)
{
	struct output o;
	struct stat st;

	if (geteuid())
		return;
	CHECK(!output_open(&o, "a", false, 65534, 65533, &e));
	CHECK(!stat("a", &st) && st.st_uid == 65534 && st.st_gid == 65533);
	output_discard(&o);
	output_release(&o);
}

int main(void)
{
	char directory[] = "/tmp/test-output-XXXXXX";

	if (!mkdtemp(directory) || chdir(directory))
		return 1;
	test_create();
	test_replace();
	test_refused();
	test_exchanged();
	test_owner();
	CHECK(!rmdir(directory));
	return check_result();
}
