/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_AFFINITY_H
#define INGERO_AFFINITY_H
/*
 * CPU masks as text. The kernel's own mask of a thread may name CPUs that are not there: only
 * those that are online now count, as sched_getaffinity(2) has it.
 */
#include <stdint.h>

#define AFFINITY_TEXT 4096
#define AFFINITY_WORDS 128	/* of 64 CPUs */

/* The CPUs of a mask as a list, "0-3,8", cut where there is no room; returns their number. */
unsigned int affinity_list(const uint64_t *mask, unsigned int words, char text[AFFINITY_TEXT]);

/* The CPUs that are online; all where /sys does not tell. */
void affinity_online(uint64_t mask[AFFINITY_WORDS]);

/* The same as affinity_list() without a look at what is online. */
unsigned int affinity_text(const uint64_t *mask, unsigned int words, char text[AFFINITY_TEXT]);
#endif
