/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_WORKLOAD_H
#define INGERO_WORKLOAD_H
/*
 * The command being recorded. workload_fork() makes a child that waits, corked, before exec, so
 * that everything can be attached to it first; workload_uncork() lets it exec. The child has the
 * signal mask, dispositions, limits, terminal and standard streams that ingero-record was started
 * with, and none of its descriptors. If the recorder ends while the child is corked, the child
 * exits without exec; afterwards the recorder's death does not touch it.
 *
 * Signals: SIGINT and SIGQUIT are keyboard signals: they reach the command by themselves, as it
 * shares the recorder's process group, and are only counted here (a command that has left the
 * group is sent them). SIGTERM and SIGHUP sent to the recorder are forwarded. The recorder itself
 * survives all four. A signal ignored at start stays ignored in both.
 *
 * Order: workload_signals(), fork, uncork; then poll signal_fd (forward) and pidfd (reap); release.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "../common/error.h"

#define WORKLOAD_GROUPS_MAX 1024

/* Who the command runs as, and who owns the file: the same person but under --as-root. */
struct workload_identity {
	bool change;			/* the command runs as uid, not as ingero-record itself */
	uid_t uid;			/* of the file */
	gid_t gid;
	int ngroups;
	gid_t groups[WORKLOAD_GROUPS_MAX];
	char user[256], home[256], shell[256];	/* "" where not known */
};

/*
 * Under sudo (effective uid 0, SUDO_UID, SUDO_GID and SUDO_USER set, and not root themselves) the
 * person who typed it, else the recorder's own identity. as_root leaves the command with the
 * recorder's. ERROR_USAGE: the SUDO_* variables make no sense, and the command depends on them.
 */
int workload_identify(struct workload_identity *id, bool as_root, struct error *e);

struct workload {
	pid_t pid;			/* 0: there is none */
	int pidfd;			/* readable when the command has ended */
	int signal_fd;			/* readable when a signal arrived */
	/* SIGINT and SIGQUIT sent to the command so far; NULL: cannot be told. Set by the caller. */
	unsigned int (*delivered)(void *context);
	void *context;
	unsigned int delivered_before;	/* private */
	unsigned int interrupts;	/* signals of the four seen so far */
	int last_signal;
	bool uncorked, reaped;
	int wait_status;		/* as wait(2) has it, once reaped */
	struct rusage usage;		/* of the command and its reaped descendants, once reaped */
	const char *command;
	bool initialised;
	int cork_fd, error_fd;		/* private, as are the rest */
	sigset_t mask;
	struct sigaction old_pipe, old_xfsz, old_child;
};

/* Block the four signals, open signal_fd, ignore SIGPIPE and SIGXFSZ. Initialises w. */
int workload_signals(struct workload *w, struct error *e);

/* Fork the corked child for argv. */
int workload_fork(struct workload *w, char *const argv[], const struct workload_identity *id,
		  struct error *e);

/*
 * Let the child exec; returns when it has. On failure the child is gone, e names the command and
 * the reason, and *exit_status is 127 (not found), 126 (found, not executable), or 125 (a signal
 * came first, or the identity could not be taken on).
 */
int workload_uncork(struct workload *w, int *exit_status, struct error *e);

/* Read what signal_fd holds: count, and forward where needed. */
void workload_forward(struct workload *w);

/* Reap without blocking: 1 when the command has ended (wait_status, usage set), 0 not yet. */
int workload_reap(struct workload *w);

/* Exit status for a wait status as a shell gives it: the code, or 128 + signal. */
int workload_exit_status(int wait_status);

/*
 * A child still corked is ended without exec; a running command is left alone. Twice is fine, and
 * so is a zeroed w.
 */
void workload_release(struct workload *w);
#endif
