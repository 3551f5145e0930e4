// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/mman.h>
#include "../workloads/cuda.h"
#include "job.h"

#define FRESH_BYTES (2ull << 30)

struct job job;

static char *fresh, *source, *target;
static uint64_t delay_ns;
static int delay_fd = -1, file_fd = -1;
static const struct dim3 one = { 1, 1, 1 };

/* What the thread waited for a CPU since it was last asked, as the kernel counts it. */
static void delays_note(void)
{
	char text[96] = "";
	unsigned long long ran, waited;
	if (!job.delays)
		return;
	if (delay_fd < 0)
		delay_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (pread(delay_fd, text, sizeof(text) - 1, 0) < 0 ||
	    sscanf(text, "%llu %llu", &ran, &waited) != 2)
		die("schedstat");
	uint64_t t = now_ns();
	if (delay_ns && waited > delay_ns)
		clock_note("delay", t - (waited - delay_ns), t);
	delay_ns = waited;
}

/* How long the group was throttled so far, as its cpu.stat says in either version. */
static uint64_t throttled_ns(void)
{
	char line[128];
	unsigned long long value = 0;
	FILE *f = job.stat ? fopen(job.stat, "r") : NULL;
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "throttled_time %llu", &value) == 1)
			break;
		if (sscanf(line, "throttled_usec %llu", &value) == 1) {
			value *= 1000;
			break;
		}
	}
	fclose(f);
	return value;
}

static void memory_open(void)
{
	if (job.copy == 0)
		return;
	source = aligned_alloc(4096, job.copy);
	target = aligned_alloc(4096, job.copy);
	if (!source || !target)
		die("aligned_alloc");
	memset(source, 1, job.copy);
	memset(target, 1, job.copy);
	if (job.fresh_every == 0)
		return;
	fresh = mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fresh == MAP_FAILED)
		die("mmap");
	madvise(fresh, FRESH_BYTES, MADV_NOHUGEPAGE);
}

static void copy(long batch)
{
	static struct clock_piece copies;
	static uint64_t used;
	char *to = target;
	uint64_t start = now_ns();
	if (job.copy == 0)
		return;
	if (job.fresh_every && batch % job.fresh_every == 0 && used + job.copy <= FRESH_BYTES) {
		to = fresh + used;
		used += job.copy;
	}
	cudaMemcpyAsync(to, source, job.copy, HOST_TO_DEVICE, NULL);
	if (!job.fresh_every)
		clock_stolen(&copies, start, now_ns());
	delays_note();
}

/* Called inside a launch. */
static void rarely(void *unused)
{
	static long calls;
	(void)unused;
	if (++calls % job.rare_every == 0)
		clock_busy(job.rare * 1000, "rare");
}

static bool due(long batch, long every)
{
	return every && batch % every == every - 1;
}

