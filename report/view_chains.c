// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include "advice.h"
#include "chain_text.h"
#include "fmt.h"
#include "view.h"
#include "view_chains.h"
#include "view_text.h"
#include "words.h"

#define CANNOT_TOLD 3	/* of what cannot be told, in sentences */

#define CHAINS_SHOWN 3		/* on the default screen */
#define EFFECTS_SHOWN 2
#define NAMES_SHOWN 3		/* of the largest class in the line of what was lost */
#define CLASSES_SHOWN 6
#define CLASS_PERCENT 2		/* smaller ones are summed */
#define NAMES_PERCENT 10	/* of the lost time: smaller classes have no names */

static const char *mark(const struct report *r)
{
	return r->completeness.calls_lossy || r->completeness.switches_lossy ? "~" : "";
}

static unsigned int percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned int)(((unsigned __int128)part * 200 / whole + 1) / 2) : 0;
}

/* Busy CPUs and runnable threads inside the windows; over the whole recording where that is not known. */
static void add_load(struct words *w, const struct report *r, const struct chain_evidence *e)
{
	uint64_t cpus = r->recording.cpus_present, busy = e->busy, time = e->cpu_time;
	uint64_t runnable = e->runnable * cpus, span = e->cpu_time;
	char text[2][FMT_SIZE];

	if (!time) {
		busy = r->system.busy;
		time = r->system.cpu_time;
		runnable = r->system.runnable;
		span = r->system.span;
	}
	if (!time) {
		words_add(w, "what the CPUs did is not recorded");
		return;
	}
	words_add(w, "%sCPUs %s%s busy, %s%s threads runnable for %llu CPU%s",
		  e->cpu_time ? "" : "over the whole recording: ", mark(r),
		  fmt_percent(text[0], busy, time), mark(r), fmt_ratio(text[1], runnable, span),
		  (unsigned long long)cpus, cpus == 1 ? "" : "s");
}

static void print_system_line(const struct report *r, const struct chain *c, const struct page *out)
{
	const struct chain_evidence *e = &c->evidence;
	uint64_t cpus = r->recording.cpus_present;
	char busy[FMT_SIZE], text[CHAIN_LINE];
	struct words w;

	words_begin(&w, text, sizeof(text));
	add_load(&w, r, e);
	if (e->allowed_cpus && e->allowed_cpus < cpus)
		words_add(&w, ", of which it may use %llu", (unsigned long long)e->allowed_cpus);
	if (e->quota && e->quota_period)
		words_add(&w, "; quota %s CPUs", fmt_ratio(busy, e->quota, e->quota_period));
	if (e->throttled_periods)
		words_add(&w, ", throttled in %s of its periods",
			  fmt_percent(busy, e->throttled_periods, e->periods));
	print_wrapped(out, 11, "  [SYSTEM] %s", text);
}

/* The largest of the verdict's kind; of the largest kind where the verdict is none or a family. */
static const struct cause *largest_cause(const struct chain *c)
{
	struct class_share classes[CHAIN_CLASSES];
	const struct cause *cause = chain_cause(c, c->verdict);

	if (!cause && chain_classes(c, classes) && classes[0].kind)
		cause = chain_cause(c, classes[0].kind);
	return cause;
}

static void print_host_line(const struct report *r, const struct chain *c, const struct page *out)
{
	const struct chain_evidence *e = &c->evidence;
	char story[CHAIN_LINE], ns[FMT_SIZE], count[FMT_SIZE], text[2 * CHAIN_LINE];
	const struct cause *cause = largest_cause(c);
	struct words w;

	words_begin(&w, text, sizeof(text));
	if (cause) {
		uint64_t others = chain_class_ns(c, cause->kind) - cause->ns;

		words_add(&w, "%s (%s%s)", chain_story(r, c, cause, story, sizeof(story)), mark(r),
			  fmt_ns(ns, cause->ns));
		if (others > cause->ns / 20)
			words_add(&w, ", others likewise (%s%s)", mark(r), fmt_ns(ns, others));
	}
	words_item(&w, "; ", "%s%s context switches", mark(r), fmt_count(count, e->switches));
	if (e->page_events)
		words_item(&w, ", ", "%s page allocations", fmt_count(count, e->page_events));
	if (e->reclaims)
		words_item(&w, ", ", "%s reclaims", fmt_count(count, e->reclaims));
	if (e->major_faults)
		words_item(&w, ", ", "%s major page faults", fmt_count(count, e->major_faults));
	print_wrapped(out, 11, "  [HOST  ] %s", text);
}

