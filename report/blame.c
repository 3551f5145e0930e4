// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>
#include "blame_private.h"
#include "syscalls.h"

/* Pieces of other threads looked at for one window: what is beyond has no known cause. */
#define BUDGET (1u << 20)
#define PIECES_AHEAD 4096	/* looked at for the wake-up after time limits that ran out: each has a few */
#define LOCK_LIMIT 20000000	/* ns: interpreters give up the lock after 5 ms; a longer time limit is another one's */

static void take_waiting(struct blame_window *w, uint32_t depth, const struct piece *p);
static void take_blocked(struct blame_window *w, uint32_t depth, const struct piece *p);

static uint32_t process_of(const struct blame_window *w, uint32_t thread)
{
	return thread == TASKS_NONE ? TASKS_UNKNOWN : w->blame->tasks->threads[thread].process;
}

static const struct process *process_at(const struct blame_window *w, uint32_t thread)
{
	return &w->blame->tasks->processes[w->blame->tasks->threads[thread].process];
}

static bool same_part(const struct part *a, const struct part *b)
{
	return a->state == b->state && a->kind == b->kind && a->hops == b->hops &&
	       a->thread == b->thread && a->process == b->process &&
	       !memcmp(a->path, b->path, a->hops * sizeof(*a->path));
}

static void hand_on(struct blame_window *w)
{
	for (size_t i = 0; i < w->part_count && !w->failure; i++) {
		if (w->parts[i].ns > w->most.ns)
			w->most = w->parts[i];
		if (w->hand_on)
			w->failure = w->hand_on(w->context, &w->parts[i]);
	}
	w->part_count = 0;
}

/* ns of the window by who had them. thread: TASKS_NONE for nobody; of wake-up latency who waited. */
static void add(struct blame_window *w, enum lost_state state, enum cause_kind kind, uint32_t hops,
		uint32_t thread, uint64_t ns)
{
	struct part part = {
		.group = w->window->group, .state = (uint8_t)state, .kind = (uint8_t)kind,
		.hops = (uint8_t)(hops > CHAINS_HOPS ? CHAINS_HOPS : hops),
		.process = kind == CAUSE_WAKE_LATENCY ? TASKS_UNKNOWN : process_of(w, thread),
		.thread = thread, .ns = ns,
	};
	size_t i;

	for (i = 0; i < part.hops; i++)
		part.path[i] = w->path[i];
	w->states[state] += ns;
	for (i = 0; i < w->part_count; i++)
		if (same_part(&w->parts[i], &part))
			break;
	if (i == BLAME_LOCAL) {
		hand_on(w);
		i = 0;
	}
	if (i == w->part_count)
		w->parts[w->part_count++] = part;
	else
		w->parts[i].ns += ns;
}

/* Time of a thread depth wake-ups away is, for the feeding thread, time it was blocked. */
static enum lost_state state_at(uint32_t depth, enum lost_state own)
{
	return depth && own != LOST_UNRECORDED ? LOST_BLOCKED : own;
}

static void show(const struct blame_window *w, uint32_t depth, const struct piece *p, uint32_t by,
		 enum stretch_state state, enum cause_kind kind)
{
	struct stretch s = {
		.start = p->start, .end = p->end, .state = state,
		.depth = depth, .thread = w->path[depth], .by = by, .cpu = p->cpu, .kind = kind,
	};

	if (!w->watch)
		return;
	if (p->back) {
		s.context = p->back->waker_context;
		s.vector = p->back->waker_vector;
		s.syscall = p->back->syscall;
		s.io_wait = p->back->next_flags & NEXT_FLAG_IO_WAIT;
	}
	w->watch->stretch(w->watch->context, &s);
}

static bool spend(struct blame_window *w)
{
	return w->budget && w->budget--;
}

static enum wake_cause wake_of(const struct blame_window *w, const struct piece *p)
{
	return timeline_wake(w->timeline, w->blame->aarch64, p->back);
}

