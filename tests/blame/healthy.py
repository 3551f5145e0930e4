# SPDX-License-Identifier: BSD-2-Clause
"""Healthy programs on machines as they are: none of them may raise an alarm."""
import os
import shlex
import sys
from kinds import BUSY, QUIET, Expect, hogs, job
from plant import TOP

DATALOADER = os.path.join(TOP, "tests/workloads/dataloader.py")


def idle(case, _):
    """It waits for requests itself."""
    job(case, "-idle", 5000, "-launches", 5, "-n", 150)


def busy_but_fits(case, _):
    hogs(case, 1)
    job(case, "-n", 500, env=BUSY)


def build_elsewhere(case, _):
    """The compiler on the one CPU, the job on the other."""
    source = "#include <stdio.h>\n#include <stdlib.h>\nint f(void) { return 1; }\n"
    path = os.path.join(case.folder, "source.c")
    with open(path, "w") as f:
        f.write(source)
    compile_it = shlex.join([os.environ.get("CC") or "cc", "-O2", "-c", "-o", "/dev/null", path])
    case.start_group("taskset", "-c", "0", "sh", "-c", f"while :; do {compile_it}; done")
    job(case, "-c", 1, "-n", 150)


def few_calls(case, _):
    """Too few to compare anything."""
    job(case, "-n", 2, "-launches", 2)


def short(case, _):
    """It is over after 50 ms."""
    job(case, "-n", 12)


def keeps_up(case, _):
    """Workers make a batch long before it is wanted."""
    case.record([sys.executable, DATALOADER, "--workers", "2", "--samples", "200", "--epochs", "1",
                 "--batches", "150", "--kernels", "20"], env={"FAKECUDA_DEVICE_NS": "600000"})


def direct(case, _):
    """Batches are taken from memory, the device is busy nearly always."""
    job(case, "-copy", 1 << 20, "-think", 20, "-n", 150, env={"FAKECUDA_COPY": "1"})


# name, plant, what must be said: of a program that is too short the report may say that it is
HEALTHY = [
    ("idle", idle, QUIET), ("busy-but-fits", busy_but_fits, QUIET),
    ("build-elsewhere", build_elsewhere, QUIET),
    ("few-calls", few_calls, Expect(answer="no alarm")),
    ("short", short, Expect(answer="no alarm")), ("keeps-up", keeps_up, QUIET),
    ("direct", direct, QUIET),
]
