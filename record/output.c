// SPDX-License-Identifier: BSD-2-Clause
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

static void forget(struct output *o)
{
	free(o->path);
	free(o->temporary);
	o->path = o->temporary = NULL;
}

static int exists(const char *path, struct error *e)
{
	error_set(e, ERROR_USAGE, "\"%s\" exists already", path);
	error_hint(e, "-f replaces it, -o FILE writes elsewhere");
	return ERROR_USAGE;
}

/* Whether there is something under that name: 1, 0, or an error when it may not be replaced. */
static int occupied(const char *path, struct error *e)
{
	struct stat st;

	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		return error_system(e, "cannot look at \"%s\"", path);
	}
	if (S_ISREG(st.st_mode))
		return 1;
	error_set(e, ERROR_USAGE, "\"%s\" is not a regular file", path);
	error_hint(e, "only a regular file is replaced; -o FILE writes elsewhere");
	return ERROR_USAGE;
}

static int remember(struct output *o, const char *path, uid_t uid, gid_t gid, struct error *e)
{
	struct stat st;

	if (fstat(o->fd, &st) || fchmod(o->fd, 0600))
		return error_system(e, "cannot set the mode of \"%s\"", path);
	o->dev = st.st_dev;
	o->ino = st.st_ino;
	if ((st.st_uid != uid || st.st_gid != gid) && fchown(o->fd, uid, gid))
		return error_system(e, "cannot give \"%s\" to user %u", path, (unsigned int)uid);
	return 0;
}

/* The names; the temporary one only where there is a file to replace. */
static int name(struct output *o, const char *path, bool force, struct error *e)
{
	int rc = force ? occupied(path, e) : 0;

	if (rc < 0)
		return rc;
	if (rc && asprintf(&o->temporary, "%s.%d.new", path, getpid()) < 0)
		o->temporary = NULL;
	o->path = strdup(path);
	if (o->path && !rc == !o->temporary)
		return 0;
	return error_set(e, ERROR_MEMORY, "out of memory");
}

int output_open(struct output *o, const char *path, bool force, uid_t uid, gid_t gid,
		struct error *e)
{
	const char *first;
	int rc;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	rc = name(o, path, force, e);
	if (rc) {
		forget(o);
		return rc;
	}
	first = o->temporary ? o->temporary : path;
	o->fd = open(first, FLAGS, 0600);
	if (o->fd < 0) {
		rc = errno == EEXIST ? exists(first, e) : error_system(e, "cannot create \"%s\"", first);
		forget(o);
		return rc;
	}
	rc = remember(o, path, uid, gid, e);
	if (rc) {
		output_discard(o);
		output_release(o);
	}
	return rc;
}

int output_detach(struct output *o)
{
	int fd = o->fd;

	o->fd = -1;
	return fd;
}

int output_commit(struct output *o, struct error *e)
{
	if (!o->temporary)
		return 0;
	/* rename(2) puts it in the place of a symbolic link, not behind it. */
	if (rename(o->temporary, o->path))
		return error_system(e, "cannot rename \"%s\" to \"%s\"", o->temporary, o->path);
	free(o->temporary);
	o->temporary = NULL;
	return 0;
}

void output_discard(struct output *o)
{
	const char *path = o->temporary ? o->temporary : o->path;
	struct stat st;

	if (path && !lstat(path, &st) && st.st_dev == o->dev && st.st_ino == o->ino)
		unlink(path);
	forget(o);
}

void output_release(struct output *o)
{
	output_commit(o, NULL);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	forget(o);
}
