// SPDX-License-Identifier: BSD-2-Clause
/* Tables of figures: units, alignment, narrow and wide pages, sorting, what is cut, CSV, JSON. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "report/fmt.h"
#include "report/listing.h"

static const struct listing_column columns[] = {
	{ "pid", "PID", CELL_ID, 0 },
	{ "process", "process", CELL_TEXT, COLUMN_SHRINK },
	{ "calls", "calls", CELL_COUNT, COLUMN_SUM | COLUMN_MAIN },
	{ "p50_ns", "p50", CELL_NS, 0 },
	{ "calls_per_second", "/s", CELL_RATE, COLUMN_SUM },
	{ "share", "share", CELL_SHARE, COLUMN_SUM | COLUMN_OPTIONAL },
	{ "start_at_ns", "start", CELL_TIME, COLUMN_WIDE },
	{ "hidden", "hidden", CELL_COUNT, COLUMN_DATA },
};

#define COLUMNS(c) (c), sizeof(c) / sizeof(*(c))

static void add(struct listing *t, uint64_t pid, const char *name, uint64_t calls, uint64_t p50)
{
	listing_number(t, pid);
	listing_text(t, name);
	listing_number(t, calls);
	listing_lossy(t, pid == 9);
	if (p50)
		listing_number(t, p50);
	else
		listing_none(t);
	listing_bound(t, pid == 20);
	listing_pair(t, calls, 10000000000);
	listing_pair(t, calls, 2000);
	listing_pair(t, pid * 1000000, 1700000000000000000 + pid * 1000000);
	listing_number(t, pid);
}

static void fill(struct listing *t)
{
	listing_init(t, "processes", "a title", COLUMNS(columns));
	add(t, 10, "python3", 1500, 25300);
	add(t, 9, "w", 400, 42000000);
	add(t, 30, "", 97, 0);
	add(t, 20, "zsh", 3, 812000);
}

static char *printed(const struct listing *t, const struct page *like)
{
	char *text = NULL;
	size_t size;
	struct page page = *like;

	page.file = open_memstream(&text, &size);
	listing_print(t, &page);
	fclose(page.file);
	return text;
}

static void same(char *text, const char *want)
{
	if (!CHECK(!strcmp(text, want)))
		printf("--- wanted\n%s--- is\n%s", want, text);
	free(text);
}

#define PRINTS(t, want, ...) same(printed(t, &(struct page){ __VA_ARGS__ }), want)

static char *csv(const struct listing *t)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	listing_csv(t, &(struct page){ .file = f, .width = PAGE_WIDTH });
	fclose(f);
	return text;
}

static char *json(const struct listing *t)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct json j;

	json_init(&j, f);
	json_object(&j, NULL);
	listing_json(t, &j);
	json_object_end(&j);
	fclose(f);
	return text;
}

/* ---- text ---- */

static void test_text(void)
{
	struct listing t;

	fill(&t);
	PRINTS(&t, "\na title\n"
	       "PID  process  calls  p50 us       /s  share\n"
	       " 10  python3  1,500      25  150      75.0%\n"
	       "  9  w         ~400  42,000   40.0    20.0%\n"
	       " 30              97       -    9.70    4.9%\n"
	       " 20  zsh          3    =812    0.300   0.2%\n", .width = 80);
	PRINTS(&t, "\na title\n"
	       "PID  process  calls  p50 us       /s  share         start\n"
	       " 10  python3  1,500      25  150      75.0%  22:13:20.010\n"
	       "  9  w         ~400  42,000   40.0    20.0%  22:13:20.009\n"
	       " 30              97       -    9.70    4.9%  22:13:20.030\n"
	       " 20  zsh          3    =812    0.300   0.2%  22:13:20.020\n", .width = 90);
	PRINTS(&t, "\na title\n"
	       "PID  process  calls    p50 ns       /s  share\n"
	       " 10  python3   1500     25300  150      75.0%\n"
	       "  9  w         ~400  42000000   40.0    20.0%\n"
	       " 30              97         -    9.70    4.9%\n"
	       " 20  zsh          3   =812000    0.300   0.2%\n", .width = 80, .raw = true);
	PRINTS(&t, "\na title\n"
	       "PID  process  calls  p50 us       /s\n"
	       " 10  python3  1,500      25  150\n"
	       "  9  w         ~400  42,000   40.0\n"
	       " 30              97       -    9.70\n"
	       " 20  zsh          3    =812    0.300\n", .width = 36);
	PRINTS(&t, "\n\033[1ma title\033[0m\n"
	       "\033[1mPID  process  calls  p50 us       /s  share\033[0m\n"
	       " 10  python3  1,500      25  150      75.0%\n"
	       "  9  w         ~400  42,000   40.0    20.0%\n"
	       " 30              97       -    9.70    4.9%\n"
	       " 20  zsh          3    =812    0.300   0.2%\n", .width = 80, .color = true);
	listing_release(&t);
}

