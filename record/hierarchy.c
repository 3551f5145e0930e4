// SPDX-License-Identifier: BSD-2-Clause
#include "hierarchy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const controllers[HIERARCHIES] = {
	[HIERARCHY_CPU] = "cpu", [HIERARCHY_USAGE] = "cpuacct", [HIERARCHY_MEMORY] = "memory",
};

/* Whether a list with commas has the word. */
static bool listed(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (list) {
		if (!strncmp(list, word, length) && (list[length] == ',' || !list[length]))
			return true;
		list = strchr(list, ',');
		list += list != NULL;
	}
	return false;
}

/* Undo \040 and the like, in place. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		unsigned int c;

		if (*text == '\\' && sscanf(text + 1, "%3o", &c) == 1 && strlen(text) > 3) {
			*to++ = c;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static void take(struct hierarchy *h, const char *mount, const char *root, bool v2)
{
	bool better = h->mount && h->v2 == v2 && strcmp(h->root, "/") && !strcmp(root, "/");

	/* Version 1 has a controller only if version 2 has it not. */
	if (h->mount && !better && !(h->v2 && !v2))
		return;
	free(h->mount);
	free(h->root);
	*h = (struct hierarchy){ .mount = strdup(mount), .root = strdup(root), .v2 = v2 };
	if (!h->mount || !h->root) {
		free(h->mount);
		free(h->root);
		*h = (struct hierarchy){ 0 };
	}
}

/* "31 23 0:28 root mount options optional... - type source options" */
static void on_mount(struct hierarchy all[HIERARCHIES], char *line)
{
	char root[4096], mount[4096], type[32], options[4096];
	char *rest = strstr(line, " - ");

	if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
	    sscanf(rest, " - %31s %*s %4095s", type, options) != 2)
		return;
	unescape(root);
	unescape(mount);
	for (int i = 0; i < HIERARCHIES; i++)
		if (!strcmp(type, "cgroup2") ||
		    (!strcmp(type, "cgroup") && listed(options, controllers[i])))
			take(&all[i], mount, root, type[6] == '2');
}

void hierarchies_find(struct hierarchy all[HIERARCHIES], const char *proc)
{
	char path[4096], line[16384];
	FILE *file;

	snprintf(path, sizeof(path), "%s/self/mountinfo", proc);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		on_mount(all, line);
	if (file)
		fclose(file);
}

void hierarchies_release_mounts(struct hierarchy all[HIERARCHIES])
{
	for (int i = 0; i < HIERARCHIES; i++) {
		free(all[i].mount);
		free(all[i].root);
		all[i] = (struct hierarchy){ 0 };
	}
}

/* "4:cpu,cpuacct:/path"; of version 2 "0::/path". */
static void on_group(const struct hierarchy all[HIERARCHIES], char *line, char *paths[HIERARCHIES])
{
	char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

	if (!path)
		return;
	*path++ = '\0';
	list++;
	path[strcspn(path, "\n")] = '\0';
	for (int i = 0; i < HIERARCHIES; i++)
		if (all[i].mount && !paths[i] &&
		    (all[i].v2 ? !*list : listed(list, controllers[i])))
			paths[i] = strdup(path);
}

void hierarchies_of(const struct hierarchy all[HIERARCHIES], const char *proc, uint32_t pid,
		    char *paths[HIERARCHIES])
{
	char line[8192];
	FILE *file;

	memset(paths, 0, HIERARCHIES * sizeof(*paths));
	snprintf(line, sizeof(line), "%s/%u/cgroup", proc, pid);
	file = fopen(line, "re");
	while (file && fgets(line, sizeof(line), file))
		on_group(all, line, paths);
	if (file)
		fclose(file);
}

void hierarchies_release(char *paths[HIERARCHIES])
{
	for (int i = 0; i < HIERARCHIES; i++) {
		free(paths[i]);
		paths[i] = NULL;
	}
}

char *hierarchy_file(const struct hierarchy *h, const char *path, const char *name)
{
	size_t skip = h->root && strcmp(h->root, "/") ? strlen(h->root) : 0;
	char *full = NULL;

	/* Outside of what is mounted, or of the reader's own namespace: "/../other" */
	if (!h->mount || strncmp(path, h->root, skip) || !strncmp(path, "/..", 3))
		return NULL;
	return asprintf(&full, "%s%s/%s", h->mount, path + skip, name) < 0 ? NULL : full;
}
