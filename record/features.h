/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_FEATURES_H
#define INGERO_FEATURES_H
/*
 * What this kernel has, looked up in its own description of its types (BTF); no version is
 * compared. What each is for stands in bpf/compat.bpf.h and bpf/state.bpf.h.
 */
#include <stdbool.h>
#include <stdint.h>
#include "../common/error.h"
#include "uprobes.h"

struct btf;

struct features {
	struct btf *btf;
	bool task_storage;		/* one that a program may look into while another one does */
	bool switch_has_prev_state;
	bool percpu_lookup, task_pt_regs, rdonly_cast;
	bool throttling;		/* one of the two ways to tell that a thread is throttled */
	int64_t preempt_count_distance;	/* 0 where it cannot be told */
	enum uprobes_kind uprobes;
};

/* ERROR_UNSUPPORTED where the kernel has no BTF. */
int features_read(struct features *f, struct error *e);
bool features_tracepoint(const struct features *f, const char *name);
void features_release(struct features *f);
#endif
