// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread for each way to sleep, each so many times: sleeps [-n ROUNDS] [-f FILE]. Prints for each
 * its thread, the system call it sleeps in, the thread and system call that wake it (0: an interrupt
 * does), and a system call of its preparations, in which it may sleep too. FILE, of 4 MiB or more, is
 * read past the page cache, and through it by mmap.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include "workload.h"

#define PAUSE_NS 300000		/* before a partner wakes: the other one sleeps by then */
#define BLOCK 4096

struct way {
	const char *name;
	void (*sleep)(struct way *);
	void (*wake)(struct way *);	/* by a partner thread */
	long syscall, waker_syscall;
	int in, out;			/* a pipe or a pair of sockets */
	uint32_t word;
	pid_t tid, partner;
	struct sockaddr_in address;
};

static long rounds;
static const char *file;

static void sleep_nanosleep(struct way *w)
{
	struct timespec t = { 0, 200000 };
	(void)w;
	syscall(SYS_nanosleep, &t, NULL);
}

static void sleep_timerfd(struct way *w)
{
	struct itimerspec t = { .it_value = { 0, 200000 } };
	uint64_t expirations;
	if (timerfd_settime(w->in, 0, &t, NULL) ||
	    read(w->in, &expirations, sizeof(expirations)) != sizeof(expirations))
		die("timerfd");
}

static void sleep_futex(struct way *w)
{
	while (!__atomic_load_n(&w->word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__atomic_sub_fetch(&w->word, 1, __ATOMIC_SEQ_CST);
}

static void wake_futex(struct way *w)
{
	__atomic_add_fetch(&w->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &w->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void sleep_read(struct way *w)
{
	char byte;
	if (read(w->in, &byte, 1) != 1)
		die("read");
}

static void sleep_poll(struct way *w)
{
	struct pollfd p = { .fd = w->in, .events = POLLIN };
	if (syscall(SYS_ppoll, &p, 1, NULL, NULL, 0) != 1)
		die("ppoll");
	sleep_read(w);
}

static void wake_write(struct way *w)
{
	if (write(w->out, "x", 1) != 1)
		die("write");
}

static void sleep_receive(struct way *w)
{
	char byte;
	if (recvfrom(w->in, &byte, 1, 0, NULL, NULL) != 1)
		die("recvfrom");
}

static void wake_send(struct way *w)
{
	if (sendto(w->out, "x", 1, 0, (struct sockaddr *)&w->address, sizeof(w->address)) != 1)
		die("sendto");
}

static void sleep_disk(struct way *w)
{
	static _Alignas(BLOCK) char block[BLOCK];
	if (pread(w->in, block, BLOCK, w->word++ % 1024 * BLOCK) != BLOCK)
		die("pread");
}

/* The page is thrown out of memory and touched. */
static void sleep_fault(struct way *w)
{
	off_t at = w->word++ % 64 * 16 * BLOCK;
	volatile char *map = mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, w->in, at);
	if (map == MAP_FAILED || posix_fadvise(w->in, 0, 0, POSIX_FADV_DONTNEED) ||
	    madvise((void *)map, BLOCK, MADV_RANDOM))
		die("mmap");
	(void)map[0];
	munmap((void *)map, BLOCK);
}

static struct way ways[] = {
	{ "nanosleep", sleep_nanosleep, NULL, SYS_nanosleep, 0, -1, -1, 0, 0, 0, { 0 } },
	{ "timerfd", sleep_timerfd, NULL, SYS_read, 0, -1, -1, 0, 0, 0, { 0 } },
	{ "futex", sleep_futex, wake_futex, SYS_futex, SYS_futex, -1, -1, 0, 0, 0, { 0 } },
	{ "pipe", sleep_read, wake_write, SYS_read, SYS_write, -1, -1, 0, 0, 0, { 0 } },
	{ "poll", sleep_poll, wake_write, SYS_ppoll, SYS_write, -1, -1, 0, 0, 0, { 0 } },
	{ "network", sleep_receive, wake_send, SYS_recvfrom, SYS_sendto, -1, -1, 0, 0, 0, { 0 } },
	{ "disk", sleep_disk, NULL, SYS_pread64, 0, -1, -1, 0, 0, 0, { 0 } },
	{ "fault", sleep_fault, NULL, -1, 0, -1, -1, 0, 0, 0, { 0 } },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void way_open(struct way *w)
{
	socklen_t size = sizeof(w->address);
	int pair[2];
	if (w->sleep == sleep_timerfd) {
		w->in = timerfd_create(CLOCK_MONOTONIC, 0);
	} else if (w->sleep == sleep_receive) {
		w->in = socket(AF_INET, SOCK_DGRAM, 0);
		w->out = socket(AF_INET, SOCK_DGRAM, 0);
		w->address = (struct sockaddr_in){ .sin_family = AF_INET,
						   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		if (bind(w->in, (struct sockaddr *)&w->address, size) ||
		    getsockname(w->in, (struct sockaddr *)&w->address, &size))
			die("bind");
	} else if (w->wake && w->wake != wake_futex) {
		if (pipe(pair))
			die("pipe");
		w->in = pair[0];
		w->out = pair[1];
	} else if (w->sleep == sleep_disk || w->sleep == sleep_fault) {
		w->in = open(file, w->sleep == sleep_disk ? O_RDONLY | O_DIRECT : O_RDONLY);
		if (w->in < 0)
			die(file);
	}
}

static void *partner(void *arg)
{
	struct way *w = arg;
	w->partner = gettid();
	for (long i = 0; i < rounds; i++) {
		sleep_ns(PAUSE_NS);
		w->wake(w);
	}
	return NULL;
}

static void *sleeper(void *arg)
{
	struct way *w = arg;
	pthread_t other;
	w->tid = gettid();
	if (w->wake && pthread_create(&other, NULL, partner, w))
		die("pthread_create");
	for (long i = 0; i < rounds; i++)
		w->sleep(w);
	if (w->wake)
		pthread_join(other, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	rounds = number(argc, argv, "-n", 300);
	file = option(argc, argv, "-f", NULL);
	pthread_t thread;
	for (size_t i = 0; i < WAYS; i++) {
		struct way *w = &ways[i];
		if (!file && (w->sleep == sleep_disk || w->sleep == sleep_fault))
			continue;
		way_open(w);
		if (pthread_create(&thread, NULL, sleeper, w))
			die("pthread_create");
		pthread_join(thread, NULL);
		printf("{\"way\": \"%s\", \"tid\": %d, \"waker\": %d, \"syscall\": %ld, \"waker_syscall\": %ld,",
		       w->name, w->tid, w->partner, w->syscall, w->waker_syscall);
		printf(" \"prepares\": %ld}\n", w->sleep == sleep_fault ? (long)SYS_fadvise64 : -1);
	}
	return 0;
}
