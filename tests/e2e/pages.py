# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
"""Page allocations between two barriers equal the kernel's own count, events and bytes.

The counters are perf events on kmem:mm_page_alloc, one for each order, for allocations that got
a page. `perf stat` is asked as well where it is installed.
"""
import json
import os
import shutil
import subprocess
import time
import lib
from lib import check, note


def barrier_paths():
    folder = lib.scratch("barrier")
    os.mkdir(folder)
    for name in ("ready", "go"):
        os.mkfifo(os.path.join(folder, name))
    return folder


def child_of(pid):
    """The command: the recorder's child that is a pagetoucher."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
            with open(f"/proc/{entry}/comm") as f:
                name = f.read().strip()
        except OSError:
            continue
        if int(fields[1]) == pid and name == "pagetoucher":
            return int(entry)
    return 0


def perf_start(pid):
    if not shutil.which("perf"):
        return None
    perf = subprocess.Popen(["perf", "stat", "-x,", "-e", "kmem:mm_page_alloc", "-p", str(pid)],
                            stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    return perf


def perf_end(perf):
    if not perf:
        return None
    perf.send_signal(2)
    first = perf.communicate()[1].split(",")[0]
    return int(first) if first.isdigit() else None


def between(recording, pid, begin, end):
    """(events, pages) of rows whose time lies between; at each barrier the thread sleeps."""
    events = pages = 0
    for row in recording.table("switch"):
        if row["prev_tid"] == pid and begin < row["ts"] <= end:
            events, pages = events + row["prev_page_events"], pages + row["prev_pages"]
    for row in recording.table("page"):
        if row["tid"] == pid and begin < row["ts"] <= end:
            events, pages = events + row["events"], pages + row["pages"]
    return events, pages


def near(got, want, what):
    note(f"{what}: recorded {got}, the kernel counted {want}")
    check(abs(got - want) <= want * 0.001, f"{what}: {got} is not within 0.1 % of {want}")


def main():
    lib.need_recording()
    folder = barrier_paths()
    recorder, path = lib.start_record([lib.workload("pagetoucher"), "-b", folder, "-huge", "100"])
    ready = open(os.path.join(folder, "ready"), "rb", 0)
    go = open(os.path.join(folder, "go"), "wb", 0)
    ready.read(1)
    pid = child_of(recorder.pid)
    if not check(pid, "the command runs"):
        lib.finish()
    counter = subprocess.Popen([lib.workload("pagecount"), str(pid)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    counting = counter.stdout.readline() == "attached\n"
    perf = perf_start(pid)
    begin = time.monotonic_ns()
    go.write(b"g")
    ready.read(1)
    time.sleep(0.1)
    end = time.monotonic_ns()
    truth = counter.communicate("")[0]
    perf_events = perf_end(perf)
    go.write(b"g")
    lib.equal(recorder.wait(60), 0, "exit status")
    if not counting:
        lib.skip("this kernel does not let page allocations be counted")
    recording = lib.Recording(path, 0, "", "")
    events, pages = between(recording, pid, begin, end)
    truth = json.loads(truth)
    note(f"by order: {truth['orders']}")
    check(truth["events"] >= 200000, "at least 200,000 allocations")
    check(sum(truth["orders"][1:]) >= 1000, "higher orders are among them")
    near(events, truth["events"], "allocations")
    near(pages, truth["pages"], "pages")
    if perf_events is not None:
        near(events, perf_events, "allocations by perf stat")
    process = recording.process(pid)
    whole = sum(between(recording, pid, 0, 1 << 63)[0:1])
    lib.equal(process["page_allocations"], whole, "the report's count is the rows' sum")
    lib.equal(process["page_bytes"], between(recording, pid, 0, 1 << 63)[1] * os.sysconf("SC_PAGESIZE"),
              "the report's bytes")
    lib.finish()


main()
