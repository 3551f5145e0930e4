/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_PAGE_H
#define INGERO_REPORT_PAGE_H
/*
 * What text is printed on: where to, how wide, and what may stand there. Into anything but a
 * terminal it is always the same: PAGE_WIDTH columns, no colour; so that the same file gives the
 * same bytes everywhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PAGE_WIDTH 80
#define PAGE_WIDTH_MIN 40

struct page {
	FILE *file;
	size_t width;		/* columns */
	bool color;		/* escape sequences are wanted */
	bool ascii;		/* but for names of the file there is only ASCII: bars, lines */
	bool terminal;		/* it ends there, whatever file is */
	bool raw;		/* ns and bytes as plain integers */
};
#endif
