// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "roles.h"

struct child {
	uint32_t main, process;
	bool execed;
	const char *name, *command;
	uint64_t birth;
};

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

/* Children of a process from before its exec were another program's: a shell's that led to it. */
static bool of_another_program(const struct tasks *t, const struct process *child)
{
	const struct process *parent = &t->processes[child->parent];

	for (size_t i = 0; parent->execed && i < t->name_count; i++) {
		const struct name_change *change = &t->names[i];

		if (change->exec && change->ts > child->birth &&
		    t->threads[change->thread].process == child->parent)
			return true;
	}
	return false;
}

static void find_children(struct builder *b)
{
	const struct tasks *t = b->tasks;

	for (size_t i = 1; i < t->process_count; i++) {
		const struct process *p = &t->processes[i];

		if (p->in_tree && p->parent != TASKS_NONE &&
		    b->roles->processes[i].role == ROLE_HELPER &&
		    b->roles->processes[p->parent].role == ROLE_MAIN && !of_another_program(t, p))
			b->children[b->count++] = (struct child){
				p->parent, (uint32_t)i, p->execed, p->name, p->command,
				p->birth };
	}
}

/* Command lines but for their numbers: those of workers may carry a descriptor or a rank. */
static int compare_commands(const char *x, const char *y)
{
	for (;;) {
		size_t a = strspn(x, "0123456789"), b = strspn(y, "0123456789");

		x += a;
		y += b;
		if (!a != !b)
			return a ? -1 : 1;
		if (*x != *y || !*x)
			return (unsigned char)*x - (unsigned char)*y;
		x++;
		y++;
	}
}

/* A kind: forked only or exec'd too, the last name, and the command line. */
static int by_kind(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	int names, commands;

	if (x->main != y->main)
		return x->main < y->main ? -1 : 1;
	if (x->execed != y->execed)
		return x->execed ? 1 : -1;
	names = strcmp(x->name, y->name);
	if (names)
		return names;
	commands = compare_commands(x->command, y->command);
	if (commands)
		return commands;
	if (x->birth != y->birth)
		return x->birth < y->birth ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static bool same_kind(const struct child *x, const struct child *y)
{
	return x->main == y->main && x->execed == y->execed && !strcmp(x->name, y->name) &&
	       !compare_commands(x->command, y->command);
}

/* Children of one kind: places in children. */
struct kind { size_t first, end; uint64_t running; };

static struct kind kind_at(const struct builder *b, size_t first)
{
	struct kind k = { first, first, 0 };

	for (; k.end < b->count && same_kind(&b->children[first], &b->children[k.end]); k.end++)
		k.running += b->procs->processes[b->children[k.end].process].a.running;
	return k;
}

static bool larger(const struct kind *x, const struct kind *y)
{
	size_t a = x->end - x->first, b = y->end - y->first;

	return a != b ? a > b : x->running > y->running;
}

static void name_workers(struct builder *b, const struct kind *k)
{
	for (size_t i = k->first; i < k->end; i++) {
		struct process_role *role = &b->roles->processes[b->children[i].process];

		role->role = ROLE_WORKER;
		role->number = (uint32_t)(i - k->first + 1);
		role->main = b->children[i].main;
	}
}

/*
 * The largest of the kinds that only forked, unless one that exec'd has more children and ran
 * longer too: what a script starts one after the other are no workers.
 */
static size_t workers_of_main(struct builder *b, size_t first)
{
	struct kind forked = { 0 }, execed = { 0 };
	size_t i = first;

	while (i < b->count && b->children[i].main == b->children[first].main) {
		struct kind k = kind_at(b, i), *best = b->children[i].execed ? &execed : &forked;
		bool candidate = !b->children[i].execed || k.end - k.first > 1;

		if (candidate && larger(&k, best))
			*best = k;
		i = k.end;
	}
	if (larger(&execed, &forked) && execed.running > forked.running)
		forked = execed;
	name_workers(b, &forked);
	return i;
}

static void find_workers(struct builder *b)
{
	for (size_t i = 0; i < b->count;)
		i = workers_of_main(b, i);
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