/* Rows that are cut off are summed; what one more line would show is shown. */
static void test_rest(void)
{
	struct listing t;

	fill(&t);
	t.limit = 2;
	listing_note(&t, "one %d", 1);
	listing_note(&t, "two");
	PRINTS(&t, "\na title\n"
	       "PID  process  calls  p50 us     /s  share\n"
	       " 10  python3  1,500      25  150    75.0%\n"
	       "  9  w         ~400  42,000   40.0  20.0%\n"
	       "     2 more     100           10.0   5.0%\n"
	       "one 1\n"
	       "two\n", .width = 80);
	t.limit = 3;
	PRINTS(&t, "\na title\n"
	       "PID  process  calls  p50 us       /s  share\n"
	       " 10  python3  1,500      25  150      75.0%\n"
	       "  9  w         ~400  42,000   40.0    20.0%\n"
	       " 30              97       -    9.70    4.9%\n"
	       " 20  zsh          3    =812    0.300   0.2%\n"
	       "one 1\n"
	       "two\n", .width = 80);
	listing_order(&t, &(struct listing_order){ .column = "calls", .top = 3 });
	PRINTS(&t, "\na title\n"
	       "PID  process  calls  p50 us       /s  share\n"
	       " 10  python3  1,500      25  150      75.0%\n"
	       "  9  w         ~400  42,000   40.0    20.0%\n"
	       " 30              97       -    9.70    4.9%\n"
	       "     1 more       3            0.300   0.2%\n"
	       "one 1\n"
	       "two\n", .width = 80);
	listing_release(&t);
}

/* Units of a column of two values. */
static void unit_is(enum cell_type type, uint64_t a, uint64_t b, const char *title,
		    const char *first, const char *second)
{
	const struct listing_column one[] = { { "x", "x", type, 0 } };
	struct listing t;
	char want[96];
	int width = (int)(strlen(first) > strlen(second) ? strlen(first) : strlen(second));

	listing_init(&t, "x", NULL, one, 1);
	listing_number(&t, a);
	listing_number(&t, b);
	width = width > (int)strlen(title) ? width : (int)strlen(title);
	snprintf(want, sizeof(want), "\n%*s\n%*s\n%*s\n", width, title, width, first, width, second);
	PRINTS(&t, want, .width = 80);
	listing_release(&t);
}

static void test_units(void)
{
	unit_is(CELL_NS, 12, 999, "x ns", "12", "999");
	unit_is(CELL_NS, 1640000, 42000000, "x ms", "1.64", "42.00");
	unit_is(CELL_NS, 812, 42000000, "x us", "0.8", "42,000.0");
	unit_is(CELL_NS, 300000, 150000000000, "x s", "<0.001", "150.000");
	unit_is(CELL_NS, 3000000, 150000000000, "x s", "0.003", "150.000");
	unit_is(CELL_NS, 25300, 3600000000000, "x s", "<0.01", "3,600.00");
	unit_is(CELL_NS, 999999, 999950, "x us", "1,000", "1,000");
	unit_is(CELL_NS, 0, 0, "x ns", "0", "0");
	unit_is(CELL_NS, 1, UINT64_MAX, "x s", "<1", "18,446,744,074");
	unit_is(CELL_BYTES, 4096, 524288, "x KiB", "4", "512");
	unit_is(CELL_BYTES, 100, 1000, "x B", "100", "1,000");
	unit_is(CELL_BYTES, 12345678, 1ull << 40, "x GiB", "0.01", "1,024.00");
	unit_is(CELL_BYTES, 1, UINT64_MAX, "x TiB", "<1", "16,777,216");
	unit_is(CELL_BYTES, 4096, 5ull << 30, "x MiB", "<0.01", "5,120.00");
}

/* Columns that are alike have the unit of them all, and decimals of their own. */
static void test_alike(void)
{
	static const struct listing_column alike[] = {
		{ "p50_ns", "p50", CELL_NS, 0 }, { "p99_ns", "p99", CELL_NS, COLUMN_LIKE },
		{ "total_ns", "total", CELL_NS, 0 },
	};
	struct listing t;

	listing_init(&t, "x", NULL, COLUMNS(alike));
	for (uint64_t i = 1; i <= 2; i++) {
		listing_number(&t, 1500 * i);
		listing_number(&t, 76032000 / i);
		listing_number(&t, 243054000 / i);
	}
	PRINTS(&t, "\np50 us  p99 us  total ms\n"
	       "  1.50  76,032       243\n"
	       "  3.00  38,016       122\n", .width = 80);
	listing_release(&t);
}

