// SPDX-License-Identifier: BSD-2-Clause
#include "cgroups.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hierarchy.h"
#include "hostinfo.h"

#define SECOND 1000000000ull
#define US 1000
#define NEW_MAX 64		/* processes looked at for the first time, between two samples */
#define AGAIN_MAX 8		/* and again */
#define PID_LIMIT (1u << 22)
#define TEXT 4096
#define NO_LIMIT (1ull << 62)	/* version 1 says "none" by a number like this */

enum file { QUOTA, PERIOD, STAT, USAGE, MEMORY, FILES };

struct group {
	char *path, *memory;		/* memory: its path in that hierarchy, or NULL */
	int fd[FILES];
	uint64_t limit, limit_due, row_due;
	uint32_t name;			/* string of the file; 0 not yet */
};

struct cgroups {
	const char *proc;
	struct hierarchy hierarchies[HIERARCHIES];
	struct group groups[CGROUPS_MAX];
	size_t n;
	const struct group *own;	/* the command's */
	uint8_t *seen;			/* a bit per PID */
	unsigned int news, told, turn;	/* processes since the last sample; whose turn it is */
	char text[TEXT];		/* what was read last */
};

int cgroups_open(struct cgroups **out, const char *proc, struct error *e)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	*out = c;
	if (c)
		c->seen = calloc(1, PID_LIMIT / 8);
	if (!c || !c->seen)
		return error_set(e, ERROR_MEMORY, "out of memory");
	c->proc = proc;
	hierarchies_find(c->hierarchies, proc);
	return 0;
}

bool cgroups_found(const struct cgroups *c)
{
	return c->hierarchies[HIERARCHY_CPU].mount;
}

static bool read_fd(struct cgroups *c, int fd)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, c->text, TEXT - 1, 0);

	c->text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static int file_open(const struct cgroups *c, enum hierarchy_role role, const char *path,
		     const char *v1, const char *v2)
{
	const struct hierarchy *h = &c->hierarchies[role];
	const char *name = h->v2 ? v2 : v1;
	char *full = path && name ? hierarchy_file(h, path, name) : NULL;
	int fd = full ? open(full, O_RDONLY | O_CLOEXEC) : -1;

	free(full);
	return fd;
}

static void group_release(struct group *g)
{
	for (int i = 0; i < FILES; i++)
		if (g->fd[i] >= 0)
			close(g->fd[i]);
	free(g->path);
	free(g->memory);
}

static int memory_open(const struct cgroups *c, const char *path)
{
	return file_open(c, HIERARCHY_MEMORY, path, "memory.usage_in_bytes", "memory.current");
}

/* The group of that path; followed from now on where it was not. NULL when there is no room. */
static struct group *group_add(struct cgroups *c, const char *path, const char *usage,
			       const char *memory)
{
	struct group *g = &c->groups[c->n];

	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->groups[i].path, path))
			return &c->groups[i];
	if (c->n == CGROUPS_MAX)
		return NULL;
	*g = (struct group){ .path = strdup(path), .memory = memory ? strdup(memory) : NULL };
	g->fd[QUOTA] = file_open(c, HIERARCHY_CPU, path, "cpu.cfs_quota_us", "cpu.max");
	g->fd[PERIOD] = file_open(c, HIERARCHY_CPU, path, "cpu.cfs_period_us", NULL);
	g->fd[STAT] = file_open(c, HIERARCHY_CPU, path, "cpu.stat", "cpu.stat");
	g->fd[USAGE] = file_open(c, HIERARCHY_USAGE, usage, "cpuacct.usage", NULL);
	g->fd[MEMORY] = memory_open(c, memory);
	if (!g->path) {
		group_release(g);
		return NULL;
	}
	c->n++;
	return g;
}

/* The command may go elsewhere in the hierarchy of memory and stay in that of the CPU. */
static void memory_follow(struct cgroups *c, struct group *g, const char *path)
{
	char *copy;

	if (!path || (g->memory && !strcmp(g->memory, path)))
		return;
	copy = strdup(path);
	if (!copy)
		return;
	free(g->memory);
	if (g->fd[MEMORY] >= 0)
		close(g->fd[MEMORY]);
	g->memory = copy;
	g->fd[MEMORY] = memory_open(c, path);
	g->limit_due = 0;
}

/* Its group and those above, in all hierarchies as far as they run in parallel. */
static struct group *groups_of(struct cgroups *c, uint32_t pid, bool command)
{
	char *paths[HIERARCHIES], *cpu, *slash;
	struct group *own = NULL;
	bool usage, memory;

	hierarchies_of(c->hierarchies, c->proc, pid, paths);
	cpu = paths[HIERARCHY_CPU];
	if (cpu) {
		usage = paths[HIERARCHY_USAGE] && !strcmp(paths[HIERARCHY_USAGE], cpu);
		memory = paths[HIERARCHY_MEMORY] && !strcmp(paths[HIERARCHY_MEMORY], cpu);
		own = group_add(c, cpu, usage ? cpu : NULL, paths[HIERARCHY_MEMORY]);
		if (own && command)
			memory_follow(c, own, paths[HIERARCHY_MEMORY]);
		while ((slash = strrchr(cpu, '/')) && slash[1]) {
			slash[slash == cpu] = '\0';
			group_add(c, cpu, usage ? cpu : NULL, memory ? cpu : NULL);
		}
	}
	hierarchies_release(paths);
	return own;
}

