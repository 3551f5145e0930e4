#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Narrowed reports against the tables: what --pid, --tid, --comm, --role and --op leave.

    select_truth.py FILE...

Everything but the roles, which are a guess of the report's own, comes from ing-dump's CSV, as in
independent.py. Each filter, pairs of filters, and sums over partitions: the parts of a process, the
processes and the operations add up to the whole. INGERO_BIN says where the programs are. Exit
status 1: something differs.
"""
import collections
import fnmatch
import itertools
import json
import os
import sys

import independent
from independent import ABANDONED, NOT_READY, OPEN, OPEN_CALL, QUERY, THREAD, TREE, UNKNOWN, equal, program

SUMS = {"switches_voluntary": "voluntary", "switches_involuntary": "involuntary", "running_ns": "running",
        "waiting_ns": "waiting", "blocked_ns": "blocked", "unrecorded_ns": "unrecorded",
        "page_allocations": "page_events", "off_cpu_periods": "periods"}
ADD = ("calls", "failed", "nested", "open", "total_ns", "percentile_n", "bytes")
STALLS = 5

Call = collections.namedtuple("Call", "thread process name start ts duration depth code good bytes")


def stalls_of_tails(rec):
    """Periods off the CPU that last to the end, by thread; fills in lives as independent.py does."""
    found = {}
    tail = independent.tail

    def noting(thread, begin, end):
        before = thread.waiting + thread.blocked
        tail(thread, begin, end)
        found[thread] = (thread.waiting + thread.blocked - before, end)
    independent.tail = noting
    independent.lives(rec)
    independent.tail = tail
    return found


class Truth:
    def __init__(self, path):
        self.path = path
        self.rec = independent.Recording(path)
        independent.switches(self.rec)
        independent.pages(self.rec)
        self.find_stalls(stalls_of_tails(self.rec))
        self.find_names()
        self.find_calls()
        self.find_open()
        self.whole = self.report()
        self.pair()

    def report(self, **options):
        given = [f"--{name}={value}" for name, value in options.items()]
        return json.loads(program("ingero-report", "--json", *given, self.path))

    def find_stalls(self, tails):
        self.stalls = collections.defaultdict(list)
        for r in self.rec.tables["switch"]:
            thread = self.rec.thread_at(r["next_tid"], r["ts"])
            if thread and r["ts"] <= self.rec.end and not r["next_flags"] & UNKNOWN and r["next_off"]:
                self.stalls[thread].append((r["next_off"], r["ts"]))
        for thread, (off, end) in tails.items():
            if off:
                self.stalls[thread].append((off, end))

    def find_names(self):
        """The last name, and each that an exec or a rename gave: not the one a fork came with."""
        sequences = collections.defaultdict(list)
        for r in sorted(self.rec.tables["task"], key=lambda r: r["ts"]):
            thread = self.rec.thread_at(r["tid"], r["ts"])
            names = sequences[thread]
            if r["ts"] <= self.rec.end and r["name"] != "" and names[-1:] != [str(r["name"])]:
                names.append(str(r["name"]))
        self.names = {thread: set(names[1:] or names) for thread, names in sequences.items()}

    def find_calls(self):
        operations = {r["id"]: r for r in self.rec.tables["operation"]}
        self.calls, self.open, self.ended = [], [], set()
        self.returned = set()
        for r in self.rec.tables["call"]:
            thread = self.rec.thread_at(r["tid"], r["ts"])
            operation = operations[r["operation"]]
            start = r["ts"] - r["duration"]
            self.returned.add((thread, start))
            if r["ts"] > self.rec.end:
                continue
            if r["flags"] & (OPEN | ABANDONED):
                self.open.append((thread, operation["name"]))
                continue
            good = r["code"] == 0 or (r["code"] == NOT_READY and operation["category"] == QUERY)
            self.calls.append(Call(thread, thread.process if thread else None, operation["name"], start, r["ts"],
                                   r["duration"], r["depth"], r["code"], good, r["bytes"]))

    def find_open(self):
        names = {r["id"]: r["name"] for r in self.rec.tables["operation"]}
        last, told = collections.defaultdict(int), set()
        rows = [(r, self.rec.thread_at(r["tid"], r["ts"])) for r in self.rec.tables["state"]]
        for r, thread in rows:
            if r["kind"] == THREAD:
                last[thread] = max(last[thread], r["ts"])
        for r, thread in rows:
            key = thread, r["since"]
            if r["kind"] == OPEN_CALL and r["ts"] >= last[thread] and r["since"] <= self.rec.end and \
                    key not in self.returned and (key, r["depth"]) not in told:
                told.add((key, r["depth"]))
                self.open.append((thread, names[r["operation"]]))

    def pair(self):
        """Processes of the report and of the tables: both in order of appearance."""
        by_pid = collections.defaultdict(list)
        for process in self.rec.processes:
            by_pid[process.pid].append(process)
        self.ids, self.roles = {}, {}
        for p in self.whole["processes"]:
            candidates = [q for q in by_pid[p["pid"]] if bool(q.flags & TREE) == p["in_tree"]]
            process = next(q for q in candidates if q not in self.ids)
            self.ids[process], self.roles[process] = p["id"], p["role"] or "other"

    # --- which threads and operations a set of options leaves

    def leader_names(self, process):
        leaders = [t for t in process.threads if t.tid == process.pid]
        return set().union(*(self.names.get(t, set()) for t in leaders[-1:]))

    def matches(self, thread, options):
        process = thread.process
        if process not in self.ids:
            return False
        names = self.names.get(thread, set()) | self.leader_names(process)
        role = self.roles[process]
        wanted = {key: str(value).split(",") for key, value in options.items()}
        return all((
            "pid" not in wanted or str(process.pid) in wanted["pid"],
            "tid" not in wanted or str(thread.tid) in wanted["tid"],
            "comm" not in wanted or any(fnmatch.fnmatchcase(n, g) for n in names for g in wanted["comm"]),
            "role" not in wanted or any(role == r or role.startswith(r + " ") for r in wanted["role"])))

    def threads(self, options):
        """Those of the tree; others where they are named by number or role, or no name of the tree's matches."""
        filters = {k: v for k, v in options.items() if k in ("pid", "tid", "comm", "role")}
        found = {t for t in self.rec.threads if self.matches(t, filters)}
        inside = {t for t in found if t.process.flags & TREE}
        outside = "pid" in filters or "tid" in filters or "other" in str(filters.get("role", ""))
        return found if outside or not inside else inside

    def operations(self, options):
        called = {c.name for c in self.calls} | {name for _, name in self.open}
        found = set()
        for wanted in str(options["op"]).split(",") if "op" in options else ["*"]:
            exact = {n for n in called if n.lower() == wanted.lower()}
            part = {n for n in called if wanted.lower() in n.lower()}
            glob = {n for n in called if fnmatch.fnmatchcase(n.lower(), wanted.lower())}
            found |= glob if any(c in wanted for c in "*?[") else exact or part
        return found