static void test_bars(void)
{
	static const struct listing_column bars[] = {
		{ "n", "n", CELL_COUNT, 0 }, { "bar", "busy", CELL_BAR, 0 },
	};
	static const uint64_t values[] = { 0, 1, 500, 512, 1000, 1200 };
	struct listing t;

	listing_init(&t, "x", NULL, COLUMNS(bars));
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		listing_number(&t, values[i]);
		listing_pair(&t, values[i], 1000);
	}
	PRINTS(&t, "\n    n  busy\n"
	       "    0\n"
	       "    1  ▏\n"
	       "  500  █████\n"
	       "  512  █████▏\n"
	       "1,000  ██████████\n"
	       "1,200  ██████████\n", .width = 17);
	PRINTS(&t, "\n    n  busy\n"
	       "    0\n"
	       "    1  .\n"
	       "  500  #####\n"
	       "  512  #####\n"
	       "1,000  ##########\n"
	       "1,200  ##########\n", .width = 17, .ascii = true);
	PRINTS(&t, "\n    n  busy\n"
	       "    0\n"
	       "    1  .\n"
	       "  500  ####################\n"
	       "  512  ####################\n"
	       "1,000  ########################################\n"
	       "1,200  ########################################\n", .width = 200, .ascii = true);
	listing_release(&t);
}

/* Columns that take two places a character; names that would move the cursor. */
static void test_names(void)
{
	static const struct listing_column names[] = {
		{ "name", "name", CELL_TEXT, COLUMN_SHRINK }, { "n", "n", CELL_COUNT, 0 },
	};
	static const char *const all[] = { "数据加载器", "é", "a\033[31m\n", "e\xcc\x81", "\xff" };
	struct listing t;

	listing_init(&t, "x", NULL, COLUMNS(names));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		listing_text(&t, all[i]);
		listing_number(&t, i);
	}
	PRINTS(&t, "\nname         n\n"
	       "数据加载器   0\n"
	       "é            1\n"
	       "a\\x1b[31m\\n  2\n"
	       "é            3\n"
	       "\\xff         4\n", .width = 80);
	PRINTS(&t, "\nname      n\n"
	       "数据加..  0\n"
	       "é         1\n"
	       "a\\x1b[3.. 2\n"
	       "é         3\n"
	       "\\xff      4\n", .width = 11);
	listing_release(&t);
}

static void test_empty(void)
{
	struct listing t;

	listing_init(&t, "none", "title", COLUMNS(columns));
	PRINTS(&t, "", .width = 80);
	same(csv(&t), "pid,process,calls,p50_ns,calls_per_second,share,start_at_ns,hidden\n");
	same(json(&t), "{\n  \"none\": []\n}\n");
	listing_note(&t, "nothing failed");
	PRINTS(&t, "\nnothing failed\n", .width = 80);
	listing_order(&t, &(struct listing_order){ .column = "pid", .top = 3, .min_share = 0.5 });
	CHECK(!listing_rows(&t));
	listing_release(&t);
}

/* ---- sorting and cutting ---- */

/* The PIDs of the rows left, in their order. */
static void order_is(const struct listing_order *order, const char *want)
{
	struct listing t;
	char pids[64], *at = pids;

	fill(&t);
	listing_order(&t, order);
	*at = '\0';
	for (size_t i = 0; i < t.shown; i++)
		at += sprintf(at, " %d", (int)t.cells[i * t.column_count].a);
	if (!CHECK(!strcmp(pids, want)))
		printf("by %s:%s, not%s\n", order->column ? order->column : "none", pids, want);
	listing_release(&t);
}

#define ORDER(want, ...) order_is(&(struct listing_order){ __VA_ARGS__ }, want)

static void test_order(void)
{
	ORDER(" 10 9 30 20", .top = 0);
	ORDER(" 9 10 20 30", .column = "pid");
	ORDER(" 30 20 10 9", .column = "-PID");
	ORDER(" 30 10 9 20", .column = "process");
	ORDER(" 10 9 30 20", .column = "calls");
	ORDER(" 20 30 9 10", .column = "-calls");
	ORDER(" 9 20 10 30", .column = "p50");		/* without a value: last */
	ORDER(" 10 20 9 30", .column = "-p50_ns");
	ORDER(" 10 9 30 20", .column = "calls_per_second");
	ORDER(" 20 30 9 10", .column = "-/s");
	ORDER(" 9 10 20 30", .column = "start");
	ORDER(" 30 20 10 9", .column = "-start");
	ORDER(" 10 9", .top = 2);
	ORDER(" 10 9", .min_share = 0.05);
	ORDER(" 10 9 30", .min_share = 0.04);
	ORDER(" 9 10", .min_share = 0.05, .column = "pid");
	ORDER(" 9", .min_share = 0.05, .column = "pid", .top = 1);
	ORDER("", .min_share = 1);
	ORDER(" 10 9 30 20", .column = "no such");
}

