// SPDX-License-Identifier: BSD-2-Clause
#include "workload.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUP_US 10000	/* a signal to a group reaches all of it well within this */
#define EXIT_NOT_STARTED 125
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

static const int forwarded[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

/* What the child reports through the error pipe, which a successful exec closes. */
enum stage { STAGE_GO = 1, STAGE_IDENTITY = 2, STAGE_EXEC = 3 };

struct report { int stage, error; };

/* What the child needs, made before the fork: it may call only what is async-signal-safe. */
struct launch {
	char *const *argv;
	char **environment;
	char variables[4][280];		/* that replace the recorder's own */
	const struct workload_identity *id;
	int cork_fd, error_fd;
};

static bool parse_id(const char *text, unsigned int *id)
{
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	*id = value;
	return !errno && !*end && value < UINT_MAX;
}

static void copy(char *to, size_t size, const char *from)
{
	if (snprintf(to, size, "%s", from ? from : "") >= (int)size)
		*to = 0;
}

static void lookup_person(struct workload_identity *id, const char *name)
{
	const struct passwd *person = getpwuid(id->uid);

	copy(id->user, sizeof(id->user), person ? person->pw_name : name);
	copy(id->home, sizeof(id->home), person ? person->pw_dir : "");
	copy(id->shell, sizeof(id->shell), person ? person->pw_shell : "");
	id->ngroups = WORKLOAD_GROUPS_MAX;
	if (getgrouplist(id->user, id->gid, id->groups, &id->ngroups) < 0)
		id->ngroups = WORKLOAD_GROUPS_MAX;	/* more than that: the first ones */
}

int workload_identify(struct workload_identity *id, bool as_root, struct error *e)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID"), *user = getenv("SUDO_USER");

	memset(id, 0, sizeof(*id));
	id->uid = getuid();
	id->gid = getgid();
	copy(id->home, sizeof(id->home), getenv("HOME"));
	if (geteuid() || !uid || !gid || !user)
		return 0;
	if (!parse_id(uid, &id->uid) || !parse_id(gid, &id->gid)) {
		id->uid = getuid();
		id->gid = getgid();
		if (as_root)
			return 0;
		error_set(e, ERROR_USAGE, "SUDO_UID=\"%s\", SUDO_GID=\"%s\": not a person", uid, gid);
		error_hint(e, "--as-root runs the command as root");
		return ERROR_USAGE;
	}
	if (!id->uid || as_root)
		return 0;
	id->change = true;
	lookup_person(id, user);
	return 0;
}

int workload_signals(struct workload *w, struct error *e)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, plain = { .sa_handler = SIG_DFL };
	sigset_t set;

	memset(w, 0, sizeof(*w));
	w->pidfd = w->signal_fd = w->cork_fd = w->error_fd = -1;
	w->initialised = true;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, &w->mask);
	/* A write that fails is to say so, not to kill; an ignored SIGCHLD would lose the status. */
	sigaction(SIGPIPE, &ignore, &w->old_pipe);
	sigaction(SIGXFSZ, &ignore, &w->old_xfsz);
	sigaction(SIGCHLD, &plain, &w->old_child);
	w->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signal_fd < 0 ? error_system(e, "cannot open a signalfd") : 0;
}

static void report(int fd, int stage, int error)
{
	struct report r = { stage, error };

	/* Nobody is left to tell when this fails. */
	if (write(fd, &r, sizeof(r)) != sizeof(r))
		_exit(EXIT_NOT_STARTED);
}

static int take_identity(const struct workload_identity *id)
{
	if (!id->change)
		return 0;
	return setgroups(id->ngroups, id->groups) || setresgid(id->gid, id->gid, id->gid) ||
	       setresuid(id->uid, id->uid, id->uid) ? -1 : 0;
}

/*
 * execvp(3) says EACCES also when only a directory of PATH was closed to us; a shell says "not
 * found" then.
 */
static int exec_error(const char *command, int error)
{
	const char *list = getenv("PATH"), *end;
	char path[PATH_MAX];

	if (error != EACCES || !list || strchr(command, '/'))
		return error;
	for (;; list = end + 1) {
		end = strchrnul(list, ':');
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)(end - list), list, command) <
			    (int)sizeof(path) &&
		    !access(path, F_OK))
			return EACCES;
		if (!*end)
			return ENOENT;
	}
}

