// SPDX-License-Identifier: BSD-2-Clause
/* --fail-if: each figure, each comparison, each unit, and all that does not parse or cannot be judged. */
#include <stdlib.h>
#include <string.h>
#include "chain_made.h"
#include "check.h"
#include "report/guard.h"
#include "report/guard_figures.h"

static char *printed;

/* What conditions are on where it is not a report. */
static struct diff *compared;

/* What guard_run() returns of one condition; what it prints is in printed until the next. */
static int run(const struct report *r, const char *text, struct error *e)
{
	struct guard g = { { text }, 1 };
	size_t size;
	FILE *f;
	int ret;

	free(printed);
	printed = NULL;
	f = open_memstream(&printed, &size);
	memset(e, 0, sizeof(*e));
	ret = guard_check(&g, !r, e);
	if (!ret)
		ret = guard_run(&g, r, r ? NULL : compared, f, e);
	fclose(f);
	return ret;
}

/* It holds, and the line says this of it; said NULL: it does not, and there is no line. */
static void judged(const struct report *r, const char *text, const char *said)
{
	struct error e;
	char line[512];
	int ret = run(r, text, &e);

	snprintf(line, sizeof(line), "ingero-report: \"%s\" holds: %s\n", text, said ? said : "");
	if (!CHECK(ret == (said != NULL)) || !CHECK(!strcmp(printed, said ? line : "")))
		printf("%s: %d: %s%s; %s\n", text, ret, printed, e.text, e.hint);
}

static void refused(const struct report *r, const char *text, const char *why, const char *hint)
{
	struct error e;
	int ret = run(r, text, &e);

	if (!CHECK(ret == ERROR_USAGE) || !CHECK(strstr(e.text, why) != NULL) ||
	    !CHECK(!strcmp(e.hint, hint)) || !CHECK(!*printed))
		printf("%s: %d: %s; %s\n", text, ret, e.text, e.hint);
}

static struct latency_row *all_row(struct report *r, const char *operation)
{
	for (size_t i = 0; i < r->latency.row_count; i++)
		if (r->latency.rows[i].process == LATENCY_ALL &&
		    !strcmp(r->latency.rows[i].operation->name, operation))
			return &r->latency.rows[i];
	abort();
}

/* Figures that differ from each other, so that none can be taken for another. */
static void fill(struct report *r)
{
	struct latency_row *sync = all_row(r, "cudaStreamSynchronize");
	struct latency_row *launch = all_row(r, "cudaLaunchKernel");
	const struct operation *operation = sync->operation;

	*sync = (struct latency_row){
		.process = LATENCY_ALL, .operation = operation, .calls = 5000, .failed = 3, .nested = 4,
		.open = 5, .good = 4997, .total = 250000, .n = 4996, .p50 = 1001, .p95 = 2000000,
		.p99 = 12345678, .max = 3000000000, .bytes = 3 << 20,
	};
	launch->n = 0;
	for (size_t i = 0; i < r->latency.row_count; i++) {
		struct latency_row *row = &r->latency.rows[i];

		row->has_first |= row->process != LATENCY_ALL;
		row->first = row->has_first ? 7000 + i : 0;
	}
	r->procs.processes[chain_process(r, 10)].a = (struct account){
		.running = 600, .waiting = 100, .blocked = 250, .unrecorded = 50, .voluntary = 70,
		.involuntary = 7, .page_events = 11, .pages = 512,
	};
	for (uint32_t pid = 20; pid < 24; pid++)
		r->procs.processes[chain_process(r, pid)].a = (struct account){
			.running = pid, .voluntary = 1000 + pid, .blocked = 100 - pid,
		};
	r->procs.processes[chain_process(r, 30)].a = (struct account){ 0 };
	r->procs.breaks = 9;
	r->completeness.lost = 8;
	r->system = (struct system_figures){ .busy = 900, .cpu_time = 1000, .runnable = 2500, .span = 1000 };
}

