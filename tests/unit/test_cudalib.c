// SPDX-License-Identifier: BSD-2-Clause
/*
 * This program carries functions under CUDA's names itself, as one with the runtime linked in
 * statically does; it is the file that is examined, whole, cut and damaged.
 */
#include "record/cudalib.h"
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "record/cuda_api.h"
#include "record/instruction.h"

#define DAMAGES 3000

int cudaMalloc(void **p, size_t size);
int cudaFree(void *p);
int cuMemAlloc_v2(unsigned long *p, size_t size);
int cuMemAlloc(unsigned long *p, size_t size) __attribute__((alias("cuMemAlloc_v2")));
int cudaStreamSynchronize(void *stream);
int cudaStreamSynchronize_ptsz(void *stream) __attribute__((alias("cudaStreamSynchronize")));

static volatile int sink;

__attribute__((noinline)) int cudaMalloc(void **p, size_t size)
{
	return sink = !p + (int)size;
}

__attribute__((noinline)) int cudaFree(void *p)
{
	return sink = !p + 2;
}

__attribute__((noinline)) int cuMemAlloc_v2(unsigned long *p, size_t size)
{
	return sink = !p + (int)size + 3;
}

__attribute__((noinline)) int cudaStreamSynchronize(void *stream)
{
	return sink = !stream + 4;
}

static struct cudalib *examine(struct cudalib_set *set, const char *path)
{
	struct cudalib *lib = NULL;

	cudalib_examine(set, path, NULL, &lib, NULL, NULL);
	return lib;
}

static const struct cudalib_symbol *find(const struct cudalib *lib, const char *name)
{
	for (size_t i = 0; i < lib->count; i++)
		if (lib->symbols[i].row == cuda_symbol_find(name))
			return &lib->symbols[i];
	return NULL;
}

/* The code at the offset in the file is the code in memory. */
static bool same_code(const struct cudalib *lib, const char *name, const void *code)
{
	const struct cudalib_symbol *symbol = find(lib, name);
	unsigned char bytes[8];

	return symbol && pread(lib->fd, bytes, sizeof(bytes), symbol->offset) == sizeof(bytes) &&
	       !memcmp(bytes, code, sizeof(bytes)) &&
	       symbol->instruction == instruction_class(bytes, sizeof(bytes));
}

static void test_self(struct cudalib_set *set, const char *self)
{
	struct cudalib *lib = examine(set, self);

	CHECK(lib && lib->from_symtab && lib->fd >= 0 && !lib->why_not[0]);
	if (!lib)
		return;
	CHECK(lib->count == 4);
	CHECK(same_code(lib, "cudaMalloc", (void *)cudaMalloc));
	CHECK(same_code(lib, "cudaFree", (void *)cudaFree));
	/* One address, one symbol: the one with 64-bit sizes, the one without a suffix. */
	CHECK(same_code(lib, "cuMemAlloc_v2", (void *)cuMemAlloc_v2));
	CHECK(!find(lib, "cuMemAlloc"));
	CHECK(same_code(lib, "cudaStreamSynchronize", (void *)cudaStreamSynchronize));
	CHECK(!find(lib, "cudaStreamSynchronize_ptsz"));
	CHECK(fcntl(lib->fd, F_GETFD) & FD_CLOEXEC);
}

/* One inode is one file, whatever its names. */
static void test_names(struct cudalib_set *set, const char *self)
{
	struct cudalib *lib = examine(set, self), *again = NULL;
	size_t count = set->count;
	bool fresh = true;

	CHECK(!symlink(self, "link") && examine(set, "link") == lib);
	CHECK(!cudalib_examine(set, "/proc/self/exe", "shown", &again, &fresh, NULL));
	CHECK(again == lib && !fresh && set->count == count);
	CHECK(lib && cudalib_find(set, lib->dev, lib->inode, lib->changed) == lib);
	CHECK(!cudalib_find(set, 1, 1, 0));
	CHECK(lib->fd >= 0 || !cudalib_find(set, lib->dev, lib->inode, lib->changed + 1));
	CHECK(cudalib_name("/a/libcudart.so.13") && cudalib_name("libcuda.so.1"));
	CHECK(cudalib_name("libcudart-d0da41ae.so.11.0"));
	CHECK(!cudalib_name("/libcudart.so.13/libcublas.so") && !cudalib_name("libcudart_static.a"));
}

