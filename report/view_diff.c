// SPDX-License-Identifier: BSD-2-Clause
/* The comparison as text: what differs, the verdict, a step's account, what changed and why. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "fmt.h"
#include "view_diff.h"
#include "view_text.h"

#define PARTS_SHOWN 8
#define PART_MIN 0.01		/* of a step: a part that is shown */
#define UNCHANGED_SHOWN 12
#define TEXT 160

static void print_side(const char *name, const struct diff_side *s, const struct page *out)
{
	char path[TEXT], calls[FMT_SIZE], span[FMT_SIZE], more[TEXT] = "";

	if (s->runs > 1)
		snprintf(more, sizeof(more), " and %zu more", s->runs - 1);
	print_wrapped(out, 8, "%-8s%s%s: %s steady, %s calls%s", name,
		      fmt_text(path, sizeof(path), s->paths[0], 0), more,
		      fmt_ns(span, (uint64_t)s->span), fmt_count(calls, (uint64_t)s->calls),
		      s->complete ? "" :
		      s->lossy ? ", INCOMPLETE: events were lost" : ", INCOMPLETE");
}

static void print_differences(const struct diff *d, const struct page *out)
{
	char what[TEXT], before[DIFF_WHY * 4], after[DIFF_WHY * 4];

	if (!d->difference_count)
		return;
	fputs("\nNot the same\n", out->file);
	for (size_t i = 0; i < d->difference_count; i++) {
		const struct diff_difference *x = &d->differences[i];

		print_wrapped(out, 4, "  %s: %s -> %s", fmt_text(what, sizeof(what), x->what, 0),
			      *x->before ? fmt_text(before, sizeof(before), x->before, 0) : "none",
			      *x->after ? fmt_text(after, sizeof(after), x->after, 0) : "none");
	}
}

static void print_verdict(const struct diff *d, const struct page *out)
{
	fputc('\n', out->file);
	fputs(style_begin(out, d->significant ? STYLE_YELLOW : STYLE_GREEN), out->file);
	print_wrapped(out, 2, "%s", d->verdict);
	fputs(style_end(out, d->significant ? STYLE_YELLOW : STYLE_GREEN), out->file);
}

/* --- where a step's time went */

static void add_part(struct grid *t, const char *what, double before, double after)
{
	char buf[DIFF_NUMBER];

	grid_cell(t, what);
	grid_cell(t, diff_number(buf, DIFF_UNIT_NS, before));
	grid_cell(t, diff_number(buf, DIFF_UNIT_NS, after));
	grid_cell(t, diff_signed_ns(buf, after - before));
}

static void print_account(const struct diff *d, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "", GRID_SHRINK }, { "before", GRID_RIGHT }, { "after", GRID_RIGHT },
		{ "change", GRID_RIGHT },
	};
	double least = PART_MIN * (d->step_ns[0] > d->step_ns[1] ? d->step_ns[0] : d->step_ns[1]);
	double before = d->step_ns[0], after = d->step_ns[1];
	size_t shown = 0;
	struct grid t;

	if (!d->part_count)
		return;
	grid_init(&t, columns, 4);
	for (size_t i = 0; i < d->part_count && shown < PARTS_SHOWN; i++) {
		const struct diff_part *p = &d->parts[i];
		char what[2 * DIFF_SUBJECT + 8], text[sizeof(what)];

		if (p->before < least && p->after < least)
			continue;
		snprintf(what, sizeof(what), "%s%s%s", p->what,
			 !*p->place ? "" : strcmp(p->place, "between calls") ? ", " : " ",
			 p->place);
		add_part(&t, fmt_text(text, sizeof(text), what, 0), p->before, p->after);
		before -= p->before;
		after -= p->after;
		shown++;
	}
	add_part(&t, "all else", before > 0 ? before : 0, after > 0 ? after : 0);
	add_part(&t, "together", d->step_ns[0], d->step_ns[1]);
	if (*d->step)
		fprintf(out->file, "\nWhere the time of a step went (a step is a %s)\n", d->step);
	else
		fputs("\nWhere the time of a second went\n", out->file);
	grid_print(&t, out, 2);
	grid_release(&t);
}

/* --- what changed */

static const char *label(const struct diff_change *c, char buf[TEXT * 2])
{
	char name[TEXT];

	fmt_text(name, sizeof(name), c->name, 0);
	if (c->section == DIFF_PACE)
		snprintf(buf, TEXT * 2, "pace, %s", c->title);
	else if (c->section == DIFF_CHAINS)
		snprintf(buf, TEXT * 2, "%s: %s", c->title, name);
	else
		snprintf(buf, TEXT * 2, "%s %s", name, c->title);
	return buf;
}

static const char *interval_text(const struct diff_change *c, char buf[TEXT])
{
	char low[FMT_SIZE], high[FMT_SIZE];
	bool open = !(c->high < 1e6);

	if (!c->interval_known)
		return "-";
	fmt_figures(low, (unsigned __int128)(c->low * 1e6), 1000000);
	if (!open)
		fmt_figures(high, (unsigned __int128)(c->high * 1e6), 1000000);
	if (open)
		snprintf(buf, TEXT, "over %s", low);
	else if (!(c->after > 0))
		snprintf(buf, TEXT, "under %s", high);
	else
		snprintf(buf, TEXT, "%s to %s", low, high);
	return buf;
}

