// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a row costs to store and to read back, in time and in bytes, beside a plain sum of 64-bit
 * numbers from memory in the same run. Loads: switches of a ping-pong on one CPU, switches as a
 * DataLoader makes them, and CUDA calls.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/reader.h"
#include "common/writer.h"

/* Rows are made once and stored over and over: reading them must not be what is measured. */
#define ROWS (1u << 22)
#define DIFFERENT (1u << 15)
#define TURNS 3			/* the best counts */
#define SUM_VALUES (1u << 24)

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static uint64_t state = 42;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double uniform(void)
{
	return ((double)(random64() >> 11) + 1) / 9007199254740994.0;
}

/* Log-normal with the given median and spread. */
static uint64_t lognormal(double median, double sigma)
{
	double normal = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());

	return (uint64_t)(median * exp(sigma * normal));
}

struct load {
	const char *name;
	enum table table;
	void (*make)(void *rows, uint32_t n);
};

/* Two threads hand a byte to and fro on one CPU: each wakes the other and goes to sleep. */
static void make_pingpong(void *rows, uint32_t n)
{
	struct row_switch *row = rows;
	uint64_t ts = 1000000000000, left[2] = { ts, ts };

	for (uint32_t i = 0; i < n; i++) {
		int next = i & 1;
		struct row_switch *s = &row[i];

		ts += lognormal(1550, 0.08);
		memset(s, 0, sizeof(*s));
		s->ts = ts;
		s->prev_tid = next ? 4711 : 4712;
		s->next_tid = next ? 4712 : 4711;
		s->prev_state = PREV_SLEEPING;
		s->next_off = ts - left[next];
		left[!next] = ts;
		s->next_wait = lognormal(900, 0.06);
		s->wake_latency = lognormal(250, 0.06);
		s->waker_tid = s->prev_tid;
		s->waker_context = WAKER_TASK;
	}
}

/* 40 threads of which few are busy; a third of the switches are preemptions. */
static void make_dataloader(void *rows, uint32_t n)
{
	struct row_switch *row = rows;
	uint64_t ts = 1000000000000, left[41] = { 0 };
	uint32_t prev = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct row_switch *s = &row[i];
		uint64_t pick = random64() % 100;
		uint32_t next = pick < 30 ? 0 : pick < 85 ? 1 + (uint32_t)(random64() % 6) :
				1 + (uint32_t)(random64() % 40);

		if (next == prev)
			next = next ? 0 : 1;
		ts += lognormal(12000, 1.4);
		memset(s, 0, sizeof(*s));
		s->ts = ts;
		s->prev_tid = prev ? 20000 + 13 * prev : 0;
		s->next_tid = next ? 20000 + 13 * next : 0;
		s->prev_state = prev == 0 ? 0 : random64() % 3 ? PREV_SLEEPING : PREV_PREEMPTED;
		if (prev && random64() % 6 == 0)
			s->prev_page_events = s->prev_pages = 1 + lognormal(6, 1);
		if (next) {
			s->next_off = left[next] ? ts - left[next] : lognormal(200000, 1);
			if (random64() % 50 == 0)
				s->migrated_from = 1 + random64() % 4, s->next_off = lognormal(90000, 1);
			if (random64() % 3 == 0) {
				s->next_wait = s->next_off;
				s->next_flags = NEXT_FLAG_PREEMPTED;
			} else {
				s->next_wait = lognormal(4000, 1.2);
				s->wake_latency = lognormal(900, 0.8);
				s->waker_context = random64() % 5 ? WAKER_TASK : WAKER_SOFTIRQ;
				s->waker_tid = random64() % 2 ? s->prev_tid : 20000 + 13 * (1 + random64() % 6);
			}
		}
		left[prev] = ts;
		prev = next;
	}
}

static void make_calls(void *rows, uint32_t n)
{
	struct row_call *row = rows;
	uint64_t ts = 1000000000000;

	for (uint32_t i = 0; i < n; i++) {
		struct row_call *c = &row[i];

		memset(c, 0, sizeof(*c));
		ts += lognormal(20000, 1);
		c->ts = ts;
		c->operation = 1 + random64() % 8;
		c->probe = c->operation + 20;
		c->duration = lognormal(6000, 1);
		c->tid = 5000 + random64() % 4;
		c->tgid = 5000;
		c->depth = random64() % 4 == 0;
		c->stream = 0x7f0012345600 + (random64() % 3 << 8);
		c->flags = CALL_FLAG_STREAM;
		if (c->operation == 3) {
			c->bytes = 1 << (10 + random64() % 8);
			c->kind = 1 + random64() % 2;
			c->flags |= CALL_FLAG_BYTES | CALL_FLAG_KIND;
		}
	}
}

