// SPDX-License-Identifier: BSD-2-Clause
/* --op-detail: one operation by thread, size, kind and stream, its durations, its slowest calls. */
#include <stdio.h>
#include "chain_text.h"
#include "cuda_errors.h"
#include "detail.h"
#include "fmt.h"
#include "view.h"
#include "view_operations.h"
#include "view_processes.h"
#include "view_text.h"
#include "words.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LABEL 96

/* The figures of a class. */
#define CLASS_COLUMNS \
	{ "calls", "calls", CELL_COUNT, COLUMN_SUM }, \
	{ "nested", "nested", CELL_COUNT, COLUMN_WIDE | COLUMN_SPARSE | COLUMN_SUM }, \
	{ "failed", "failed", CELL_COUNT, COLUMN_SPARSE | COLUMN_SUM }, \
	{ "p50_ns", "p50", CELL_NS, 0 }, \
	{ "p99_ns", "p99", CELL_NS, COLUMN_LIKE }, \
	{ "max_ns", "max", CELL_NS, COLUMN_LIKE }, \
	{ "total_ns", "total", CELL_NS, COLUMN_SUM | COLUMN_MAIN }, \
	{ "percentile_n", "n", CELL_COUNT, COLUMN_DATA | COLUMN_SUM }

static const struct listing_column thread_columns[] = {
	{ "pid", "PID", CELL_ID, 0 },
	{ "process_name", "process", CELL_TEXT, COLUMN_DATA },
	{ "role", "role", CELL_TEXT, COLUMN_WIDE },
	{ "tid", "TID", CELL_ID, 0 },
	{ "thread", "thread", CELL_TEXT, COLUMN_SHRINK },
	CLASS_COLUMNS,
};

static const struct listing_column size_columns[] = {
	{ "size", "size", CELL_TEXT, 0 },
	{ "from_bytes", "from", CELL_BYTES, COLUMN_DATA },
	{ "below_bytes", "below", CELL_BYTES, COLUMN_DATA },
	CLASS_COLUMNS,
	{ "bytes", "bytes", CELL_BYTES, COLUMN_SUM },
	{ "bytes_per_second", "per s", CELL_BYTES, COLUMN_OPTIONAL },
	{ "inside_ns", "inside", CELL_NS, COLUMN_DATA | COLUMN_SUM },
};

static const struct listing_column kind_columns[] = {
	{ "kind", "kind of copy", CELL_TEXT, 0 },
	{ "copy_kind", "cudaMemcpyKind", CELL_ID, COLUMN_DATA },
	CLASS_COLUMNS,
	{ "bytes", "bytes", CELL_BYTES, COLUMN_SUM },
	{ "bytes_per_second", "per s", CELL_BYTES, COLUMN_OPTIONAL },
	{ "inside_ns", "inside", CELL_NS, COLUMN_DATA | COLUMN_SUM },
};

static const struct listing_column stream_columns[] = {
	{ "pid", "PID", CELL_ID, 0 },
	{ "role", "role", CELL_TEXT, COLUMN_WIDE },
	{ "stream", "stream", CELL_TEXT, 0 },
	CLASS_COLUMNS,
	{ "bytes", "bytes", CELL_BYTES, COLUMN_WIDE | COLUMN_SUM },
	{ "bytes_per_second", "per s", CELL_BYTES, COLUMN_WIDE },
	{ "inside_ns", "inside", CELL_NS, COLUMN_DATA | COLUMN_SUM },
};

static const struct listing_column duration_columns[] = {
	{ "duration", "duration", CELL_TEXT, 0 },
	{ "from_ns", "from", CELL_NS, COLUMN_DATA },
	{ "below_ns", "below", CELL_NS, COLUMN_DATA },
	{ "calls", "calls", CELL_COUNT, COLUMN_SUM | COLUMN_MAIN },
	{ "share", "share", CELL_SHARE, COLUMN_SUM },
	{ "share_up_to", "up to it", CELL_SHARE, 0 },
	{ "bar", "", CELL_BAR, 0 },
};