static void test_operations(const struct report *r)
{
	judged(r, "p50(cudaStreamSynchronize) > 1us", "p50(cudaStreamSynchronize) is 1.00 us (1,001 ns)");
	judged(r, "p95(cudaStreamSynchronize) >= 2ms",
	       "p95(cudaStreamSynchronize) is 2.00 ms (2,000,000 ns)");
	judged(r, " p99 ( CUDAstreamSYNCHRONIZE )>10 ms ",
	       "p99(cudaStreamSynchronize) is 12.3 ms (12,345,678 ns)");
	judged(r, "p99(cudaStreamSynchronize) > 12.345678ms", NULL);
	judged(r, "p99(cudaStreamSynchronize) > 12.345677ms",
	       "p99(cudaStreamSynchronize) is 12.3 ms (12,345,678 ns)");
	judged(r, "max(*) == 3s", "max(cudaStreamSynchronize) is 3.00 s (3,000,000,000 ns)");
	judged(r, "total(cudaStream*) < 1ms", "total(cudaStreamSynchronize) is 250 us (250,000 ns)");
	judged(r, "calls(cudaStreamSynchronize) != 5001", "calls(cudaStreamSynchronize) is 5,000");
	judged(r, "failed(cudaStreamSynchronize) > 2", "failed(cudaStreamSynchronize) is 3");
	judged(r, "nested(cudaStreamSynchronize) > 3", "nested(cudaStreamSynchronize) is 4");
	judged(r, "open(cudaStreamSynchronize) <= 5", "open(cudaStreamSynchronize) is 5");
	judged(r, "bytes(cudaStreamSynchronize) >= 3MiB",
	       "bytes(cudaStreamSynchronize) is 3.00 MiB (3,145,728 B)");
	judged(r, "rate(cudaStreamSynchronize) == 5000000/s",
	       "rate(cudaStreamSynchronize) is 5000000.000/s");
	judged(r, "share(cudaStreamSynchronize) >= 25%", "share(cudaStreamSynchronize) is 25.000 %");
	judged(r, "share(cudaStreamSynchronize) > 25%", NULL);
	judged(r, "first(cudaLaunchKernel) > 7us", "first(cudaLaunchKernel) is 7.00 us (7,002 ns)");
	judged(r, "calls(cuda*) > 5", "calls(cudaStreamSynchronize) is 5,000; and for 1 more");
	judged(r, "calls(cuda*) < 6000", "calls(cudaLaunchKernel) is 10; and for 1 more");
}

/* Operations that the file knows and nobody called; such as it does not know. */
static void test_absent(const struct report *r)
{
	judged(r, "calls(cuLaunchKernel) == 0", "calls(cuLaunchKernel) is 0");
	judged(r, "calls(cuLaunchKernel) > 0", NULL);
	judged(r, "total(cuLaunchKernel) < 0.5ns", "total(cuLaunchKernel) is 0 ns");
	refused(r, "p99(cuLaunchKernel) > 1ms",
		"cannot judge \"p99(cuLaunchKernel) > 1ms\": no call of \"cuLaunchKernel\" to measure",
		"first(cuLaunchKernel) and calls(cuLaunchKernel) count them all");
	refused(r, "max(cudaLaunchKernel) > 1ms", "no call of \"cudaLaunchKernel\" to measure",
		"first(cudaLaunchKernel) and calls(cudaLaunchKernel) count them all");
	refused(r, "calls(cudaStreamSynchronise) > 0", "the recording knows no CUDA operation \"cudaStreamSynchronise\"",
		"did you mean \"cudaStreamSynchronize\"?");
	refused(r, "calls(x) > 0", "the recording knows no CUDA operation \"x\"",
		"names are as in the CUDA API; --ops lists those that were called");
}

static void test_processes(const struct report *r)
{
	judged(r, "switches > 4000", "switches is 4,163");
	judged(r, "switches(main) == 77", "switches(python3 10 (main)) is 77");
	judged(r, "voluntary(worker) > 1021", "voluntary(pt_data_worker 23 (worker 4)) is 1,023; and for 1 more");
	judged(r, "voluntary(Worker 2) > 1020", "voluntary(pt_data_worker 21 (worker 2)) is 1,021");
	judged(r, "involuntary(python?) > 6", "involuntary(python3 10 (main)) is 7");
	judged(r, "page_allocations(main) > 10", "page_allocations(python3 10 (main)) is 11");
	judged(r, "page_bytes(main) >= 2 MiB", "page_bytes(python3 10 (main)) is 2.00 MiB (2,097,152 B)");
	judged(r, "running(main) >= 600ns", "running(python3 10 (main)) is 600 ns");
	judged(r, "running(main) >= 60%", "running(python3 10 (main)) is 60.000 %");
	judged(r, "running(main) > 60%", NULL);
	judged(r, "waiting(main) == 10 %", "waiting(python3 10 (main)) is 10.000 %");
	judged(r, "blocked(main) > 249ns", "blocked(python3 10 (main)) is 250 ns");
	judged(r, "unrecorded(main) > 0", "unrecorded(python3 10 (main)) is 50 ns");
	judged(r, "off_cpu(main) == 35%", "off_cpu(python3 10 (main)) is 35.000 %");
	judged(r, "off_cpu(main) == 350ns", "off_cpu(python3 10 (main)) is 350 ns");
	refused(r, "switches(nosuch) > 0", "there is no process \"nosuch\"",
		"a role (main, worker, helper, other) or a name: python3, pt_data_worker, sh");
	refused(r, "running(sh) > 50%", "the recording does not say", "");
}

