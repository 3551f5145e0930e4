// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "roles.h"

struct child { uint32_t main, process; bool execed; const char *name; uint64_t birth; };

struct builder {
	struct roles *roles;
	const struct tasks *tasks;
	const struct procs *procs;
	struct child *children;		/* of mains, no mains themselves */
	size_t count;
};

static void find_mains(struct builder *b, const struct latency *l)
{
	uint64_t most = 0;

	for (size_t i = 1; i < b->tasks->process_count; i++)
		if (b->tasks->processes[i].in_tree && l->process_calls[i] > most)
			most = l->process_calls[i];
	for (size_t i = 1; i < b->tasks->process_count; i++) {
		const struct process *p = &b->tasks->processes[i];
		bool calls = most && l->process_calls[i] >= (most + 9) / 10;

		if (!p->in_tree)
			continue;
		b->roles->processes[i].role = ROLE_HELPER;
		if (calls || (!most && p->root)) {
			b->roles->processes[i].role = ROLE_MAIN;
			b->roles->processes[i].number = ++b->roles->mains;
		}
	}
	for (size_t i = 1; i < b->tasks->process_count && b->roles->mains == 1; i++)
		b->roles->processes[i].number = 0;
}

static void find_children(struct builder *b)
{
	const struct tasks *t = b->tasks;

	for (size_t i = 1; i < t->process_count; i++) {
		const struct process *p = &t->processes[i];

		if (p->in_tree && p->parent != TASKS_NONE &&
		    b->roles->processes[i].role == ROLE_HELPER &&
		    b->roles->processes[p->parent].role == ROLE_MAIN)
			b->children[b->count++] = (struct child){
				p->parent, (uint32_t)i, p->execed, p->name, p->birth };
	}
}

/* A kind: forked only or exec'd too, and the last name. */
static int by_kind(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	int names;

	if (x->main != y->main)
		return x->main < y->main ? -1 : 1;
	if (x->execed != y->execed)
		return x->execed ? 1 : -1;
	names = strcmp(x->name, y->name);
	if (names)
		return names;
	if (x->birth != y->birth)
		return x->birth < y->birth ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static bool same_kind(const struct child *x, const struct child *y)
{
	return x->main == y->main && x->execed == y->execed && !strcmp(x->name, y->name);
}

static uint64_t running(const struct builder *b, size_t first, size_t end)
{
	uint64_t sum = 0;

	for (size_t i = first; i < end; i++)
		sum += b->procs->processes[b->children[i].process].a.running;
	return sum;
}

static void name_workers(struct builder *b, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		struct process_role *role = &b->roles->processes[b->children[i].process];

		role->role = ROLE_WORKER;
		role->number = (uint32_t)(i - first + 1);
		role->main = b->children[i].main;
	}
}

/* Of the kinds of children of each main, the one that ran longest. */
static void find_workers(struct builder *b)
{
	size_t best_first = 0, best_end = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < b->count;) {
		size_t end = i + 1;
		bool candidate;

		while (end < b->count && same_kind(&b->children[i], &b->children[end]))
			end++;
		candidate = !b->children[i].execed || end - i > 1;
		if (candidate && (best_end == best_first || running(b, i, end) > most)) {
			best_first = i;
			best_end = end;
			most = running(b, i, end);
		}
		if (end == b->count || b->children[end].main != b->children[i].main) {
			name_workers(b, best_first, best_end);
			best_first = best_end = 0;
			most = 0;
		}
		i = end;
	}
}

int roles_load(struct roles *r, const struct tasks *t, const struct procs *p,
	       const struct latency *l)
{
	struct builder b = { .roles = r, .tasks = t, .procs = p };

	memset(r, 0, sizeof(*r));
	r->processes = calloc(t->process_count, sizeof(*r->processes));
	b.children = calloc(t->process_count, sizeof(*b.children));
	if (!r->processes || !b.children)
		return free(b.children), ERROR_MEMORY;
	for (size_t i = 0; i < t->process_count; i++)
		r->processes[i].main = TASKS_NONE;
	find_mains(&b, l);
	find_children(&b);
	if (b.count)
		qsort(b.children, b.count, sizeof(*b.children), by_kind);
	find_workers(&b);
	free(b.children);
	return 0;
}

void roles_release(struct roles *r)
{
	free(r->processes);
	memset(r, 0, sizeof(*r));
}

const char *roles_text(const struct roles *r, uint32_t process, char *buf, size_t size)
{
	const struct process_role *role = &r->processes[process];
	uint32_t main = role->main == TASKS_NONE ? 0 : r->processes[role->main].number;

	buf[0] = '\0';
	if (role->role == ROLE_MAIN && role->number)
		snprintf(buf, size, "main %u", role->number);
	else if (role->role == ROLE_MAIN)
		snprintf(buf, size, "main");
	else if (role->role == ROLE_WORKER && main)
		snprintf(buf, size, "worker %u of main %u", role->number, main);
	else if (role->role == ROLE_WORKER)
		snprintf(buf, size, "worker %u", role->number);
	else if (role->role == ROLE_HELPER)
		snprintf(buf, size, "helper");
	return buf;
}
