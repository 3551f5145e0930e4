// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "parallel.h"
#include "timeline.h"
#include "waits.h"

#define JOB_ROWS 32768		/* of one CPU, gone through by one worker at a time */

/* Pieces by key in a hash table with open addressing. */
struct pieces {
	struct wait_piece *list; size_t count, capacity;
	uint32_t *slots; size_t size;	/* place + 1; 0 empty */
};

/* A wait that began before the span: what of it is still to be looked at, and what was found. */
struct pending {
	struct timeline_row row;
	uint64_t until;
	struct wait_piece *parts; size_t count, capacity;
};

struct pendings { struct pending *list; size_t count, capacity; };

/* A worker's own. */
struct crew {
	struct pieces pieces;
	struct pendings pendings;
	struct wait_piece *parts; size_t count, capacity;	/* of one wait */
	size_t hints[256];					/* of slices_begin(), by CPU */
};

struct job { uint32_t cpu; size_t first, count; };

struct builder {
	struct waits *waits;
	struct report *report;
	struct timeline timeline;
	bool aarch64;
	uint32_t *waiter;		/* by thread: place + 1 */
	uint32_t *first;		/* by waiter: its first thread */
	uint32_t *stands;		/* by process: the one that stands for it */
	uint32_t *whole; /* by process: place + 1 of the waiter for all its threads */
	size_t capacity;		/* of waits->waiters */
	struct crew *crews; unsigned int crew_count;
	struct pendings pendings;	/* of the span after this one */
	struct job *jobs; size_t job_count, job_capacity;
};

/* --- waiters */

static struct waiter *new_waiter(struct builder *b, uint32_t process)
{
	struct waits *w = b->waits;
	struct waiter *list = array_reserve(w->waiters, &b->capacity, w->count + 1, sizeof(*list));

	if (!list)
		return NULL;
	w->waiters = list;
	list[w->count] = (struct waiter){ .process = process, .thread = TASKS_NONE };
	return &list[w->count++];
}

/* The waiter from first on that stands for threads of this name. */
static struct waiter *named_waiter(struct builder *b, size_t first, uint32_t process,
				   const char *name)
{
	struct waiter *made;

	for (size_t i = first; i < b->waits->count; i++)
		if (b->waits->waiters[i].thread == TASKS_NONE &&
		    !strcmp(b->waits->waiters[i].name, name))
			return &b->waits->waiters[i];
	made = new_waiter(b, process);
	if (made)
		made->name = name;
	return made;
}

/* All of a process's threads, or of a group's. */
static struct waiter *whole_waiter(struct builder *b, uint32_t process)
{
	struct waiter *w;

	if (b->whole[process])
		return &b->waits->waiters[b->whole[process] - 1];
	w = new_waiter(b, process);
	if (w) {
		w->name = b->report->tasks.processes[process].name;
		w->whole = true;
		b->whole[process] = (uint32_t)b->waits->count;
	}
	return w;
}

static struct waiter *waiter_for(struct builder *b, size_t first, uint32_t thread)
{
	const struct report *r = b->report;
	uint32_t process = r->tasks.threads[thread].process;
	const char *name = r->tasks.threads[thread].name;
	struct waiter *w;

	if (r->roles.processes[process].role != ROLE_MAIN)
		return whole_waiter(b, b->stands[process]);
	if (thread != r->tasks.processes[process].leader && !r->latency.thread_calls[thread])
		return named_waiter(b, first, process, name);
	w = new_waiter(b, process);
	if (w) {
		w->thread = thread;
		w->name = name;
	}
	return w;
}

static int add_process(struct builder *b, uint32_t process)
{
	const struct report *r = b->report;
	size_t first = b->waits->count;

	for (uint32_t i = r->tasks.processes[process].first_thread; i != TASKS_NONE;
	     i = r->tasks.threads[i].next) {
		const struct account *a = &r->procs.threads[i].a;
		struct waiter *w;

		if (!select_thread(&r->selection, i))
			continue;
		w = waiter_for(b, first, i);
		if (!w)
			return ERROR_MEMORY;
		b->waiter[i] = (uint32_t)(w - b->waits->waiters) + 1;
		w->threads++;
		w->calls |= r->latency.thread_calls[i] != 0;
		w->waiting += a->waiting;
		w->blocked += a->blocked;
	}
	return 0;
}

