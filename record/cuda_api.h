/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_CUDA_API_H
#define INGERO_CUDA_API_H
/*
 * The CUDA symbols that are probed. cuda_api.def has one line per exported symbol:
 *
 *   CALL(symbol, operation, layer, category, flags, bytes, kind, stream)
 *
 * symbol      as exported (cudaMemcpyAsync_ptsz, cuMemAlloc_v2)
 * operation   the API's own name, variants folded (cudaMemcpyAsync, cuMemAlloc)
 * layer       RUNTIME or DRIVER
 * category    MEMORY COPY SET LAUNCH SYNC EVENT STREAM MODULE GRAPH QUERY OTHER
 * flags       0 or SYNC | WORK (OPERATION_FLAG_*)
 * bytes, kind, stream   where the value stands at entry:
 *     NONE                   the call has none
 *     ARG(n), ARG32(n)       integer argument n from 0, 64 or 32 bits
 *     FIELD(n, offset, size) size (1, 2, 4, 8) bytes at offset of the struct argument n points to
 *     PRODUCT(a, b)          argument a x argument b (pitched copies and sets: width x height)
 *     PRODUCT3(n, o1, o2, o3)  three 8-byte fields of the struct argument n points to, multiplied
 *     PRODUCT2F(n, o1, o2)   two such fields (a driver's 2D copy: WidthInBytes x Height)
 *     SCALED(n, c)           argument n x constant c (sets of 2 or 4 byte elements)
 *     PRODUCT_SCALED(a, b, c)  argument a x argument b x constant c
 *     CONST(v)               always v (kind of a driver copy)
 *
 * Arguments are counted in integer registers, then stack slots, not in C parameters: a dim3 takes
 * two. Rows, operation numbers and specifications are constant for a build; one thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>
#include "../bpf/argument.h"
#include "../common/error.h"
#include "../common/format.h"

struct cuda_symbol {
	const char *symbol, *operation;
	uint8_t layer, category;
	uint16_t flags;
	struct argument_spec bytes, kind, stream;
};

#define CUDA_SYMBOLS_MAX 512	/* rows the BPF side has room for */

extern const struct cuda_symbol cuda_symbols[];
extern const unsigned int cuda_symbol_count;

/* Row of the symbol, or -1. */
int cuda_symbol_find(const char *symbol);
/* Operation number of a row, from 1: rows with one operation name share it. */
unsigned int cuda_symbol_operation(int row);
/* Number of operations; and the first row of operation 1..that number (its name, layer, ...). */
unsigned int cuda_operation_count(void);
int cuda_operation_row(unsigned int operation);

/*
 * --ops: a comma-separated list of operation or symbol names, categories ("launch", "copy") and
 * layers ("runtime", "driver"), with * and ? as in the shell; NULL selects all. Sets enabled[row]
 * for each of the cuda_symbol_count rows. ERROR_USAGE names the word that matches nothing, and the
 * nearest that would.
 */
int cuda_api_select(const char *list, bool enabled[CUDA_SYMBOLS_MAX], struct error *e);
#endif
