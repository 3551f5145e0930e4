// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0)
/*
 * Process life and the process tree. A child is in the tree before it runs its first
 * instruction, whichever thread made it. Two iterators give snapshots: every task at the start,
 * and the keyframes.
 */
#include "state.bpf.h"

#define SIGNAL_GROUP_EXIT 0x4
#define MASK_WORDS 128		/* of NR_CPUS 8192 */
#define SIGINT 2
#define SIGQUIT 3

/* Set before the snapshot: the recorder's child that is the command, as the recorder numbers it. */
volatile __u32 command_pid __weak = 0;
volatile __u32 root_tgid __weak = 0;	/* the same in the initial PID namespace, written by the snapshot */

/* SIGINT and SIGQUIT sent to the command so far, by whomever. */
volatile __u32 command_interrupts __weak = 0;

/* bpf_map_lookup_percpu_elem: 07343110b293 (5.19). Without it pages pending at a keyframe read 0. */
const volatile bool has_percpu_lookup __weak = false;

volatile __u64 registers_seen __weak = 0;

/* Threads whose state changed after this are in the next keyframe. */
volatile __u64 keyframe_ns __weak = 0;

static __always_inline void namespace_ids(struct task_struct *task, struct wire_task *row)
{
	struct pid *pid = task->thread_pid;
	struct pid *leader = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level) & 31;
	struct upid upid = {};

	bpf_core_read(&upid, sizeof(upid), &pid->numbers[level]);
	row->ns_tid = upid.nr;
	bpf_core_read(&upid, sizeof(upid), &leader->numbers[level]);
	row->ns_tgid = upid.nr;
}

static __always_inline void task_fill(struct wire_task *row, struct task_struct *task, __u32 event, __u64 now)
{
	row->h.kind = WIRE_TASK;
	row->h.tid = task->pid;
	row->h.ts = now;
	row->start = task->start_boottime;
	row->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	row->event = event;
	row->tgid = task->tgid;
	row->ppid = BPF_CORE_READ(task, real_parent, tgid);
	row->other_tid = 0;
	row->exit_code = 0;
	row->flags = task->flags & PF_KTHREAD ? WIRE_TASK_KTHREAD : 0;
	row->args_length = 0;
	row->pad = 0;
	namespace_ids(task, row);
	bpf_core_read(row->comm, sizeof(row->comm), &task->comm);
}

/* To be followed by nothing but one test for NULL: verifiers before 6.4 forget what an earlier one told. */
static __always_inline struct wire_task *task_reserve(struct task_struct *task, __u32 event, __u64 now)
{
	struct wire_task *row = bpf_ringbuf_reserve(&life_ring, sizeof(*row), 0);

	if (row)
		task_fill(row, task, event, now);
	return row;
}

/* Count one run of a program that puts a record into the life ring. */
static __always_inline void life_count(__u32 source, __u64 now, bool emitted)
{
	__u32 reason = source == WIRE_SOURCE_STATE ? WIRE_LOSS_NO_STORAGE : WIRE_LOSS_RING_FULL;
	struct wire_cpu *cpu = cpu_get();
	struct wire_counter *counter;

	if (!cpu)
		return;
	counter = &cpu->counter[source];
	__sync_fetch_and_add(&counter->entries, 1);
	if (emitted) {
		__sync_fetch_and_add(&counter->emitted, 1);
		return;
	}
	__sync_fetch_and_add(&counter->lost, 1);
	loss_note(source, reason, now, 0);
}

