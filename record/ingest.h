/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_INGEST_H
#define INGERO_INGEST_H
/*
 * Wire records to rows of the file: the one place where the two shapes meet. Keeps what a row
 * needs beyond its record: which processes are in the tree, and how many rows came of each
 * source, so that the kernel's own counts can be held against them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../bpf/wire.h"
#include "../common/writer.h"

struct ingest;

/* The writer must outlive the ingest. */
int ingest_open(struct ingest **in, struct writer *w, struct error *e);

/* Have each process of the tree told at each keyframe, by its initial PID. */
void ingest_processes(struct ingest *in, void (*on_process)(void *context, uint32_t tgid),
		      void *context);

/* A probes_sink; context is the struct ingest. */
void ingest_record(void *context, unsigned int cpu, const struct wire_header *record, size_t size);

/* Write table operation: every operation that can be probed. */
void ingest_operations(struct ingest *in);

bool ingest_listed(const struct ingest *in, uint32_t tid);	/* by the snapshot, or born since */
bool ingest_in_tree(const struct ingest *in, uint32_t tgid);	/* by initial or innermost PID */
uint64_t ingest_rows(const struct ingest *in, unsigned int source);	/* rows that came of a source */
uint64_t ingest_commands_cut(const struct ingest *in);	/* command lines left out, after 32 MiB of them */
uint32_t ingest_root(const struct ingest *in);		/* the command, initial PID namespace; 0 not seen yet */
uint64_t ingest_calls(const struct ingest *in, uint32_t probe);	/* call rows of a probe */
void ingest_close(struct ingest *in);		/* NULL is accepted */
#endif
