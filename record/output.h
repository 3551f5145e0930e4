/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_OUTPUT_H
#define INGERO_OUTPUT_H
/*
 * The output file, opened as root in places others may write to: created with O_EXCL and mode
 * 0600, never through a symbolic link, never over an existing file unless forced, and then only
 * over a regular one. A file to be replaced keeps its name until output_commit(), so that a start
 * that fails costs nothing; the new one is called NAME.PID.new until then. It belongs to the given
 * user.
 */
#include <stdbool.h>
#include <sys/types.h>
#include "../common/error.h"

struct output {
	int fd;
	char *path;
	char *temporary;	/* its name until committed, or NULL */
	dev_t dev;
	ino_t ino;
};

/*
 * Initialises o. ERROR_USAGE with a hint when the file exists (without force) or is not regular;
 * else ERROR_SYSTEM.
 */
int output_open(struct output *o, const char *path, bool force, uid_t uid, gid_t gid,
		struct error *e);
/* Hand the descriptor over to the caller; o keeps the name for output_discard(). */
int output_detach(struct output *o);
/* The command runs: let the file have its name, if it does not have it yet. */
int output_commit(struct output *o, struct error *e);
/* A start that failed: remove the file, if the name still leads to the one that was created. */
void output_discard(struct output *o);
/*
 * Commit what was neither committed nor discarded, and free; closes the descriptor if it was not
 * detached. Twice is fine, and so is an o that was never opened but has fd -1.
 */
void output_release(struct output *o);
#endif
