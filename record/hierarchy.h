/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_HIERARCHY_H
#define INGERO_HIERARCHY_H
/*
 * Where control groups are mounted, by what is wanted of them: version 1 has a hierarchy per
 * controller, version 2 one for all; where both are mounted, a controller is in one of them.
 */
#include <stdbool.h>
#include <stdint.h>

enum hierarchy_role { HIERARCHY_CPU, HIERARCHY_USAGE, HIERARCHY_MEMORY, HIERARCHIES };

struct hierarchy {
	char *mount;		/* where it is mounted; NULL it is not */
	char *root;		/* which of its groups is mounted there: "/", or a container's */
	bool v2;
};

/* Fill all from proc/self/mountinfo; what is not found stays NULL. To be released. */
void hierarchies_find(struct hierarchy all[HIERARCHIES], const char *proc);
void hierarchies_release_mounts(struct hierarchy all[HIERARCHIES]);

/* The paths of a process, from proc/PID/cgroup; NULL where there is none or it is out of sight. */
void hierarchies_of(const struct hierarchy all[HIERARCHIES], const char *proc, uint32_t pid,
		    char *paths[HIERARCHIES]);
void hierarchies_release(char *paths[HIERARCHIES]);

/* Path of a file of a group, malloc'd; NULL when the group is out of sight, or out of memory. */
char *hierarchy_file(const struct hierarchy *h, const char *path, const char *name);
#endif
