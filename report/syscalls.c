// SPDX-License-Identifier: BSD-2-Clause
#include <stddef.h>
#include "syscalls.h"

#define NONE (-1)

static const struct row {
	const char *name;
	int x86_64, aarch64;
	enum syscall_class class;
} rows[] = {
#define SYSCALL_ROW(name, x86_64, aarch64, class) { #name, x86_64, aarch64, SYSCALL_##class },
#include "syscalls.def"
#undef SYSCALL_ROW
};

static const struct row *find(bool aarch64, unsigned int number)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if ((long long)number == (aarch64 ? rows[i].aarch64 : rows[i].x86_64))
			return &rows[i];
	return NULL;
}

const char *syscall_name(bool aarch64, unsigned int number)
{
	const struct row *row = find(aarch64, number);

	return row ? row->name : NULL;
}

enum syscall_class syscall_class(bool aarch64, unsigned int number)
{
	const struct row *row = find(aarch64, number);

	return row ? row->class : SYSCALL_OTHER;
}
