// SPDX-License-Identifier: BSD-2-Clause
#include "chain.h"

const char *effect_kind_name(enum effect_kind kind)
{
	static const char *const names[] = {
		[EFFECT_SLOW_CALL] = "slow_call", [EFFECT_GAP] = "gap", [EFFECT_STARVATION] = "starvation",
	};

	return names[kind];
}

const char *cause_kind_name(enum cause_kind kind)
{
	static const char *const names[CAUSE_LIMIT] = {
		[CAUSE_NONE] = "unexplained", [CAUSE_CPU_CONTENTION] = "cpu_contention",
		[CAUSE_CPU_QUOTA] = "cpu_quota", [CAUSE_DISK] = "disk", [CAUSE_NETWORK] = "network",
		[CAUSE_RECLAIM] = "reclaim", [CAUSE_PAGE_ALLOCATION] = "page_allocation",
		[CAUSE_LOCK_GUESS] = "lock_guess", [CAUSE_SLEEP] = "sleep", [CAUSE_OWN_WORK] = "own_work",
		[CAUSE_PEER_WORK] = "peer_work", [CAUSE_WORKER_STARTUP] = "worker_startup",
		[CAUSE_WAKE_LATENCY] = "wake_latency", [CAUSE_HANDOFF] = "handoff",
		[CAUSE_INITIALISATION] = "initialisation", [CAUSE_EXTERNAL] = "external",
		[CAUSE_DEVICE] = "device", [CAUSE_STEAL] = "steal",
	};

	return names[kind];
}

const char *severity_name(enum severity s)
{
	static const char *const names[] = { "NONE", "LOW", "MEDIUM", "HIGH" };

	return names[s];
}

void chain_evidence_add(struct chain_evidence *to, const struct chain_evidence *from)
{
	to->windows += from->windows;
	to->window_ns += from->window_ns;
	to->switches += from->switches;
	to->page_events += from->page_events;
	to->pages += from->pages;
	to->major_faults += from->major_faults;
	to->reclaims += from->reclaims;
	to->reclaim_ns += from->reclaim_ns;
	to->migrations += from->migrations;
	to->births += from->births;
	to->cpu_time += from->cpu_time;
	to->busy += from->busy;
	to->runnable += from->runnable;
}
