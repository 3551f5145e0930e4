/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKECUDA_ACCOUNT_H
#define FAKECUDA_ACCOUNT_H
/*
 * The account: a file per process image, $FAKECUDA_TRUTH_DIR/PID.START.N.truth, START being the
 * process's start in clock ticks and N 0 or the number of the image after exec. Layout: struct
 * account_header, the symbols at ACCOUNT_SYMBOLS, then chunks of ACCOUNT_CHUNK bytes from
 * ACCOUNT_CHUNKS on, each with the records, or the counts, of one thread.
 */
#include "core.h"

#define ACCOUNT_MAGIC 0x3155525445414b46ull	/* "FKAETRU1" */
#define ACCOUNT_SYMBOLS 4096
#define ACCOUNT_CHUNKS 65536
#define ACCOUNT_CHUNK 65536
enum { CHUNK_RECORDS = 1, CHUNK_COUNTS = 2 };

struct account_header {
	uint64_t magic, start_ticks;
	uint32_t pid, image, symbols, chunk_size;
	uint64_t next;			/* offset of the next free chunk */
	char comm[16];
};

struct account_symbol {
	char symbol[48], operation[48];
};

struct account_chunk {
	uint32_t type, tid, used, pad;
	uint64_t reserved[6];
};

struct account_counts {
	uint64_t calls, failed, nested, bytes, ns, open;
	int32_t code[2];
	uint32_t code_count[2];
};

/* A record for a call that begins, or NULL when calls are not kept one by one. */
struct core_record *account_record(void);
/* The counts of this thread, an array by symbol, or NULL when they are not kept. */
struct account_counts *account_counts(void);
/* True in the process image that owns what this thread has mapped; else it is set up anew. */
bool account_ready(void);
extern const char *const account_symbol_names[SYMBOLS];
#endif
