/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_CONFIG_H
#define INGERO_CONFIG_H
/*
 * What the command line asked for. Filled and validated by main.c, read-only from then on;
 * strings point into argv and live as long as the program.
 */
#include <stdbool.h>
#include <stdint.h>
#include "cuda_api.h"

#define CONFIG_OUTPUT_DEFAULT "ingero.ing"
#define CONFIG_BUFFER_DEFAULT (4ull << 20)
#define CONFIG_BUFFER_MIN 4096ull
#define CONFIG_BUFFER_MAX (1ull << 30)

/* Exit status of ingero-record where it is not the command's own. */
#define CONFIG_EXIT_NOT_STARTED 125

struct config {
	const char *output;		/* path of the file */
	bool force;			/* replace a regular file of that name */
	bool quiet, verbose;		/* on stderr */
	bool no_args;			/* of every command line keep argv[0] only */
	bool as_root;			/* under sudo: do not run the command as the invoking user */
	uint64_t buffer;		/* bytes a CPU and ring, a power of two */
	const char *ops;		/* --ops as typed, or NULL */
	const char *without_list;	/* --without as typed, or NULL */
	unsigned int without;		/* the same, enum sources */
	bool enabled[CUDA_SYMBOLS_MAX];	/* by row of cuda_api.def */
	char **command;			/* argv of the command, NULL-terminated */
	const char *options;		/* the options as typed, for record.options */
};
#endif
