// SPDX-License-Identifier: BSD-2-Clause
#include "mappings.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define DATA_PAGES 128	/* a power of two; some 4,000 records */

struct buffer {
	int fd;
	struct perf_event_mmap_page *page;
};

struct mappings {
	unsigned int ncpus;
	struct buffer *buffers;
	size_t page_size, data_size;
	int epoll_fd;
	uint64_t received, lost;
	_Alignas(8) char record[65536];	/* one that wraps around */
};

/* Layout of PERF_RECORD_MMAP2, with the sample_id that sample_id_all appends. */
struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

static int event_open(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME, .mmap = 1, .mmap2 = 1, .sample_id_all = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC, .watermark = 0, .wakeup_events = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int buffer_open(struct mappings *m, unsigned int cpu)
{
	struct buffer *buffer = &m->buffers[cpu];
	struct epoll_event event = { .events = EPOLLIN };

	buffer->fd = event_open(cpu);
	if (buffer->fd < 0)
		return errno == ENODEV || errno == ENXIO ? 0 : -1;	/* an offline CPU */
	buffer->page = mmap(NULL, m->page_size + m->data_size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd, 0);
	if (buffer->page == MAP_FAILED) {
		buffer->page = NULL;
		return -1;
	}
	return epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, buffer->fd, &event);
}

int mappings_open(struct mappings **out, unsigned int cpus, struct error *e)
{
	struct mappings *m = calloc(1, sizeof(*m));

	*out = m;
	if (!m)
		return error_set(e, ERROR_MEMORY, "out of memory");
	m->page_size = sysconf(_SC_PAGESIZE);
	m->data_size = DATA_PAGES * m->page_size;
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	m->buffers = calloc(cpus, sizeof(*m->buffers));
	if (!m->buffers || m->epoll_fd < 0)
		return error_system(e, "mappings cannot be watched");
	m->ncpus = cpus;
	for (unsigned int i = 0; i < cpus; i++)
		m->buffers[i].fd = -1;
	for (unsigned int i = 0; i < cpus; i++)
		if (buffer_open(m, i))
			return error_system(e, "mappings cannot be watched: perf_event_open");
	return 0;
}

int mappings_fd(const struct mappings *m)
{
	return m->epoll_fd;
}

static void on_mmap2(struct mappings *m, const struct mmap2 *record, mappings_sink sink, void *context)
{
	size_t names = record->header.size - sizeof(*record) - sizeof(uint64_t);
	struct mapping mapping = {
		.pid = record->pid, .tid = record->tid, .start = record->addr, .length = record->len,
		.dev = makedev(record->maj, record->min), .inode = record->ino,
		.generation = record->ino_generation, .path = record->filename,
	};

	/* The name is padded to 8 bytes; the sample_id, a time, follows it. */
	memcpy(&mapping.ts, record->filename + names, sizeof(mapping.ts));
	m->received++;
	if (mapping.inode)
		sink(context, &mapping);
}

static void on_record(struct mappings *m, const struct perf_event_header *header, mappings_sink sink, void *context)
{
	struct { struct perf_event_header header; uint64_t id, lost; } lost;

	if (header->type == PERF_RECORD_MMAP2 && header->size > sizeof(struct mmap2) + sizeof(uint64_t))
		on_mmap2(m, (const void *)header, sink, context);
	if (header->type == PERF_RECORD_LOST && header->size >= sizeof(lost)) {
		memcpy(&lost, header, sizeof(lost));
		m->lost += lost.lost;
	}
}

static void buffer_drain(struct mappings *m, struct buffer *buffer, mappings_sink sink, void *context)
{
	char *data = (char *)buffer->page + m->page_size;
	uint64_t head = __atomic_load_n(&buffer->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = buffer->page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		size_t at = tail & (m->data_size - 1);
		struct perf_event_header *header = (void *)(data + at);
		size_t size = header->size, first = m->data_size - at;

		if (size < sizeof(*header) || size > head - tail)
			break;
		if (first < size) {
			memcpy(m->record, header, first);
			memcpy(m->record + first, data, size - first);
			header = (void *)m->record;
		}
		on_record(m, header, sink, context);
		tail += size;
	}
	__atomic_store_n(&buffer->page->data_tail, tail, __ATOMIC_RELEASE);
}

void mappings_drain(struct mappings *m, mappings_sink sink, void *context)
{
	for (unsigned int i = 0; i < m->ncpus; i++)
		if (m->buffers[i].page)
			buffer_drain(m, &m->buffers[i], sink, context);
}

struct identity {
	uint64_t start;
	uint32_t pid;
	struct mapping *found;
	bool done;
	mappings_sink sink;
	void *context;
};

static void identity_sink(void *context, const struct mapping *mapping)
{
	struct identity *identity = context;

	if (mapping->pid != identity->pid) {
		identity->sink(identity->context, mapping);
	} else if (mapping->start == identity->start) {
		*identity->found = *mapping;
		identity->found->path = NULL;
		identity->done = true;
	}
}

bool mappings_identity(struct mappings *m, int fd, struct mapping *found, mappings_sink sink, void *context)
{
	struct identity identity = { .pid = getpid(), .found = found, .sink = sink, .context = context };
	void *map = mmap(NULL, m->page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return false;
	identity.start = (uintptr_t)map;
	mappings_drain(m, identity_sink, &identity);
	munmap(map, m->page_size);
	return identity.done;
}

uint64_t mappings_received(const struct mappings *m)
{
	return m->received;
}

uint64_t mappings_lost(const struct mappings *m)
{
	return m->lost;
}

void mappings_close(struct mappings *m)
{
	if (!m)
		return;
	for (unsigned int i = 0; m->buffers && i < m->ncpus; i++) {
		if (m->buffers[i].page)
			munmap(m->buffers[i].page, m->page_size + m->data_size);
		if (m->buffers[i].fd >= 0)
			close(m->buffers[i].fd);
	}
	if (m->epoll_fd >= 0)
		close(m->epoll_fd);
	free(m->buffers);
	free(m);
}