def first_of(truth, process, good):
    """The first good call of the process, of whatever thread, where its start is recorded."""
    recorded = process is not None and (process.born or bool(process.flags & independent.ROOT and process.execed))
    return min(good, key=lambda c: (c.start, c.ts, c.duration)) if good and recorded else None


def figures(calls, opened, firsts):
    good = [c for c in calls if c.good]
    values = sorted(c.duration for c in good if c not in firsts)
    row = {"calls": len(calls), "failed": len(calls) - len(good), "nested": sum(c.depth > 0 for c in calls),
           "open": opened, "total_ns": sum(c.duration for c in good if not c.depth), "percentile_n": len(values),
           "max_ns": values[-1] if values else None}
    for name, permille in (("p50_ns", 500), ("p95_ns", 950), ("p99_ns", 990)):
        row[name] = independent.percentile(values, permille)
    return row


def expect_operations(truth, threads, names, everything):
    """Rows by (id of the process or None, name)."""
    def counts(c):
        return everything or c.thread in threads
    rows, firsts = {}, {}
    by_key = collections.defaultdict(list)
    for c in truth.calls:
        if c.name in names:
            by_key[c.process, c.name].append(c)
    opened = collections.Counter((t.process, name) for t, name in truth.open
                                 if name in names and (everything or t in threads))
    for key in {*by_key, *opened}:
        first = first_of(truth, key[0], [c for c in by_key[key] if c.good])
        firsts[key] = [first] if first and counts(first) else []
        mine = [c for c in by_key[key] if counts(c)]
        if mine or opened[key]:
            rows[truth.ids.get(key[0], 0), key[1]] = dict(
                figures(mine, opened[key], firsts[key]),
                first_ns=firsts[key][0].duration if firsts[key] else None)
    for name in {n for _, n in rows}:
        keys = [k for k in {*by_key, *opened} if k[1] == name]
        rows[None, name] = figures([c for k in keys for c in by_key[k] if counts(c)], sum(opened[k] for k in keys),
                                   [f for k in keys for f in firsts[k]])
    return rows


