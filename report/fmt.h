/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_FMT_H
#define INGERO_REPORT_FMT_H
/*
 * Numbers and names as people read them. Every function writes into the caller's buffer and
 * returns it. All arithmetic is in integers: nothing depends on the locale. Only
 * fmt_clock() looks at the environment (TZ).
 */
#include <stddef.h>
#include <stdint.h>

#define FMT_SIZE 40

/* Three figures and a unit: "812 ns", "25.3 us", "1.64 ms", "42.0 s", "3,600 s". */
const char *fmt_ns(char buf[FMT_SIZE], uint64_t ns);
/* Longer spans: "12.4 s", "3 min 05 s", "2 h 10 min". */
const char *fmt_span(char buf[FMT_SIZE], uint64_t ns);
/* "1,880" */
const char *fmt_count(char buf[FMT_SIZE], uint64_t n);
/* "512 B", "12.3 KiB", "1.50 GiB" */
const char *fmt_bytes(char buf[FMT_SIZE], uint64_t bytes);
/* part / whole as "97.3 %"; "-" when whole is 0. */
const char *fmt_percent(char buf[FMT_SIZE], uint64_t part, uint64_t whole);
/* numerator / denominator, "2.31" or "0.012"; "-" when the denominator is 0. */
const char *fmt_ratio(char buf[FMT_SIZE], uint64_t numerator, uint64_t denominator);
/* value / unit, rounded, with that many decimals (at most 6): "12,345.670" */
const char *fmt_fixed(char buf[FMT_SIZE], uint64_t value, uint64_t unit, unsigned int decimals);
/* Three figures: "1,234", "52.1", "0.0123", six decimals at most; "-" when the denominator is 0. */
const char *fmt_figures(char buf[FMT_SIZE], unsigned __int128 numerator, uint64_t denominator);
/* Six decimals, cut off, for machines: "1234.500000"; "" when the denominator is 0. */
const char *fmt_decimal(char buf[FMT_SIZE], unsigned __int128 numerator, uint64_t denominator);
/* Time of day in TZ with milliseconds, "14:03:07.218"; "-" when realtime_ns is 0. */
const char *fmt_clock(char buf[FMT_SIZE], uint64_t realtime_ns);
/* The date too: "2024-05-07 14:03:07 +0200". */
const char *fmt_date(char buf[FMT_SIZE], uint64_t realtime_ns);

/*
 * A name from the file, fit for a terminal: control characters and bytes that are no UTF-8 as
 * "\xNN" (newline and tab as "\n" and "\t"), cut to width columns with ".." at the end (width 0:
 * never). size bytes of buf are used at most.
 */
const char *fmt_text(char *buf, size_t size, const char *text, size_t width);
/*
 * Columns a text takes: one a code point, two for East Asian wide characters and emoji, none for
 * combining marks. A byte that is no UTF-8 counts as one.
 */
size_t fmt_width(const char *text);
/* Bytes of the valid UTF-8 sequence at s (1 to 4), 0 when there is none or s is at its end. */
unsigned int fmt_utf8(const char *s);
#endif
