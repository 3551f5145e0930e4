// SPDX-License-Identifier: BSD-2-Clause
#include "probes.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../bpf/argument.h"
#include "cuda_api.h"

/* The skeleton carries the type of the rodata array by name only. */
struct symbol_spec {
	struct argument_spec bytes, kind, stream;
};

#include "ingero.skel.h"
#include "uprobes.h"

struct ring_cpu {
	struct probes *probes;
	unsigned int cpu;
	int switch_fd, call_fd;
};

struct probes {
	struct ingero *skel;
	struct probes_config config;
	unsigned int ncpus;
	struct ring_cpu *cpus;
	struct ring_buffer *rings;	/* switches and calls of all CPUs */
	struct ring_buffer *life;
	struct ring_cpu life_cpu;
	struct uprobes uprobes;
	struct probes_config rehearsal;	/* the real one, meanwhile */
};

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (getenv("INGERO_DEBUG_BPF"))
		return vfprintf(stderr, format, arguments);
	(void)level;
	return 0;
}

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
	int64_t member = member_offset(btf, btf__find_by_name_kind(btf, "pcpu_hot", BTF_KIND_STRUCT), "preempt_count");

	if (count < 0 && hot >= 0 && member >= 0)
		count = hot + member;
	return runqueues >= 0 && count >= 0 ? count - runqueues : 0;
}

static void specs_fill(struct symbol_spec *specs)
{
	for (unsigned int i = 0; i < cuda_symbol_count; i++) {
		specs[i].bytes = cuda_symbols[i].bytes;
		specs[i].kind = cuda_symbols[i].kind;
		specs[i].stream = cuda_symbols[i].stream;
	}
}

static void uprobes_choose(struct probes *p, const struct btf *btf)
{
	struct ingero *skel = p->skel;
	enum uprobes_kind kind = UPROBES_EVENTS;

	if (btf_has(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT))
		kind = btf_has(btf, "bpf_session_is_return", BTF_KIND_FUNC) && enum_has(btf, "bpf_attach_type", "BPF_TRACE_UPROBE_SESSION") ?
		       UPROBES_SESSION : UPROBES_MULTI;
	p->uprobes.kind = kind;
	bpf_program__set_autoload(skel->progs.call_session, kind == UPROBES_SESSION);
	bpf_program__set_autoload(skel->progs.call_entry, kind != UPROBES_SESSION);
	bpf_program__set_autoload(skel->progs.call_return, kind != UPROBES_SESSION);
	bpf_program__set_expected_attach_type(skel->progs.call_session, (enum bpf_attach_type)kind);
	bpf_program__set_expected_attach_type(skel->progs.call_entry, (enum bpf_attach_type)kind);
	bpf_program__set_expected_attach_type(skel->progs.call_return, (enum bpf_attach_type)kind);
}

/* Choose among what this kernel has; everything is looked up, no version is compared. */
static int features_choose(struct probes *p, struct error *e)
{
	struct ingero *skel = p->skel;
	struct btf *btf = btf__load_vmlinux_btf();
	bool storage;

	if (!btf) {
		error_set(e, ERROR_UNSUPPORTED, "this kernel has no BTF: \"/sys/kernel/btf/vmlinux\" cannot be read");
		return error_hint(e, "a kernel with CONFIG_DEBUG_INFO_BTF=y is needed; in a container, mount /sys");
	}
	storage = btf_has(btf, "bpf_task_storage_get_recur", BTF_KIND_FUNC);
	skel->rodata->use_task_storage = storage;
	bpf_map__set_autocreate(skel->maps.threads, storage);
	bpf_map__set_autocreate(skel->maps.call_stacks, storage);
	if (!storage)	/* where every switch looks into it, it does not allocate */
		bpf_map__set_map_flags(skel->maps.threads_by_tid, 0);
	bpf_map__set_autocreate(skel->maps.call_stacks_by_tid, !storage);
	skel->rodata->switch_has_prev_state = tracepoint_arguments(btf, "btf_trace_sched_switch") > 3;
	skel->rodata->preempt_count_distance = preempt_count_distance(btf);
	skel->rodata->has_percpu_lookup = enum_has(btf, "bpf_func_id", "BPF_FUNC_map_lookup_percpu_elem");
	skel->rodata->keep_args = p->config.keep_args;
	uprobes_choose(p, btf);
	btf__free(btf);
	specs_fill((void *)skel->rodata->symbol_specs);
	return 0;
}

