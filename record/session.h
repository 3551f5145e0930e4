/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_SESSION_H
#define INGERO_SESSION_H
/*
 * One recording from beginning to end: prepare (output, command forked and corked), load, attach,
 * go (uncork), the poll loop, stop, drain, finish. Until the command is let go a failure ends
 * everything and the command never runs; afterwards it runs to its end whatever happens here.
 */
#include "../common/error.h"
#include "config.h"

/*
 * Returns 0 with *exit_status the command's own (128 + N for a signal), 126 or 127 when it could
 * not be executed; e->text is empty unless the recording failed after the start, in which case it
 * says how and the file holds what was written before. Returns a negative error_code with
 * *exit_status CONFIG_EXIT_NOT_STARTED when the command was not started.
 */
int session_run(const struct config *config, int *exit_status, struct error *e);
#endif
