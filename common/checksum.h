/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_CHECKSUM_H
#define INGERO_CHECKSUM_H
/* The one checksum of the format: XXH64 with seed 0. */
#include <stddef.h>
#include <stdint.h>

uint64_t checksum(const void *data, size_t size);
#endif