/* The part of [start, end) in which the thread was reclaiming memory. */
static uint64_t reclaiming(const struct blame_window *w, uint32_t thread, uint64_t start, uint64_t end)
{
	const struct timeline *tl = w->timeline;
	const struct timeline_reclaim *r = tl->reclaim_count ? timeline_reclaim(tl, thread, start) : NULL;
	uint64_t sum = 0;

	for (; r && r < tl->reclaims + tl->reclaim_count && r->thread == thread && r->start < end; r++) {
		uint64_t from = r->start > start ? r->start : start, to = r->end < end ? r->end : end;

		if (from >= to)
			continue;
		sum += to - from;
		/* Only in a damaged file do they overlap. */
		start = to;
	}
	return sum;
}

/* Time the thread itself is answerable for, less what it spent in reclaim. */
static void add_own(struct blame_window *w, uint32_t depth, enum lost_state state, enum cause_kind kind,
		    const struct piece *p)
{
	uint32_t thread = w->path[depth];
	uint64_t reclaim = reclaiming(w, thread, p->start, p->end);

	if (reclaim)
		add(w, state, CAUSE_RECLAIM, depth, thread, reclaim);
	if (p->end - p->start > reclaim)
		add(w, state, kind, depth, thread, p->end - p->start - reclaim);
}

static bool is_worker(const struct blame_window *w, uint32_t process)
{
	const struct process_role *role = &w->blame->roles->processes[process];

	return role->role == ROLE_WORKER && role->main == w->group->process;
}

static bool in_window(const struct blame_window *w, uint64_t ts)
{
	return ts >= w->window->whole_start && ts < w->window->whole_end;
}

/* Whether the thread does not wait any more from ts on until it ends. */
static bool last_run(struct blame_window *w, uint32_t thread, uint64_t ts, uint64_t end)
{
	struct piece_cursor c;
	struct piece p;

	pieces_begin(&c, w->timeline, thread, ts, end < w->timeline->end ? end : w->timeline->end, NULL);
	while (spend(w) && pieces_next(&c, &p))
		if (p.state == PIECE_BLOCKED)
			return false;
	return true;
}

/*
 * A worker that was made in this very window, until it first waits for somebody; or that ends in
 * it, from the last time it waited on.
 */
static bool starting_up(struct blame_window *w, uint32_t thread, const struct piece *piece)
{
	uint32_t process = w->blame->tasks->threads[thread].process;
	const struct process *p = &w->blame->tasks->processes[process];

	if (!is_worker(w, process))
		return false;
	if (p->born && in_window(w, p->birth) &&
	    piece->start < w->blame->procs->threads[thread].first_wait)
		return true;
	return p->end && in_window(w, p->end) && piece->end <= p->end &&
	       last_run(w, thread, piece->end, p->end);
}

/* Running, of a thread that was waited for. */
static void take_peer_running(struct blame_window *w, uint32_t depth, const struct piece *p)
{
	enum cause_kind kind = starting_up(w, w->path[depth], p) ? CAUSE_WORKER_STARTUP : CAUSE_PEER_WORK;

	show(w, depth, p, TASKS_NONE, STRETCH_RUNNING, kind);
	add_own(w, depth, LOST_BLOCKED, kind, p);
}

static bool on_path(const struct blame_window *w, uint32_t depth, uint32_t thread)
{
	for (uint32_t i = 0; i <= depth; i++)
		if (w->path[i] == thread)
			return true;
	return false;
}

static void follow(struct blame_window *w, uint32_t depth, uint32_t thread, uint64_t start, uint64_t end);

/* Not made yet: a worker's making; another thread's process was about something else until then. */
static void take_unborn(struct blame_window *w, uint32_t depth, const struct piece *p)
{
	uint32_t thread = w->path[depth], leader = process_at(w, thread)->leader;

	if (leader != TASKS_NONE && !on_path(w, depth, leader) && depth + 1 < CHAINS_HOPS)
		follow(w, depth + 1, leader, p->start, p->end);
	else
		add(w, LOST_BLOCKED, starting_up(w, thread, p) ? CAUSE_WORKER_STARTUP : CAUSE_NONE, depth, thread,
		    p->end - p->start);
}

