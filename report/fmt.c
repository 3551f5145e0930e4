// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "fmt.h"

#define NS_S 1000000000ull

/* value / unit, rounded to three figures where there are so many; the unit's name after it. */
static const char *scaled(char *buf, uint64_t value, uint64_t unit, const char *name)
{
	uint64_t whole = value / unit, fraction = value % unit;
	uint64_t hundredths = whole * 100 + (uint64_t)((unsigned __int128)fraction * 1000 / unit + 5) / 10;
	uint64_t tenths = whole * 10 + (uint64_t)((unsigned __int128)fraction * 100 / unit + 5) / 10;

	if (hundredths < 1000)
		snprintf(buf, FMT_SIZE, "%llu.%02llu %s", (unsigned long long)(hundredths / 100),
			 (unsigned long long)(hundredths % 100), name);
	else if (tenths < 1000)
		snprintf(buf, FMT_SIZE, "%llu.%llu %s", (unsigned long long)(tenths / 10),
			 (unsigned long long)(tenths % 10), name);
	else {
		char digits[FMT_SIZE];

		fmt_count(digits, whole + (fraction >= unit - fraction));
		snprintf(buf, FMT_SIZE, "%.28s %s", digits, name);
	}
	return buf;
}

const char *fmt_ns(char buf[FMT_SIZE], uint64_t ns)
{
	if (ns < 1000) {
		snprintf(buf, FMT_SIZE, "%u ns", (unsigned int)ns);
		return buf;
	}
	/* The limits leave room for rounding: 999,950 ns is 1.00 ms, not 1,000 us. */
	if (ns < 999500)
		return scaled(buf, ns, 1000, "us");
	if (ns < 999500000)
		return scaled(buf, ns, 1000000, "ms");
	return scaled(buf, ns, NS_S, "s");
}

const char *fmt_span(char buf[FMT_SIZE], uint64_t ns)
{
	uint64_t s = ns / NS_S;

	if (s < 60)
		return fmt_ns(buf, ns);
	if (s < 3600)
		snprintf(buf, FMT_SIZE, "%u min %02u s", (unsigned int)(s / 60), (unsigned int)(s % 60));
	else
		snprintf(buf, FMT_SIZE, "%llu h %02u min", (unsigned long long)(s / 3600),
			 (unsigned int)(s / 60 % 60));
	return buf;
}

const char *fmt_count(char buf[FMT_SIZE], uint64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	char *out = buf;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

const char *fmt_bytes(char buf[FMT_SIZE], uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned int i = 0;

	if (bytes < 1024) {
		snprintf(buf, FMT_SIZE, "%u B", (unsigned int)bytes);
		return buf;
	}
	while (i < 5 && bytes >> (10 * (i + 1)) >= 1024)
		i++;
	return scaled(buf, bytes, 1ull << (10 * (i + 1)), units[i]);
}

const char *fmt_percent(char buf[FMT_SIZE], uint64_t part, uint64_t whole)
{
	unsigned int tenths;

	if (!whole)
		return strcpy(buf, "-");
	tenths = (unsigned int)(((unsigned __int128)part * 2000 / whole + 1) / 2);
	snprintf(buf, FMT_SIZE, "%u.%u %%", tenths / 10, tenths % 10);
	return buf;
}

const char *fmt_rate(char buf[FMT_SIZE], uint64_t events, uint64_t span_ns)
{
	uint64_t hundredths;

	if (!span_ns)
		return strcpy(buf, "-");
	hundredths = (uint64_t)((unsigned __int128)events * 100 * NS_S / span_ns);
	if (hundredths >= 1000 || events == 0)
		return fmt_count(buf, (hundredths + 50) / 100);
	snprintf(buf, FMT_SIZE, "%u.%02u", (unsigned int)(hundredths / 100),
		 (unsigned int)(hundredths % 100));
	return buf;
}

const char *fmt_ratio(char buf[FMT_SIZE], uint64_t numerator, uint64_t denominator)
{
	uint64_t hundredths;

	if (!denominator)
		return strcpy(buf, "-");
	hundredths = (uint64_t)((unsigned __int128)numerator * 100 / denominator);
	snprintf(buf, FMT_SIZE, "%llu.%02u", (unsigned long long)(hundredths / 100),
		 (unsigned int)(hundredths % 100));
	return buf;
}

const char *fmt_clock(char buf[FMT_SIZE], uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / NS_S);
	struct tm tm;

	if (!realtime_ns || !localtime_r(&seconds, &tm))
		return strcpy(buf, "-");
	snprintf(buf, FMT_SIZE, "%02d:%02d:%02d.%03u", tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (unsigned int)(realtime_ns % NS_S / 1000000));
	return buf;
}

const char *fmt_date(char buf[FMT_SIZE], uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / NS_S);
	struct tm tm;

	if (!realtime_ns || !localtime_r(&seconds, &tm) ||
	    !strftime(buf, FMT_SIZE, "%Y-%m-%d %H:%M:%S %z", &tm))
		return strcpy(buf, "-");
	return buf;
}

unsigned int fmt_utf8(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned int length = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 :
			      u[0] < 0xf0 ? 3 : u[0] < 0xf5 ? 4 : 0;

	if (!u[0])
		return 0;
	for (unsigned int i = 1; i < length; i++)
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and what lies above U+10FFFF. */
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
	    (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	return length;
}

/* One character of text, made printable, into piece; returns the bytes taken from text. */
static unsigned int printable(char piece[8], const char *text)
{
	unsigned char c = (unsigned char)text[0];
	unsigned int length = fmt_utf8(text);
	bool c1 = length == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0;

	if (c == '\n' || c == '\t')
		snprintf(piece, 8, "\\%c", c == '\n' ? 'n' : 't');
	else if (c < 0x20 || c == 0x7f || !length || c1)
		snprintf(piece, 8, "\\x%02x", c1 ? (unsigned char)text[1] : c);
	else
		snprintf(piece, 8, "%.*s", (int)length, text);
	return length ? length : 1;
}

size_t fmt_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

const char *fmt_text(char *buf, size_t size, const char *text, size_t width)
{
	size_t used = 0, columns = 0, cut = 0;	/* cut: where ".." would go */
	char piece[8];

	while (*text) {
		unsigned int taken = printable(piece, text);
		size_t length = strlen(piece), wide = fmt_width(piece);

		if (used + length + 3 > size || (width && columns + wide > width)) {
			strcpy(buf + cut, "..");
			return buf;
		}
		memcpy(buf + used, piece, length);
		used += length;
		columns += wide;
		text += taken;
		if (!width || columns + 2 <= width)
			cut = used;
	}
	buf[used] = '\0';
	return buf;
}
