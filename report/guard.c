// SPDX-License-Identifier: BSD-2-Clause
#include <fnmatch.h>
#include <string.h>
#include "../common/options.h"
#include "diff_floor.h"
#include "fmt.h"
#include "guard.h"
#include "guard_figures.h"
#include "words.h"

#define SUBJECT_MAX 128
#define TEXT_SHOWN 120		/* of a condition, in messages */
#define DIFF_PREFIX "diff."
#define DIFF_CHANGES "changes"	/* how many are significant; the others are after / before */

enum comparison { OVER, OVER_OR_SAME, UNDER, UNDER_OR_SAME, SAME, OTHER };

struct condition {
	const char *text;
	const struct figure *figure;
	struct figure of_diff;		/* what figure points to in a comparison: diff_floor.h */
	char subject[SUBJECT_MAX];	/* "" none */
	enum comparison comparison;
	long double value, divisor;	/* value / divisor is in ns, bytes, or as it is: exact */
	bool share;			/* given in % */
};

/* --- parsing */

struct unit { const char *name; enum figure_unit of; uint64_t factor, divisor; };

static const struct unit units[] = {
	{ "ns", FIGURE_TIME, 1, 1 }, { "us", FIGURE_TIME, 1000, 1 },
	{ "ms", FIGURE_TIME, 1000000, 1 }, { "s", FIGURE_TIME, 1000000000, 1 },
	{ "B", FIGURE_BYTES, 1, 1 }, { "KiB", FIGURE_BYTES, 1 << 10, 1 },
	{ "MiB", FIGURE_BYTES, 1 << 20, 1 }, { "GiB", FIGURE_BYTES, 1 << 30, 1 },
	{ "%", FIGURE_SHARE, 1, 100 }, { "%", FIGURE_RATIO, 1, 100 }, { "/s", FIGURE_RATE, 1, 1 },
	{ 0 },
};

/* What a figure's number may be given in, for hints; and whether it must be. */
static const struct { const char *kind, *names; bool needed; } unit_texts[] = {
	[FIGURE_COUNT] = { "a count", "none", false },
	[FIGURE_TIME] = { "a time", "ns, us, ms, s", true },
	[FIGURE_BYTES] = { "a size", "B, KiB, MiB, GiB", true },
	[FIGURE_SHARE] = { "a share", "%", true },
	[FIGURE_RATE] = { "a rate", "/s or none", false },
	[FIGURE_RATIO] = { "a ratio", "% or none", false },
};

/* Where in a condition parsing is. */
struct cursor { const struct condition *c; const char *at; struct error *e; };

static void skip_space(struct cursor *p)
{
	p->at += strspn(p->at, " \t");
}

static int expected(struct cursor *p, const char *what)
{
	skip_space(p);
	if (*p->at)
		return error_set(p->e, ERROR_USAGE,
				 "option \"--fail-if\": \"%.*s\": expected %s at \"%.40s\"",
				 TEXT_SHOWN, p->c->text, what, p->at);
	return error_set(p->e, ERROR_USAGE,
			 "option \"--fail-if\": \"%.*s\": expected %s at the end", TEXT_SHOWN,
			 p->c->text, what);
}

static int complain(struct cursor *p, const char *what)
{
	return error_set(p->e, ERROR_USAGE, "option \"--fail-if\": \"%.*s\": %s", TEXT_SHOWN,
			 p->c->text, what);
}

static const char *figure_name(size_t i)
{
	return figures[i].name;
}

static const char *metric_name(size_t i)
{
	return i < METRIC_LIMIT ? diff_metrics[i].name : i == METRIC_LIMIT ? DIFF_CHANGES : NULL;
}

/* The place of the word among the names; that of the name NULL when it is not there. */
static size_t find(const char *word, size_t length, const char *(*name)(size_t i))
{
	size_t i = 0;

	while (name(i) && (strlen(name(i)) != length || memcmp(name(i), word, length)))
		i++;
	return i;
}

