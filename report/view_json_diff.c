// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include "view_diff.h"

#define MILLION 1000000

/* With six decimals; null where it is not known or infinite. */
static void put_number(struct json *j, const char *key, bool known, double value)
{
	if (!known || !(value < 1e12))
		json_null(j, key);
	else
		json_ratio(j, key, (uint64_t)(value * MILLION + 0.5), MILLION);
}

static void put_interval(struct json *j, const struct diff_change *c)
{
	if (!c->interval_known) {
		json_null(j, "interval");
		return;
	}
	json_array(j, "interval");
	put_number(j, NULL, true, c->low);
	put_number(j, NULL, true, c->high);
	json_array_end(j);
}

static void put_change(struct json *j, const struct diff_change *c)
{
	static const char *const sections[] = {
		[DIFF_PACE] = "pace", [DIFF_OPERATIONS] = "operations", [DIFF_ROLES] = "processes",
		[DIFF_GAPS] = "gaps", [DIFF_CHAINS] = "chains" };
	bool both = c->before > 0 && c->after > 0;

	json_object(j, NULL);
	json_string(j, "section", sections[c->section]);
	json_string(j, "subject", c->subject);
	json_string(j, "metric", c->metric);
	put_number(j, "before", true, c->before);
	put_number(j, "after", true, c->after);
	put_number(j, "ratio", c->before > 0, c->ratio);
	put_interval(j, c);
	json_bool(j, "significant", c->significant);
	put_number(j, "floor", both, c->floor);
	put_number(j, "floor_absolute", true, c->floor_absolute);
	json_bool(j, "follows_pace", c->follows);
	json_string(j, "why", c->why);
	json_object_end(j);
}

static void put_side(struct json *j, const char *key, const struct diff_side *s)
{
	json_object(j, key);
	json_array(j, "recordings");
	for (size_t i = 0; i < s->runs; i++)
		json_string(j, NULL, s->paths[i]);
	json_array_end(j);
	json_string(j, "command", s->command);
	json_bool(j, "complete", s->complete);
	json_uint(j, "steady_ns", (uint64_t)s->span);
	json_uint(j, "steady_calls", (uint64_t)s->calls);
	put_number(j, "other_cpus", true, s->others);
	json_object_end(j);
}

static void put_account(struct json *j, const struct diff *d)
{
	json_object(j, "account");
	json_string(j, "of", *d->step ? "step" : "second");
	put_number(j, "before_ns", true, d->step_ns[0]);
	put_number(j, "after_ns", true, d->step_ns[1]);
	json_array(j, "parts");
	for (size_t i = 0; i < d->part_count; i++) {
		json_object(j, NULL);
		json_string(j, "what", d->parts[i].what);
		json_string(j, "where", d->parts[i].place);
		put_number(j, "before_ns", true, d->parts[i].before);
		put_number(j, "after_ns", true, d->parts[i].after);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void view_json_diff(const struct diff *d, struct json *j)
{
	json_object(j, "diff");
	json_string(j, "verdict", d->verdict);
	put_side(j, "before", &d->sides[0]);
	put_side(j, "after", &d->sides[1]);
	json_string(j, "step", d->step);
	json_uint(j, "comparisons", d->tested);
	json_uint(j, "significant", d->significant);
	json_array(j, "differences");
	for (size_t i = 0; i < d->difference_count; i++) {
		json_object(j, NULL);
		json_string(j, "what", d->differences[i].what);
		json_string(j, "before", d->differences[i].before);
		json_string(j, "after", d->differences[i].after);
		json_object_end(j);
	}
	json_array_end(j);
	json_array(j, "changes");
	for (size_t i = 0; i < d->change_count; i++)
		put_change(j, &d->changes[i]);
	json_array_end(j);
	put_account(j, d);
	json_object_end(j);
}
