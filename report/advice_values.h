/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_ADVICE_VALUES_H
#define INGERO_REPORT_ADVICE_VALUES_H
/*
 * The placeholders of advice.def: each a figure or a name of the chain that a row speaks of.
 */
#include <stdbool.h>
#include <stddef.h>
#include "chains.h"
#include "report.h"

#define ADVICE_VALUE 600	/* bytes for one */

/* A chain as a row sees it: kind is the row's, top the largest cause of it (of any for families). */
struct subject {
	const struct report *r;
	const struct chain *c;
	enum cause_kind kind;
	const struct cause *top;	/* NULL: there is none */
};

/* The value of placeholder name (length bytes) in buf, of ADVICE_VALUE; false: it has none here. */
bool advice_value(const struct subject *s, const char *name, size_t length, char *buf);
/* Whether there is a placeholder of this name at all. */
bool advice_known(const char *name, size_t length);

/* Workers of the process the chain is of; CPUs it may use, 0 not known. */
bool subject_is_worker(const struct subject *s, uint32_t process);
/* The part of the row's kind that processes for which holds is true took. */
uint64_t subject_sum(const struct subject *s, bool (*holds)(const struct subject *, uint32_t process));
#endif