static int ring_make(int outer, unsigned int cpu, uint64_t size)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ingero_ring", 0, 0, size, NULL);
	__u32 key = cpu;

	if (fd >= 0 && bpf_map_update_elem(outer, &key, &fd, BPF_ANY)) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

static int on_record(void *context, void *data, size_t size)
{
	struct ring_cpu *cpu = context;

	cpu->probes->config.sink(cpu->probes->config.context, cpu->cpu, data, size);
	return 0;
}

static int ring_add(struct probes *p, int fd, struct ring_cpu *cpu)
{
	if (p->rings)
		return ring_buffer__add(p->rings, fd, on_record, cpu);
	p->rings = ring_buffer__new(fd, on_record, cpu, NULL);
	return p->rings ? 0 : -1;
}

/*
 * Whether a possible CPU is there. Virtual machines may announce hundreds that never come: these
 * get the smallest ring. One that does come is counted in full, and loses what does not fit.
 */
static bool cpu_online(unsigned int cpu)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	unsigned int first, last;
	bool found = !file;

	while (file && !found && fscanf(file, "%u", &first) == 1) {
		last = first;
		if (fscanf(file, "-%u", &last) != 1)
			last = first;
		found = cpu >= first && cpu <= last;
		if (fgetc(file) != ',')
			break;
	}
	if (file)
		fclose(file);
	return found;
}

static int rings_open(struct probes *p, struct error *e)
{
	int switches = bpf_map__fd(p->skel->maps.switch_rings);
	int calls = bpf_map__fd(p->skel->maps.call_rings);

	for (unsigned int i = 0; i < p->ncpus; i++) {
		struct ring_cpu *cpu = &p->cpus[i];
		uint64_t size = cpu_online(i) ? p->config.buffer : (uint64_t)sysconf(_SC_PAGESIZE);

		cpu->switch_fd = ring_make(switches, i, size);
		cpu->call_fd = ring_make(calls, i, size);
		if (cpu->switch_fd < 0 || cpu->call_fd < 0 || ring_add(p, cpu->switch_fd, cpu) ||
		    ring_add(p, cpu->call_fd, cpu)) {
			int cause = errno;

			error_system(e, "ring buffers of %llu bytes cannot be made",
				     (unsigned long long)p->config.buffer);
			if (cause == ENOMEM || cause == EPERM)
				error_hint(e, "a smaller --buffer may fit");
			else if (cause == EMFILE)
				error_hint(e, "a higher limit of open files is needed: ulimit -n");
			return ERROR_SYSTEM;
		}
	}
	p->life = ring_buffer__new(bpf_map__fd(p->skel->maps.life_ring), on_record, &p->life_cpu, NULL);
	return p->life ? 0 : error_system(e, "the ring buffer of process events cannot be mapped");
}

static int load_failed(int code, struct error *e)
{
	errno = -code;
	if (code == -EPERM || code == -EACCES) {
		error_system(e, "BPF programs cannot be loaded");
		return error_hint(e, "ingero-record needs root (or CAP_BPF and CAP_PERFMON): try sudo");
	}
	error_system(e, "BPF programs cannot be loaded into this kernel");
	return error_hint(e, "INGERO_DEBUG_BPF=1 in the environment shows what the kernel said");
}

