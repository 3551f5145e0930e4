// SPDX-License-Identifier: BSD-2-Clause
/* --explain: one call taken apart, hop by hop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../common/options.h"
#include "chain_text.h"
#include "detail.h"
#include "fmt.h"
#include "moment.h"
#include "syscalls.h"
#include "view.h"
#include "view_chains.h"
#include "view_text.h"
#include "words.h"

#define NS_S 1000000000ull
#define STRETCHES_SHOWN 60

/* ------------------------------------------------------------------ OP@TIME */

/* A moment as it is printed may lie a little before what it means. */
static int read_time(const struct recording *r, const char *text, uint64_t *ts, struct error *e)
{
	char range[160];

	if (!moment_read(r, text, ts)) {
		error_set(e, ERROR_USAGE, "option \"--explain\": no time: \"%s\"", text);
		return error_hint(e, "seconds from the start (12.345), or the time of day (14:03:07.218)");
	}
	if (*ts < r->whole_start && r->whole_start - *ts < NS_S / 1000)
		*ts = r->whole_start;
	*ts += !*ts;
	if (*ts >= r->whole_start && *ts <= r->whole_end)
		return 0;
	error_set(e, ERROR_USAGE, "option \"--explain\": \"%s\" is not within the recording", text);
	return error_hint(e, "it covers %s", moment_range(r, range, sizeof(range)));
}

/* ------------------------------------------------------------------ print */

static const char *thread_label(const struct report *r, uint32_t thread, char *buf, size_t size)
{
	struct chain none = { .process = TASKS_UNKNOWN };
	const struct thread *t = &r->tasks.threads[thread < r->tasks.thread_count ? thread : TASKS_UNKNOWN];
	char name[64], process[CHAIN_NAME];
	struct words w;

	if (thread == TASKS_IDLE || t->process == TASKS_UNKNOWN) {
		snprintf(buf, size, thread == TASKS_IDLE ? "nobody" : "a thread not known");
		return buf;
	}
	words_begin(&w, buf, size);
	words_add(&w, "%s", chain_label(r, &none, t->process, TASKS_NONE, process, sizeof(process)));
	fmt_text(name, sizeof(name), t->name, 20);
	if (thread != r->tasks.processes[t->process].leader)
		words_add(&w, " (thread %s %u)", name, t->tid);
	return buf;
}

static const char *interrupt_name(const struct stretch *s)
{
	switch (s->vector) {
	case VECTOR_TIMER: case VECTOR_HRTIMER: case VECTOR_HARD_TIMER:
		return "a timer";
	case VECTOR_NET_TX: case VECTOR_NET_RX:
		return "the network";
	case VECTOR_BLOCK: case VECTOR_IRQ_POLL:
		return "block I/O";
	case VECTOR_HARD_DEVICE:
		return "a device's interrupt";
	}
	return s->context == WAKER_UNKNOWN || s->context == WAKER_NONE ? "something not known" :
								       "an interrupt";
}

static void add_blocked(struct words *w, const struct report *r, const struct stretch *s)
{
	const char *arch = recording_fact(&r->recording, "host.arch");
	const char *call = s->syscall ? syscall_name(arch && !strcmp(arch, "aarch64"), s->syscall - 1) : NULL;
	char name[CHAIN_NAME];

	words_add(w, "blocked");
	if (call)
		words_add(w, " in %s", call);
	else if (s->syscall)
		words_add(w, " in syscall %u", s->syscall - 1);
	if (s->io_wait)
		words_add(w, ", in I/O wait");
	if (s->by != TASKS_NONE && s->kind == CAUSE_LOCK_GUESS)
		words_add(w, ", timed out while %s ran", thread_label(r, s->by, name, sizeof(name)));
	else if (s->by != TASKS_NONE)
		words_add(w, ", woken by %s", thread_label(r, s->by, name, sizeof(name)));
	else
		words_add(w, ", woken by %s", interrupt_name(s));
}

static void add_state(struct words *w, const struct report *r, const struct stretch *s)
{
	char name[CHAIN_NAME];

	switch (s->state) {
	case STRETCH_RUNNING:
		words_add(w, "running on CPU %u", s->cpu);
		break;
	case STRETCH_WAITING:
		words_add(w, "waiting for CPU %u", s->cpu);
		if (s->by == TASKS_NONE && s->kind == CAUSE_WAKE_LATENCY)
			words_add(w, ", where nobody ran");
		else if (s->by != TASKS_NONE)
			words_add(w, ", where %s ran", thread_label(r, s->by, name, sizeof(name)));
		break;
	case STRETCH_THROTTLED:
		words_add(w, "held back by the CPU quota");
		break;
	case STRETCH_BLOCKED:
		add_blocked(w, r, s);
		break;
	case STRETCH_UNRECORDED:
		words_add(w, "not recorded");
		break;
	}
	if (s->kind)
		words_add(w, " [%s]", cause_kind_name(s->kind));
}

/* "+12.3 ms  4.10 ms  main running ...", a step to the right for each wake-up followed. */
static void print_stretch(const struct report *r, const struct explanation *x, const struct stretch *s,
			  const struct page *out)
{
	char at[FMT_SIZE], length[FMT_SIZE], plus[FMT_SIZE + 2], name[CHAIN_NAME], text[CHAIN_LINE];
	struct words w;

	snprintf(plus, sizeof(plus), "+%s", fmt_ns(at, s->start > x->start ? s->start - x->start : 0));
	words_begin(&w, text, sizeof(text));
	if (s->depth)
		words_add(&w, "%s ", thread_label(r, s->thread, name, sizeof(name)));
	add_state(&w, r, s);
	print_wrapped(out, 24 + 2 * (size_t)s->depth, "%10s %10s  %*s%s", plus,
		      fmt_ns(length, s->end - s->start), 2 * (int)s->depth, "", text);
}

