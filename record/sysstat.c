// SPDX-License-Identifier: BSD-2-Clause
#include "sysstat.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hostinfo.h"

#define CPU_LINE 160		/* bytes a CPU in /proc/stat, at most */
#define SMALL 4096		/* bytes of any other file */

enum source {
	STAT, LOADAVG, MEMINFO, PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, SOURCES
};

static const char *const paths[SOURCES] = {
	[STAT] = "/proc/stat", [LOADAVG] = "/proc/loadavg", [MEMINFO] = "/proc/meminfo",
	[PRESSURE_CPU] = "/proc/pressure/cpu", [PRESSURE_MEMORY] = "/proc/pressure/memory",
	[PRESSURE_IO] = "/proc/pressure/io",
};

struct sysstat {
	int fd[SOURCES];
	uint64_t ns_per_tick;
	size_t size;
	char *text;		/* what was read last, NUL-terminated */
};

int sysstat_open(struct sysstat **out, struct error *e)
{
	struct sysstat *s = calloc(1, sizeof(*s));
	long cpus = sysconf(_SC_NPROCESSORS_CONF), ticks = sysconf(_SC_CLK_TCK);

	*out = s;
	if (!s)
		return error_set(e, ERROR_MEMORY, "out of memory");
	s->size = SMALL + CPU_LINE * (cpus > 0 ? cpus : 1);
	s->ns_per_tick = 1000000000 / (ticks > 0 ? ticks : 100);
	s->text = malloc(s->size + 1);
	for (int i = 0; i < SOURCES; i++)
		s->fd[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
	if (s->text)
		return 0;
	sysstat_close(s);
	*out = NULL;
	return error_set(e, ERROR_MEMORY, "out of memory");
}

void sysstat_close(struct sysstat *s)
{
	if (!s)
		return;
	for (int i = 0; i < SOURCES; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	free(s->text);
	free(s);
}

static bool read_source(struct sysstat *s, enum source source)
{
	size_t used = 0;
	ssize_t n = -1;

	while (s->fd[source] >= 0 && used < s->size) {
		n = pread(s->fd[source], s->text + used, s->size - used, used);
		if (n <= 0)
			break;
		used += n;
	}
	s->text[used] = 0;
	return used > 0;
}

/* The number at *text, which moves past it; false when there is none. */
static bool number(const char **text, uint64_t *value)
{
	char *end;

	*text += strspn(*text, " \t");
	if (**text < '0' || **text > '9')
		return false;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return true;
}

/* "0.20 0.18 0.12 1/80 11206": load, runnable and all threads. The reader itself is runnable. */
static bool parse_loadavg(const char *text, struct row_system *row)
{
	uint64_t whole, hundredths, skipped, runnable;

	if (!number(&text, &whole) || *text++ != '.' || !number(&text, &hundredths))
		return false;
	row->load1 = 100 * whole + hundredths;
	for (int i = 0; i < 2; i++)
		if (!number(&text, &skipped) || *text++ != '.' || !number(&text, &skipped))
			return false;
	if (!number(&text, &runnable) || *text++ != '/' || !number(&text, &row->threads))
		return false;
	row->runnable = runnable ? runnable - 1 : 0;
	return true;
}

static bool memory_field(const char *text, const char *name, uint64_t *bytes)
{
	const char *found = strstr(text, name);

	if (!found)
		return false;
	found += strlen(name);
	if (!number(&found, bytes))
		return false;
	*bytes *= 1024;
	return true;
}

static bool parse_meminfo(const char *text, struct row_system *row)
{
	return memory_field(text, "MemTotal:", &row->memory_total) &&
	       memory_field(text, "MemFree:", &row->memory_free) &&
	       memory_field(text, "MemAvailable:", &row->memory_available) &&
	       memory_field(text, "SwapTotal:", &row->swap_total) &&
	       memory_field(text, "SwapFree:", &row->swap_free);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345" */
static bool parse_pressure(const char *text, uint64_t *total)
{
	const char *found = strncmp(text, "some ", 5) ? NULL : strstr(text, "total=");

	if (!found)
		return false;
	found += 6;
	return number(&found, total);
}

static bool read_pressure(struct sysstat *s, struct row_system *row)
{
	return read_source(s, PRESSURE_CPU) && parse_pressure(s->text, &row->psi_cpu_some) &&
	       read_source(s, PRESSURE_MEMORY) && parse_pressure(s->text, &row->psi_memory_some) &&
	       read_source(s, PRESSURE_IO) && parse_pressure(s->text, &row->psi_io_some);
}

/* "cpu3 user nice system idle iowait irq softirq steal ...", in ticks; guest time is in user. */
static bool parse_cpu(const char *line, uint64_t ns_per_tick, struct row_cpu *row)
{
	uint64_t ticks[8];

	line += 3;
	if (!number(&line, &row->cpu))
		return false;
	for (int i = 0; i < 8; i++) {
		if (!number(&line, &ticks[i]))
			return false;
		ticks[i] *= ns_per_tick;
	}
	row->user = ticks[0] + ticks[1];
	row->system = ticks[2];
	row->idle = ticks[3];
	row->iowait = ticks[4];
	row->irq = ticks[5] + ticks[6];
	row->steal = ticks[7];
	return true;
}

static int write_cpus(struct sysstat *s, struct writer *w, uint64_t now)
{
	const char *line = s->text;
	int rc = 0;

	while (!rc && !strncmp(line, "cpu", 3)) {
		struct row_cpu row = { .ts = now };
		const char *end = strchr(line, '\n');

		/* The first line, "cpu " without a number, is the sum. */
		if (line[3] != ' ' && end && parse_cpu(line, s->ns_per_tick, &row))
			rc = writer_row(w, TABLE_cpu, 0, &row);
		if (!end)
			break;
		line = end + 1;
	}
	return rc;
}

int sysstat_sample(struct sysstat *s, struct writer *w)
{
	struct row_system row = { .ts = hostinfo_now() }, blank = { .ts = row.ts };
	int rc;

	if (read_source(s, LOADAVG) && parse_loadavg(s->text, &row))
		blank.flags |= SYSTEM_FLAG_LOAD;
	if (read_source(s, MEMINFO) && parse_meminfo(s->text, &row))
		blank.flags |= SYSTEM_FLAG_MEMORY;
	if (read_pressure(s, &row))
		blank.flags |= SYSTEM_FLAG_PSI;
	row.flags = blank.flags;
	rc = writer_row(w, TABLE_system, 0, &row);
	if (!rc && read_source(s, STAT))
		rc = write_cpus(s, w, row.ts);
	return rc;
}
