# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
"""A renamed copy of the runtime, opened late, is probed within milliseconds of being mapped."""
import json
import os
import shutil
import lib
import truth
from lib import check, equal, note

CALLS = 1000


def copies():
    """A wheel's way: a hash in the name, the driver beside it."""
    folder = lib.scratch("site")
    os.mkdir(folder)
    path = os.path.join(folder, "libcudart-a1b2c3d4.so.13")
    shutil.copy(os.path.join(lib.FAKECUDA, "libcudart.so.13"), path)
    shutil.copy(os.path.join(lib.FAKECUDA, "libcuda.so.1"), folder)
    return path


def library_rows(recording):
    last = {}
    for row in recording.table("library"):
        last[row["id"]] = row
    return last.values()


def once(path, pause):
    folder = lib.truth_folder()
    env = lib.environment(FAKECUDA_TRUTH_DIR=folder, LATE_LIBRARY=path)
    del env["LD_LIBRARY_PATH"]
    recording = lib.record([lib.workload("latecopy"), "-n", str(CALLS), "-ms", str(pause)], env=env)
    told = json.loads(recording.stdout)
    image = next(i for i in truth.load(folder) if i.calls)
    rows = recording.operations(recording.process(image.pid)["id"])
    got = {n: r["calls"] for n, r in rows.items()}
    found = [r for r in library_rows(recording) if os.path.realpath(r["path"]) == os.path.realpath(path)]
    if check(len(found) == 1, f"the copy is in the file: {[r['path'] for r in library_rows(recording)]}"):
        row = found[0]
        gap = row["probed"] - row["mapped"]
        note(f"mapped to probed {gap / 1e6:.1f} ms, {got}")
        check(row["mapped"] and told["began"] <= row["mapped"] <= told["ended"], "the time it was mapped")
        check(0 < gap < 50e6, f"probed {gap / 1e6:.1f} ms after it was mapped")
    return got


def main():
    lib.need_recording()
    path = copies()
    equal(once(path, 200), {"cudaStreamSynchronize": CALLS, "cuStreamSynchronize": CALLS}, "calls of the copy")
    lib.finish()


main()