/* The nearest of the names; NULL for a word that is like none of them. */
static const char *nearest(const char *word, size_t length, const char *(*name)(size_t i))
{
	unsigned int best = (unsigned int)length / 3 + 1;
	const char *found = NULL;

	for (size_t i = 0; name(i); i++) {
		unsigned int d = options_distance(word, length, name(i));

		if (d < best) {
			best = d;
			found = name(i);
		}
	}
	return found;
}

static int unknown_figure(struct cursor *p, const char *word, size_t length, bool diff)
{
	const char *near = nearest(word, length, diff ? metric_name : figure_name);
	const char *prefix = diff ? DIFF_PREFIX : "";
	char what[80];

	snprintf(what, sizeof(what), "there is no figure \"%s%.*s\"", prefix,
		 (int)(length < 40 ? length : 40), word);
	complain(p, what);
	if (near)
		return error_hint(p->e, "did you mean \"%s%s\"?", prefix, near);
	if (diff)
		return error_hint(p->e, "such as diff.p99(OPERATION), diff.calls_per_second(OPERATION), diff.switches_per_call(workers), diff.changes; ingero-report(1) has all");
	return error_hint(p->e, "such as p99(OPERATION), calls(OPERATION), chains(HIGH), lost_events, running(worker); ingero-report(1) has all");
}

static int wrong_kind(struct cursor *p, bool diff)
{
	if (diff) {
		complain(p, "a figure of one recording, and this is a comparison");
		return error_hint(p->e, "its figures begin with \"diff.\", such as \"diff.p99(cudaStreamSynchronize) > 1.2\"");
	}
	complain(p, "a figure of a comparison, and there is one recording");
	return error_hint(p->e, "ingero-report --diff BEFORE AFTER");
}

static int parse_figure(struct cursor *p, struct condition *c, bool diff)
{
	const char *word = p->at;
	size_t length =
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	bool of_diff = length && !strncmp(word, DIFF_PREFIX, strlen(DIFF_PREFIX));
	size_t i;

	if (!length) {
		expected(p, "a figure");
		return error_hint(p->e, "such as \"p99(cudaStreamSynchronize) > 10ms\"");
	}
	p->at += length;
	word += of_diff ? strlen(DIFF_PREFIX) : 0;
	length -= of_diff ? strlen(DIFF_PREFIX) : 0;
	i = find(word, length, of_diff ? metric_name : figure_name);
	if (of_diff ? !metric_name(i) : !figure_name(i))
		return unknown_figure(p, word, length, of_diff);
	if (of_diff != diff)
		return wrong_kind(p, diff);
	c->of_diff = (struct figure){
		.name = metric_name(of_diff ? i : 0), .subject = SUBJECT_PROCESS,
		.unit = i == METRIC_LIMIT ? FIGURE_COUNT : FIGURE_RATIO,
	};
	c->figure = of_diff ? &c->of_diff : &figures[i];
	return 0;
}

/* Up to the parenthesis that closes; there may be pairs of them inside. */
static int parse_subject(struct cursor *p, struct condition *c)
{
	const char *start;
	unsigned int depth = 1;
	size_t length;

	skip_space(p);
	if (*p->at != '(')
		return 0;
	p->at++;
	skip_space(p);
	for (start = p->at; *p->at && depth; p->at++)
		depth += *p->at == '(' ? 1u : *p->at == ')' ? -1u : 0;
	if (depth)
		return expected(p, "\")\"");
	length = (size_t)(p->at - 1 - start);
	while (length && start[length - 1] == ' ')
		length--;
	if (!length)
		return complain(p, "nothing between \"(\" and \")\"");
	if (length >= sizeof(c->subject))
		return complain(p, "too long between \"(\" and \")\"");
	memcpy(c->subject, start, length);
	return 0;
}

