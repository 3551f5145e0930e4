/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_SYSSTAT_H
#define INGERO_SYSSTAT_H
/*
 * Samples of the whole machine from /proc/stat, loadavg, meminfo and pressure/. The descriptors
 * stay open, a sample is seven preads and no allocation. A source that is missing or unreadable
 * clears its SYSTEM_FLAG_* in that row; an offline CPU has no cpu row.
 */
#include "../common/error.h"
#include "../common/writer.h"

struct sysstat;

/* Opens what there is. Only a lack of memory is an error. */
int sysstat_open(struct sysstat **s, struct error *e);
/* Write one row of table system and one of table cpu per online CPU, stamped now. */
int sysstat_sample(struct sysstat *s, struct writer *w);
void sysstat_close(struct sysstat *s);		/* NULL is accepted */
#endif
