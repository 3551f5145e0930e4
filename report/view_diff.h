/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_VIEW_DIFF_H
#define INGERO_REPORT_VIEW_DIFF_H
/* The comparison of recordings as text and as JSON. */
#include "diff.h"
#include "json.h"
#include "page.h"

void view_diff(const struct diff *d, const struct page *out);
void view_json_diff(const struct diff *d, struct json *j);	/* adds key "diff" */
#endif
