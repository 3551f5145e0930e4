// SPDX-License-Identifier: BSD-2-Clause
/*
 * Page allocations between two barriers: pagetoucher -b DIR [-n PAGES] [-huge N]
 * DIR holds two fifos. At a barrier a byte is written to DIR/ready and one is read from DIR/go.
 * Order 0 by touching memory a MiB at a time; higher orders by the kernel's own buffers (sockets)
 * and, with -huge, by transparent huge pages.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "workload.h"

static int ready, go;

static int fifo_open(const char *dir, const char *name, int how)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, how | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

static void barrier(void)
{
	char byte = 'b';
	if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
		die("barrier");
}

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void touch(long pages)
{
	const long page = sysconf(_SC_PAGESIZE), at_once = 256;
	while (pages > 0) {
		long n = pages < at_once ? pages : at_once;
		char *p = map(n * page);
		madvise(p, n * page, MADV_NOHUGEPAGE);
		for (long i = 0; i < n; i++)
			p[i * page] = 1;
		munmap(p, n * page);
		pages -= n;
	}
}

/* Datagrams of 64 KiB live in buffers of order 3 and more. */
static void sockets(long times)
{
	static char data[64 * 1024];
	int pair[2], size = 1 << 20;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		die("socketpair");
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (long i = 0; i < times; i++)
		if (send(pair[0], data, sizeof(data), 0) < 0 ||
		    recv(pair[1], data, sizeof(data), 0) < 0)
			die("socket");
}

static void huge(long times)
{
	const size_t size = 2 << 20;
	for (long i = 0; i < times; i++) {
		char *p = map(2 * size);
		char *aligned = (char *)(((uintptr_t)p + size - 1) & ~(size - 1));
		madvise(aligned, size, MADV_HUGEPAGE);
		*aligned = 1;
		munmap(p, 2 * size);
	}
}

int main(int argc, char **argv)
{
	const char *dir = option(argc, argv, "-b", NULL);
	long pages = number(argc, argv, "-n", 200000);
	if (!dir) {
		fprintf(stderr, "usage: pagetoucher -b DIR [-n PAGES] [-huge N]\n");
		return 2;
	}
	ready = fifo_open(dir, "ready", O_WRONLY);
	go = fifo_open(dir, "go", O_RDONLY);
	touch(100);
	barrier();
	touch(pages);
	sockets(pages / 100);
	huge(number(argc, argv, "-huge", 0));
	barrier();
	touch(100);
	printf("{\"pages\": %ld}\n", pages);
	return 0;
}
