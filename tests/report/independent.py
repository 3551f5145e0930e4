#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Computes the report's figures anew from what ing-dump prints as CSV, and compares.

    independent.py FILE...

Sees nothing but the tables. Written from format-spec/ alone: plain lists, plain sorting, no shared
code. INGERO_BIN says where the programs are. Exit status 1: something differs.
"""
import collections
import csv
import json
import os
import subprocess
import sys

BIN = os.environ.get("INGERO_BIN") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SNAPSHOT, FORK, EXEC, EXIT, RENAME = 1, 2, 3, 4, 5
TREE, RECORDER, ROOT = 0x1, 0x4, 0x8
PREEMPTED, RUNNABLE, DEAD = 0x10, 0, 7
OPEN, ABANDONED = 0x10, 0x20
QUERY, NOT_READY = 10, 600
THREAD, COVERAGE, OPEN_CALL = 1, 2, 3
RUNNING, WAITING, BLOCKED = 1, 2, 3
UNKNOWN = 0x4

failures = 0


def equal(got, want, what):
    global failures
    if got != want:
        failures += 1
        if failures <= 40:
            print(f"  {what}: the report says {got}, the tables say {want}")


def cell(text):
    try:
        return int(text, 0)
    except ValueError:
        return text


def program(name, *args):
    return subprocess.run([os.path.join(BIN, name), *args], capture_output=True, text=True, check=True).stdout


def table(path, name):
    text = program("ing-dump", "--csv", "--table", name, path)
    return [{k: cell(v) for k, v in row.items()} for row in csv.DictReader(text.splitlines())]


class Thread:
    def __init__(self, process, tid, begin, born):
        self.process, self.tid, self.begin, self.born = process, tid, begin, born
        self.exit = self.died = None
        self.voluntary = self.involuntary = self.running = self.waiting = self.blocked = 0
        self.arrivals = self.periods = self.off_max = self.pages = self.page_events = 0
        self.last_in = self.last_out = self.last_page = 0
        self.first_in = None
        self.out_runnable = False
        self.key = None


class Process:
    def __init__(self, pid, start):
        self.pid, self.start = pid, start
        self.threads, self.flags, self.execed, self.born = [], 0, False, False


class Recording:
    def __init__(self, path):
        self.tables = {n: table(path, n) for n in ("info", "task", "switch", "page", "call", "state", "operation",
                                                   "counter", "loss")}
        self.info = {r["key"]: r["value"] for r in self.tables["info"]}
        self.closed = ", closed cleanly" in program("ing-dump", path).splitlines()[0]
        self.find_span()
        self.find_tasks()

    def find_span(self):
        stamps = [r["ts"] for n in ("switch", "call", "page") for r in self.tables[n]]
        self.start = int(self.info.get("record.start", min(stamps, default=0)))
        if stamps:
            self.start = min(self.start, min(stamps))
        covered = {}
        for r in self.tables["state"]:
            if r["kind"] == COVERAGE:
                covered[r["cpu"]] = max(covered.get(r["cpu"], 0), r["since"])
        if self.closed:
            self.end = max([int(self.info.get("record.stop", 0)), *stamps, *covered.values()])
        else:
            last = collections.defaultdict(int)
            for n in ("switch", "call", "page"):
                for r in self.tables[n]:
                    last[r["cpu_stream"]] = max(last[r["cpu_stream"]], r["ts"])
            self.end = min([covered.get(c, last.get(c)) for c in {*covered, *last}], default=0)
        self.end = max(self.end, self.start)

    def find_tasks(self):
        """Threads by TID, each with the time from which the number is theirs."""
        self.spans, self.processes = collections.defaultdict(list), []
        self.threads = []
        rows = sorted((r for r in self.tables["task"] if r["ts"] <= self.end), key=lambda r: r["ts"])
        for row in rows:
            self.task(row)
        # Two of one number in the order of their lives.
        for spans in self.spans.values():
            spans.sort(key=lambda s: s[0])

    def add_thread(self, row, born):
        process = next((p for p in reversed(self.processes)
                        if p.pid == row["tgid"] and (p.start == row["process_start"] or not row["process_start"])),
                       None)
        if process is None:
            process = Process(row["tgid"], row["process_start"])
            self.processes.append(process)
        thread = Thread(process, row["tid"], row["ts"] if born else self.start, born)
        thread.start = row["start"]
        process.threads.append(thread)
        self.threads.append(thread)
        self.spans[row["tid"]].append((thread.begin, thread))
        return thread

    def task(self, row):
        spans = self.spans[row["tid"]]
        if row["event"] == EXEC and row["other_tid"] not in (0, row["tid"]):
            self.take_over(row)
            spans = self.spans[row["tid"]]
        thread = spans[-1][1] if spans else None
        if thread is None or (thread.start and row["start"] and thread.start != row["start"]):
            thread = self.add_thread(row, row["event"] == FORK)
        elif row["event"] == FORK:
            thread.begin, thread.born = row["ts"], True
            spans[-1] = (row["ts"], thread)
        process = thread.process
        process.flags |= row["flags"]
        process.execed |= row["event"] == EXEC
        process.born |= row["event"] == FORK and thread.tid == process.pid
        if row["event"] == EXIT:
            thread.exit = row["ts"]

    def take_over(self, row):
        """The thread that exec'd goes on under the number of its leader, from the leader's last row on."""
        mover = self.thread_at(row["other_tid"], row["ts"])
        leader = self.thread_at(row["tid"], row["ts"])
        if mover is None or mover is leader:
            return
        seam = row["ts"]
        if leader is not None:
            leader.exit = leader.exit or row["ts"]
            dead = [r["ts"] for r in self.tables["switch"] if r["prev_tid"] == row["tid"] and
                    r["prev_state"] & 0xf == DEAD and leader.exit <= r["ts"] <= row["ts"]]
            seam = dead[-1] + 1 if dead and dead[-1] < row["ts"] else row["ts"]
        mover.start, mover.tid = row["start"], row["tid"]
        self.spans[row["tid"]].append((seam, mover))

    def thread_at(self, tid, ts):
        spans = self.spans.get(tid)
        if not spans:
            return None
        found = spans[0][1]
        for begin, thread in spans:
            if begin <= ts:
                found = thread
        return found


def switches(rec):
    """Every row's both sides, and the tiles between rows."""
    by_cpu = collections.defaultdict(list)
    for r in rec.tables["switch"]:
        if r["ts"] <= rec.end:
            by_cpu[r["cpu_stream"]].append(r)
    breaks, idle, busy = 0, 0, 0
    for r in rec.tables["state"]:
        thread = rec.thread_at(r["tid"], r["ts"]) if r["kind"] == THREAD else None
        if thread and r["since"] <= rec.end and (not thread.key or r["ts"] >= thread.key["ts"]):
            thread.key = r
    for rows in by_cpu.values():
        for r in rows:
            side(rec, r)
    for cpu, rows in by_cpu.items():
        for last, r in zip(rows, rows[1:]):
            a, b = rec.thread_at(last["next_tid"], last["ts"]), rec.thread_at(r["prev_tid"], r["ts"])
            if last["next_tid"] != r["prev_tid"] and (a is not b or a is None):
                breaks += 1
                continue
            if last["next_tid"] == 0:
                idle += r["ts"] - last["ts"]
            else:
                busy += r["ts"] - last["ts"]
            if a:
                a.running += r["ts"] - last["ts"]
        edges(rec, cpu, rows)
    quiet(rec, by_cpu)
    return breaks


