/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_CALIBRATE_H
#define INGERO_CALIBRATE_H
/*
 * What a recorded call costs on this machine: the recorder probes an empty function of its own
 * and calls it, with everything that a call of the tree goes through. Before probes_attach().
 */
#include <stdint.h>
#include "probes.h"

struct calibration {
	uint64_t call_ns;	/* a probed call takes this much longer, median */
	uint64_t inside_ns;	/* the recorded duration of a call that takes no time, median */
};

/* What the first touch of a page takes here, in ns: median of a few rounds. 0: could not be measured. */
uint64_t calibrate_page(void);

/* ERROR_UNSUPPORTED where it cannot be done; the recording need not fail for it. */
int calibrate(struct probes *p, struct calibration *c, struct error *e);
#endif