static int check_subject(struct cursor *p, const struct condition *c)
{
	const struct figure *f = c->figure;

	if (f->subject == SUBJECT_OPERATION && !*c->subject) {
		complain(p, "of which CUDA operation?");
		return error_hint(p->e, "%s(cudaStreamSynchronize), or %s(*) for any", f->name,
				  f->name);
	}
	if (f->subject == SUBJECT_NONE && *c->subject) {
		complain(p, "a figure of the whole recording, without \"(\"");
		return error_hint(p->e, "\"%s\" alone", f->name);
	}
	if (f->subject != SUBJECT_SEVERITY || !*c->subject || figure_severity(c->subject))
		return 0;
	complain(p, "there is no such severity");
	return error_hint(p->e, "LOW, MEDIUM or HIGH");
}

static int parse_comparison(struct cursor *p, struct condition *c)
{
	static const struct { const char *text; enum comparison means; } signs[] = {
		{ ">=", OVER_OR_SAME }, { ">", OVER }, { "<=", UNDER_OR_SAME }, { "<", UNDER },
		{ "==", SAME }, { "!=", OTHER },
	};

	skip_space(p);
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (strncmp(p->at, signs[i].text, strlen(signs[i].text)))
			continue;
		p->at += strlen(signs[i].text);
		c->comparison = signs[i].means;
		return 0;
	}
	return expected(p, "one of > >= < <= == !=");
}

/* Digits with or without a point; strtold() would go by the locale. */
static int parse_number(struct cursor *p, struct condition *c)
{
	bool point = false, digits = false;

	skip_space(p);
	for (; (*p->at >= '0' && *p->at <= '9') || (*p->at == '.' && !point); p->at++) {
		if (*p->at == '.') {
			point = true;
			continue;
		}
		digits = true;
		c->value = c->value * 10 + (*p->at - '0');
		c->divisor *= point ? 10 : 1;
	}
	return digits ? 0 : expected(p, "a number");
}

static int bad_unit(struct cursor *p, enum figure_unit unit, bool may_share)
{
	error_hint(p->e, "%s in %s%s", unit_texts[unit].kind, unit_texts[unit].names,
		   may_share ? "; or its share in %" : "");
	return ERROR_USAGE;
}

static int parse_unit(struct cursor *p, struct condition *c)
{
	enum figure_unit unit = c->figure->unit;
	char word[8] = "";
	size_t length;

	skip_space(p);
	length = strcspn(p->at, " \t");
	if (p->at[length + strspn(p->at + length, " \t")] || length >= sizeof(word)) {
		p->at += length < sizeof(word) ? length : 0;
		expected(p, length < sizeof(word) ? "the end" : "a unit");
		return length < sizeof(word) ? ERROR_USAGE :
					       bad_unit(p, unit, c->figure->may_share);
	}
	memcpy(word, p->at, length);
	for (const struct unit *u = units; u->name; u++) {
		bool share = c->figure->may_share && u->of == FIGURE_SHARE;

		if (strcmp(u->name, word) || (u->of != unit && !share))
			continue;
		c->value *= u->factor;
		c->divisor *= u->divisor;
		c->share = share;
		return 0;
	}
	if (!length && (!unit_texts[unit].needed || !(c->value > 0)))
		return 0;
	expected(p, length ? "another unit" : "a unit");
	return bad_unit(p, unit, c->figure->may_share);
}

static int parse(struct condition *c, const char *text, bool diff, struct error *e)
{
	struct cursor p = { c, text, e };
	int ret;

	*c = (struct condition){ .text = text, .divisor = 1 };
	skip_space(&p);
	ret = parse_figure(&p, c, diff);
	if (!ret)
		ret = parse_subject(&p, c);
	if (!ret)
		ret = check_subject(&p, c);
	if (!ret)
		ret = parse_comparison(&p, c);
	if (!ret)
		ret = parse_number(&p, c);
	return ret ? ret : parse_unit(&p, c);
}

int guard_check(const struct guard *g, bool diff, struct error *e)
{
	struct condition c;
	int ret = 0;

	for (size_t i = 0; i < g->count && !ret; i++)
		ret = parse(&c, g->texts[i], diff, e);
	return ret;
}

/* --- judging */

