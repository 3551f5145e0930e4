// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's own count of page allocations of one process: pagecount PID
 * Attaches a counter for each order to kmem:mm_page_alloc, only allocations that got a page, says
 * "attached", waits for the end of stdin, and prints {"events": N, "pages": N, "orders": [...]}.
 * Exit status 77: this kernel or user may not count.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include "workload.h"

enum { ORDERS = 11 };

static long tracepoint_id(void)
{
	static const char path[] = "/sys/kernel/tracing/events/kmem/mm_page_alloc/id";
	long id = 0;
	if (access(path, R_OK)) {
		/* A mount of our own, gone with this process. */
		if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
			return -1;
	}
	FILE *f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &id) != 1)
		id = -1;
	if (f)
		fclose(f);
	return id;
}

static int counter_open(long id, pid_t pid, int order)
{
	char filter[64];
	struct perf_event_attr a = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(a), .config = id,
		.inherit = 1, .disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	snprintf(filter, sizeof(filter), "order == %d && pfn != 0xffffffffffffffff", order);
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -1 : fd;
}

int main(int argc, char **argv)
{
	int fds[ORDERS];
	uint64_t counts[ORDERS], events = 0, pages = 0;
	long id = tracepoint_id();
	if (argc != 2 || id < 0) {
		fputs(argc != 2 ? "usage: pagecount PID\n" : "pagecount: no tracepoint\n", stderr);
		return argc != 2 ? 2 : 77;
	}
	for (int i = 0; i < ORDERS; i++) {
		fds[i] = counter_open(id, atoi(argv[1]), i);
		if (fds[i] < 0) {
			perror("pagecount: perf_event_open");
			return 77;
		}
	}
	for (int i = 0; i < ORDERS; i++)
		ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0);
	puts("attached");
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (int i = 0; i < ORDERS; i++) {
		if (read(fds[i], &counts[i], 8) != 8)
			die("read");
		events += counts[i];
		pages += counts[i] << i;
	}
	printf("{\"events\": %llu, \"pages\": %llu, \"orders\": [", (unsigned long long)events,
	       (unsigned long long)pages);
	for (int i = 0; i < ORDERS; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)counts[i]);
	puts("]}");
	return 0;
}
