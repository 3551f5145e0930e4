// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <string.h>
#include "fmt.h"
#include "view.h"
#include "view_text.h"
#include "words.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Bytes of text that fit into width columns: up to a space, after punctuation where there is one
 * in the latter half, and rather not between a number and its unit, or a name and its number.
 */
static size_t break_at(const char *text, size_t width)
{
	size_t columns = 0, space = 0, better = 0, best = 0, i = 0;

	while (text[i]) {
		unsigned int length = fmt_utf8(text + i);
		char piece[8];

		length = length ? length : 1;
		snprintf(piece, sizeof(piece), "%.*s", (int)length, text + i);
		if (text[i] == ' ' && i) {
			space = i;
			if (!is_digit(text[i - 1]) && !is_digit(text[i + 1]))
				better = i;
			if (strchr(",;:", text[i - 1]))
				best = i;
		}
		columns += fmt_width(piece);
		if (columns > width)
			break;
		i += length;
	}
	if (!text[i])
		return i;
	return best > width / 2 ? best : better ? better : space ? space : i;
}

const char *style_begin(const struct page *out, enum text_style style)
{
	static const char *const sequences[] = {
		[STYLE_PLAIN] = "", [STYLE_BOLD] = "\033[1m", [STYLE_RED] = "\033[1;31m",
		[STYLE_YELLOW] = "\033[1;33m", [STYLE_GREEN] = "\033[32m",
	};

	return out->color ? sequences[style] : "";
}

const char *style_end(const struct page *out, enum text_style style)
{
	return out->color && style != STYLE_PLAIN ? "\033[0m" : "";
}

static void wrap(const struct page *out, size_t indent, enum text_style style, const char *text)
{
	const char *at = text;
	size_t width = out->width;

	do {
		size_t length = break_at(at, width);

		fprintf(out->file, "%*s%s%.*s%s\n", at == text ? 0 : (int)indent, "",
			style_begin(out, style), (int)length, at, style_end(out, style));
		at += length;
		at += *at == ' ';
		width = out->width - indent;
	} while (*at);
}

void print_wrapped(const struct page *out, size_t indent, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wrap(out, indent, STYLE_PLAIN, text);
}

void print_styled(const struct page *out, enum text_style style, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wrap(out, 2, style, text);
}

static void add_cell(struct grid *t, bool lossy, const char *text, bool spaces)
{
	char cell[FMT_SIZE + 2], *out = cell;

	if (lossy)
		*out++ = '~';
	for (; *text && out < cell + sizeof(cell) - 1; text++)
		if (spaces || *text != ' ')
			*out++ = *text;
	*out = '\0';
	grid_cell(t, cell);
}

void cell_ns(struct grid *t, bool known, bool lossy, uint64_t ns)
{
	char buf[FMT_SIZE];

	if (!known)
		grid_cell(t, "-");
	else
		add_cell(t, lossy, fmt_ns(buf, ns), false);
}

void cell_count(struct grid *t, bool lossy, uint64_t n)
{
	char buf[FMT_SIZE];

	add_cell(t, lossy, fmt_count(buf, n), true);
}

void cell_text(struct grid *t, const char *text)
{
	char buf[512];

	grid_cell(t, fmt_text(buf, sizeof(buf), text, 0));
}

const char *process_label(const struct report *r, uint32_t process, char *buf, size_t size)
{
	const struct process *p = &r->tasks.processes[process];
	char role[64], name[64];

	roles_text(&r->roles, process, role, sizeof(role));
	fmt_text(name, sizeof(name), p->name, 20);
	if (*role && r->roles.processes[process].role != ROLE_HELPER)
		snprintf(buf, size, "%s", role);
	else
		snprintf(buf, size, "%s %u", *name ? name : "process", p->tgid);
	return buf;
}

const char *selected_text(const struct report *r, char *buf, size_t size)
{
	char list[128], text[128];

	buf[0] = '\0';
	if (!r->selected)
		return buf;
	snprintf(list, sizeof(list), "%.*s", (int)r->selected_length, r->selected);
	snprintf(buf, size, "only: %s (--ops)", fmt_text(text, sizeof(text), list, 0));
	return buf;
}

static void print_lost(const struct report *r, const struct page *out)
{
	const struct completeness *c = &r->completeness;
	char buf[FMT_SIZE];
	struct line l;

	line_begin(&l, out, "lost: ");
	for (unsigned int i = 0; i < SOURCE_LIMIT; i++)
		if (c->sources[i].all)
			line_item(&l, "%s %s", fmt_count(buf, c->sources[i].all),
				  completeness_source(i));
	line_end(&l);
}