/* The worst of the values for which a condition holds. */
struct verdict {
	const struct condition *c;
	size_t holds;
	struct figure_value worst;
	const struct diff_change *change;	/* the worst, of a comparison */
	char of[FIGURE_NAME_MAX];
};

static bool holds(const struct condition *c, const struct figure_value *v)
{
	long double a = v->a * c->divisor, limit = c->value * v->b;

	switch (c->comparison) {
	case OVER:
		return a > limit;
	case OVER_OR_SAME:
		return a >= limit;
	case UNDER:
		return a < limit;
	case UNDER_OR_SAME:
		return a <= limit;
	case SAME:
		return !(a > limit) && !(a < limit);
	default:
		return a > limit || a < limit;
	}
}

/* The largest one, of a lower bound the smallest. */
static bool is_worse(const struct condition *c, const struct figure_value *v,
		     const struct figure_value *than)
{
	long double a = v->a * than->b, b = than->a * v->b;

	return c->comparison == UNDER || c->comparison == UNDER_OR_SAME ? a < b : a > b;
}

/* True for the worst so far. */
static bool judge(struct verdict *verdict, const char *of, const struct figure_value *v)
{
	if (!holds(verdict->c, v))
		return false;
	if (verdict->holds++ && !is_worse(verdict->c, v, &verdict->worst))
		return false;
	verdict->worst = *v;
	snprintf(verdict->of, sizeof(verdict->of), "%s", of);
	return true;
}

static void visit(void *context, const char *of, const struct figure_value *v)
{
	judge(context, of, v);
}

/* 12345678 as "12.3 ms (12,345,678 ns)": rounded, a limit just passed would look met. */
static void put_exact(FILE *out, const char *rounded, uint64_t n, const char *unit)
{
	char count[FMT_SIZE];

	fprintf(out, "%s", rounded);
	if (n >= 1000)
		fprintf(out, " (%s %s)", fmt_count(count, n), unit);
}

static void put_ratio(FILE *out, const struct figure_value *v, bool percent)
{
	long double n = v->a / v->b * (percent ? 100 : 1);
	uint64_t thousandths = (uint64_t)(n * 1000 + 0.5L);

	fprintf(out, "%llu.%03llu%s", (unsigned long long)(thousandths / 1000),
		(unsigned long long)(thousandths % 1000), percent ? " %" : "");
}

static void put_value(FILE *out, const struct condition *c, const struct figure_value *v)
{
	char text[FMT_SIZE];
	uint64_t n = (uint64_t)v->a;

	if (c->share || c->figure->unit == FIGURE_SHARE)
		put_ratio(out, v, true);
	else if (c->figure->unit == FIGURE_TIME)
		put_exact(out, fmt_ns(text, n), n, "ns");
	else if (c->figure->unit == FIGURE_BYTES)
		put_exact(out, fmt_bytes(text, n), n, "B");
	else if (c->figure->unit == FIGURE_COUNT)
		fprintf(out, "%s", fmt_count(text, n));
	else
		put_ratio(out, v, false);
	if (c->figure->unit == FIGURE_RATE)
		fprintf(out, "/s");
}

/* A figure of one side of a comparison. */
static void put_side(FILE *out, enum diff_unit unit, double value)
{
	const struct figure_value v = { value, 1 };
	char text[FMT_SIZE];

	if (unit == DIFF_UNIT_NS)
		fprintf(out, "%s", fmt_ns(text, (uint64_t)value));
	else
		put_ratio(out, &v, unit == DIFF_UNIT_SHARE);
	if (unit == DIFF_UNIT_RATE)
		fprintf(out, "/s");
}

static void put_change(FILE *out, const struct diff_change *change)
{
	fprintf(out, ": ");
	put_side(out, change->unit, change->before);
	fprintf(out, " before, ");
	put_side(out, change->unit, change->after);
	fprintf(out, " after; %s significant change", change->significant ? "a" : "no");
}

