// SPDX-License-Identifier: BSD-2-Clause
#include "session.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "../common/log.h"
#include "calibrate.h"
#include "cgroups.h"
#include "hostinfo.h"
#include "ingest.h"
#include "libraries.h"
#include "losses.h"
#include "mappings.h"
#include "output.h"
#include "probes.h"
#include "sources.h"
#include "sysstat.h"
#include "tasks.h"
#include "workload.h"

#define MS 1000000ull
#define DRAIN_MS 10		/* rings are emptied this often */
#define SAMPLE_NS (100 * MS)	/* system samples */
#define KEYFRAME_NS (500 * MS)	/* keyframes, and everything handed to the file */
#define ANCHOR_NS (10000 * MS)
#define EDGE_NS (1 * MS)	/* start and stop are set this far ahead */

struct session {
	const struct config *config;
	struct workload_identity identity;
	struct output output;
	struct writer *writer;
	struct workload workload;
	struct ingest *ingest;
	struct probes *probes;
	struct mappings *mappings;
	struct libraries *libraries;
	struct losses *losses;
	struct sysstat *sysstat;
	struct cgroups *cgroups;	/* NULL without */
	int epoll_fd, timer_fd;
	uint64_t start, stop;
	uint64_t next_sample, next_keyframe, next_anchor, last_keyframe;
};

/* Prepare: what can fail without touching the kernel, and the corked command. */
static int session_prepare(struct session *s, struct error *e)
{
	const struct config *c = s->config;
	int err;

	err = workload_identify(&s->identity, c->as_root, e);
	if (!err)
		err = output_open(&s->output, c->output, c->force, s->identity.uid, s->identity.gid, e);
	if (!err)
		err = writer_open(&s->writer, output_detach(&s->output), e);
	if (!err)
		err = workload_signals(&s->workload, e);
	if (!err)
		err = workload_fork(&s->workload, c->command, &s->identity, e);
	if (!err)
		err = ingest_open(&s->ingest, s->writer, e);
	if (!err)
		err = sysstat_open(&s->sysstat, e);
	if (!err && !(c->without & SOURCES_CGROUPS))
		err = cgroups_open(&s->cgroups, "/proc", e);
	return err;
}

/* The price of a probe, for the report to state. */
static void session_calibrate(struct session *s)
{
	unsigned long long page = calibrate_page();
	struct calibration c;
	struct error e = { 0 };

	if (page)
		hostinfo_put(s->writer, "record.page_fault_ns", "%llu", page);
	if (calibrate(s->probes, &c, &e)) {
		log_detail("the cost of a probe is not known: %s", e.text);
		return;
	}
	hostinfo_put(s->writer, "record.probe_call_ns", "%llu", (unsigned long long)c.call_ns);
	hostinfo_put(s->writer, "record.probe_inside_ns", "%llu", (unsigned long long)c.inside_ns);
}

