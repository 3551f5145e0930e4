// SPDX-License-Identifier: BSD-2-Clause
/* --chains: every chain, and what its sentences rest on. */
#include <stdio.h>
#include "advice.h"
#include "chain_text.h"
#include "fmt.h"
#include "view.h"
#include "view_chains.h"
#include "view_text.h"
#include "words.h"

#define CAUSES_SHOWN 12
#define EFFECTS_SHOWN 12
#define INDENT "  "

static void permille(char buf[FMT_SIZE], unsigned int tenths)
{
	snprintf(buf, FMT_SIZE, "%u.%u %%", tenths / 10, tenths % 10);
}

static void print_account(const struct chain *c, const struct page *out)
{
	static const char *const names[] = {
		"running", "waiting while others ran", "wake-up latency", "throttled", "blocked",
		"unrecorded", "unexplained",
	};
	const struct chain_account *a = &c->account;
	const uint64_t parts[] = { a->running, a->waiting, a->wake_latency, a->throttled, a->blocked,
				   a->unrecorded, a->unexplained };
	unsigned int shares[7];
	char text[CHAIN_LINE], share[FMT_SIZE], ns[FMT_SIZE];
	struct words w;

	shares_round(parts, 7, 1000, shares);
	words_begin(&w, text, sizeof(text));
	for (size_t i = 0; i < 7; i++) {
		if (!parts[i] && i != 6)
			continue;
		permille(share, shares[i]);
		words_item(&w, ", ", "%s %s", names[i], share);
		if (i == 4 && a->device)
			words_add(&w, " (%s of it for the device)", fmt_percent(share, a->device, a->blocked));
	}
	if (a->clamped)
		words_add(&w, "; beside it %s by which normal ones exceed these in some state",
			  fmt_ns(ns, a->clamped));
	print_wrapped(out, 11, INDENT "account: %s", text);
}

static const char *who_text(const struct report *r, const struct chain *c, const struct cause *who,
			    char *buf, size_t size)
{
	struct words w;
	char text[CHAIN_NAME];

	words_begin(&w, buf, size);
	words_add(&w, "%s", chain_who(r, c, who, text, sizeof(text)));
	if (who->processes > 1)
		words_add(&w, " x %u", who->processes);
	return buf;
}

static void add_cause_row(struct grid *t, unsigned int tenths, uint64_t ns, const char *kind,
			  const char *who, const char *hops)
{
	char share[FMT_SIZE];

	permille(share, tenths);
	grid_cell(t, share);
	cell_ns(t, true, false, ns);
	grid_cell(t, kind);
	grid_cell(t, who);
	grid_cell(t, hops);
}

void print_causes(const struct report *r, const struct chain *c, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "share", GRID_RIGHT }, { "time", GRID_RIGHT }, { "cause", GRID_LEFT },
		{ "who", GRID_SHRINK }, { "hops", GRID_RIGHT },
	};
	static const char *const others[] = { "the others", "unrecorded", "unexplained" };
	const struct cause *who[CAUSES_SHOWN];
	uint64_t parts[CAUSES_SHOWN + 3] = { 0 }, known = 0;
	unsigned int shares[CAUSES_SHOWN + 3];
	char name[CHAIN_NAME], hops[FMT_SIZE];
	size_t more, n = chain_culprits(c, CAUSE_LIMIT, who, CAUSES_SHOWN, &more, &known);
	struct grid t;

	parts[n] = known;
	for (size_t i = 0; i < n; i++)
		known += parts[i] = who[i]->ns;
	parts[n + 1] = c->account.unrecorded;
	known += c->account.unrecorded;
	parts[n + 2] = c->lost > known ? c->lost - known : 0;
	shares_round(parts, n + 3, 1000, shares);
	grid_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < n; i++) {
		snprintf(hops, sizeof(hops), "%u", who[i]->hops);
		add_cause_row(&t, shares[i], parts[i], cause_kind_name(who[i]->kind),
			      who_text(r, c, who[i], name, sizeof(name)), hops);
	}
	for (size_t i = n; i < n + 3; i++)
		if (parts[i])
			add_cause_row(&t, shares[i], parts[i], others[i - n], "", "");
	grid_print(&t, out, 2);
	grid_release(&t);
}

static void print_paths(const struct report *r, const struct chain *c, const struct page *out)
{
	char story[CHAIN_LINE];

	for (size_t i = 0; i < c->cause_count && i < CAUSES_SHOWN; i++)
		if (c->causes[i].hops > 1 && c->causes[i].ns >= c->lost / 50)
			print_wrapped(out, 8, INDENT "path: %s",
				      chain_story(r, c, &c->causes[i], story, sizeof(story)));
}

static void print_worst(const struct report *r, const struct chain *c, const struct page *out)
{
	char place[CHAIN_NAME], length[FMT_SIZE], at[FMT_SIZE], lost[FMT_SIZE], name[CHAIN_NAME];
	char hint[CHAIN_NAME], since[FMT_SIZE];
	struct words w;

	for (size_t i = 0; i < c->worst_count; i++) {
		const struct chain_window *window = &c->worst[i];
		const struct effect *e = &c->effects[window->effect < c->effect_count ? window->effect : 0];
		bool named = window->process != TASKS_UNKNOWN && window->process != c->process;

		words_begin(&w, hint, sizeof(hint));
		if (e->kind == EFFECT_SLOW_CALL)
			words_add(&w, " (--explain %s@%s)", e->operation->name,
				  chain_moment(&r->recording, window->start, since, sizeof(since)));
		print_wrapped(out, 9, INDENT "worst: %s%s %s at %s, lost %s: %s%s%s%s",
			      e->kind == EFFECT_STARVATION ? "idle after " : "",
			      effect_place(e, place, sizeof(place)),
			      fmt_ns(length, window->end - window->start),
			      fmt_clock(at, recording_realtime(&r->recording, window->start)),
			      fmt_ns(lost, window->lost), chain_class(window->kind), named ? ", " : "",
			      named ? chain_label(r, c, window->process, TASKS_NONE, name, sizeof(name)) : "",
			      hint);
	}
}

