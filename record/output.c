// SPDX-License-Identifier: BSD-2-Clause
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

static int exists(const char *path, struct error *e)
{
	error_set(e, ERROR_USAGE, "\"%s\" exists already", path);
	error_hint(e, "-f replaces it, -o FILE writes elsewhere");
	return ERROR_USAGE;
}

/* Remove what is there, if it may be. */
static int make_room(const char *path, struct error *e)
{
	struct stat st;

	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		return error_system(e, "cannot look at \"%s\"", path);
	}
	if (!S_ISREG(st.st_mode)) {
		error_set(e, ERROR_USAGE, "\"%s\" is not a regular file", path);
		error_hint(e, "only a regular file is replaced; -o FILE writes elsewhere");
		return ERROR_USAGE;
	}
	if (unlink(path) && errno != ENOENT)
		return error_system(e, "cannot replace \"%s\"", path);
	return 0;
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

int output_open(struct output *o, const char *path, bool force, uid_t uid, gid_t gid,
		struct error *e)
{
	int rc;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	rc = force ? make_room(path, e) : 0;
	if (rc)
		return rc;
	o->fd = open(path, FLAGS, 0600);
	if (o->fd < 0)
		return errno == EEXIST ? exists(path, e) :
					 error_system(e, "cannot create \"%s\"", path);
	o->path = strdup(path);
	rc = o->path ? remember(o, path, uid, gid, e) : error_set(e, ERROR_MEMORY, "out of memory");
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

void output_discard(struct output *o)
{
	struct stat st;

	if (o->path && !lstat(o->path, &st) && st.st_dev == o->dev && st.st_ino == o->ino)
		unlink(o->path);
}

void output_release(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	o->path = NULL;
	o->fd = -1;
}
