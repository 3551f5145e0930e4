#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the report on an invented recording with the answers ing-synth wrote beside it.

    answers.py FILE ANSWERS.csv
"""
import csv
import json
import os
import subprocess
import sys

BIN = os.environ.get("INGERO_BIN") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FILE = {"switch_rows": ("tables", "switch"), "call_rows": ("tables", "call"), "switch_lost": ("lost", "switch"),
        "chain_breaks": "chain_breaks", "span_ns": "span_ns"}


def of_file(report, figure):
    where = FILE[figure]
    if isinstance(where, str):
        return report[where]
    if where[0] == "tables":
        return next(t["rows"] for t in report["tables"] if t["name"] == where[1])
    return report[where[0]][where[1]]


def found(report, row):
    if row["kind"] == "file":
        return of_file(report, row["figure"])
    process = next((p for p in report["processes"] if p["pid"] == int(row["process"])), None)
    if row["kind"] == "process":
        return process and int(process[row["figure"]])
    operation = next((o for o in report["operations"] if process and o["process"] == process["id"] and
                      o["name"] == row["name"]), None)
    return operation and operation[row["figure"]]


def main():
    path, answers = sys.argv[1:]
    text = subprocess.run([os.path.join(BIN, "ingero-report"), "--json", path], capture_output=True, text=True,
                          check=True).stdout
    report = json.loads(text)
    listed = {p["pid"] for p in report["processes"]}
    wrong = compared = 0
    lost = False
    with open(answers) as f:
        for row in csv.DictReader(f):
            lost |= row["figure"] == "switch_lost" and row["value"] != "0"
            # What was lost is missing in the processes' figures. Outside the tree only who had an event
            # is listed, and the recorder is in the system's figures. chains_truth.py looks at neighbours.
            if row["kind"] == "neighbour" or row["kind"] == "process" and (lost or int(row["process"]) not in listed):
                continue
            want = int(row["value"]) if row["value"] != "" else None
            got = found(report, row)
            compared += 1
            if got != want:
                wrong += 1
                print(f"  {row['process']} {row['name']} {row['figure']}: report {got}, truth {want}")
    print(f"{os.path.basename(path)}: {wrong} of the answers differ" if wrong else
          f"{os.path.basename(path)}: all answers are the same")
    return 1 if wrong or compared < 5 else 0


sys.exit(main())
