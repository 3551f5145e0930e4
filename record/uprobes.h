/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_UPROBES_H
#define INGERO_UPROBES_H
/*
 * Entry and return probes on many offsets of one file: one session link for both where the kernel
 * has it (6.13), a multi link each way (6.6), else two perf events per symbol. A probe is on the file, for every process
 * that maps it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../common/error.h"

/* Values of expected_attach_type; older headers lack them. */
enum uprobes_kind {
	UPROBES_EVENTS = 0,
	UPROBES_MULTI = 48,		/* BPF_TRACE_UPROBE_MULTI */
	UPROBES_SESSION = 57,		/* BPF_TRACE_UPROBE_SESSION */
};

struct bpf_program;
struct bpf_link;

struct uprobes {
	enum uprobes_kind kind;
	struct bpf_program *entry, *ret, *session;
	int *fds;			/* of session and multi links */
	size_t nfds;
	struct bpf_link **links;	/* of perf events */
	size_t nlinks;
};

/* See probes_library(). */
int uprobes_attach(struct uprobes *u, const char *path, const unsigned long *offsets, const uint64_t *cookies,
		   size_t count, int *refused, struct error *e);
/* Detach all; may be called twice. */
void uprobes_release(struct uprobes *u);
#endif
