# SPDX-License-Identifier: BSD-2-Clause
"""What is recorded and compared: planted changes, healthy pairs, pairs to calibrate on.

A workload is a function that gets a case (tests/blame/plant.py) and how long to record, in seconds.
A Planted has the changed workload, recorded against the base, and what must be said of the two.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests/blame"))
import plant

LAUNCH_NS = 20000
OPERATIONS = ("cudaStreamSynchronize=ns:1000,mode:device-block;cudaLaunchKernel=ns:{launch};"
              "cudaMemcpyAsync=ns:5000;cudaMemcpy=ns:5000;cudaMemsetAsync=ns:5000;"
              "cudaEventRecord=ns:2000")
DATALOADER = os.path.join(TOP, "tests/workloads/dataloader.py")
INTERPRETER = os.path.join(TOP, "tests/blame/interpreter.py")


def work(case, seconds, *options, launch=LAUNCH_NS):
    case.record([sys.executable, os.path.join(HERE, "work.py"), "--seconds", str(seconds),
                 *map(str, options)],
                env={"FAKECUDA_DEVICE_NS": "30000", "FAKECUDA_OPS": OPERATIONS.format(launch=launch)})


def job(case, *options, env=None):
    case.record([plant.program("job"), *map(str, options)], env)


# --- planted changes

def base(case, seconds):
    work(case, seconds)


def more_copies(case, seconds):
    work(case, seconds, "--copies", 2)


def slower_launch(case, seconds):
    work(case, seconds, launch=LAUNCH_NS * 6 // 5)


def added(case, seconds):
    work(case, seconds, "--set")


def removed(case, seconds):
    work(case, seconds, "--no-event")


def more_workers(case, seconds):
    work(case, seconds, "--workers", 4)


def hogs(case, seconds):
    for cpu in (0, 1):
        case.start(plant.program("hog"), "-c", str(cpu))
    time.sleep(0.05)
    work(case, seconds)


def renamed(case, seconds):
    work(case, seconds, "--renamed")


class Planted:
    """check: function that asks a Finder for what must be there. quiet: sides of the comparison on
    which no other process may have used the CPUs."""

    def __init__(self, name, workload, check, quiet=("before", "after")):
        self.name, self.workload, self.check, self.quiet = name, workload, check, quiet


class Finder:
    """The changes of a diff, asked for one by one; what is not as expected is noted."""

    def __init__(self, diff):
        self.diff, self.wrong = diff, []
        self.rows = {(c["metric"], c["subject"]): c for c in diff["changes"]}

    def hold(self, holds, text):
        if not holds:
            self.wrong.append(text)

    def change(self, metric, subject, low, high, *words):
        """The ratio is called a change, lies in [low, high] (None: no bound, or no ratio), and why
        has the words."""
        row = self.rows.get((metric, subject))
        if not row or not row["significant"]:
            self.wrong.append(f"{subject} {metric}: no change: {row and row['ratio']} "
                              f"{row and row['interval']} floor {row and row['floor']}")
            return
        ratio = row["ratio"]
        near = ratio is None or (ratio >= (low or 0) and (high is None or ratio <= high))
        self.hold(near and (ratio is not None or high is None), f"{subject} {metric}: ratio {ratio}")
        for word in words:
            self.hold(word in row["why"], f"{subject} {metric}: \"{word}\" not in \"{row['why']}\"")

    def same(self, metric, but=()):
        """Nothing of that metric changed, but for these subjects."""
        for (name, subject), row in self.rows.items():
            if name == metric and subject not in but and row["significant"]:
                self.wrong.append(f"{subject} {metric}: {row['before']} -> {row['after']}")

    def nothing_new(self, *but):
        for (name, subject), row in self.rows.items():
            if name == "calls_per_second" and row["significant"] and subject not in but:
                self.hold(row["before"] > 0 and row["after"] > 0, f"{subject} is new or gone")

    def said(self, word):
        self.hold(word in self.diff["verdict"], f"\"{word}\" not in the verdict")


COPIES = ("cudaMemcpyAsync", "cuMemcpyHtoDAsync")
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel")
SETS = ("cudaMemsetAsync", "cuMemsetD8Async")
EVENTS = ("cudaEventRecord", "cuEventRecord")


def check_copies(f):
    f.change("calls_per_step", "cudaMemcpyAsync", 1.9, 2.1)
    f.same("calls_per_step", COPIES)
    f.nothing_new()
    f.said("cudaMemcpyAsync")


def check_slower(f):
    f.change("p50", "cudaLaunchKernel", 1.12, 1.28, "own work")
    f.same("calls_per_step")
    f.nothing_new()
    f.said("cudaLaunchKernel")


def check_added(f):
    f.change("calls_per_second", "cudaMemsetAsync", None, None, "not called before")
    f.same("calls_per_step")
    f.nothing_new(*SETS)
    f.said("cudaMemsetAsync is new")


def check_removed(f):
    f.change("calls_per_second", "cudaEventRecord", 0, 0, "not called any more")
    f.same("calls_per_step")
    f.nothing_new(*EVENTS)
    f.said("cudaEventRecord is gone")


def check_workers(f):
    f.change("processes", "workers", 1.9, 2.1)
    f.same("calls_per_step")
    f.nothing_new()
    f.said("workers")


def check_hogs(f):
    """Own workers waited less where the hog had their time: then the pace tells it not for sure."""
    lost = "waiting for a CPU: others outside the tree"
    pace = f.rows["pace", "cudaStreamSynchronize"]
    if pace["significant"]:
        f.change("pace", "cudaStreamSynchronize", 0, 0.95, "hog outside the tree")
    else:
        f.change("lost_share", lost, None, None, "hog")
    f.hold(f.rows["waiting", "main"]["ratio"] > 1.1, "main did not wait for a CPU longer")
    f.same("calls_per_step")
    f.nothing_new()
    f.said("hog outside the tree")
    f.hold(any("hog" in d["after"] for d in f.diff["differences"]), "no difference in load")


def check_renamed(f):
    f.change("calls_per_second", "cudaMemcpyAsync", 0, 0, "perhaps renamed: cudaMemcpy")
    f.change("calls_per_second", "cudaMemcpy", None, None, "perhaps renamed: cudaMemcpyAsync")
    f.said("cudaMemcpy")


PLANTED = [
    Planted("copies", more_copies, check_copies), Planted("slower", slower_launch, check_slower),
    Planted("added", added, check_added), Planted("removed", removed, check_removed),
    Planted("workers", more_workers, check_workers), Planted("hogs", hogs, check_hogs, ("before",)),
    Planted("renamed", renamed, check_renamed),
]


# --- equal runs: what the floors are tested with, and what they were made with

def direct(case, seconds):
    """Batches are taken from memory, the device is busy nearly always."""
    job(case, "-copy", 1 << 20, "-think", 20, "-n", int(290 * seconds), env={"FAKECUDA_COPY": "1"})


def dataloader(case, seconds):
    case.record([sys.executable, DATALOADER, "--workers", "2", "--samples", "200", "--epochs", "2",
                 "--batches", str(int(500 * seconds)), "--kernels", "20"],
                env={"FAKECUDA_DEVICE_NS": "20000"})


def interpreter(case, seconds):
    case.record([sys.executable, INTERPRETER, "--batches", str(int(400 * seconds)), "--rest",
                 "--launches", "10"], env={"FAKECUDA_DEVICE_NS": "200000"})


HEALTHY = [("direct", direct), ("dataloader", dataloader), ("interpreter", interpreter)]


def busy(case, seconds):
    """Long launches, a device that is quick: the whole of a CPU."""
    job(case, "-n", int(700 * seconds), env={
        "FAKECUDA_DEVICE_NS": "10000", "FAKECUDA_OPS":
        "cudaStreamSynchronize=ns:1000,mode:device-spin;cudaLaunchKernel=ns:50000"})


def workers(case, seconds):
    job(case, "-workers", 2, "-make", 300, "-launches", 5, "-n", int(700 * seconds))


def serving(case, seconds):
    """It waits for requests."""
    job(case, "-idle", 2000, "-launches", 5, "-n", int(270 * seconds))


def mixed(case, seconds):
    work(case, seconds, "--set", "--collate", 100, "--think", 300)


CALIBRATION = [("busy", busy), ("workers", workers), ("serving", serving), ("mixed", mixed)]
