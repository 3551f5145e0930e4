// SPDX-License-Identifier: BSD-2-Clause
/* Chains as text and JSON: the default view, --chains, --explain, and words where there are none. */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "chain_made.h"
#include "report/chain_text.h"
#include "report/fmt.h"
#include "report/syscalls.h"
#include "report/view.h"
#include "report/view_chains.h"

#define HAS(text, part) has(text, part, true)
#define LACKS(text, part) has(text, part, false)

static struct report r;
static struct effect effect;
static struct cause cause;

static void has(const char *text, const char *part, bool want)
{
	if (!CHECK(!strstr(text, part) == !want))
		printf("\"%s\" in\n%s", part, text);
}

static void document(const struct report *report, const struct page *out)
{
	struct json j;

	view_document_begin(&j, out);
	view_document(report, &j);
	json_object_end(&j);
}

/* What the view prints, all on one line, once it is known to fit the page. */
static char *shown(void (*view)(const struct report *r, const struct page *out))
{
	char *text = NULL, *to;
	size_t size;
	struct page page = { .file = open_memstream(&text, &size), .width = PAGE_WIDTH };

	view(&r, &page);
	fclose(page.file);
	for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
		char copy[512];

		snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, "\n"), line);
		if (view != document && !CHECK(fmt_width(copy) <= PAGE_WIDTH))
			printf("too wide: %s\n", copy);
	}
	to = text;
	for (const char *at = text; *at; at++) {
		bool blank = *at == ' ' || *at == '\n';

		if (!blank || (to > text && to[-1] != ' '))
			*to++ = blank ? ' ' : *at;
	}
	*to = '\0';
	return text;
}

static void show(struct chain *chains, size_t count, struct chain *small, size_t small_count)
{
	r.chains.chains = chains;
	r.chains.count = count;
	r.chains.small = small;
	r.chains.small_count = small_count;
	r.chains.quiet = !count && !r.chains.cannot_count;
}

static void test_default(void)
{
	struct chain c[4];
	char *text;

	for (unsigned int i = 0; i < 4; i++)
		c[i] = chain_of(&r, &effect, &cause);
	c[0].evidence.switches = 1880;
	c[0].evidence.busy = 97;
	c[0].evidence.cpu_time = 100;
	c[0].evidence.runnable = 250;
	show(c, 1, NULL, 0);
	text = shown(view_summary);
	HAS(text, "[HIGH] cudaStreamSynchronize p99 42.0 us (42x p50 1.00 us) ");
	HAS(text, "[HOST ] main waited for a CPU: hog 40 ran (200 us); 1,880 context switches ");
	HAS(text, "[CUDA ] cudaStreamSynchronize: 10 of 400 calls slow, 200 us lost, longest 50.0 us ");
	HAS(text, "lost: 200 us, 20.0 % of 1.00 ms: waiting for a CPU 100 % (hog 40 100 %), unexplained 0 % ");
	HAS(text, "cause: hog 40, outside the tree,");
	HAS(text, "fix: stop hog 40,");
	LACKS(text, "--chains lists");
	LACKS(text, "Nothing is wrong");
	free(text);
	show(c, 4, NULL, 0);
	text = shown(view_summary);
	HAS(text, "--chains lists 1 more");
	free(text);
}

static void test_headlines(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct effect many[5];
	char text[CHAIN_LINE];

	effect.p99 = 1100;
	HAS(chain_headline(&r, &c, text, sizeof(text)), "cudaStreamSynchronize up to 50.0 us (50x p50");
	effect.p99 = 4000;
	HAS(chain_headline(&r, &c, text, sizeof(text)), "p99 4.00 us (4.0x p50 1.00 us)");
	effect.kind = EFFECT_GAP;
	effect.next = chain_operation(&r, "cudaLaunchKernel");
	HAS(chain_headline(&r, &c, text, sizeof(text)),
	    "gap after cudaStreamSynchronize, before cudaLaunchKernel: p99 4.00 us");
	effect.kind = EFFECT_STARVATION;
	HAS(chain_headline(&r, &c, text, sizeof(text)),
	    "main gave the device no work for 20.0 % of its active span: 10 gaps after "
	    "cudaStreamSynchronize, mean 20.0 us");
	for (unsigned int i = 0; i < 5; i++)
		many[i] = effect;
	many[2].kind = EFFECT_SLOW_CALL;
	many[3].operation = chain_operation(&r, "cudaLaunchKernel");
	many[4].operation = chain_operation(&r, "cudaStreamQuery");
	c.effects = many;
	c.effect_count = 5;
	HAS(chain_headline(&r, &c, text, sizeof(text)),
	    "mean 20.0 us; also cudaStreamSynchronize 4.0x, no work after cudaLaunchKernel 200 us, 1 more");
}

