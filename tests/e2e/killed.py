# SPDX-License-Identifier: BSD-2-Clause
# timeout: 170
"""kill -9 of the recorder: the workload is unharmed, nothing stays in the kernel, the file opens.

20 random moments (FULL=1) or 4. Then a file cut at every KiB (FULL=1) or at 60 places: the same.
"""
import json
import os
import random
import subprocess
import sys
import time
import lib
from lib import check, equal, note

KILLS = 20 if lib.FULL else 4
TABLES = ["string", "info", "anchor", "task", "switch", "page", "call", "state", "system", "cpu",
          "operation", "library", "probe", "loss", "counter"]
# A hang, and a workload that has to end as ever, in one command.
COMMAND = ["sh", "-c", f'"{lib.workload("hang")}" -ms 4500 & "{sys.executable}" "{lib.DATALOADER}" '
           '--epochs 1 --batches 300 && wait $! && echo unharmed']


def opens(path, killed_at, in_call_since):
    report = lib.report_json(path)
    equal(report["closed"], False, "closed")
    equal(report["complete"], False, "complete")
    started = int(lib.info(lib.Recording(path, 0, "", ""))["record.start"])
    gap = killed_at - started - report["covered_until_ns"]
    check(gap <= 1.1e9, f"covered until {gap / 1e9:.2f} s before the kill")
    text = lib.run(lib.program("ingero-report"), path)
    equal(text.returncode, 0, "the report prints")
    check("not closed" in " ".join(text.stdout.splitlines()[:6]).lower(), "its first lines say not closed")
    open_calls = {o["name"]: o for o in report["operations"] if o["open"] and o["process"] is not None}
    if killed_at - in_call_since > 1.2e9:
        check("cudaStreamSynchronize" in open_calls, f"the open call is listed: {sorted(open_calls)}")
        check("open" in text.stdout, "and in the text")
    return gap


def tables_print(path):
    for name in TABLES:
        done = lib.run(lib.program("ing-dump"), "--csv", "--table", name, path)
        check(done.returncode == 0 and done.stdout, f"table {name} prints ({done.returncode})")
    done = lib.run(lib.program("ing-dump"), "--verify", path)
    check(done.returncode >= 0, f"--verify does not crash ({done.returncode})")


def once(i, delay):
    recorder, path = lib.start_record(COMMAND, name=f"killed-{i}.ing", stdout=subprocess.PIPE)
    first = recorder.stdout.readline()          # the hang says its PID and is in the call
    in_call_since = time.monotonic_ns()
    time.sleep(delay)
    held = lib.bpf_ids_of(recorder.pid)
    lib.kill(recorder)
    killed_at = time.monotonic_ns()
    recorder.wait()
    rest = recorder.stdout.read()               # until the last of the workload has ended
    check(first.strip().isdigit() and rest.rstrip().endswith("unharmed"), f"the workload is unharmed: {rest!r}")
    result = [line for line in rest.splitlines() if line.startswith("{")]
    check(result and json.loads(result[0])["batches"] == 300, "with its normal result")
    check(len(held) > 10, f"the recorder held BPF programs and links: {len(held)}")
    if not check(lib.wait_until(lambda: not lib.bpf_ids() & held, 5), "no BPF program stays behind"):
        note(str(lib.bpf_ids() & held))
    probes = "/sys/kernel/tracing/uprobe_events"
    if os.path.exists(probes):
        with open(probes) as f:
            equal(f.read(), "", "uprobe_events")
    if not os.path.exists(path):
        return check(False, "there is a file")
    gap = opens(path, killed_at, in_call_since)
    note(f"killed after {delay:.2f} s: {os.path.getsize(path)} bytes, covered until {gap / 1e9:.2f} s before")
    tables_print(path)
    return path


def cut(path, size):
    short = lib.scratch("cut.ing")
    with open(path, "rb") as f, open(short, "wb") as g:
        g.write(f.read(size))
    for command in (["ingero-report"], ["ingero-report", "--json"], ["ing-dump", "--verify"],
                    ["ing-dump", "--csv", "--table", "switch"]):
        done = subprocess.run([lib.program(command[0]), *command[1:], short], capture_output=True, timeout=60)
        if not check(done.returncode >= 0, f"{' '.join(command)} of {size} bytes: {done.returncode}"):
            continue
        if command[0] == "ingero-report":
            check(done.returncode in (0, 3), f"{' '.join(command)} of {size} bytes: {done.returncode}")
        if command == ["ingero-report", "--json"] and done.returncode == 0:
            check(not json.loads(done.stdout)["closed"], f"{size} bytes: not closed")


def cuts():
    recording = lib.record([sys.executable, lib.DATALOADER, "--epochs", "1", "--batches", "60"], name="whole.ing")
    size = os.path.getsize(recording.path)
    step = 1024 if lib.FULL else max(1024, size // 60)
    for at in range(0, size, step):
        cut(recording.path, at)
    note(f"cut at {len(range(0, size, step))} places of {size} bytes")


def main():
    lib.need_recording()
    rng = random.Random(7 if not lib.FULL else None)
    for i in range(KILLS):
        once(i, 0.05 + 3.5 * (i + rng.random()) / KILLS)
    cuts()
    lib.finish()


main()
