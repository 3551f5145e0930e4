// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0)
/*
 * One entry and one return program for every CUDA symbol; the cookie (probe << 32 | symbol) tells
 * them apart. Entry pushes a frame on the thread's own small stack, return pops it. These
 * programs are preemptible: counters are atomic, and records go out finished.
 */
#include "state.bpf.h"
#include "argument.h"

#define SYMBOLS 512

struct symbol_spec {
	struct argument_spec bytes, kind, stream;
};

/* From record/cuda_api.def, by row. */
const volatile struct symbol_spec symbol_specs[SYMBOLS] = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct wire_outside);
	__type(value, __u64);
} outside SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define STACK_POINTER(ctx) ((ctx)->sp)
#define RETURN_POPS 8		/* the return address */
#define REGISTER_ARGUMENTS 6
#define STACK_ARGUMENTS 8	/* from the stack pointer to the first one */
#define RETURN_VALUE(ctx) ((ctx)->ax)
#elif defined(__TARGET_ARCH_arm64)
#define STACK_POINTER(ctx) ((ctx)->user_regs.sp)
#define RETURN_POPS 0
#define REGISTER_ARGUMENTS 8
#define STACK_ARGUMENTS 0
#define RETURN_VALUE(ctx) ((ctx)->user_regs.regs[0])
#endif

/* Integer arguments at entry. A copy, because ctx cannot be indexed by a variable. */
struct arguments {
	__u64 registers[8];
	__u64 stack_pointer;
};

static __always_inline void arguments_copy(struct arguments *a, struct pt_regs *ctx)
{
	a->stack_pointer = STACK_POINTER(ctx);
#if defined(__TARGET_ARCH_x86)
	a->registers[0] = ctx->di;
	a->registers[1] = ctx->si;
	a->registers[2] = ctx->dx;
	a->registers[3] = ctx->cx;
	a->registers[4] = ctx->r8;
	a->registers[5] = ctx->r9;
	a->registers[6] = 0;
	a->registers[7] = 0;
#elif defined(__TARGET_ARCH_arm64)
	for (int i = 0; i < 8; i++)
		a->registers[i] = ctx->user_regs.regs[i];
#endif
}

static __always_inline int argument(const struct arguments *a, __u32 n, __u64 *value)
{
	if (n < REGISTER_ARGUMENTS) {
		*value = a->registers[n & 7];
		return 0;
	}
	return bpf_probe_read_user(value, sizeof(*value),
				   (void *)(a->stack_pointer + STACK_ARGUMENTS + 8 * (n - REGISTER_ARGUMENTS)));
}

static __always_inline int field(__u64 base, __u32 offset, __u32 size, __u64 *value)
{
	*value = 0;
	switch (size) {
	case 1: return bpf_probe_read_user(value, 1, (void *)(base + offset));
	case 2: return bpf_probe_read_user(value, 2, (void *)(base + offset));
	case 4: return bpf_probe_read_user(value, 4, (void *)(base + offset));
	default: return bpf_probe_read_user(value, 8, (void *)(base + offset));
	}
}

/* Product of count fields of the struct at base. */
static __always_inline int field_product(const volatile struct argument_spec *spec, __u64 base, int count, __u64 *value)
{
	__u64 factor, product = 1;
	int i;

	for (i = 0; i < count; i++) {
		if (field(base, spec->offset[i], 8, &factor))
			return -1;
		product *= factor;
	}
	*value = product;
	return 0;
}

/* Everything but a plain argument, out of line to keep the common case short. 0, or -1 when it could not be read. */
static __noinline int argument_special(const struct arguments *arguments, const volatile struct argument_spec *spec, __u64 *value)
{
	__u64 a = 0, b = 0;

	if (!arguments || !spec || !value)
		return -1;
	if (spec->where == ARGUMENT_CONST) {
		*value = spec->constant;
		return 0;
	}
	if (argument(arguments, spec->n, &a))
		return -1;
	switch (spec->where) {
	case ARGUMENT_VALUE:
		*value = a;
		return 0;
	case ARGUMENT_FIELD:
		return field(a, spec->offset[0], spec->size, value);
	case ARGUMENT_PRODUCT:
		if (argument(arguments, spec->n2, &b))
			return -1;
		*value = a * b * spec->constant;
		return 0;
	case ARGUMENT_SCALED:
		*value = a * spec->constant;
		return 0;
	case ARGUMENT_PRODUCT2F:
		return field_product(spec, a, 2, value);
	case ARGUMENT_PRODUCT3:
		return field_product(spec, a, 3, value);
	}
	return -1;
}