/* As a log or a checkpoint is: the pages stay dirty in the group that the job is in. */
static void write_file(void)
{
	static char *buffer;
	if (job.write == 0)
		return;
	if (file_fd < 0 && (file_fd = open(job.file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) < 0)
		die(job.file);
	if (!buffer && !(buffer = calloc(1, job.write)))
		die("calloc");
	uint64_t start = now_ns();
	if (write(file_fd, buffer, job.write) != job.write)
		die("write");
	clock_note("write", start, now_ns());
}

/* What the feeding thread does before it has a batch to feed. */
static void gap(long batch)
{
	uint64_t start = now_ns();
	if (job.workers) {
		workers_take();
		clock_note("take", start, now_ns());
	}
	if (job.hold)
		sibling_lock();
	if (due(batch, job.work_every))
		clock_busy(job.work * 1000, "work");
	if (job.think)
		clock_busy(job.think * 1000, "think");
	if (job.idle) {
		start = now_ns();
		sleep_ns(job.idle * 1000);
		clock_note("idle", start, now_ns());
	}
	write_file();
	delays_note();
}

static void feed(long batch)
{
	static struct clock_piece launch;
	long launches = job.launches + (due(batch, job.burst_every) ? job.bursts : 0);
	copy(batch);
	for (long i = 0; i < launches; i++) {
		uint64_t start = now_ns();
		cudaLaunchKernel(feed, one, one, NULL, 0, NULL);
		if (!job.rare_every)
			clock_stolen(&launch, start, now_ns());
		delays_note();
	}
	cudaStreamSynchronize(NULL);
	delays_note();
}

static void train(void)
{
	/* First calls, apart from all that is compared. */
	feed(1);
	for (long epoch = 0; epoch < job.epochs; epoch++) {
		if (epoch == 0 || job.startup) {
			uint64_t start = now_ns();
			workers_start();
			clock_note("start", start, now_ns());
		}
		for (long batch = 0; batch < job.batches; batch++) {
			gap(batch);
			feed(batch);
		}
		if (job.startup || epoch == job.epochs - 1) {
			uint64_t start = now_ns();
			workers_end();
			clock_note("end", start, now_ns());
		}
	}
}

static void parse_feeding(int argc, char **argv)
{
	job.batches = number(argc, argv, "-n", 300);
	job.epochs = number(argc, argv, "-epochs", 1);
	job.launches = number(argc, argv, "-launches", 20);
	job.bursts = number(argc, argv, "-bursts", 0);
	job.burst_every = number(argc, argv, "-burst-every", 0);
	job.copy = number(argc, argv, "-copy", 0);
	job.fresh_every = number(argc, argv, "-fresh-every", 0);
	job.wait_ms = number(argc, argv, "-wait-ms", 0);
	job.work = number(argc, argv, "-work", 0);
	job.work_every = number(argc, argv, "-work-every", 0);
	job.think = number(argc, argv, "-think", 0);
	job.idle = number(argc, argv, "-idle", 0);
	job.rare = number(argc, argv, "-rare", 0);
	job.rare_every = number(argc, argv, "-rare-every", 0);
	job.cpu = number(argc, argv, "-c", -1);
	job.delays = flag(argc, argv, "-delays");
	job.stat = option(argc, argv, "-stat", NULL);
	job.write = number(argc, argv, "-write", 0);
}

static void parse_others(int argc, char **argv)
{
	job.workers = number(argc, argv, "-workers", 0);
	job.prefetch = number(argc, argv, "-prefetch", 1);
	job.make = number(argc, argv, "-make", 0);
	job.sleep = number(argc, argv, "-sleep", 0);
	job.read = number(argc, argv, "-read", 0);
	job.file = option(argc, argv, "-file", "");
	job.batch = number(argc, argv, "-batch", 64);
	job.startup = number(argc, argv, "-startup", 0);
	job.straggler = number(argc, argv, "-straggler", 0);
	job.straggler_make = number(argc, argv, "-straggler-make", 0);
	job.worker_cpu = number(argc, argv, "-worker-c", -1);
	job.worker_nice = number(argc, argv, "-worker-nice", 0);
	job.busy = number(argc, argv, "-busy", 0);
	job.feeder = flag(argc, argv, "-feeder");
	job.push = flag(argc, argv, "-push");
	job.hold = number(argc, argv, "-hold", 0);
	job.rest = number(argc, argv, "-rest", 0);
	job.sibling_cpu = number(argc, argv, "-sibling-c", -1);
	job.sibling_nice = number(argc, argv, "-sibling-nice", 0);
}

int main(int argc, char **argv)
{
	parse_feeding(argc, argv);
	parse_others(argc, argv);
	pin(job.cpu);
	clock_open("job");
	memory_open();
	sleep_ns(job.wait_ms * 1000000ull);
	if (job.rare_every && fakecuda_set_callback("cudaLaunchKernel", rarely, NULL))
		die("fakecuda_set_callback");
	busy_start();
	sibling_start();
	uint64_t throttled = throttled_ns();
	train();
	clock_note("throttled", throttled, throttled_ns());
	busy_end();
	clock_write();
	return 0;
}
