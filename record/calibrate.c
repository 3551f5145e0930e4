// SPDX-License-Identifier: BSD-2-Clause
#include "calibrate.h"
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hostinfo.h"

#define CALLS 512
#define DRAIN_CALLS 32
#define PAGES 256
#define PAGE_ROUNDS 9
#define SYMBOL_NONE 0		/* any row: the argument it reads is not looked at */

/* Begins as library functions do, with a push: the price of a probe hangs on the instruction it replaces. */
#if defined(__x86_64__)
void calibrate_target(void);
__asm__(".pushsection .text\n.type calibrate_target,@function\ncalibrate_target:\n"
	"push %rbp\nmov %rsp,%rbp\npop %rbp\nret\n.size calibrate_target,.-calibrate_target\n.popsection");
#else
__attribute__((noinline)) static void calibrate_target(void)
{
	__asm__ volatile("");
}
#endif

struct durations {
	uint64_t ns[CALLS];
	size_t count;
};

static void on_record(void *context, unsigned int cpu, const struct wire_header *record, size_t size)
{
	struct durations *d = context;

	(void)cpu;
	(void)size;
	if (record->kind == WIRE_CALL && d->count < CALLS)
		d->ns[d->count++] = ((const struct wire_call *)record)->duration;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(count - 1) / 2];
}

/* With p, the rings are emptied before the smallest of them is full: a rehearsal loses nothing. */
static int calls_time(uint64_t *ns, struct probes *p, struct error *e)
{
	int err = 0;

	for (int i = 0; i < CALLS && !err; i++) {
		uint64_t begin = hostinfo_now();

		calibrate_target();
		ns[i] = hostinfo_now() - begin;
		if (p && i % DRAIN_CALLS == 0)
			err = probes_drain(p, e);
	}
	return err;
}

struct place {
	uintptr_t address;
	unsigned long offset;
	int found;
};

/* File offset of an address in this program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *data)
{
	struct place *place = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD || place->address < begin || place->address >= begin + header->p_filesz)
			continue;
		place->offset = place->address - begin + header->p_offset;
		place->found = 1;
		return 1;
	}
	return 0;
}

uint64_t calibrate_page(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uint64_t ns[PAGE_ROUNDS];

	for (int round = 0; round < PAGE_ROUNDS; round++) {
		volatile char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t begin;

		if (memory == MAP_FAILED)
			return 0;
		madvise((void *)memory, PAGES * page, MADV_NOHUGEPAGE);
		begin = hostinfo_now();
		for (size_t i = 0; i < PAGES; i++)
			memory[i * page] = 1;
		ns[round] = (hostinfo_now() - begin) / PAGES;
		munmap((void *)memory, PAGES * page);
	}
	return median(ns, PAGE_ROUNDS);
}

int calibrate(struct probes *p, struct calibration *c, struct error *e)
{
	struct place place = { .address = (uintptr_t)calibrate_target };
	uint64_t plain[CALLS], probed[CALLS];
	struct durations durations = { .count = 0 };
	int err, later;

	dl_iterate_phdr(find_offset, &place);
	if (!place.found)
		return error_set(e, ERROR_UNSUPPORTED, "the program's own code is not where it says");
	calls_time(plain, NULL, NULL);
	err = probes_rehearse(p, place.offset, SYMBOL_NONE, on_record, &durations, e);
	if (err)
		return err;
	err = calls_time(probed, p, e);
	later = probes_rehearsed(p, e);
	err = err ? err : later;
	if (!err && durations.count < CALLS / 2)
		err = error_set(e, ERROR_UNSUPPORTED, "only %zu of %d rehearsed calls were seen", durations.count, CALLS);
	if (err)
		return err;
	c->call_ns = median(probed, CALLS) - median(plain, CALLS);
	c->inside_ns = median(durations.ns, durations.count);
	return 0;
}