/* Flag when the value is there, WIRE_CALL_READ_FAILED when it could not be read, 0 when the call has none. */
static __always_inline __u8 argument_read(const struct arguments *arguments,
					  const volatile struct argument_spec *spec, __u8 flag, __u64 *value)
{
	__u64 v = 0;

	if (spec->where == ARGUMENT_NONE)
		return 0;
	if (spec->where == ARGUMENT_VALUE && spec->n < REGISTER_ARGUMENTS)
		v = arguments->registers[spec->n & 7];
	else if (argument_special(arguments, spec, &v))
		return WIRE_CALL_READ_FAILED;
	*value = spec->size == 4 ? (__u32)v : v;
	return flag;
}

static __always_inline void counter_add(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* A caller outside the tree: only counted, so that its cost can be stated. */
static __always_inline void outside_count(__u32 tgid, __u32 probe)
{
	struct wire_outside key = { tgid, probe };
	__u64 *count, zero = 0;

	if (!probe)
		return;		/* another recorder that rehearses: its program is ours too */
	count = bpf_map_lookup_elem(&outside, &key);
	if (!count) {
		/* Two threads may come first at once: whoever adds the entry, both count in it. */
		bpf_map_update_elem(&outside, &key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&outside, &key);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline struct call_stack *call_stack_create(struct task_struct *task)
{
	static const struct call_stack zero;
	__u32 tid;

	if (use_task_storage)
		return bpf_task_storage_get(&call_stacks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	tid = task->pid;
	bpf_map_update_elem(&call_stacks_by_tid, &tid, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&call_stacks_by_tid, &tid);
}

static __always_inline int call_emit(struct wire_counter *counter, struct wire_call *row)
{
	__u32 index = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&call_rings, &index);

	if (ring && !bpf_ringbuf_output(ring, row, sizeof(*row), BPF_RB_NO_WAKEUP)) {
		counter_add(&counter->emitted);
		return 0;
	}
	counter_add(&counter->lost);
	loss_note(WIRE_SOURCE_CALL_RETURN, WIRE_LOSS_RING_FULL, row->h.ts, 0);
	return -1;
}

static __always_inline void call_fill(struct wire_call *row, const struct frame *frame, const struct wire_cpu *cpu, __u64 now)
{
	__u64 id = bpf_get_current_pid_tgid();

	row->h.kind = WIRE_CALL;
	row->h.tid = id;
	row->h.ts = now;
	row->duration = now - frame->start;
	row->bytes = frame->bytes;
	row->stream = frame->stream;
	row->tgid = id >> 32;
	row->probe = frame->probe;
	row->symbol = frame->symbol;
	row->kind = frame->kind;
	row->flags = frame->flags;
	/* Without a switch in between, what the CPU allocated is the call's. */
	if (frame->cpu == bpf_get_smp_processor_id() && frame->switches == cpu->switches) {
		row->page_events = cpu->page_events_all - frame->page_events;
		row->flags |= WIRE_CALL_PAGES;
	}
}

/*
 * Frames at or below the stack pointer were left without a return (longjmp, a C++ exception).
 * They go out as abandoned.
 */
static __always_inline void frames_abandon(struct call_stack *stack, __u64 stack_pointer, struct wire_cpu *cpu)
{
	struct wire_counter *counter = &cpu->counter[WIRE_SOURCE_CALL_RETURN];
	int i;

	for (i = 0; i < WIRE_DEPTH; i++) {
		struct wire_call row = {};
		__u32 top = stack->depth - 1;

		if (top >= WIRE_DEPTH || stack->frame[top].stack_pointer > stack_pointer)
			return;
		call_fill(&row, &stack->frame[top], cpu, bpf_ktime_get_ns());
		row.depth = top;
		row.flags |= WIRE_CALL_ABANDONED;
		stack->depth = top;
		counter_add(&counter->entries);
		call_emit(counter, &row);
	}
}

/*
 * Whether the function that begins now was jumped to by a probed one as its last act: it will
 * return to the trampoline that the kernel put in the place of the first one's return address.
 */
static __always_inline bool tail_called(struct pt_regs *ctx, struct task_struct *task)
{
	__u64 trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr), caller = 0;

#if defined(__TARGET_ARCH_arm64)
	caller = ctx->user_regs.regs[30];
#else
	bpf_probe_read_user(&caller, sizeof(caller), (void *)STACK_POINTER(ctx));
#endif
	return trampoline && caller == trampoline;
}

static __always_inline void frame_fill(struct pt_regs *ctx, struct frame *frame, const struct wire_cpu *cpu, __u64 cookie)
{
	const volatile struct symbol_spec *spec = &symbol_specs[cookie & (SYMBOLS - 1)];
	struct arguments arguments;
	__u64 kind = 0;

	arguments_copy(&arguments, ctx);
	frame->stack_pointer = STACK_POINTER(ctx);
	frame->probe = cookie >> 32;
	frame->symbol = cookie;
	frame->bytes = 0;
	frame->stream = 0;
	frame->flags = argument_read(&arguments, &spec->bytes, WIRE_CALL_BYTES, &frame->bytes);
	frame->flags |= argument_read(&arguments, &spec->kind, WIRE_CALL_KIND, &kind);
	frame->flags |= argument_read(&arguments, &spec->stream, WIRE_CALL_STREAM, &frame->stream);
	frame->kind = kind;
	frame->cpu = bpf_get_smp_processor_id();
	frame->switches = cpu->switches;
	frame->page_events = cpu->page_events_all;
	frame->start = bpf_ktime_get_ns();
}

/* 0 when a frame was pushed; 1 when the return is of no interest. */
static __always_inline int on_entry(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_stack *stack = call_stack_get(task);
	struct wire_cpu *cpu = cpu_get();
	struct wire_counter *counter;
	struct thread *thread;
	__u32 top;

	if (!cpu || !recording(now))
		return 1;
	counter = &cpu->counter[WIRE_SOURCE_CALL_ENTRY];
	counter_add(&counter->entries);
	if (!stack) {
		thread = thread_get(task);
		if (!thread || !thread->in_tree) {
			counter_add(&counter->filtered);
			outside_count(bpf_get_current_pid_tgid() >> 32, cookie >> 32);
			return 1;
		}
		stack = call_stack_create(task);
		if (!stack) {
			counter_add(&counter->lost);
			loss_note(WIRE_SOURCE_CALL_ENTRY, WIRE_LOSS_NO_STORAGE, now, 0);
			return 1;
		}
	}
	top = stack->depth;
	if (top && top <= WIRE_DEPTH) {
		__u64 last = stack->frame[(top - 1) & (WIRE_DEPTH - 1)].stack_pointer, limit = STACK_POINTER(ctx);

		if (last == limit && tail_called(ctx, task))
			limit--;	/* the last frame is the caller's, and both return */
		if (last <= limit) {
			frames_abandon(stack, limit, cpu);
			top = stack->depth;
		}
	}
	if (top >= WIRE_DEPTH) {
		counter_add(&counter->lost);
		loss_note(WIRE_SOURCE_CALL_ENTRY, WIRE_LOSS_TOO_DEEP, now, 0);
		return 1;
	}
	counter_add(&counter->emitted);
	stack->depth = top + 1;
	frame_fill(ctx, &stack->frame[top], cpu, cookie);
	return 0;
}

static __always_inline int on_return(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 stack_pointer = STACK_POINTER(ctx) - RETURN_POPS;
	struct call_stack *stack = call_stack_get(bpf_get_current_task_btf());
	struct wire_cpu *cpu = cpu_get();
	struct wire_counter *counter;
	struct wire_call row = {};
	__u32 top;

	if (!cpu || !recording(now))
		return 0;
	counter = &cpu->counter[WIRE_SOURCE_CALL_RETURN];
	if (stack && stack->depth && stack->depth <= WIRE_DEPTH) {
		/* Frames below ours were left without a return. */
		if (stack->frame[(stack->depth - 1) & (WIRE_DEPTH - 1)].stack_pointer < stack_pointer)
			frames_abandon(stack, stack_pointer - 1, cpu);
		top = stack->depth - 1;
		if (top < WIRE_DEPTH && stack->frame[top].stack_pointer == stack_pointer) {
			call_fill(&row, &stack->frame[top], cpu, now);
			row.depth = top;
			row.code = RETURN_VALUE(ctx);
			stack->depth = top;
			counter_add(&counter->entries);
			call_emit(counter, &row);
			return 0;
		}
	}
	/* Entered before the recording, outside the tree, or not stored. */
	counter_add(&counter->entries);
	counter_add(&counter->filtered);
	return 0;
}

/* Session links (6.13) run one program both ways, and no return where the entry said 1. */
extern bool bpf_session_is_return(void) __ksym __weak;

SEC("uprobe")
int call_session(struct pt_regs *ctx)
{
	return bpf_session_is_return() ? on_return(ctx) : on_entry(ctx);
}

SEC("uprobe")
int call_entry(struct pt_regs *ctx)
{
	on_entry(ctx);
	return 0;
}

SEC("uretprobe")
int call_return(struct pt_regs *ctx)
{
	return on_return(ctx);
}