/* What the lost line says adds up, whatever the parts. */
static void test_adds_up(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct cause three[3];
	char *text;

	for (unsigned int i = 0; i < 3; i++) {
		three[i] = cause;
		three[i].ns = 66666;
	}
	three[1].kind = CAUSE_DISK;
	three[2].kind = CAUSE_WAKE_LATENCY;
	three[2].process = TASKS_UNKNOWN;
	c.causes = three;
	c.cause_count = 3;
	c.account = (struct chain_account){ .waiting = 66666, .blocked = 66666, .wake_latency = 66666,
					    .unexplained = 2 };
	c.verdict = CAUSE_NONE;
	show(&c, 1, NULL, 0);
	text = shown(view_chains);
	HAS(text, "waiting for a CPU 34 % (hog 40 33 %), waiting for the disk 33 % (hog 40 33 %), "
		  "wake-up latency 33 %, unexplained 0 % ");
	HAS(text, "account: waiting while others ran 33.4 %, wake-up latency 33.3 %, blocked 33.3 %, "
		  "unexplained 0.0 % ");
	free(text);
}

static void test_rounding(void)
{
	uint64_t parts[7], seed = 1;
	unsigned int shares[7];

	for (unsigned int round = 0; round < 2000; round++) {
		unsigned int n = 1 + round % 7, whole = round % 2 ? 100 : 1000, sum = 0;
		unsigned __int128 all = 0;

		for (unsigned int i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			parts[i] = seed >> (seed >> 58);
			all += parts[i];
		}
		shares_round(parts, n, whole, shares);
		for (unsigned int i = 0; i < n; i++) {
			sum += shares[i];
			CHECK((unsigned __int128)parts[i] * whole / all <= shares[i] &&
			      shares[i] <= (unsigned __int128)parts[i] * whole / all + 1);
		}
		CHECK(sum == whole);
	}
	parts[0] = parts[1] = 0;
	shares_round(parts, 2, 100, shares);
	CHECK(!shares[0] && !shares[1]);
}

static void test_chains(void)
{
	struct chain c = chain_of(&r, &effect, &cause), small = c;
	char *text;

	cause.hops = 3;
	cause.path[1] = chain_thread(&r, 11);
	cause.path[2] = chain_thread(&r, 21);
	c.worst[0] = (struct chain_window){ .start = MADE_START + 1, .end = MADE_START + 50001,
					    .lost = 49000, .kind = cause.kind, .process = cause.process };
	c.worst_count = 1;
	small.severity = SEVERITY_LOW;
	show(&c, 1, &small, 1);
	text = shown(view_chains);
	HAS(text, "[LOW] ");
	HAS(text, "main <- thread pt_data_pin <- worker 2, which waited for a CPU: hog 40 ran");
	HAS(text, "100.0 % 200us cpu_contention hog (outside the tree) 3 ");
	HAS(text, "worst: cudaStreamSynchronize 50.0 us at ");
	HAS(text, "lost 49.0 us: waiting for a CPU, hog 40 ");
	HAS(text, "proof: ");
	HAS(text, "evidence: ");
	free(text);
}

static void test_quiet(void)
{
	struct chain c = chain_of(&r, &effect, &cause), device;
	struct cause waits = cause;
	char *text;

	show(NULL, 0, NULL, 0);
	text = shown(view_summary);
	HAS(text, "Nothing is wrong: in 1.00 ms of CUDA work no call, gap or idle device lost 1 %");
	free(text);
	c.lost = 12000;
	c.severity = SEVERITY_LOW;
	show(NULL, 0, &c, 1);
	text = shown(view_summary);
	HAS(text, "Nothing is wrong: in 1.00 ms of CUDA work the largest loss is 1.2 %: cudaStreamSynchronize");
	HAS(text, "(--chains).");
	LACKS(text, "[LOW]");
	free(text);
	device = c;
	device.lost = 600000;
	device.harmless = true;
	device.verdict = waits.kind = CAUSE_DEVICE;
	device.causes = &waits;
	show(NULL, 0, &device, 1);
	text = shown(view_summary);
	HAS(text, "no fault of the host: waiting for the device, 60.0 %");
	LACKS(text, "largest loss");
	free(text);
	waits.kind = device.verdict = CAUSE_NETWORK;
	waits.hops = 0;
	device.effects[0].kind = EFFECT_STARVATION;
	text = shown(view_summary);
	HAS(text, "no fault of the host: waiting for the network (requests or data), 60.0 %");
	free(text);
	device.effects[0].kind = EFFECT_SLOW_CALL;
}

/* A process that never waits for the device may leave it idle unseen. */
static void test_idle_unknown(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	char *text;

	r.chains.idle_unknown = true;
	show(NULL, 0, NULL, 0);
	text = shown(view_summary);
	HAS(text, "Nothing wrong was found: in 1.00 ms of CUDA work no call or gap lost 1 % of the time; whether "
		  "the device ran out of work cannot be told: nothing in this program waits for it");
	LACKS(text, "Nothing is wrong");
	free(text);
	text = shown(view_chains);
	HAS(text, "Nothing wrong was found: no chain");
	HAS(text, "whether the device ran out of work cannot be told");
	free(text);
	show(&c, 1, NULL, 0);
	text = shown(view_chains);
	LACKS(text, "Nothing wrong was found");
	HAS(text, "whether the device ran out of work cannot be told");
	free(text);
	text = shown(document);
	HAS(text, "\"idle_unknown\": true");
	free(text);
	r.chains.idle_unknown = false;
	text = shown(document);
	HAS(text, "\"idle_unknown\": false");
	free(text);
}

