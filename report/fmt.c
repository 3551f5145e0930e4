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

static uint64_t rounded(unsigned __int128 numerator, uint64_t denominator)
{
	unsigned __int128 quotient = (numerator + denominator / 2) / denominator;

	return quotient > UINT64_MAX ? UINT64_MAX : (uint64_t)quotient;
}

/* Two decimals; below 0.1 as many as two figures take, at most 9. */
static const char *decimals(char *buf, unsigned __int128 numerator, uint64_t denominator)
{
	uint64_t scale = 100;
	int digits = 2;
	uint64_t value = rounded(numerator * scale, denominator);

	while (numerator && value < 10 && digits < 9) {
		scale *= 10;
		digits++;
		value = rounded(numerator * scale, denominator);
	}
	snprintf(buf, FMT_SIZE, "%llu.%0*llu", (unsigned long long)(value / scale), digits,
		 (unsigned long long)(value % scale));
	return buf;
}

const char *fmt_ratio(char buf[FMT_SIZE], uint64_t numerator, uint64_t denominator)
{
	return denominator ? decimals(buf, numerator, denominator) : strcpy(buf, "-");
}

/* value / 10^decimals, with the thousands of its whole part separated. */
static const char *pointed(char *buf, uint64_t value, unsigned int decimals)
{
	char digits[FMT_SIZE];
	uint64_t scale = 1;

	for (unsigned int i = 0; i < decimals; i++)
		scale *= 10;
	fmt_count(digits, value / scale);
	if (decimals)
		snprintf(buf, FMT_SIZE, "%.28s.%0*llu", digits, (int)decimals,
			 (unsigned long long)(value % scale));
	else
		strcpy(buf, digits);
	return buf;
}

const char *fmt_fixed(char buf[FMT_SIZE], uint64_t value, uint64_t unit, unsigned int decimals)
{
	unsigned __int128 scaled = value;

	for (unsigned int i = 0; i < decimals; i++)
		scaled *= 10;
	return pointed(buf, rounded(scaled, unit), decimals);
}

const char *fmt_figures(char buf[FMT_SIZE], unsigned __int128 numerator, uint64_t denominator)
{
	uint64_t value;
	unsigned int digits = 0;

	if (!denominator)
		return strcpy(buf, "-");
	value = rounded(numerator, denominator);
	while (numerator && value < 100 && digits < 6) {
		numerator *= 10;
		digits++;
		value = rounded(numerator, denominator);
	}
	/* 9.996 has become 10.00 by rounding: a figure too many. */
	if (digits && value == 1000) {
		value /= 10;
		digits--;
	}
	return pointed(buf, value, digits);
}

