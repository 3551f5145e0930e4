# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
"""Context switches per process equal the parent's wait4 rusage; states add up to each life.

Ground truth: rusage plus one voluntary switch for each thread other than the leader.
"""
import collections
import csv
import json
import sys
import lib
from lib import check, equal, note


FORK, EXIT = 2, 4
STATES = ("running_ns", "waiting_ns", "blocked_ns", "unrecorded_ns")


def breaks_of(recording):
    """Chain breaks by process."""
    _, by_tid = lib.chain_breaks(recording)
    owner = {row["tid"]: row["tgid"] for row in recording.table("task")}
    by_pid = collections.Counter()
    for tid, n in by_tid.items():
        by_pid[owner.get(tid, tid)] += n
    return by_pid


def compare(recording, pid, kind, voluntary, involuntary, breaks):
    process = recording.process(pid)
    if not check(process, f"{kind} {pid} is in the report"):
        return
    for field, want in (("switches_voluntary", voluntary), ("switches_involuntary", involuntary)):
        got = process[field]
        note(f"{kind:6} {pid}: {field} {got}, wait4 {want}, breaks {breaks[pid]}")
        check(abs(got - want) <= 1 + breaks[pid], f"{kind} {pid} {field}: {got}, wait4 says {want}")


def lives(recording):
    """The four states of each thread are its life, to the nanosecond; so are the sums."""
    seen = 0
    for process in recording.report["processes"]:
        parts = [process[k] for k in STATES]
        check(all(p >= 0 for p in parts), f"{process['pid']}: no state is negative: {parts}")
        if process["threads"] == 1 and process["end_ns"] is not None:
            seen += 1
            equal(sum(parts), process["end_ns"] - process["start_ns"], f"{process['name']} {process['pid']} life")
    check(seen > 0, "a process of one thread")


def thread_lives(recording):
    """The same of each thread; lives begin at the fork and end with the exit in table task."""
    born = {r["tid"]: r["ts"] for r in recording.table("task") if r["event"] == FORK}
    gone = {r["tid"]: r["ts"] for r in recording.table("task") if r["event"] == EXIT}
    for process in recording.report["processes"]:
        sums = collections.Counter()
        for thread in process.get("thread_list", []):
            parts = {k: thread[k] for k in STATES}
            what = f"thread {thread['tid']} of {process['name']}"
            equal(sum(parts.values()), thread["life_ns"], f"{what}: states and life")
            if thread["tid"] in born and thread["tid"] in gone and process["pid"] != thread["tid"]:
                least = gone[thread["tid"]] - born[thread["tid"]]
                check(least <= thread["life_ns"] < least + 20e6,
                      f"{what}: life {thread['life_ns']}, fork to exit {least}")
            sums.update(parts)
        for key, value in sums.items():
            equal(process[key], value, f"{process['pid']} {key} is the sum over its threads")


def tiles(recording):
    """Per CPU the slices tile the recording: time never goes back, breaks are counted."""
    total, _ = lib.chain_breaks(recording)
    rows = 0
    for cpu, cpu_rows in lib.switch_rows(recording).items():
        rows += len(cpu_rows)
        check(all(a["ts"] <= b["ts"] for a, b in zip(cpu_rows, cpu_rows[1:])), f"CPU {cpu} in time order")
        check(all(r["prev_tid"] != r["next_tid"] for r in cpu_rows), f"CPU {cpu}: no switch to itself")
        check(all(r["next_wait"] <= r["next_off"] for r in cpu_rows), f"CPU {cpu}: waiting is part of off-CPU")
    equal(recording.report["chain_breaks"], total, "chain breaks")
    note(f"{rows} switches, {total} chain breaks")


def kinds(threads):
    recording = lib.record([lib.workload("rusage"), "-t", str(threads)], name=f"rusage-{threads}.ing")
    breaks = breaks_of(recording)
    for row in csv.DictReader(recording.stdout.splitlines()):
        compare(recording, int(row["pid"]), row["kind"], int(row["voluntary"]) + int(row["exited"]),
                int(row["involuntary"]), breaks)
    equal(recording.report["complete"], True, f"complete (lost: {recording.report['lost']})")
    lives(recording)
    thread_lives(recording)
    tiles(recording)


def workers():
    recording = lib.record([sys.executable, lib.DATALOADER, "--epochs", "1"], name="workers.ing")
    breaks = breaks_of(recording)
    usage = json.loads(recording.stdout)["workers"]
    equal(len(usage), 4, "workers")
    for pid, used in usage.items():
        compare(recording, int(pid), "worker", used["voluntary"], used["involuntary"], breaks)
    lives(recording)
    tiles(recording)


lib.need_recording()
kinds(1)
kinds(50)
workers()
lib.finish()
