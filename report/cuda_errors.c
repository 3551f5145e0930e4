// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include "../common/format.h"
#include "cuda_errors.h"

static const struct code { int64_t number; const char *runtime, *driver; } codes[] = {
#define CODE(number, runtime, driver) { number, runtime, driver },
#include "cuda_errors.def"
};

const char *cuda_error_name(uint32_t layer, int64_t code, char *buf, size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		const char *name = layer == LAYER_DRIVER ? codes[i].driver : codes[i].runtime;

		if (codes[i].number == code && *name)
			snprintf(buf, size, "%s%s",
				 layer == LAYER_DRIVER ? "CUDA_ERROR_" : "cudaError", name);
	}
	return buf;
}
