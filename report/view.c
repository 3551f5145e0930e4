// SPDX-License-Identifier: BSD-2-Clause
#include "view.h"

const struct view views[] = {
	{ NULL, "one screen about the whole recording", view_summary },
	{ "per-process", "print a section for each process", view_processes },
	{ "chains", "print all cause-to-effect chains, and what is behind them", view_chains },
	{ "info", "print what the file says of itself", view_info },
	{ "json", "print all figures as one JSON object", view_json },
	{ NULL, NULL, NULL },
};