SEC("tp_btf/task_newtask")
int handle_newtask(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct thread *parent = thread_get(bpf_get_current_task_btf());
	struct thread *child = thread_create(task);
	__u64 now = bpf_ktime_get_ns();
	struct wire_task *row;

	if (child) {
		child->since = now;
		child->waking = 0;
		child->wakeup = 0;
		child->moved = 0;
		child->state = WIRE_THREAD_BLOCKED;
		child->next_flags = WIRE_NEXT_FIRST;
		child->in_tree = parent ? parent->in_tree : 0;
		child->major_faults = task->maj_flt;
	} else {
		life_count(WIRE_SOURCE_STATE, now, false);
	}
	row = task_reserve(task, WIRE_TASK_FORK, now);
	if (row) {
		row->other_tid = bpf_get_current_pid_tgid();
		if (child && child->in_tree)
			row->flags |= WIRE_TASK_TREE;
		bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	}
	life_count(WIRE_SOURCE_FORK, now, row);
	return 0;
}

static __always_inline __u32 tree_flag(struct task_struct *task)
{
	struct thread *thread = thread_get(task);

	return thread && thread->in_tree ? WIRE_TASK_TREE : 0;
}

/* The command line as the new program will see it, NUL-separated. */
static __always_inline void args_read(struct wire_task *row, struct task_struct *task)
{
	__u64 begin = BPF_CORE_READ(task, mm, arg_start);
	__u64 length = BPF_CORE_READ(task, mm, arg_end) - begin;
	long n;

	if (!keep_args) {
		n = bpf_probe_read_user_str(row->args, WIRE_ARGS, (void *)begin);
		row->args_length = n > 0 ? n : 0;
		return;
	}
	if (length > WIRE_ARGS) {
		length = WIRE_ARGS;
		row->flags |= WIRE_TASK_ARGS_CUT;
	}
	if (!bpf_probe_read_user(row->args, length, (void *)begin))
		row->args_length = length;
}

/* Calls the thread was in: they will never return. */
static __always_inline void open_calls_emit(struct task_struct *task, __u64 now)
{
	struct call_stack *stack = call_stack_get(task);
	struct wire_cpu *cpu = cpu_get();
	__u32 index = bpf_get_smp_processor_id(), depth;
	void *ring = bpf_map_lookup_elem(&call_rings, &index);
	__u32 i;

	if (!stack || !cpu || !ring)
		return;
	depth = stack->depth;
	for (i = 0; i < WIRE_DEPTH && i < depth; i++) {
		struct frame *frame = &stack->frame[i];
		struct wire_call row = { .h = { WIRE_CALL, task->pid, now } };
		struct wire_counter *counter = &cpu->counter[WIRE_SOURCE_CALL_RETURN];

		row.duration = now - frame->start;
		row.bytes = frame->bytes;
		row.stream = frame->stream;
		row.tgid = task->tgid;
		row.probe = frame->probe;
		row.symbol = frame->symbol;
		row.depth = i;
		row.kind = frame->kind;
		row.flags = frame->flags | WIRE_CALL_OPEN;
		__sync_fetch_and_add(&counter->entries, 1);
		if (!bpf_ringbuf_output(ring, &row, sizeof(row), BPF_RB_NO_WAKEUP)) {
			__sync_fetch_and_add(&counter->emitted, 1);
		} else {
			__sync_fetch_and_add(&counter->lost, 1);
			loss_note(WIRE_SOURCE_CALL_RETURN, WIRE_LOSS_RING_FULL, now, 0);
		}
	}
	stack->depth = 0;
}

/*
 * A thread other than the leader that execs takes the leader's number; hash entries follow it.
 * The old leader, which leaves under the other number, deletes the old entry: see forget_dead().
 */
static __always_inline void hash_follow(__u32 from, __u32 to)
{
	struct thread *old = bpf_map_lookup_elem(&threads_by_tid, &from);

	if (old)
		bpf_map_update_elem(&threads_by_tid, &to, old, BPF_ANY);
	if (!use_task_storage)
		bpf_map_delete_elem(&call_stacks_by_tid, &from);
}

