# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
"""Calls that do not return: open when the process is killed, and left by longjmp."""
import os
import signal
import subprocess
import time
import lib
import truth
from lib import check, equal


def hanging():
    folder = lib.truth_folder()
    recorder, path = lib.start_record([lib.workload("hang")], env=lib.environment(FAKECUDA_TRUTH_DIR=folder),
                                      stdout=subprocess.PIPE)
    pid = int(recorder.stdout.readline())
    time.sleep(1.5)
    os.kill(pid, signal.SIGKILL)
    equal(recorder.wait(20), 137, "exit status")
    recording = lib.Recording(path, 137, "", "")
    rows = recording.operations(recording.process(pid)["id"])
    (_, operations), = truth.processes(folder).items()
    for name, op in operations.items():
        row = rows.get(name, {})
        equal((row.get("calls"), row.get("open")), (op.calls, op.open), f"{name} calls and open")
    text = lib.run(lib.program("ingero-report"), path).stdout
    check("open" in text and "cudaStreamSynchronize" in text, "the text lists the open call")
    opened = [r for r in recording.table("call") if r["flags"] & 0x10]
    equal(len(opened), 1, "rows of open calls")
    check(all(1.3e9 < r["duration"] < 5e9 for r in opened), f"its age: {[r['duration'] for r in opened]}")


def left():
    folder = lib.truth_folder()
    recording = lib.record([lib.workload("jump")], env=lib.environment(FAKECUDA_TRUTH_DIR=folder))
    (key, operations), = truth.processes(folder).items()
    rows = recording.operations(recording.process(key[0])["id"])
    for name, op in operations.items():
        row = rows.get(name, {})
        equal((row.get("calls"), row.get("nested")), (op.calls, op.nested), f"{name} calls and nested")
    equal(sum(1 for r in recording.table("call") if r["flags"] & 0x20), 200, "calls left by longjmp")


lib.need_recording()
hanging()
left()
lib.finish()