static const struct load loads[] = {
	{ "switches, ping-pong", TABLE_switch, make_pingpong },
	{ "switches, DataLoader", TABLE_switch, make_dataloader },
	{ "CUDA calls", TABLE_call, make_calls },
};

/* ns to add up one 64-bit number of a buffer that no cache holds. */
static double time_sum(void)
{
	uint64_t *v = malloc(SUM_VALUES * sizeof(*v));
	volatile uint64_t sink;
	double best = 1e9;

	if (!v)
		exit(1);
	for (uint32_t i = 0; i < SUM_VALUES; i++)
		v[i] = i;
	for (int turn = 0; turn < 3; turn++) {
		double start = seconds(), took;
		uint64_t sum = 0;

		for (uint32_t i = 0; i < SUM_VALUES; i++)
			sum += v[i];
		sink = sum;
		took = (seconds() - start) * 1e9 / SUM_VALUES;
		best = took < best ? took : best;
	}
	(void)sink;
	free(v);
	return best;
}

static void die(const struct error *e)
{
	fprintf(stderr, "bench_format: %s\n", e->text);
	exit(1);
}

/* Store the rows; *size gets the bytes they took, headers included. */
static double time_store(const char *path, const struct load *load, const char *rows, size_t row,
			 uint64_t *size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	struct error e;
	struct writer *w;
	uint64_t before;
	double start;

	if (fd < 0 || writer_open(&w, fd, &e))
		die(&e);
	before = writer_bytes(w);
	start = seconds();
	for (uint32_t i = 0; i < ROWS; i++)
		writer_row(w, load->table, 0, rows + i % DIFFERENT * row);
	if (writer_flush(w, &e))
		die(&e);
	start = seconds() - start;
	*size = writer_bytes(w) - before;
	if (writer_close(w, &e))
		die(&e);
	return start * 1e9 / ROWS;
}

/* Load every column of every block; each must hold what was stored. */
static double time_load(const char *path, const char *rows, size_t row)
{
	struct columns c = { 0 };
	struct reader *r;
	struct error e;
	double spent = 0;
	uint32_t at = 0;

	if (reader_open(&r, path, &e))
		die(&e);
	for (size_t i = 0; i < reader_blocks(r); i++) {
		double start = seconds();

		if (reader_load(r, i, ~0ull, &c, &e))
			die(&e);
		spent += seconds() - start;
		for (uint32_t k = 0; k < c.rows; k++, at++)
			for (size_t col = 0; col < row / 8; col++)
				if (c.col[col][k] != ((const uint64_t *)(rows + at % DIFFERENT * row))[col]) {
					fprintf(stderr, "row %u column %zu differs\n", at, col);
					exit(1);
				}
	}
	columns_release(&c);
	reader_close(r);
	return spent * 1e9 / ROWS;
}

static void line(const char *what, double row, size_t columns, double sum)
{
	double value = row / (double)columns;

	printf("  %-20s %6.1f ns/row %6.2f ns/value %6.1f x a sum\n", what, row, value, value / sum);
}

static void bench(const char *path, const struct load *load, double sum)
{
	size_t columns = load->table == TABLE_switch ? COLS_switch : COLS_call, row = columns * 8;
	char *rows = calloc(DIFFERENT, row);
	double store = 1e9, read = 1e9;
	uint64_t size = 0;

	if (!rows)
		exit(1);
	load->make(rows, DIFFERENT);
	for (int turn = 0; turn < TURNS; turn++) {
		double took = time_store(path, load, rows, row, &size);

		store = took < store ? took : store;
		took = time_load(path, rows, row);
		read = took < read ? took : read;
	}
	printf("%-22s %6.2f bytes/row\n", load->name, (double)size / ROWS);
	line("store", store, columns, sum);
	line("load", read, columns, sum);
	free(rows);
}

int main(void)
{
	const char *dir = getenv("TMPDIR");
	char path[256];
	double sum = time_sum();

	snprintf(path, sizeof(path), "%s/bench_format.%d.ing", dir ? dir : "/tmp", (int)getpid());
	printf("%-22s %6.2f ns/value\n", "plain 64-bit sum", sum);
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		bench(path, &loads[i], sum);
	unlink(path);
	return 0;
}
