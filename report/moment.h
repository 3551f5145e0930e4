/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_MOMENT_H
#define INGERO_REPORT_MOMENT_H
/*
 * Moments and spans of a recording, the whole of it, as people type them. A number alone is
 * seconds; units are ns, us, ms, s, min (or m) and h; up to nine digits after the point count.
 *
 *	span	"5", "5s", "300ms", "10%" (of the recording's span)
 *	moment	a span: since the start; with "-" before it: before the end; or a time of day
 *		in TZ, "14:03", "14:03:07.218", on the day on which it is nearest to the recording
 */
#include <stdbool.h>
#include <stdint.h>
#include "recording.h"

/* False where text is none. */
bool moment_span(const struct recording *r, const char *text, uint64_t *ns);
/* CLOCK_MONOTONIC; may lie outside the recording. False where text is none. */
bool moment_read(const struct recording *r, const char *text, uint64_t *ts);
/* "0 s to 8.75 s, 10:54:31.103 to 10:54:39.853": what there is, for hints. */
const char *moment_range(const struct recording *r, char *buf, size_t size);
#endif
