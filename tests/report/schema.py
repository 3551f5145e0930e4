#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every key of the JSON document is explained in format-spec/report.md, and every key explained is there.

    schema.py FILE...    documents; together they should have every key
"""
import json
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Words in backquotes that are no keys.
OTHERS = {"null", "ingero-report --json", "record.start", "record.stop", "_ns", "_bytes", "info", "/proc/stat",
          "runtime", "driver", "end", "thread ended", "abandoned", "before exec", "late", "main", "main N",
          "worker N", "worker N of main M", "helper", "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY"}


def keys_of(value, into):
    if isinstance(value, dict):
        for key, inner in value.items():
            into.add(key)
            if key != "facts":
                keys_of(inner, into)
    elif isinstance(value, list):
        for inner in value:
            keys_of(inner, into)


def main():
    found = set()
    for path in sys.argv[1:]:
        with open(path) as f:
            keys_of(json.load(f), found)
    with open(os.path.join(TOP, "format-spec/report.md")) as f:
        explained = set(re.findall(r"`([^`\n]+)`", f.read())) - OTHERS
    for key in sorted(found - explained):
        print(f"\"{key}\" is not explained")
    for key in sorted(explained - found):
        print(f"\"{key}\" is explained, but not there")
    print(f"{len(found & explained)} keys" if found == explained else "format-spec/report.md differs")
    return found != explained


sys.exit(main())
