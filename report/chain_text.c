// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include "chain_text.h"
#include "fmt.h"
#include "view_text.h"
#include "words.h"

static const struct kind_words {
	const char *class;
	const char *did;	/* what the actor did */
	bool other;		/* process is somebody else than the one whose state it is */
} kinds[CAUSE_LIMIT] = {
	[CAUSE_NONE] = { "no single cause", "lost time", false },
	[CAUSE_CPU_CONTENTION] = { "waiting for a CPU", "waited for a CPU", true },
	[CAUSE_CPU_QUOTA] = { "out of CPU quota", "was held back by a CPU quota", false },
	[CAUSE_DISK] = { "waiting for the disk", "waited for the disk", false },
	[CAUSE_NETWORK] = { "waiting for the network", "waited for the network", false },
	[CAUSE_RECLAIM] = { "reclaiming memory", "reclaimed memory", false },
	[CAUSE_PAGE_ALLOCATION] = { "getting fresh pages", "was getting fresh pages", false },
	[CAUSE_LOCK_GUESS] = { "probably an interpreter lock",
			       "probably waited for an interpreter lock", true },
	[CAUSE_SLEEP] = { "asleep on a timer", "slept on a timer", false },
	[CAUSE_OWN_WORK] = { "own work", "was busy itself", false },
	[CAUSE_PEER_WORK] = { "waiting for others at work", "worked", false },
	[CAUSE_WORKER_STARTUP] = { "workers being made or ending", "was starting up or ending", false },
	[CAUSE_STEAL] = { "CPU taken by the hypervisor", "had its CPU taken away by the hypervisor", false },
	[CAUSE_WAKE_LATENCY] = { "wake-up latency", "waited for an idle CPU to wake up", false },
	[CAUSE_HANDOFF] = { "hand-offs between processes", "handed work over", false },
	[CAUSE_INITIALISATION] = { "initialisation", "was not ready yet", false },
	[CAUSE_EXTERNAL] = { "waiting for something outside the job",
			     "waited for something outside the job", false },
	[CAUSE_DEVICE] = { "waiting for the device", "waited for the device", false },
};

static const struct kind_words *words_of(enum cause_kind kind)
{
	return &kinds[kind < CAUSE_LIMIT ? kind : CAUSE_NONE];
}

const char *chain_class(enum cause_kind kind)
{
	return words_of(kind)->class;
}

static const struct thread *thread_of(const struct report *r, uint32_t thread)
{
	return thread > TASKS_IDLE && thread < r->tasks.thread_count ? &r->tasks.threads[thread] : NULL;
}

/* The name of thread where it is another than its process's; else "". */
static const char *thread_name(const struct report *r, uint32_t process, uint32_t thread,
			       char *buf, size_t size)
{
	const struct thread *t = thread_of(r, thread);
	const struct process *p = &r->tasks.processes[process];

	buf[0] = '\0';
	if (t && t->process == process && thread != p->leader && strcmp(t->name, p->name))
		fmt_text(buf, size, t->name, 20);
	else if (t && t->process == process && thread != p->leader)
		snprintf(buf, size, "%u", t->tid);
	return buf;
}

static const char *place_of(const struct report *r, uint32_t process, char *buf, size_t size)
{
	const struct process *p = &r->tasks.processes[process];

	if (p->recorder)
		snprintf(buf, size, "the recorder");
	else if (p->kernel)
		snprintf(buf, size, "kernel");
	else if (!p->in_tree)
		snprintf(buf, size, "outside the tree");
	else
		roles_text(&r->roles, process, buf, size);
	return buf;
}

static const char *group_name(const struct chain *c, char *buf, size_t size)
{
	if (c->evidence.quota_path)
		return fmt_text(buf, size, c->evidence.quota_path, 60);
	snprintf(buf, size, "its control group");
	return buf;
}

const char *chain_who(const struct report *r, const struct chain *c, const struct cause *cause,
		      char *buf, size_t size)
{
	char name[64], place[64], thread[64];
	bool own = cause->process == c->process;

	if (cause->kind == CAUSE_CPU_QUOTA)
		return group_name(c, buf, size);
	if (cause->kind == CAUSE_STEAL) {
		snprintf(buf, size, "the hypervisor");
		return buf;
	}
	if (cause->process == TASKS_UNKNOWN || cause->process >= r->tasks.process_count) {
		snprintf(buf, size, "nobody");
		return buf;
	}
	fmt_text(name, sizeof(name), r->tasks.processes[cause->process].name, 40);
	place_of(r, cause->process, place, sizeof(place));
	thread_name(r, cause->process, cause->thread, thread, sizeof(thread));
	if (!*thread || (own && !cause->hops))
		snprintf(buf, size, "%s (%s)", name, place);
	else
		snprintf(buf, size, "%s (%s, thread %s)", name, place, thread);
	return buf;
}