static void test_cannot(void)
{
	struct cannot_tell t[2] = {
		{ .reason = CANNOT_LOST_SWITCHES, .process = chain_process(&r, 10), .lost = 400000,
		  .operation = chain_operation(&r, "cudaStreamSynchronize"), .span = 1000000, .missing = 100000 },
		{ .reason = CANNOT_FEW_CALLS },
	};
	char *text;

	r.chains.cannot = t;
	r.chains.cannot_count = 2;
	r.completeness.switches_lossy = true;
	show(NULL, 0, NULL, 0);
	text = shown(view_summary);
	HAS(text, "cannot tell why main lost 400 us (40.0 % of its active span) around cudaStreamSynchronize: "
		  "the context switches of 25.0 % of it were lost; record again with a larger --buffer.");
	HAS(text, "no operation was called ten times");
	LACKS(text, "Nothing is wrong");
	free(text);
	r.completeness.switches_lossy = false;
	t[1].reason = CANNOT_NO_SWITCHES;
	text = shown(view_summary);
	HAS(text, "25.0 % of it is unrecorded");
	HAS(text, "no context switch in the file, and --info says what was recorded; record again.");
	free(text);
	text = shown(document);
	HAS(text, "\"reason\": \"lost_switches\"");
	HAS(text, "\"quiet\": false");
	free(text);
	r.chains.cannot = NULL;
	r.chains.cannot_count = 0;
}

static void test_json(void)
{
	struct chain c = chain_of(&r, &effect, &cause);
	struct cause two[2] = { cause, cause };
	char *text;

	two[0].ns = 150000;
	two[1] = (struct cause){ .kind = CAUSE_WAKE_LATENCY, .thread = TASKS_NONE, .ns = 50000 };
	effect.kind = EFFECT_GAP;
	effect.next = chain_operation(&r, "cudaLaunchKernel");
	c.causes = two;
	c.cause_count = 2;
	show(&c, 1, NULL, 0);
	text = shown(document);
	HAS(text, "\"process\": 10, \"process_name\": \"python3\", \"role\": \"main\", \"severity\": \"HIGH\", "
		  "\"lost_ns\": 200000,");
	HAS(text, "\"operation\": \"cudaStreamSynchronize -> cudaLaunchKernel\"");
	HAS(text, "\"kind\": \"cpu_contention\", \"who\": \"hog (outside the tree)\", \"pid\": 40, "
		  "\"share\": 0.75");
	HAS(text, "\"kind\": \"wake_latency\", \"who\": \"nobody\", \"pid\": null, \"share\": 0.25");
	HAS(text, "\"quiet\": false");
	free(text);
}

static void refused(const char *request, const char *message, const char *hint)
{
	struct error e = { 0 };
	struct page page = { .file = fopen("/dev/null", "w"), .width = PAGE_WIDTH };

	if (!CHECK(view_explain(&r, request, &page, &e) == ERROR_USAGE))
		printf("%s\n", request);
	HAS(e.text, message);
	HAS(e.hint, hint);
	fclose(page.file);
}

static void test_explain_refuses(void)
{
	refused("cudaLaunchKernle", "\"cudaLaunchKernle\" was not called", "one of: cudaLaunchKernel, ");
	refused("cudaLaunchKernel@noon", "no time: \"noon\"", "seconds from the start");
	refused("cudaLaunchKernel@1.2.3", "no time: \"1.2.3\"", "");
	refused("cudaLaunchKernel@25:00:00", "no time", "");
	refused("cudaLaunchKernel@", "no time", "");
	refused("cudaLaunchKernel@7", "\"7\" is not within the recording", "it covers 0 s to 1.00 ms");
}

static void test_syscalls(void)
{
	CHECK(!strcmp(syscall_name(false, 202), "futex") && !strcmp(syscall_name(true, 98), "futex"));
	CHECK(!syscall_name(true, 202) || strcmp(syscall_name(true, 202), "futex"));
	CHECK(!syscall_name(false, 4294967295u) && !syscall_name(true, 4294967295u));
	CHECK(syscall_class(false, 230) == SYSCALL_SLEEP && syscall_class(true, 115) == SYSCALL_SLEEP);
	CHECK(syscall_class(false, 7) == SYSCALL_WAIT && syscall_class(true, 7) == SYSCALL_OTHER);
	CHECK(syscall_class(false, 44) == SYSCALL_SEND && syscall_class(false, 0) == SYSCALL_READ);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	chain_made(&r);
	test_default();
	test_headlines();
	test_adds_up();
	test_rounding();
	test_chains();
	test_quiet();
	test_idle_unknown();
	test_cannot();
	test_json();
	test_explain_refuses();
	test_syscalls();
	chain_made_release(&r);
	return check_result();
}
