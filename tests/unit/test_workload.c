// SPDX-License-Identifier: BSD-2-Clause
#include "record/workload.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

#define NOBODY "65534"
#define PATIENCE_MS 20000

static struct workload_identity self;

/* What one command came to. */
struct outcome {
	int rc, exit_status;
	struct error e;
	char output[4096];
};

/* stdout goes to a file while the command runs; returns what to restore. */
static int divert(int *file)
{
	int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	*file = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	fflush(stdout);
	dup2(*file, STDOUT_FILENO);
	return saved;
}

static void restore(int saved, int file, char *output, size_t size)
{
	ssize_t n = pread(file, output, size - 1, 0);

	output[n > 0 ? n : 0] = 0;
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(file);
}

static bool wait_for(struct workload *w)
{
	struct pollfd p = { .fd = w->pidfd, .events = POLLIN };

	return poll(&p, 1, PATIENCE_MS) == 1 && workload_reap(w) == 1;
}

static struct outcome run_as(char *const argv[], const struct workload_identity *id)
{
	struct outcome o = { 0 };
	struct workload w;
	int file, saved = divert(&file);

	o.rc = workload_signals(&w, &o.e);
	if (!o.rc)
		o.rc = workload_fork(&w, argv, id, &o.e);
	if (!o.rc)
		o.rc = workload_uncork(&w, &o.exit_status, &o.e);
	if (!o.rc && wait_for(&w))
		o.exit_status = workload_exit_status(w.wait_status);
	workload_release(&w);
	workload_release(&w);
	sigprocmask(SIG_SETMASK, &w.mask, NULL);
	restore(saved, file, o.output, sizeof(o.output));
	return o;
}

static struct outcome shell(const char *script)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };

	return run_as(argv, &self);
}

static void test_exit_status(void)
{
	CHECK(!shell("exit 0").exit_status);
	CHECK(shell("exit 3").exit_status == 3);
	CHECK(shell("kill -TERM $$").exit_status == 128 + SIGTERM);
	CHECK(shell("kill -SEGV $$").exit_status == 128 + SIGSEGV);
	CHECK(!strcmp(shell("echo out").output, "out\n"));
}

static void test_exec_errors(void)
{
	char *missing[] = { "no-such-command-anywhere", NULL };
	char *not_executable[] = { "/etc/passwd", NULL };
	char *directory[] = { "/", NULL };
	struct outcome o = run_as(missing, &self);

	CHECK(o.rc == ERROR_SYSTEM && o.exit_status == 127);
	CHECK(strstr(o.e.text, "\"no-such-command-anywhere\""));
	o = run_as(not_executable, &self);
	CHECK(o.rc && o.exit_status == 126);
	o = run_as(directory, &self);
	CHECK(o.rc && o.exit_status == 126);
}

/* What a command prints when a shell runs it. */
static void reference(const char *script, char *output, size_t size)
{
	FILE *f = popen(script, "re");
	size_t n = f ? fread(output, 1, size - 1, f) : 0;

	output[n] = 0;
	CHECK(n > 0);
	if (f)
		pclose(f);
}

/* The child has what this process has: limits, and no descriptor more. */
static void test_limits(void)
{
	static const char script[] = "ls /proc/self/fd | wc -l; ulimit -a";
	char expected[4096];

	reference(script, expected, sizeof(expected));
	CHECK(!strcmp(shell(script).output, expected));
}

/* And its signal mask and dispositions. */
static void test_signal_state(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, plain = { .sa_handler = SIG_DFL };
	char *argv[] = { "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL };
	char line[256], expected[512] = "";
	FILE *f;

	sigaction(SIGHUP, &ignore, NULL);
	f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6))
			strcat(expected, line);
	if (f)
		fclose(f);
	CHECK(*expected && !strcmp(run_as(argv, &self).output, expected));
	sigaction(SIGHUP, &plain, NULL);
}

/* SIGCHLD ignored by whoever started the recorder must not lose the status. */
static void test_ignored_sigchld(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, plain = { .sa_handler = SIG_DFL };

	sigaction(SIGCHLD, &ignore, NULL);
	CHECK(shell("exit 7").exit_status == 7);
	sigaction(SIGCHLD, &plain, NULL);
}

