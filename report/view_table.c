// SPDX-License-Identifier: BSD-2-Clause
/* The process table of the default screen; cells that tables of processes have in common. */
#include <string.h>
#include "fmt.h"
#include "view.h"
#include "view_processes.h"
#include "view_text.h"

#define PROCESSES 12		/* lines, the sum of the rest among them */

bool list_stands(const struct report *r, uint32_t process)
{
	const struct worker_group *group = worker_group_of(r, process);

	return !group || group->members[0] == process;
}

void list_number(struct listing *t, bool known, uint64_t n, bool lossy)
{
	if (!known) {
		listing_none(t);
		return;
	}
	listing_number(t, n);
	listing_lossy(t, lossy);
}

void list_time(const struct report *r, struct listing *t, bool known, uint64_t ts)
{
	uint64_t start = r->recording.whole_start;

	if (known)
		listing_pair(t, ts > start ? ts - start : 0, recording_realtime(&r->recording, ts));
	else
		listing_none(t);
}

void list_role(const struct report *r, struct listing *t, uint32_t process,
	       const struct worker_group *group)
{
	char role[96];
	uint32_t main;

	if (!group) {
		listing_text(t, roles_text(&r->roles, process, role, sizeof(role)));
		return;
	}
	main = r->roles.processes[group->main].number;
	if (main)
		snprintf(role, sizeof(role), "%zu workers of main %u", group->count, main);
	else
		snprintf(role, sizeof(role), "%zu workers", group->count);
	listing_text(t, role);
}

static struct exit_status exit_of(const struct report *r, uint32_t process)
{
	const struct process *p = &r->tasks.processes[process];

	return (struct exit_status){
		.known = p->exit_known, .running = !p->end,
		.code = report_exit_status(p->exit_status), .signal = p->exit_status & 0x7f,
	};
}

void list_exit(const struct report *r, uint32_t process, const struct worker_group *group,
	       struct exit_status *status)
{
	*status = exit_of(r, process);
	for (size_t i = 0; group && i < group->count; i++) {
		struct exit_status other = exit_of(r, group->members[i]);

		status->known &= other.known && other.code == status->code;
		status->running |= other.running;
	}
}

/* "lifetime 2.11 s each", with how many it is known of where that is not all. */
static void add_median(char *buf, size_t size, const char *what, const struct group_median *m,
		       const struct worker_group *group)
{
	size_t used = strlen(buf);
	char ns[FMT_SIZE];

	if (m->n == group->count)
		snprintf(buf + used, size - used, ", %s %s each", what, fmt_ns(ns, m->ns));
	else if (m->n)
		snprintf(buf + used, size - used, ", %s %s each (of %zu)", what,
			 fmt_ns(ns, m->ns), m->n);
}

const char *group_text(const struct report *r, const struct worker_group *group, char *buf,
		       size_t size)
{
	char main[96], name[64], count[FMT_SIZE];

	snprintf(buf, size, "%s workers %s of %s: %llu generations, %s%llu at a time",
		 fmt_count(count, group->count), fmt_text(name, sizeof(name), group->sum.name, 20),
		 process_label(r, group->main, main, sizeof(main)),
		 (unsigned long long)group->generations,
		 group->at_once * group->generations == group->count ? "" : "up to ",
		 (unsigned long long)group->at_once);
	add_median(buf, size, "lifetime", &group->lifetime, group);
	add_median(buf, size, "start-up", &group->startup, group);
	return buf;
}

void list_group_notes(const struct report *r, struct listing *t)
{
	char text[512];

	for (size_t i = 0; i < r->groups.count && !r->no_group; i++)
		listing_note(t, "%s", group_text(r, &r->groups.list[i], text, sizeof(text)));
	if (r->groups.count && !r->no_group)
		listing_note(t, "(medians; start-up: from the fork to the first wait for another thread; --no-group lists each)");
}

void print_processes(const struct report *r, const struct page *out)
{
	struct listing_set set = { .count = 0 };
	size_t major;
	struct listing *t;

	if (!r->order_count)
		return;
	major = list_processes(r, &set);
	t = &set.tables[0];
	t->limit = major && major < PROCESSES && !r->order_by.column ? major : PROCESSES - 1;
	listing_note(t, "context switches voluntary and involuntary; off-CPU: mean and longest (max); page allocations and the memory in them; CUDA: calls; roles are guesses");
	list_group_notes(r, t);
	listing_order(t, &r->order_by);
	listing_print(t, out);
	listing_set_release(&set);
}
