// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes made in every way: tree [-short N]. Prints label,pid,ppid,status,name for each, ppid
 * being the process that made it and status as wait has it. One process is alive at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "workload.h"

static char *self = "/proc/self/exe";
static pid_t *shared;			/* what a descendant tells */

static void row(const char *label, pid_t pid, pid_t ppid, int status, const char *name)
{
	printf("%s,%d,%d,%d,%s\n", label, pid, ppid, status, name);
}

static void leaf(const char *name, int code)
{
	prctl(PR_SET_NAME, name);
	sleep_ns(2000000);
	_exit(code);
}

static int status_of(pid_t pid)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	return status;
}

static void *fork_in_thread(void *unused)
{
	(void)unused;
	pid_t pid = fork();
	if (pid == 0)
		leaf("of-thread", 11);
	row("of-thread", pid, getpid(), status_of(pid), "of-thread");
	return NULL;
}

static void of_thread(void)
{
	pthread_t id;
	if (pthread_create(&id, NULL, fork_in_thread, NULL))
		die("pthread_create");
	pthread_join(id, NULL);
}

/* The grandchild outlives its parent and is re-parented to this process, a subreaper. */
static void double_fork(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t middle = fork();
	if (middle == 0) {
		prctl(PR_SET_NAME, "middle");
		pid_t parent = getpid();
		pid_t pid = fork();
		if (pid == 0) {
			while (getppid() == parent)
				sleep_ns(100000);
			leaf("re-parented", 12);
		}
		*shared = pid;
		_exit(0);
	}
	row("middle", middle, getpid(), status_of(middle), "middle");
	pid_t grandchild = *shared;
	row("re-parented", grandchild, middle, status_of(grandchild), "re-parented");
}

static void exec_self(char *what, char *argument)
{
	execl(self, "tree", what, argument, NULL);
	_exit(98);
}

static void exec_chain(void)
{
	pid_t pid = fork();
	if (pid == 0)
		exec_self("-chain", "5");
	row("exec-chain", pid, getpid(), status_of(pid), "chain-end");
}

static void *exec_in_thread(void *unused)
{
	(void)unused;
	exec_self("-leaf", "14");
	return NULL;
}

static void thread_execs(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		pthread_t id;
		if (pthread_create(&id, NULL, exec_in_thread, NULL))
			_exit(97);
		pause();
	}
	row("thread-exec", pid, getpid(), status_of(pid), "leaf");
}

static void spawned(void)
{
	pid_t pid;
	char *argv[] = { "tree", "-leaf", "15", NULL };
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
		die("posix_spawn");
	row("spawned", pid, getpid(), status_of(pid), "leaf");
}

static void short_children(long n)
{
	char name[32];
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "short-%d", i);
		pid_t pid = fork();
		if (pid < 0)
			die("fork");
		if (pid == 0) {
			prctl(PR_SET_NAME, name);
			if (i % 50 == 49)
				kill(getpid(), i % 100 == 99 ? SIGKILL : SIGTERM);
			_exit(i % 256);
		}
		row("short", pid, getpid(), status_of(pid), name);
	}
}

static pid_t named(const char *name, int code)
{
	pid_t pid = fork();
	if (pid == 0)
		leaf(name, code);
	int status = status_of(pid);
	row(name, pid, getpid(), status, name);
	return pid;
}

/* The next process gets the number after the one written, if it is free. */
static bool next_pid(pid_t pid)
{
	char text[16];
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	int n = snprintf(text, sizeof(text), "%d", pid - 1);
	bool ok = write(fd, text, n) == n;
	close(fd);
	return ok;
}

static void reused(void)
{
	for (int attempt = 0; attempt < 20; attempt++) {
		pid_t first = named("reused-1", 21);
		if (!next_pid(first))
			break;
		if (named("reused-2", 22) == first) {
			row("reused", first, getpid(), 0, "");
			return;
		}
	}
	row("not-reused", 0, 0, 0, "");
}

int main(int argc, char **argv)
{
	char left[24];
	long chain = number(argc, argv, "-chain", -1), code = number(argc, argv, "-leaf", -1);
	if (chain == 0)
		leaf("chain-end", 13);
	if (chain > 0) {
		snprintf(left, sizeof(left), "%ld", chain - 1);
		exec_self("-chain", left);
	}
	if (code >= 0)
		leaf("leaf", code);
	setvbuf(stdout, malloc(1 << 20), _IOFBF, 1 << 20);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("label,pid,ppid,status,name\n");
	row("root", getpid(), getppid(), 0, "tree");
	of_thread();
	double_fork();
	exec_chain();
	thread_execs();
	spawned();
	short_children(number(argc, argv, "-short", 500));
	reused();
	return 0;
}