/* A process of the group for all of them, one stranger for all where they are of no interest. */
static uint32_t stands_for(const struct report *r, uint32_t process)
{
	const struct process *p = &r->tasks.processes[process];
	const struct worker_group *group = worker_group_of(r, process);

	if (r->selection.options.tree_only && !p->in_tree && !p->recorder)
		return TASKS_UNKNOWN;
	return group && group->count ? group->members[0] : process;
}

static int find_first_threads(struct builder *b)
{
	b->first = calloc(b->waits->count + 1, sizeof(*b->first));
	if (!b->first)
		return ERROR_MEMORY;
	for (size_t i = b->report->tasks.thread_count; i--;)
		if (b->waiter[i])
			b->first[b->waiter[i] - 1] = (uint32_t)i;
	return 0;
}

static int make_waiters(struct builder *b)
{
	const struct report *r = b->report;
	int ret = 0;

	b->waiter = calloc(r->tasks.thread_count, sizeof(*b->waiter));
	b->stands = calloc(r->tasks.process_count, sizeof(*b->stands));
	b->whole = calloc(r->tasks.process_count, sizeof(*b->whole));
	if (!b->waiter || !b->stands || !b->whole)
		return ERROR_MEMORY;
	for (uint32_t i = 0; i < r->tasks.process_count; i++)
		b->stands[i] = stands_for(r, i);
	for (size_t i = 0; i < r->order_count && !ret; i++)
		ret = add_process(b, r->order[i]);
	return ret ? ret : find_first_threads(b);
}

/* --- pieces */

static bool same_piece(const struct wait_piece *a, const struct wait_piece *b)
{
	return a->waiter == b->waiter && a->how == b->how && a->process == b->process &&
	       a->thread == b->thread;
}

static uint32_t *slot_of(const struct pieces *p, const struct wait_piece *key)
{
	uint64_t hash = ((uint64_t)key->waiter << 32 | key->process) * 0x9e3779b97f4a7c15ull;
	size_t i;

	hash ^= ((uint64_t)key->thread << 8 | key->how) * 0xc2b2ae3d27d4eb4full;
	i = (size_t)(hash >> 24) & (p->size - 1);
	while (p->slots[i] && !same_piece(&p->list[p->slots[i] - 1], key))
		i = (i + 1) & (p->size - 1);
	return &p->slots[i];
}

static int rehash(struct pieces *p)
{
	size_t size = p->size ? p->size * 2 : 64;
	uint32_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return ERROR_MEMORY;
	free(p->slots);
	p->slots = slots;
	p->size = size;
	for (size_t i = 0; i < p->count; i++)
		*slot_of(p, &p->list[i]) = (uint32_t)i + 1;
	return 0;
}

static int add_piece(struct pieces *p, const struct wait_piece *piece)
{
	struct wait_piece *list, *to;
	uint32_t *slot;

	if ((p->count + 1) * 2 > p->size && rehash(p))
		return ERROR_MEMORY;
	slot = slot_of(p, piece);
	if (!*slot) {
		list = array_reserve(p->list, &p->capacity, p->count + 1, sizeof(*list));
		if (!list)
			return ERROR_MEMORY;
		p->list = list;
		list[p->count++] = *piece;
		*slot = (uint32_t)p->count;
		return 0;
	}
	to = &p->list[*slot - 1];
	to->ns += piece->ns;
	to->count += piece->count;
	to->longest = to->longest > piece->longest ? to->longest : piece->longest;
	return 0;
}

/* What stands for a thread of the waiter's own process. */
static uint32_t own_thread(const struct builder *b, uint32_t who)
{
	if (worker_group_of(b->report, b->report->tasks.threads[who].process))
		return WAITS_OWN;
	return b->waiter[who] ? b->first[b->waiter[who] - 1] : who;
}

