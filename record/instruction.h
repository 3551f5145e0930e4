/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_INSTRUCTION_H
#define INGERO_INSTRUCTION_H
/*
 * What stands where a probe goes. The kernel emulates a few instructions when a uprobe hits
 * (under 1 us); any other is single-stepped out of line, which costs some ten times as much.
 */
#include <stddef.h>
#include <stdint.h>
#include "../common/format.h"

/* enum probe_instruction for the instruction at code[0..n), of this machine's kind. */
uint8_t instruction_class(const uint8_t *code, size_t n);

/*
 * When the function at file offset at does nothing but jump to another (relative, within its
 * segment), the file offset it jumps to; else 0.
 */
uint64_t instruction_jump(const uint8_t *code, size_t n, uint64_t at);
#endif
