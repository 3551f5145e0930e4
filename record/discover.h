/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_DISCOVER_H
#define INGERO_DISCOVER_H
/*
 * Which CUDA libraries a command is likely to load, found before it runs and without running
 * anything: the executable itself (static runtime) and what it needs as the loader would find it,
 * the loader's cache, LD_LIBRARY_PATH, LD_PRELOAD, CUDA_HOME, CUDA_PATH, the usual toolkit
 * directories, conda, and a Python interpreter's own site-packages (every nvidia/NAME/lib,
 * torch/lib, wheels' NAME.libs). Scripts are followed to their interpreter, launchers (env, nice,
 * taskset, ...) to the programs among their arguments. Reads the recorder's environment, which is
 * the command's.
 *
 * What is missed here is found when it is mapped; finding it early only closes the gap.
 */
#include "cudalib.h"

/*
 * Examine every candidate for the command argv into the set; those with count > 0 are to be
 * probed. home: of the person the command runs as, for packages installed there; NULL: $HOME.
 * Returns 0 when nothing was found, too; only a lack of memory is an error.
 */
int discover(struct cudalib_set *set, char *const argv[], const char *home, struct error *e);

/* The file execvp(3) would run: malloc'd, NULL when there is none. */
char *discover_command(const char *command);
#endif