static void test_refused(struct cudalib_set *set)
{
	struct cudalib *lib = NULL;
	struct error e = { 0 };

	CHECK(cudalib_examine(set, "/nonexistent", NULL, &lib, NULL, &e) == ERROR_SYSTEM);
	CHECK(strstr(e.text, "\"/nonexistent\"") && !lib);
	CHECK(cudalib_examine(set, "/dev/null", NULL, &lib, NULL, &e) == ERROR_SYSTEM && !lib);
	CHECK(cudalib_examine(set, "/", NULL, &lib, NULL, &e) == ERROR_SYSTEM && !lib);
	lib = examine(set, "/etc/passwd");
	CHECK(lib && !lib->count && lib->fd < 0 && !lib->why_not[0]);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

/* Where CUDA is to be expected, its absence is explained. */
static void test_explained(struct cudalib_set *set)
{
	struct cudalib *lib;

	write_file("libcudart.so.99", "no library", 10);
	lib = examine(set, "libcudart.so.99");
	CHECK(lib && !lib->count && !strcmp(lib->why_not, "not an ELF file"));
	unlink("libcudart.so.99");
}

/* Each time a new file, so that it is examined anew. */
static void examine_bytes(const unsigned char *bytes, size_t size)
{
	struct cudalib_set set = { 0 };
	struct cudalib *lib;

	write_file("damaged", bytes, size);
	lib = examine(&set, "damaged");
	for (size_t i = 0; lib && i < lib->count; i++)
		CHECK(lib->symbols[i].offset < size);
	cudalib_set_release(&set);
}

/* Other values where the header, the segments, the sections, the symbols are. */
static void test_damaged(const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size);
	const Elf64_Ehdr *header = (const void *)bytes;
	size_t tables[] = { 0, header->e_phoff, header->e_shoff };
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };

	srand(1);
	for (int i = 0; i < DAMAGES; i++) {
		size_t start = tables[i % 3], place = start + rand() % 1024;

		memcpy(copy, bytes, size);
		for (int k = 0; k < 1 + i % 4 && place + k < size; k++)
			copy[place + k] = values[rand() % sizeof(values)];
		examine_bytes(copy, size);
	}
	for (size_t cut = 0; cut < size; cut += size / 64 + 1)
		examine_bytes(bytes, cut);
	free(copy);
}

static unsigned char *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	unsigned char *bytes = NULL;

	if (fd >= 0 && !fstat(fd, &st)) {
		*size = st.st_size;
		bytes = malloc(*size);
		CHECK(read(fd, bytes, *size) == (ssize_t)*size);
	}
	close(fd);
	return bytes;
}

static void test_instructions(void)
{
#ifdef __x86_64__
	CHECK(instruction_class((uint8_t[]){ 0x55 }, 1) == INSTRUCTION_EMULATED);
	CHECK(instruction_class((uint8_t[]){ 0x41, 0x54 }, 2) == INSTRUCTION_EMULATED);
	CHECK(instruction_class((uint8_t[]){ 0x66, 0x90 }, 2) == INSTRUCTION_EMULATED);
	CHECK(instruction_class((uint8_t[]){ 0xf3, 0x0f, 0x1e, 0xfa }, 4) ==
	      INSTRUCTION_SINGLE_STEPPED);
	CHECK(instruction_class((uint8_t[]){ 0x48, 0x83, 0xec, 8 }, 4) ==
	      INSTRUCTION_SINGLE_STEPPED);
	CHECK(instruction_class((uint8_t[]){ 0xc3 }, 1) == INSTRUCTION_SINGLE_STEPPED);
	CHECK(instruction_jump((uint8_t[]){ 0xe9, 0xfb, 0xff, 0xff, 0xff }, 5, 100) == 100);
	CHECK(instruction_jump((uint8_t[]){ 0xeb, 0x10 }, 2, 100) == 118);
	CHECK(instruction_jump((uint8_t[]){ 0xf3, 0x0f, 0x1e, 0xfa, 0xeb, 0x10 }, 6, 100) == 122);
	CHECK(instruction_jump((uint8_t[]){ 0x55 }, 1, 100) == 0);
#endif
}

int main(void)
{
	char directory[] = "/tmp/test-cudalib-XXXXXX", self[4096];
	struct cudalib_set set = { 0 };
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	unsigned char *bytes;
	size_t size = 0;

	if (n < 0 || !mkdtemp(directory) || chdir(directory))
		return 1;
	self[n] = 0;
	test_self(&set, self);
	test_names(&set, self);
	test_refused(&set);
	test_explained(&set);
	cudalib_set_release(&set);
	CHECK(!set.count && !set.files);
	bytes = read_file(self, &size);
	if (bytes)
		test_damaged(bytes, size);
	free(bytes);
	test_instructions();
	unlink("damaged");
	unlink("link");
	CHECK(!rmdir(directory));
	return check_result();
}