/* Rows that are equal keep their order. */
static void test_stable(void)
{
	static const struct listing_column two[] = {
		{ "a", "a", CELL_COUNT, 0 }, { "b", "b", CELL_ID, 0 },
	};
	struct listing t;
	bool kept = true;

	listing_init(&t, "x", NULL, COLUMNS(two));
	for (uint64_t i = 0; i < 1000; i++) {
		listing_number(&t, i % 3);
		listing_number(&t, i);
	}
	listing_order(&t, &(struct listing_order){ .column = "a" });
	for (size_t i = 2; i < t.cell_count; i += 2)
		kept &= t.cells[i - 2].a > t.cells[i].a ||
			(t.cells[i - 2].a == t.cells[i].a && t.cells[i - 1].a < t.cells[i + 1].a);
	CHECK(kept);
	listing_release(&t);
}

#define ALL "there are: pid, process, calls, p50, calls_per_second, share, start, hidden, longest"

static void refuses(struct listing_set *s, const char *column, const char *hint)
{
	struct error e = { 0 };

	CHECK(listing_set_order(s, &(struct listing_order){ .column = column }, &e) == ERROR_USAGE);
	if (!CHECK(!strcmp(e.hint, hint)))
		printf("%s: %s\n", column, e.hint);
}

static void test_set(void)
{
	static const struct listing_column other[] = {
		{ "pid", "PID", CELL_ID, 0 }, { "longest_ns", "longest", CELL_NS, 0 },
		{ "bar", "bar", CELL_BAR, 0 },
	};
	struct listing_set s = { .count = 0 };
	struct error e = { 0 };

	listing_set_add(&s, "a", NULL, COLUMNS(columns));
	listing_set_add(&s, "b", NULL, COLUMNS(other));
	CHECK(!listing_set_order(&s, &(struct listing_order){ .column = "-longest" }, &e));
	CHECK(!listing_set_order(&s, &(struct listing_order){ .column = NULL }, &e));
	refuses(&s, "longst", "did you mean \"longest\"? " ALL);
	refuses(&s, "-zzzzzzzz", ALL);
	refuses(&s, "bar", ALL);
	refuses(&s, "", ALL);
	CHECK(listing_has_column(&s.tables[1], "LONGEST"));
	CHECK(!listing_has_column(&s.tables[1], "longest_n"));
	listing_set_release(&s);
}

/* ---- for machines ---- */

static void test_machines(void)
{
	static const struct listing_column some[] = {
		{ "name", "name", CELL_TEXT, 0 }, { "bar", "bar", CELL_BAR, 0 },
		{ "size_bytes", "size", CELL_BYTES, COLUMN_DATA }, { "ratio", "ratio", CELL_RATIO, 0 },
	};
	static const char *const names[] = { "plain", "a,b", "say \"so\"", "two\nlines", "\r", "" };
	struct listing t;

	listing_init(&t, "rows", NULL, COLUMNS(some));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		listing_text(&t, names[i]);
		listing_pair(&t, i, 5);
		listing_number(&t, i << 40);
		listing_pair(&t, 1, i);
		listing_lossy(&t, i == 2);
	}
	same(csv(&t), "name,size_bytes,ratio,lossy\n"
	     "plain,0,,0\n\"a,b\",1099511627776,1.000000,0\n\"say \"\"so\"\"\",2199023255552,0.500000,1\n"
	     "\"two\nlines\",3298534883328,0.333333,0\n\"\r\",4398046511104,0.250000,0\n"
	     ",5497558138880,0.200000,0\n");
	t.shown = 3;
	same(json(&t), "{\n  \"rows\": [\n"
	     "    {\"name\": \"plain\", \"size_bytes\": 0, \"ratio\": null},\n"
	     "    {\"name\": \"a,b\", \"size_bytes\": 1099511627776, \"ratio\": 1.000000},\n"
	     "    {\"name\": \"say \\\"so\\\"\", \"size_bytes\": 2199023255552, \"ratio\": 0.500000, "
	     "\"lossy\": true}\n  ]\n}\n");
	t.shown = 2;
	same(csv(&t), "name,size_bytes,ratio\nplain,0,\n\"a,b\",1099511627776,1.000000\n");
	listing_release(&t);
}

int main(void)
{
	setenv("TZ", "UTC", true);
	test_text();
	test_rest();
	test_units();
	test_alike();
	test_bars();
	test_names();
	test_empty();
	test_order();
	test_stable();
	test_set();
	test_machines();
	return check_result();
}