def side(rec, r):
    prev, into = rec.thread_at(r["prev_tid"], r["ts"]), rec.thread_at(r["next_tid"], r["ts"])
    state = r["prev_state"]
    if prev and r["prev_tid"]:
        runnable = bool(state & PREEMPTED) or state & 0xf == RUNNABLE
        prev.involuntary += runnable
        prev.voluntary += not runnable
        prev.page_events += r["prev_page_events"]
        prev.pages += r["prev_pages"]
        if r["ts"] >= prev.last_out:
            prev.last_out, prev.out_runnable = r["ts"], runnable
        if state & 0xf == DEAD and not state & PREEMPTED:
            prev.died = r["ts"]
    if into and r["next_tid"]:
        into.waiting += r["next_wait"]
        into.blocked += r["next_off"] - r["next_wait"]
        into.periods += not r["next_flags"] & UNKNOWN
        into.arrivals = into.periods
        into.off_max = max(into.off_max, r["next_off"])
        into.last_in = max(into.last_in, r["ts"])
        into.first_in = min(into.first_in or r["ts"], r["ts"])


def edges(rec, cpu, rows):
    """Before a CPU's first row, and after its last."""
    first, last = rows[0], rows[-1]
    thread = rec.thread_at(first["prev_tid"], first["ts"])
    if thread and thread.begin <= rec.start and not (thread.first_in and thread.first_in < first["ts"]):
        thread.running += first["ts"] - rec.start
    thread = rec.thread_at(last["next_tid"], last["ts"])
    if not thread or thread.last_in > last["ts"] or thread.last_out > last["ts"]:
        return
    key = thread.key
    if key and key["ts"] > last["ts"] and (key["state"] != RUNNING or key["cpu"] != cpu):
        return
    end = thread.exit if thread.exit and last["ts"] <= thread.exit < rec.end else rec.end
    thread.running += end - last["ts"]


