// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "job.h"

#define WORKERS 8
#define QUEUE 2
#define BLOCK 4096

static struct worker {
	pid_t pid;
	int ask, take;
} workers[WORKERS];
static pid_t busy[WORKERS];
static long turn, asked;
static char *buffer;

/* The queue between the feeder thread and the feeding thread. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t thread;
	long filled, left;
} queue = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

static void read_all(int fd, char *to, long bytes)
{
	while (bytes > 0) {
		long n = read(fd, to, bytes);
		if (n <= 0)
			die("read");
		to += n;
		bytes -= n;
	}
}

/* False when nobody reads any more. */
static bool write_all(int fd, const char *from, long bytes)
{
	while (bytes > 0) {
		long n = write(fd, from, bytes);
		if (n <= 0)
			return false;
		from += n;
		bytes -= n;
	}
	return true;
}

static void read_disk(void)
{
	static int fd = -1;
	static char *block;
	static off_t at;
	if (job.read == 0)
		return;
	if (fd < 0 && (fd = open(job.file, O_RDONLY | O_DIRECT | O_CLOEXEC)) < 0)
		die(job.file);
	if (!block && !(block = aligned_alloc(BLOCK, job.read)))
		die("aligned_alloc");
	uint64_t start = now_ns();
	if (pread(fd, block, job.read, at) != job.read)
		at = 0;
	at += job.read;
	clock_note("disk", start, now_ns());
}

static void make_batch(long number)
{
	long make = job.straggler == number ? job.straggler_make : job.make;
	if (make)
		clock_busy(make * 1000, "run");
	if (job.sleep) {
		uint64_t start = now_ns();
		sleep_ns(job.sleep * 1000);
		/* Up to when the timer rings: what comes after is a wait for a CPU. */
		clock_note("sleep", start, start + job.sleep * 1000);
	}
	read_disk();
}

__attribute__((noreturn)) static void worker(long number, int ask, int give)
{
	char request, name[32];
	snprintf(name, sizeof(name), "worker%ld", number);
	clock_open(name);
	prctl(PR_SET_NAME, "pt_data_worker", 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	pin(job.worker_cpu);
	if (setpriority(PRIO_PROCESS, 0, job.worker_nice))
		die("setpriority");
	if (job.startup)
		clock_busy(job.startup * 1000, "startup");
	while (job.push || read(ask, &request, 1) == 1) {
		uint64_t start = now_ns();
		make_batch(number);
		clock_note("make", start, now_ns());
		start = now_ns();
		if (!write_all(give, buffer, job.batch))
			break;
		clock_note("give", start, now_ns());
	}
	clock_write();
	_exit(0);
}

static void worker_start(long number)
{
	int ask[2], give[2];
	if (pipe2(ask, O_CLOEXEC) || pipe2(give, O_CLOEXEC))
		die("pipe2");
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		/* The other ends, of this and of older workers, would keep pipes open. */
		for (long i = 0; i < number - 1; i++) {
			close(workers[i].ask);
			close(workers[i].take);
		}
		close(ask[1]);
		close(give[0]);
		worker(number, ask[0], give[1]);
	}
	close(ask[0]);
	close(give[1]);
	workers[number - 1] = (struct worker){ pid, ask[1], give[0] };
}

/* Batches from these workers: of an epoch where each has its own, else of all. */
static long planned(void)
{
	return job.batches * (job.startup ? 1 : job.epochs);
}

static void ask_worker(void)
{
	if (!job.push && !write_all(workers[asked % job.workers].ask, "b", 1))
		die("write");
	asked++;
}

static void take_from_worker(void)
{
	read_all(workers[turn % job.workers].take, buffer, job.batch);
	turn++;
	if (asked < planned())
		ask_worker();
}

static void *feeder(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "pt_data_pin", 0, 0, 0);
	for (long i = 0; i < planned(); i++) {
		take_from_worker();
		pthread_mutex_lock(&queue.mutex);
		while (queue.filled == QUEUE)
			pthread_cond_wait(&queue.changed, &queue.mutex);
		queue.filled++;
		pthread_cond_broadcast(&queue.changed);
		pthread_mutex_unlock(&queue.mutex);
	}
	return NULL;
}

void workers_start(void)
{
	turn = asked = 0;
	if (!buffer && !(buffer = calloc(1, job.batch)))
		die("calloc");
	for (long i = 1; i <= job.workers; i++)
		worker_start(i);
	while (asked < job.workers * job.prefetch && asked < planned())
		ask_worker();
	if (job.workers && job.feeder && pthread_create(&queue.thread, NULL, feeder, NULL))
		die("pthread_create");
}

void workers_take(void)
{
	if (!job.feeder) {
		take_from_worker();
		return;
	}
	pthread_mutex_lock(&queue.mutex);
	while (queue.filled == 0)
		pthread_cond_wait(&queue.changed, &queue.mutex);
	queue.filled--;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.mutex);
}

void workers_end(void)
{
	if (job.workers && job.feeder)
		pthread_join(queue.thread, NULL);
	for (long i = 0; i < job.workers; i++) {
		close(workers[i].ask);
		close(workers[i].take);
	}
	for (long i = 0; i < job.workers; i++)
		waitpid(workers[i].pid, NULL, 0);
}

void busy_start(void)
{
	for (long i = 0; i < job.busy; i++) {
		busy[i] = fork();
		if (busy[i] < 0)
			die("fork");
		if (busy[i] == 0) {
			char name[32];
			snprintf(name, sizeof(name), "busy%ld", i + 1);
			clock_open(name);
			prctl(PR_SET_NAME, "pt_data_worker", 0, 0, 0);
			clock_stop_on(SIGTERM);
			clock_busy(1000000000000, "run");
			clock_write();
			_exit(0);
		}
	}
}

void busy_end(void)
{
	for (long i = 0; i < job.busy; i++)
		kill(busy[i], SIGTERM);
	for (long i = 0; i < job.busy; i++)
		waitpid(busy[i], NULL, 0);
}

static void *sibling(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "sibling", 0, 0, 0);
	pin(job.sibling_cpu);
	if (setpriority(PRIO_PROCESS, 0, job.sibling_nice))
		die("setpriority");
	for (;;) {
		pthread_mutex_lock(&shared);
		uint64_t start = now_ns();
		clock_busy(job.hold * 1000, "hold");
		clock_note("held", start, now_ns());
		pthread_mutex_unlock(&shared);
		sleep_ns(job.rest * 1000);
	}
}

void sibling_start(void)
{
	pthread_t thread;
	if (job.hold && pthread_create(&thread, NULL, sibling, NULL))
		die("pthread_create");
}

void sibling_lock(void)
{
	uint64_t start = now_ns();
	pthread_mutex_lock(&shared);
	clock_note("lock", start, now_ns());
	pthread_mutex_unlock(&shared);
}