int probes_open(struct probes **out, const struct probes_config *config, struct error *e)
{
	struct probes *p = calloc(1, sizeof(*p));
	int ncpus = libbpf_num_possible_cpus();
	int err;

	*out = p;
	if (!p || ncpus <= 0)
		return error_set(e, ERROR_MEMORY, "out of memory");
	libbpf_set_print(quiet);
	p->config = *config;
	p->ncpus = ncpus;
	p->life_cpu.probes = p;
	p->cpus = calloc(p->ncpus, sizeof(*p->cpus));
	p->skel = ingero__open();
	if (!p->cpus || !p->skel)
		return error_set(e, ERROR_MEMORY, "out of memory");
	for (unsigned int i = 0; i < p->ncpus; i++)
		p->cpus[i] = (struct ring_cpu){ .probes = p, .cpu = i, .switch_fd = -1, .call_fd = -1 };
	err = features_choose(p, e);
	if (err)
		return err;
	bpf_map__set_max_entries(p->skel->maps.switch_rings, p->ncpus);
	bpf_map__set_max_entries(p->skel->maps.call_rings, p->ncpus);
	err = ingero__load(p->skel);
	if (err)
		return load_failed(err, e);
	p->uprobes.entry = p->skel->progs.call_entry;
	p->uprobes.ret = p->skel->progs.call_return;
	p->uprobes.session = p->skel->progs.call_session;
	return rings_open(p, e);
}

/* Give the calling thread a call stack, as a thread of the tree gets with its first call; or take it away. */
static int own_call_stack(struct probes *p, bool give)
{
	bool storage = p->skel->rodata->use_task_storage;
	struct bpf_map *map = storage ? p->skel->maps.call_stacks : p->skel->maps.call_stacks_by_tid;
	void *zero = calloc(1, bpf_map__value_size(map));
	int key = storage ? (int)syscall(SYS_pidfd_open, getpid(), 0) : getpid();
	int err = -1;

	if (zero && key >= 0)
		err = give ? bpf_map_update_elem(bpf_map__fd(map), &key, zero, BPF_NOEXIST) :
			     bpf_map_delete_elem(bpf_map__fd(map), &key);
	if (storage && key >= 0)
		close(key);
	free(zero);
	return err;
}

int probes_rehearse(struct probes *p, unsigned long offset, unsigned int symbol, probes_sink sink, void *context,
		    struct error *e)
{
	uint64_t cookie = symbol;

	if (own_call_stack(p, true))
		return error_system(e, "a rehearsal is not possible");
	p->rehearsal = p->config;
	p->config.sink = sink;
	p->config.context = context;
	probes_start(p, 0);
	if (uprobes_attach(&p->uprobes, "/proc/self/exe", &offset, &cookie, 1, NULL, e)) {
		probes_rehearsed(p, NULL);
		return ERROR_SYSTEM;
	}
	return 0;
}

int probes_rehearsed(struct probes *p, struct error *e)
{
	struct wire_cpu *zero = calloc(p->ncpus, sizeof(*zero));
	__u32 key = 0;
	int err;

	probes_start(p, UINT64_MAX);
	uprobes_release(&p->uprobes);
	own_call_stack(p, false);
	err = probes_drain(p, e);
	p->config = p->rehearsal;
	if (!err && (!zero || bpf_map_update_elem(bpf_map__fd(p->skel->maps.cpu_data), &key, zero, BPF_ANY)))
		err = error_system(e, "the programs' counters cannot be reset");
	free(zero);
	return err;
}

struct attachment {
	struct bpf_program *program;
	struct bpf_link **link;
	const char *name;
};

