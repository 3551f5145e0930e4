# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
"""Each recording of a program whose first act after exec is a CUDA call holds that call."""
import lib
import truth
from lib import check, equal, note

TIMES = 100 if lib.FULL else 12


def once(i):
    folder = lib.truth_folder()
    options = ["-main"] if i % 2 else []
    recording = lib.record([lib.workload("firstcall"), *options],
                           env=lib.environment(FAKECUDA_TRUTH_DIR=folder))
    images = truth.load(folder)
    if not check(len(images) == 1 and len(images[0].calls) == 2, "the program made its call"):
        return False
    process = recording.process(images[0].pid)
    rows = recording.operations(process["id"]) if process else {}
    held = {name: row["calls"] for name, row in rows.items()}
    return check(held == {"cudaMalloc": 1, "cuMemAlloc": 1}, f"recording {i} holds the call: {held}")


lib.need_recording()
held = sum(once(i) for i in range(TIMES))
note(f"{held} of {TIMES} hold the first call")
equal(held, TIMES, "recordings that hold the first call")
lib.finish()