/* What another thread did in [start, end), in which those before it on the path were blocked. */
static void follow(struct blame_window *w, uint32_t depth, uint32_t thread, uint64_t start, uint64_t end)
{
	const struct thread *t = &w->blame->tasks->threads[thread];
	struct piece_cursor c;
	struct piece p;

	w->path[depth] = thread;
	pieces_begin(&c, w->timeline, thread, start, end, &w->thread_hints[thread % BLAME_HINTS]);
	while (pieces_next(&c, &p)) {
		if (!spend(w)) {
			add(w, LOST_BLOCKED, CAUSE_NONE, depth, TASKS_NONE, end - p.start);
			return;
		}
		if (p.state == PIECE_RUNNING) {
			take_peer_running(w, depth, &p);
		} else if (p.state == PIECE_WAITING) {
			take_waiting(w, depth, &p);
		} else if (p.state == PIECE_BLOCKED) {
			take_blocked(w, depth, &p);
		} else if (t->born && p.start < t->birth) {
			take_unborn(w, depth, &p);
		} else {
			show(w, depth, &p, TASKS_NONE, STRETCH_UNRECORDED, CAUSE_NONE);
			add(w, LOST_UNRECORDED, CAUSE_NONE, depth, TASKS_NONE, p.end - p.start);
		}
	}
}

/* Of a waiting piece, how far it is the quota's: it ends with the piece at the latest. */
static uint64_t throttled_until(const struct piece *p)
{
	const struct timeline_row *back = p->back;
	uint64_t renewed;

	if (!back || !(back->next_flags & NEXT_FLAG_THROTTLED))
		return p->start;
	renewed = back->throttled ? back->ts - back->wait + back->throttled : back->ts;
	return renewed < p->start ? p->start : renewed < p->end ? renewed : p->end;
}

/* Runnable and not running: the quota was used up; then by who had the CPU meanwhile. */
static void take_waiting(struct blame_window *w, uint32_t depth, const struct piece *p)
{
	uint64_t until = throttled_until(p);
	struct slice_cursor c;
	struct slice s;

	if (until > p->start) {
		struct piece stopped = *p;

		stopped.end = until;
		show(w, depth, &stopped, TASKS_NONE, STRETCH_THROTTLED, CAUSE_CPU_QUOTA);
		add(w, state_at(depth, LOST_THROTTLED), CAUSE_CPU_QUOTA, depth, w->path[depth], until - p->start);
	}
	slices_begin(&c, w->timeline, p->cpu, until, p->end, &w->cpu_hints[p->cpu % BLAME_HINTS]);
	while (slices_next(&c, &s)) {
		struct piece part = { .start = s.start, .end = s.end, .cpu = p->cpu, .back = p->back };
		uint64_t ns = s.end - s.start;

		if (s.thread == TASKS_UNKNOWN) {
			show(w, depth, &part, TASKS_NONE, STRETCH_UNRECORDED, CAUSE_NONE);
			add(w, LOST_UNRECORDED, CAUSE_NONE, depth, TASKS_NONE, ns);
		} else if (s.thread == TASKS_IDLE || s.thread == w->path[depth]) {
			show(w, depth, &part, TASKS_NONE, STRETCH_WAITING, CAUSE_WAKE_LATENCY);
			add(w, state_at(depth, LOST_WAKE_LATENCY), CAUSE_WAKE_LATENCY, depth, w->path[depth], ns);
		} else if (depth && starting_up(w, w->path[depth], &part) && starting_up(w, s.thread, &part)) {
			/* Workers that are made together compete for the CPUs. */
			show(w, depth, &part, s.thread, STRETCH_WAITING, CAUSE_WORKER_STARTUP);
			add(w, LOST_BLOCKED, CAUSE_WORKER_STARTUP, depth, w->path[depth], ns);
		} else {
			show(w, depth, &part, s.thread, STRETCH_WAITING, CAUSE_CPU_CONTENTION);
			add(w, state_at(depth, LOST_WAITING), CAUSE_CPU_CONTENTION, depth + 1, s.thread, ns);
		}
	}
}

static uint64_t ran(struct blame_window *w, uint32_t thread, uint64_t start, uint64_t end)
{
	struct piece_cursor c;
	struct piece p;
	uint64_t sum = 0;

	pieces_begin(&c, w->timeline, thread, start, end, NULL);
	while (spend(w) && pieces_next(&c, &p))
		if (p.state == PIECE_RUNNING)
			sum += p.end - p.start;
	return sum;
}