/* who: TASKS_NONE nobody. */
static struct wait_piece make_piece(const struct builder *b, uint32_t thread, enum wait_how how,
				    uint32_t who, uint64_t ns)
{
	const struct thread *threads = b->report->tasks.threads;
	struct wait_piece piece = { .waiter = b->waiter[thread] - 1,
				    .how = how,
				    .process = TASKS_NONE,
				    .thread = TASKS_NONE,
				    .ns = ns,
				    .count = 1,
				    .longest = ns };

	if (who == TASKS_NONE)
		return piece;
	piece.process = b->stands[threads[who].process];
	if (threads[who].process == threads[thread].process)
		piece.thread = own_thread(b, who);
	return piece;
}

/* A part of the wait that is being looked at. */
static int add_part(const struct builder *b, struct crew *c, uint32_t thread, enum wait_how how,
		    uint32_t who, uint64_t ns)
{
	struct wait_piece part = make_piece(b, thread, how, who, ns), *parts;

	for (size_t i = 0; i < c->count; i++)
		if (same_piece(&c->parts[i], &part)) {
			c->parts[i].ns += ns;
			return 0;
		}
	parts = array_reserve(c->parts, &c->capacity, c->count + 1, sizeof(*parts));
	if (!parts)
		return ERROR_MEMORY;
	c->parts = parts;
	parts[c->count++] = part;
	return 0;
}

static int end_wait(struct crew *c)
{
	int ret = 0;

	for (size_t i = 0; i < c->count && !ret; i++) {
		c->parts[i].longest = c->parts[i].ns;
		ret = add_piece(&c->pieces, &c->parts[i]);
	}
	c->count = 0;
	return ret;
}

/* --- waits for a CPU */

static int take_slices(const struct builder *b, struct crew *c, const struct timeline_row *row,
		       uint32_t cpu, uint64_t from, uint64_t to)
{
	struct slice_cursor cursor;
	struct slice s;
	int ret = 0;

	slices_begin(&cursor, &b->timeline, cpu, from, to, &c->hints[cpu % 256]);
	while (!ret && slices_next(&cursor, &s)) {
		uint64_t ns = s.end - s.start;

		if (s.thread == TASKS_UNKNOWN)
			ret = add_part(b, c, row->next, WAIT_UNRECORDED, TASKS_NONE, ns);
		else if (s.thread == TASKS_IDLE || s.thread == row->next)
			ret = add_part(b, c, row->next, WAIT_LATENCY, TASKS_NONE, ns);
		else
			ret = add_part(b, c, row->next, WAIT_RAN, s.thread, ns);
	}
	return ret;
}

/* Until when the quota was used up; from where it was not. */
static uint64_t throttled_until(const struct timeline_row *row, uint64_t from, uint64_t to)
{
	uint64_t renewed = row->throttled ? row->ts - row->wait + row->throttled : row->ts;

	if (!(row->next_flags & NEXT_FLAG_THROTTLED) || renewed < from)
		return from;
	return renewed < to ? renewed : to;
}

/* The part of the row's wait in [from, to), which lies in the span. */
static int take_part(const struct builder *b, struct crew *c, const struct timeline_row *row,
		     uint64_t from, uint64_t to)
{
	uint64_t until = throttled_until(row, from, to),
		 moved = row->moved_from ? row->ts - row->moved_wait : 0;
	int ret = 0;

	if (from < until)
		ret = add_part(b, c, row->next, WAIT_THROTTLED, TASKS_NONE, until - from);
	if (!ret && until < moved && until < to) {
		from = until;
		until = moved < to ? moved : to;
		ret = take_slices(b, c, row, row->moved_from - 1u, from, until);
	}
	if (!ret && until < to)
		ret = take_slices(b, c, row, row->cpu, until, to);
	return ret;
}