static void add_effect(struct words *w, const struct report *r, const struct effect *e)
{
	char calls[FMT_SIZE], all[FMT_SIZE], lost[FMT_SIZE], longest[FMT_SIZE];
	bool starved = e->kind == EFFECT_STARVATION;

	if (e->kind == EFFECT_SLOW_CALL)
		words_item(w, "; ", "%s: %s of %s calls slow", e->operation->name,
			   fmt_count(calls, e->calls), fmt_count(all, e->all));
	else if (starved)
		words_item(w, "; ", "device idle after %s, %s time%s", e->operation->name,
			   fmt_count(calls, e->calls), e->calls == 1 ? "" : "s");
	else
		words_item(w, "; ", "%s -> %s: %s of %s gaps slow", e->operation->name,
			   e->next ? e->next->name : "next", fmt_count(calls, e->calls),
			   fmt_count(all, e->all));
	words_add(w, ", %s%s %s, longest %s", mark(r), fmt_ns(lost, e->lost),
		  starved ? "without work" : "lost", fmt_ns(longest, e->max));
}

/* The effects of one place on all threads; false where it is another one's before i. */
static bool sum_effects(const struct chain *c, size_t i, struct effect *sum)
{
	*sum = c->effects[i];
	for (size_t k = 0; k < c->effect_count; k++) {
		const struct effect *e = &c->effects[k];

		if (k == i || e->kind != sum->kind || e->operation != sum->operation || e->next != sum->next)
			continue;
		if (k < i)
			return false;
		sum->calls += e->calls;
		sum->all += e->all;
		sum->lost += e->lost;
		sum->max = e->max > sum->max ? e->max : sum->max;
	}
	return true;
}

static void print_cuda_line(const struct report *r, const struct chain *c, const struct page *out)
{
	char text[2 * CHAIN_LINE];
	size_t shown = 0, more = 0;
	struct words w;

	words_begin(&w, text, sizeof(text));
	for (size_t i = 0; i < c->effect_count; i++) {
		struct effect sum;

		if (!sum_effects(c, i, &sum))
			continue;
		if (shown++ < EFFECTS_SHOWN)
			add_effect(&w, r, &sum);
		else
			more++;
	}
	if (more)
		words_add(&w, "; %zu more", more);
	print_wrapped(out, 11, "  [CUDA  ] %s", text);
}

/* Who, where that says more than the class does: " (worker 1 31 %, worker 2 24 %, 2 more)". */
static void add_names(struct words *w, const struct report *r, const struct chain *c,
		      enum cause_kind kind, size_t max)
{
	const struct cause *who[NAMES_SHOWN];
	size_t more, n;
	uint64_t rest;
	char name[CHAIN_NAME];

	n = chain_culprits(c, kind, who, max, &more, &rest);
	if (!n || (n == 1 && who[0]->process == c->process && !who[0]->hops))
		return;
	for (size_t i = 0; i < n; i++)
		words_add(w, "%s%s %u %%", i ? ", " : " (",
			  culprit_label(r, c, who[i], name, sizeof(name)), percent(who[i]->ns, c->lost));
	if (percent(rest, c->lost))
		words_add(w, ", %zu more %u %%", more, percent(rest, c->lost));
	words_add(w, ")");
}

static void print_lost_line(const struct report *r, const struct chain *c, const struct page *out)
{
	struct class_share classes[CHAIN_CLASSES];
	uint64_t parts[CHAIN_CLASSES];
	unsigned int shares[CHAIN_CLASSES], others = 0;
	char text[2 * CHAIN_LINE], lost[FMT_SIZE], share[FMT_SIZE], span[FMT_SIZE];
	size_t n = chain_classes(c, classes);
	struct words w;

	for (size_t i = 0; i < n; i++)
		parts[i] = classes[i].ns;
	shares_round(parts, n, 100, shares);
	words_begin(&w, text, sizeof(text));
	for (size_t i = 0; i < n; i++) {
		bool cause = classes[i].kind != CAUSE_NONE;

		/* Unrecorded may be nothing; unexplained is always told. */
		if (!cause && !shares[i] && i + 1 < n)
			continue;
		if (cause && (i >= CLASSES_SHOWN || shares[i] < CLASS_PERCENT)) {
			others += shares[i];
			continue;
		}
		if (!cause && others) {
			words_item(&w, ", ", "other causes %u %%", others);
			others = 0;
		}
		words_item(&w, ", ", "%s %u %%", classes[i].name, shares[i]);
		if (cause && shares[i] >= NAMES_PERCENT)
			add_names(&w, r, c, classes[i].kind, i ? NAMES_SHOWN - 1 : NAMES_SHOWN);
	}
	print_wrapped(out, 8, "  lost: %s%s, %s of %s: %s", mark(r), fmt_ns(lost, c->lost),
		      fmt_percent(share, c->lost, c->span), fmt_span(span, c->span), text);
}

static enum text_style severity_style(enum severity severity)
{
	return severity == SEVERITY_HIGH ? STYLE_RED : severity == SEVERITY_MEDIUM ? STYLE_YELLOW :
	       STYLE_BOLD;
}

