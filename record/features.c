// SPDX-License-Identifier: BSD-2-Clause
#include "features.h"
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

static bool btf_has(const struct btf *btf, const char *name, unsigned int kind)
{
	return btf__find_by_name_kind(btf, name, kind) >= 0;
}

/* Whether an enum of the kernel has that value. */
static bool enum_has(const struct btf *btf, const char *tag, const char *name)
{
	int id = btf__find_by_name_kind(btf, tag, BTF_KIND_ENUM);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, id);

	for (unsigned int i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(type)[i].name_off), name))
			return true;
	return false;
}

/* Number of arguments of a tracepoint, its own first one left out; 0 when it is not there. */
static unsigned int tracepoint_arguments(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, id);

	if (type)
		type = btf__type_by_id(btf, type->type);
	if (type && btf_is_ptr(type))
		type = btf__type_by_id(btf, type->type);
	return type && btf_is_func_proto(type) && btf_vlen(type) ? btf_vlen(type) - 1u : 0;
}

/* Offset of a per-CPU variable from the start of its section, or -1. */
static int64_t percpu_offset(const struct btf *btf, const char *name)
{
	int section = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	int variable = btf__find_by_name_kind(btf, name, BTF_KIND_VAR);
	const struct btf_type *type = section < 0 ? NULL : btf__type_by_id(btf, section);
	const struct btf_var_secinfo *info = type ? btf_var_secinfos(type) : NULL;

	for (unsigned int i = 0; info && variable >= 0 && i < btf_vlen(type); i++)
		if (info[i].type == (unsigned int)variable)
			return info[i].offset;
	return -1;
}

/* Offset of a 4-byte member of a struct, or -1. Only the top level and anonymous members are searched. */
static int64_t member_offset(const struct btf *btf, int id, const char *name)
{
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, id);

	if (!type || !btf_is_composite(type))
		return -1;
	for (unsigned int i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i;
		const char *own = btf__name_by_offset(btf, member->name_off);
		int64_t inner = *own ? -1 : member_offset(btf, member->type, name);

		if (!strcmp(own, name))
			return btf_member_bit_offset(type, i) / 8;
		if (inner >= 0)
			return btf_member_bit_offset(type, i) / 8 + inner;
	}
	return -1;
}

/* See preempt_count() in bpf/compat.bpf.h. */
static int64_t preempt_count_distance(const struct btf *btf)
{
	int64_t runqueues = percpu_offset(btf, "runqueues");
	int64_t count = percpu_offset(btf, "__preempt_count");
	int64_t hot = percpu_offset(btf, "pcpu_hot");
	int64_t member = member_offset(
		btf, btf__find_by_name_kind(btf, "pcpu_hot", BTF_KIND_STRUCT), "preempt_count");

	if (count < 0 && hot >= 0 && member >= 0)
		count = hot + member;
	return runqueues >= 0 && count >= 0 ? count - runqueues : 0;
}

static bool has_member(const struct btf *btf, const char *name, const char *member)
{
	return member_offset(btf, btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT), member) >= 0;
}

static enum uprobes_kind uprobes_best(const struct btf *btf)
{
	if (!btf_has(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT))
		return UPROBES_EVENTS;
	if (btf_has(btf, "bpf_session_is_return", BTF_KIND_FUNC) &&
	    enum_has(btf, "bpf_attach_type", "BPF_TRACE_UPROBE_SESSION"))
		return UPROBES_SESSION;
	return UPROBES_MULTI;
}

int features_read(struct features *f, struct error *e)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf) {
		error_set(e, ERROR_UNSUPPORTED,
			  "this kernel has no BTF: \"/sys/kernel/btf/vmlinux\" cannot be read");
		return error_hint(e, "a kernel with CONFIG_DEBUG_INFO_BTF=y is needed; in a container, mount /sys");
	}
	*f = (struct features){
		.btf = btf,
		.task_storage = btf_has(btf, "bpf_task_storage_get_recur", BTF_KIND_FUNC),
		.switch_has_prev_state = tracepoint_arguments(btf, "btf_trace_sched_switch") > 3,
		.percpu_lookup = enum_has(btf, "bpf_func_id", "BPF_FUNC_map_lookup_percpu_elem"),
		.rdonly_cast = btf_has(btf, "bpf_rdonly_cast", BTF_KIND_FUNC),
		.task_pt_regs = enum_has(btf, "bpf_func_id", "BPF_FUNC_task_pt_regs"),
		.throttling = has_member(btf, "task_struct", "throttled") ||
			      (has_member(btf, "cfs_rq", "throttle_count") &&
			       has_member(btf, "sched_entity", "cfs_rq")),
		.preempt_count_distance = preempt_count_distance(btf),
		.uprobes = uprobes_best(btf),
	};
	return 0;
}

bool features_tracepoint(const struct features *f, const char *name)
{
	char text[96];

	snprintf(text, sizeof(text), "btf_trace_%s", name);
	return btf_has(f->btf, text, BTF_KIND_TYPEDEF);
}

void features_release(struct features *f)
{
	btf__free(f->btf);
	f->btf = NULL;
}