static int keep_pending(struct pendings *p, const struct timeline_row *row, uint64_t until,
			struct crew *c)
{
	struct pending *list = array_reserve(p->list, &p->capacity, p->count + 1, sizeof(*list));

	if (!list)
		return ERROR_MEMORY;
	p->list = list;
	list[p->count++] = (struct pending){ *row, until, c->parts, c->count, c->capacity };
	c->parts = NULL;
	c->count = c->capacity = 0;
	return 0;
}

/* Of a wait whose later parts are in c, what lies before until; the rest of it may be pending. */
static int take_wait(const struct builder *b, struct crew *c, const struct timeline_row *row,
		     uint64_t until)
{
	uint64_t from = row->ts - row->wait, start = b->timeline.start;
	uint64_t low = from > start ? from : start;
	int ret = low < until ? take_part(b, c, row, low, until) : 0;

	if (ret)
		return ret;
	if (from < start && start > b->report->recording.start)
		return keep_pending(&c->pendings, row, until < start ? until : start, c);
	return end_wait(c);
}

static enum wait_how how_ended(const struct builder *b, const struct timeline_row *row)
{
	static const enum wait_how hows[] = {
		[WAKE_UNKNOWN] = WAIT_UNKNOWN, [WAKE_THREAD] = WAIT_WOKEN, [WAKE_DISK] = WAIT_DISK,
		[WAKE_NETWORK] = WAIT_NETWORK, [WAKE_TIMER] = WAIT_TIMER,
		[WAKE_INTERRUPT] = WAIT_INTERRUPT,
	};
	enum wait_how how = hows[timeline_wake(&b->timeline, b->aarch64, row)];

	if (row->open)
		return WAIT_OPEN;
	return how == WAIT_WOKEN && row->waker <= TASKS_IDLE ? WAIT_UNKNOWN : how;
}

/* What the recording has of a time off the CPU: asleep from from on, waiting from woken on. */
struct off { uint64_t from, woken, until; };

static struct off off_of(const struct builder *b, const struct timeline_row *row)
{
	uint64_t start = b->report->recording.start, end = b->report->recording.end;
	struct off off = { row->ts - row->off, row->ts - row->wait, row->ts < end ? row->ts : end };

	off.from = off.from > start ? off.from : start;
	off.woken = off.woken > off.from ? off.woken : off.from;
	off.woken = off.woken < off.until ? off.woken : off.until;
	return off;
}

static int take_sleep(const struct builder *b, struct crew *c, const struct timeline_row *row,
		      const struct off *off)
{
	enum wait_how how = how_ended(b, row);
	struct wait_piece piece;

	if (off->woken <= off->from)
		return 0;
	piece = make_piece(b, row->next, how, how == WAIT_WOKEN ? row->waker : TASKS_NONE,
			   off->woken - off->from);
	return add_piece(&c->pieces, &piece);
}

/* A thread came back. */
static int take_return(const struct builder *b, struct crew *c, const struct timeline_row *row)
{
	struct off off = off_of(b, row);
	int ret = take_sleep(b, c, row, &off);

	return !ret && off.woken < off.until ? take_wait(b, c, row, off.until) : ret;
}

/* --- spans */

static int one_job(void *context, unsigned int worker, size_t number)
{
	const struct builder *b = context;
	const struct job *job = &b->jobs[number];
	int ret = 0;

	for (size_t i = job->first; i < job->first + job->count && !ret; i++) {
		const struct timeline_row *row = &b->timeline.rows[i];

		if (b->waiter[row->next] && row->off)
			ret = take_return(b, &b->crews[worker], row);
	}
	return ret;
}

static int make_jobs(struct builder *b)
{
	const struct timeline *tl = &b->timeline;

	b->job_count = 0;
	for (uint32_t cpu = 0; cpu < tl->recording->cpus; cpu++)
		for (size_t i = 0; i < tl->cpus[cpu].count; i += JOB_ROWS) {
			size_t left = tl->cpus[cpu].count - i;
			struct job *jobs = array_reserve(b->jobs, &b->job_capacity,
							 b->job_count + 1, sizeof(*jobs));

			if (!jobs)
				return ERROR_MEMORY;
			b->jobs = jobs;
			jobs[b->job_count++] = (struct job){ cpu, tl->cpus[cpu].first + i,
							     left < JOB_ROWS ? left : JOB_ROWS };
		}
	return 0;
}