/* Of the same process, the other thread that ran most of [start, end), if half of it; or TASKS_NONE. */
static uint32_t busy_sibling(struct blame_window *w, uint32_t thread, uint64_t start, uint64_t end)
{
	uint32_t process = w->blame->tasks->threads[thread].process, best = TASKS_NONE;
	uint32_t t = w->blame->tasks->processes[process].first_thread;
	uint64_t most = 0, sum = 0;

	for (; t != TASKS_NONE; t = w->blame->tasks->threads[t].next) {
		uint64_t ns = t != thread ? ran(w, t, start, end) : 0;

		sum += ns;
		if (ns > most) {
			most = ns;
			best = t;
		}
	}
	return sum * 2 >= end - start ? best : TASKS_NONE;
}

enum after_timeout { AFTER_WOKEN, AFTER_RAN, AFTER_NOTHING };

/*
 * What came after a time limit ran out: if the thread slept again at once, and so on, the row of
 * the wake-up that was no time limit; or it went on and did something; or neither was seen.
 */
static enum after_timeout after_timeout(struct blame_window *w, uint32_t thread, const struct piece *p,
					const struct timeline_row **woken)
{
	struct piece_cursor c;
	struct piece next;

	pieces_begin(&c, w->timeline, thread, p->back->ts, w->timeline->end, NULL);
	for (unsigned int i = 0; i < PIECES_AHEAD && spend(w) && pieces_next(&c, &next); i++) {
		if (next.state == PIECE_RUNNING && next.end - next.start > BLAME_SYNC_TAIL)
			return AFTER_RAN;
		if (next.state != PIECE_BLOCKED || timeline_by_timer(next.back))
			continue;
		*woken = next.back;
		return next.back->open ? AFTER_NOTHING : AFTER_WOKEN;
	}
	return AFTER_NOTHING;
}

static bool is_outsider(const struct blame_window *w, uint32_t thread)
{
	const struct process *p = process_at(w, thread);

	return !p->in_tree && !p->kernel;
}

/* Ended by nobody that can be followed. */
static void end_here(struct blame_window *w, uint32_t depth, const struct piece *p, enum cause_kind kind,
		     uint32_t thread)
{
	/* Whoever is outside the tree and waits for its own reasons has nothing to hand on yet. */
	if (depth && is_outsider(w, w->path[depth]) &&
	    (kind == CAUSE_SLEEP || kind == CAUSE_NETWORK || kind == CAUSE_NONE))
		kind = CAUSE_EXTERNAL;
	show(w, depth, p, thread, STRETCH_BLOCKED, kind);
	add_own(w, depth, LOST_BLOCKED, kind, p);
}

static bool in_call(const struct blame_window *w, uint32_t depth)
{
	return !depth && w->group->kind == EFFECT_SLOW_CALL;
}

/* A time limit ran out. */
static void take_time_limit(struct blame_window *w, uint32_t depth, const struct piece *p, enum syscall_class class)
{
	const struct timeline_row *woken = NULL;
	struct piece waited = *p;

	switch (after_timeout(w, w->path[depth], p, &woken)) {
	case AFTER_WOKEN:
		waited.back = woken;
		take_blocked(w, depth, &waited);
		return;
	case AFTER_RAN:
		end_here(w, depth, p, class == SYSCALL_FUTEX ? CAUSE_NONE : CAUSE_SLEEP, TASKS_NONE);
		return;
	case AFTER_NOTHING:
		end_here(w, depth, p, CAUSE_EXTERNAL, TASKS_NONE);
		return;
	}
}

/* A timer ended it: a sleep the thread chose, a time limit, a lock handed to and fro, or nobody knows. */
static void take_timer(struct blame_window *w, uint32_t depth, const struct piece *p)
{
	const struct timeline_row *back = p->back;
	enum syscall_class class = back->syscall ?
		syscall_class(w->blame->aarch64, back->syscall - 1u) : SYSCALL_OTHER;
	uint32_t thread = w->path[depth], sibling = TASKS_NONE;

	if (class == SYSCALL_FUTEX && back->off - back->wait < LOCK_LIMIT)
		sibling = busy_sibling(w, thread, p->start, p->end);
	if (sibling != TASKS_NONE) {
		show(w, depth, p, sibling, STRETCH_BLOCKED, CAUSE_LOCK_GUESS);
		add(w, LOST_BLOCKED, CAUSE_LOCK_GUESS, depth + 1, sibling, p->end - p->start);
	} else if (class == SYSCALL_SLEEP) {
		end_here(w, depth, p, CAUSE_SLEEP, thread);
	} else if (class == SYSCALL_OTHER || in_call(w, depth)) {
		end_here(w, depth, p, CAUSE_NONE, TASKS_NONE);
	} else {
		take_time_limit(w, depth, p, class);
	}
}

