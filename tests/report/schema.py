#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every key of the JSON document is explained in format-spec/report.md, and every key explained is there.

    schema.py FILE...    documents; together they should have every key

The parts of each chain must add up, too, and its names be known ones.
"""
import json
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Words in backquotes that are no keys.
OTHERS = {"null", "ingero-report --json", "record.start", "record.stop", "_ns", "_bytes", "info", "/proc/stat",
          "runtime", "driver", "end", "thread ended", "abandoned", "before exec", "late", "main", "main N",
          "worker N", "worker N of main M", "helper", "LOW", "MEDIUM", "HIGH", "none", "slow_call", "gap",
          "starvation", "cpu_contention", "cpu_quota", "disk", "network", "page_allocation", "lock_guess",
          "sleep", "own_work", "peer_work", "worker_startup", "wake_latency", "handoff", "initialisation",
          "external", "device", "nobody", "hog (outside the tree)", "python3 (main)",
          "pt_data_worker (worker 1)", "cudaLaunchKernel -> cudaMemcpyAsync", "lost_calls", "lost_switches",
          "no_switches", "no_calls", "few_calls", "cudaMemcpyKind", "cudaErrorMemoryAllocation",
          "CUDA_ERROR_OUT_OF_MEMORY"}


def keys_of(value, into):
    if isinstance(value, dict):
        for key, inner in value.items():
            into.add(key)
            if key != "facts":
                keys_of(inner, into)
    elif isinstance(value, list):
        for inner in value:
            keys_of(inner, into)


ACCOUNT = {"running_ns", "waiting_on_others_ns", "wake_latency_ns", "throttled_ns", "blocked_ns", "unrecorded_ns",
           "unexplained_ns"}
REASONS = {"lost_calls", "lost_switches", "no_switches", "no_calls", "few_calls"}
ROUNDING = 1000     # ns: shares of causes are rounded down
SEVERITIES = {"LOW", "MEDIUM", "HIGH"}


def kinds():
    """The kinds of causes, from their table."""
    with open(os.path.join(TOP, "format-spec/report.md")) as f:
        table = f.read().split("| kind of cause |")[1].split("\n\n")[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.M))


def check_cause(cause, wrong):
    nobody = cause["who"] == "nobody" or cause["kind"] == "cpu_quota"
    if len(cause["path"]) != cause["hops"] or (cause["pid"] is None) != nobody:
        wrong.append(f"path or pid of {cause}")


def check_chain(chain, wrong):
    account, lost = chain["account"], chain["lost_ns"]
    if set(account) != ACCOUNT or sum(account.values()) != lost:
        wrong.append(f"account: {sum(account.values())} of {lost}")
    known = sum(c["ns"] for c in chain["causes"])
    if abs(known + account["unrecorded_ns"] + account["unexplained_ns"] - lost) > ROUNDING:
        wrong.append(f"causes: {known} of {lost}")
    if sum(e["lost_ns"] for e in chain["effects"]) != lost:
        wrong.append("effects do not add up to what was lost")
    if not {c["kind"] for c in chain["causes"]} | {chain["verdict"]} <= kinds() | {"none"}:
        wrong.append("a kind of cause is not explained")
    if chain["severity"] not in SEVERITIES or not all(chain[k] for k in ("headline", "cause", "fix", "proof")):
        wrong.append("severity or a sentence is missing")
    for cause in chain["causes"]:
        check_cause(cause, wrong)


def check_chains(document):
    """What does not fit together in the chains, as text."""
    wrong = []
    for chain in document["chains"] + document["small"]:
        check_chain(chain, wrong)
    if document["quiet"] != (not document["chains"] and not document["cannot_tell"]):
        wrong.append("quiet")
    if not isinstance(document["idle_unknown"], bool):
        wrong.append("idle_unknown")
    if not {c["reason"] for c in document["cannot_tell"]} <= REASONS:
        wrong.append("an unknown reason")
    return wrong


def main():
    found, wrong = set(), []
    for path in sys.argv[1:]:
        with open(path) as f:
            document = json.load(f)
        keys_of(document, found)
        wrong += [f"{path}: {text}" for text in check_chains(document)]
    print("".join(f"{text}\n" for text in wrong), end="")
    with open(os.path.join(TOP, "format-spec/report.md")) as f:
        explained = set(re.findall(r"`([^`\n]+)`", f.read())) - OTHERS
    for key in sorted(found - explained):
        print(f"\"{key}\" is not explained")
    for key in sorted(explained - found):
        print(f"\"{key}\" is explained, but not there")
    print(f"{len(found & explained)} keys" if found == explained else "format-spec/report.md differs")
    return bool(wrong) or found != explained


sys.exit(main())
