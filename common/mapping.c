// SPDX-License-Identifier: BSD-2-Clause
#include "mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read by the signal handler: start is set last and cleared first. */
static struct slot {
	_Atomic uintptr_t start, end;
	atomic_bool taken, broken;
} slots[MAPPING_LIMIT];

static struct sigaction before;
static uintptr_t page_size;

static struct slot *slot_of(uintptr_t address)
{
	for (int i = 0; i < MAPPING_LIMIT; i++) {
		uintptr_t start = atomic_load(&slots[i].start);

		if (start && address >= start && address < atomic_load(&slots[i].end))
			return &slots[i];
	}
	return NULL;
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	struct slot *slot = slot_of(address);
	int saved = errno;
	void *page = (void *)(address & ~(page_size - 1));

	(void)context;
	if (slot && info->si_code > 0 &&
	    mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		    MAP_FAILED) {
		atomic_store(&slot->broken, true);
	} else {
		/* An access repeats and meets what was there before; a sent signal does not. */
		sigaction(SIGBUS, &before, NULL);
		if (info->si_code <= 0)
			raise(number);
	}
	errno = saved;
}

static void install(void)
{
	struct sigaction action = {
		.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER,
	};

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, &before);
}

static int take_slot(const void *data, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
	for (int i = 0; i < MAPPING_LIMIT; i++) {
		bool expected = false;

		if (!atomic_compare_exchange_strong(&slots[i].taken, &expected, true))
			continue;
		atomic_store(&slots[i].broken, false);
		atomic_store(&slots[i].end, (uintptr_t)data + size);
		atomic_store(&slots[i].start, (uintptr_t)data);
		return i;
	}
	return -1;
}

static int map(struct mapping *m, int fd, const char *path, struct error *e)
{
	struct stat st;
	void *data;

	if (fstat(fd, &st))
		return error_system(e, "cannot read \"%s\"", path);
	if (S_ISDIR(st.st_mode))
		return error_set(e, ERROR_NOT_OURS, "cannot read \"%s\": it is a directory", path);
	if (!S_ISREG(st.st_mode))
		return error_set(e, ERROR_NOT_OURS, "cannot read \"%s\": it is not a regular file",
				 path);
	if (st.st_size == 0)
		return 0;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return error_system(e, "cannot map \"%s\"", path);
	m->slot = take_slot(data, (size_t)st.st_size);
	if (m->slot < 0) {
		munmap(data, (size_t)st.st_size);
		return error_set(e, ERROR_LIMIT, "cannot map \"%s\": more than %d files are open",
				 path, MAPPING_LIMIT);
	}
	m->data = data;
	m->size = (size_t)st.st_size;
	return 0;
}

int mapping_open(struct mapping *m, const char *path, struct error *e)
{
	int fd, err;

	*m = (struct mapping){ .slot = -1 };
	/* O_NONBLOCK: a FIFO without a writer must not hang us; it has no effect on files. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		error_system(e, "cannot open \"%s\"", path);
		if (e)
			e->code = ERROR_NOT_OURS;
		return ERROR_NOT_OURS;
	}
	err = map(m, fd, path, e);
	close(fd);
	return err;
}

void mapping_close(struct mapping *m)
{
	if (m->slot < 0 || !m->data)
		return;
	atomic_store(&slots[m->slot].start, 0);
	munmap((void *)m->data, m->size);
	atomic_store(&slots[m->slot].taken, false);
	*m = (struct mapping){ .slot = -1 };
}

/* The kernel maps pages around the one that is needed, up to the next multiple of 64 KiB. */
#define AROUND (64u << 10)

void mapping_forget(const struct mapping *m, uint64_t offset, uint64_t size)
{
	uint64_t first = offset - offset % AROUND, end = offset + size;

	if (offset >= m->size || size > m->size - offset)
		return;
	end += AROUND - 1;
	end -= end % AROUND;
	madvise((void *)(m->data + first), (end > m->size ? m->size : end) - first, MADV_DONTNEED);
}

bool mapping_broken(const struct mapping *m)
{
	return m->slot >= 0 && atomic_load(&slots[m->slot].broken);
}
