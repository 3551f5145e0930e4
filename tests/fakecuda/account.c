// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "account.h"

#define RECORDS ((ACCOUNT_CHUNK - sizeof(struct account_chunk)) / sizeof(struct core_record))

const char *const account_symbol_names[SYMBOLS] = {
#define CALL(symbol, operation) #symbol,
#include "calls.def"
};
static const char *const operations[SYMBOLS] = {
#define CALL(symbol, operation) #operation,
#include "calls.def"
};

_Static_assert(sizeof(struct core_record) == 48, "truth.py knows the size");
_Static_assert(sizeof(struct account_counts) == 64, "truth.py knows the size");
_Static_assert(sizeof(struct account_chunk) == 64, "truth.py knows the size");
_Static_assert(ACCOUNT_SYMBOLS + SYMBOLS * sizeof(struct account_symbol) <= ACCOUNT_CHUNKS, "fits");
_Static_assert(SYMBOLS * sizeof(struct account_counts) + 64 <= ACCOUNT_CHUNK, "fits");

/* Wiped to 0 in a child however it was made: fork, clone, a thread's fork. */
struct owner {
	_Atomic uint32_t generation;
};

static struct owner *owner;
static uint32_t generations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct account_header *header;
static int file = -1;
static char *ahead;			/* chunks made ready at the start, as many bytes as told */
static uint64_t ahead_size;
static bool counts_only, wanted;

static __thread struct {
	uint32_t generation;
	struct account_chunk *chunk;
} mine __attribute__((tls_model("initial-exec")));

static uint64_t start_ticks(void)
{
	char text[1024] = "";
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	char *p = n > 0 ? strrchr(text, ')') : NULL;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static void header_fill(uint32_t image, uint64_t ticks)
{
	struct account_symbol *rows = (void *)((char *)header + ACCOUNT_SYMBOLS);
	for (int i = 0; i < SYMBOLS; i++) {
		snprintf(rows[i].symbol, sizeof(rows[i].symbol), "%s", account_symbol_names[i]);
		snprintf(rows[i].operation, sizeof(rows[i].operation), "%s", operations[i]);
	}
	header->start_ticks = ticks;
	header->pid = getpid();
	header->image = image;
	header->symbols = SYMBOLS;
	header->chunk_size = ACCOUNT_CHUNK;
	header->next = ACCOUNT_CHUNKS;
	prctl(PR_GET_NAME, header->comm);
	header->magic = ACCOUNT_MAGIC;
}

static void *chunks_map(uint64_t offset, uint64_t size)
{
	if (fallocate(file, 0, offset, size)) {
		fprintf(stderr, "fakecuda: no room for the account\n");
		abort();
	}
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, offset);
}

/* So that no call has to make room; rounded down to whole chunks. */
static bool ahead_open(void)
{
	const char *value = getenv("FAKECUDA_TRUTH_AHEAD");
	ahead_size = (value ? strtoull(value, NULL, 10) : 0) / ACCOUNT_CHUNK * ACCOUNT_CHUNK;
	if (ahead_size)
		ahead = chunks_map(ACCOUNT_CHUNKS, ahead_size);
	return ahead != MAP_FAILED;
}

/* A child's descriptor of its parent's file is closed; a mapping it keeps, and never writes. */
static bool file_open(const char *dir)
{
	char path[4096];
	uint64_t ticks = start_ticks();
	uint32_t image = 0;
	if (file >= 0)
		close(file);
	do {
		snprintf(path, sizeof(path), "%s/%d.%lu.%u.truth", dir, getpid(), ticks, image);
		file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} while (file < 0 && ++image < 1000);
	if (file < 0 || fallocate(file, 0, 0, ACCOUNT_CHUNKS))
		return false;
	int high = fcntl(file, F_DUPFD_CLOEXEC, 200);
	if (high >= 0) {
		close(file);
		file = high;
	}
	void *map = mmap(NULL, ACCOUNT_CHUNKS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		return false;
	header = map;
	header_fill(image, ticks);
	return ahead_open();
}

static void set_up(void)
{
	pthread_mutex_lock(&lock);
	if (!owner) {
		owner = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		if (owner == MAP_FAILED)
			abort();
		madvise(owner, 4096, MADV_WIPEONFORK);
	}
	if (!owner->generation) {
		const char *dir = getenv("FAKECUDA_TRUTH_DIR"), *counts = getenv("FAKECUDA_COUNTS");
		counts_only = counts && *counts == '1';
		wanted = dir && *dir;
		if (wanted && !file_open(dir)) {
			fprintf(stderr, "fakecuda: cannot keep an account in '%s'\n", dir);
			abort();
		}
		atomic_store(&owner->generation, ++generations);
	}
	pthread_mutex_unlock(&lock);
}

static void lock_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor)) static void account_load(void)
{
	pthread_atfork(NULL, NULL, lock_child);
	set_up();
}

static void chunk_next(uint32_t type)
{
	uint64_t offset = __atomic_fetch_add(&header->next, ACCOUNT_CHUNK, __ATOMIC_RELAXED);
	bool ready = offset - ACCOUNT_CHUNKS < ahead_size;
	void *map = ready ? ahead + (offset - ACCOUNT_CHUNKS) : chunks_map(offset, ACCOUNT_CHUNK);
	if (map == MAP_FAILED)
		abort();
	mine.chunk = map;
	mine.chunk->tid = syscall(SYS_gettid);
	mine.chunk->type = type;
}

/* A full chunk stays mapped until its open calls have returned: their records are written late. */
static void chunk_retire(void)
{
	static __thread struct account_chunk *old[8] __attribute__((tls_model("initial-exec")));
	struct core_record *records = (void *)(old[7] + 1);
	bool open = false;
	for (size_t i = 0; old[7] && i < RECORDS; i++)
		open |= !records[i].end;
	if (old[7] && !open)
		munmap(old[7], ACCOUNT_CHUNK);
	memmove(old + 1, old, 7 * sizeof(old[0]));
	old[0] = mine.chunk;
}

bool account_ready(void)
{
	bool fresh = !LIKELY(owner && owner->generation);
	if (fresh)
		set_up();
	if (!LIKELY(mine.generation == owner->generation)) {
		mine.generation = owner->generation;
		mine.chunk = NULL;
	}
	return !fresh;
}

struct core_record *account_record(void)
{
	if (!wanted || counts_only)
		return NULL;
	if (!LIKELY(mine.chunk && mine.chunk->used < RECORDS)) {
		if (mine.chunk)
			chunk_retire();
		chunk_next(CHUNK_RECORDS);
	}
	struct core_record *records = (void *)(mine.chunk + 1);
	return &records[__atomic_fetch_add(&mine.chunk->used, 1, __ATOMIC_RELAXED)];
}

struct account_counts *account_counts(void)
{
	if (!wanted || !counts_only)
		return NULL;
	if (!LIKELY(mine.chunk != NULL))
		chunk_next(CHUNK_COUNTS);
	return (void *)(mine.chunk + 1);
}