const char *chain_label(const struct report *r, const struct chain *c, uint32_t process,
			uint32_t thread, char *buf, size_t size)
{
	char name[64], own[64];

	if (process == TASKS_UNKNOWN || process >= r->tasks.process_count) {
		snprintf(buf, size, "nobody");
		return buf;
	}
	thread_name(r, process, thread, own, sizeof(own));
	if (r->tasks.processes[process].recorder)
		snprintf(name, sizeof(name), "the recorder");
	else
		process_label(r, process, name, sizeof(name));
	if (*own && process == c->process && c->effect_count && thread != c->effects[0].thread)
		snprintf(buf, size, "thread %s", own);
	else
		snprintf(buf, size, "%s", name);
	return buf;
}

uint32_t chain_actor(const struct chain *c, const struct cause *cause)
{
	bool other = words_of(cause->kind)->other;

	if (!other && cause->thread != TASKS_NONE && cause->process != TASKS_UNKNOWN)
		return cause->thread;
	if (other && cause->hops && cause->hops <= CHAINS_HOPS + 1)
		return cause->path[cause->hops - 1];
	return !cause->hops && c->effect_count ? c->effects[0].thread : TASKS_NONE;
}

/* Of another process's threads, which one. */
static const char *label_thread(const struct report *r, const struct chain *c, uint32_t thread,
				char *buf, size_t size)
{
	const struct thread *t = thread_of(r, thread);
	char name[64];
	struct words w;

	if (!t || t->process == c->process || thread == r->tasks.processes[t->process].leader)
		return chain_label(r, c, t ? t->process : TASKS_UNKNOWN, thread, buf, size);
	words_begin(&w, buf, size);
	words_add(&w, "%s", chain_label(r, c, t->process, TASKS_NONE, name, sizeof(name)));
	if (*thread_name(r, t->process, thread, name, sizeof(name)))
		words_add(&w, " (thread %s)", name);
	return buf;
}

const char *chain_story(const struct report *r, const struct chain *c, const struct cause *cause,
			char *buf, size_t size)
{
	const struct kind_words *k = words_of(cause->kind);
	uint32_t actor = chain_actor(c, cause);
	char name[CHAIN_NAME];
	struct words w;

	words_begin(&w, buf, size);
	for (uint32_t i = 0; i < cause->hops && i <= CHAINS_HOPS; i++)
		words_item(&w, " <- ", "%s", label_thread(r, c, cause->path[i], name, sizeof(name)));
	if (actor == TASKS_NONE)
		words_item(&w, " <- ", "another thread");
	else if (!cause->hops || actor != cause->path[cause->hops - 1])
		words_item(&w, " <- ", "%s", label_thread(r, c, actor, name, sizeof(name)));
	if (cause->kind == CAUSE_WORKER_STARTUP && !cause->hops)
		words_add(&w, " was making or ending workers");
	else
		words_add(&w, strstr(buf, " <- ") ? ", which %s" : " %s", k->did);
	if (k->other && cause->process != TASKS_UNKNOWN)
		words_add(&w, ": %s ran", cause->processes > 1 ?
			  culprit_label(r, c, cause, name, sizeof(name)) :
			  label_thread(r, c, cause->thread, name, sizeof(name)));
	return buf;
}

const char *effect_place(const struct effect *e, char *buf, size_t size)
{
	if (e->kind == EFFECT_GAP && e->next)
		snprintf(buf, size, "%s -> %s", e->operation->name, e->next->name);
	else
		snprintf(buf, size, "%s", e->operation ? e->operation->name : "");
	return buf;
}

const char *chain_moment(const struct recording *r, uint64_t ts, char *buf, size_t size)
{
	uint64_t ns = ts > r->whole_start ? ts - r->whole_start : 0;

	snprintf(buf, size, "%llu.%06u", (unsigned long long)(ns / 1000000000),
		 (unsigned int)(ns % 1000000000 / 1000));
	return buf;
}