SEC("tp_btf/sched_process_exec")
int handle_exec(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	pid_t old_tid = ctx[1];
	__u64 now = bpf_ktime_get_ns();
	struct wire_task *row;

	if ((!use_task_storage || refused_storage) && old_tid != task->pid)
		hash_follow(old_tid, task->pid);
	if (recording(now))
		open_calls_emit(task, now);	/* a call that execs does not return */
	row = bpf_ringbuf_reserve(&life_ring, sizeof(*row) + WIRE_ARGS, 0);
	if (row) {
		task_fill(row, task, WIRE_TASK_EXEC, now);
		row->other_tid = old_tid;
		row->flags |= tree_flag(task);
		if (row->flags & WIRE_TASK_TREE)
			args_read(row, task);
		bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	}
	life_count(WIRE_SOURCE_EXEC, now, row);
	return 0;
}

/* What wait(2) will say of the process, once its last thread is here; before that, the thread's own code. */
static __always_inline void exit_fill(struct wire_task *row, struct task_struct *task)
{
	struct signal_struct *signal = task->signal;

	row->exit_code = task->exit_code;
	if (BPF_CORE_READ(signal, live.counter))
		return;
	row->flags |= WIRE_TASK_GROUP_DEAD;
	row->exit_code = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT ?
			 BPF_CORE_READ(signal, group_exit_code) : BPF_CORE_READ(task, group_leader, exit_code);
}

SEC("tp_btf/sched_process_exit")
int handle_exit(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u64 now = bpf_ktime_get_ns();
	__u32 tid = task->pid;
	struct wire_task *row;

	if (recording(now))
		open_calls_emit(task, now);
	row = task_reserve(task, WIRE_TASK_EXIT, now);
	if (row) {
		exit_fill(row, task);
		row->flags |= tree_flag(task);
		bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	}
	life_count(WIRE_SOURCE_EXIT, now, row);
	if (!use_task_storage)
		bpf_map_delete_elem(&call_stacks_by_tid, &tid);
	return 0;
}

SEC("tp_btf/task_rename")
int handle_rename(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	const char *name = (void *)ctx[1];
	__u64 now = bpf_ktime_get_ns();
	struct wire_task *row = task_reserve(task, WIRE_TASK_RENAME, now);

	if (row) {
		bpf_probe_read_kernel_str(row->comm, sizeof(row->comm), name);
		row->flags |= tree_flag(task);
		bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	}
	life_count(WIRE_SOURCE_RENAME, now, row);
	return 0;
}

/* Whether a keyboard's signal reached the command too decides if the recorder passes its own on. */
SEC("tp_btf/signal_generate")
int handle_signal(__u64 *ctx)
{
	int signal = ctx[0];
	struct task_struct *task = (void *)ctx[2];

	if ((signal == SIGINT || signal == SIGQUIT) && (__u32)task->tgid == root_tgid)
		__sync_fetch_and_add(&command_interrupts, 1);
	return 0;
}

static __always_inline __u8 state_now(struct task_struct *task)
{
	if (task->on_cpu)
		return WIRE_THREAD_RUNNING;
	return task->__state == 0 ? WIRE_THREAD_WAITING : WIRE_THREAD_BLOCKED;
}

/*
 * The start: give every task its storage and report it. The command is a child of the recorder,
 * but not the only one where a shell with children became the recorder by exec.
 */
SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 recorder = bpf_get_current_pid_tgid() >> 32;
	struct wire_task row = {};
	struct thread *thread;

	if (!task)
		return 0;
	if (with_syscalls) {
		registers_seen = bpf_task_pt_regs(task);	/* once stored it is a number */
		registers_offset = registers_seen - (__u64)task->stack;
	}
	thread = thread_create(task);
	task_fill(&row, task, WIRE_TASK_SNAPSHOT, bpf_ktime_get_ns());
	if (row.tgid == recorder)
		row.flags |= WIRE_TASK_RECORDER;
	else if (row.ppid == recorder && row.ns_tgid == command_pid)
		row.flags |= WIRE_TASK_ROOT | WIRE_TASK_TREE;
	if (row.flags & WIRE_TASK_ROOT)
		root_tgid = row.tgid;
	if (thread) {
		if (row.flags & WIRE_TASK_TREE)
			thread->in_tree = 1;
		if (thread->state == WIRE_THREAD_UNKNOWN) {
			thread->state = state_now(task);
			thread->major_faults = task->maj_flt;
		}
	} else {
		life_count(WIRE_SOURCE_STATE, row.h.ts, false);
	}
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}

