// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "fmt.h"
#include "moment.h"

#define NS_S 1000000000ull
#define DIGITS_MAX 15		/* before the point; with the largest unit still in 128 bits */
#define FRACTION_MAX 9

/* A decimal number: digits / scale. */
struct decimal { uint64_t digits, scale; };

static const char *read_digits(const char *text, unsigned int max, uint64_t *value)
{
	unsigned int n = 0;

	for (; n < max && text[n] >= '0' && text[n] <= '9'; n++)
		*value = *value * 10 + (uint64_t)(text[n] - '0');
	return n ? text + n : NULL;
}

/* ".25" after the digits before it; what comes after the ninth place is left out. */
static const char *read_fraction(const char *text, struct decimal *d)
{
	const char *end;

	if (*text != '.')
		return text;
	end = read_digits(text + 1, FRACTION_MAX, &d->digits);
	for (const char *at = text + 1; end && at < end; at++)
		d->scale *= 10;
	while (end && *end >= '0' && *end <= '9')
		end++;
	return end;
}

/* What follows the number, or NULL. */
static const char *read_decimal(const char *text, struct decimal *d)
{
	*d = (struct decimal){ 0, 1 };
	text = read_digits(text, DIGITS_MAX, &d->digits);
	return text ? read_fraction(text, d) : NULL;
}

static uint64_t unit_of(const char *text)
{
	static const struct { const char *name; uint64_t ns; } units[] = {
		{ "", NS_S }, { "s", NS_S }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 },
		{ "min", 60 * NS_S }, { "m", 60 * NS_S }, { "h", 3600 * NS_S },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(text, units[i].name))
			return units[i].ns;
	return 0;
}

bool moment_span(const struct recording *r, const char *text, uint64_t *ns)
{
	struct decimal d;
	const char *rest = read_decimal(text, &d);
	unsigned __int128 value;

	if (!rest)
		return false;
	if (!strcmp(rest, "%"))
		value = (unsigned __int128)d.digits * (r->whole_end - r->whole_start) / d.scale /
			100;
	else
		value = (unsigned __int128)d.digits * unit_of(rest) / d.scale;
	*ns = value > INT64_MAX ? INT64_MAX : (uint64_t)value;
	return !strcmp(rest, "%") || unit_of(rest);
}

/* Hours, minutes and seconds into tm, the fraction into ns. */
static bool read_clock(const char *text, struct tm *tm, uint64_t *ns)
{
	uint64_t h = 0, m = 0;
	struct decimal s = { 0, 1 };

	text = read_digits(text, 2, &h);
	if (!text || *text++ != ':')
		return false;
	text = read_digits(text, 2, &m);
	if (text && *text == ':') {
		text = read_digits(text + 1, 2, &s.digits);
		text = text ? read_fraction(text, &s) : NULL;
	}
	if (!text || *text || h > 23 || m > 59 || s.digits / s.scale > 60)
		return false;
	tm->tm_hour = (int)h;
	tm->tm_min = (int)m;
	tm->tm_sec = (int)(s.digits / s.scale);
	*ns = s.digits % s.scale * (NS_S / s.scale);
	return true;
}

/* Monotonic time of a moment of the real-time clock, which may have been set in between. */
static uint64_t monotonic(const struct recording *r, uint64_t realtime)
{
	int64_t ts = (int64_t)(r->whole_start + realtime - recording_realtime(r, r->whole_start));

	for (unsigned int i = 0; i < 3 && ts > 0; i++)
		ts += (int64_t)(realtime - recording_realtime(r, (uint64_t)ts));
	return ts < 0 ? 0 : (uint64_t)ts;
}

/* By the real-time clock, which unlike the other one has days before the machine was started. */
static uint64_t distance(const struct recording *r, uint64_t realtime)
{
	uint64_t begin = recording_realtime(r, r->whole_start);
	uint64_t end = recording_realtime(r, r->whole_end);

	return realtime < begin ? begin - realtime : realtime > end ? realtime - end : 0;
}

/*
 * The day before the start's, that day and the two after it: in a recording of more than a day
 * each time of day is inside, and the first one counts.
 */
static bool nearest_day(const struct recording *r, const struct tm *clock, uint64_t ns,
			uint64_t *ts)
{
	time_t begin = (time_t)(recording_realtime(r, r->whole_start) / NS_S);
	uint64_t best = UINT64_MAX;

	for (int day = -1; day <= 2; day++) {
		struct tm tm;
		uint64_t found;

		if (!localtime_r(&begin, &tm))
			return false;
		tm.tm_mday += day;
		tm.tm_hour = clock->tm_hour;
		tm.tm_min = clock->tm_min;
		tm.tm_sec = clock->tm_sec;
		tm.tm_isdst = -1;
		found = (uint64_t)mktime(&tm) * NS_S + ns;
		if (distance(r, found) < best) {
			best = distance(r, found);
			*ts = monotonic(r, found);
		}
	}
	return true;
}

bool moment_read(const struct recording *r, const char *text, uint64_t *ts)
{
	struct tm clock = { 0 };
	uint64_t ns;

	if (*text == '-' && moment_span(r, text + 1, &ns)) {
		*ts = r->whole_end > ns ? r->whole_end - ns : 0;
		return true;
	}
	if (moment_span(r, text, &ns)) {
		*ts = r->whole_start + ns;
		return true;
	}
	return read_clock(text, &clock, &ns) && r->anchor_count && nearest_day(r, &clock, ns, ts);
}

const char *moment_range(const struct recording *r, char *buf, size_t size)
{
	char span[FMT_SIZE], from[FMT_SIZE], to[FMT_SIZE];

	snprintf(buf, size, "0 s to %s", fmt_span(span, r->whole_end - r->whole_start));
	if (r->anchor_count)
		snprintf(buf + strlen(buf), size - strlen(buf), ", %s to %s",
			 fmt_clock(from, recording_realtime(r, r->whole_start)),
			 fmt_clock(to, recording_realtime(r, r->whole_end)));
	return buf;
}
