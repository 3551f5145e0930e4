// SPDX-License-Identifier: BSD-2-Clause
/* What was not the same about the recordings before anything is compared. */
#include <stdio.h>
#include <string.h>
#include "array.h"
#include "diff_private.h"
#include "fmt.h"

#define LOAD_DIFFERS 0.1	/* CPUs used by others */
#define STEAL_DIFFERS 0.02	/* of the CPUs' time */
#define MEMORY_DIFFERS 2	/* times less of it left */

int diff_add_difference(struct diff *d, const char *what, const char *before, const char *after)
{
	struct diff_difference *list = array_reserve(d->differences, &d->difference_capacity,
						     d->difference_count + 1, sizeof(*list)), *new;

	if (!list)
		return ERROR_MEMORY;
	d->differences = list;
	new = &list[d->difference_count++];
	snprintf(new->what, sizeof(new->what), "%s", what);
	snprintf(new->before, sizeof(new->before), "%s", before);
	snprintf(new->after, sizeof(new->after), "%s", after);
	return 0;
}

/* --- facts */

static const char *fact(const struct diff_run *run, const char *what)
{
	for (size_t i = 0; i < run->fact_count; i++)
		if (!strcmp(run->facts[i].what, what))
			return run->facts[i].value;
	return "none";
}

/* The values of a side, each once. */
static void values(const struct diff_input *in, unsigned int side, const char *what,
		   char out[DIFF_WHY])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < in->counts[side]; i++) {
		const char *value = fact(in->runs[side][i], what);
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = !strcmp(value, fact(in->runs[side][k], what));
		if (!seen && n + 3 < DIFF_WHY)
			n += (size_t)snprintf(out + n, DIFF_WHY - n, "%s%s", n ? "; " : "", value);
	}
}

static bool seen_before(const struct diff_input *in, unsigned int side, size_t run, size_t place)
{
	const char *what = in->runs[side][run]->facts[place].what;

	for (size_t i = 0; i < place; i++)
		if (!strcmp(in->runs[side][run]->facts[i].what, what))
			return true;
	for (unsigned int k = 0; k <= side; k++)
		for (size_t i = 0; i < (k == side ? run : in->counts[k]); i++)
			if (strcmp(fact(in->runs[k][i], what), "none"))
				return true;
	return false;
}

static int differ_facts(struct diff *d, const struct diff_input *in)
{
	char before[DIFF_WHY], after[DIFF_WHY];
	int ret = 0;

	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < in->counts[k]; i++)
			for (size_t f = 0; f < in->runs[k][i]->fact_count && !ret; f++) {
				const char *what = in->runs[k][i]->facts[f].what;

				if (seen_before(in, k, i, f))
					continue;
				values(in, 0, what, before);
				values(in, 1, what, after);
				if (strcmp(before, after))
					ret = diff_add_difference(d, what, before, after);
			}
	return ret;
}

/* --- operations that are not in both, and not in the steady part either */

static uint64_t all_calls(const struct diff_input *in, unsigned int side, const char *name,
			  bool steady)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < in->counts[side]; i++) {
		const struct diff_operation *o = diff_operation(in->runs[side][i], name);

		if (o)
			sum += steady ? o->calls : o->all_calls;
	}
	return sum;
}

static int differ_operation(struct diff *d, const struct diff_input *in, const char *name)
{
	uint64_t before = all_calls(in, 0, name, false), after = all_calls(in, 1, name, false);
	char what[DIFF_SUBJECT], old[FMT_SIZE], new[FMT_SIZE];

	if (!before == !after || all_calls(in, 0, name, true) || all_calls(in, 1, name, true))
		return 0;
	snprintf(what, sizeof(what), "calls of %.80s, at the start or end", name);
	return diff_add_difference(d, what, fmt_count(old, before), fmt_count(new, after));
}