def compare_operations(truth, report, rows, what):
    told = {(o["process"], o["name"]): o for o in report["operations"]}
    equal(set(told), set(rows), f"{what}: operations")
    for key in set(told) & set(rows):
        for field, value in rows[key].items():
            equal(told[key][field], value, f"{what}: {key} {field}")


def compare_errors(truth, report, threads, names, everything, what):
    want = collections.Counter((c.name, c.code) for c in truth.calls if not c.good and c.name in names and
                               (everything or c.thread in threads))
    equal({(e["operation"], e["code"]): e["count"] for e in report["errors"]}, dict(want), f"{what}: errors")


def compare_processes(truth, report, threads, names, everything, what):
    told = {p["id"]: p for p in report["processes"]}
    ids = {truth.ids[t.process] for t in threads if t.process in truth.ids}
    equal(set(told), ids, f"{what}: processes")
    page_size = int(truth.rec.info.get("host.page_size", 0))
    for process, number in truth.ids.items():
        p = told.get(number)
        if p is None:
            continue
        mine = [t for t in process.threads if t in threads]
        for field, attribute in SUMS.items():
            equal(p[field], sum(getattr(t, attribute) for t in mine), f"{what}: {process.pid} {field}")
        equal(p["page_bytes"], sum(t.pages for t in mine) * page_size, f"{what}: {process.pid} page_bytes")
        made = sum(c.process is process and c.name in names and (everything or c.thread in threads)
                   for c in truth.calls)
        equal(p["cuda_calls"], made, f"{what}: {process.pid} cuda_calls")
        if p["in_tree"]:
            equal(len(p["thread_list"]), len(mine), f"{what}: {process.pid} threads")
            compare_stalls(truth, p, mine, f"{what}: {process.pid} stalls")


def compare_stalls(truth, p, threads, what):
    worst = sorted((off for t in threads for off, _ in truth.stalls[t]), reverse=True)[:STALLS]
    equal([s["off_ns"] for s in p["stalls"]], worst, what)
    equal({s["tid"] for s in p["stalls"]} <= {t.tid for t in threads}, True, f"{what} are of selected threads")


def shown(chain, pids, names, called):
    parts = {n for e in chain["effects"] for n in e["operation"].split(" -> ")}
    return chain["process"] in pids and chain["process"] in called and bool(parts & names)


def compare_chains(truth, report, threads, names, everything, what):
    pids = {t.process.pid for t in threads}
    called = {c.process.pid for c in truth.calls if c.process and c.name in names and
              (everything or c.thread in threads)}
    for key in ("chains", "small"):
        want = [c["lost_ns"] for c in truth.whole[key] if shown(c, pids, names, called)]
        equal([c["lost_ns"] for c in report[key]], want, f"{what}: {key}")
    equal(report["quiet"], not report["chains"] and not report["cannot_tell"], f"{what}: quiet")


def check(truth, **options):
    """One report; returns it."""
    report = truth.report(**options)
    everything = not set(options) - {"op"}
    threads, names = truth.threads(options), truth.operations(options)
    if everything:
        threads = {t for process in truth.ids for t in process.threads}
    what = f"{os.path.basename(truth.path)} " + " ".join(f"--{k}={v}" for k, v in options.items())
    compare_operations(truth, report, expect_operations(truth, threads, names, everything), what)
    compare_errors(truth, report, threads, names, everything, what)
    compare_processes(truth, report, threads, names, everything, what)
    compare_chains(truth, report, threads, names, everything, what)
    return report


def add_up(truth, whole_report, parts, what):
    """Reports of a partition of the tree's threads, or of the operations."""
    whole = {o["name"]: o for o in whole_report["operations"] if o["process"] is None}
    sums = collections.defaultdict(collections.Counter)
    for report in parts:
        for o in report["operations"]:
            if o["process"] is None:
                sums[o["name"]].update({field: o[field] for field in ADD})
    for name, o in whole.items():
        for field in ADD:
            equal(sums[name][field], o[field], f"{os.path.basename(truth.path)}: {what} add up to {name} {field}")
    equal(sum(r["cuda_calls"] for r in parts), whole_report["cuda_calls"], f"{what} add up to cuda_calls")


