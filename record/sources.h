/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_SOURCES_H
#define INGERO_SOURCES_H
/*
 * What is recorded beside CUDA calls, context switches and pages, and can be switched off: sets of
 * it, as --without takes them and record.without and record.lacks store them.
 */
#include <stddef.h>
#include "../common/error.h"

enum sources {
	SOURCES_INTERRUPTS = 0x1,
	SOURCES_SYSCALLS = 0x2,
	SOURCES_THROTTLING = 0x4,
	SOURCES_FAULTS = 0x8,
	SOURCES_RECLAIM = 0x10,
	SOURCES_CGROUPS = 0x20,
	SOURCES_AFFINITY = 0x40,
};

#define SOURCES_TEXT 80		/* room for the names of all */

/* The set that a list of names, with a comma between, stands for; NULL is the empty one. */
int sources_parse(const char *list, unsigned int *set, struct error *e);
/* The reverse; "" of the empty set. */
void sources_text(unsigned int set, char text[SOURCES_TEXT]);
#endif
