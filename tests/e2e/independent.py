# SPDX-License-Identifier: BSD-2-Clause
# timeout: 200
"""Percentiles, sums and counts of real recordings, found anew from ing-dump's CSV.

A feeding program with workers, a tree with exec chains and reused PIDs, a recorder that was
killed, and one whose buffers were too small.
"""
import os
import subprocess
import sys
import time
import lib
from lib import check, note

COMPARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report", "independent.py")
BATCHES = "400" if lib.FULL else "80"


def compare(path):
    done = subprocess.run([sys.executable, COMPARE, path], capture_output=True, text=True)
    note((done.stdout + done.stderr).rstrip())
    check(done.returncode == 0, f"{os.path.basename(path)}: the figures are those of the tables")


def killed():
    recorder, path = lib.start_record([sys.executable, lib.DATALOADER, "--epochs", "1", "--batches", "600"],
                                      name="killed.ing", stdout=subprocess.PIPE)
    time.sleep(2.6)
    lib.kill(recorder)
    recorder.communicate()
    if check(os.path.exists(path), "the killed recorder left a file"):
        compare(path)


def main():
    lib.need_recording()
    compare(lib.record([sys.executable, lib.DATALOADER, "--epochs", "1", "--batches", BATCHES],
                       name="feeding.ing").path)
    compare(lib.record([lib.workload("tree")], name="tree.ing").path)
    compare(lib.record([lib.workload("rusage"), "-t", "8"], name="threads.ing").path)
    compare(lib.record([lib.workload("storm")], "--buffer=4K", name="small.ing").path)
    killed()
    lib.finish()


main()