static __always_inline void open_calls_write(struct seq_file *seq, struct task_struct *task, __u64 now)
{
	struct call_stack *stack = call_stack_get(task);
	__u32 depth;
	__u32 i;

	if (!stack)
		return;
	depth = stack->depth;
	for (i = 0; i < WIRE_DEPTH && i < depth; i++) {
		struct wire_open_call row = { .h = { WIRE_OPEN_CALL, task->pid, now } };

		row.start = stack->frame[i].start;
		row.tgid = task->tgid;
		row.probe = stack->frame[i].probe;
		row.symbol = stack->frame[i].symbol;
		row.depth = i;
		bpf_seq_write(seq, &row, sizeof(row));
	}
}

static __always_inline __u64 latest(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static __always_inline __u64 mask_word(struct task_struct *task, __u32 i)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)((__u64)&task->cpus_mask + 8 * i));
	return word;
}

/* The CPUs a thread may use, where they are not those of the last keyframe. */
static __always_inline void affinity_write(struct seq_file *seq, struct task_struct *task,
					   struct thread *thread, __u64 now)
{
	struct wire_affinity row = { .h = { WIRE_AFFINITY, task->pid, now } };
	__u64 fold = 0, word;
	long failed;
	__u32 i;

	for (i = 0; i < MASK_WORDS && i < affinity_words; i++)
		fold = (fold ^ mask_word(task, i)) * 0x9e3779b97f4a7c15ull;
	if (thread->affinity == ((__u32)(fold >> 32) | 1))
		return;
	row.tgid = task->tgid;
	row.words = affinity_words;
	failed = bpf_seq_write(seq, &row, sizeof(row));
	for (i = 0; i < MASK_WORDS && i < affinity_words; i++) {
		word = mask_word(task, i);
		failed |= bpf_seq_write(seq, &word, sizeof(word));
	}
	if (!failed)	/* without room, the whole thread comes again */
		thread->affinity = (__u32)(fold >> 32) | 1;
}

SEC("iter/task")
int keyframe(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wire_state row = { .h.kind = WIRE_STATE };
	struct call_stack *stack;
	struct thread *thread;

	if (!task)
		return 0;
	thread = thread_get(task);
	if (!thread)
		return 0;
	if (!thread->in_tree && latest(thread->since, thread->waking) < keyframe_ns)
		return 0;
	row.h.tid = task->pid;
	row.h.ts = bpf_ktime_get_ns();
	row.since = thread->since;
	row.tgid = task->tgid;
	row.cpu = task_cpu(task);
	row.state = thread->state;
	row.runnable_since = thread->state == WIRE_THREAD_WAITING ? thread->since :
			     thread->state == WIRE_THREAD_BLOCKED ? latest(thread->waking, thread->wakeup) : 0;
	if (row.state == WIRE_THREAD_BLOCKED && row.runnable_since)
		row.state = WIRE_THREAD_WAITING;
	if (row.state == WIRE_THREAD_BLOCKED)
		row.syscall = thread->syscall;
	if (has_percpu_lookup && row.state == WIRE_THREAD_RUNNING && task->on_cpu) {
		__u32 zero = 0;
		struct wire_cpu *cpu = bpf_map_lookup_percpu_elem(&cpu_data, &zero, row.cpu);

		if (cpu) {
			row.page_events = cpu->page_events;
			row.pages = cpu->pages;
		}
	}
	stack = thread->in_tree ? call_stack_get(task) : NULL;
	if (stack)
		row.open_calls = stack->depth;
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	if (row.open_calls)
		open_calls_write(ctx->meta->seq, task, row.h.ts);
	if (affinity_words && thread->in_tree)
		affinity_write(ctx->meta->seq, task, thread, row.h.ts);
	return 0;
}