void cgroups_command(struct cgroups *c, pid_t pid)
{
	struct group *own = groups_of(c, pid, true);

	if (own)
		c->own = own;
}

void cgroups_process(void *context, uint32_t pid)
{
	struct cgroups *c = context;
	bool again = pid < PID_LIMIT && c->seen[pid / 8] >> pid % 8 & 1;

	c->told++;
	if (pid >= PID_LIMIT || (again ? c->told - 1 - c->turn >= AGAIN_MAX : ++c->news > NEW_MAX))
		return;
	c->seen[pid / 8] |= 1u << pid % 8;
	groups_of(c, pid, false);
}

static void turn_next(struct cgroups *c)
{
	if (c->told)
		c->turn = c->turn + AGAIN_MAX < c->told ? c->turn + AGAIN_MAX : 0;
	c->told = 0;
	c->news = 0;
}

/* The number behind a name in lines of "name number"; 0 without it. */
static uint64_t value(const char *text, const char *name)
{
	size_t length = strlen(name);

	while (text && *text) {
		if (!strncmp(text, name, length) && text[length] == ' ')
			return strtoull(text + length, NULL, 10);
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return 0;
}

/* False when the group is gone. */
static bool read_quota(struct cgroups *c, struct group *g, struct row_cgroup *row)
{
	long long quota;
	char *end;

	if (g->fd[QUOTA] < 0)	/* the top of a hierarchy has none */
		return true;
	if (!read_fd(c, g->fd[QUOTA]))
		return false;
	quota = strtoll(c->text, &end, 10);
	if (end == c->text || quota <= 0)	/* "max", -1 */
		return true;
	row->quota = quota * US;
	row->period = strtoull(end, NULL, 10) * US;
	if (g->fd[PERIOD] >= 0 && read_fd(c, g->fd[PERIOD]))
		row->period = strtoull(c->text, NULL, 10) * US;
	return true;
}

static void read_stat(struct cgroups *c, struct group *g, struct row_cgroup *row)
{
	if (read_fd(c, g->fd[STAT])) {
		row->periods = value(c->text, "nr_periods");
		row->throttled = value(c->text, "nr_throttled");
		row->throttled_time =
			value(c->text, "throttled_time") + value(c->text, "throttled_usec") * US;
		row->usage = value(c->text, "usage_usec") * US;
	}
	if (read_fd(c, g->fd[USAGE]))
		row->usage = strtoull(c->text, NULL, 10);
	if (read_fd(c, g->fd[MEMORY]))
		row->memory = strtoull(c->text, NULL, 10);
}

static uint64_t limit_in(struct cgroups *c, const char *path, const char *v1, const char *v2)
{
	int fd = file_open(c, HIERARCHY_MEMORY, path, v1, v2);
	uint64_t limit = read_fd(c, fd) ? strtoull(c->text, NULL, 10) : 0;

	if (fd >= 0)
		close(fd);
	return limit < NO_LIMIT ? limit : 0;	/* "max" is 0 */
}

/* That of the nearest group upwards that has one. */
static uint64_t read_limit(struct cgroups *c, const struct group *g)
{
	char *path = g->memory ? strdup(g->memory) : NULL, *slash;
	uint64_t limit = 0, high;

	while (path && !limit) {
		limit = limit_in(c, path, "memory.limit_in_bytes", "memory.max");
		high = limit_in(c, path, NULL, "memory.high");
		if (high && (!limit || high < limit))
			limit = high;
		slash = strrchr(path, '/');
		if (!slash || !slash[1])
			break;
		slash[slash == path] = '\0';
	}
	free(path);
	return limit;
}

/* False when the group is gone. */
static bool group_sample(struct cgroups *c, struct group *g, struct writer *w, bool all)
{
	struct row_cgroup row = { .ts = hostinfo_now() };

	if (!read_quota(c, g, &row))
		return false;
	if (!row.quota && (g != c->own || (!all && row.ts < g->row_due)))
		return true;
	read_stat(c, g, &row);
	if (row.ts >= g->limit_due) {
		g->limit = read_limit(c, g);
		g->limit_due = row.ts + SECOND;
	}
	if (!g->name)
		g->name = writer_string(w, g->path, strlen(g->path));
	row.path = g->name;
	row.memory_limit = g->limit;
	g->row_due = row.ts + SECOND;
	writer_row(w, TABLE_cgroup, 0, &row);
	return true;
}

static void group_drop(struct cgroups *c, size_t i)
{
	struct group *last = &c->groups[--c->n];

	if (c->own == &c->groups[i])
		c->own = NULL;
	else if (c->own == last)
		c->own = &c->groups[i];
	group_release(&c->groups[i]);
	c->groups[i] = *last;
}

void cgroups_sample(struct cgroups *c, struct writer *w, bool all)
{
	turn_next(c);
	for (size_t i = c->n; i-- > 0;)
		if (!group_sample(c, &c->groups[i], w, all))
			group_drop(c, i);
}

void cgroups_close(struct cgroups *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		group_release(&c->groups[i]);
	hierarchies_release_mounts(c->hierarchies);
	free(c->seen);
	free(c);
}