static void put_verdict(FILE *out, const struct verdict *v, const struct diff *d)
{
	const struct condition *c = v->c;
	char text[512];

	fprintf(out, "ingero-report: \"%s\" holds: %s%s",
		fmt_text(text, sizeof(text), c->text, TEXT_SHOWN), d ? DIFF_PREFIX : "",
		c->figure->name);
	if (*v->of)
		fprintf(out, "(%s)", fmt_text(text, sizeof(text), v->of, 0));
	fprintf(out, " is ");
	if (!(v->worst.b > 0))
		fprintf(out, "beyond all bounds");
	else
		put_value(out, c, &v->worst);
	if (d && c->figure->unit == FIGURE_RATIO)
		put_change(out, v->change);
	if (v->holds > 1)
		fprintf(out, "; and for %zu more", v->holds - 1);
	fputc('\n', out);
}

static bool compares(const struct condition *c, const struct diff_change *change)
{
	if (*c->subject && fnmatch(c->subject, change->subject, FNM_CASEFOLD | FNM_NOESCAPE))
		return false;
	return c->figure->unit == FIGURE_COUNT || !strcmp(change->metric, c->figure->name);
}

/* What there is to choose from: the first subjects of the metric, each once. */
static int nothing_compared(const struct condition *c, const struct diff *d, struct error *e)
{
	char text[200];
	struct words words;
	size_t count = 0;

	words_begin(&words, text, sizeof(text));
	for (size_t i = 0; i < d->change_count && count < 8; i++)
		if (c->figure->unit == FIGURE_COUNT ||
		    !strcmp(d->changes[i].metric, c->figure->name)) {
			words_item(&words, ", ", "%s", d->changes[i].subject);
			count++;
		}
	error_set(e, ERROR_USAGE, "nothing of that kind was compared");
	return count ? error_hint(e, "there are: %s", text) : ERROR_USAGE;
}

/* The comparisons that a condition is on, as figure_values() does it for a recording. */
static int judge_changes(struct verdict *verdict, const struct diff *d, struct error *e)
{
	const struct condition *c = verdict->c;
	struct figure_value n = { 0, 1 };
	size_t seen = 0;

	for (size_t i = 0; i < d->change_count; i++) {
		const struct diff_change *change = &d->changes[i];
		struct figure_value v = { change->after, change->before };

		if (!compares(c, change))
			continue;
		seen++;
		n.a += change->significant;
		/* What neither side did has no ratio. */
		if (c->figure->unit == FIGURE_COUNT || !(change->after > 0 || change->before > 0))
			continue;
		if (judge(verdict, change->subject, &v))
			verdict->change = change;
	}
	if (c->figure->unit == FIGURE_COUNT && (seen || !*c->subject))
		judge(verdict, c->subject, &n);
	else if (!seen)
		return nothing_compared(c, d, e);
	return 0;
}

/* 1 when it holds, 0 when not, ERROR_USAGE. */
static int run_one(const char *text, const struct report *r, const struct diff *d, FILE *out,
		   struct error *e)
{
	struct error why = { 0 };
	struct condition c;
	struct verdict v = { .c = &c };
	int ret = parse(&c, text, d != NULL, e);

	if (ret)
		return ret;
	if (d)
		ret = judge_changes(&v, d, &why);
	else
		ret = figure_values(c.figure, r, *c.subject ? c.subject : NULL, c.share, visit, &v,
				    &why);
	if (ret) {
		error_set(e, ret, "option \"--fail-if\": cannot judge \"%.*s\": %s", TEXT_SHOWN,
			  text, why.text);
		return why.hint[0] ? error_hint(e, "%s", why.hint) : ret;
	}
	if (v.holds)
		put_verdict(out, &v, d);
	return v.holds > 0;
}

int guard_run(const struct guard *g, const struct report *r, const struct diff *d, FILE *out,
	      struct error *e)
{
	struct error first = { 0 };
	int held = 0;

	for (size_t i = 0; i < g->count; i++) {
		struct error why = { 0 };
		int ret = run_one(g->texts[i], r, d, out, &why);

		held += ret > 0;
		if (ret < 0 && !first.code)
			first = why;
	}
	if (!first.code)
		return held;
	*e = first;
	return first.code;
}
