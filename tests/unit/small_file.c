// SPDX-License-Identifier: BSD-2-Clause
#include "small_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/checksum.h"

static void need(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

char *small_path(void)
{
	const char *dir = getenv("TMPDIR");
	char *path;
	int fd;

	need(asprintf(&path, "%s/ingero-test.XXXXXX", dir ? dir : "/tmp") > 0, "asprintf");
	fd = mkstemp(path);
	need(fd >= 0, path);
	close(fd);
	return path;
}

struct writer *small_writer(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct writer *w;

	need(fd >= 0, path);
	need(writer_open(&w, fd, NULL) == 0, "writer_open");
	return w;
}

static void switches(struct writer *w, uint32_t cpu, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		struct row_switch row = {
			.ts = 1000000 + 1000 * i + i % 7, .prev_tid = i % 3 ? 100 + i % 3 : 0,
			.next_tid = (i + 1) % 3 ? 100 + (i + 1) % 3 : 0, .prev_state = i % 3,
			.next_off = 900 * (i % 3), .next_wait = i % 5, .waker_tid = 7,
		};

		writer_row(w, TABLE_switch, cpu, &row);
	}
}

void small_rows(struct writer *w)
{
	struct row_info info = { writer_string(w, "host.name", 9), writer_string(w, "box", 3) };

	writer_row(w, TABLE_info, 0, &info);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		switches(w, cpu, 0, SMALL_SWITCHES / 2);
	writer_flush(w, NULL);
	for (uint64_t i = 0; i < SMALL_CALLS; i++) {
		struct row_call row = {
			.ts = 2000000 + 100 * i, .duration = 50 + i, .tid = 101, .operation = 1 + i % 3,
			.code = i % 9 ? 0 : (uint64_t)-1, .stream = 0x7f0000000000 + i % 2,
		};

		writer_row(w, TABLE_call, 1, &row);
	}
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		switches(w, cpu, SMALL_SWITCHES / 2, SMALL_SWITCHES);
	writer_flush(w, NULL);
}

void small_file(const char *path, int closed)
{
	struct writer *w = small_writer(path);

	small_rows(w);
	if (closed)
		need(writer_close(w, NULL) == 0, path);
	else
		writer_abandon(w);
}

uint8_t *small_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;

	need(fd >= 0 && fstat(fd, &st) == 0, path);
	*size = (size_t)st.st_size;
	data = malloc(*size + 1);
	need(data && read(fd, data, *size) == (ssize_t)*size, path);
	close(fd);
	return data;
}

void small_write(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	need(fd >= 0 && write(fd, data, size) == (ssize_t)size, path);
	close(fd);
}

size_t small_block(const uint8_t *data, size_t size, unsigned int i)
{
	size_t at = 32;

	while (i-- > 0 && at + 72 <= size)
		at += bytes_get32(data + at + 8) + bytes_get64(data + at + 24);
	return at + 72 <= size ? at : 0;
}

void small_mend(uint8_t *data, size_t offset)
{
	uint32_t size = bytes_get32(data + offset + 8);

	bytes_put64(data + offset + size - 8, checksum(data + offset, size - 8));
}
