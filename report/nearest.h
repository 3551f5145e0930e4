/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_NEAREST_H
#define INGERO_REPORT_NEAREST_H
/* Operations that are named where none has the name that was asked for. */
#include <stddef.h>
#include <stdint.h>

struct near { const char *name; unsigned int distance; uint64_t calls; };

/* The nearest first, then those with most calls: "a, b, c, ..." into buf; three names at most. */
const char *nearest_text(struct near *list, size_t count, char *buf, size_t size);
#endif
