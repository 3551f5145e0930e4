/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_DIFF_FLOOR_H
#define INGERO_REPORT_DIFF_FLOOR_H
/*
 * What two recordings of the same program may differ by from one run to the next, figure by figure:
 * a smaller difference is never called a change, however sure it is that the two recordings do
 * differ. Found by tests/diff/calibrate on pairs of equal runs; see there for the workloads, which
 * are others than those the comparison is tested with. On a virtual machine that others use too, no
 * pair of 24 was beyond these; the margin is for busier ones.
 *
 * ratio: of the larger to the smaller. absolute: in the figure's unit; the floor of a comparison is
 * the larger of ratio and 1 + absolute / the smaller figure.
 * between: standard deviation, of the logarithm, between runs: the prior of diff_stat.h.
 */
#include "diff.h"

enum diff_metric {
	METRIC_PACE,
	METRIC_CALLS_PER_SECOND, METRIC_CALLS_PER_STEP, METRIC_P50, METRIC_P95, METRIC_P99, METRIC_SHARE,
	METRIC_PROCESSES, METRIC_SWITCHES_PER_SECOND, METRIC_SWITCHES_PER_CALL, METRIC_PAGES_PER_SECOND,
	METRIC_PAGES_PER_CALL, METRIC_RUNNING, METRIC_WAITING, METRIC_OFF_CPU_SHARE,
	METRIC_STARVED, METRIC_LOST_SHARE,
	METRIC_LIMIT,
};

struct diff_metric_row {
	const char *name;		/* in JSON, and for --fail-if */
	const char *title;		/* in text */
	enum diff_section section;
	enum diff_unit unit;
	double ratio, absolute, between;
};

static const struct diff_metric_row diff_metrics[METRIC_LIMIT] = {
	[METRIC_PACE] = { "pace", "steps/s", DIFF_PACE, DIFF_UNIT_RATE, 1.1, 0, 0.03 },
	[METRIC_CALLS_PER_SECOND] = { "calls_per_second", "calls/s", DIFF_OPERATIONS, DIFF_UNIT_RATE, 1.1, 0.5, 0.03 },
	[METRIC_CALLS_PER_STEP] = { "calls_per_step", "calls/step", DIFF_OPERATIONS, DIFF_UNIT_NUMBER, 1.05, 0.02, 0.005 },
	[METRIC_P50] = { "p50", "p50", DIFF_OPERATIONS, DIFF_UNIT_NS, 1.12, 400, 0.03 },
	[METRIC_P95] = { "p95", "p95", DIFF_OPERATIONS, DIFF_UNIT_NS, 1.6, 5000, 0.12 },
	[METRIC_P99] = { "p99", "p99", DIFF_OPERATIONS, DIFF_UNIT_NS, 2.5, 20000, 0.2 },
	[METRIC_SHARE] = { "share", "share", DIFF_OPERATIONS, DIFF_UNIT_SHARE, 1.25, 0.02, 0.06 },
	[METRIC_PROCESSES] = { "processes", "processes", DIFF_ROLES, DIFF_UNIT_NUMBER, 1.15, 0.2, 0.01 },
	[METRIC_SWITCHES_PER_SECOND] = { "switches_per_second", "switches/s", DIFF_ROLES, DIFF_UNIT_RATE, 1.6, 20, 0.3 },
	[METRIC_SWITCHES_PER_CALL] = { "switches_per_call", "switches/call", DIFF_ROLES, DIFF_UNIT_NUMBER, 1.6, 0.01, 0.3 },
	[METRIC_PAGES_PER_SECOND] = { "pages_per_second", "pages/s", DIFF_ROLES, DIFF_UNIT_RATE, 1.6, 100, 0.2 },
	[METRIC_PAGES_PER_CALL] = { "pages_per_call", "pages/call", DIFF_ROLES, DIFF_UNIT_NUMBER, 1.6, 0.05, 0.2 },
	[METRIC_RUNNING] = { "running", "CPUs used", DIFF_ROLES, DIFF_UNIT_NUMBER, 1.25, 0.1, 0.06 },
	[METRIC_WAITING] = { "waiting", "waiting for a CPU", DIFF_ROLES, DIFF_UNIT_NUMBER, 2, 0.1, 0.3 },
	[METRIC_OFF_CPU_SHARE] = { "off_cpu_share", "off-CPU", DIFF_ROLES, DIFF_UNIT_SHARE, 1.25, 0.1, 0.1 },
	[METRIC_STARVED] = { "starved", "without work", DIFF_GAPS, DIFF_UNIT_SHARE, 1.25, 0.05, 0.15 },
	[METRIC_LOST_SHARE] = { "lost_share", "lost", DIFF_CHAINS, DIFF_UNIT_SHARE, 2, 0.05, 0.2 },
};
#endif