int probes_attach(struct probes *p, struct error *e)
{
	struct ingero *s = p->skel;
	/* Process life first, so that no task is born without storage; switches last. */
	struct attachment all[] = {
		{ s->progs.handle_newtask, &s->links.handle_newtask, "task_newtask" },
		{ s->progs.handle_exec, &s->links.handle_exec, "sched_process_exec" },
		{ s->progs.handle_exit, &s->links.handle_exit, "sched_process_exit" },
		{ s->progs.handle_rename, &s->links.handle_rename, "task_rename" },
		{ s->progs.handle_signal, &s->links.handle_signal, "signal_generate" },
		{ s->progs.handle_waking, &s->links.handle_waking, "sched_waking" },
		{ s->progs.handle_wakeup, &s->links.handle_wakeup, "sched_wakeup" },
		{ s->progs.handle_wakeup_new, &s->links.handle_wakeup_new, "sched_wakeup_new" },
		{ s->progs.handle_migrate, &s->links.handle_migrate, "sched_migrate_task" },
		{ s->progs.handle_page_alloc, &s->links.handle_page_alloc, "mm_page_alloc" },
		{ s->progs.handle_switch, &s->links.handle_switch, "sched_switch" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		*all[i].link = bpf_program__attach(all[i].program);
		if (!*all[i].link)
			return error_system(e, "tracepoint \"%s\" cannot be attached", all[i].name);
	}
	return 0;
}

/* Run an iterator program to its end and hand its records to the sink. */
static int iterate(struct probes *p, struct bpf_program *program, struct bpf_link **link, struct error *e)
{
	static const size_t sizes[] = {
		[WIRE_TASK] = sizeof(struct wire_task), [WIRE_STATE] = sizeof(struct wire_state),
		[WIRE_OPEN_CALL] = sizeof(struct wire_open_call),
	};
	_Alignas(8) char buffer[65536];
	size_t have = 0;
	ssize_t n;
	int fd;

	if (!*link)
		*link = bpf_program__attach_iter(program, NULL);
	fd = *link ? bpf_iter_create(bpf_link__fd(*link)) : -1;
	if (fd < 0)
		return error_system(e, "the task iterator cannot be made");
	while ((n = read(fd, buffer + have, sizeof(buffer) - have)) > 0 || (n < 0 && errno == EAGAIN)) {
		size_t at = 0;

		have += n > 0 ? n : 0;
		while (have - at >= sizeof(struct wire_header)) {
			struct wire_header *record = (void *)(buffer + at);
			size_t size = record->kind < sizeof(sizes) / sizeof(sizes[0]) ? sizes[record->kind] : 0;

			if (!size || have - at < size)
				break;
			p->config.sink(p->config.context, 0, record, size);
			at += size;
		}
		memmove(buffer, buffer + at, have - at);
		have -= at;
	}
	if (n < 0)
		error_system(e, "the task iterator failed");
	close(fd);
	return n < 0 ? ERROR_SYSTEM : 0;
}

int probes_snapshot(struct probes *p, pid_t command, struct error *e)
{
	p->skel->bss->command_pid = command;
	return iterate(p, p->skel->progs.snapshot, &p->skel->links.snapshot, e);
}

int probes_keyframe(struct probes *p, uint64_t since, struct error *e)
{
	p->skel->bss->keyframe_ns = since;
	return iterate(p, p->skel->progs.keyframe, &p->skel->links.keyframe, e);
}

int probes_library(struct probes *p, const char *path, const unsigned long *offsets, const uint64_t *cookies,
		   size_t count, int *refused, struct error *e)
{
	return uprobes_attach(&p->uprobes, path, offsets, cookies, count, refused, e);
}

unsigned int probes_command_interrupts(const struct probes *p)
{
	return p->skel->bss->command_interrupts;
}

void probes_start(struct probes *p, uint64_t start)
{
	p->skel->data->start_ns = start;
}

void probes_stop(struct probes *p, uint64_t stop)
{
	p->skel->data->stop_ns = stop;
}

int probes_drain_life(struct probes *p, struct error *e)
{
	int n = ring_buffer__consume(p->life);

	return n < 0 ? error_set(e, ERROR_SYSTEM, "reading a ring buffer failed: %s", strerror(-n)) : 0;
}

int probes_drain(struct probes *p, struct error *e)
{
	int err = probes_drain_life(p, e);
	int n = ring_buffer__consume(p->rings);

	if (n < 0)
		return error_set(e, ERROR_SYSTEM, "reading a ring buffer failed: %s", strerror(-n));
	return err;
}

void probes_detach(struct probes *p)
{
	struct ingero *s = p->skel;
	struct bpf_link **links[] = {
		&s->links.handle_switch, &s->links.handle_page_alloc,
		&s->links.handle_migrate, &s->links.handle_wakeup_new, &s->links.handle_wakeup,
		&s->links.handle_waking, &s->links.handle_rename, &s->links.handle_exit,
		&s->links.handle_exec, &s->links.handle_newtask, &s->links.handle_signal,
	};

	uprobes_release(&p->uprobes);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
}

unsigned int probes_cpus(const struct probes *p)
{
	return p->ncpus;
}

int probes_counters(struct probes *p, struct wire_cpu *by_cpu, struct error *e)
{
	__u32 zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.cpu_data), &zero, by_cpu))
		return error_system(e, "the programs' counters cannot be read");
	return 0;
}