def quiet(rec, by_cpu):
    taken = set()
    for thread in rec.threads:
        key = thread.key
        if key and key["state"] == RUNNING and key["cpu"] not in by_cpu and key["cpu"] not in taken and \
                thread.begin <= rec.start:
            thread.running += rec.end - rec.start
            taken.add(key["cpu"])


def pages(rec):
    for r in rec.tables["page"]:
        thread = rec.thread_at(r["tid"], r["ts"])
        if thread and r["ts"] <= rec.end:
            thread.page_events += r["events"]
            thread.pages += r["pages"]
            thread.last_page = max(thread.last_page, r["ts"])
    for thread in rec.threads:
        key = thread.key
        if key and key["ts"] > thread.last_out and key["ts"] > thread.last_page:
            thread.page_events += key["page_events"]
            thread.pages += key["pages"]


def clamp(value, low, high):
    return max(low, min(value, high))


def lives(rec):
    for t in rec.threads:
        begin = max(t.begin, rec.start)
        end = rec.end
        if t.died:
            end = t.died
        elif t.exit:
            end = max(t.exit, t.last_in, t.last_out)
        begin = min(begin, end)
        if not t.died and not t.exit and not (t.last_out and t.last_in > t.last_out):
            tail(t, begin, end)
        t.begin, t.end = begin, end
        t.unrecorded = max(0, end - begin - t.running - t.waiting - t.blocked)


def tail(t, begin, end):
    """Off the CPU at the end."""
    key = t.key
    if key and key["ts"] >= t.last_out and key["ts"] >= t.last_in:
        if key["state"] == RUNNING:
            return
        since = clamp(key["since"], max(t.last_out, begin), end)
        runnable = clamp(key["runnable_since"], since, end) if key["state"] == WAITING else end
    elif t.last_out:
        since = clamp(t.last_out, begin, end)
        runnable = since if t.out_runnable else end
    else:
        return
    t.blocked += runnable - since
    t.waiting += end - runnable
    t.periods += 1
    t.off_max = max(t.off_max, end - since)


