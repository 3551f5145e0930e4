#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Computes --ops, --errors, --open and --op-detail anew from ing-dump's CSV, and compares.

    views_calls.py FILE...

Written from the definitions alone: plain lists, plain sorting; no code of report/. Each partition
of an operation (threads, sizes, kinds, streams, durations) must have the operation's own sums.
Exit status 1: something differs.
"""
import collections
import csv
import json
import os
import sys
import independent as base
from chains_timeline import Timeline, RUNNING, WAITING, BLOCKED, UNRECORDED

BYTES, KIND, STREAM, OPEN, ABANDONED = 0x1, 0x2, 0x4, 0x10, 0x20
QUERY, NOT_READY, RUNTIME = 10, 600, 1
THREAD_STREAM = "per-thread default"
STREAMS = {0: "default", 1: "legacy default", 2: THREAD_STREAM}
KINDS = ["host to host", "host to device", "device to host", "device to device",
         "as the addresses say"]
STATES = "running_ns", "waiting_ns", "blocked_ns", "device_ns", "unrecorded_ns"
THROTTLED = 0x10
equal = base.equal


class Call:
    def __init__(self, rec, row, operation, symbols):
        self.end, self.ns = row["ts"], min(row["duration"], row["ts"])
        self.start = self.end - self.ns
        self.thread = rec.thread_at(row["tid"], row["ts"])
        self.process = self.thread.process if self.thread else None
        self.tid, self.depth, self.code = row["tid"], row["depth"], row["code"]
        flags = row["flags"]
        self.open = flags & (OPEN | ABANDONED)
        self.bytes = row["bytes"] if flags & BYTES else None
        self.kind = row["kind"] if flags & KIND else None
        self.good = self.code == 0 or (self.code == NOT_READY and operation["category"] == QUERY)
        self.first = False
        self.stream = "none"
        if flags & STREAM:
            self.stream = stream_of(row["stream"], symbols.get(row["probe"], ""))
        self.who = self.process.pid if self.process else None, self.tid if self.thread else None

    def order(self):
        return -self.ns, self.start, self.tid, self.depth


def stream_of(stream, symbol):
    if stream == 0 and symbol.endswith(("_ptsz", "_ptds")):
        return THREAD_STREAM
    return STREAMS.get(stream) or hex(stream)


def begun_in_sight(process):
    if process is None:
        return False
    return process.born or bool(process.flags & base.ROOT and process.execed)


def mark_firsts(calls):
    by_process = collections.defaultdict(list)
    for c in calls:
        if c.good and not c.open and begun_in_sight(c.process):
            by_process[c.process].append(c)
    for own in by_process.values():
        min(own, key=lambda c: (c.start, c.end, c.tid, c.depth)).first = True


def read(path):
    """The recording, and calls by operation's name."""
    rec = base.Recording(path)
    base.switches(rec)
    operations = {r["id"]: r for r in rec.tables["operation"]}
    symbols = {r["id"]: r["symbol"] for r in base.table(path, "probe")}
    calls = collections.defaultdict(list)
    for row in rec.tables["call"]:
        if row["ts"] <= rec.end:
            operation = operations[row["operation"]]
            calls[operation["name"]].append(Call(rec, row, operation, symbols))
    for own in calls.values():
        mark_firsts(own)
    return rec, {o["name"]: o for o in operations.values()}, calls


def report(path, *options):
    return json.loads(base.program("ingero-report", "--json", *options, path))


# ---- figures

def figures(calls):
    values = sorted(c.ns for c in calls if c.good and not c.first)
    good = [c for c in calls if c.good]
    return {
        "calls": len(calls), "nested": sum(c.depth > 0 for c in calls),
        "failed": len(calls) - len(good), "percentile_n": len(values),
        "p50_ns": base.percentile(values, 500), "p95_ns": base.percentile(values, 950),
        "p99_ns": base.percentile(values, 990), "max_ns": values[-1] if values else None,
        "total_ns": sum(c.ns for c in good if not c.depth),
        "bytes": sum(c.bytes or 0 for c in good),
        "inside_ns": sum(c.ns for c in good if c.bytes is not None),
    }


def compare_figures(row, calls, what):
    want = figures(calls)
    for key, value in want.items():
        if key in row:
            equal(row[key], value, f"{what} {key}")
    if row.get("bytes_per_second") is not None:
        rate = want["bytes"] * 10**9 // want["inside_ns"]
        equal(row["bytes_per_second"], rate, f"{what} bytes_per_second")