static struct bpf_program *source_program(struct probes *p, unsigned int source)
{
	struct ingero *s = p->skel;
	struct bpf_program *programs[WIRE_SOURCE_LIMIT] = {
		[WIRE_SOURCE_SWITCH] = s->progs.handle_switch, [WIRE_SOURCE_WAKING] = s->progs.handle_waking,
		[WIRE_SOURCE_WAKEUP] = s->progs.handle_wakeup,
		[WIRE_SOURCE_WAKEUP_NEW] = s->progs.handle_wakeup_new,
		[WIRE_SOURCE_MIGRATE] = s->progs.handle_migrate,
		[WIRE_SOURCE_PAGE_ALLOC] = s->progs.handle_page_alloc,
		[WIRE_SOURCE_FORK] = s->progs.handle_newtask, [WIRE_SOURCE_EXEC] = s->progs.handle_exec,
		[WIRE_SOURCE_EXIT] = s->progs.handle_exit, [WIRE_SOURCE_RENAME] = s->progs.handle_rename,
		[WIRE_SOURCE_CALL_ENTRY] = s->progs.call_entry, [WIRE_SOURCE_CALL_RETURN] = s->progs.call_return,
	};
	bool session = p->uprobes.kind == UPROBES_SESSION;

	/* One program runs both ways: what it missed is counted once. */
	if (session && (source == WIRE_SOURCE_CALL_ENTRY || source == WIRE_SOURCE_CALL_RETURN))
		return source == WIRE_SOURCE_CALL_ENTRY ? s->progs.call_session : NULL;

	return source < WIRE_SOURCE_LIMIT ? programs[source] : NULL;
}

int64_t probes_missed(struct probes *p, unsigned int source)
{
	struct bpf_program *program = source_program(p, source);
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (!program || bpf_program__fd(program) < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) ||
	    size < offsetof(struct bpf_prog_info, recursion_misses) + sizeof(info.recursion_misses))
		return -1;
	return info.recursion_misses;
}

int probes_losses(struct probes *p, unsigned int source, unsigned int slot, struct wire_loss *by_cpu)
{
	__u32 key = source * WIRE_LOSS_SECONDS + slot;

	return bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.loss_history), &key, by_cpu) ? ERROR_SYSTEM : 0;
}

bool probes_outside(struct probes *p, bool first, struct wire_outside *key, uint64_t *count)
{
	int fd = bpf_map__fd(p->skel->maps.outside);
	struct wire_outside next;

	if (bpf_map_get_next_key(fd, first ? NULL : key, &next))
		return false;
	*key = next;
	return !bpf_map_lookup_elem(fd, key, count);
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	if (p->skel)
		probes_detach(p);
	ring_buffer__free(p->rings);
	ring_buffer__free(p->life);
	for (unsigned int i = 0; p->cpus && i < p->ncpus; i++) {
		if (p->cpus[i].switch_fd >= 0)
			close(p->cpus[i].switch_fd);
		if (p->cpus[i].call_fd >= 0)
			close(p->cpus[i].call_fd);
	}
	ingero__destroy(p->skel);
	free(p->cpus);
	free(p);
}