def percentile(ordered, permille):
    return ordered[(permille * len(ordered) + 999) // 1000 - 1] if ordered else None


class Group:
    def __init__(self):
        self.calls = self.failed = self.nested = self.open = self.total = 0
        self.good, self.firsts = [], 0      # good: (start, ts, duration)

    def population(self, without_first):
        ordered = sorted(self.good)
        return [d for _, _, d in (ordered[1:] if without_first else ordered)]


def calls(rec):
    operations = {r["id"]: r for r in rec.tables["operation"]}
    groups, errors = collections.defaultdict(Group), collections.Counter()
    returned = set()
    told = set()
    for r in rec.tables["call"]:
        start = r["ts"] - r["duration"]
        thread = rec.thread_at(r["tid"], r["ts"])
        returned.add((thread, start))
        if r["ts"] > rec.end:
            continue
        g = groups[thread.process if thread else None, operations[r["operation"]]["name"]]
        if r["flags"] & (OPEN | ABANDONED):
            g.open += 1
            continue
        g.calls += 1
        g.nested += r["depth"] > 0
        good = r["code"] == 0 or (r["code"] == NOT_READY and operations[r["operation"]]["category"] == QUERY)
        if not good:
            g.failed += 1
            for whose in ("all", id(thread.process) if thread else id(None)):
                errors[whose, operations[r["operation"]]["name"], r["code"]] += 1
            continue
        g.total += r["duration"] if not r["depth"] else 0
        g.good.append((start, r["ts"], r["duration"]))
    last = {}
    for r in rec.tables["state"]:
        if r["kind"] == THREAD:
            thread = rec.thread_at(r["tid"], r["ts"])
            last[thread] = max(last.get(thread, 0), r["ts"])
    for r in rec.tables["state"]:
        thread = rec.thread_at(r["tid"], r["ts"])
        key = thread, r["since"]
        if r["kind"] == OPEN_CALL and r["ts"] >= last.get(thread, 0) and r["since"] <= rec.end and \
                key not in returned and (key, r["depth"]) not in told:
            told.add((key, r["depth"]))
            groups[thread.process, operations[r["operation"]]["name"]].open += 1
    return groups, errors


def compare_operations(rec, report, groups, errors, ids):
    everything = {}
    for (process, name), g in groups.items():
        first = process is not None and bool(g.good) and \
            (process.born or bool(process.flags & ROOT and process.execed))
        values = g.population(first)
        everything.setdefault(name, []).append((g, values))
        row = ids.get((id(process), name))
        if row is None:
            equal(None, name, f"operation of process {process.pid if process else None}")
            continue
        what = f"{process.pid if process else None} {name}"
        compare_row(row, [(g, values)], what)
        equal(row["first_ns"], min(g.good)[2] if first else None, f"{what} first_ns")
    rows = {o["name"]: o for o in report["operations"] if o["process"] is None}
    equal(set(rows), set(everything), "operations")
    for name, parts in everything.items():
        compare_row(rows.get(name, collections.defaultdict(int)), parts, f"all {name}")
    whose = {row["process"]: process for (process, _), row in ids.items()} | {None: "all"}
    told = [dict(e, process=None) for e in report["errors"]] + report["process_errors"]
    equal({(whose.get(e["process"]), e["operation"], e["code"]): e["count"] for e in told}, dict(errors), "errors")


def compare_row(row, parts, what):
    values = sorted(v for _, part in parts for v in part)
    for field in ("calls", "failed", "nested", "open"):
        equal(row[field], sum(getattr(g, field) for g, _ in parts), f"{what} {field}")
    equal(row["total_ns"], sum(g.total for g, _ in parts), f"{what} total_ns")
    equal(row["percentile_n"], len(values), f"{what} percentile_n")
    for name, permille in (("p50_ns", 500), ("p95_ns", 950), ("p99_ns", 990)):
        equal(row[name], percentile(values, permille), f"{what} {name}")
    equal(row["max_ns"], values[-1] if values else None, f"{what} max_ns")
    equal(row["p99_is_max"], 0 < len(values) < 100, f"{what} p99_is_max")


def compare_processes(rec, report, groups):
    """Returns operation rows by (process, name)."""
    by_pid = collections.defaultdict(list)
    for p in report["processes"]:
        by_pid[p["pid"]].append(p)
    ids = {}
    page_size = int(rec.info.get("host.page_size", 0))
    rows = collections.defaultdict(dict)
    for o in report["operations"]:
        rows[o["process"]][o["name"]] = o
    seen = 0
    for process in rec.processes:
        threads = process.threads
        events = sum(t.voluntary + t.involuntary + t.arrivals for t in threads)
        made = sum(g.calls for (p, _), g in groups.items() if p is process)
        busy = sum(t.running + t.waiting for t in threads)
        if process.flags & RECORDER or not (process.flags & TREE or events or busy or made):
            continue
        seen += 1
        found = by_pid[process.pid].pop(0) if by_pid[process.pid] else None
        if not found:
            equal(None, process.pid, "process")
            continue
        for name, row in rows[found["id"]].items():
            ids[id(process), name] = row
        what = f"process {process.pid}"
        for field, attribute in (("switches_voluntary", "voluntary"), ("switches_involuntary", "involuntary"),
                                 ("running_ns", "running"), ("waiting_ns", "waiting"), ("blocked_ns", "blocked"),
                                 ("unrecorded_ns", "unrecorded"), ("page_allocations", "page_events")):
            equal(found[field], sum(getattr(t, attribute) for t in threads), f"{what} {field}")
        periods = sum(t.periods for t in threads)
        off = sum(t.waiting + t.blocked for t in threads)
        equal(found["off_cpu_mean_ns"], off // periods if periods else None, f"{what} off_cpu_mean_ns")
        equal(found["off_cpu_max_ns"], max(t.off_max for t in threads) if periods else None, f"{what} off_cpu_max_ns")
        equal(found["page_bytes"], sum(t.pages for t in threads) * page_size, f"{what} page_bytes")
        equal(found["threads"], len(threads), f"{what} threads")
        equal(found["cuda_calls"], made, f"{what} cuda_calls")
        equal(found["in_tree"], bool(process.flags & TREE), f"{what} in_tree")
    equal(len(report["processes"]), seen, "number of processes")
    for name, row in rows[0].items():
        ids[id(None), name] = row
    return ids


def compare_lost(rec, report):
    last = {}
    for r in rec.tables["counter"]:
        key = r["source"], r["cpu"]
        if key not in last or r["ts"] >= last[key]["ts"]:
            last[key] = r
    lost = sum(r["lost"] + r["missed"] for r in last.values())
    equal(sum(report["lost"].values()) >= lost, True, "lost is at least what the counters say")
    equal(report["complete"], rec.closed and not lost and not rec.tables["loss"] and "record.error" not in rec.info,
          "complete")


def compare(path):
    report = json.loads(program("ingero-report", "--json", path))
    rec = Recording(path)
    equal(report["span_ns"], rec.end - rec.start, "span_ns")
    equal(report["chain_breaks"], switches(rec), "chain_breaks")
    pages(rec)
    lives(rec)
    groups, errors = calls(rec)
    ids = compare_processes(rec, report, groups)
    compare_operations(rec, report, groups, errors, ids)
    compare_lost(rec, report)
    print(f"{os.path.basename(path)}: {len(rec.tables['switch'])} switches, {len(rec.tables['call'])} calls, "
          f"{len(rec.processes)} processes compared")


def main():
    for path in sys.argv[1:]:
        compare(path)
    if failures:
        print(f"{failures} figures differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