static const struct listing_column slowest_columns[] = {
	{ "rank", "#", CELL_ID, 0 },
	{ "start_ns", "began", CELL_TIME, 0 },
	{ "moment", "at s", CELL_TEXT, 0 },
	{ "pid", "PID", CELL_ID, 0 },
	{ "role", "role", CELL_TEXT, COLUMN_WIDE },
	{ "tid", "TID", CELL_ID, 0 },
	{ "thread", "thread", CELL_TEXT, COLUMN_WIDE },
	{ "duration_ns", "took", CELL_NS, COLUMN_MAIN },
	{ "bytes", "bytes", CELL_BYTES, COLUMN_SPARSE | COLUMN_OPTIONAL },
	{ "kind", "kind of copy", CELL_TEXT, COLUMN_WIDE | COLUMN_SPARSE },
	{ "stream", "stream", CELL_TEXT, COLUMN_WIDE | COLUMN_SPARSE },
	{ "code", "code", CELL_ID, COLUMN_WIDE },
	{ "depth", "depth", CELL_COUNT, COLUMN_DATA },
	{ "note", "note", CELL_TEXT, COLUMN_SHRINK | COLUMN_SPARSE },
};

static const struct listing_column account_columns[] = {
	{ "rank", "#", CELL_ID, 0 },
	{ "start_ns", "began", CELL_TIME, COLUMN_DATA },
	{ "tid", "TID", CELL_ID, COLUMN_DATA },
	{ "duration_ns", "took", CELL_NS, COLUMN_MAIN },
	{ "running_ns", "running", CELL_NS, COLUMN_SPARSE | COLUMN_SUM },
	{ "waiting_ns", "waiting", CELL_NS, COLUMN_LIKE | COLUMN_SPARSE | COLUMN_SUM },
	{ "blocked_ns", "blocked", CELL_NS, COLUMN_LIKE | COLUMN_SPARSE | COLUMN_SUM },
	{ "device_ns", "device", CELL_NS, COLUMN_SPARSE | COLUMN_SUM },
	{ "unrecorded_ns", "unrecorded", CELL_NS, COLUMN_SPARSE | COLUMN_SUM },
	{ "cause", "most of it", CELL_TEXT, COLUMN_SHRINK },
	{ "cause_kind", "kind", CELL_TEXT, COLUMN_DATA },
	{ "cause_pid", "by PID", CELL_ID, COLUMN_DATA },
	{ "cause_ns", "of which", CELL_NS, COLUMN_DATA },
};

static void add_role(struct listing *t, const struct report *r, uint32_t process)
{
	char role[64];

	roles_text(&r->roles, process, role, sizeof(role));
	listing_text(t, *role ? role : NULL);
}

static void add_figures(struct listing *t, const struct report *r, const struct detail_class *c)
{
	bool lossy = r->completeness.calls_lossy;

	list_number(t, true, c->calls, lossy);
	list_number(t, true, c->nested, lossy);
	list_number(t, true, c->failed, lossy);
	list_number(t, c->n, c->p50, lossy);
	list_number(t, c->n, c->p99, lossy);
	listing_bound(t, c->n && c->n < 100);
	list_number(t, c->n, c->max, lossy);
	list_number(t, true, c->total, lossy);
	list_number(t, true, c->n, lossy);
}

/* Bytes, bytes a second inside these calls, and the time that is of. */
static void add_bytes(struct listing *t, const struct report *r, const struct detail_class *c)
{
	bool lossy = r->completeness.calls_lossy;
	unsigned __int128 bytes = c->bytes, rate = c->inside ? bytes * 1000000000 / c->inside : 0;

	list_number(t, true, c->bytes, lossy);
	list_number(t, c->inside && c->bytes, rate < UINT64_MAX ? (uint64_t)rate : UINT64_MAX,
		    lossy);
	list_number(t, true, c->inside, lossy);
}

static void add_thread(struct listing *t, const struct report *r, uint32_t process, uint32_t thread)
{
	const struct thread *of = &r->tasks.threads[thread];

	list_number(t, process != TASKS_UNKNOWN, r->tasks.processes[process].tgid, false);
	listing_text(t, process != TASKS_UNKNOWN ? r->tasks.processes[process].name : NULL);
	add_role(t, r, process);
	list_number(t, thread != TASKS_UNKNOWN, of->tid, false);
	listing_text(t, thread != TASKS_UNKNOWN ? of->name : NULL);
}

