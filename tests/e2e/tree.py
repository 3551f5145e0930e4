# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
"""The process tree: children of threads, double-forked, re-parented, exec chains, an exec by a
thread that is not the leader, 500 short children, a reused PID; each with parent, name, exit code.
"""
import csv
import os
import lib
from lib import check, equal, note


def code(status):
    """Of a wait status: what exit() was given, or 128 and the signal."""
    number = os.waitstatus_to_exitcode(status)
    return number if number >= 0 else 128 - number


def rows_of(recording):
    """What the tree builder says, in order of birth within a PID."""
    return list(csv.DictReader(recording.stdout.splitlines()))


def number_of(rows, row):
    """How many processes before this one had its PID."""
    return sum(r["pid"] == row["pid"] for r in rows[:rows.index(row)])


def compare(recording, rows, row):
    pid, what = int(row["pid"]), f"{row['label']} {row['pid']}"
    process = recording.process(pid, number_of(rows, row))
    if not check(process, f"{what} is in the report"):
        return
    equal(process["in_tree"], True, f"{what} in_tree")
    equal(process["ppid"], int(row["ppid"]), f"{what} ppid")
    equal(process["name"], row["name"], f"{what} name")
    if row["label"] != "root":
        equal(process["exit_code"], code(int(row["status"])), f"{what} exit code")
    check((process["end_ns"] or 0) > process["start_ns"], f"{what} has a life")


def reused(recording, rows):
    last = rows[-1]
    if last["label"] != "reused":
        note("PIDs could not be reused here (/proc/sys/kernel/ns_last_pid)")
        return
    same = [p for p in recording.report["processes"] if p["pid"] == int(last["pid"])]
    equal(len(same) >= 2, True, "a reused PID is two processes")
    check(len({p["id"] for p in same}) == len(same), "each has an id of its own")
    check(len({p["start_ns"] for p in same}) == len(same), "each has a start of its own")


def exec_of_thread(recording, rows):
    """The thread that exec'd takes over the PID; its old number is kept."""
    pid = next(int(r["pid"]) for r in rows if r["label"] == "thread-exec")
    execs = [r for r in recording.table("task") if r["event"] == lib.EXEC and r["tgid"] == pid]
    equal(len(execs), 1, "execs of the process whose thread exec'd")
    for row in execs:
        equal(row["tid"], pid, "after the exec the thread has the number of the process")
        check(row["other_tid"] not in (0, pid), f"its number before is kept: {row['other_tid']}")


def main():
    lib.need_recording()
    recording = lib.record([lib.workload("tree")])
    rows = rows_of(recording)
    known = [r for r in rows if r["label"] not in ("reused", "not-reused")]
    equal(sum(r["label"] == "short" for r in known), 500, "short children")
    for row in known:
        compare(recording, known, row)
    reused(recording, rows)
    exec_of_thread(recording, rows)
    ours = {int(r["pid"]) for r in known}
    extra = {p["pid"] for p in recording.report["processes"] if p["in_tree"]} - ours
    equal(extra, set(), "processes nobody made")
    equal(recording.report["complete"], True, f"complete (lost: {recording.report['lost']})")
    lib.finish()


main()
