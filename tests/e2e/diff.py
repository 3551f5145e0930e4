# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
"""Planted changes between two recordings, and pairs of equal runs: tests/diff/run, in short."""
import os
import subprocess
import sys
import lib

lib.need_recording()
size = ["--pairs", "5", "--healthy", "9"] if lib.FULL else ["--short"]
sys.exit(subprocess.run([sys.executable, os.path.join(lib.TOP, "tests/diff/run"), *size]).returncode)