const char *fmt_decimal(char buf[FMT_SIZE], unsigned __int128 numerator, uint64_t denominator)
{
	unsigned __int128 whole;

	if (!denominator)
		return strcpy(buf, "");
	whole = numerator / denominator;
	snprintf(buf, FMT_SIZE, "%llu.%06u",
		 (unsigned long long)(whole > UINT64_MAX ? UINT64_MAX : whole),
		 (unsigned int)(numerator % denominator * 1000000 / denominator));
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

/* U+2028 to U+202E and U+2066 to U+2069: they break a line, or turn the rest of it round. */
static bool turns(const char *text)
{
	unsigned char a = (unsigned char)text[1], b = (unsigned char)text[2];

	return (unsigned char)text[0] == 0xe2 &&
	       ((a == 0x80 && b >= 0xa8 && b <= 0xae) || (a == 0x81 && b >= 0xa6 && b <= 0xa9));
}

/* One character of text, made printable, into piece; returns the bytes taken from text. */
static unsigned int printable(char piece[8], const char *text)
{
	unsigned char c = (unsigned char)text[0];
	unsigned int length = fmt_utf8(text);
	bool c1 = length == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0;

	if (length == 3 && turns(text)) {
		snprintf(piece, 8, "\\u%04x", 0x2000 + ((text[1] & 0x3f) << 6) + (text[2] & 0x3f));
		return length;
	}
	if (c == '\n' || c == '\t')
		snprintf(piece, 8, "\\%c", c == '\n' ? 'n' : 't');
	else if (c < 0x20 || c == 0x7f || !length || c1)
		snprintf(piece, 8, "\\x%02x", c1 ? (unsigned char)text[1] : c);
	else
		snprintf(piece, 8, "%.*s", (int)length, text);
	return length ? length : 1;
}

struct range { uint32_t first, last; };

/* Marks on the character before them, and characters that are not seen. */
static const struct range combining[] = {
	{ 0x300, 0x36f }, { 0x483, 0x489 }, { 0x591, 0x5bd }, { 0x610, 0x61a }, { 0x64b, 0x65f },
	{ 0x6d6, 0x6dc }, { 0x93a, 0x93a }, { 0x93c, 0x93c }, { 0x941, 0x948 }, { 0x94d, 0x94d },
	{ 0xe31, 0xe31 }, { 0xe34, 0xe3a }, { 0xe47, 0xe4e }, { 0x1ab0, 0x1ace },
	{ 0x1dc0, 0x1dff }, { 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x2064 },
	{ 0x20d0, 0x20f0 }, { 0x302a, 0x302d }, { 0x3099, 0x309a }, { 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xe0100, 0xe01ef },
};

/* East Asian wide and full-width forms, and emoji. */
static const struct range double_width[] = {
	{ 0x1100, 0x115f }, { 0x231a, 0x231b }, { 0x2329, 0x232a }, { 0x23e9, 0x23ec },
	{ 0x23f0, 0x23f0 }, { 0x23f3, 0x23f3 }, { 0x25fd, 0x25fe }, { 0x2614, 0x2615 }, { 0x2648, 0x2653 },
	{ 0x267f, 0x267f }, { 0x2693, 0x2693 }, { 0x26a1, 0x26a1 }, { 0x26aa, 0x26ab },
	{ 0x26bd, 0x26be }, { 0x26c4, 0x26c5 }, { 0x26ce, 0x26ce }, { 0x26d4, 0x26d4 },
	{ 0x26ea, 0x26ea }, { 0x26f2, 0x26f3 }, { 0x26f5, 0x26f5 }, { 0x26fa, 0x26fa },
	{ 0x26fd, 0x26fd }, { 0x2705, 0x2705 }, { 0x270a, 0x270b }, { 0x2728, 0x2728 },
	{ 0x274c, 0x274c }, { 0x274e, 0x274e }, { 0x2753, 0x2755 }, { 0x2757, 0x2757 },
	{ 0x2795, 0x2797 }, { 0x27b0, 0x27b0 }, { 0x27bf, 0x27bf }, { 0x2b1b, 0x2b1c },
	{ 0x2b50, 0x2b50 }, { 0x2b55, 0x2b55 }, { 0x2e80, 0x303e }, { 0x3041, 0x4dbf },
	{ 0x4e00, 0xa4cf }, { 0xa960, 0xa97c }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff },
	{ 0xfe10, 0xfe19 }, { 0xfe30, 0xfe6b }, { 0xff01, 0xff60 }, { 0xffe0, 0xffe6 },
	{ 0x16fe0, 0x18cd5 }, { 0x1b000, 0x1b2fb }, { 0x1f004, 0x1f004 }, { 0x1f0cf, 0x1f0cf },
	{ 0x1f18e, 0x1f18e }, { 0x1f191, 0x1f19a }, { 0x1f200, 0x1f320 }, { 0x1f32d, 0x1f335 },
	{ 0x1f337, 0x1f37c }, { 0x1f37e, 0x1f393 }, { 0x1f3a0, 0x1f3ca }, { 0x1f3cf, 0x1f3d3 },
	{ 0x1f3e0, 0x1f3f0 }, { 0x1f3f4, 0x1f3f4 }, { 0x1f3f8, 0x1f43e }, { 0x1f440, 0x1f440 },
	{ 0x1f442, 0x1f4fc }, { 0x1f4ff, 0x1f53d }, { 0x1f54b, 0x1f567 }, { 0x1f57a, 0x1f57a },
	{ 0x1f595, 0x1f596 }, { 0x1f5a4, 0x1f5a4 }, { 0x1f5fb, 0x1f64f }, { 0x1f680, 0x1f6c5 },
	{ 0x1f6cc, 0x1f6cc }, { 0x1f6d0, 0x1f6d2 }, { 0x1f6d5, 0x1f6df }, { 0x1f6eb, 0x1f6ec },
	{ 0x1f6f4, 0x1f6fc }, { 0x1f7e0, 0x1f7f0 }, { 0x1f90c, 0x1f93a }, { 0x1f93c, 0x1f945 },
	{ 0x1f947, 0x1f9ff }, { 0x1fa70, 0x1faff }, { 0x20000, 0x3fffd },
};

#define WITHIN(ranges, c) within(ranges, sizeof(ranges) / sizeof(*(ranges)), c)

static bool within(const struct range *ranges, size_t count, uint32_t c)
{
	for (size_t i = 0; i < count && ranges[i].first <= c; i++)
		if (c <= ranges[i].last)
			return true;
	return false;
}

/* The code point of a valid sequence of length bytes. */
static uint32_t code_point(const char *text, unsigned int length)
{
	uint32_t c = (unsigned char)text[0];

	if (length > 1)
		c &= 0x7fu >> length;
	for (unsigned int i = 1; i < length; i++)
		c = c << 6 | ((unsigned char)text[i] & 0x3f);
	return c;
}

size_t fmt_width(const char *text)
{
	size_t width = 0;

	while (*text) {
		unsigned int length = fmt_utf8(text);
		uint32_t c = code_point(text, length);

		if (c < 0x300)
			width++;
		else if (!WITHIN(combining, c))
			width += WITHIN(double_width, c) ? 2 : 1;
		text += length ? length : 1;
	}
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
