/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_NARROW_H
#define INGERO_REPORT_NARROW_H
/*
 * Makes a recording smaller: as if it had begun at from and been stopped at to. Blocks that have
 * nothing of that span are not decoded, but for the few that tell what was going on at its ends
 * (edges.h), and the small tables that tell of states that last.
 *
 * What a thread or CPU was doing at from is told by its rows around it, and at to by its first
 * row after it or by the next keyframe: so each account still adds up to the span, to the
 * nanosecond, and those of consecutive spans add up to the whole's. Events count where their row
 * lies, from <= ts < to (to included where it is the end of the recording): a switch when it
 * happened, a call when it returned, with its whole duration; a call that began before to and
 * returned later is open at to. The state of processes (name, parent, role) is that at to.
 */
#include "recording.h"

/*
 * from < to, both inside the recording's span. cpus: a bit per CPU, or NULL for all of them: only
 * rows of these CPUs count, off-CPU time that of threads that came back there, and a thread's
 * accounts no longer add up to its life; off-CPU time that lasts at to is not looked for.
 * ERROR_MEMORY. Before any other module has read from r.
 */
int recording_narrow(struct recording *r, uint64_t from, uint64_t to, const uint64_t *cpus);
#endif
