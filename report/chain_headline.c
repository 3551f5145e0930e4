// SPDX-License-Identifier: BSD-2-Clause
/* Headlines of chains, and why of others nothing can be said. */
#include <stdio.h>
#include "chain_text.h"
#include "fmt.h"
#include "view_text.h"
#include "words.h"

#define ALSO 2		/* effects named after the worst */

/* "1,638x", "4.0x"; "" where there is nothing to compare with. */
static const char *times(char buf[FMT_SIZE], uint64_t ns, uint64_t p50)
{
	uint64_t tenths = p50 ? (uint64_t)((unsigned __int128)ns * 10 / p50) : 0;
	char count[FMT_SIZE];

	buf[0] = '\0';
	if (tenths >= 100)
		snprintf(buf, FMT_SIZE, "%.30sx", fmt_count(count, (tenths + 5) / 10));
	else if (p50)
		snprintf(buf, FMT_SIZE, "%u.%ux", (unsigned int)(tenths / 10), (unsigned int)(tenths % 10));
	return buf;
}

/* The p99, or the maximum where slow ones are rarer than one in a hundred. */
static bool p99_shows_it(const struct effect *e)
{
	return e->p99 >= 3 * e->p50;
}

static const char *ratio_of(const struct effect *e, char buf[FMT_SIZE])
{
	return times(buf, p99_shows_it(e) ? e->p99 : e->max, e->p50);
}

static void add_slow(struct words *w, const struct effect *e)
{
	char longest[FMT_SIZE], p50[FMT_SIZE], ratio[FMT_SIZE];
	const char *name = e->operation->name;

	if (e->kind == EFFECT_GAP)
		words_add(w, "gap after %s, before %s:", name, e->next ? e->next->name : "the next call");
	else
		words_add(w, "%s", name);
	words_add(w, " %s %s", p99_shows_it(e) ? "p99" : "up to",
		  fmt_ns(longest, p99_shows_it(e) ? e->p99 : e->max));
	if (*ratio_of(e, ratio))
		words_add(w, " (%s p50 %s)", ratio, fmt_ns(p50, e->p50));
	else
		words_add(w, " (p50 %s)", fmt_ns(p50, e->p50));
}

static void add_starvation(struct words *w, const struct report *r, const struct chain *c,
			   const struct effect *e)
{
	char name[CHAIN_NAME], share[FMT_SIZE], mean[FMT_SIZE], count[FMT_SIZE];

	words_add(w, "%s gave the device no work for %s of its active span: ",
		  chain_label(r, c, c->process, TASKS_NONE, name, sizeof(name)),
		  fmt_percent(share, e->lost, c->span));
	if (e->calls == 1)
		words_add(w, "one gap after %s, %s", e->operation->name, fmt_ns(mean, e->lost));
	else
		words_add(w, "%s gaps after %s, mean %s", fmt_count(count, e->calls),
			  e->operation->name, fmt_ns(mean, e->calls ? e->lost / e->calls : 0));
}

static void add_also(struct words *w, const struct effect *e, bool first)
{
	char ratio[FMT_SIZE], lost[FMT_SIZE];

	words_add(w, first ? "; also " : ", ");
	if (e->kind == EFFECT_STARVATION)
		words_add(w, "no work after %s %s", e->operation->name, fmt_ns(lost, e->lost));
	else if (*ratio_of(e, ratio))
		words_add(w, "%s%s %s", e->kind == EFFECT_GAP ? "gap after " : "",
			  e->operation->name, ratio);
	else
		words_add(w, "%s%s", e->kind == EFFECT_GAP ? "gap after " : "", e->operation->name);
}

/* The same place on another thread, or for another size, is not named twice. */
static bool named_before(const struct chain *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (c->effects[k].kind == c->effects[i].kind &&
		    c->effects[k].operation == c->effects[i].operation)
			return true;
	return false;
}

static void add_others(struct words *w, const struct chain *c)
{
	size_t named = 0, more = 0;

	for (size_t i = 1; i < c->effect_count; i++) {
		if (named_before(c, i))
			continue;
		if (named < ALSO)
			add_also(w, &c->effects[i], !named++);
		else
			more++;
	}
	if (more)
		words_add(w, ", %zu more", more);
}