def add_up_processes(whole_report, parts, what):
    sums = collections.defaultdict(collections.Counter)
    for report in parts:
        for p in report["processes"]:
            sums[p["pid"]].update({field: p[field] for field in (*SUMS, "page_bytes", "cuda_calls")})
    for p in whole_report["processes"]:
        for field in (*SUMS, "page_bytes", "cuda_calls"):
            if p["in_tree"]:
                equal(sums[p["pid"]][field], p[field], f"{what} add up to {p['pid']} {field}")


def of_tree(truth):
    return [p for p in truth.ids if p.flags & TREE]


def singles(truth):
    """Each option with what the recording has, most of it by its weight."""
    tree = sorted(of_tree(truth), key=lambda p: -sum(t.running for t in p.threads))
    main = next(p for p in tree if truth.roles[p].startswith("main"))
    names = collections.Counter(n for p in tree for t in p.threads for n in truth.names[t])
    called = collections.Counter(c.name for c in truth.calls)
    outside = [p for p in truth.ids if not p.flags & TREE]
    roles = sorted({truth.roles[p].split()[0] for p in truth.ids}) + [truth.roles[tree[-1]]]
    found = {
        "role": roles,
        "pid": [main.pid, ",".join(str(p.pid) for p in tree[:2]), *(p.pid for p in outside[-1:])],
        "tid": [main.threads[-1].tid, ",".join(str(t.tid) for p in tree[:2] for t in p.threads[:2])],
        "comm": [*(n for n, _ in names.most_common(2)), "*" + next(iter(names))[2:], "[a-z]*"],
        "op": ["launch", "*Async", "cu[dm]*", *(n for n, _ in called.most_common(1))],
    }
    # Not every recording has calls of each: such a filter is an error, which report-select-errors tests.
    found["op"] = [op for op in found["op"] if truth.operations({"op": op})]
    return found


def pairs(truth, options):
    for (a, x), (b, y) in itertools.combinations(options.items(), 2):
        for one, other in itertools.islice(zip(x, reversed(y)), 2):
            if truth.threads({k: v for k, v in {a: one, b: other}.items() if k != "op"}):
                check(truth, **{a: one, b: other})


def partitions(truth):
    add_up(truth, truth.whole, [check(truth, op=name) for name in sorted(truth.operations({}))], "operations")
    owners = of_tree(truth)
    if len({p.pid for p in owners}) < len(owners):
        return
    parts = [check(truth, pid=p.pid) for p in owners]
    add_up(truth, truth.whole, parts, "processes")
    add_up_processes(truth.whole, parts, "processes")


def partitions_of_a_part(truth):
    """The same in a part of the recording; what that is itself is narrow_truth.py's."""
    span = {"from": "30%", "to": "70%"}
    whole = truth.report(**span)
    names = {o["name"] for o in whole["operations"]}
    add_up(truth, whole, [truth.report(op=name, **span) for name in sorted(names)], "operations of a part")
    threads = [t for p in whole["processes"] if p["in_tree"] for t in p["thread_list"]]
    parts = [truth.report(tid=t["tid"], **span) for t in threads[:20]]
    if len(threads) == len(parts):
        add_up(truth, whole, parts, "threads of a part")
        add_up_processes(whole, parts, "threads of a part")


def threads_partition(truth):
    tids = collections.Counter(t.tid for p in of_tree(truth) for t in p.threads)
    if max(tids.values()) > 1 or len(tids) > 20:
        return
    parts = [check(truth, tid=tid) for tid in tids]
    add_up(truth, truth.whole, parts, "threads")
    add_up_processes(truth.whole, parts, "threads")


def main():
    for path in sys.argv[1:]:
        truth = Truth(path)
        options = singles(truth)
        for name, values in options.items():
            for value in values:
                check(truth, **{name: value})
        pairs(truth, options)
        partitions(truth)
        threads_partition(truth)
        partitions_of_a_part(truth)
        print(f"{os.path.basename(path)}: narrowed as in the tables")
    if independent.failures:
        print(f"{independent.failures} figures differ")
    return 1 if independent.failures else 0


if __name__ == "__main__":
    sys.exit(main())