static void thread_table(const struct report *r, const struct detail *d, struct listing_set *out)
{
	struct listing *t = listing_set_add(out, "by_thread", "by thread", thread_columns,
					    COUNT(thread_columns));

	t->limit = 20;
	for (size_t i = 0; i < d->counts[DETAIL_THREAD]; i++) {
		const struct detail_class *c = &d->classes[DETAIL_THREAD][i];

		add_thread(t, r, c->process, (uint32_t)c->key);
		add_figures(t, r, c);
	}
	if (d->folded[DETAIL_THREAD])
		listing_note(t, "more than %d threads: not told apart", DETAIL_CLASSES_MAX);
}

/* "64 KiB", of a power of two. */
static const char *power_text(char buf[FMT_SIZE], uint64_t bits)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	snprintf(buf, FMT_SIZE, "%u %s", 1u << bits % 10, units[bits / 10 % COUNT(units)]);
	return buf;
}

static const char *size_text(char buf[LABEL], uint64_t key)
{
	char from[FMT_SIZE], to[FMT_SIZE];

	if (key <= DETAIL_SIZE_ZERO)
		return key == DETAIL_SIZE_NONE ? "no size" : "0 B";
	if (key == 2)
		return "1 B";
	snprintf(buf, LABEL, "%s to %s", power_text(from, key - 2), power_text(to, key - 1));
	return buf;
}

static void size_table(const struct report *r, const struct detail *d, struct listing_set *out)
{
	struct listing *t =
		listing_set_add(out, "by_size", "by size", size_columns, COUNT(size_columns));
	const struct detail_class *classes = d->classes[DETAIL_SIZE];
	size_t count = d->counts[DETAIL_SIZE];
	char buf[LABEL];

	if (count == 1 && classes->key == DETAIL_SIZE_NONE)
		return;
	for (size_t i = 0; i < count; i++) {
		uint64_t key = classes[i].key;

		listing_text(t, size_text(buf, key));
		list_number(t, key != DETAIL_SIZE_NONE, key > 1 ? 1ull << (key - 2) : 0, false);
		list_number(t, key != DETAIL_SIZE_NONE && key < 65,
			    key > 1 ? 1ull << (key - 1) % 64 : 1, false);
		add_figures(t, r, &classes[i]);
		add_bytes(t, r, &classes[i]);
	}
}

static const char *kind_text(uint64_t kind)
{
	static const char *const kinds[] = {
		"host to host", "host to device", "device to host", "device to device",
		"as the addresses say", "other",
	};

	return kind == DETAIL_NONE ? "none" :
				     kinds[kind < DETAIL_KIND_OTHER ? kind : DETAIL_KIND_OTHER];
}

static void kind_table(const struct report *r, const struct detail *d, struct listing_set *out)
{
	struct listing *t = listing_set_add(out, "by_kind", "by kind of copy", kind_columns,
					    COUNT(kind_columns));
	const struct detail_class *classes = d->classes[DETAIL_KIND];
	size_t count = d->counts[DETAIL_KIND];

	if (count == 1 && classes->key == DETAIL_NONE)
		return;
	for (size_t i = 0; i < count; i++) {
		listing_text(t, kind_text(classes[i].key));
		list_number(t, classes[i].key < DETAIL_KIND_OTHER, classes[i].key, false);
		add_figures(t, r, &classes[i]);
		add_bytes(t, r, &classes[i]);
	}
}

static const char *stream_text(char buf[LABEL], uint64_t stream)
{
	switch (stream) {
	case DETAIL_NONE:
		return "none";
	case DETAIL_STREAM_DEFAULT:
		return "default";
	case DETAIL_STREAM_LEGACY:
		return "legacy default";
	case DETAIL_STREAM_THREAD:
		return "per-thread default";
	}
	snprintf(buf, LABEL, "0x%llx", (unsigned long long)stream);
	return buf;
}

