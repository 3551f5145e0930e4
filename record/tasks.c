// SPDX-License-Identifier: BSD-2-Clause
#include "tasks.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hostinfo.h"

struct stat_line {
	char comm[64];
	unsigned int ppid;
	unsigned long long start;	/* ticks since boot */
};

static bool stat_read(const char *pid, const char *tid, struct stat_line *line)
{
	char path[96], text[1024];
	char *open, *close;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/task/%.20s/stat", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	/* The name may hold anything, parentheses too. */
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open)
		return false;
	*close = '\0';
	snprintf(line->comm, sizeof(line->comm), "%s", open + 1);
	return sscanf(close + 1, " %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		      &line->ppid, &line->start) == 2;
}

static uint64_t ticks_ns(unsigned long long ticks)
{
	return ticks * (1000000000ull / sysconf(_SC_CLK_TCK));
}

static unsigned int hidden_threads(const struct ingest *in, struct writer *w, uint64_t born_before, const char *pid,
				   DIR *threads)
{
	struct stat_line line, leader;
	struct dirent *entry;
	unsigned int count = 0;

	while ((entry = readdir(threads))) {
		uint32_t tid = strtoul(entry->d_name, NULL, 10);
		struct row_task row = { .ts = hostinfo_now(), .event = TASK_EVENT_SNAPSHOT };

		if (!tid || ingest_listed(in, tid) || !stat_read(pid, entry->d_name, &line) ||
		    !stat_read(pid, pid, &leader) || ticks_ns(line.start + 1) >= born_before)
			continue;
		row.tid = row.ns_tid = tid;
		row.tgid = row.ns_tgid = strtoul(pid, NULL, 10);
		row.ppid = line.ppid;
		row.start = ticks_ns(line.start);
		row.process_start = ticks_ns(leader.start);
		row.name = writer_string(w, line.comm, strlen(line.comm));
		writer_row(w, TABLE_task, 0, &row);
		count++;
	}
	return count;
}

unsigned int tasks_hidden(const struct ingest *in, struct writer *w, uint64_t born_before)
{
	DIR *proc, *threads;
	struct dirent *entry;
	unsigned int count = 0;
	char path[64];

	if (!hostinfo_initial_pids())
		return 0;
	proc = opendir("/proc");
	while (proc && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/task", entry->d_name);
		threads = opendir(path);
		if (!threads)
			continue;
		count += hidden_threads(in, w, born_before, entry->d_name, threads);
		closedir(threads);
	}
	if (proc)
		closedir(proc);
	return count;
}
