// SPDX-License-Identifier: BSD-2-Clause
#include "checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t checksum(const void *data, size_t size)
{
	return XXH64(data, size, 0);
}
