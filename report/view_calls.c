// SPDX-License-Identifier: BSD-2-Clause
#include "cuda_errors.h"
#include "fmt.h"
#include "view.h"
#include "view_text.h"

#define GROUPS 64		/* operations of calls that ended without a return */

/* With the probes in place a call takes longer, and so does the one it is nested in. */
void print_probe_price(const struct report *r, const struct page *out)
{
	char inside[FMT_SIZE], call[FMT_SIZE];

	if (r->probe_inside && r->probe_call)
		print_wrapped(out, 2,
			"times include the probes: about %s, and %s more for each nested call",
			fmt_ns(inside, r->probe_inside), fmt_ns(call, r->probe_call));
}

/* The row after last in the order of the first calls' durations, longest first; NULL at the end. */
static const struct latency_row *next_first(const struct report *r, uint32_t process,
					    const struct latency_row *last)
{
	const struct latency_row *best = NULL;

	for (size_t i = 0; i < r->latency.row_count; i++) {
		const struct latency_row *row = &r->latency.rows[i];
		bool later = !last || row->first < last->first ||
			     (row->first == last->first && row > last);

		if (row->process == LATENCY_ALL || !row->has_first || !later ||
		    (process != LATENCY_ALL && row->process != process))
			continue;
		if (!best || row->first > best->first)
			best = row;
	}
	return best;
}

void print_first_calls(const struct report *r, uint32_t process, size_t limit,
		       const struct page *out)
{
	const struct latency_row *row = next_first(r, process, NULL);
	const char *mark = r->completeness.calls_lossy ? "~" : "";
	char label[96], buf[FMT_SIZE];
	struct line l;

	line_begin(&l, out, "first calls, apart: ");
	for (; row && l.items < limit; row = next_first(r, process, row)) {
		if (process == LATENCY_ALL)
			line_item(&l, "%s %s%s (%s)", row->operation->name, mark,
				  fmt_ns(buf, row->first),
				  process_label(r, row->process, label, sizeof(label)));
		else
			line_item(&l, "%s %s%s", row->operation->name, mark, fmt_ns(buf, row->first));
	}
	line_end(&l);
}

void print_errors(const struct report *r, uint32_t process, size_t limit, const struct page *out)
{
	const char *mark = r->completeness.calls_lossy ? "~" : "";
	char name[80], text[96], buf[FMT_SIZE];
	size_t lines = 0, left = 0;

	for (size_t i = 0; i < r->latency.error_count; i++) {
		const struct latency_error *e = &r->latency.errors[i];

		if (e->process != process)
			continue;
		if (lines == limit) {
			left++;
			continue;
		}
		cuda_error_name(e->operation->layer, e->code, name, sizeof(name));
		fmt_text(text, sizeof(text), e->operation->name, 0);
		print_wrapped(out, 10, "%s%s: %lld%s%s%s x %s%s", lines++ ? "        " : "failed: ",
			      text, (long long)e->code, *name ? " (" : "", name, *name ? ")" : "",
			      mark, fmt_count(buf, e->count));
	}
	if (left)
		fprintf(out->file, "        and %zu more: --errors\n", left);
}

/* Those really open when the recording ended, the oldest first. */
static void print_still_open(const struct report *r, uint32_t process, size_t limit,
			     const struct page *out)
{
	char label[96], age[FMT_SIZE], at[FMT_SIZE];
	const char *mark = r->completeness.calls_lossy ? "~" : "";
	size_t lines = 0, left = 0;

	for (size_t i = 0; i < r->latency.open_count; i++) {
		const struct latency_open *open = &r->latency.open[i];

		if (open->reason != OPEN_AT_END ||
		    (process != LATENCY_ALL && open->process != process))
			continue;
		if (lines == limit) {
			left++;
			continue;
		}
		lines++;
		print_wrapped(out, 12, "still open: %s for %s%s since %s, %s TID %u",
			      open->operation->name, mark, fmt_ns(age, open->age),
			      fmt_clock(at, recording_realtime(&r->recording, open->start)),
			      process_label(r, open->process, label, sizeof(label)),
			      r->tasks.threads[open->thread].tid);
	}
	if (left)
		fprintf(out->file, "            and %zu more: --open\n", left);
}

struct group { const struct operation *operation; uint64_t count, longest; };

/* Group of an operation, a new one where it has none; NULL when there is no room. */
static struct group *group_of(struct group groups[GROUPS], size_t *count,
			      const struct operation *operation)
{
	for (size_t i = 0; i < *count; i++)
		if (groups[i].operation == operation)
			return &groups[i];
	if (*count == GROUPS)
		return NULL;
	groups[*count] = (struct group){ .operation = operation };
	return &groups[(*count)++];
}

static void print_group(const struct group *g, const char *title, const char *mark,
			const struct page *out)
{
	char n[FMT_SIZE], age[FMT_SIZE];

	print_wrapped(out, 12, "%s: %s x %s%s, %s%s%s", title, g->operation->name, mark,
		      fmt_count(n, g->count), g->count > 1 ? "longest after " : "after ", mark,
		      fmt_ns(age, g->longest));
}

/* Calls that ended without a return, a line for each operation. */
static void print_ended(const struct report *r, uint32_t process, enum open_reason reason,
			size_t limit, const struct page *out)
{
	const char *title = reason == OPEN_ABANDONED ? "left by a jump (longjmp)" : "thread ended";
	const char *mark = r->completeness.calls_lossy ? "~" : "";
	struct group groups[GROUPS];
	size_t count = 0, more = 0;

	for (size_t i = 0; i < r->latency.open_count; i++) {
		const struct latency_open *open = &r->latency.open[i];
		struct group *g;

		if (open->reason != reason || (process != LATENCY_ALL && open->process != process))
			continue;
		g = group_of(groups, &count, open->operation);
		more += !g;
		if (g) {
			g->count++;
			g->longest = open->age > g->longest ? open->age : g->longest;
		}
	}
	for (size_t i = 0; i < count && i < limit; i++)
		print_group(&groups[i], title, mark, out);
	for (size_t i = limit; i < count; i++)
		more += groups[i].count;
	if (more)
		fprintf(out->file, "%s: %zu more: --open\n", title, more);
}

void print_open_calls(const struct report *r, uint32_t process, size_t limit,
		      const struct page *out)
{
	print_still_open(r, process, limit, out);
	print_ended(r, process, OPEN_ABANDONED, limit, out);
	print_ended(r, process, OPEN_THREAD_ENDED, limit, out);
}