def near(got, want, what):
    equal(abs(got - want) <= 1e-6 + abs(want) * 1e-9, True, f"{what}: {got}, and not {want}:")


# ---- --ops

def is_nested(row):
    return row["calls"] > 0 and row["calls"] == row["nested"]


def compare_operations(path, rec, operations, calls, opened):
    rows = report(path, "--ops")["operations"]
    seconds = (rec.end - rec.start) / 1e9
    names = {name for name, own in calls.items() if own} | {o[3] for o in opened}
    equal(sorted(r["name"] for r in rows), sorted(names), "operations")
    order = [(is_nested(r), -r["total_ns"], -r["calls"], r["name"]) for r in rows]
    equal(order, sorted(order), "order of operations, nested ones last")
    for row in rows:
        name = row["name"]
        own = [c for c in calls.get(name, []) if not c.open]
        compare_figures(row, own, name)
        equal(row["open"], sum(o[3] == name for o in opened), f"{name} open")
        layer = "runtime" if operations[name]["layer"] == RUNTIME else "driver"
        equal(row["layer"], layer, f"{name} layer")
        first = max((c.ns for c in own if c.first), default=None)
        equal(row["first_max_ns"], first, f"{name} first_max_ns")
        near(row["share_of_span"], row["total_ns"] / 1e9 / seconds, f"{name} share_of_span")
        near(row["calls_per_second"], row["calls"] / seconds, f"{name} calls_per_second")
    compare_csv(path, rows)
    return rows


def compare_csv(path, rows):
    lines = list(csv.DictReader(base.program("ingero-report", "--csv", "--ops", path).splitlines()))
    equal(len(lines), len(rows), "lines of CSV")
    for line, row in zip(lines, rows):
        for key in ("name", "calls", "failed", "p50_ns", "p99_ns", "total_ns"):
            equal(line[key], "" if row[key] is None else str(row[key]), f"CSV {row['name']} {key}")


# ---- --errors, --open

def compare_errors(path, calls):
    want = collections.Counter()
    for name, own in calls.items():
        for c in own:
            if not c.open and not c.good:
                want[c.who[0], name, c.code] += 1
    rows = report(path, "--errors")["errors"]
    got = {(r["pid"], r["operation"], r["code"]): r["count"] for r in rows}
    equal(got, dict(want), "errors")
    equal(all(r["name"].startswith("cudaErrorMemory") for r in rows if r["code"] == 2 and
              r["operation"].startswith("cuda")), True, "name of code 2")


def open_calls(rec, operations, calls):
    """(pid, tid, start, operation, age, depth, reason)"""
    names = {o["id"]: o["name"] for o in operations.values()}
    found, seen, told = [], set(), set()
    for name, own in calls.items():
        for c in own:
            if c.open:
                found.append((*c.who, c.start, name, c.ns, c.depth,
                              "thread ended" if c.open & OPEN else "abandoned"))
    for r in rec.tables["call"]:
        seen.add((rec.thread_at(r["tid"], r["ts"]), r["ts"] - r["duration"]))
    last = {}
    for r in rec.tables["state"]:
        if r["kind"] == base.THREAD:
            thread = rec.thread_at(r["tid"], r["ts"])
            last[thread] = max(last.get(thread, 0), r["ts"])
    for r in rec.tables["state"]:
        thread = rec.thread_at(r["tid"], r["ts"])
        key = thread, r["since"]
        if r["kind"] != base.OPEN_CALL or r["ts"] < last.get(thread, 0) or r["since"] > rec.end or \
                key in seen or (key, r["depth"]) in told:
            continue
        told.add((key, r["depth"]))
        end = thread.exit or rec.end
        found.append((thread.process.pid, thread.tid, r["since"], names[r["operation"]],
                      end - r["since"], r["depth"], "thread ended" if thread.exit else "end"))
    return found


def compare_open(path, rec, opened):
    rows = report(path, "--open")["open_calls"]
    got = [(r["pid"], r["tid"], r["start_ns"] + rec.start, r["operation"], r["age_ns"], r["depth"],
            r["reason"]) for r in rows]
    equal(sorted(got), sorted(opened), "open calls")
    ages = [r["age_ns"] for r in rows]
    equal(ages, sorted(ages, reverse=True), "oldest first")


