// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "account.h"

struct setting {
	uint64_t ns, fail_every;
	int mode, distribution, code;
	void (*callback)(void *);
	void *argument;
	_Atomic uint64_t calls;		/* of this process, for fail_every and the tail */
};

static struct setting settings[SYMBOLS];
static uint64_t device_ns, first_ns;
static bool nests = true, copies;
static _Atomic uint64_t device_until;	/* CLOCK_MONOTONIC: when the stand-in device is done */
static _Atomic bool first_done;

static __thread struct {
	unsigned int depth;
	uint64_t random;
} mine __attribute__((tls_model("initial-exec")));

static inline uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t random_next(void)
{
	uint64_t x = mine.random ? mine.random : ((uint64_t)(uintptr_t)&mine ^ now()) | 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return mine.random = x;
}

static uint64_t draw(const struct setting *s, uint64_t number)
{
	double u = (random_next() >> 11) * 0x1p-53;
	switch (s->distribution) {
	case FAKECUDA_UNIFORM:
		return s->ns / 2 + u * s->ns;
	case FAKECUDA_EXPONENTIAL:
		return fmin(-log1p(-u), 16.0) * s->ns;
	case FAKECUDA_TAIL:
		return number % 100 ? s->ns : s->ns * 50;
	default:
		return s->ns;
	}
}

static void device_queue(uint64_t ns)
{
	uint64_t old = atomic_load(&device_until), t = now();
	while (!atomic_compare_exchange_weak(&device_until, &old, (old > t ? old : t) + ns))
		;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

/* The sleeper is woken out of the timer's interrupt, as by a device that raised one. */
static void timer_wait(uint64_t until)
{
	static __thread int fd __attribute__((tls_model("initial-exec"))) = -1;
	uint64_t expirations;
	struct itimerspec timer = { .it_value = timespec_of(until) };
	if (fd < 0)
		fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &timer, NULL)) {
		fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		timerfd_settime(fd, TFD_TIMER_ABSTIME, &timer, NULL);
	}
	while (read(fd, &expirations, sizeof(expirations)) < 0 && errno == EINTR)
		;
}

static void spend(int mode, uint64_t until)
{
	struct timespec t = timespec_of(until);
	uint64_t device = atomic_load(&device_until);
	switch (mode) {
	case FAKECUDA_SLEEP:
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			;
		return;
	case FAKECUDA_DEVICE_SPIN:
		while (now() < device)
			sched_yield();
		break;
	case FAKECUDA_DEVICE_BLOCK:
		if (now() < device)
			timer_wait(device);
		break;
	}
	while (now() < until)
		;
}

void core_begin(struct core_call *c, enum symbol symbol, uint64_t bytes, void *stream,
		uint32_t kind)
{
	c->start = now();
	c->symbol = symbol;
	account_ready();
	c->nested = mine.depth > 0;
	c->record = account_record();
	if (c->record) {
		*c->record = (struct core_record){
			.start = c->start, .bytes = bytes, .stream = (uintptr_t)stream,
			.symbol = symbol, .depth = mine.depth, .kind = kind,
		};
	} else {
		struct account_counts *counts = account_counts();
		if (counts)
			counts[symbol].open++;
	}
	mine.depth++;
}

int core_work(struct core_call *c, bool device)
{
	struct setting *s = &settings[c->symbol];
	uint64_t number = 1 + atomic_fetch_add_explicit(&s->calls, 1, memory_order_relaxed);
	uint64_t ns = s->distribution ? draw(s, number) : s->ns;
	if (s->callback)
		s->callback(s->argument);
	if (first_ns && !atomic_exchange(&first_done, true))
		ns += first_ns;
	if (device && device_ns)
		device_queue(device_ns);
	if (ns || s->mode >= FAKECUDA_DEVICE_SPIN)
		spend(s->mode, c->start + ns);
	return s->fail_every && number % s->fail_every == 0 ? s->code : 0;
}

static void counts_end(struct core_call *c, uint64_t bytes, int code, uint64_t ns)
{
	struct account_counts *counts = account_counts();
	if (!counts)
		return;
	struct account_counts *k = &counts[c->symbol];
	k->open--;
	k->calls++;
	k->nested += c->nested;
	k->ns += ns;
	if (!code) {
		k->bytes += bytes;
		return;
	}
	k->failed++;
	int slot = k->code[0] == code || !k->code[0] ? 0 : 1;
	k->code[slot] = code;
	k->code_count[slot]++;
}