static void stream_table(const struct report *r, const struct detail *d, struct listing_set *out)
{
	struct listing *t = listing_set_add(out, "by_stream", "by stream", stream_columns,
					    COUNT(stream_columns));
	const struct detail_class *classes = d->classes[DETAIL_STREAM];
	size_t count = d->counts[DETAIL_STREAM];
	bool any = d->folded[DETAIL_STREAM];
	char buf[LABEL];

	t->limit = 20;
	for (size_t i = 0; i < count; i++)
		any |= classes[i].key != DETAIL_NONE;
	for (size_t i = 0; i < count && any; i++) {
		list_number(t, classes[i].process != TASKS_UNKNOWN,
			    r->tasks.processes[classes[i].process].tgid, false);
		add_role(t, r, classes[i].process);
		listing_text(t,
			     d->folded[DETAIL_STREAM] ? "all" : stream_text(buf, classes[i].key));
		add_figures(t, r, &classes[i]);
		add_bytes(t, r, &classes[i]);
	}
	if (d->folded[DETAIL_STREAM])
		listing_note(t, "more than %d streams: not told apart", DETAIL_CLASSES_MAX);
}

/* "20 us": one figure, as bounds of bins have. */
static const char *bound_text(char buf[FMT_SIZE], uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;

	for (; unit + 1 < COUNT(units) && ns >= 1000; unit++)
		ns /= 1000;
	snprintf(buf, FMT_SIZE, "%llu %s", (unsigned long long)ns, units[unit]);
	return buf;
}

static void add_bin(struct listing *t, const struct detail *d, size_t bin, uint64_t sum,
		    uint64_t most)
{
	bool last = bin + 1 == DETAIL_BINS;
	char text[LABEL], from[FMT_SIZE], to[FMT_SIZE];

	bound_text(from, detail_bin(bin));
	snprintf(text, sizeof(text), "%s to %s", from,
		 last ? "" : bound_text(to, detail_bin(bin + 1)));
	listing_text(t, text);
	listing_number(t, detail_bin(bin));
	list_number(t, !last, detail_bin(bin + 1), false);
	listing_number(t, d->bins[bin]);
	listing_pair(t, d->bins[bin], d->whole.n);
	listing_pair(t, sum, d->whole.n);
	listing_pair(t, d->bins[bin], most);
}

static void duration_table(const struct detail *d, struct listing_set *out)
{
	struct listing *t = listing_set_add(out, "durations", "durations of good calls",
					    duration_columns, COUNT(duration_columns));
	size_t first = DETAIL_BINS, last = 0;
	uint64_t most = 0, sum = 0;

	for (size_t i = 0; i < DETAIL_BINS; i++) {
		most = d->bins[i] > most ? d->bins[i] : most;
		first = d->bins[i] && first == DETAIL_BINS ? i : first;
		last = d->bins[i] ? i : last;
	}
	for (size_t i = first; i <= last && most; i++) {
		sum += d->bins[i];
		add_bin(t, d, i, sum, most);
	}
}

static void add_note(struct listing *t, const struct report *r, const struct detail *d,
		     const struct detail_call *call)
{
	char text[LABEL + 32] = "", name[LABEL];
	struct words w;

	cuda_error_name(d->row->operation->layer, call->code, name, sizeof(name));
	words_begin(&w, text, sizeof(text));
	if (call->first)
		words_item(&w, ", ", "first");
	if (call->depth)
		words_item(&w, ", ", "nested");
	if (!call->good)
		words_item(&w, ", ", "failed%s%s", *name ? ": " : "", name);
	if (call->start < r->recording.start)
		words_item(&w, ", ", "began before the span");
	listing_text(t, *text ? text : NULL);
}

static void add_slow(struct listing *t, const struct report *r, const struct detail *d, size_t i)
{
	const struct detail_call *call = &d->slowest[i];
	char buf[LABEL], code[32];

	listing_number(t, i + 1);
	list_time(r, t, true, call->start);
	listing_text(t, chain_moment(&r->recording, call->start, buf, sizeof(buf)));
	list_number(t, call->process != TASKS_UNKNOWN, r->tasks.processes[call->process].tgid,
		    false);
	add_role(t, r, call->process);
	listing_number(t, call->tid);
	listing_text(t, call->thread != TASKS_UNKNOWN ? r->tasks.threads[call->thread].name : NULL);
	listing_number(t, call->end - call->start);
	list_number(t, call->sized, call->bytes, false);
	listing_text(t, call->kind == DETAIL_NONE ? NULL : kind_text(call->kind));
	listing_text(t, call->stream == DETAIL_NONE ? NULL : stream_text(buf, call->stream));
	snprintf(code, sizeof(code), "%lld", (long long)call->code);
	if (call->code < 0)
		listing_text(t, code);
	else
		listing_number(t, (uint64_t)call->code);
	listing_number(t, call->depth);
	add_note(t, r, d, call);
}