static const char *ratio_text(const struct diff_change *c, char buf[DIFF_NUMBER])
{
	if (!(c->before > 0))
		return "new";
	return c->after > 0 ? diff_times(buf, c->ratio) : "gone";
}

static void add_change(struct grid *t, const struct diff_change *c)
{
	char text[TEXT * 2], number[DIFF_NUMBER], floor[FMT_SIZE];
	bool both = c->before > 0 && c->after > 0;

	grid_cell(t, label(c, text));
	grid_cell(t, diff_number(number, c->unit, c->before));
	grid_cell(t, diff_number(number, c->unit, c->after));
	grid_cell(t, ratio_text(c, number));
	grid_cell(t, interval_text(c, text));
	grid_cell(t, both ? fmt_fixed(floor, (uint64_t)(c->floor * 100 + 0.5), 100, 2) : "-");
}

static bool listed(const struct diff_change *c)
{
	return c->significant && !c->follows;
}

static void print_changes(const struct diff *d, const struct page *out)
{
	static const struct grid_column columns[] = {
		{ "", GRID_SHRINK }, { "before", GRID_RIGHT }, { "after", GRID_RIGHT },
		{ "ratio", GRID_RIGHT }, { "95 % interval", GRID_RIGHT },
		{ "floor", GRID_OPTIONAL },
	};
	struct grid t;

	grid_init(&t, columns, 6);
	for (size_t i = 0; i < d->change_count; i++)
		if (listed(&d->changes[i]))
			add_change(&t, &d->changes[i]);
	fputs("\nChanged\n", out->file);
	grid_print(&t, out, 2);
	grid_release(&t);
}

static void print_reasons(const struct diff *d, const struct page *out)
{
	char text[TEXT * 2], why[DIFF_WHY * 4];
	bool any = false;

	for (size_t i = 0; i < d->change_count; i++) {
		const struct diff_change *c = &d->changes[i];

		if (!listed(c) || !*c->why || c->section == DIFF_PACE ||
		    !strcmp(c->metric, "starved"))
			continue;
		if (!any)
			fputs("\nWhy\n", out->file);
		any = true;
		print_wrapped(out, 4, "  %s: %s", label(c, text),
			      fmt_text(why, sizeof(why), c->why, 0));
	}
}

static void print_followers(const struct diff *d, const struct page *out)
{
	char text[TEXT * 2];
	struct line l;

	line_begin(&l, out, "With the pace went: ");
	for (size_t i = 0; i < d->change_count; i++)
		if (d->changes[i].significant && d->changes[i].follows &&
		    strcmp(d->changes[i].subject, d->step))
			line_item(&l, "%s", label(&d->changes[i], text));
	line_end(&l);
}

/* --- what did not */

static bool any_change(const struct diff *d, const char *subject)
{
	for (size_t i = 0; i < d->change_count; i++)
		if (d->changes[i].significant && !d->changes[i].follows &&
		    !strcmp(d->changes[i].subject, subject))
			return true;
	return false;
}

/* Each subject once, with how many of its figures were compared. */
static void print_unchanged(const struct diff *d, const struct page *out)
{
	size_t shown = 0, more = 0;
	char name[TEXT];
	struct line l;

	line_begin(&l, out, "Not changed: ");
	for (size_t i = 0; i < d->change_count; i++) {
		const struct diff_change *c = &d->changes[i];
		size_t n = 0, first = i;

		for (size_t k = 0; k < d->change_count; k++) {
			if (strcmp(d->changes[k].subject, c->subject))
				continue;
			first = k < first ? k : first;
			n += d->changes[k].interval_known;
		}
		if (first != i || !n || any_change(d, c->subject))
			continue;
		if (shown++ < UNCHANGED_SHOWN)
			line_item(&l, "%s (%zu figure%s)",
				  fmt_text(name, sizeof(name), c->subject, 40), n,
				  n == 1 ? "" : "s");
		else
			more++;
	}
	if (more)
		line_item(&l, "%zu more", more);
	line_end(&l);
}

static void print_method(const struct diff *d, const struct page *out)
{
	print_wrapped(out, 0, "%zu figures of %zu could be compared. One is called changed when the interval of its ratio, at 5 %% for all of them together, leaves out 1, and the ratio is beyond the floor: what equal runs differ by.",
		      d->tested, d->change_count);
}

void view_diff(const struct diff *d, const struct page *out)
{
	print_side("before", &d->sides[0], out);
	print_side("after", &d->sides[1], out);
	print_differences(d, out);
	print_verdict(d, out);
	if (d->significant) {
		print_account(d, out);
		print_changes(d, out);
		print_reasons(d, out);
		fputc('\n', out->file);
		print_followers(d, out);
	} else {
		fputc('\n', out->file);
	}
	print_unchanged(d, out);
	print_method(d, out);
}
