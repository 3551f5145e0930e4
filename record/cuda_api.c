// SPDX-License-Identifier: BSD-2-Clause
#include "cuda_api.h"
#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "../common/options.h"

enum { SYNC = OPERATION_FLAG_SYNC, WORK = OPERATION_FLAG_WORK };

const struct cuda_symbol cuda_symbols[] = {
#define CALL(symbol, operation, layer, category, flags, bytes, kind, stream) \
	{ #symbol, #operation, LAYER_##layer, CATEGORY_##category, flags, \
	  SPEC_##bytes, SPEC_##kind, SPEC_##stream },
#include "cuda_api.def"
#undef CALL
};

#define SYMBOLS (sizeof(cuda_symbols) / sizeof(cuda_symbols[0]))
_Static_assert(SYMBOLS <= CUDA_SYMBOLS_MAX, "more rows than the BPF side has room for");

const unsigned int cuda_symbol_count = SYMBOLS;

static const struct { const char *name; uint8_t category, layer; } groups[] = {
	{ "memory", CATEGORY_MEMORY, 0 }, { "copy", CATEGORY_COPY, 0 },
	{ "set", CATEGORY_SET, 0 }, { "launch", CATEGORY_LAUNCH, 0 },
	{ "sync", CATEGORY_SYNC, 0 }, { "event", CATEGORY_EVENT, 0 },
	{ "stream", CATEGORY_STREAM, 0 }, { "module", CATEGORY_MODULE, 0 },
	{ "graph", CATEGORY_GRAPH, 0 }, { "query", CATEGORY_QUERY, 0 },
	{ "other", CATEGORY_OTHER, 0 },
	{ "runtime", 0, LAYER_RUNTIME }, { "driver", 0, LAYER_DRIVER },
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

/* Derived from the table at first use. */
static struct {
	bool ready;
	unsigned int operations;
	uint16_t operation_of[SYMBOLS];		/* row to operation number */
	uint16_t first_row[SYMBOLS + 1];	/* operation number to row */
	uint16_t by_name[SYMBOLS];		/* rows in order of symbol name */
} tables;

static int compare_rows(const void *a, const void *b)
{
	return strcmp(cuda_symbols[*(const uint16_t *)a].symbol,
		      cuda_symbols[*(const uint16_t *)b].symbol);
}

static unsigned int operation_named(const char *name)
{
	for (unsigned int i = 1; i <= tables.operations; i++)
		if (!strcmp(cuda_symbols[tables.first_row[i]].operation, name))
			return i;
	return 0;
}

static void tables_build(void)
{
	if (tables.ready)
		return;
	for (unsigned int row = 0; row < SYMBOLS; row++) {
		unsigned int operation = operation_named(cuda_symbols[row].operation);

		if (!operation) {
			operation = ++tables.operations;
			tables.first_row[operation] = row;
		}
		tables.operation_of[row] = operation;
		tables.by_name[row] = row;
	}
	qsort(tables.by_name, SYMBOLS, sizeof(tables.by_name[0]), compare_rows);
	tables.ready = true;
}

int cuda_symbol_find(const char *symbol)
{
	size_t low = 0, high = SYMBOLS;

	tables_build();
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(symbol, cuda_symbols[tables.by_name[middle]].symbol);

		if (!order)
			return tables.by_name[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

unsigned int cuda_symbol_operation(int row)
{
	tables_build();
	return tables.operation_of[row];
}

unsigned int cuda_operation_count(void)
{
	tables_build();
	return tables.operations;
}

int cuda_operation_row(unsigned int operation)
{
	tables_build();
	return tables.first_row[operation];
}

static bool row_matches(unsigned int row, const char *word)
{
	const struct cuda_symbol *symbol = &cuda_symbols[row];

	if (!fnmatch(word, symbol->operation, 0) || !fnmatch(word, symbol->symbol, 0))
		return true;
	for (size_t i = 0; i < GROUPS; i++)
		if (!strcmp(word, groups[i].name))
			return groups[i].category == symbol->category ||
			       groups[i].layer == symbol->layer;
	return false;
}

/* The group or operation whose name is closest, or NULL when none is close. */
static const char *nearest(const char *word)
{
	size_t length = strlen(word);
	unsigned int best = length / 3 + 2;
	const char *found = NULL;

	for (size_t i = 0; i < GROUPS + tables.operations; i++) {
		const char *name = i < GROUPS ? groups[i].name :
			cuda_symbols[tables.first_row[i - GROUPS + 1]].operation;
		unsigned int d = options_distance(word, length, name);

		if (d < best) {
			best = d;
			found = name;
		}
	}
	return found;
}

static int word_unknown(const char *word, struct error *e)
{
	const char *near = nearest(word);

	if (!*word)
		return error_set(e, ERROR_USAGE, "--ops: an empty name");
	error_set(e, ERROR_USAGE, "--ops: no operation or category matches \"%s\"", word);
	if (near)
		error_hint(e, "did you mean \"%s\"?", near);
	else
		error_hint(e, "names as in the CUDA API, or memory, copy, set, launch, sync, event, "
			   "stream, module, graph, query, other, runtime, driver; * and ? are allowed");
	return ERROR_USAGE;
}

static int word_select(const char *word, bool *enabled, struct error *e)
{
	bool any = false;

	for (unsigned int row = 0; row < SYMBOLS; row++) {
		if (!row_matches(row, word))
			continue;
		enabled[row] = true;
		any = true;
	}
	return any ? 0 : word_unknown(word, e);
}

int cuda_api_select(const char *list, bool enabled[CUDA_SYMBOLS_MAX], struct error *e)
{
	int rc = 0;

	tables_build();
	memset(enabled, !list, SYMBOLS * sizeof(*enabled));
	while (list && !rc) {
		char word[96];
		size_t length = strcspn(list, ",");

		if (length >= sizeof(word))
			return error_set(e, ERROR_USAGE, "--ops: \"%.40s...\" is too long a name", list);
		memcpy(word, list, length);
		word[length] = 0;
		rc = word_select(word, enabled, e);
		list = list[length] ? list + length + 1 : NULL;
	}
	return rc;
}