static void print_effects(const struct chain *c, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "where", GRID_SHRINK }, { "kind", GRID_LEFT }, { "slow", GRID_RIGHT },
		{ "of", GRID_RIGHT }, { "lost", GRID_RIGHT }, { "p50", GRID_RIGHT },
		{ "p99", GRID_RIGHT }, { "max", GRID_RIGHT },
	};
	char place[CHAIN_NAME], text[FMT_SIZE];
	struct grid t;

	grid_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < c->effect_count && i < EFFECTS_SHOWN; i++) {
		const struct effect *e = &c->effects[i];

		grid_cell(&t, effect_place(e, place, sizeof(place)));
		grid_cell(&t, e->kind == EFFECT_SLOW_CALL ? "call" : e->kind == EFFECT_GAP ? "gap" : "idle");
		grid_cell(&t, fmt_count(text, e->calls));
		grid_cell(&t, fmt_count(text, e->all));
		cell_ns(&t, true, false, e->lost);
		cell_ns(&t, true, false, e->p50);
		cell_ns(&t, true, false, e->p99);
		cell_ns(&t, true, false, e->max);
	}
	grid_print(&t, out, 2);
	grid_release(&t);
	if (c->effect_count > EFFECTS_SHOWN)
		fprintf(out->file, INDENT "and %zu more: --json\n",
			c->effect_count - EFFECTS_SHOWN);
}

static void count_item(struct words *w, uint64_t n, const char *one, const char *many)
{
	char count[FMT_SIZE];

	if (n)
		words_item(w, ", ", "%s %s", fmt_count(count, n), n == 1 ? one : many);
}

static void print_evidence(const struct report *r, const struct chain *c, const struct page *out)
{
	const struct chain_evidence *e = &c->evidence;
	char text[CHAIN_LINE], ns[FMT_SIZE];
	struct words w;

	words_begin(&w, text, sizeof(text));
	count_item(&w, e->windows, "window", "windows");
	words_add(&w, " of %s together", fmt_ns(ns, e->window_ns));
	count_item(&w, e->switches, "context switch", "context switches");
	count_item(&w, e->migrations, "move to another CPU", "moves to another CPU");
	count_item(&w, e->page_events, "page allocation", "page allocations");
	if (e->pages && r->recording.page_size)
		words_add(&w, " (%s)", fmt_bytes(ns, e->pages * r->recording.page_size));
	count_item(&w, e->major_faults, "major page fault", "major page faults");
	count_item(&w, e->reclaims, "reclaim", "reclaims");
	if (e->reclaims)
		words_add(&w, " (%s)", fmt_ns(ns, e->reclaim_ns));
	count_item(&w, e->births, "process born", "processes born");
	count_item(&w, e->workers, "worker", "workers");
	count_item(&w, e->allowed_cpus, "CPU allowed", "CPUs allowed");
	if (e->periods)
		words_item(&w, ", ", "%llu of %llu periods of the quota throttled",
			   (unsigned long long)e->throttled_periods, (unsigned long long)e->periods);
	if (e->syncs)
		words_item(&w, ", ", "a batch each %s", fmt_ns(ns, c->span / e->syncs));
	print_wrapped(out, 12, INDENT "evidence: %s", text);
}

static void print_details(const struct report *r, const struct chain *c, const struct page *out)
{
	struct advice a;

	advice_give(&a, r, c);
	fputc('\n', out->file);
	print_chain(r, c, out);
	if (*a.proof)
		print_wrapped(out, 9, INDENT "proof: %s", a.proof);
	print_account(c, out);
	print_causes(r, c, out);
	print_paths(r, c, out);
	print_effects(c, out);
	print_worst(r, c, out);
	print_evidence(r, c, out);
}

void view_chains(const struct report *r, const struct page *out)
{
	const struct chains *c = &r->chains;
	char span[FMT_SIZE];

	print_completeness(r, out);
	for (size_t i = 0; i < c->count; i++)
		print_details(r, &c->chains[i], out);
	for (size_t i = 0; i < c->small_count; i++)
		print_details(r, &c->small[i], out);
	if (c->count + c->small_count)
		fputc('\n', out->file);
	if (c->idle_unknown)
		print_wrapped(out, 2, "Chains: %s.", view_idle_unknown);
	print_cannot(r, out);
	if (c->quiet && !print_left_out(r, out))
		print_wrapped(out, 2, "%s: no chain of 3 %% of %s of CUDA work.",
			      c->idle_unknown ? "Nothing wrong was found" : "Nothing is wrong",
			      fmt_span(span, c->span));
	if (r->no_calls != NO_CALLS_NOT)
		print_wrapped(out, 2, "%s, so there is nothing to account for.",
			      r->no_calls == NO_CALLS_SELECTED ?
				      "There is no CUDA call in this part of the recording" :
				      "No CUDA call was recorded");
}