/* Waits of later spans that reach into this one. */
static int take_pendings(struct builder *b)
{
	struct pendings all = b->pendings;
	struct crew *c = &b->crews[0];
	int ret = 0;

	b->pendings = (struct pendings){ 0 };
	for (size_t i = 0; i < all.count; i++) {
		struct pending *p = &all.list[i];

		free(c->parts);
		c->parts = p->parts;
		c->count = p->count;
		c->capacity = p->capacity;
		ret = ret ? ret : take_wait(b, c, &p->row, p->until);
	}
	free(all.list);
	return ret;
}

static int gather_pendings(struct builder *b)
{
	for (unsigned int i = 0; i < b->crew_count; i++) {
		struct pendings *from = &b->crews[i].pendings, *to = &b->pendings;
		struct pending *list = array_reserve(to->list, &to->capacity,
						     to->count + from->count + 1, sizeof(*list));

		if (!list)
			return ERROR_MEMORY;
		to->list = list;
		if (from->count)
			memcpy(&list[to->count], from->list, from->count * sizeof(*list));
		to->count += from->count;
		from->count = 0;
	}
	return 0;
}

static int one_span(void *context)
{
	struct builder *b = context;
	int ret = take_pendings(b);

	for (unsigned int i = 0; i < b->crew_count; i++)
		memset(b->crews[i].hints, 0, sizeof(b->crews[i].hints));
	if (!ret)
		ret = make_jobs(b);
	if (!ret)
		ret = parallel_run(b->job_count, one_job, b);
	return ret ? ret : gather_pendings(b);
}

/* As the timeline has it, threads off the CPU at the end of the recording come back after it. */
static int begin_at_end(struct builder *b)
{
	const struct timeline *tl = &b->timeline;
	struct crew none = { 0 };
	int ret = 0;

	for (size_t i = 0; i < tl->carried_count && !ret; i++) {
		const struct timeline_row *row = &tl->carried[i];
		struct off off = off_of(b, row);

		if (!b->waiter[row->next])
			continue;
		ret = take_sleep(b, &b->crews[0], row, &off);
		if (!ret && off.woken < off.until)
			ret = keep_pending(&b->pendings, row, off.until, &none);
	}
	return ret;
}

/* --- the whole */

/* What the accounts have and no piece: where rows contradict each other. */
static int add_rest(struct builder *b, const uint64_t *told)
{
	struct pieces *p = &b->crews[0].pieces;
	int ret = 0;

	for (size_t i = 0; i < b->waits->count && !ret; i++) {
		const struct waiter *w = &b->waits->waiters[i];
		struct wait_piece piece = { .waiter = (uint32_t)i, .how = WAIT_UNRECORDED,
					    .process = TASKS_NONE, .thread = TASKS_NONE };

		piece.ns = w->waiting > told[2 * i] ? w->waiting - told[2 * i] : 0;
		if (piece.ns)
			ret = add_piece(p, &piece);
		piece.how = WAIT_UNKNOWN;
		piece.ns = w->blocked > told[2 * i + 1] ? w->blocked - told[2 * i + 1] : 0;
		if (piece.ns && !ret)
			ret = add_piece(p, &piece);
	}
	return ret;
}

static int unite(struct builder *b)
{
	struct pieces *all = &b->crews[0].pieces;
	uint64_t *told = calloc(2 * b->waits->count + 1, sizeof(*told));
	int ret = told ? 0 : ERROR_MEMORY;

	for (unsigned int i = 1; i < b->crew_count; i++)
		for (size_t k = 0; k < b->crews[i].pieces.count && !ret; k++)
			ret = add_piece(all, &b->crews[i].pieces.list[k]);
	for (size_t i = 0; i < all->count && !ret; i++)
		told[2 * all->list[i].waiter + !wait_how_runnable(all->list[i].how)] +=
			all->list[i].ns;
	if (!ret)
		ret = add_rest(b, told);
	free(told);
	return ret;
}

