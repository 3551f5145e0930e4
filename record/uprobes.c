// SPDX-License-Identifier: BSD-2-Clause
#include "uprobes.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MULTI_RETURN 1	/* BPF_F_UPROBE_MULTI_RETURN */

/* The part of union bpf_attr that BPF_LINK_CREATE uses here; Debian 12's header predates it. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};

static int link_create(enum uprobes_kind kind, struct bpf_program *program, const char *path,
		       const unsigned long *offsets, const uint64_t *cookies, size_t count, bool ret)
{
	struct multi_attr attr = {
		.prog_fd = bpf_program__fd(program), .attach_type = kind,
		.path = (uintptr_t)path, .offsets = (uintptr_t)offsets, .cookies = (uintptr_t)cookies,
		.count = count, .multi_flags = ret ? MULTI_RETURN : 0,
	};

	return syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

/* Room for two more entries. */
static int grow(void *array, size_t count, size_t size)
{
	void **p = array;
	void *bigger = reallocarray(*p, count + 2, size);

	if (!bigger)
		return -1;
	*p = bigger;
	return 0;
}

static int session_link(struct uprobes *u, const char *path, const unsigned long *offsets, const uint64_t *cookies,
			size_t count)
{
	int fd = link_create(UPROBES_SESSION, u->session, path, offsets, cookies, count, false);

	if (fd >= 0)
		u->fds[u->nfds++] = fd;
	return fd < 0 ? -1 : 0;
}

/*
 * Returns before entries: a call in between is a return without an entry, which is filtered; the
 * other way round it would be a call that never returns.
 */
static int multi_links(struct uprobes *u, const char *path, const unsigned long *offsets, const uint64_t *cookies,
		      size_t count)
{
	int ret, entry;

	ret = link_create(UPROBES_MULTI, u->ret, path, offsets, cookies, count, true);
	if (ret < 0)
		return -1;
	entry = link_create(UPROBES_MULTI, u->entry, path, offsets, cookies, count, false);
	if (entry < 0) {
		int saved = errno;

		close(ret);
		errno = saved;
		return -1;
	}
	u->fds[u->nfds++] = ret;
	u->fds[u->nfds++] = entry;
	return 0;
}

static int event_pair(struct uprobes *u, const char *path, unsigned long offset, uint64_t cookie)
{
	struct bpf_link *ret, *entry;
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie);

	if (grow(&u->links, u->nlinks, sizeof(*u->links))) {
		errno = ENOMEM;
		return -1;
	}
	options.retprobe = true;
	ret = bpf_program__attach_uprobe_opts(u->ret, -1, path, offset, &options);
	if (!ret)
		return -1;
	options.retprobe = false;
	entry = bpf_program__attach_uprobe_opts(u->entry, -1, path, offset, &options);
	if (!entry) {
		int saved = errno;

		bpf_link__destroy(ret);
		errno = saved;
		return -1;
	}
	u->links[u->nlinks++] = ret;
	u->links[u->nlinks++] = entry;
	return 0;
}

/* All of one file at once, or one symbol. */
static int attach(struct uprobes *u, const char *path, const unsigned long *offsets, const uint64_t *cookies,
		  size_t count)
{
	if (u->kind == UPROBES_EVENTS)
		return event_pair(u, path, *offsets, *cookies);
	if (grow(&u->fds, u->nfds, sizeof(*u->fds))) {
		errno = ENOMEM;
		return -1;
	}
	return u->kind == UPROBES_SESSION ? session_link(u, path, offsets, cookies, count) :
					    multi_links(u, path, offsets, cookies, count);
}

int uprobes_attach(struct uprobes *u, const char *path, const unsigned long *offsets, const uint64_t *cookies,
		   size_t count, int *refused, struct error *e)
{
	size_t attached = 0;
	int first = 0;

	if (refused)
		memset(refused, 0, count * sizeof(*refused));
	if (u->kind != UPROBES_EVENTS && !attach(u, path, offsets, cookies, count))
		return 0;
	/* One bad offset spoils a link: find out which. */
	for (size_t i = 0; i < count; i++) {
		int err = attach(u, path, &offsets[i], &cookies[i], 1);

		attached += !err;
		if (!err)
			continue;
		first = first ? first : errno;
		if (refused)
			refused[i] = errno;
	}
	if (attached)
		return 0;
	errno = first;
	return error_system(e, "no probe could be attached to \"%s\"", path);
}

void uprobes_release(struct uprobes *u)
{
	for (size_t i = 0; i < u->nfds; i++)
		close(u->fds[i]);
	for (size_t i = 0; i < u->nlinks; i++)
		bpf_link__destroy(u->links[i]);
	free(u->fds);
	free(u->links);
	u->fds = NULL;
	u->links = NULL;
	u->nfds = 0;
	u->nlinks = 0;
}