static void slowest_table(const struct report *r, const struct detail *d, struct listing_set *out)
{
	struct listing *t = listing_set_add(out, "slowest", "slowest calls", slowest_columns,
					    COUNT(slowest_columns));

	for (size_t i = 0; i < d->slowest_count; i++)
		add_slow(t, r, d, i);
}

/* "waiting for a CPU: hog 1234"; "others" where it took less than half of that. */
static void add_cause(struct listing *t, const struct report *r, const struct call_account *a)
{
	struct effect effect = {
		.kind = EFFECT_SLOW_CALL, .thread = a->thread, .operation = a->operation,
	};
	const struct chain c = { .process = a->process, .effects = &effect, .effect_count = 1 };
	const struct cause *cause = &a->cause;
	char name[CHAIN_NAME], text[CHAIN_LINE];
	bool other = cause->process != TASKS_UNKNOWN && cause->thread != a->thread;

	if (!cause->kind) {
		listing_none(t);
		listing_none(t);
		listing_none(t);
		listing_none(t);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s%s", chain_class(cause->kind), other ? ": " : "",
		 other ? chain_label(r, &c, cause->process, cause->thread, name, sizeof(name)) : "",
		 other && cause->ns < a->cause_ns / 2 ? ", others" : "");
	listing_text(t, text);
	listing_text(t, cause_kind_name(cause->kind));
	list_number(t, other, r->tasks.processes[cause->process].tgid, false);
	listing_number(t, a->cause_ns);
}

static void account_table(const struct report *r, const struct detail *d, struct listing_set *out)
{
	struct listing *t = listing_set_add(out, "slowest_accounts", "where their time went",
					    account_columns, COUNT(account_columns));
	bool lossy = r->completeness.switches_lossy;
	char at[LABEL];

	for (size_t i = 0; i < d->slowest_count; i++) {
		const struct call_account *a = &d->accounts[i];

		listing_number(t, i + 1);
		list_time(r, t, true, a->start);
		listing_number(t, d->slowest[i].tid);
		listing_number(t, a->end - a->start);
		list_number(t, true, a->running, lossy);
		list_number(t, true, a->waiting, lossy);
		list_number(t, true, a->blocked, lossy);
		list_number(t, true, a->device, lossy);
		list_number(t, true, a->unrecorded, lossy);
		add_cause(t, r, a);
	}
	if (d->slowest_count)
		listing_note(t, "one of them hop by hop: --explain %s@%s", d->row->operation->name,
			     chain_moment(&r->recording, d->slowest[0].start, at, sizeof(at)));
}

static bool any_bound(const struct detail *d)
{
	for (enum detail_partition p = 0; p < DETAIL_PARTITIONS; p++)
		for (size_t i = 0; i < d->counts[p]; i++)
			if (d->classes[p][i].n && d->classes[p][i].n < 100)
				return true;
	return false;
}

static void summary_table(const struct report *r, const struct detail *d, struct listing_set *out)
{
	struct listing *t = operation_table(out, "operation", OPERATIONS_ALL);
	char buf[FMT_SIZE];

	operation_row(t, r, d->row);
	if (d->row->firsts)
		listing_note(t, "first calls, in no percentile: %s",
			     fmt_count(buf, d->row->firsts));
	if (any_bound(d))
		listing_note(t, "%s", OPERATIONS_BOUND);
}

int view_detail_tables(struct report *r, const char *argument, struct listing_set *out,
		       struct error *e)
{
	uint64_t slowest = r->order_by.top ? r->order_by.top : DETAIL_SLOWEST;
	const struct latency_row *row = NULL;
	struct detail d = { 0 };
	int ret = detail_find(r, "op-detail", argument, &row, e);

	if (!ret && detail_load(&d, r, row, slowest))
		ret = error_set(e, ERROR_MEMORY, "out of memory");
	if (!ret) {
		summary_table(r, &d, out);
		thread_table(r, &d, out);
		size_table(r, &d, out);
		kind_table(r, &d, out);
		stream_table(r, &d, out);
		duration_table(&d, out);
		slowest_table(r, &d, out);
		account_table(r, &d, out);
	}
	detail_release(&d);
	return ret;
}
