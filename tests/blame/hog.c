// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process that uses what CPU it gets, and knows when it had it: hog [-c CPU] [-ms MILLISECONDS]
 * [-nice N] [-name NAME]; until SIGTERM, and no longer than that, or a minute.
 */
#include <sys/resource.h>
#include "clock.h"

int main(int argc, char **argv)
{
	uint64_t end = now_ns() + number(argc, argv, "-ms", 60000) * 1000000ull;
	pin(number(argc, argv, "-c", -1));
	if (setpriority(PRIO_PROCESS, 0, number(argc, argv, "-nice", 0)))
		die("setpriority");
	clock_open(option(argc, argv, "-name", "hog"));
	clock_stop_on(SIGTERM);
	struct clock_run run = { 0 };
	do {
		clock_run(&run, "run");
	} while (!clock_stop && run.last < end);
	clock_note("run", run.start, run.last);
	clock_write();
	return 0;
}
