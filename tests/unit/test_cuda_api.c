// SPDX-License-Identifier: BSD-2-Clause
#include "record/cuda_api.h"
#include <stdio.h>
#include <string.h>
#include "check.h"

static const struct cuda_symbol *symbol(const char *name)
{
	static const struct cuda_symbol none;
	int row = cuda_symbol_find(name);

	return row < 0 ? &none : &cuda_symbols[row];
}

static void test_table(void)
{
	for (unsigned int row = 0; row < cuda_symbol_count; row++) {
		const struct cuda_symbol *s = &cuda_symbols[row];
		size_t length = strlen(s->operation);

		CHECK(cuda_symbol_find(s->symbol) == (int)row);	/* found, and no name stands twice */
		CHECK(!strncmp(s->symbol, s->operation, length));
		CHECK((s->layer == LAYER_RUNTIME) == !strncmp(s->symbol, "cuda", 4));
		CHECK(!s->symbol[length] || s->symbol[length] == '_' ||
		      !strncmp(s->symbol + length, "ExC", 3));
		CHECK(s->category >= CATEGORY_MEMORY && s->category <= CATEGORY_OTHER);
	}
	CHECK(cuda_symbol_count <= CUDA_SYMBOLS_MAX);
	CHECK(cuda_symbol_find("cudaNoSuchCall") == -1);
	CHECK(cuda_symbol_find("") == -1);
	/* It continues into cudaLaunchKernel: both would count a launch twice. */
	CHECK(cuda_symbol_find("__cudaLaunchKernel") == -1);
	CHECK(cuda_symbol_find("__cudaLaunchKernel_ptsz") == -1);
}

static void test_operations(void)
{
	CHECK(cuda_symbol_operation(cuda_symbol_find("cudaMemcpyAsync")) ==
	      cuda_symbol_operation(cuda_symbol_find("cudaMemcpyAsync_ptsz")));
	CHECK(cuda_symbol_operation(cuda_symbol_find("cuMemAlloc")) ==
	      cuda_symbol_operation(cuda_symbol_find("cuMemAlloc_v2")));
	CHECK(cuda_symbol_operation(cuda_symbol_find("cudaLaunchKernelExC")) ==
	      cuda_symbol_operation(cuda_symbol_find("cudaLaunchKernel")));
	CHECK(cuda_symbol_operation(cuda_symbol_find("cuLaunchKernelEx")) !=
	      cuda_symbol_operation(cuda_symbol_find("cuLaunchKernel")));
	for (unsigned int i = 1; i <= cuda_operation_count(); i++)
		CHECK(cuda_symbol_operation(cuda_operation_row(i)) == i);
}

/* Rows that share an operation describe one thing. */
static void test_variants_agree(void)
{
	for (unsigned int row = 0; row < cuda_symbol_count; row++) {
		int first = cuda_operation_row(cuda_symbol_operation(row));

		CHECK(cuda_symbols[row].layer == cuda_symbols[first].layer);
		CHECK(cuda_symbols[row].category == cuda_symbols[first].category);
		CHECK(cuda_symbols[row].flags == cuda_symbols[first].flags);
	}
}

static void test_arguments(void)
{
	CHECK(symbol("cudaMemcpyAsync")->bytes.where == ARGUMENT_VALUE);
	CHECK(symbol("cudaMemcpyAsync")->bytes.n == 2);
	CHECK(symbol("cudaMemcpyAsync")->kind.n == 3 && symbol("cudaMemcpyAsync")->kind.size == 4);
	CHECK(symbol("cudaMemcpyAsync")->stream.n == 4);
	CHECK(symbol("cudaLaunchKernel")->stream.n == 7);	/* two dim3 of two registers each */
	CHECK(symbol("cuLaunchKernel")->stream.n == 8);
	CHECK(symbol("cudaLaunchKernelExC")->stream.where == ARGUMENT_FIELD);
	CHECK(symbol("cudaMemcpy3D")->bytes.where == ARGUMENT_PRODUCT3);
	CHECK(symbol("cuMemcpy2D_v2")->bytes.where == ARGUMENT_PRODUCT2F);
	CHECK(symbol("cuMemsetD32_v2")->bytes.where == ARGUMENT_SCALED);
	CHECK(symbol("cuMemsetD32_v2")->bytes.constant == 4);
	CHECK(symbol("cudaMemcpy2D")->bytes.constant == 1);
	CHECK(symbol("cuMemcpyDtoH_v2")->kind.where == ARGUMENT_CONST);
	CHECK(symbol("cuMemcpyDtoH_v2")->kind.constant == 2);
	CHECK(symbol("cudaDeviceSynchronize")->stream.where == ARGUMENT_NONE);
	CHECK(symbol("cudaDeviceSynchronize")->flags == OPERATION_FLAG_SYNC);
	CHECK(symbol("cudaMemcpy")->flags == (OPERATION_FLAG_SYNC | OPERATION_FLAG_WORK));
}

static bool selected(const char *list, const char *name)
{
	bool enabled[CUDA_SYMBOLS_MAX] = { 0 };

	return !cuda_api_select(list, enabled, NULL) && enabled[cuda_symbol_find(name)];
}

static void test_select(void)
{
	bool enabled[CUDA_SYMBOLS_MAX] = { 0 };
	struct error e = { 0 };

	CHECK(selected(NULL, "cuEventRecord_ptsz"));
	CHECK(selected("launch,copy,cudaMalloc*", "cudaLaunchKernel_ptsz"));
	CHECK(selected("launch,copy,cudaMalloc*", "cuMemcpyDtoH_v2"));
	CHECK(selected("launch,copy,cudaMalloc*", "cudaMallocFromPoolAsync"));
	CHECK(!selected("launch,copy,cudaMalloc*", "cudaFree"));
	CHECK(selected("driver", "cuInit") && !selected("driver", "cudaMalloc"));
	CHECK(selected("cudaMemcpyAsync", "cudaMemcpyAsync_ptsz"));
	CHECK(!selected("cudaMemcpyAsync", "cudaMemcpy"));
	CHECK(cuda_api_select("cudaMalloc,cudaMemcpyAsnyc", enabled, &e) == ERROR_USAGE);
	CHECK(strstr(e.text, "\"cudaMemcpyAsnyc\"") && strstr(e.hint, "\"cudaMemcpyAsync\""));
	CHECK(cuda_api_select("lunch", enabled, &e) == ERROR_USAGE);
	CHECK(strstr(e.hint, "\"launch\""));
	CHECK(cuda_api_select("", enabled, &e) == ERROR_USAGE);
	CHECK(cuda_api_select("copy,", enabled, &e) == ERROR_USAGE);
	CHECK(cuda_api_select("zzzzzzzzzzzzzzzzzzzzzzzzz*", enabled, &e) == ERROR_USAGE);
}

int main(void)
{
	test_table();
	test_operations();
	test_variants_agree();
	test_arguments();
	test_select();
	return check_result();
}