static void test_whole(const struct report *r)
{
	judged(r, "lost_events > 0", "lost_events is 8");
	judged(r, "chain_breaks >= 9", "chain_breaks is 9");
	judged(r, "complete == 1", "complete is 1");
	judged(r, "quiet == 0", "quiet is 0");
	judged(r, "cannot_tell > 0", NULL);
	judged(r, "cpu_busy > 89.9%", "cpu_busy is 90.000 %");
	judged(r, "runnable > 2.4", "runnable is 2.500");
	judged(r, "runnable == 250%", "runnable is 2.500");
	judged(r, "cuda_calls == 20", "cuda_calls is 20");
	judged(r, "span > 1us", "span is 1.00 ms (1,000,000 ns)");
	refused(r, "exit_status != 0", "cannot judge \"exit_status != 0\": the recording does not say", "");
}

static void test_chains(struct report *r)
{
	struct chain big[2], small[2];
	struct effect effects[4];
	struct cause causes[4];

	judged(r, "chains == 0", "chains is 0");
	judged(r, "lost_share < 1%", "lost_share is 0.000 %");
	for (size_t i = 0; i < 4; i++)
		*(i < 2 ? &big[i] : &small[i - 2]) = chain_of(r, &effects[i], &causes[i]);
	big[1].severity = SEVERITY_MEDIUM;
	small[0].severity = small[1].severity = SEVERITY_LOW;
	small[1].harmless = true;
	small[1].lost = 900000;
	effects[1].kind = effects[3].kind = EFFECT_STARVATION;
	r->chains.chains = big;
	r->chains.count = 2;
	r->chains.small = small;
	r->chains.small_count = 2;
	judged(r, "chains > 0", "chains is 2");
	judged(r, "chains(high) > 0", "chains is 1");
	judged(r, "chains(MEDIUM) > 0", "chains is 1");
	judged(r, "chains(LOW) > 1", "chains is 2");
	judged(r, "lost_share >= 20%", "lost_share is 20.000 %");
	judged(r, "starvation >= 20%", "starvation is 20.000 %");
	effects[1].kind = EFFECT_GAP;
	judged(r, "starvation > 0", NULL);
	r->chains.idle_unknown = true;
	refused(r, "starvation > 0", "the recording does not say", "");
	r->chains.span = 0;
	refused(r, "lost_share > 0", "the recording does not say", "");
	refused(r, "chains(worst) > 0", "there is no such severity", "LOW, MEDIUM or HIGH");
	r->chains.chains = r->chains.small = NULL;
	r->chains.count = r->chains.small_count = 0;
}

