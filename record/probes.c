// SPDX-License-Identifier: BSD-2-Clause
#include "probes.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../bpf/argument.h"
#include "affinity.h"
#include "cuda_api.h"
#include "features.h"
#include "sources.h"

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
	unsigned int lacks;
};

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (getenv("INGERO_DEBUG_BPF"))
		return vfprintf(stderr, format, arguments);
	(void)level;
	return 0;
}

static void specs_fill(struct symbol_spec *specs)
{
	for (unsigned int i = 0; i < cuda_symbol_count; i++) {
		specs[i].bytes = cuda_symbols[i].bytes;
		specs[i].kind = cuda_symbols[i].kind;
		specs[i].stream = cuda_symbols[i].stream;
	}
}

static void uprobes_choose(struct probes *p, enum uprobes_kind kind)
{
	struct ingero *skel = p->skel;

	p->uprobes.kind = kind;
	bpf_program__set_autoload(skel->progs.call_session, kind == UPROBES_SESSION);
	bpf_program__set_autoload(skel->progs.call_entry, kind != UPROBES_SESSION);
	bpf_program__set_autoload(skel->progs.call_return, kind != UPROBES_SESSION);
	bpf_program__set_expected_attach_type(skel->progs.call_session, (enum bpf_attach_type)kind);
	bpf_program__set_expected_attach_type(skel->progs.call_entry, (enum bpf_attach_type)kind);
	bpf_program__set_expected_attach_type(skel->progs.call_return, (enum bpf_attach_type)kind);
}

struct attachment {
	struct bpf_program *program;
	struct bpf_link **link;
	const char *tracepoint;
	unsigned int source;		/* enum wire_source, or 0 */
	unsigned int set;		/* enum sources: what it is for; 0: no recording without it */
};

#define ATTACHMENTS 22