void print_chain(const struct report *r, const struct chain *c, const struct page *out)
{
	char headline[CHAIN_LINE];
	struct advice a;

	advice_give(&a, r, c);
	print_styled(out, severity_style(c->severity), "[%s] %s", severity_name(c->severity),
		     chain_headline(r, c, headline, sizeof(headline)));
	print_system_line(r, c, out);
	print_host_line(r, c, out);
	print_cuda_line(r, c, out);
	if (c->lost)
		print_lost_line(r, c, out);
	if (*a.cause)
		print_wrapped(out, 9, "  cause: %s", a.cause);
	if (*a.fix)
		print_wrapped(out, 7, "  fix: %s", a.fix);
}

void print_cannot(const struct report *r, const struct page *out)
{
	const struct chains *c = &r->chains;
	char text[CHAIN_LINE];
	size_t told = 0;

	for (size_t i = 0; i < c->cannot_count; i++) {
		if (c->cannot[i].reason == CANNOT_NO_CALLS && r->no_calls != NO_CALLS_NOT)
			continue;
		if (told++ < CANNOT_TOLD)
			print_wrapped(out, 2, "Chains: %s.",
				      cannot_text(r, &c->cannot[i], text, sizeof(text)));
	}
	if (told > CANNOT_TOLD)
		print_wrapped(out, 2, "Chains: %zu more cannot be told, all listed by --json.",
			      told - CANNOT_TOLD);
}

/* The small one that lost most, of those the host could do better or of the others. */
static const struct chain *largest(const struct chains *c, bool harmless)
{
	const struct chain *most = NULL;

	for (size_t i = 0; i < c->small_count; i++)
		if (c->small[i].harmless == harmless && (!most || c->small[i].lost > most->lost))
			most = &c->small[i];
	return most;
}

const char view_idle_unknown[] =
	"whether the device ran out of work cannot be told: nothing in this program waits for it in a way that is seen (a device or stream synchronise)";

/* What a harmless chain was, as the quiet line has it. */
static const char *harmless_name(const struct chain *c)
{
	enum cause_kind kind = !c->verdict && c->cause_count ? c->causes[0].kind : c->verdict;

	return kind == CAUSE_NETWORK ? "waiting for the network (requests or data)" : chain_class(kind);
}

static void add_largest(struct words *w, const struct report *r, const struct chain *small)
{
	char share[FMT_SIZE], headline[CHAIN_LINE];

	if (small)
		words_add(w, "the largest loss is %s%s: %s", mark(r),
			  fmt_percent(share, small->lost, small->span),
			  chain_headline(r, small, headline, sizeof(headline)));
	else if (r->selection.by_operation)
		words_add(w, "no selected call, and no gap beside one, lost 1 %% of the time");
	else if (r->chains.idle_unknown)
		words_add(w, "no call or gap lost 1 %% of the time");
	else
		words_add(w, "no call, gap or idle device lost 1 %% of the time");
}

bool print_left_out(const struct report *r, const struct page *out)
{
	size_t n = r->chains.left_out;

	if (n)
		print_wrapped(out, 2, "Chains: none is about what is selected; %zu other%s %s there without the narrowing.",
			      n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
	return n;
}

static void print_quiet(const struct report *r, const struct page *out)
{
	const struct chain *small = largest(&r->chains, false), *other = largest(&r->chains, true);
	char share[FMT_SIZE], span[FMT_SIZE], text[2 * CHAIN_LINE];
	struct words w;

	words_begin(&w, text, sizeof(text));
	words_add(&w, "%s: in %s of CUDA work ",
		  r->chains.idle_unknown ? "Nothing wrong was found" : "Nothing is wrong",
		  fmt_span(span, r->chains.span));
	add_largest(&w, r, small);
	if (other)
		words_add(&w, "; no fault of the host: %s, %s%s", harmless_name(other), mark(r),
			  fmt_percent(share, other->lost, other->span));
	if (r->chains.idle_unknown)
		words_add(&w, "; %s", view_idle_unknown);
	print_wrapped(out, 2, "%s%s.", text, small || other ? " (--chains)" : "");
}

/* What was not recorded and so cannot be a cause. */
static void print_missing(const struct report *r, const struct page *out)
{
	const char *without = recording_fact(&r->recording, "record.without");
	char text[CHAIN_NAME];

	if (without && *without)
		print_wrapped(out, 2, "Recorded without %s: what only these tell is unexplained here; record again without --without.",
			      fmt_text(text, sizeof(text), without, 70));
	if (!r->system.samples)
		print_wrapped(out, 2, "There is no sample of the whole machine in the file, so a lack of memory does not show; record for longer.");
}

void print_chains(const struct report *r, const struct page *out)
{
	const struct chains *c = &r->chains;

	if (r->no_calls != NO_CALLS_NOT)
		return;
	fputc('\n', out->file);
	for (size_t i = 0; i < c->count && i < CHAINS_SHOWN; i++)
		print_chain(r, &c->chains[i], out);
	if (c->count > CHAINS_SHOWN)
		print_wrapped(out, 2, "--chains lists %zu more", c->count - CHAINS_SHOWN);
	print_cannot(r, out);
	if (c->quiet && !print_left_out(r, out))
		print_quiet(r, out);
	print_missing(r, out);
}