/* In the child. */
static void __attribute__((noreturn)) wait_and_exec(const struct workload *w,
						     const struct launch *l)
{
	ssize_t n;
	char go;

	do {
		n = read(l->cork_fd, &go, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(EXIT_NOT_STARTED);
	report(l->error_fd, STAGE_GO, 0);
	if (take_identity(l->id)) {
		report(l->error_fd, STAGE_IDENTITY, errno);
		_exit(EXIT_NOT_STARTED);
	}
	sigaction(SIGPIPE, &w->old_pipe, NULL);
	sigaction(SIGXFSZ, &w->old_xfsz, NULL);
	sigaction(SIGCHLD, &w->old_child, NULL);
	sigprocmask(SIG_SETMASK, &w->mask, NULL);
	execvpe(l->argv[0], l->argv, l->environment);
	report(l->error_fd, STAGE_EXEC, exec_error(l->argv[0], errno));
	_exit(EXIT_NOT_STARTED);
}

static bool is_variable(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(entry, name, length) && entry[length] == '=';
}

/* Let text ("name=value") take the place of that variable in the environment. */
static void environment_put(char **environment, char *text, const char *name, const char *value)
{
	size_t i = 0;

	if (!*value)
		return;
	sprintf(text, "%s=%s", name, value);
	while (environment[i] && !is_variable(environment[i], name))
		i++;
	environment[i] = text;
}

/* A copy of the environment as the person has it; its strings are shared. */
static int environment_make(struct launch *l)
{
	const struct workload_identity *id = l->id;
	size_t count = 0;

	while (environ[count])
		count++;
	l->environment = calloc(count + 5, sizeof(*l->environment));
	if (!l->environment)
		return ERROR_MEMORY;
	memcpy(l->environment, environ, count * sizeof(*l->environment));
	if (!id->change)
		return 0;
	environment_put(l->environment, l->variables[0], "HOME", id->home);
	environment_put(l->environment, l->variables[1], "USER", id->user);
	environment_put(l->environment, l->variables[2], "LOGNAME", id->user);
	environment_put(l->environment, l->variables[3], "SHELL", id->shell);
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int fork_child(struct workload *w, struct launch *l, struct error *e)
{
	w->pid = fork();
	if (w->pid < 0) {
		w->pid = 0;
		return error_system(e, "cannot fork");
	}
	if (!w->pid) {
		close(w->cork_fd);
		close(w->error_fd);
		wait_and_exec(w, l);
	}
	w->pidfd = syscall(SYS_pidfd_open, w->pid, 0);
	return w->pidfd < 0 ? error_system(e, "pidfd_open failed") : 0;
}

int workload_fork(struct workload *w, char *const argv[], const struct workload_identity *id,
		  struct error *e)
{
	struct launch l = { .argv = argv, .id = id, .cork_fd = -1, .error_fd = -1 };
	int cork[2] = { -1, -1 }, errors[2] = { -1, -1 }, rc;

	if (environment_make(&l))
		return error_set(e, ERROR_MEMORY, "out of memory");
	w->command = argv[0];
	if (pipe2(cork, O_CLOEXEC) || pipe2(errors, O_CLOEXEC)) {
		rc = error_system(e, "cannot make a pipe");
		close_fd(&cork[1]);
		goto out;
	}
	l.cork_fd = cork[0];
	l.error_fd = errors[1];
	w->cork_fd = cork[1];
	w->error_fd = errors[0];
	rc = fork_child(w, &l, e);
out:
	close_fd(&cork[0]);
	close_fd(&errors[1]);
	free(l.environment);
	if (rc)
		workload_release(w);
	return rc;
}

static bool read_report(int fd, struct report *r)
{
	ssize_t n;

	do {
		n = read(fd, r, sizeof(*r));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(*r);
}

static void reap_blocking(struct workload *w)
{
	if (!w->pid || w->reaped)
		return;
	while (wait4(w->pid, &w->wait_status, 0, &w->usage) < 0 && errno == EINTR)
		;
	w->reaped = true;
}

static int not_started(const struct workload *w, const struct report *r, int *exit_status,
		       struct error *e)
{
	*exit_status = EXIT_NOT_STARTED;
	errno = r->error;
	if (r->stage == STAGE_IDENTITY) {
		error_system(e, "cannot run \"%s\" as the person who typed it", w->command);
		error_hint(e, "--as-root runs it as root");
		return ERROR_SYSTEM;
	}
	if (r->stage != STAGE_EXEC)
		return error_set(e, ERROR_SYSTEM, "interrupted before \"%s\" was started", w->command);
	*exit_status = r->error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	return error_system(e, "cannot execute \"%s\"", w->command);
}

int workload_uncork(struct workload *w, int *exit_status, struct error *e)
{
	struct report first = { 0 }, second = { 0 };
	int rc = 0;

	workload_forward(w);
	if (!w->interrupts && write(w->cork_fd, "", 1) == 1)
		read_report(w->error_fd, &first);
	close_fd(&w->cork_fd);
	if (first.stage != STAGE_GO)
		rc = not_started(w, &first, exit_status, e);
	else if (read_report(w->error_fd, &second))
		rc = not_started(w, &second, exit_status, e);
	close_fd(&w->error_fd);
	if (rc)
		reap_blocking(w);
	w->uncorked = !rc;
	return rc;
}

/*
 * SIGINT and SIGQUIT typed at the terminal, or sent to the whole process group, have reached the
 * command as well. One sent to the recorder alone has not, which only a count of what was sent to
 * the command can tell.
 */
static bool reached_command(struct workload *w, const struct signalfd_siginfo *info)
{
	unsigned int count;

	if ((info->ssi_signo != SIGINT && info->ssi_signo != SIGQUIT) || getpgid(w->pid) != getpgrp())
		return false;
	if (info->ssi_code == SI_KERNEL || !w->delivered)
		return true;
	usleep(GROUP_US);
	count = w->delivered(w->context);
	if (count == w->delivered_before)
		return false;
	w->delivered_before = count;
	return true;
}

static void forward_one(struct workload *w, const struct signalfd_siginfo *info)
{
	w->interrupts++;
	w->last_signal = info->ssi_signo;
	if (!w->uncorked || w->reaped || reached_command(w, info))
		return;
	syscall(SYS_pidfd_send_signal, w->pidfd, info->ssi_signo, NULL, 0);
	if (w->delivered)
		w->delivered_before = w->delivered(w->context);
}

void workload_forward(struct workload *w)
{
	struct signalfd_siginfo info;

	while (read(w->signal_fd, &info, sizeof(info)) == sizeof(info))
		forward_one(w, &info);
}

int workload_reap(struct workload *w)
{
	if (w->reaped)
		return 1;
	if (wait4(w->pid, &w->wait_status, WNOHANG, &w->usage) != w->pid)
		return 0;
	w->reaped = true;
	return 1;
}

int workload_exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void workload_release(struct workload *w)
{
	if (!w->initialised)
		return;
	close_fd(&w->cork_fd);
	if (w->pid && !w->uncorked)
		reap_blocking(w);
	close_fd(&w->error_fd);
	close_fd(&w->pidfd);
	close_fd(&w->signal_fd);
	w->pid = 0;
}