static int differ_operations(struct diff *d, const struct diff_input *in)
{
	int ret = 0;

	for (unsigned int k = 0; k < 2; k++)
		for (size_t i = 0; i < in->counts[k]; i++)
			for (size_t o = 0; o < in->runs[k][i]->operation_count && !ret; o++) {
				const char *name = in->runs[k][i]->operations[o].name;

				/* Once: of the first recording that has it. */
				if (in->runs[k][i]->operations[o].all_calls && *name && !i &&
				    !(k && all_calls(in, 0, name, false)))
					ret = differ_operation(d, in, name);
			}
	return ret;
}

/* --- the machine */

static const char *cpus_text(char buf[FMT_SIZE], double cpus)
{
	return fmt_fixed(buf, (uint64_t)(cpus * 1e6 + 0.5), 1000000, 2);
}

/* "1.95 (stress-ng 1.90, cc1 0.03)"; names are of the first recording. */
static void load_text(const struct diff *d, const struct diff_input *in, unsigned int side,
		      char out[DIFF_WHY])
{
	const struct diff_run *run = in->runs[side][0];
	char number[FMT_SIZE];
	size_t n = (size_t)snprintf(out, DIFF_WHY, "%s", cpus_text(number, d->sides[side].others)),
	       named = 0;

	for (; named < run->outsider_count && named < 3; named++) {
		double cpus = (double)run->outsiders[named].running / (diff_span(run) + 1);
		char name[DIFF_LABEL];

		if (cpus < LOAD_DIFFERS / 2)
			break;
		n += (size_t)snprintf(out + n, DIFF_WHY - n, "%s%s %s", named ? ", " : " (",
				      fmt_text(name, sizeof(name), run->outsiders[named].name, 24),
				      cpus_text(number, cpus));
	}
	if (named)
		snprintf(out + n, DIFF_WHY - n, ")");
}

static double steal_share(const struct diff_input *in, unsigned int side)
{
	double steal = 0, sampled = 0;

	for (size_t i = 0; i < in->counts[side]; i++) {
		steal += (double)in->runs[side][i]->steal;
		sampled += (double)in->runs[side][i]->sampled;
	}
	return sampled > 0 ? steal / sampled : 0;
}

static uint64_t least_memory(const struct diff_input *in, unsigned int side)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < in->counts[side]; i++)
		if (in->runs[side][i]->memory_min < least)
			least = in->runs[side][i]->memory_min;
	return least;
}

static int differ_machine(struct diff *d, const struct diff_input *in)
{
	double load = d->sides[1].others - d->sides[0].others,
	       steal = steal_share(in, 1) - steal_share(in, 0);
	uint64_t before = least_memory(in, 0), after = least_memory(in, 1);
	char old[DIFF_WHY], new[DIFF_WHY], number[FMT_SIZE];
	int ret = 0;

	if (load > LOAD_DIFFERS || load < -LOAD_DIFFERS) {
		load_text(d, in, 0, old);
		load_text(d, in, 1, new);
		snprintf(d->load[0], sizeof(d->load[0]), "%.100s",
			 cpus_text(number, d->sides[0].others));
		snprintf(d->load[1], sizeof(d->load[1]), "%.100s", new);
		ret = diff_add_difference(d, "CPUs used by others", old, new);
	}
	if (!ret && (steal > STEAL_DIFFERS || steal < -STEAL_DIFFERS)) {
		diff_number(old, DIFF_UNIT_SHARE, steal_share(in, 0));
		diff_number(new, DIFF_UNIT_SHARE, steal_share(in, 1));
		ret = diff_add_difference(d, "CPU time taken by the hypervisor", old, new);
	}
	if (!ret && before && after &&
	    (before / MEMORY_DIFFERS > after || after / MEMORY_DIFFERS > before))
		ret = diff_add_difference(d, "least memory available", fmt_bytes(old, before),
					  fmt_bytes(new, after));
	return ret;
}

int diff_differ(struct diff *d, const struct diff_input *in)
{
	int ret = differ_facts(d, in);

	if (!ret)
		ret = differ_machine(d, in);
	return ret ? ret : differ_operations(d, in);
}
