/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_VIEW_JSON_H
#define INGERO_REPORT_VIEW_JSON_H
/*
 * Parts of the document that view_document() prints: each adds its keys to the open object.
 */
#include "json.h"
#include "report.h"

void view_json_processes(const struct report *r, struct json *j);
#endif