/* The recorder ends while the child is corked: the command must never run. */
static void test_dead_recorder(void)
{
	char *argv[] = { "sh", "-c", "echo ran", NULL }, output[64];
	int file, saved = divert(&file), status = 0;
	pid_t recorder = fork();

	if (!recorder) {
		struct workload w;

		if (!workload_signals(&w, NULL) && !workload_fork(&w, argv, &self, NULL))
			_exit(0);
		_exit(1);
	}
	waitpid(recorder, &status, 0);
	CHECK(status == 0);
	usleep(100000);
	restore(saved, file, output, sizeof(output));
	CHECK(!*output);
}

static void test_released_corked(void)
{
	char *argv[] = { "true", NULL };
	struct workload w;

	CHECK(!workload_signals(&w, NULL) && !workload_fork(&w, argv, &self, NULL));
	CHECK(!workload_reap(&w));
	workload_release(&w);
	sigprocmask(SIG_SETMASK, &w.mask, NULL);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0);
}

static void test_forwarding(void)
{
	char *argv[] = { "sleep", "60", NULL };
	struct workload w;
	int exit_status;

	CHECK(!workload_signals(&w, NULL) && !workload_fork(&w, argv, &self, NULL) &&
	      !workload_uncork(&w, &exit_status, NULL));
	kill(getpid(), SIGINT);		/* of the keyboard: the group has it already */
	workload_forward(&w);
	CHECK(w.interrupts == 1 && w.last_signal == SIGINT);
	usleep(100000);
	CHECK(!workload_reap(&w));
	kill(getpid(), SIGTERM);
	workload_forward(&w);
	CHECK(w.interrupts == 2 && wait_for(&w));
	CHECK(workload_exit_status(w.wait_status) == 128 + SIGTERM);
	workload_release(&w);
	sigprocmask(SIG_SETMASK, &w.mask, NULL);
}

/* A signal before the start: the command never runs. */
static void test_interrupted(void)
{
	char *argv[] = { "true", NULL };
	struct error e = { 0 };
	struct workload w;
	int exit_status = 0;

	CHECK(!workload_signals(&w, NULL) && !workload_fork(&w, argv, &self, NULL));
	kill(getpid(), SIGINT);
	CHECK(workload_uncork(&w, &exit_status, &e) == ERROR_SYSTEM);
	CHECK(exit_status == 125 && strstr(e.text, "\"true\""));
	workload_release(&w);
	sigprocmask(SIG_SETMASK, &w.mask, NULL);
}

static void test_identity(void)
{
	char *argv[] = { "sh", "-c", "id -u; id -g; id -G; echo $USER; grep ^Cap /proc/self/status | "
			 "grep -c -E 'Cap(Prm|Eff).*[1-9a-f]'", NULL };
	struct workload_identity id;
	struct outcome o;

	setenv("SUDO_UID", "12x", 1);
	setenv("SUDO_GID", NOBODY, 1);
	setenv("SUDO_USER", "nobody", 1);
	if (geteuid()) {
		CHECK(!workload_identify(&id, false, NULL) && !id.change);
		return;
	}
	CHECK(workload_identify(&id, false, NULL) == ERROR_USAGE);
	CHECK(!workload_identify(&id, true, NULL) && !id.change && id.uid == getuid());
	setenv("SUDO_UID", NOBODY, 1);
	CHECK(!workload_identify(&id, true, NULL) && !id.change && id.uid == 65534);
	CHECK(!workload_identify(&id, false, NULL) && id.change && id.uid == 65534);
	o = run_as(argv, &id);
	CHECK(!o.rc);
	CHECK(!strcmp(o.output, NOBODY "\n" NOBODY "\n" NOBODY "\nnobody\n0\n"));
	setenv("SUDO_UID", "0", 1);
	CHECK(!workload_identify(&id, false, NULL) && !id.change);
}

int main(void)
{
	char directory[] = "/tmp/test-workload-XXXXXX";

	if (!mkdtemp(directory) || chdir(directory))
		return 1;
	unsetenv("SUDO_UID");
	CHECK(!workload_identify(&self, false, NULL) && !self.change);
	test_exit_status();
	test_exec_errors();
	test_limits();
	test_signal_state();
	test_ignored_sigchld();
	test_dead_recorder();
	test_released_corked();
	test_forwarding();
	test_interrupted();
	test_identity();
	CHECK(!rmdir(directory));
	return check_result();
}
