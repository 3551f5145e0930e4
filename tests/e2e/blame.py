# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
"""Planted causes of lost time, each twice, and their healthy twins: tests/blame/run, in short."""
import os
import subprocess
import sys
import lib

lib.need_recording()
runs = ["--runs", "5"] if lib.FULL else ["--short"]
sys.exit(subprocess.run([sys.executable, os.path.join(lib.TOP, "tests/blame/run"), *runs]).returncode)