static const struct { const char *text, *why, *hint; } wrong[] = {
	{ "", "\"\": expected a figure at the end", "such as \"p99(cudaStreamSynchronize) > 10ms\"" },
	{ "> 3", "expected a figure at \"> 3\"", "such as \"p99(cudaStreamSynchronize) > 10ms\"" },
	{ "p98(x) > 1ms", "there is no figure \"p98\"", "did you mean \"p95\"?" },
	{ "lost_evnts > 1", "there is no figure \"lost_evnts\"", "did you mean \"lost_events\"?" },
	{ "P99(x) > 1ms", "there is no figure \"P99\"", "did you mean \"p99\"?" },
	{ "temperature > 1", "there is no figure \"temperature\"",
	  "such as p99(OPERATION), calls(OPERATION), chains(HIGH), lost_events, running(worker); ingero-report(1) has all" },
	{ "diff.p99(x) > 1.2", "a figure of a comparison, and there is one recording",
	  "ingero-report --diff BEFORE AFTER" },
	{ "p99 > 10ms", "of which CUDA operation?", "p99(cudaStreamSynchronize), or p99(*) for any" },
	{ "span(x) > 10ms", "a figure of the whole recording, without \"(\"", "\"span\" alone" },
	{ "p99(x > 10ms", "expected \")\" at the end", "" },
	{ "p99() > 10ms", "nothing between \"(\" and \")\"", "" },
	{ "p99(x)", "expected one of > >= < <= == != at the end", "" },
	{ "p99(x) = 10ms", "expected one of > >= < <= == != at \"= 10ms\"", "" },
	{ "p99(x) is 10ms", "expected one of > >= < <= == != at \"is 10ms\"", "" },
	{ "p99(x) >", "expected a number at the end", "" },
	{ "p99(x) >> 10ms", "expected a number at \"> 10ms\"", "" },
	{ "p99(x) > -1ms", "expected a number at \"-1ms\"", "" },
	{ "p99(x) > .", "expected a number at the end", "" },
	{ "p99(x) > 10", "expected a unit at the end", "a time in ns, us, ms, s" },
	{ "p99(x) > 10 min", "expected another unit at \"min\"", "a time in ns, us, ms, s" },
	{ "p99(x) > 10%", "expected another unit at \"%\"", "a time in ns, us, ms, s" },
	{ "p99(x) > 10milliseconds", "expected a unit at \"milliseconds\"", "a time in ns, us, ms, s" },
	{ "p99(x) > 10ms or more", "expected the end at \"or more\"", "" },
	{ "running(main) > 10", "expected a unit at the end", "a time in ns, us, ms, s; or its share in %" },
	{ "bytes(x) > 10", "expected a unit at the end", "a size in B, KiB, MiB, GiB" },
	{ "cpu_busy > 0.9", "expected a unit at the end", "a share in %" },
	{ "calls(x) > 10ms", "expected another unit at \"ms\"", "a count in none" },
	{ "rate(x) > 10ms", "expected another unit at \"ms\"", "a rate in /s or none" },
	{ "runnable > 10ms", "expected another unit at \"ms\"", "a ratio in % or none" },
};

static void test_wrong(const struct report *r)
{
	char text[400];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refused(r, wrong[i].text, wrong[i].why, wrong[i].hint);
	snprintf(text, sizeof(text), "p99(%0200d) > 1ms", 0);
	refused(r, text, "too long between \"(\" and \")\"", "");
}

/* All are judged; what cannot be is the answer all the same. */
static void test_several(const struct report *r)
{
	struct guard g = { { "lost_events > 0", "complete == 0", "exit_status > 0", "chain_breaks > 1",
			     "p99(nosuch) > 1s" }, 5 };
	struct error e = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK(guard_run(&g, r, NULL, f, &e) == ERROR_USAGE && strstr(e.text, "exit_status"));
	g.count = 2;
	CHECK(guard_run(&g, r, NULL, f, &e) == 1);
	g.count = 0;
	CHECK(guard_run(&g, r, NULL, f, &e) == 0);
	fclose(f);
	CHECK(!strcmp(text, "ingero-report: \"lost_events > 0\" holds: lost_events is 8\n"
			    "ingero-report: \"chain_breaks > 1\" holds: chain_breaks is 9\n"
			    "ingero-report: \"lost_events > 0\" holds: lost_events is 8\n"));
	free(text);
}

static struct diff_change changes[] = {
	{ .metric = "pace", .unit = DIFF_UNIT_RATE, .before = 250, .after = 200, .significant = true },
	{ .metric = "p99", .unit = DIFF_UNIT_NS, .subject = "cudaMemcpyAsync", .before = 2000000,
	  .after = 2690000 },
	{ .metric = "p99", .unit = DIFF_UNIT_NS, .subject = "cudaMalloc", .before = 1000, .after = 3000,
	  .significant = true },
	{ .metric = "calls_per_second", .unit = DIFF_UNIT_RATE, .subject = "cudaFree", .after = 12.5,
	  .significant = true },
	{ .metric = "off_cpu_share", .unit = DIFF_UNIT_SHARE, .subject = "workers", .before = 0.2,
	  .after = 0.3 },
	{ .metric = "processes", .unit = DIFF_UNIT_NUMBER, .subject = "helpers" },
};

