// SPDX-License-Identifier: BSD-2-Clause
/* Numbers and names as people read them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "check.h"
#include "report/fmt.h"

static char buf[FMT_SIZE];

#define IS(call, text) CHECK(!strcmp(call, text))

static void test_times(void)
{
	IS(fmt_ns(buf, 0), "0 ns");
	IS(fmt_ns(buf, 999), "999 ns");
	IS(fmt_ns(buf, 1000), "1.00 us");
	IS(fmt_ns(buf, 9995), "10.0 us");
	IS(fmt_ns(buf, 25340), "25.3 us");
	IS(fmt_ns(buf, 99949), "99.9 us");
	IS(fmt_ns(buf, 99950), "100 us");
	IS(fmt_ns(buf, 999499), "999 us");
	IS(fmt_ns(buf, 999500), "1.00 ms");
	IS(fmt_ns(buf, 42000000), "42.0 ms");
	IS(fmt_ns(buf, 999999999), "1.00 s");
	IS(fmt_ns(buf, 48490000000), "48.5 s");
	IS(fmt_ns(buf, 3600000000000), "3,600 s");
	IS(fmt_ns(buf, UINT64_MAX), "18,446,744,074 s");
	IS(fmt_span(buf, 12400000000), "12.4 s");
	IS(fmt_span(buf, 185000000000), "3 min 05 s");
	IS(fmt_span(buf, 7800000000000), "2 h 10 min");
}

static void test_numbers(void)
{
	IS(fmt_count(buf, 0), "0");
	IS(fmt_count(buf, 999), "999");
	IS(fmt_count(buf, 1880), "1,880");
	IS(fmt_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
	IS(fmt_bytes(buf, 1023), "1023 B");
	IS(fmt_bytes(buf, 1024), "1.00 KiB");
	IS(fmt_bytes(buf, 12595), "12.3 KiB");
	IS(fmt_bytes(buf, 25276514304), "23.5 GiB");
	IS(fmt_bytes(buf, UINT64_MAX), "16.0 EiB");
	IS(fmt_percent(buf, 1, 3), "33.3 %");
	IS(fmt_percent(buf, 0, 0), "-");
	IS(fmt_percent(buf, UINT64_MAX, UINT64_MAX), "100.0 %");
	IS(fmt_ratio(buf, 17, 4), "4.25");
	IS(fmt_ratio(buf, 17, 0), "-");
	IS(fmt_ratio(buf, 2, 3), "0.67");
	IS(fmt_ratio(buf, 1999, 1000), "2.00");
	IS(fmt_ratio(buf, 1, 30), "0.033");
	IS(fmt_ratio(buf, 0, 30), "0.00");
	IS(fmt_ratio(buf, 1, UINT64_MAX), "0.000000000");
}

static void test_clocks(void)
{
	setenv("TZ", "UTC-2", 1);
	tzset();
	IS(fmt_clock(buf, 1700000000123456789), "00:13:20.123");
	IS(fmt_date(buf, 1700000000123456789), "2023-11-15 00:13:20 +0200");
	IS(fmt_clock(buf, 0), "-");
}

static void test_texts(void)
{
	char text[64];

	IS(fmt_text(text, sizeof(text), "plain", 0), "plain");
	IS(fmt_text(text, sizeof(text), "a\nb\tc\x1b[31m\x7f", 0), "a\\nb\\tc\\x1b[31m\\x7f");
	IS(fmt_text(text, sizeof(text), "caf\xc3\xa9", 4), "caf\xc3\xa9");
	IS(fmt_text(text, sizeof(text), "caf\xc3\xa9s", 4), "ca..");
	IS(fmt_text(text, sizeof(text), "\xff\xc3(\xc2\x9b", 0), "\\xff\\xc3(\\x9b");
	IS(fmt_text(text, sizeof(text), "\xed\xa0\x80", 0), "\\xed\\xa0\\x80");
	IS(fmt_text(text, 8, "0123456789", 0), "01234..");
	IS(fmt_text(text, sizeof(text), "pt_data_worker", 8), "pt_dat..");
	CHECK(fmt_width("caf\xc3\xa9") == 4);
	CHECK(fmt_width("\xe8\xa8\x93\xe7\xb7\xb4") == 4);		/* two ideographs */
	CHECK(fmt_width("\xed\x95\x9c") == 2);			/* a Hangul syllable */
	CHECK(fmt_width("e\xcc\x81") == 1);				/* combining acute */
	CHECK(fmt_width("\xf0\x9f\x9a\x80") == 2);			/* a rocket */
	CHECK(fmt_width("\xe2\x80\x8b") == 0);			/* zero width space */
	CHECK(fmt_width("\xf0\x9d\x94\x98\xe2\x86\x92") == 2);	/* fraktur, arrow */
	CHECK(fmt_width("\xff!") == 2);
	IS(fmt_text(text, sizeof(text), "\xe8\xa8\x93\xe7\xb7\xb4", 4), "\xe8\xa8\x93\xe7\xb7\xb4");
	IS(fmt_text(text, sizeof(text), "\xe8\xa8\x93\xe7\xb7\xb4x", 4), "\xe8\xa8\x93..");
}

int main(void)
{
	test_times();
	test_numbers();
	test_clocks();
	test_texts();
	return check_result();
}
