/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_CUDALIB_H
#define INGERO_CUDALIB_H
/*
 * Which files carry CUDA symbols, and at which offsets. A file is known by device and inode and
 * examined once, whatever names it has; one without CUDA symbols is remembered too. Only symbols
 * the file defines count (never imports): those of .dynsym, and of .symtab where the runtime is
 * linked in statically. Symbols that share an offset are one, under the plainest name.
 *
 * The file may be hostile: sizes and counts are bounded, nothing in it is trusted.
 *
 * dev is what stat(2) says. On overlay file systems the kernel's own number for a mapping, and
 * for uprobes, may be that of the layer below.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../common/error.h"
#include "../common/format.h"

struct cudalib_symbol {
	uint64_t offset;	/* in the file, where the probe goes */
	uint16_t row;		/* of cuda_api.def */
	uint8_t instruction;	/* enum probe_instruction: price of the one replaced; 0 not known */
};

struct cudalib {
	char *path;			/* as found; for people */
	int fd;				/* open for reading; attach through /proc/self/fd/N */
	uint64_t dev, inode;
	int64_t changed;		/* ns since 1970: last change of the inode */
	char build_id[65];		/* hex, "" none */
	size_t count;
	struct cudalib_symbol *symbols;	/* by offset */
	char why_not[160];		/* count 0: why, where one would expect some; else "" */
	bool from_symtab;		/* the static runtime's local symbols */
};

/* Every file examined so far. Zero-initialise. */
struct cudalib_set {
	struct cudalib **files;
	size_t count, room;
};

/*
 * The one with that device and inode, or NULL. Inode numbers are used again: an entry that is not
 * kept open counts only if the inode was last changed at the same time.
 */
struct cudalib *cudalib_find(const struct cudalib_set *set, uint64_t dev, uint64_t inode, int64_t changed);

/*
 * Examine the file that open_path leads to (any path open(2) takes, /proc/PID/map_files/... too)
 * and add it to the set under the name shown (NULL: open_path). *out is the set's own entry, the
 * old one when the file was there already (*fresh, may be NULL, says which). fd is kept only with
 * count > 0. A file that is no ELF object, or a damaged one, is remembered with count 0.
 * ERROR_SYSTEM: it cannot be opened, or is no regular file.
 */
int cudalib_examine(struct cudalib_set *set, const char *open_path, const char *shown,
		    struct cudalib **out, bool *fresh, struct error *e);

/* Whether a path is named like a CUDA library: libcuda.so*, libcudart*.so*, libcudart-HASH.so*. */
bool cudalib_name(const char *path);

/* Close and free everything; the set is empty again. */
void cudalib_set_release(struct cudalib_set *set);
#endif