static int by_waiter(const void *a, const void *b)
{
	const struct wait_piece *x = a, *y = b;

	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->how != y->how)
		return x->how < y->how ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* The pieces of each waiter, which are sorted by it. */
static void find_pieces(struct waits *w)
{
	for (size_t i = 0; i < w->count; i++)
		w->waiters[i].count = 0;
	for (size_t i = w->piece_count; i--;) {
		struct waiter *waiter = &w->waiters[w->pieces[i].waiter];

		waiter->first = i;
		waiter->count++;
	}
}

static void hand_over(struct builder *b)
{
	struct waits *w = b->waits;
	struct pieces *all = &b->crews[0].pieces;

	w->pieces = all->list;
	w->piece_count = all->count;
	all->list = NULL;
	if (w->piece_count)
		qsort(w->pieces, w->piece_count, sizeof(*w->pieces), by_waiter);
	for (size_t i = 0; i < w->piece_count; i++) {
		uint32_t thread = w->pieces[i].thread;

		if (thread < WAITS_OWN)
			w->pieces[i].threads =
				b->waiter[thread] ? w->waiters[b->waiter[thread] - 1].threads : 1;
	}
	find_pieces(w);
}

static int by_time(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;
	uint64_t left = x->waiting + x->blocked, right = y->waiting + y->blocked;

	if (x->calls != y->calls)
		return x->calls ? -1 : 1;
	if (left != right)
		return left > right ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void sort_waiters(struct waits *w)
{
	if (w->count)
		qsort(w->waiters, w->count, sizeof(*w->waiters), by_time);
	for (size_t i = 0; i < w->count; i++)
		for (size_t k = 0; k < w->waiters[i].count; k++)
			w->pieces[w->waiters[i].first + k].waiter = (uint32_t)i;
	if (w->piece_count)
		qsort(w->pieces, w->piece_count, sizeof(*w->pieces), by_waiter);
	find_pieces(w);
}

static int build(struct builder *b, size_t rows)
{
	struct report *r = b->report;
	const char *arch = recording_fact(&r->recording, "host.arch");
	int ret = make_waiters(b);

	b->aarch64 = arch && !strcmp(arch, "aarch64");
	b->crew_count = parallel_workers();
	b->crews = calloc(b->crew_count, sizeof(*b->crews));
	if (!b->crews)
		return ERROR_MEMORY;
	if (!ret)
		ret = timeline_open(&b->timeline, &r->recording, &r->tasks, &r->procs);
	if (!ret)
		ret = begin_at_end(b);
	if (!ret)
		ret = timeline_each(&b->timeline, rows, one_span, b);
	if (!ret)
		ret = unite(b);
	if (ret)
		return ret;
	hand_over(b);
	sort_waiters(b->waits);
	return 0;
}

static void release_pendings(struct pendings *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].parts);
	free(p->list);
}

int waits_load(struct waits *w, struct report *r, size_t rows)
{
	struct builder b = { .waits = w, .report = r };
	int ret;

	memset(w, 0, sizeof(*w));
	ret = build(&b, rows);
	for (unsigned int i = 0; b.crews && i < b.crew_count; i++) {
		free(b.crews[i].pieces.list);
		free(b.crews[i].pieces.slots);
		free(b.crews[i].parts);
		release_pendings(&b.crews[i].pendings);
	}
	release_pendings(&b.pendings);
	free(b.crews);
	free(b.jobs);
	free(b.waiter);
	free(b.stands);
	free(b.first);
	free(b.whole);
	timeline_release(&b.timeline);
	return ret;
}

void waits_release(struct waits *w)
{
	free(w->waiters);
	free(w->pieces);
	memset(w, 0, sizeof(*w));
}
