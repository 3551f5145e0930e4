/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_VIEW_CHAINS_H
#define INGERO_REPORT_VIEW_CHAINS_H
/*
 * Cause-to-effect chains as text: on the default screen, and all of them with what is behind
 * each sentence (view_chains() of view.h). And one call taken apart, for --explain.
 */
#include "page.h"
#include "../common/error.h"
#include "report.h"

/* Chains of the default view, or one sentence that says there are none, or why. */
void print_chains(const struct report *r, const struct page *out);
/* Headline, timeline, what was lost, cause and fix of one. */
void print_chain(const struct report *r, const struct chain *c, const struct page *out);
/* "whether the device ran out of work cannot be told: ..." */
extern const char view_idle_unknown[];
/* Where chains are left out by the selection, says so; false where none are. */
bool print_left_out(const struct report *r, const struct page *out);
/* What cannot be told, a sentence each. */
void print_cannot(const struct report *r, const struct page *out);
/* Causes in a table: share of whole, time, kind, who, hops. c gives the words for its effects. */
void print_causes(const struct report *r, const struct chain *c, const struct page *out);

/*
 * The call that request names taken apart: "OP", the longest; "OP@TIME", the one at TIME, in
 * seconds from the start or as HH:MM:SS.mmm of the recording in TZ. ERROR_USAGE with a hint when
 * there is no such call, ERROR_MEMORY.
 */
int view_explain(struct report *r, const char *request, const struct page *out, struct error *e);
#endif
