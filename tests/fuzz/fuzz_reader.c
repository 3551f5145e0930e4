// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader on bytes of any kind. As LLVMFuzzerTestOneInput for libFuzzer (compile with
 * -DFUZZ_ONLY_TARGET -fsanitize=fuzzer), or as a program of its own:
 *
 *   fuzz_reader [-n MUTATIONS] [-s SECONDS] FILE...
 *
 * replays the files, then mutants of them, the same ones each time. Every other mutant gets
 * right checksums, so that what lies behind them is reached.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/checksum.h"
#include "common/reader.h"
#include "common/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *arg, enum verify_kind kind, const char *line)
{
	(void)kind;
	*(size_t *)arg += strlen(line);
}

/* Everything a program may do with a file; what comes out must at least be readable memory. */
static void read_all(struct reader *r)
{
	struct columns c = { 0 };
	size_t sum = 0;
	struct error e;

	verify_file(r, ignore, &sum);
	for (size_t i = 0; i < reader_blocks(r); i++) {
		if (reader_load(r, i, ~0ull, &c, &e))
			continue;
		for (unsigned int k = 0; k < FORMAT_MAX_COLUMNS; k++)
			for (uint32_t row = 0; c.col[k] && row < c.rows; row++)
				sum += strlen(reader_string(r, c.col[k][row]));
	}
	for (size_t i = 0; i < reader_tables(r); i++)
		sum += strlen(reader_table(r, i)->name);
	columns_release(&c);
	*(volatile size_t *)&sum = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct reader *r;
	char path[64];
	struct error e;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (reader_open(&r, path, &e) == 0) {
		read_all(r);
		reader_close(r);
	}
	close(fd);
	return 0;
}

#ifndef FUZZ_ONLY_TARGET
static uint64_t state;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Right checksums for all blocks that can be walked to. */
static void mend(uint8_t *data, size_t size)
{
	size_t at = 32;

	if (size >= 32)
		bytes_put64(data + 24, checksum(data, 24));
	while (at + 72 <= size) {
		uint64_t header = bytes_get32(data + at + 8), payload = bytes_get64(data + at + 24);
		size_t column = at + header;

		if (header < 72 || header > size - at || payload > size - at - header)
			return;
		for (size_t e = at + 64; e + 48 <= at + header; e += 40) {
			uint32_t stored = bytes_get32(data + e + 4);

			if (stored > size - column)
				break;
			bytes_put64(data + e + 32, checksum(data + column, stored));
			column += bytes_align8(stored) <= size - column ? bytes_align8(stored) :
									  size - column;
		}
		bytes_put64(data + at + header - 8, checksum(data + at, header - 8));
		at += header + payload;
	}
}

static const uint64_t odd_values[] = {
	0, 1, 2, 7, 8, 63, 64, 65, 127, 128, 129, 255, 256, 65535, 65536, 65537, 1u << 31, UINT32_MAX,
	1ull << 32, 1ull << 63, UINT64_MAX - 7, UINT64_MAX,
};

static void mutate(uint8_t *data, size_t *size)
{
	uint64_t count = 1 + random_below(6);

	while (count-- && *size) {
		size_t at = random_below(*size), left = *size - at;
		uint64_t odd = odd_values[random_below(sizeof(odd_values) / sizeof(odd_values[0]))];

		switch (random_below(6)) {
		case 0:
			data[at] ^= 1 << random_below(8);
			break;
		case 1:
			data[at] = (uint8_t)random_below(256);
			break;
		case 2:
			memcpy(data + at, &odd, left < 4 ? left : 4);
			break;
		case 3:
			at &= ~7ull;
			left = *size - at;
			memcpy(data + at, &odd, left < 8 ? left : 8);
			break;
		case 4:
			memmove(data + at, data + random_below(*size - left / 2), left / 2);
			break;
		default:
			if (random_below(8) == 0)
				*size = at;
		}
	}
}

static uint8_t *load(const char *path, size_t *size)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data;
	long end;

	if (!in || fseek(in, 0, SEEK_END) || (end = ftell(in)) < 0 || fseek(in, 0, SEEK_SET)) {
		perror(path);
		exit(1);
	}
	data = malloc((size_t)end + 1);
	*size = data ? fread(data, 1, (size_t)end, in) : 0;
	fclose(in);
	return data;
}

/* The file itself, then its mutants until they are enough or the time is up. */
static unsigned long replay(const char *path, unsigned long mutations, time_t until)
{
	size_t size, copy_size;
	uint8_t *data = load(path, &size), *copy = malloc(size + 1);
	unsigned long n;

	if (!data || !copy)
		exit(1);
	LLVMFuzzerTestOneInput(data, size);
	for (n = 0; n < mutations && time(NULL) < until; n++) {
		memcpy(copy, data, size);
		copy_size = size;
		mutate(copy, &copy_size);
		if (n & 1)
			mend(copy, copy_size);
		LLVMFuzzerTestOneInput(copy, copy_size);
	}
	free(copy);
	free(data);
	return n;
}

int main(int argc, char **argv)
{
	unsigned long mutations = 300, seconds = 60, total = 0;
	int c;

	while ((c = getopt(argc, argv, "n:s:")) != -1) {
		if (c == '?')
			return 2;
		*(c == 'n' ? &mutations : &seconds) = strtoul(optarg, NULL, 10);
	}
	if (optind == argc) {
		fprintf(stderr, "usage: fuzz_reader [-n MUTATIONS] [-s SECONDS] FILE...\n");
		return 2;
	}
	for (int i = optind; i < argc; i++) {
		state = 0x9e3779b97f4a7c15ull;
		total += replay(argv[i], mutations, time(NULL) + (time_t)seconds);
	}
	printf("ok: %d files and %lu mutants of them\n", argc - optind, total);
	return 0;
}
#endif
