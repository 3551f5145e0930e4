/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_CUDA_ERRORS_H
#define INGERO_REPORT_CUDA_ERRORS_H
/*
 * The names of the codes CUDA functions return: "cudaErrorInvalidValue" for a runtime
 * operation, "CUDA_ERROR_INVALID_VALUE" for a driver one.
 */
#include <stddef.h>
#include <stdint.h>

/* Name of code as the layer (enum cuda_layer) calls it, into buf; "" when it is not known. */
const char *cuda_error_name(uint32_t layer, int64_t code, char *buf, size_t size);
#endif