/* A ring is a descriptor, and on older kernels each probe is. The command, forked before, keeps its limit. */
static void descriptors_raise(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int session_load(struct session *s, struct error *e)
{
	struct probes_config config = {
		.buffer = s->config->buffer, .keep_args = !s->config->no_args,
		.sink = ingest_record, .context = s->ingest, .without = s->config->without,
	};
	struct error late = { 0 };
	unsigned int cpus;
	int err;

	descriptors_raise();
	err = probes_open(&s->probes, &config, e);
	if (err)
		return err;
	cpus = probes_cpus(s->probes);
	session_calibrate(s);
	if (mappings_open(&s->mappings, cpus, &late)) {
		log_warning("libraries that are loaded late will not be seen: %s", late.text);
		mappings_close(s->mappings);
		s->mappings = NULL;
	}
	err = losses_open(&s->losses, s->writer, s->probes, s->mappings, e);
	log_detail("buffers: %u CPUs x 2 x %llu bytes", cpus, (unsigned long long)s->config->buffer);
	return err;
}

static int session_attach(struct session *s, struct error *e)
{
	struct libraries_config config = {
		.w = s->writer, .probes = s->probes, .mappings = s->mappings, .ingest = s->ingest,
		.enabled = s->config->enabled,
	};
	struct timespec boot;
	uint64_t born_before;
	int err;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	born_before = boot.tv_sec * 1000000000ull + boot.tv_nsec;
	ingest_operations(s->ingest);
	err = probes_attach(s->probes, e);
	if (!err)
		err = probes_snapshot(s->probes, s->workload.pid, e);
	if (!err && !ingest_root(s->ingest))
		err = error_set(e, ERROR_UNSUPPORTED, "the command is not among the tasks this kernel lists");
	if (!err)
		tasks_hidden(s->ingest, s->writer, born_before);
	if (!err)
		err = libraries_open(&s->libraries, &config, e);
	if (!err)
		err = libraries_foresee(s->libraries, s->config->command,
					s->identity.change ? s->identity.home : NULL, e);
	return err;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { ns / 1000000000ull, ns % 1000000000ull };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int poll_open(struct session *s, struct error *e)
{
	struct itimerspec period = { { 0, DRAIN_MS * MS }, { 0, DRAIN_MS * MS } };

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->epoll_fd < 0 || s->timer_fd < 0 || timerfd_settime(s->timer_fd, 0, &period, NULL) ||
	    watch(s->epoll_fd, s->timer_fd) || watch(s->epoll_fd, s->workload.signal_fd) ||
	    watch(s->epoll_fd, s->workload.pidfd) ||
	    (s->mappings && watch(s->epoll_fd, mappings_fd(s->mappings))))
		return error_system(e, "the poll loop cannot be set up");
	return 0;
}

/* Groups are looked for where processes are told: at keyframes. */
static void cgroups_watch(struct session *s)
{
	if (!s->cgroups)
		return;
	/* Processes are told by their numbers in the initial PID namespace. */
	if (hostinfo_initial_pids())
		ingest_processes(s->ingest, cgroups_process, s->cgroups);
}

static void sources_put(struct session *s, const char *key, unsigned int set)
{
	char text[SOURCES_TEXT];

	sources_text(set, text);
	if (*text)
		hostinfo_put(s->writer, key, "%s", text);
}

static void session_sources(struct session *s)
{
	unsigned int lacks = probes_lacks(s->probes);

	if (s->cgroups && !cgroups_found(s->cgroups))
		lacks |= SOURCES_CGROUPS;
	sources_put(s, "record.without", s->config->without);
	sources_put(s, "record.lacks", lacks);
}

static void session_sample(struct session *s, bool last)
{
	sysstat_sample(s->sysstat, s->writer);
	if (!s->cgroups)
		return;
	cgroups_command(s->cgroups, s->workload.pid);
	cgroups_sample(s->cgroups, s->writer, last);
}

/* Everything recorded so far goes to the file, vouched for by a keyframe taken before the last drain. */
static int session_keyframe(struct session *s, struct error *e)
{
	uint64_t now = hostinfo_now();
	int err = probes_keyframe(s->probes, s->last_keyframe, e);

	if (!err)
		err = probes_drain(s->probes, e);
	if (err)
		return err;
	losses_update(s->losses);
	losses_coverage(s->losses, s->stop && s->stop < now ? s->stop : now);
	s->last_keyframe = now;
	return writer_flush(s->writer, e);
}

static unsigned int command_interrupts(void *context)
{
	return probes_command_interrupts(context);
}

/* Go: the recording begins, then the command does. */
static int session_go(struct session *s, int *exit_status, struct error *e)
{
	struct error late = { 0 };
	int err = poll_open(s, e);

	if (err)
		return err;
	s->start = hostinfo_now() + EDGE_NS;
	probes_start(s->probes, s->start);
	hostinfo_write(s->writer, s->config, s->identity.change ? s->identity.uid : geteuid());
	hostinfo_put(s->writer, "record.start", "%llu", (unsigned long long)s->start);
	hostinfo_put(s->writer, "record.pid", "%u", ingest_root(s->ingest));
	session_sources(s);
	hostinfo_anchor(s->writer);
	cgroups_watch(s);
	sleep_until(s->start);
	err = session_keyframe(s, e);
	if (err)
		return err;
	s->next_sample = s->start;
	s->next_keyframe = s->start + KEYFRAME_NS;
	s->next_anchor = s->start + ANCHOR_NS;
	s->workload.delivered = command_interrupts;
	s->workload.context = s->probes;
	err = workload_uncork(&s->workload, exit_status, e);
	if (!err && output_commit(&s->output, &late))
		log_warning("%s", late.text);
	return err;
}

/* What is due by the clock. */
static int session_tick(struct session *s, struct error *e)
{
	uint64_t expirations, now;
	int err = 0;

	if (read(s->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
		return error_system(e, "the timer failed");
	err = probes_drain(s->probes, e);
	now = hostinfo_now();
	if (!err && now >= s->next_sample) {
		session_sample(s, false);
		s->next_sample += (1 + (now - s->next_sample) / SAMPLE_NS) * SAMPLE_NS;
	}
	if (!err && now >= s->next_anchor) {
		hostinfo_anchor(s->writer);
		s->next_anchor = now + ANCHOR_NS;
	}
	if (!err && now >= s->next_keyframe) {
		err = session_keyframe(s, e);
		s->next_keyframe = now + KEYFRAME_NS;
	}
	return err;
}

/* Until the command has ended, or a second interrupt says not to wait for it. */
static int session_loop(struct session *s, struct error *e)
{
	struct epoll_event events[8];
	int err = 0;

	while (!err && !workload_reap(&s->workload) && s->workload.interrupts < 2) {
		int n = epoll_wait(s->epoll_fd, events, 8, -1);

		if (n < 0 && errno != EINTR)
			return error_system(e, "the poll loop failed");
		for (int i = 0; i < n && !err; i++) {
			if (events[i].data.fd == s->timer_fd)
				err = session_tick(s, e);
			else if (events[i].data.fd == s->workload.signal_fd)
				workload_forward(&s->workload);
		}
		if (err)
			break;
		/* Forks first: who mapped a file is asked next. */
		err = probes_drain_life(s->probes, e);
		libraries_watch(s->libraries);
	}
	return err;
}

/* Stop: draw the line, detach what produces, then what is left in the rings. */
static int session_stop(struct session *s, struct error *e)
{
	int err;

	s->stop = hostinfo_now() + EDGE_NS;
	probes_stop(s->probes, s->stop);
	sleep_until(s->stop + EDGE_NS);
	probes_detach(s->probes);
	session_sample(s, true);
	hostinfo_anchor(s->writer);
	err = session_keyframe(s, e);
	libraries_finish(s->libraries);
	losses_finish(s->losses);
	if (ingest_commands_cut(s->ingest))
		hostinfo_put(s->writer, "record.commands_left_out", "%llu",
			     (unsigned long long)ingest_commands_cut(s->ingest));
	hostinfo_put(s->writer, "record.stop", "%llu", (unsigned long long)s->stop);
	return err;
}

/* The command is running: a recording that fails now says so in e and lets it run. */
static void session_record(struct session *s, int *exit_status, struct error *e)
{
	int err = session_loop(s, e);
	struct error later = { 0 };

	if (err) {
		log_warning("the recording stops here, the command goes on: %s", e->text);
		probes_detach(s->probes);
	}
	while (err && !workload_reap(&s->workload) && s->workload.interrupts < 2) {
		struct epoll_event event;
		uint64_t expirations;

		if (epoll_wait(s->epoll_fd, &event, 1, -1) < 0 && errno != EINTR)
			break;
		workload_forward(&s->workload);
		if (read(s->timer_fd, &expirations, sizeof(expirations)) < 0)
			continue;
	}
	*exit_status = s->workload.reaped ? workload_exit_status(s->workload.wait_status) :
					    128 + s->workload.last_signal;
	if (err)
		hostinfo_put(s->writer, "record.error", "%s", e->text);
	else
		err = session_stop(s, e);
	hostinfo_put(s->writer, "record.exit_status", "%d", *exit_status);
	if (writer_close(s->writer, err ? &later : e))
		err = ERROR_SYSTEM;
	s->writer = NULL;
}

static void session_summary(const struct session *s)
{
	struct libraries_summary l = libraries_summary(s->libraries);

	log_notice("\"%s\": %llu context switches, %llu CUDA calls; %llu probes in %u %s; %llu KiB of buffers",
		   s->config->output, (unsigned long long)ingest_rows(s->ingest, SOURCE_SWITCH),
		   (unsigned long long)l.calls, (unsigned long long)l.symbols, l.probed,
		   l.probed == 1 ? "library" : "libraries",
		   (unsigned long long)(2 * probes_cpus(s->probes) * s->config->buffer >> 10));
	if (losses_total(s->losses))
		log_warning("%llu events were lost; hint: a larger --buffer, now %llu bytes",
			    (unsigned long long)losses_total(s->losses), (unsigned long long)s->config->buffer);
	if (!l.probed)
		log_warning("no CUDA library was mapped by the command");
}

static void session_release(struct session *s)
{
	libraries_close(s->libraries);
	losses_close(s->losses);
	mappings_close(s->mappings);
	probes_close(s->probes);
	ingest_close(s->ingest);
	sysstat_close(s->sysstat);
	cgroups_close(s->cgroups);
	workload_release(&s->workload);
	if (s->writer)
		writer_abandon(s->writer);
	output_release(&s->output);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s->timer_fd >= 0)
		close(s->timer_fd);
}

int session_run(const struct config *config, int *exit_status, struct error *e)
{
	struct session s = { .config = config, .epoll_fd = -1, .timer_fd = -1, .output.fd = -1 };
	int err;

	*exit_status = CONFIG_EXIT_NOT_STARTED;
	err = session_prepare(&s, e);
	if (!err)
		err = session_load(&s, e);
	if (!err)
		err = session_attach(&s, e);
	if (!err)
		err = session_go(&s, exit_status, e);
	if (err) {
		output_discard(&s.output);
	} else {
		session_record(&s, exit_status, e);
		session_summary(&s);
	}
	session_release(&s);
	return err;
}