/* Here r is NULL: see run(). */
static void test_diff(void)
{
	struct diff d = { .changes = changes, .change_count = sizeof(changes) / sizeof(*changes) };

	compared = &d;
	judged(NULL, "diff.changes > 2", "diff.changes is 3");
	judged(NULL, "diff.changes(cuda*) > 1", "diff.changes(cuda*) is 2");
	judged(NULL, "diff.changes(workers) == 0", "diff.changes(workers) is 0");
	judged(NULL, "diff.pace < 90%",
	       "diff.pace is 0.800: 250.000/s before, 200.000/s after; a significant change");
	judged(NULL, "diff.p99(CUDAMEMCPY*) > 1.3",
	       "diff.p99(cudaMemcpyAsync) is 1.345: 2.00 ms before, 2.69 ms after; no significant change");
	judged(NULL, "diff.p99(cudaMemcpyAsync) > 1.345", NULL);
	judged(NULL, "diff.p99 > 1.2",
	       "diff.p99(cudaMalloc) is 3.000: 1.00 us before, 3.00 us after; a significant change; and for 1 more");
	judged(NULL, "diff.calls_per_second(cudaFree) > 1000",
	       "diff.calls_per_second(cudaFree) is beyond all bounds: 0.000/s before, 12.500/s after; a significant change");
	judged(NULL, "diff.off_cpu_share(workers) >= 1.4",
	       "diff.off_cpu_share(workers) is 1.500: 20.000 % before, 30.000 % after; no significant change");
	judged(NULL, "diff.processes(helpers) == 1", NULL);
	refused(NULL, "diff.p99(cudaEventRecord) > 1", "cannot judge \"diff.p99(cudaEventRecord) > 1\": nothing of that kind was compared",
		"there are: cudaMemcpyAsync, cudaMalloc");
	refused(NULL, "diff.p50 > 1", "nothing of that kind was compared", "");
	refused(NULL, "diff.changes(x) > 1", "nothing of that kind was compared",
		"there are: cudaMemcpyAsync, cudaMalloc, cudaFree, workers, helpers");
	refused(NULL, "diff.p98 > 1", "there is no figure \"diff.p98\"", "did you mean \"diff.p95\"?");
	refused(NULL, "diff.temperature > 1", "there is no figure \"diff.temperature\"",
		"such as diff.p99(OPERATION), diff.calls_per_second(OPERATION), diff.switches_per_call(workers), diff.changes; ingero-report(1) has all");
	refused(NULL, "diff.p99(x) > 10ms", "expected another unit at \"ms\"", "a ratio in % or none");
	refused(NULL, "p99(x) > 10ms", "a figure of one recording, and this is a comparison",
		"its figures begin with \"diff.\", such as \"diff.p99(cudaStreamSynchronize) > 1.2\"");
	refused(NULL, "diff.p99(x) >", "expected a number at the end", "");
}

/* Each row of the table was asked for above, or the test lacks a case. */
static void test_all_named(void)
{
	static const char *const asked[] = {
		"p50", "p95", "p99", "max", "first", "total", "calls", "failed", "nested", "open", "bytes",
		"rate", "share", "lost_events", "chain_breaks", "complete", "chains", "quiet", "cannot_tell",
		"lost_share", "starvation", "cpu_busy", "runnable", "cuda_calls", "span", "exit_status",
		"switches", "voluntary", "involuntary", "running", "waiting", "blocked", "unrecorded",
		"off_cpu", "page_allocations", "page_bytes",
	};
	size_t n = 0;

	for (; figures[n].name; n++)
		CHECK(n < sizeof(asked) / sizeof(*asked) && !strcmp(figures[n].name, asked[n]));
	CHECK(n == sizeof(asked) / sizeof(*asked));
}

int main(void)
{
	struct report r;

	chain_made(&r);
	fill(&r);
	test_operations(&r);
	test_absent(&r);
	test_processes(&r);
	test_whole(&r);
	test_wrong(&r);
	test_several(&r);
	test_chains(&r);
	test_diff();
	test_all_named();
	chain_made_release(&r);
	free(printed);
	return check_result();
}
