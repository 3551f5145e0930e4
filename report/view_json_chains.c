// SPDX-License-Identifier: BSD-2-Clause
#include "windows.h"
#include "advice.h"
#include "chain_text.h"
#include "view.h"
#include "view_json.h"

static uint64_t since_start(const struct report *r, uint64_t ts)
{
	return ts > r->recording.whole_start ? ts - r->recording.whole_start : 0;
}

static void put_effects(const struct report *r, const struct chain *c, struct json *j)
{
	char place[CHAIN_NAME];

	json_array(j, "effects");
	for (size_t i = 0; i < c->effect_count; i++) {
		const struct effect *e = &c->effects[i];

		json_object(j, NULL);
		json_string(j, "kind", effect_kind_name(e->kind));
		json_string(j, "operation", effect_place(e, place, sizeof(place)));
		json_uint(j, "tid", r->tasks.threads[e->thread].tid);
		json_uint(j, "calls", e->calls);
		json_uint(j, "all_calls", e->all);
		json_uint(j, "lost_ns", e->lost);
		json_uint(j, "p50_ns", e->p50);
		json_uint(j, "p99_ns", e->p99);
		json_uint(j, "max_ns", e->max);
		json_uint(j, "group", e->group);
		json_uint_or_null(j, "bytes_from", e->size_class, e->size_class ? 1ull << (e->size_class - 1) : 0);
		json_uint_or_null(j, "copy_kind", e->copy_kind != WINDOWS_KIND_NONE, e->copy_kind);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_account(const struct chain_account *a, struct json *j)
{
	json_object(j, "account");
	json_uint(j, "running_ns", a->running);
	json_uint(j, "waiting_on_others_ns", a->waiting);
	json_uint(j, "wake_latency_ns", a->wake_latency);
	json_uint(j, "throttled_ns", a->throttled);
	json_uint(j, "blocked_ns", a->blocked);
	json_uint(j, "unrecorded_ns", a->unrecorded);
	json_uint(j, "unexplained_ns", a->unexplained);
	json_object_end(j);
	json_uint(j, "device_ns", a->device);
	json_uint(j, "clamped_ns", a->clamped);
}

static void put_path(const struct report *r, const struct cause *cause, struct json *j)
{
	json_array(j, "path");
	for (uint32_t i = 0; i < cause->hops && i <= CHAINS_HOPS; i++)
		json_uint(j, NULL, r->tasks.threads[cause->path[i]].tid);
	json_array_end(j);
}

static void put_causes(const struct report *r, const struct chain *c, struct json *j)
{
	char who[CHAIN_NAME];

	json_array(j, "causes");
	for (size_t i = 0; i < c->cause_count; i++) {
		const struct cause *cause = &c->causes[i];
		bool somebody = cause->process != TASKS_UNKNOWN && cause->kind != CAUSE_CPU_QUOTA;

		json_object(j, NULL);
		json_string(j, "kind", cause_kind_name(cause->kind));
		json_string(j, "who", chain_who(r, c, cause, who, sizeof(who)));
		json_uint_or_null(j, "pid", somebody, r->tasks.processes[cause->process].tgid);
		json_ratio(j, "share", cause->ns, c->lost);
		json_uint(j, "ns", cause->ns);
		json_uint(j, "hops", cause->hops);
		put_path(r, cause, j);
		json_uint(j, "processes", cause->processes);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_worst(const struct report *r, const struct chain *c, struct json *j)
{
	json_array(j, "worst");
	for (size_t i = 0; i < c->worst_count; i++) {
		const struct chain_window *w = &c->worst[i];
		uint64_t realtime = recording_realtime(&r->recording, w->start);

		json_object(j, NULL);
		json_uint(j, "effect", w->effect);
		json_uint(j, "start_ns", since_start(r, w->start));
		json_uint_or_null(j, "realtime_ns", realtime, realtime);
		json_uint(j, "duration_ns", w->end - w->start);
		json_uint(j, "lost_ns", w->lost);
		json_string(j, "kind", cause_kind_name(w->kind));
		json_uint_or_null(j, "pid", w->process != TASKS_UNKNOWN,
				  r->tasks.processes[w->process].tgid);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_evidence(const struct report *r, const struct chain_evidence *e, struct json *j)
{
	json_object(j, "evidence");
	json_uint(j, "windows", e->windows);
	json_uint(j, "windows_ns", e->window_ns);
	json_uint(j, "switches", e->switches);
	json_uint(j, "migrations", e->migrations);
	json_uint(j, "page_allocations", e->page_events);
	json_uint(j, "page_bytes", e->pages * r->recording.page_size);
	json_uint(j, "major_faults", e->major_faults);
	json_uint(j, "reclaims", e->reclaims);
	json_uint(j, "reclaim_ns", e->reclaim_ns);
	json_uint(j, "births", e->births);
	json_ratio(j, "cpu_busy", e->busy, e->cpu_time);
	json_ratio(j, "runnable_mean", e->runnable * r->recording.cpus_present, e->cpu_time);
	json_uint_or_null(j, "allowed_cpus", e->allowed_cpus, e->allowed_cpus);
	json_uint_or_null(j, "quota_ns", e->quota, e->quota);
	json_uint_or_null(j, "quota_period_ns", e->quota, e->quota_period);
	json_uint_or_null(j, "periods", e->periods, e->periods);
	json_uint_or_null(j, "throttled_periods", e->periods, e->throttled_periods);
	json_uint(j, "workers", e->workers);
	json_uint(j, "syncs", e->syncs);
	json_object_end(j);
}

static void put_words(const struct report *r, const struct chain *c, struct json *j)
{
	char headline[CHAIN_LINE];
	struct advice a;

	advice_give(&a, r, c);
	json_string(j, "headline", chain_headline(r, c, headline, sizeof(headline)));
	json_string(j, "cause", a.cause);
	json_string(j, "fix", a.fix);
	json_string(j, "proof", a.proof);
}

static void put_chain(const struct report *r, const struct chain *c, struct json *j)
{
	const struct process *p = &r->tasks.processes[c->process];
	char role[64];

	json_object(j, NULL);
	json_uint(j, "process", p->tgid);
	json_string(j, "process_name", p->name);
	json_string(j, "role", roles_text(&r->roles, c->process, role, sizeof(role)));
	json_string(j, "severity", severity_name(c->severity));
	json_uint(j, "lost_ns", c->lost);
	json_uint(j, "active_span_ns", c->span);
	json_ratio(j, "share_of_active_span", c->lost, c->span);
	put_words(r, c, j);
	json_string(j, "verdict", c->verdict ? cause_kind_name(c->verdict) : "none");
	json_ratio(j, "explained", c->explained, c->lost);
	json_bool(j, "guess", c->verdict == CAUSE_LOCK_GUESS);
	json_bool(j, "outside", c->outside);
	put_effects(r, c, j);
	put_account(&c->account, j);
	put_causes(r, c, j);
	put_worst(r, c, j);
	put_evidence(r, &c->evidence, j);
	json_object_end(j);
}

static void put_list(const struct report *r, const char *key, const struct chain *list, size_t count,
		     struct json *j)
{
	json_array(j, key);
	for (size_t i = 0; i < count; i++)
		put_chain(r, &list[i], j);
	json_array_end(j);
}

static void put_cannot(const struct report *r, struct json *j)
{
	char text[CHAIN_LINE];

	json_array(j, "cannot_tell");
	for (size_t i = 0; i < r->chains.cannot_count; i++) {
		const struct cannot_tell *t = &r->chains.cannot[i];

		json_object(j, NULL);
		if (t->operation)
			json_string(j, "operation", t->operation->name);
		else
			json_null(j, "operation");
		json_string(j, "reason", cannot_name(t->reason));
		json_string(j, "text", cannot_text(r, t, text, sizeof(text)));
		json_uint_or_null(j, "process", t->process != TASKS_UNKNOWN,
				  r->tasks.processes[t->process].tgid);
		json_uint(j, "lost_ns", t->lost);
		json_uint(j, "missing_ns", t->missing);
		json_object_end(j);
	}
	json_array_end(j);
}

void view_json_chains(const struct report *r, struct json *j)
{
	const struct chains *c = &r->chains;

	put_list(r, "chains", c->chains, c->count, j);
	json_bool(j, "quiet", c->quiet);
	json_bool(j, "idle_unknown", c->idle_unknown);
	put_list(r, "small", c->small, c->small_count, j);
	put_cannot(r, j);
	json_uint(j, "active_span_ns", c->span);
	json_uint(j, "feeding_threads", c->feeding_threads);
}