/* In order: process life first, so that no task is born without storage; switches last. */
static void attachments(struct probes *p, struct attachment all[ATTACHMENTS])
{
	struct ingero *s = p->skel;
#define ATTACH(name, tracepoint, ...) \
	{ s->progs.handle_##name, &s->links.handle_##name, tracepoint, __VA_ARGS__ }
#define INTERRUPT WIRE_SOURCE_INTERRUPT, SOURCES_INTERRUPTS
#define RECLAIM WIRE_SOURCE_RECLAIM, SOURCES_RECLAIM
	const struct attachment rows[ATTACHMENTS] = {
		ATTACH(newtask, "task_newtask", WIRE_SOURCE_FORK, 0),
		ATTACH(exec, "sched_process_exec", WIRE_SOURCE_EXEC, 0),
		ATTACH(exit, "sched_process_exit", WIRE_SOURCE_EXIT, 0),
		ATTACH(rename, "task_rename", WIRE_SOURCE_RENAME, 0),
		ATTACH(signal, "signal_generate", 0, 0),
		ATTACH(softirq, "softirq_entry", INTERRUPT),
		ATTACH(irq_entry, "irq_handler_entry", INTERRUPT),
		ATTACH(irq_exit, "irq_handler_exit", INTERRUPT),
		ATTACH(timer_entry, "hrtimer_expire_entry", INTERRUPT),
		ATTACH(timer_exit, "hrtimer_expire_exit", INTERRUPT),
		ATTACH(reclaim_begin, "mm_vmscan_direct_reclaim_begin", RECLAIM),
		ATTACH(reclaim_end, "mm_vmscan_direct_reclaim_end", RECLAIM),
		ATTACH(memcg_reclaim_begin, "mm_vmscan_memcg_reclaim_begin", RECLAIM),
		ATTACH(memcg_reclaim_end, "mm_vmscan_memcg_reclaim_end", RECLAIM),
		ATTACH(waking, "sched_waking", WIRE_SOURCE_WAKING, 0),
		ATTACH(waking_old, "sched_waking", WIRE_SOURCE_WAKING, 0),
		ATTACH(wakeup, "sched_wakeup", WIRE_SOURCE_WAKEUP, 0),
		ATTACH(wakeup_new, "sched_wakeup_new", WIRE_SOURCE_WAKEUP_NEW, 0),
		ATTACH(migrate, "sched_migrate_task", WIRE_SOURCE_MIGRATE, 0),
		ATTACH(page_alloc, "mm_page_alloc", WIRE_SOURCE_PAGE_ALLOC, 0),
		ATTACH(switch, "sched_switch", WIRE_SOURCE_SWITCH, 0),
		ATTACH(switch_old, "sched_switch", WIRE_SOURCE_SWITCH, 0),
	};
#undef ATTACH
#undef INTERRUPT
#undef RECLAIM

	memcpy(all, rows, sizeof(rows));
}

/* What is switched off or not there is not loaded, and left out of the programs that are. */
static void sources_choose(struct probes *p, const struct features *f)
{
	struct ingero *skel = p->skel;
	struct attachment all[ATTACHMENTS];
	unsigned int off = p->config.without;

	attachments(p, all);
	for (size_t i = 0; i < ATTACHMENTS; i++) {
		if (!all[i].set || features_tracepoint(f, all[i].tracepoint))
			continue;
		p->lacks |= all[i].set;
	}
	if (!f->task_pt_regs)
		p->lacks |= SOURCES_SYSCALLS;
	if (!f->throttling)
		p->lacks |= SOURCES_THROTTLING;
	off |= p->lacks;
	p->lacks &= ~p->config.without;
	for (size_t i = 0; i < ATTACHMENTS; i++)
		if (off & all[i].set)
			bpf_program__set_autoload(all[i].program, false);
	skel->rodata->with_syscalls = !(off & SOURCES_SYSCALLS);
	skel->rodata->with_throttling = !(off & SOURCES_THROTTLING);
	skel->rodata->with_faults = !(off & SOURCES_FAULTS);
	skel->rodata->affinity_words = off & SOURCES_AFFINITY ? 0 : (p->ncpus + 63) / 64;
}

/* Choose among what this kernel has. */
static int features_choose(struct probes *p, struct error *e)
{
	struct ingero *skel = p->skel;
	struct features f;
	int err = features_read(&f, e);

	if (err)
		return err;
	skel->rodata->use_task_storage = f.task_storage;
	bpf_map__set_autocreate(skel->maps.threads, f.task_storage);
	bpf_map__set_autocreate(skel->maps.call_stacks, f.task_storage);
	if (!f.task_storage)	/* where every switch looks into it, it does not allocate */
		bpf_map__set_map_flags(skel->maps.threads_by_tid, 0);
	bpf_map__set_autocreate(skel->maps.call_stacks_by_tid, !f.task_storage);
	skel->rodata->switch_has_prev_state = f.switch_has_prev_state;
	skel->rodata->preempt_count_distance = f.preempt_count_distance;
	skel->rodata->has_percpu_lookup = f.percpu_lookup;
	skel->rodata->keep_args = p->config.keep_args;
	bpf_program__set_autoload(skel->progs.handle_switch, f.rdonly_cast);
	bpf_program__set_autoload(skel->progs.handle_waking, f.rdonly_cast);
	bpf_program__set_autoload(skel->progs.handle_switch_old, !f.rdonly_cast);
	bpf_program__set_autoload(skel->progs.handle_waking_old, !f.rdonly_cast);
	uprobes_choose(p, f.uprobes);
	sources_choose(p, &f);
	features_release(&f);
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
 * Size of a CPU's rings. Virtual machines may announce hundreds of CPUs that never come: these get
 * the smallest. One that does come is counted in full, and loses what does not fit.
 */
static uint64_t ring_size(const struct probes *p, const uint64_t online[AFFINITY_WORDS],
			  unsigned int cpu)
{
	bool there = cpu >= 64 * AFFINITY_WORDS || online[cpu / 64] >> cpu % 64 & 1;

	return there ? p->config.buffer : (uint64_t)sysconf(_SC_PAGESIZE);
}

static int rings_open(struct probes *p, struct error *e)
{
	int switches = bpf_map__fd(p->skel->maps.switch_rings);
	int calls = bpf_map__fd(p->skel->maps.call_rings);
	uint64_t online[AFFINITY_WORDS];

	affinity_online(online);
	for (unsigned int i = 0; i < p->ncpus; i++) {
		struct ring_cpu *cpu = &p->cpus[i];
		uint64_t size = ring_size(p, online, i);

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

int probes_attach(struct probes *p, struct error *e)
{
	struct attachment all[ATTACHMENTS];

	attachments(p, all);
	for (size_t i = 0; i < ATTACHMENTS; i++) {
		if (!bpf_program__autoload(all[i].program))
			continue;
		*all[i].link = bpf_program__attach(all[i].program);
		if (!*all[i].link && !all[i].set)
			return error_system(e, "tracepoint \"%s\" cannot be attached", all[i].tracepoint);
		if (!*all[i].link)
			p->lacks |= all[i].set;
	}
	return 0;
}

unsigned int probes_lacks(const struct probes *p)
{
	return p->lacks;
}

/* Size of the record at the start of so many bytes; 0 when they do not tell. */
static size_t record_size(const struct wire_header *record, size_t have)
{
	const struct wire_affinity *affinity = (const void *)record;

	switch (record->kind) {
	case WIRE_TASK:
		return sizeof(struct wire_task);
	case WIRE_STATE:
		return sizeof(struct wire_state);
	case WIRE_OPEN_CALL:
		return sizeof(struct wire_open_call);
	case WIRE_AFFINITY:
		if (have < sizeof(*affinity))
			return 0;
		return sizeof(*affinity) + affinity->words * sizeof(affinity->mask[0]);
	}
	return 0;
}

/* Run an iterator program to its end and hand its records to the sink. */
static int iterate(struct probes *p, struct bpf_program *program, struct bpf_link **link, struct error *e)
{
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
			size_t size = record_size(record, have - at);

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
	struct attachment all[ATTACHMENTS];

	attachments(p, all);
	uprobes_release(&p->uprobes);
	for (size_t i = ATTACHMENTS; i-- > 0;) {
		bpf_link__destroy(*all[i].link);
		*all[i].link = NULL;
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
	/* Those at interrupts do nothing that can fail. */
	for (unsigned int cpu = 0; cpu < p->ncpus; cpu++) {
		struct wire_counter *counter = &by_cpu[cpu].counter[WIRE_SOURCE_INTERRUPT];

		counter->entries = by_cpu[cpu].softirq_runs + by_cpu[cpu].hardirq_runs;
		counter->emitted = counter->entries;
	}
	return 0;
}

/* Runs of one program that the kernel skipped, -1 where it does not say. */
static int64_t program_missed(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (bpf_program__fd(program) < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) ||
	    size < offsetof(struct bpf_prog_info, recursion_misses) + sizeof(info.recursion_misses))
		return -1;
	return info.recursion_misses;
}

static int64_t calls_missed(struct probes *p, unsigned int source)
{
	struct ingero *s = p->skel;

	/* One program runs both ways: what it missed is counted once. */
	if (p->uprobes.kind == UPROBES_SESSION)
		return source == WIRE_SOURCE_CALL_ENTRY ? program_missed(s->progs.call_session) : 0;
	return program_missed(source == WIRE_SOURCE_CALL_ENTRY ? s->progs.call_entry :
								 s->progs.call_return);
}

int64_t probes_missed(struct probes *p, unsigned int source)
{
	struct attachment all[ATTACHMENTS];
	int64_t missed, sum = 0;

	if (source == WIRE_SOURCE_CALL_ENTRY || source == WIRE_SOURCE_CALL_RETURN)
		return calls_missed(p, source);
	attachments(p, all);
	for (size_t i = 0; i < ATTACHMENTS; i++) {
		missed = all[i].source == source ? program_missed(all[i].program) : 0;
		if (missed < 0)
			return missed;
		sum += missed;
	}
	return sum;
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