static void take_waker(struct blame_window *w, uint32_t depth, const struct piece *p)
{
	uint32_t waker = p->back->waker;

	if (waker <= TASKS_IDLE || on_path(w, depth, waker) || depth + 1 >= CHAINS_HOPS) {
		end_here(w, depth, p, CAUSE_NONE, TASKS_NONE);
		return;
	}
	if (in_call(w, depth) && process_at(w, waker)->kernel) {
		end_here(w, depth, p, CAUSE_DEVICE, waker);
		return;
	}
	show(w, depth, p, waker, STRETCH_BLOCKED, CAUSE_NONE);
	follow(w, depth + 1, waker, p->start, p->end);
}

/* Asleep until somebody or something ended it. */
static void take_blocked(struct blame_window *w, uint32_t depth, const struct piece *p)
{
	const struct timeline_row *back = p->back;
	bool device = in_call(w, depth) && back->waker_vector != VECTOR_UNKNOWN;

	if (reclaiming(w, w->path[depth], p->start, p->end) * 2 > p->end - p->start || back->open) {
		end_here(w, depth, p, CAUSE_NONE, TASKS_NONE);
		return;
	}
	switch (wake_of(w, p)) {
	case WAKE_DISK:
		end_here(w, depth, p, CAUSE_DISK, TASKS_NONE);
		break;
	case WAKE_THREAD:
		take_waker(w, depth, p);
		break;
	case WAKE_NETWORK:
		end_here(w, depth, p, CAUSE_NETWORK, TASKS_NONE);
		break;
	case WAKE_TIMER:
		take_timer(w, depth, p);
		break;
	case WAKE_INTERRUPT:
		end_here(w, depth, p, device ? CAUSE_DEVICE : CAUSE_NONE, TASKS_NONE);
		break;
	case WAKE_UNKNOWN:
		end_here(w, depth, p, CAUSE_NONE, TASKS_NONE);
		break;
	}
}

static void take_own_part(struct blame_window *w, const struct piece *p, uint64_t start, uint64_t end,
			  enum cause_kind kind)
{
	struct piece part = *p;

	part.start = start > p->start ? start : p->start;
	part.end = end < p->end ? end : p->end;
	if (part.start >= part.end)
		return;
	show(w, 0, &part, TASKS_NONE, STRETCH_RUNNING, kind);
	add_own(w, 0, LOST_RUNNING, kind, &part);
}

/* The feeding thread had the CPU: its own work, but for the making of workers. */
static void take_own_running(struct blame_window *w, const struct piece *p)
{
	take_own_part(w, p, 0, w->startup_from, CAUSE_OWN_WORK);
	take_own_part(w, p, w->startup_from, w->startup_until, CAUSE_WORKER_STARTUP);
	take_own_part(w, p, w->startup_until, UINT64_MAX, CAUSE_OWN_WORK);
}

static void take_device(struct blame_window *w, const struct piece *p)
{
	static const enum stretch_state states[] = {
		[PIECE_RUNNING] = STRETCH_RUNNING, [PIECE_WAITING] = STRETCH_WAITING,
		[PIECE_BLOCKED] = STRETCH_BLOCKED, [PIECE_UNRECORDED] = STRETCH_UNRECORDED,
	};

	show(w, 0, p, TASKS_NONE, states[p->state], CAUSE_DEVICE);
	add_own(w, 0, LOST_DEVICE, CAUSE_DEVICE, p);
}

static void take_unrecorded(struct blame_window *w, const struct piece *p)
{
	show(w, 0, p, TASKS_NONE, STRETCH_UNRECORDED, CAUSE_NONE);
	add(w, LOST_UNRECORDED, CAUSE_NONE, 0, TASKS_NONE, p->end - p->start);
}

