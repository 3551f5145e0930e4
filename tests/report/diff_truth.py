#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Computes the figures of a comparison anew from ing-dump's CSV, and checks what is called a change.

    diff_truth.py BEFORE[,BEFORE...] AFTER...

Written from report/diff.h and diff_floor.h's words alone, with plain lists. Roles of processes are
taken from ingero-report --json of each recording, lost shares of chains too (within what a share
printed with the whole span in mind can be). Exit status 1: something differs.
"""
import collections
import json
import os
import sys
import independent as base
from chains_timeline import Timeline, RUNNING, WAITING, BLOCKED
from chains_windows import Windows, IDLE

STEADY_CELLS, STEADY_CUT = 8192, 100
ROLES = {"main": "main", "worker": "workers", "helper": "helpers"}
MOST_FAILURES = 40
failures = []


def check(holds, text):
    if not holds:
        failures.append(text)
        if len(failures) <= MOST_FAILURES:
            print(f"  {text}")


class Side:
    """One recording."""

    def __init__(self, path):
        self.path, self.rec = path, base.Recording(path)
        base.switches(self.rec)
        self.report = json.loads(base.program("ingero-report", "--json", path))
        operations = {r["id"]: r for r in self.rec.tables["operation"]}
        self.calls = [(r, self.rec.thread_at(r["tid"], r["ts"]), operations[r["operation"]])
                      for r in self.rec.tables["call"]
                      if r["ts"] <= self.rec.end and not r["flags"] & (base.OPEN | base.ABANDONED)]
        self.find_steady()
        self.find_roles()
        self.windows = Windows(self.rec, base.table(path, "probe"))
        self.timeline = Timeline(self.rec, base.table(path, "switch"))
        base.lives(self.rec)
        self.values = {}
        self.fill()

    def find_steady(self):
        start, length = self.rec.start, self.rec.end - self.rec.start + 1
        cells = [0] * STEADY_CELLS
        for r, _, _ in self.calls:
            if not r["depth"]:
                cells[(r["ts"] - start) * STEADY_CELLS // length] += 1
        self.start, self.end = self.rec.start, self.rec.end
        left = sum(cells) // STEADY_CUT
        if not any(cells):
            return
        first, last = self.first_beyond(cells, left), self.first_beyond(cells[::-1], left)
        self.start = start + length * first // STEADY_CELLS
        if last:
            self.end = start + length * (STEADY_CELLS - last) // STEADY_CELLS

    @staticmethod
    def first_beyond(cells, left):
        total = 0
        for i, n in enumerate(cells):
            total += n
            if total > left:
                return i
        return len(cells)

    def find_roles(self):
        by_pid = {p["pid"]: p["role"].split(" ")[0] for p in self.report["processes"] if p["in_tree"]}
        self.roles = {p: ROLES.get(by_pid.get(p.pid, ""), None) for p in self.rec.processes}
        feeding = {t.process for r, t, _ in self.calls if t and not r["depth"]}
        self.mains = sum(self.roles[p] == "main" for p in feeding) or 1
        self.span = self.end - self.start

    def steady(self, ts):
        return self.start <= ts < self.end

    def fill(self):
        steady = [c for c in self.calls if self.steady(c[0]["ts"])]
        self.by_name = collections.defaultdict(list)
        for r, thread, operation in steady:
            self.by_name[operation["name"]].append((r, thread, operation))
        for name, calls in self.by_name.items():
            self.operation(name, calls)
        self.all_calls = len(steady)
        for role in ROLES.values():
            self.role(role, {p for p, of in self.roles.items() if of == role})
        idle = [w for key, members in self.windows.groups.items() if key[0] == IDLE for w in members]
        starved = sum(max(0, min(e, self.end) - max(s, self.start)) for s, e, _ in idle)
        self.values["starved", "device"] = starved / self.span / self.mains

    def operation(self, name, calls):
        good = [r for r, _, o in calls if r["code"] == 0 or
                (r["code"] == base.NOT_READY and o["category"] == base.QUERY)]
        total = sum(r["duration"] for r in good if not r["depth"])
        counted = sorted(r["duration"] for r in good if id(r) not in self.firsts())
        self.values["calls_per_second", name] = len(calls) / self.span * 1e9
        self.values["share", name] = total / self.span / self.mains
        for metric, permille in (("p50", 500), ("p95", 950), ("p99", 990)):
            if counted:
                self.values[metric, name] = base.percentile(counted, permille)

    def firsts(self):
        """Rows of the first good call of each operation, in processes whose start is recorded."""
        if not hasattr(self, "first_rows"):
            first = {}
            for r, thread, o in self.calls:
                p = thread.process if thread else None
                good = r["code"] == 0 or (r["code"] == base.NOT_READY and o["category"] == base.QUERY)
                if not p or not good or not (p.born or (p.flags & base.ROOT and p.execed)):
                    continue
                key, when = (p, o["name"]), (r["ts"] - r["duration"], r["ts"])
                if key not in first or when < first[key][0]:
                    first[key] = when, r
            self.first_rows = {id(r) for _, r in first.values()}
        return self.first_rows

    def role(self, role, processes):
        threads = [t for p in processes for t in p.threads]
        rows = [r for r in self.rec.tables["switch"] if self.steady(r["ts"]) and
                self.rec.thread_at(r["prev_tid"], r["ts"]) in threads and r["prev_tid"]]
        pages = sum(r["prev_pages"] for r in rows)
        pages += sum(r["pages"] for r in self.rec.tables["page"] if self.steady(r["ts"]) and
                     self.rec.thread_at(r["tid"], r["ts"]) in threads)
        spent = collections.Counter()
        for t in threads:
            for piece in self.timeline.pieces(t, self.start, self.end):
                spent[piece.state] += piece.end - piece.start
        off = spent[WAITING] + spent[BLOCKED]
        both = off + spent[RUNNING]
        self.values.update({
            ("switches_per_second", role): len(rows) / self.span * 1e9,
            ("pages_per_second", role): pages / self.span * 1e9,
            ("running", role): spent[RUNNING] / self.span,
            ("waiting", role): spent[WAITING] / self.span,
            ("off_cpu_share", role): off / both if both else 0,
            ("processes", role): sum(self.alive(p) for p in processes) / self.span})
        if self.all_calls:
            self.values["switches_per_call", role] = len(rows) / self.all_calls
            self.values["pages_per_call", role] = pages / self.all_calls

    def alive(self, process):
        begin = min(t.begin for t in process.threads)
        return max(0, min(max(t.end for t in process.threads), self.end) - max(begin, self.start))

    def value(self, metric, subject, step):
        if metric == "pace":
            return self.values.get(("calls_per_second", subject), 0)
        if metric == "calls_per_step":
            return len(self.by_name[subject]) / len(self.by_name[step]) if step in self.by_name else None
        return self.values.get((metric, subject), 0)


def near(got, want):
    """JSON has six decimals."""
    return abs(got - want) <= 1e-6 + 1e-5 * abs(want)


def compare_values(document, sides):
    compared = 0
    for c in document["changes"]:
        if c["section"] == "chains":
            continue
        for which, key in enumerate(("before", "after")):
            values = [s.value(c["metric"], c["subject"], document["step"]) for s in sides[which]]
            if None in values:
                continue
            want = sum(values) / len(values)
            check(near(c[key], want), f"{c['subject']} {c['metric']} {key}: the report says {c[key]},"
                                      f" the tables say {want:.6f}")
            compared += 1
    return compared


def excludes_one(interval):
    low, high = interval
    return (low is not None and low > 1) or (high is not None and high < 1)


def judge(c):
    """What the rule makes of one comparison."""
    if not c["interval"]:
        return False
    beyond = c["floor"] is None or c["ratio"] >= c["floor"] or c["ratio"] <= 1 / c["floor"]
    return excludes_one(c["interval"]) and beyond


def edge(c):
    """Six decimals cannot tell on which side it is."""
    values = [v for v in (c["interval"] or []) if v is not None]
    close = any(abs(v - 1) < 2e-6 for v in values)
    ratio = c["ratio"]
    return close or (c["floor"] and ratio and
                     min(abs(ratio - c["floor"]), abs(ratio - 1 / c["floor"])) < 3e-6)


def check_rules(document, events):
    for c in document["changes"]:
        what = f"{c['subject']} {c['metric']}"
        check(c["significant"] == judge(c) or edge(c), f"{what}: significant is {c['significant']}")
        if c["before"] > 1e-3:
            check(abs(c["ratio"] - c["after"] / c["before"]) <= 1e-6 + 2e-3 * c["ratio"],
                  f"{what}: the ratio is not after / before")
        if c["interval"] and c["before"] > 0 and c["after"] > 0:
            low, high = c["interval"]
            check(low <= c["ratio"] + 1e-6 and (high is None or high >= c["ratio"] - 1e-6),
                  f"{what}: the ratio is not in its interval")
        if c["metric"] == "p99" and c["interval"]:
            check(events[c["subject"]] >= 1000, f"{what}: an interval on {events[c['subject']]} calls")
    count = sum(c["significant"] for c in document["changes"])
    check(count == document["significant"], "the number of changes")
    tested = sum(c["interval"] is not None for c in document["changes"])
    check(tested == document["comparisons"], "the number of comparisons")
    quiet = document["verdict"].startswith("no significant change")
    check(quiet == (count == 0), f"{count} changes, and the verdict \"{document['verdict']}\"")


def check_account(document, sides):
    """Parts of a step add up to it, and the step to the time between two of them."""
    account = document["account"]
    for key, runs in (("before_ns", sides[0]), ("after_ns", sides[1])):
        total = account[key]
        parts = sum(p[key] for p in account["parts"])
        check(abs(parts - total) <= 1e-4 * total + 1, f"parts of a step {parts}, the step {total}")
        if account["of"] != "step" or not total or any(s.mains != 1 for s in runs):
            continue
        steps = [s.span / len(s.by_name[document["step"]]) for s in runs]
        mean = sum(steps) / len(steps)
        check(abs(total - mean) <= 0.02 * mean, f"a step is {total} ns, the time between two {mean}")


def main():
    before, after = sys.argv[1].split(","), sys.argv[2:]
    text = base.program("ingero-report", "--json", "--diff", ",".join(before), *after)
    document = json.loads(text)["diff"]
    loaded = {path: Side(path) for path in {*before, *after}}
    sides = [loaded[p] for p in before], [loaded[p] for p in after]
    count = compare_values(document, sides)
    events = {c["subject"]: min(len(s.by_name[c["subject"]]) for side in sides for s in side)
              for c in document["changes"]}
    check_rules(document, events)
    check_account(document, sides)
    names = ",".join(map(os.path.basename, before)), " ".join(map(os.path.basename, after))
    print(f"{names[0]} and {names[1]}: {count} figures, "
          f"{f'{len(failures)} differ' if failures else 'all equal'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