# ---- --op-detail

def size_class(c):
    if c.bytes is None:
        return None, None
    if c.bytes == 0:
        return 0, 1
    low = 1 << (c.bytes.bit_length() - 1)
    return low, 2 * low


def kind_class(c):
    return ("none", None) if c.kind is None else \
        (KINDS[c.kind], c.kind) if c.kind < len(KINDS) else ("other", None)


PARTITIONS = {
    "by_thread": (lambda r: (r["pid"], r["tid"]), lambda c: c.who),
    "by_size": (lambda r: (r["from_bytes"], r["below_bytes"]), size_class),
    "by_kind": (lambda r: (r["kind"], r["copy_kind"]), kind_class),
    "by_stream": (lambda r: (r["pid"], r["stream"]), lambda c: (c.who[0], c.stream)),
}
# Left out where no call has one.
NOTHING = {"by_size": (None, None), "by_kind": ("none", None), "by_stream": "none"}


def compare_sums(rows, whole, what):
    for field in ("calls", "nested", "failed", "total_ns", "percentile_n", "bytes"):
        if rows and field in rows[0]:
            equal(sum(r[field] for r in rows), whole[field], f"{what}: sum of {field}")


def compare_partition(key, rows, calls, whole, name):
    of_row, of_call = PARTITIONS[key]
    groups = collections.defaultdict(list)
    for c in calls:
        groups[of_call(c)].append(c)
    if key in NOTHING and all(NOTHING[key] in (g, g[1]) for g in groups):
        equal(rows, [], f"{name} {key}, where there is none")
        return
    equal(sorted(map(str, map(of_row, rows))), sorted(map(str, groups)), f"{name} {key}")
    for row in rows:
        compare_figures(row, groups[of_row(row)], f"{name} {key} {of_row(row)}")
    compare_sums(rows, whole, f"{name} {key}")
    values = [r["max_ns"] for r in rows if r["max_ns"] is not None]
    equal(max(values, default=None), whole["max_ns"], f"{name}: largest max_ns {key}")


def compare_durations(rows, calls, whole, name):
    values = [c.ns for c in calls if c.good and not c.first]
    steps = [0] + [m * 10**e for e in range(20) for m in (1, 2, 5) if m * 10**e < 1 << 64]
    equal(sum(r["calls"] for r in rows), whole["percentile_n"], f"{name}: sum of durations")
    last = 0
    for r in rows:
        place = steps.index(r["from_ns"])
        below = steps[place + 1] if place + 1 < len(steps) else None
        equal(r["below_ns"], below, f"{name} bin {r['from_ns']}")
        inside = sum(r["from_ns"] <= v and (below is None or v < below) for v in values)
        equal(r["calls"], inside, f"{name}: durations from {r['from_ns']}")
        last += inside
        near(r["share"], inside / len(values), f"{name} share from {r['from_ns']}")
        near(r["share_up_to"], last / len(values), f"{name} share up to {below}")


def compare_slowest(rec, rows, calls, name):
    want = sorted(calls, key=Call.order)[:10]
    fields = "duration_ns", "start_ns", "pid", "tid", "bytes", "code", "depth"
    equal([tuple(r[f] for f in fields) for r in rows],
          [(c.ns, c.start - rec.start, c.who[0], c.tid, c.bytes, c.code, c.depth) for c in want],
          f"{name} slowest")
    for r, c in zip(rows, want):
        what = f"{name} slowest {r['rank']}"
        equal(r["stream"], None if c.stream == "none" else c.stream, f"{what} stream")
        equal(r["kind"], None if c.kind is None else kind_class(c)[0], f"{what} kind")
        equal("first" in (r["note"] or ""), c.first, f"{what} first")
        equal("failed" in (r["note"] or ""), not c.good, f"{what} failed")
    return want


def waited_unrecorded(timeline, p):
    """Of a wait: on CPUs of which nobody knows who had them."""
    return sum(b - a for a, b, thread in timeline.slices(p.cpu, p.start, p.end) if thread is None)