const char *chain_headline(const struct report *r, const struct chain *c, char *buf, size_t size)
{
	const struct effect *worst = c->effects;
	char name[CHAIN_NAME];
	struct words w;

	words_begin(&w, buf, size);
	if (!c->effect_count)
		return buf;
	if (r->roles.mains > 1 && worst->kind != EFFECT_STARVATION)
		words_add(&w, "%s: ", chain_label(r, c, c->process, TASKS_NONE, name, sizeof(name)));
	if (worst->kind == EFFECT_STARVATION)
		add_starvation(&w, r, c, worst);
	else
		add_slow(&w, worst);
	add_others(&w, c);
	return buf;
}

/* ------------------------------------------------------------------ what cannot be told */

const char *cannot_name(enum cannot_reason reason)
{
	switch (reason) {
	case CANNOT_LOST_CALLS:
		return "lost_calls";
	case CANNOT_LOST_SWITCHES:
		return "lost_switches";
	case CANNOT_NO_SWITCHES:
		return "no_switches";
	case CANNOT_NO_CALLS:
		return "no_calls";
	case CANNOT_FEW_CALLS:
		return "few_calls";
	case CANNOT_CPUS_LEFT_OUT:
		return "cpus_left_out";
	}
	return "unknown";
}

static void add_place(struct words *w, const struct report *r, const struct cannot_tell *t)
{
	char name[CHAIN_NAME], lost[FMT_SIZE], share[FMT_SIZE];

	if (!t->lost) {
		words_add(w, "cannot tell what was lost");
		return;
	}
	words_add(w, "cannot tell why ");
	if (t->process != TASKS_UNKNOWN)
		words_add(w, "%s ", process_label(r, t->process, name, sizeof(name)));
	else
		words_add(w, "the program ");
	words_add(w, "lost %s", fmt_ns(lost, t->lost));
	if (t->span)
		words_add(w, " (%s of its active span)", fmt_percent(share, t->lost, t->span));
	if (t->operation)
		words_add(w, " around %s", t->operation->name);
}

static void add_lost_rows(struct words *w, const struct report *r, const struct cannot_tell *t)
{
	bool calls = t->reason == CANNOT_LOST_CALLS;
	char missing[FMT_SIZE];

	add_place(w, r, t);
	if (calls)
		words_add(w, ": too many calls are missing; record again with a larger --buffer, or fewer calls (--ops)");
	else if (r->completeness.switches_lossy)
		words_add(w, ": the context switches of %s of it were lost; record again with a larger --buffer",
			  fmt_percent(missing, t->missing, t->lost));
	else
		words_add(w, ": %s of it is unrecorded, as this machine hid threads from the recorder; record again, if possible on the machine itself and not in a virtual one",
			  fmt_percent(missing, t->missing, t->lost));
}

const char *cannot_text(const struct report *r, const struct cannot_tell *t, char *buf, size_t size)
{
	struct words w;

	words_begin(&w, buf, size);
	switch (t->reason) {
	case CANNOT_LOST_CALLS:
	case CANNOT_LOST_SWITCHES:
		add_lost_rows(&w, r, t);
		break;
	case CANNOT_NO_SWITCHES:
		words_add(&w, "cannot tell what calls waited for: there is no context switch in the file, and --info says what was recorded; record again");
		break;
	case CANNOT_NO_CALLS:
		words_add(&w, "cannot tell whether anything was lost: there is no CUDA call in %s",
			  select_any(&r->selection) ? "this part of the recording" : "the file");
		break;
	case CANNOT_FEW_CALLS:
		words_add(&w, "cannot tell what is slow: no operation was called ten times, so there is nothing to compare with; %s a longer part of the run%s",
			  select_any(&r->selection) ? "take" : "record",
			  r->selected ? ", or more operations (drop --ops)" : "");
		break;
	case CANNOT_CPUS_LEFT_OUT:
		words_add(&w, "cannot tell what was lost: with --cpu threads are seen on some CPUs only, and who kept them waiting may have been on another; leave --cpu out");
		break;
	}
	return buf;
}
