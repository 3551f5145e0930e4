// SPDX-License-Identifier: BSD-2-Clause
#include <sys/prctl.h>
#include <sys/resource.h>
#include "clock.h"

#define ROWS (1u << 19)

struct row {
	const char *name;
	uint64_t start, end;
};

static struct row *rows;
static unsigned int used;
static char program[32];
volatile sig_atomic_t clock_stop;

void clock_open(const char *name)
{
	if (!rows && !(rows = calloc(ROWS, sizeof(*rows))))
		die("calloc");
	used = 0;
	snprintf(program, sizeof(program), "%s", name);
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

void clock_note(const char *name, uint64_t start, uint64_t end)
{
	unsigned int at = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
	if (at < ROWS)
		rows[at] = (struct row){ name, start, end };
}

void clock_write(void)
{
	const char *folder = getenv("BLAME_LOG");
	char path[4096];
	if (!folder)
		return;
	if (used > ROWS) {
		fprintf(stderr, "more than %u intervals\n", ROWS);
		exit(98);
	}
	snprintf(path, sizeof(path), "%s/%s.%d", folder, program, getpid());
	FILE *f = fopen(path, "w");
	if (!f)
		die(path);
	for (unsigned int i = 0; i < used; i++)
		fprintf(f, "%s %llu %llu\n", rows[i].name,
			(unsigned long long)rows[i].start, (unsigned long long)rows[i].end);
	if (fclose(f))
		die(path);
}

/* Whether the thread left its CPU since it was last asked. */
static bool has_switched(long *last)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	long switches = usage.ru_nvcsw + usage.ru_nivcsw;
	bool changed = switches != *last;
	*last = switches;
	return changed;
}

void clock_run(struct clock_run *r, const char *name)
{
	uint64_t t = now_ns();
	if (!r->start) {
		has_switched(&r->switches);
		r->start = t;
	} else if (t - r->last > CLOCK_BREAK_NS) {
		if (has_switched(&r->switches)) {
			clock_note(name, r->start, r->last);
			r->start = t;
		} else {
			clock_note("stolen", r->last, t);
		}
	}
	r->last = t;
}

void clock_stolen(struct clock_piece *p, uint64_t start, uint64_t end)
{
	if (!p->least || end - start < p->least)
		p->least = end - start;
	if (end - start > p->least + CLOCK_BREAK_NS && !has_switched(&p->switches))
		clock_note("stolen", start + p->least, end);
}

static uint64_t cpu_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void clock_busy(uint64_t cpu_ns, const char *name)
{
	struct clock_run run = { 0 };
	uint64_t begin = cpu_now();
	while (!clock_stop && cpu_now() - begin < cpu_ns)
		clock_run(&run, name);
	clock_note(name, run.start, run.last);
}

static void asked_to_stop(int number)
{
	(void)number;
	clock_stop = 1;
}

void clock_stop_on(int number)
{
	struct sigaction act = { .sa_handler = asked_to_stop };
	sigaction(number, &act, NULL);
}