void core_end(struct core_call *c, uint64_t bytes, int code)
{
	mine.depth--;
	if (c->record) {
		c->record->code = code;
		__atomic_store_n(&c->record->end, now(), __ATOMIC_RELEASE);
	} else {
		counts_end(c, bytes, code, now() - c->start);
	}
}

bool core_nests(void)
{
	return nests;
}

bool core_copies(void)
{
	return copies;
}

/* A child has a device time and a first call of its own. */
static void forked(void)
{
	device_until = 0;
	first_done = false;
	mine.depth = 0;
	for (int i = 0; i < SYMBOLS; i++)
		settings[i].calls = 0;
}

static int symbol_range(const char *symbol, int *first, int *last)
{
	*first = 0;
	*last = SYMBOLS - 1;
	if (strcmp(symbol, "*") == 0)
		return 0;
	for (int i = 0; i < SYMBOLS; i++) {
		if (strcmp(symbol, account_symbol_names[i]) == 0) {
			*first = *last = i;
			return 0;
		}
	}
	return -1;
}

CORE int fakecuda_set(const char *symbol, uint64_t ns, int mode, uint64_t fail_every, int code)
{
	int first, last;
	if (symbol_range(symbol, &first, &last))
		return -1;
	for (int i = first; i <= last; i++) {
		settings[i].ns = ns;
		settings[i].mode = mode;
		settings[i].fail_every = fail_every;
		settings[i].code = code;
	}
	return 0;
}

CORE int fakecuda_set_distribution(const char *symbol, int distribution)
{
	int first, last;
	if (symbol_range(symbol, &first, &last))
		return -1;
	for (int i = first; i <= last; i++)
		settings[i].distribution = distribution;
	return 0;
}

CORE int fakecuda_set_callback(const char *symbol, void (*callback)(void *), void *argument)
{
	int first, last;
	if (symbol_range(symbol, &first, &last))
		return -1;
	for (int i = first; i <= last; i++) {
		settings[i].argument = argument;
		settings[i].callback = callback;
	}
	return 0;
}

CORE void fakecuda_unwound(unsigned int n)
{
	mine.depth = mine.depth > n ? mine.depth - n : 0;
}

static int word_index(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return -1;
}

static bool setting_parse(struct setting *s, int *distribution, const char *key, const char *value)
{
	static const char *const modes[] = { "spin", "sleep", "device-spin", "device-block", NULL };
	static const char *const shapes[] = { "fixed", "uniform", "exp", "tail", NULL };
	if (strcmp(key, "ns") == 0)
		s->ns = strtoull(value, NULL, 10);
	else if (strcmp(key, "mode") == 0)
		return (s->mode = word_index(value, modes)) >= 0;
	else if (strcmp(key, "dist") == 0)
		return (*distribution = word_index(value, shapes)) >= 0;
	else if (strcmp(key, "fail") == 0)
		s->fail_every = strtoull(value, NULL, 10);
	else if (strcmp(key, "code") == 0)
		s->code = atoi(value);
	else
		return false;
	return true;
}

static void refuse(const char *what)
{
	fprintf(stderr, "fakecuda: FAKECUDA_OPS: cannot understand '%s'\n", what);
	abort();
}

/* "ns:2000,mode:sleep" of one symbol */
static void operation_parse(char *text)
{
	struct setting s = { .code = 999 };
	int distribution = 0;
	char *save, *values = strchr(text, '=');
	if (!values)
		refuse(text);
	*values++ = 0;
	for (char *word = strtok_r(values, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *value = strchr(word, ':');
		if (!value)
			refuse(word);
		*value++ = 0;
		if (!setting_parse(&s, &distribution, word, value))
			refuse(word);
	}
	if (fakecuda_set(text, s.ns, s.mode, s.fail_every, s.code) ||
	    fakecuda_set_distribution(text, distribution))
		refuse(text);
}

static uint64_t number_of(const char *name)
{
	const char *value = getenv(name);
	return value ? strtoull(value, NULL, 10) : 0;
}

__attribute__((constructor)) static void core_load(void)
{
	const char *ops = getenv("FAKECUDA_OPS"), *nest = getenv("FAKECUDA_NEST");
	char *save, *copy = strdup(ops ? ops : "");
	for (char *word = strtok_r(copy, ";", &save); word; word = strtok_r(NULL, ";", &save))
		operation_parse(word);
	free(copy);
	device_ns = number_of("FAKECUDA_DEVICE_NS");
	first_ns = number_of("FAKECUDA_FIRST_NS");
	nests = !nest || strcmp(nest, "0") != 0;
	copies = number_of("FAKECUDA_COPY") == 1;
	pthread_atfork(NULL, NULL, forked);
}
