// SPDX-License-Identifier: BSD-2-Clause
/* Sums over the causes of a chain: by kind, by who, and as shares that add up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chain_text.h"
#include "fmt.h"


uint64_t chain_class_ns(const struct chain *c, enum cause_kind kind)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < c->cause_count; i++)
		if (c->causes[i].kind == kind)
			ns += c->causes[i].ns;
	return ns;
}

const struct cause *chain_cause(const struct chain *c, enum cause_kind kind)
{
	for (size_t i = 0; i < c->cause_count; i++)
		if (c->causes[i].kind == kind)
			return &c->causes[i];
	return NULL;
}

static int by_ns(const void *a, const void *b)
{
	const struct class_share *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

size_t chain_classes(const struct chain *c, struct class_share out[CHAIN_CLASSES])
{
	uint64_t known = c->account.unrecorded;
	size_t n = 0;

	for (enum cause_kind kind = 1; kind < CAUSE_LIMIT; kind++) {
		uint64_t ns = chain_class_ns(c, kind);

		known += ns;
		if (ns)
			out[n++] = (struct class_share){ kind, chain_class(kind), ns };
	}
	qsort(out, n, sizeof(*out), by_ns);
	if (c->account.unrecorded)
		out[n++] = (struct class_share){ CAUSE_NONE, "unrecorded", c->account.unrecorded };
	/* What no cause was found for, be it in a state that has a name in the account. */
	out[n++] = (struct class_share){ CAUSE_NONE, "unexplained", c->lost > known ? c->lost - known : 0 };
	return n;
}

void shares_round(const uint64_t *parts, size_t count, unsigned int whole, unsigned int *shares)
{
	unsigned __int128 sum = 0;
	unsigned int given = 0;

	for (size_t i = 0; i < count; i++)
		sum += parts[i];
	for (size_t i = 0; i < count; i++) {
		shares[i] = sum ? (unsigned int)((unsigned __int128)parts[i] * whole / sum) : 0;
		given += shares[i];
	}
	/* Fewer than count are missing; a part whose remainder was used has a negative one then. */
	for (; sum && given < whole; given++) {
		size_t best = 0;
		__int128 most = -1;

		for (size_t i = 0; i < count; i++) {
			__int128 rest = (__int128)((unsigned __int128)parts[i] * whole) -
					(__int128)((unsigned __int128)shares[i] * sum);

			if (rest > most) {
				most = rest;
				best = i;
			}
		}
		shares[best]++;
	}
}

/* Causes come most first, processes of one name joined: see finding_join_names(). */
size_t chain_culprits(const struct chain *c, enum cause_kind kind, const struct cause **out, size_t max,
		      size_t *more, uint64_t *rest)
{
	size_t n = 0;

	*more = 0;
	*rest = 0;
	for (size_t i = 0; i < c->cause_count; i++) {
		const struct cause *cause = &c->causes[i];

		if (kind != CAUSE_LIMIT && (cause->kind != kind || cause->process == TASKS_UNKNOWN))
			continue;
		if (n < max) {
			out[n++] = cause;
		} else {
			*more += cause->processes;
			*rest += cause->ns;
		}
	}
	return n;
}

const char *culprit_label(const struct report *r, const struct chain *c, const struct cause *who,
			  char *buf, size_t size)
{
	char name[64];

	if (who->processes < 2)
		return chain_label(r, c, who->process, who->thread, buf, size);
	fmt_text(name, sizeof(name), r->tasks.processes[who->process].name, 20);
	snprintf(buf, size, "%s (%u processes)", name, who->processes);
	return buf;
}
