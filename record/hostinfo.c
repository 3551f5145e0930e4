// SPDX-License-Identifier: BSD-2-Clause
#include "hostinfo.h"
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define ANCHOR_TRIES 20
#define INITIAL_PID_NAMESPACE 0xeffffffcu	/* PROC_PID_INIT_INO */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

uint64_t hostinfo_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static int put_text(struct writer *w, const char *key, const char *value)
{
	struct row_info row = {
		.key = writer_string(w, key, strlen(key)),
		.value = writer_string(w, value, strlen(value)),
	};

	return writer_row(w, TABLE_info, 0, &row);
}

int hostinfo_put(struct writer *w, const char *key, const char *fmt, ...)
{
	char *value;
	va_list ap;
	int n, rc;

	va_start(ap, fmt);
	n = vasprintf(&value, fmt, ap);
	va_end(ap);
	if (n < 0)
		return ERROR_MEMORY;
	rc = put_text(w, key, value);
	free(value);
	return rc;
}

/*
 * Value of the first line that starts with key, past separators and quotes; false when there is
 * none. Lines longer than the buffer are cut.
 */
static bool file_value(const char *path, const char *key, char *value, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		char *text = line + strlen(key);

		if (strncmp(line, key, strlen(key)))
			continue;
		text += strspn(text, " \t:=\"");
		text[strcspn(text, "\"\n")] = 0;
		found = *text && snprintf(value, size, "%s", text) < (int)size;
	}
	if (f)
		fclose(f);
	return found;
}

static void put_cpu_model(struct writer *w)
{
	static const char path[] = "/proc/cpuinfo";
	char model[256], part[64];

	/* aarch64 kernels give numbers only. */
	if (file_value(path, "model name", model, sizeof(model)))
		put_text(w, "host.cpu_model", model);
	else if (file_value(path, "CPU implementer", model, sizeof(model)) &&
		 file_value(path, "CPU part", part, sizeof(part)))
		hostinfo_put(w, "host.cpu_model", "implementer %s, part %s", model, part);
}

static void put_host(struct writer *w)
{
	char distribution[256];
	struct utsname name;
	struct sysinfo info;

	if (!uname(&name)) {
		put_text(w, "host.name", name.nodename);
		put_text(w, "host.kernel", name.release);
		put_text(w, "host.arch", name.machine);
	}
	hostinfo_put(w, "host.page_size", "%ld", sysconf(_SC_PAGESIZE));
	hostinfo_put(w, "host.cpus", "%ld", sysconf(_SC_NPROCESSORS_CONF));
	hostinfo_put(w, "host.cpus_online", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	put_cpu_model(w);
	if (!sysinfo(&info))
		hostinfo_put(w, "host.memory", "%" PRIu64,
			     (uint64_t)info.totalram * info.mem_unit);
	if (file_value("/etc/os-release", "PRETTY_NAME", distribution, sizeof(distribution)))
		put_text(w, "host.distribution", distribution);
}

static int put_command(struct writer *w, const struct config *c)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc;

	if (!f)
		return ERROR_MEMORY;
	for (int i = 0; c->command[i] && !(i && c->no_args); i++)
		fprintf(f, "%s%s", i ? " " : "", c->command[i]);
	rc = fclose(f) ? ERROR_MEMORY : put_text(w, "record.command", text);
	free(text);
	return rc;
}

int hostinfo_write(struct writer *w, const struct config *c, uid_t uid)
{
	char *cwd = getcwd(NULL, 0);

	put_host(w);
	put_text(w, "record.version", INGERO_VERSION);
	put_command(w, c);
	if (cwd)
		put_text(w, "record.cwd", cwd);
	free(cwd);
	hostinfo_put(w, "record.uid", "%u", (unsigned int)uid);
	hostinfo_put(w, "record.buffer", "%" PRIu64, c->buffer);
	/* The last row tells whether the writer has failed. */
	return put_text(w, "record.options", c->options ? c->options : "");
}

/*
 * How far clock is ahead of CLOCK_MONOTONIC, from the tightest pair of readings around it;
 * *middle is their middle.
 */
static int64_t clock_ahead(clockid_t clock, uint64_t *middle)
{
	uint64_t best = UINT64_MAX;
	int64_t ahead = 0;

	for (int i = 0; i < ANCHOR_TRIES; i++) {
		uint64_t before = hostinfo_now();
		int64_t other = clock_ns(clock);
		uint64_t after = hostinfo_now();

		if (after - before >= best)
			continue;
		best = after - before;
		*middle = before + best / 2;
		ahead = other - (int64_t)*middle;
	}
	return ahead;
}

int hostinfo_anchor(struct writer *w)
{
	struct row_anchor row = { 0 };
	int64_t boottime = clock_ahead(CLOCK_BOOTTIME, &row.ts);
	int64_t realtime = clock_ahead(CLOCK_REALTIME, &row.ts);

	row.realtime = (int64_t)row.ts + realtime;
	row.boottime = (int64_t)row.ts + boottime;
	return writer_row(w, TABLE_anchor, 0, &row);
}

bool hostinfo_initial_pids(void)
{
	struct stat ns;

	return !stat("/proc/self/ns/pid", &ns) && ns.st_ino == INITIAL_PID_NAMESPACE;
}

void hostinfo_cgroup(char *path, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096], *name;

	*path = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		name = strchr(line, ':');
		if (!name)
			continue;
		/* Version 2 comes last, and where version 1 has the cpu controller it has none. */
		if (!strncmp(name, ":cpu,", 5) || !strncmp(name, ":cpu:", 5))
			snprintf(path, size, "%s", strchr(name + 1, ':') + 1);
		else if (!strncmp(name, "::", 2) && !*path)
			snprintf(path, size, "%s", name + 2);
	}
	if (file)
		fclose(file);
}
