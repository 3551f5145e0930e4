# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
"""Smallest buffer, launch storm on every CPU, recorder stopped for 2 s: nothing is lost silently.

For each program entries = emitted + filtered + lost; captured + lost calls = the stand-in's count.
"""
import signal
import subprocess
import time
import lib
import truth
from lib import check, equal, note

CALLS = 4000000
CALL_ENTRY, CALL_RETURN = 11, 12


def storm(folder):
    env = lib.environment(FAKECUDA_TRUTH_DIR=folder, FAKECUDA_COUNTS="1")
    recorder, path = lib.start_record([lib.workload("storm"), "-one", "-n", str(CALLS)], "--buffer", "4K",
                                      env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lib.wait_until(lambda: len(truth.load(folder)) >= 3, 20)
    time.sleep(0.2)
    recorder.send_signal(signal.SIGSTOP)
    time.sleep(2)
    recorder.send_signal(signal.SIGCONT)
    out, err = recorder.communicate(timeout=100)
    equal(recorder.returncode, 0, f"exit status ({err})")
    return lib.Recording(path, recorder.returncode, out, err)


def last_counters(recording):
    """The last row of each source and CPU counts."""
    last = {}
    for row in recording.table("counter"):
        last[row["source"], row["cpu"]] = row
    return last


def balanced(counters):
    for (source, cpu), row in counters.items():
        equal(row["emitted"] + row["filtered"] + row["lost"], row["entries"],
              f"source {source} CPU {cpu}: emitted + filtered + lost")


def loss_rows(recording, counters):
    """The history by second adds up to the counters; of mappings perf keeps no times."""
    sums = {}
    for row in recording.table("loss"):
        key = row["source"], row["cpu"]
        sums[key] = sums.get(key, 0) + row["count"]
        check(row["first"] <= row["last"], "first lost <= last lost")
    for key, row in counters.items():
        equal(sums.get(key, 0), row["lost"], f"losses by second of source, CPU {key}")


def main():
    lib.need_recording()
    folder = lib.truth_folder()
    recording = storm(folder)
    made = sum(op.calls for ops in truth.processes(folder).values() for op in ops.values())
    equal(made, CALLS, "calls the stand-in counted")
    counters = last_counters(recording)
    balanced(counters)
    loss_rows(recording, counters)
    captured = sum(1 for r in recording.table("call") if not r["flags"] & 0x30)
    lost = sum(r["lost"] + r["missed"] for (source, _), r in counters.items()
               if source in (CALL_ENTRY, CALL_RETURN))
    note(f"captured {captured}, lost {lost}, made {made}")
    check(lost > 0, "calls were lost at all")
    equal(captured + lost, made, "captured + lost calls")
    report = recording.report
    equal(report["complete"], False, "complete")
    equal(sum(o["calls"] for o in report["operations"] if o["process"] is None), captured, "calls reported")
    check(all(o["lossy"] for o in report["operations"] if o["name"] == "cudaLaunchKernel"),
          "figures that rest on losses are marked")
    text = lib.run(lib.program("ingero-report"), recording.path).stdout.splitlines()
    head = " ".join(text[:4]).lower()
    check("lost" in head or "incomplete" in head or "not complete" in head, f"the first lines say so: {text[:4]}")
    equal(lib.run(lib.program("ingero-report"), "--strict", recording.path).returncode, 5, "--strict")
    equal(lib.run(lib.program("ing-dump"), "--verify", recording.path).returncode, 0, "the file is sound")
    lib.finish()


main()