/* Before the work had begun, whatever it was. */
static void take_initial(struct blame_window *w, const struct piece *p)
{
	enum lost_state state = p->state == PIECE_RUNNING ? LOST_RUNNING :
				p->state == PIECE_WAITING ? LOST_WAITING : LOST_BLOCKED;

	if (p->state == PIECE_UNRECORDED)
		take_unrecorded(w, p);
	else
		add(w, state, CAUSE_INITIALISATION, 0, w->path[0], p->end - p->start);
}

static void take(struct blame_window *w, const struct piece *p)
{
	if (w->window->flags & WINDOW_INITIAL)
		take_initial(w, p);
	else if (p->state == PIECE_RUNNING)
		take_own_running(w, p);
	else if (p->state == PIECE_WAITING)
		take_waiting(w, 0, p);
	else if (p->state == PIECE_BLOCKED)
		take_blocked(w, 0, p);
	else
		take_unrecorded(w, p);
}

/*
 * A thread that sleeps until the device is done is woken by an interrupt or by the driver's
 * kernel thread; one that another thread of the job woke slept for another reason.
 */
static bool waits_for_device(const struct blame_window *w, const struct piece *p)
{
	return p->state == PIECE_RUNNING ||
	       (p->state == PIECE_BLOCKED && (p->back->waker_context != WAKER_TASK || p->back->waker <= TASKS_IDLE ||
					      process_at(w, p->back->waker)->kernel));
}

/* Time off the CPU overlaps the device's work, unless the call returned soon after it. */
static void take_synchronising(struct blame_window *w, const struct piece *p)
{
	if (p->state == PIECE_UNRECORDED)
		take_unrecorded(w, p);
	else if (p->state == PIECE_BLOCKED && wake_of(w, p) == WAKE_DISK)
		take(w, p);		/* the host's own part of a copy: nothing overlaps it */
	else if (waits_for_device(w, p) || w->window->whole_end > p->back->ts + BLAME_SYNC_TAIL)
		take_device(w, p);
	else
		take(w, p);
}

static void count_figures(struct blame_window *w, const struct piece *p, uint32_t thread)
{
	if (p->state == PIECE_RUNNING) {
		timeline_piece_pages(w->timeline, thread, p, &w->page_events, &w->pages);
		if (p->end - p->start > w->longest) {
			w->longest = p->end - p->start;
			w->longest_cpu = p->cpu;
		}
		if (p->left && p->left->ts <= p->end)
			w->major_faults += p->left->major_faults;
	} else if (p->back && p->end >= p->back->ts) {
		w->switches++;
		w->migrations += p->back->moved_from != 0;
	}
}

/* Of a call without a switch in it the recorder has counted them. */
static void exact_pages(struct blame_window *w)
{
	const uint32_t whole = WINDOW_HEAD | WINDOW_TAIL;

	if (!w->timeline->calls_count_pages || w->group->kind != EFFECT_SLOW_CALL || w->switches ||
	    (w->window->flags & whole) != whole)
		return;
	w->pages = w->page_events = timeline_call_pages(w->timeline, w->group->thread, w->window->whole_end);
}

int blame_take_apart(struct blame_window *w)
{
	uint32_t thread = w->group->thread;
	struct piece_cursor c;
	struct piece p;

	w->part_count = 0;
	w->most.ns = 0;
	w->failure = 0;
	memset(w->states, 0, sizeof(w->states));
	w->longest = w->longest_cpu = 0;
	w->switches = w->major_faults = w->migrations = w->page_events = w->pages = 0;
	w->budget = BUDGET;
	w->path[0] = thread;
	pieces_begin(&c, w->timeline, thread, w->window->start, w->window->end,
		     &w->thread_hints[thread % BLAME_HINTS]);
	while (pieces_next(&c, &p)) {
		count_figures(w, &p, thread);
		if (w->group->synchronising && !(w->window->flags & WINDOW_INITIAL))
			take_synchronising(w, &p);
		else
			take(w, &p);
	}
	hand_on(w);
	exact_pages(w);
	return w->failure;
}
