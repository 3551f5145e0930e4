// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "diff_load.h"

/* --- facts: text that two recordings of the same thing have in common */

static int add_fact(struct diff_run *run, const char *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int add_fact(struct diff_run *run, const char *value, const char *format, ...)
{
	struct diff_fact *f =
		array_reserve(run->facts, &run->fact_capacity, run->fact_count + 1, sizeof(*f));
	va_list args;

	if (!f)
		return ERROR_MEMORY;
	run->facts = f;
	f += run->fact_count++;
	va_start(args, format);
	vsnprintf(f->what, sizeof(f->what), format, args);
	va_end(args);
	f->value = strdup(value ? value : "");
	return f->value ? 0 : ERROR_MEMORY;
}

static int add_host(struct diff_run *run, const struct report *r)
{
	static const struct { const char *key, *what; } facts[] = {
		{ "record.command", "command" }, { "host.name", "host" },
		{ "host.kernel", "kernel" },
		{ "host.distribution", "distribution" }, { "host.arch", "architecture" },
		{ "host.cpu_model", "CPU model" }, { "host.cpus_online", "CPUs" },
		{ "host.page_size", "page size" }, { "host.memory", "memory, bytes" },
		{ "record.version", "recorder" }, { "record.uid", "user id" },
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts) && !ret; i++)
		ret = add_fact(run, recording_fact(&r->recording, facts[i].key), "%s",
			       facts[i].what);
	return ret;
}

/* The recorder's options but for where its file went. */
static int add_options(struct diff_run *run, const struct report *r)
{
	const char *at = recording_fact(&r->recording, "record.options");
	char kept[512] = "";
	size_t n = 0;

	while (at && *at) {
		size_t length = strcspn(at, " ");
		bool file = length == 2 && !strncmp(at, "-o", 2);
		bool quiet = length == 2 && (!strncmp(at, "-q", 2) || !strncmp(at, "-f", 2));

		if (file) {
			at += length + strspn(at + length, " ");
			length = strcspn(at, " ");
		} else if (!quiet && !(length > 2 && !strncmp(at, "-o", 2)) &&
			   !(length > 9 && !strncmp(at, "--output=", 9)) &&
			   n + length + 2 < sizeof(kept)) {
			n += (size_t)snprintf(kept + n, sizeof(kept) - n, "%s%.*s", n ? " " : "",
					      (int)length, at);
		}
		at += length + strspn(at + length, " ");
	}
	return add_fact(run, kept, "recorder's options");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int add_libraries(struct diff_run *run, const struct report *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->recording.library_count && !ret; i++) {
		const struct library *l = &r->recording.libraries[i];
		char name[DIFF_LABEL];

		if (!l->hits)
			continue;
		snprintf(name, sizeof(name), "%.40s", base_name(l->path));
		ret = add_fact(run, l->path, "%s path", name);
		if (!ret)
			ret = add_fact(run, *l->build_id ? l->build_id : "none", "%s build-id",
				       name);
	}
	return ret;
}

/* What was recorded at all: two recordings may not have the same sources. */
static int add_sources(struct diff_run *run, const struct report *r)
{
	static const unsigned int sources[] = {
		SOURCE_CALL_RETURN, SOURCE_SWITCH, SOURCE_PAGE_ALLOC, SOURCE_INTERRUPT };
	char text[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (r->completeness.sources[sources[i]].known)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "",
					      completeness_source(sources[i]));
	return add_fact(run, text, "sources recorded");
}

static int add_completeness(struct diff_run *run, const struct report *r)
{
	const struct completeness *c = &r->completeness;
	char text[160];

	if (c->complete)
		snprintf(text, sizeof(text), "complete");
	else if (!c->closed)
		snprintf(text, sizeof(text), "cut off, %" PRIu64 " events lost", c->lost);
	else
		snprintf(text, sizeof(text), "%" PRIu64 " events lost, %" PRIu64 " blocks damaged",
			 c->lost, c->damaged_blocks);
	return add_fact(run, text, "completeness");
}

static int add_status(struct diff_run *run, const struct report *r)
{
	const char *status = recording_fact(&r->recording, "record.exit_status");
	char text[32];

	snprintf(text, sizeof(text), "%u", run->mains);
	return add_fact(run, status ? status : "unknown", "exit status") ||
	       add_fact(run, text, "main processes") ? ERROR_MEMORY : 0;
}

int diff_facts_load(struct diff_run *run, struct report *r)
{
	int ret = add_host(run, r);

	if (!ret)
		ret = add_options(run, r);
	if (!ret)
		ret = add_libraries(run, r);
	if (!ret)
		ret = add_sources(run, r);
	if (!ret)
		ret = add_completeness(run, r);
	return ret ? ret : add_status(run, r);
}

/* --- */

static int fill(struct diff_run *run, struct report *r)
{
	int ret;

	run->complete = r->completeness.complete;
	run->calls_lossy = r->completeness.calls_lossy;
	run->switches_lossy = r->completeness.switches_lossy;
	run->steal = r->system.steal;
	run->sampled = r->system.has_cpu_samples ? r->system.sampled : 0;
	run->memory_min = r->system.has_memory ? r->system.memory_min : 0;
	run->command = strdup(report_command(r));
	ret = run->command ? diff_calls_load(run, r) : ERROR_MEMORY;
	if (!ret)
		ret = diff_switches_load(run, r);
	if (!ret)
		ret = diff_account_load(run, r);
	return ret ? ret : diff_facts_load(run, r);
}

int diff_run_load(struct diff_run *run, const char *path, const struct select_options *options,
		  struct error *e)
{
	struct report_options all = { 0 };
	struct report r;
	int ret;

	memset(run, 0, sizeof(*run));
	if (options)
		all.select = *options;
	ret = report_open(&r, path, &all, e);
	if (!ret && fill(run, &r))
		ret = error_set(e, ERROR_MEMORY, "cannot read \"%s\": out of memory", path);
	report_release(&r);
	free(run->thread_calls);
	free(run->thread_waits);
	run->thread_calls = run->thread_waits = NULL;
	return ret;
}

void diff_run_release(struct diff_run *run)
{
	for (size_t i = 0; run->operations && i < run->operation_count; i++) {
		free(run->operations[i].name);
		free(run->operations[i].buckets);
	}
	for (size_t i = 0; i < run->chain_count; i++) {
		free(run->chains[i].why);
	}
	for (size_t i = 0; i < run->fact_count; i++)
		free(run->facts[i].value);
	free(run->operations);
	free(run->outsiders);
	free(run->shares);
	free(run->places);
	free(run->chains);
	free(run->facts);
	free(run->command);
	memset(run, 0, sizeof(*run));
}
