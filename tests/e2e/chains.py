# SPDX-License-Identifier: BSD-2-Clause
# timeout: 200
"""Chains of real recordings, found anew from ing-dump's CSV: windows, lost time, who took it.

A feeding program with workers alone, on one CPU with its workers and a hog, one that many threads
of two processes feed, and one whose recorder was killed.
"""
import os
import subprocess
import sys
import time
import lib
from lib import check, note

COMPARE = os.path.join(lib.TOP, "tests/report/chains_truth.py")
BATCHES = "400" if lib.FULL else "80"
FEEDING = [sys.executable, lib.DATALOADER, "--epochs", "1", "--batches"]


def compare(path):
    done = subprocess.run([sys.executable, COMPARE, path], capture_output=True, text=True)
    note((done.stderr + done.stdout).rstrip())
    check(done.returncode == 0, f"{os.path.basename(path)}: the chains are those of the tables")


def beside_a_hog():
    hog = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"])
    try:
        return lib.record(["taskset", "-c", "0", *FEEDING, BATCHES], name="hog.ing").path
    finally:
        hog.kill()
        hog.wait()


def killed():
    recorder, path = lib.start_record([*FEEDING, "600"], name="killed.ing", stdout=subprocess.PIPE)
    time.sleep(2.6)
    lib.kill(recorder)
    recorder.communicate()
    if check(os.path.exists(path), "the killed recorder left a file"):
        compare(path)


def main():
    lib.need_recording()
    compare(lib.record([*FEEDING, BATCHES], name="feeding.ing").path)
    compare(beside_a_hog())
    storm = [lib.workload("storm"), "-p", "2", "-t", "3", "-n", "20000"]
    compare(lib.record(storm, name="storm.ing").path)
    killed()
    lib.finish()


main()