def compare_accounts(timeline, rows, slowest, name):
    for r, c in zip(rows, slowest):
        what = f"{name} account {r['rank']}"
        equal(sum(r[s] for s in STATES), c.ns, f"{what}: sum")
        equal(r["duration_ns"], c.ns, f"{what}: duration_ns")
        if not c.thread:
            continue
        sums, hidden, sure = collections.Counter(), 0, True
        for p in timeline.pieces(c.thread, c.start, c.end):
            sums[p.state] += p.end - p.start
            if p.state == WAITING:
                hidden += waited_unrecorded(timeline, p)
                sure &= not (p.row and p.row["next_flags"] & THROTTLED)
        equal(r["unrecorded_ns"] >= sums[UNRECORDED], True, f"{what}: unrecorded_ns")
        if name in timeline.synchronising:
            equal(r["running_ns"], 0, f"{what}: running_ns of a call that waits for the device")
            equal(r["device_ns"] >= sums[RUNNING], True, f"{what}: device_ns")
            continue
        equal(r["running_ns"], sums[RUNNING], f"{what}: running_ns")
        equal(r["device_ns"], 0, f"{what}: device_ns")
        if sure:
            equal(r["waiting_ns"], sums[WAITING] - hidden, f"{what}: waiting_ns")
        equal(r["blocked_ns"] <= sums[BLOCKED], True, f"{what}: blocked_ns")


def compare_detail(path, rec, timeline, whole, calls):
    name = whole["name"]
    own = [c for c in calls if not c.open]
    detail = report(path, "--op-detail", name)
    equal(detail["operation"], [whole], f"{name} as --ops has it")
    for key in PARTITIONS:
        compare_partition(key, detail[key], own, whole, name)
    compare_durations(detail["durations"], own, whole, name)
    slowest = compare_slowest(rec, detail["slowest"], own, name)
    compare_accounts(timeline, detail["slowest_accounts"], slowest, name)
    compare_one_thread(path, detail["by_thread"], name)
    compare_narrowed(path, rec, name, own)


def compare_one_thread(path, rows, name):
    """Narrowed to the thread with most calls, the operation is what its class was."""
    if not rows:
        return
    most = max(rows, key=lambda r: r["calls"])
    narrowed = report(path, "--op-detail", name, "--tid", str(most["tid"]))
    same = [r for r in rows if r["tid"] == most["tid"]]
    equal(narrowed["by_thread"], same, f"{name} --tid {most['tid']}")
    if len(same) == 1:
        whole = narrowed["operation"][0]
        for field in most.keys() & whole.keys():
            equal(whole[field], most[field], f"{name} --tid {most['tid']} {field}")


def compare_narrowed(path, rec, name, calls):
    """The middle half of the span: what returned in it, and partitions that add up."""
    quarter = (rec.end - rec.start) // 4
    first, end = rec.start + quarter, rec.start + 3 * quarter
    want = figures([c for c in calls if not c.open and first <= c.end < end])
    if not want["calls"]:
        return
    span = [f"{ns // 10**9}.{ns % 10**9:09}" for ns in (quarter, 3 * quarter)]
    detail = report(path, "--op-detail", name, "--from", span[0], "--to", span[1])
    whole = detail["operation"][0]
    for key in ("calls", "nested", "failed", "total_ns", "bytes"):
        equal(whole[key], want[key], f"{name} from {span[0]} to {span[1]} {key}")
    for part in PARTITIONS:
        compare_sums(detail[part], whole, f"{name} narrowed, {part}")
    equal(sum(r["calls"] for r in detail["durations"]), whole["percentile_n"],
          f"{name} narrowed: durations")
    for a in detail["slowest_accounts"]:
        equal(sum(a[s] for s in STATES), a["duration_ns"], f"{name} narrowed: account {a['rank']}")


def compare(path):
    rec, operations, calls = read(path)
    opened = open_calls(rec, operations, calls)
    rows = compare_operations(path, rec, operations, calls, opened)
    compare_errors(path, calls)
    compare_open(path, rec, opened)
    timeline = Timeline(rec, rec.tables["switch"])
    for row in rows:
        compare_detail(path, rec, timeline, row, calls.get(row["name"], []))
    count = sum(map(len, calls.values()))
    print(f"{os.path.basename(path)}: {len(rows)} operations, {count} calls compared")


def main():
    for path in sys.argv[1:]:
        compare(path)
    if base.failures:
        print(f"{base.failures} figures differ")
    return 1 if base.failures else 0


if __name__ == "__main__":
    sys.exit(main())
