/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_ADVICE_H
#define INGERO_REPORT_ADVICE_H
/*
 * What a chain's verdict means in words, what to change, and what would prove it. The sentences
 * are rows of advice.def, chosen by facts of the chain and filled with its own figures; nothing
 * is said that the chain does not show.
 *
 * A template holds {placeholders} and [optional parts]: a part in brackets is left out when one
 * of the placeholders in it has no value for this chain. A row whose placeholders outside
 * brackets have no value does not apply.
 */
#include <stddef.h>
#include "chains.h"
#include "report.h"

#define ADVICE_SIZE 1024

struct advice { char cause[ADVICE_SIZE], fix[ADVICE_SIZE], proof[ADVICE_SIZE]; };

void advice_give(struct advice *a, const struct report *r, const struct chain *c);

/* Rows of advice.def, and one row's three templates: for tests. False past the end. */
size_t advice_rows(void);
enum cause_kind advice_row(size_t row, const char *templates[3]);
#endif
