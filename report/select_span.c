// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include "moment.h"
#include "narrow.h"
#include "select.h"

static int bad(const struct recording *r, const char *option, const char *what, const char *text,
	       struct error *e)
{
	char range[160];

	error_set(e, ERROR_USAGE, "option \"--%s\": %s: \"%s\"", option, what, text);
	return error_hint(e, "the recording covers %s", moment_range(r, range, sizeof(range)));
}

static int read_moment(const struct recording *r, const char *option, const char *text,
		       uint64_t *ts, struct error *e)
{
	if (moment_read(r, text, ts))
		return 0;
	error_set(e, ERROR_USAGE, "option \"--%s\": no time: \"%s\"", option, text);
	return error_hint(e, "as 2.5, 300ms or 25%% from the start, -5s before the end, or %s",
			  r->anchor_count ? "14:03:07.5" :
					    "(not in this file: it has no clock) 14:03:07.5");
}

static int read_span(const struct recording *r, const char *option, const char *text, uint64_t *ns,
		     struct error *e)
{
	if (moment_span(r, text, ns) && *ns)
		return 0;
	error_set(e, ERROR_USAGE, "option \"--%s\": no span: \"%s\"", option, text);
	return error_hint(e, "as 5s, 300ms, 2min or 10%%");
}

/* Each moves a bound inwards; one that lies outside the recording leaves it. */
static int find_bounds(const struct select_options *o, const struct recording *r, uint64_t *from,
		       uint64_t *to, struct error *e)
{
	uint64_t at;

	if (o->from) {
		if (read_moment(r, "from", o->from, &at, e))
			return ERROR_USAGE;
		if (at >= r->end)
			return bad(r, "from", "after the end", o->from, e);
		*from = at > *from ? at : *from;
	}
	if (o->to) {
		if (read_moment(r, "to", o->to, &at, e))
			return ERROR_USAGE;
		if (at <= r->start)
			return bad(r, "to", "not after the start", o->to, e);
		*to = at < *to ? at : *to;
	}
	if (o->skip) {
		if (read_span(r, "skip", o->skip, &at, e))
			return ERROR_USAGE;
		if (at >= r->end - r->start)
			return bad(r, "skip", "leaves nothing", o->skip, e);
		*from = r->start + at > *from ? r->start + at : *from;
	}
	if (o->last) {
		if (read_span(r, "last", o->last, &at, e))
			return ERROR_USAGE;
		if (at < r->end - r->start && r->end - at > *from)
			*from = r->end - at;
	}
	return 0;
}

static int nothing_left(const struct select_options *o, const struct recording *r, struct error *e)
{
	const char *first = o->from ? "from" : o->last ? "last" : "skip";
	char range[160];

	error_set(e, ERROR_USAGE, "--%s and --%s leave nothing", first, o->to ? "to" : "last");
	return error_hint(e, "the recording covers %s", moment_range(r, range, sizeof(range)));
}

static void add_range(char *text, size_t size, uint32_t first, uint32_t last)
{
	size_t at = 0;

	while (at < size && text[at])
		at++;
	if (first == last)
		snprintf(text + at, size - at, "%s%u", at ? "," : "", first);
	else
		snprintf(text + at, size - at, "%s%u-%u", at ? "," : "", first, last);
}

static int no_cpu(const struct recording *r, const char *what, const char *text, int length,
		  struct error *e)
{
	char list[160] = "";

	for (uint32_t i = 0, first; i < r->cpus; i++) {
		if (!r->cpu[i].present)
			continue;
		for (first = i; i + 1 < r->cpus && r->cpu[i + 1].present; i++)
			;
		add_range(list, sizeof(list), first, i);
	}
	error_set(e, ERROR_USAGE, "option \"--cpu\": %s: \"%.*s\"", what, length, text);
	return error_hint(e, "as 0-3,8; the recording has CPU%s %s",
			  r->cpus_present == 1 ? "" : "s", list);
}

static const char *read_cpu(const char *text, uint64_t *cpu)
{
	const char *at = text;

	for (*cpu = 0; *at >= '0' && *at <= '9' && at < text + 9; at++)
		*cpu = *cpu * 10 + (uint64_t)(*at - '0');
	return at > text ? at : NULL;
}

/* "3" or "0-3"; at least one CPU of it must be there. */
static const char *take_cpus(struct selection *s, const struct recording *r, const char *text,
			     struct error *e)
{
	uint64_t first, last;
	const char *end = read_cpu(text, &first);
	bool found = false;

	last = first;
	if (end && *end == '-')
		end = read_cpu(end + 1, &last);
	if (!end || (*end && *end != ',') || last < first) {
		no_cpu(r, "no list of CPUs", text, 60, e);
		return NULL;
	}
	for (uint64_t i = first; i <= last && i < r->cpus; i++)
		if (r->cpu[i].present) {
			s->cpus[i / 64] |= 1ull << i % 64;
			found = true;
		}
	if (!found)
		no_cpu(r, first == last ? "no such CPU" : "no such CPUs", text, (int)(end - text),
		       e);
	return found ? end : NULL;
}

static int find_cpus(struct selection *s, const struct recording *r, struct error *e)
{
	const char *at = s->options.cpu;

	s->cpus = calloc(r->cpus / 64 + 1, sizeof(*s->cpus));
	if (!s->cpus)
		return error_set(e, ERROR_MEMORY, "out of memory");
	do {
		at = take_cpus(s, r, at, e);
		if (!at)
			return ERROR_USAGE;
	} while (*at++ == ',');
	for (uint32_t i = 0; i < r->cpus; i++) {
		s->cpu.selected += select_bit(s->cpus, r->cpus, i);
		s->cpu.all += r->cpu[i].present;
	}
	s->by_cpu = s->cpu.selected < s->cpu.all;
	return 0;
}

int select_span(struct selection *s, const struct select_options *options, struct recording *r,
		struct error *e)
{
	uint64_t from = r->start, to = r->end;
	int ret = 0;

	s->options = *options;
	if (options->all && options->tree_only)
		return error_set(e, ERROR_USAGE, "either --all or --tree-only");
	if (options->cpu)
		ret = find_cpus(s, r, e);
	if (!ret)
		ret = find_bounds(options, r, &from, &to, e);
	if (ret)
		return ret;
	s->by_time = options->from || options->to || options->last || options->skip;
	if (from >= to && s->by_time)
		return nothing_left(options, r, e);
	/* What was asked for is told, where it turns out to be all there is too. */
	if (from == r->start && to == r->end && !s->by_cpu)
		return 0;
	ret = recording_narrow(r, from, to, s->by_cpu ? s->cpus : NULL);
	return ret ? error_set(e, ret, "out of memory") : 0;
}
