// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <string.h>
#include "fmt.h"
#include "view.h"
#include "view_text.h"

void line_begin(struct line *l, FILE *out, const char *title)
{
	*l = (struct line){ .out = out, .title = title };
}

void line_item(struct line *l, const char *format, ...)
{
	char text[512];
	size_t width;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	width = fmt_width(text);
	if (!l->items++) {
		fputs(l->title, l->out);
		l->column = fmt_width(l->title);
	} else if (l->column + 3 + width > VIEW_WIDTH) {
		fprintf(l->out, ",\n  ");
		l->column = 2;
	} else {
		fputs(", ", l->out);
		l->column += 2;
	}
	fputs(text, l->out);
	l->column += width;
}

void line_end(struct line *l)
{
	if (l->items)
		fputc('\n', l->out);
}

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

void print_wrapped(FILE *out, size_t indent, const char *format, ...)
{
	char text[2048];
	const char *at = text;
	size_t width = VIEW_WIDTH;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	do {
		size_t length = break_at(at, width);

		fprintf(out, "%*s%.*s\n", at == text ? 0 : (int)indent, "", (int)length, at);
		at += length;
		at += *at == ' ';
		width = VIEW_WIDTH - indent;
	} while (*at);
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

void cell_rate(struct grid *t, bool lossy, uint64_t events, uint64_t span_ns)
{
	char buf[FMT_SIZE];

	add_cell(t, lossy, fmt_rate(buf, events, span_ns), true);
}

void cell_bytes(struct grid *t, bool lossy, uint64_t bytes)
{
	char buf[FMT_SIZE];

	add_cell(t, lossy, fmt_bytes(buf, bytes), false);
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

static void print_lost(const struct report *r, FILE *out)
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

static void print_not_closed(const struct report *r, FILE *out)
{
	char span[FMT_SIZE], at[FMT_SIZE];

	print_wrapped(out, 2, "not closed cleanly: covers the first %s (until %s)",
		fmt_span(span, r->covered_until),
		fmt_clock(at, recording_realtime(&r->recording, r->recording.end)));
}

static void print_damage(const struct report *r, FILE *out)
{
	const struct completeness *c = &r->completeness;
	char buf[FMT_SIZE], text[256];

	if (c->damaged_blocks)
		fprintf(out, "damaged: %s blocks of the file cannot be read\n",
			fmt_count(buf, c->damaged_blocks));
	if (c->unknown_blocks)
		fprintf(out, "skipped: %s blocks of a kind this program does not know\n",
			fmt_count(buf, c->unknown_blocks));
	if (c->error)
		print_wrapped(out, 2, "recording failed after the start: %s",
			fmt_text(text, sizeof(text), c->error, 0));
}

void print_completeness(const struct report *r, FILE *out)
{
	const struct completeness *c = &r->completeness;
	char buf[FMT_SIZE], part[FMT_SIZE];
	uint64_t all = r->system.cpu_time + r->system.unrecorded;

	fprintf(out, "Recording: %s\n", c->complete ? "complete" : "INCOMPLETE");
	if (!c->closed)
		print_not_closed(r, out);
	print_lost(r, out);
	if (r->procs.breaks)
		print_wrapped(out, 2,
			"chain breaks: at least %s switches never came, %s of CPU time unrecorded",
			fmt_count(buf, r->procs.breaks),
			fmt_percent(part, r->system.unrecorded, all));
	print_damage(r, out);
	if (c->calls_lossy || c->switches_lossy || c->pages_lossy)
		fprintf(out, "~ marks figures that rest on events with losses\n");
}
