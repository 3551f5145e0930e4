# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
"""Processes outside the tree that use a probed library: counted exactly, named, never mixed in.

And two recorders at once: each has its own tree's calls, all of them.
"""
import json
import os
import subprocess
import sys
import time
import lib
import truth
from lib import check, equal

CALLS = 10000


def outside():
    recorder, path = lib.start_record(["sleep", "3"])
    time.sleep(1.5)
    lib.run(lib.workload("storm"), "-p", "1", "-t", "2", "-n", str(CALLS), env=lib.environment())
    equal(recorder.wait(20), 0, "exit status")
    recording = lib.Recording(path, 0, "", "")
    equal(recording.table("call"), [], "calls of the tree")
    last = {row["id"]: row for row in recording.table("library")}
    equal(sum(row["outside"] for row in last.values()), CALLS, "calls from outside")
    equal([p for p in recording.report["processes"] if p["cuda_calls"]], [], "processes with calls")
    text = lib.run(lib.program("ingero-report"), "--info", path).stdout
    check("storm" in text and "outside" in text, "--info names who called from outside")
    named = recording.report["outside_calls"]
    equal(sum(row["calls"] for row in named), CALLS, "calls from outside, in the document")
    with open(lib.scratch("document.outside.json"), "w") as f:
        json.dump(recording.report, f)
    done = lib.run(sys.executable, os.path.join(lib.TOP, "tests/report/schema.py"), f.name)
    equal(done.stdout, "", "what the schema says of the document")


def two_at_once():
    folders = [lib.truth_folder(), lib.truth_folder()]
    started = []
    for i, folder in enumerate(folders):
        started.append(lib.start_record([lib.workload("storm"), "-p", "1", "-n", str(CALLS * (i + 1))],
                                        name=f"two-{i}.ing", env=lib.environment(FAKECUDA_TRUTH_DIR=folder),
                                        stdout=subprocess.DEVNULL))
    for (recorder, path), folder in zip(started, folders):
        equal(recorder.wait(30), 0, "exit status of one of two recorders")
        rows = lib.Recording(path, 0, "", "").operations(None)
        made = {}
        for operations in truth.processes(folder).values():
            for name, op in operations.items():
                made[name] = made.get(name, 0) + op.calls
        equal({n: r["calls"] for n, r in rows.items()}, made, "calls of one of two recorders")


lib.need_recording()
outside()
two_at_once()
lib.finish()