static int by_length(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* ns of the last of the STRETCHES_SHOWN longest; 0: all are shown. */
static uint64_t shortest_shown(const struct explanation *x)
{
	uint64_t *lengths = x->count > STRETCHES_SHOWN ? malloc(x->count * sizeof(*lengths)) : NULL;
	uint64_t least;

	if (!lengths)
		return 0;
	for (size_t i = 0; i < x->count; i++)
		lengths[i] = x->stretches[i].end - x->stretches[i].start;
	qsort(lengths, x->count, sizeof(*lengths), by_length);
	least = lengths[STRETCHES_SHOWN - 1];
	free(lengths);
	return least;
}

static void print_stretches(const struct report *r, const struct explanation *x,
			    const struct page *out)
{
	uint64_t least = shortest_shown(x);
	char length[FMT_SIZE];
	size_t left = 0;

	if (!x->count)
		return;
	fputc('\n', out->file);
	print_wrapped(out, 23, "%10s %10s  what, a step to the right for each wake-up followed",
		      "from", "for");
	for (size_t i = 0; i < x->count; i++)
		if (x->stretches[i].end - x->stretches[i].start >= least)
			print_stretch(r, x, &x->stretches[i], out);
		else
			left++;
	if (left)
		print_wrapped(out, 2, "left out: %zu shorter than %s", left, fmt_ns(length, least));
	if (x->cut)
		print_wrapped(out, 2, "the rest is not kept: it was in too many pieces");
}

/* Time of the calling thread itself by state. */
static void print_states(const struct explanation *x, const struct page *out)
{
	static const char *const names[] = {
		[STRETCH_RUNNING] = "running", [STRETCH_WAITING] = "waiting",
		[STRETCH_THROTTLED] = "throttled", [STRETCH_BLOCKED] = "blocked",
		[STRETCH_UNRECORDED] = "unrecorded",
	};
	uint64_t parts[STRETCH_UNRECORDED + 1] = { 0 };
	unsigned int shares[STRETCH_UNRECORDED + 1];
	char text[CHAIN_LINE], ns[FMT_SIZE];
	struct words w;

	for (size_t i = 0; i < x->count; i++)
		if (!x->stretches[i].depth)
			parts[x->stretches[i].state] += x->stretches[i].end - x->stretches[i].start;
	shares_round(parts, STRETCH_UNRECORDED + 1, 1000, shares);
	words_begin(&w, text, sizeof(text));
	for (size_t i = 1; i <= STRETCH_UNRECORDED; i++)
		if (parts[i])
			words_item(&w, ", ", "%s %u.%u %% (%s)", names[i], shares[i] / 10, shares[i] % 10,
				   fmt_ns(ns, parts[i]));
	if (w.length)
		print_wrapped(out, 9, "account: %s", text);
}

static void print_call(const struct report *r, const struct explanation *x, const struct page *out)
{
	const struct recording *rec = &r->recording;
	char length[FMT_SIZE], at[FMT_SIZE], p50[FMT_SIZE], since[FMT_SIZE], name[CHAIN_NAME];

	print_wrapped(out, 2, "%s: %s at %s (@%s), %s, TID %u; p50 %s",
		      x->operation->name, fmt_ns(length, x->end - x->start),
		      fmt_clock(at, recording_realtime(rec, x->start)),
		      chain_moment(rec, x->start, since, sizeof(since)),
		      thread_label(r, x->thread, name, sizeof(name)), r->tasks.threads[x->thread].tid,
		      fmt_ns(p50, x->p50));
}

static uint64_t state_sum(const struct explanation *x, enum stretch_state state)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < x->count; i++)
		if (!x->stretches[i].depth && x->stretches[i].state == state)
			ns += x->stretches[i].end - x->stretches[i].start;
	return ns;
}

static void print_call_causes(const struct report *r, const struct explanation *x,
			      const struct page *out)
{
	struct effect effect = { .kind = EFFECT_SLOW_CALL, .thread = x->thread, .operation = x->operation };
	struct chain c = {
		.process = x->process, .lost = x->end - x->start, .effects = &effect, .effect_count = 1,
		.causes = x->causes, .cause_count = x->cause_count,
		.account = { .unrecorded = state_sum(x, STRETCH_UNRECORDED) },
	};

	if (!x->cause_count)
		return;
	print_causes(r, &c, out);
}

static void print_explanation(const struct report *r, const struct explanation *x,
			      const struct page *out)
{
	print_completeness(r, out);
	fputc('\n', out->file);
	print_call(r, x, out);
	print_states(x, out);
	print_call_causes(r, x, out);
	print_stretches(r, x, out);
}

int view_explain(struct report *r, const char *request, const struct page *out, struct error *e)
{
	const char *at = strchr(request, '@');
	char name[128];
	const struct latency_row *row = NULL;
	struct explanation x = { 0 };
	uint64_t ts = 0;
	int ret;

	snprintf(name, sizeof(name), "%.*s", at ? (int)(at - request) : (int)strlen(request), request);
	ret = detail_find(r, "explain", name, &row, e);
	if (!ret && at)
		ret = read_time(&r->recording, at + 1, &ts, e);
	if (ret)
		return ret;
	ret = chains_explain(&x, r, row->operation->name, ts);
	if (!ret) {
		print_explanation(r, &x, out);
	} else if (ret == ERROR_MEMORY) {
		error_set(e, ret, "out of memory");
	} else {
		ret = error_set(e, ERROR_USAGE, "option \"--explain\": no call of %s returned%s%s",
				row->operation->name,
				at ? " at or after " : "", at ? at + 1 : "");
	}
	explanation_release(&x);
	return ret;
}
