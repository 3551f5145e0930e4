// SPDX-License-Identifier: BSD-2-Clause
/* Text tables: alignment, narrow pages, empty ones. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "report/grid.h"

static const struct grid_column columns[] = {
	{ "name", GRID_SHRINK }, { "n", GRID_RIGHT }, { "note", GRID_LEFT },
};

static char *print(const struct grid *g, size_t indent, size_t width)
{
	char *text = NULL;
	size_t size;
	struct page page = { .file = open_memstream(&text, &size), .width = width };

	grid_print(g, &page, indent);
	fclose(page.file);
	return text;
}

static void prints(const struct grid *g, size_t indent, size_t width, const char *want)
{
	char *text = print(g, indent, width);

	if (!CHECK(!strcmp(text, want)))
		printf("%s", text);
	free(text);
}

/* A column that may be left out stays while the texts still give way. */
static void test_optional(void)
{
	static const struct grid_column with[] = {
		{ "name", GRID_SHRINK }, { "n", GRID_RIGHT }, { "extra", GRID_OPTIONAL },
	};
	struct grid g;

	grid_init(&g, with, 3);
	grid_cell(&g, "a name of many columns");
	grid_cell(&g, "1,000");
	grid_cell(&g, "9");
	prints(&g, 0, 33, "name                      n extra\n"
			  "a name of many colu.. 1,000     9\n");
	prints(&g, 0, 32, "name                        n\n"
			  "a name of many columns  1,000\n");
	prints(&g, 0, 23, "name                  n\n"
			  "a name of many .. 1,000\n");
	grid_release(&g);
}

int main(void)
{
	struct grid g;

	grid_init(&g, columns, 3);
	prints(&g, 0, 80, "name  n  note\n");
	grid_cell(&g, "a");
	grid_cell(&g, "1,000");
	grid_cell(&g, "x");
	grid_cell(&g, "a name of many columns");
	grid_cell(&g, "2");
	grid_cell(&g, NULL);
	prints(&g, 2, 80, "  name                        n  note\n"
			  "  a                       1,000  x\n"
			  "  a name of many columns      2\n");
	prints(&g, 0, 33, "name                       n note\n"
			  "a                      1,000 x\n"
			  "a name of many columns     2\n");
	prints(&g, 0, 32, "name                      n note\n"
			  "a                     1,000 x\n"
			  "a name of many colu..     2\n");
	prints(&g, 0, 30, "name                        n\n"
			  "a                       1,000\n"
			  "a name of many columns      2\n"
			  "no room for: note\n");
	prints(&g, 1, 22, " name                n\n"
			  " a               1,000\n"
			  " a name of man..     2\n"
			  "no room for: note\n");
	grid_release(&g);
	test_optional();
	return check_result();
}
