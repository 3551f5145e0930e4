/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_LOADER_H
#define INGERO_LOADER_H
/*
 * Where the dynamic loader would find libraries, without running it: DT_NEEDED with RPATH,
 * RUNPATH and $ORIGIN, LD_LIBRARY_PATH, /etc/ld.so.cache, the default directories. Hardware
 * capability directories and audit modules are not followed. Files are not trusted: sizes and
 * counts are bounded.
 */
#include <stdbool.h>
#include "../common/error.h"

struct loader;

/* Called with the path of a library, which exists. A value other than 0 ends the search. */
typedef int (*loader_found)(void *context, const char *path);

/* Reads the cache. A host without one is no error. */
int loader_open(struct loader **l, struct error *e);
void loader_close(struct loader *l);		/* NULL is accepted */

/*
 * Every library the program or library at path needs, directly or not, each once, over all calls
 * with this loader. Gives up quietly at some hundreds of files or a tenth of a second after
 * loader_open().
 */
int loader_needed(struct loader *l, const char *path, loader_found found, void *context);

/* Every library of the cache whose name is wanted. */
int loader_cached(struct loader *l, bool (*wanted)(const char *name), loader_found found,
		  void *context);

/* Next of a list of directories or files separated by any of separators; false at the end. */
bool loader_split(const char **list, const char *separators, char *word, unsigned int size);
#endif
