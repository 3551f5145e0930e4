/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_LIBRARIES_H
#define INGERO_LIBRARIES_H
/*
 * The CUDA libraries of a recording: those foreseen before exec and those that turn up when a
 * process of the tree maps them. Each file is examined and probed once, by the device and inode
 * the kernel goes by. Writes tables library, probe and outside.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../common/writer.h"
#include "ingest.h"
#include "mappings.h"
#include "probes.h"

struct libraries;

struct libraries_config {
	struct writer *w;
	struct probes *probes;
	struct mappings *mappings;	/* NULL: late libraries go unseen */
	struct ingest *ingest;
	const bool *enabled;		/* by row of cuda_api.def */
};

int libraries_open(struct libraries **l, const struct libraries_config *config, struct error *e);

/* Probe what the command argv is likely to load; home as for discover(). A file that cannot be probed is noted, not fatal. */
int libraries_foresee(struct libraries *l, char *const argv[], const char *home, struct error *e);

/* Look at what was mapped since the last call, and probe what carries CUDA symbols. */
void libraries_watch(struct libraries *l);

/* Final rows with the calls each probe saw. */
void libraries_finish(struct libraries *l);

struct libraries_summary {
	unsigned int probed, refused;	/* files */
	uint64_t symbols;		/* probes live */
	uint64_t calls, outside;
	uint64_t worst_gap;		/* ns from mapping to probing of a late library, the longest */
};

struct libraries_summary libraries_summary(const struct libraries *l);
void libraries_close(struct libraries *l);	/* NULL is accepted; the probes stay attached */
#endif