static void print_not_closed(const struct report *r, const struct page *out)
{
	char span[FMT_SIZE], at[FMT_SIZE];

	print_wrapped(out, 2, "not closed cleanly: covers the first %s (until %s)",
		fmt_span(span, r->covered_until),
		fmt_clock(at, recording_realtime(&r->recording, r->recording.whole_end)));
}

static void print_damage(const struct report *r, const struct page *out)
{
	const struct completeness *c = &r->completeness;
	char buf[FMT_SIZE], text[256];

	if (c->damaged_blocks)
		fprintf(out->file, "damaged: %s block%s of the file cannot be read\n",
			fmt_count(buf, c->damaged_blocks), c->damaged_blocks == 1 ? "" : "s");
	if (c->unknown_blocks)
		fprintf(out->file, "skipped: %s block%s of a kind this program does not know\n",
			fmt_count(buf, c->unknown_blocks), c->unknown_blocks == 1 ? "" : "s");
	if (c->error)
		print_wrapped(out, 2, "recording failed after the start: %s",
			fmt_text(text, sizeof(text), c->error, 0));
}

static void add_span(struct words *w, const struct recording *rec)
{
	uint64_t start = rec->whole_start;
	char from[FMT_SIZE], to[FMT_SIZE], whole[FMT_SIZE];

	words_item(w, "; ", "%s to %s of %s",
		   rec->start > start ? fmt_span(from, rec->start - start) : "0 s",
		   fmt_span(to, rec->end - start), fmt_span(whole, rec->whole_end - start));
	if (rec->anchor_count)
		words_add(w, " (%s to %s)", fmt_clock(from, recording_realtime(rec, rec->start)),
			  fmt_clock(to, recording_realtime(rec, rec->end)));
}

/* "--role worker --comm pt*" */
static void add_options(struct words *w, const struct select_options *o)
{
	const struct { const char *name, *value; } options[] = {
		{ "pid", o->pid }, { "tid", o->tid }, { "comm", o->comm }, { "role", o->role },
	};
	const char *before = w->length ? "; " : "";
	char text[128];

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (!options[i].value)
			continue;
		words_add(w, "%s--%s %s", before, options[i].name,
			  fmt_text(text, sizeof(text), options[i].value, 40));
		before = " ";
	}
}

static void add_count(struct words *w, const struct selected_count *n, const char *what)
{
	char selected[FMT_SIZE], all[FMT_SIZE];

	words_add(w, "%s of %s %s", fmt_count(selected, n->selected), fmt_count(all, n->all), what);
}

/* Which part of the recording all that follows is about. */
static void print_selection(const struct report *r, const struct page *out)
{
	const struct selection *s = &r->selection;
	char text[1024], option[128];
	struct words w;

	words_begin(&w, text, sizeof(text));
	if (s->by_time)
		add_span(&w, &r->recording);
	if (s->by_cpu) {
		words_item(&w, "; ",
			   "--cpu %s: ", fmt_text(option, sizeof(option), s->options.cpu, 40));
		add_count(&w, &s->cpu, "CPUs");
	}
	if (s->by_thread) {
		add_options(&w, &s->options);
		words_add(&w, ": ");
		if (s->thread.selected < s->thread.all) {
			add_count(&w, &s->thread, "threads");
			words_add(&w, " in ");
		}
		add_count(&w, &s->process, "processes");
	}
	if (s->by_operation) {
		words_item(&w, "; ",
			   "--op %s: ", fmt_text(option, sizeof(option), s->options.op, 40));
		add_count(&w, &s->operation, "operations");
	}
	if (*text)
		print_wrapped(out, 2, "only: %s", text);
}

void print_completeness(const struct report *r, const struct page *out)
{
	const struct completeness *c = &r->completeness;
	char buf[FMT_SIZE], part[FMT_SIZE];
	uint64_t all = r->system.cpu_time + r->system.unrecorded;

	print_styled(out, c->complete ? STYLE_PLAIN : STYLE_RED, "Recording: %s",
		     c->complete ? "complete" : "INCOMPLETE");
	if (!c->closed)
		print_not_closed(r, out);
	print_lost(r, out);
	if (r->procs.breaks)
		print_wrapped(out, 2,
			"chain breaks: at least %s switch%s never came, %s of CPU time unrecorded",
			fmt_count(buf, r->procs.breaks), r->procs.breaks == 1 ? "" : "es",
			fmt_percent(part, r->system.unrecorded, all));
	print_damage(r, out);
	if (c->calls_lossy || c->switches_lossy || c->pages_lossy)
		fprintf(out->file, "~ marks figures that rest on events with losses\n");
	print_selection(r, out);
}
