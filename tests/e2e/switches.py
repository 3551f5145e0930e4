# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
"""Context switches per process equal the parent's wait4 rusage; states add up to each life.

Ground truth: rusage plus one voluntary switch for each thread other than the leader. A thread
preempted again between its last act, when the kernel adds up its counts, and that last switch
has involuntary ones that rusage does not know either: rows after its exit event bound them.
"""
import collections
import csv
import json
import sys
import lib
from lib import check, equal, note


STATES = ("running_ns", "waiting_ns", "blocked_ns", "unrecorded_ns")


def breaks_of(recording):
    """Chain breaks by process."""
    _, by_tid = lib.chain_breaks(recording)
    owner = {row["tid"]: row["tgid"] for row in recording.table("task")}
    by_pid = collections.Counter()
    for tid, n in by_tid.items():
        by_pid[owner.get(tid, tid)] += n
    return by_pid


def involuntary_row(row):
    return row["prev_state"] & 0x10 or row["prev_state"] & 0xf == 0


def after_exit(recording):
    """Involuntary switches of exiting threads other than leaders, by process."""
    gone = {r["tid"]: r for r in recording.table("task") if r["event"] == lib.EXIT and r["tid"] != r["tgid"]}
    late = collections.Counter()
    for rows in lib.switch_rows(recording).values():
        for row in rows:
            exit_row = gone.get(row["prev_tid"])
            if exit_row and row["ts"] > exit_row["ts"] and involuntary_row(row):
                late[exit_row["tgid"]] += 1
    return late


def compare(recording, pid, kind, voluntary, involuntary, breaks, late):
    process = recording.process(pid)
    if not check(process, f"{kind} {pid} is in the report"):
        return
    for field, want in (("switches_voluntary", voluntary), ("switches_involuntary", involuntary)):
        got = process[field]
        more = late[pid] if field == "switches_involuntary" else 0
        note(f"{kind:6} {pid}: {field} {got}, wait4 {want}, breaks {breaks[pid]}, after exit {more}")
        check(-1 - breaks[pid] <= got - want <= 1 + breaks[pid] + more,
              f"{kind} {pid} {field}: {got}, wait4 says {want}")


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
    """The same of each thread, from its fork to its last switch, and their sums."""
    born = {r["tid"]: r["ts"] for r in recording.table("task") if r["event"] == lib.FORK}
    last = collections.Counter()
    for rows in lib.switch_rows(recording).values():
        for row in rows:
            last[row["prev_tid"]] = max(last[row["prev_tid"]], row["ts"])
    for process in recording.report["processes"]:
        sums = collections.Counter()
        for thread in process.get("thread_list", []):
            parts = {k: thread[k] for k in STATES}
            what = f"thread {thread['tid']} of {process['name']}"
            equal(sum(parts.values()), thread["life_ns"], f"{what}: states and life")
            if thread["tid"] in born and thread["end_ns"] is not None:
                equal(thread["life_ns"], last[thread["tid"]] - born[thread["tid"]], f"{what}: life")
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
    breaks, late = breaks_of(recording), after_exit(recording)
    for row in csv.DictReader(recording.stdout.splitlines()):
        compare(recording, int(row["pid"]), row["kind"], int(row["voluntary"]) + int(row["exited"]),
                int(row["involuntary"]), breaks, late)
    equal(recording.report["complete"], True, f"complete (lost: {recording.report['lost']})")
    lives(recording)
    thread_lives(recording)
    tiles(recording)


def workers():
    recording = lib.record([sys.executable, lib.DATALOADER, "--epochs", "1"], name="workers.ing")
    breaks, late = breaks_of(recording), after_exit(recording)
    usage = json.loads(recording.stdout)["workers"]
    equal(len(usage), 4, "workers")
    for pid, used in usage.items():
        compare(recording, int(pid), "worker", used["voluntary"], used["involuntary"], breaks, late)
    lives(recording)
    tiles(recording)


lib.need_recording()
kinds(1)
kinds(50)
workers()
lib.finish()
