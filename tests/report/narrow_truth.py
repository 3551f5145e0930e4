#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Computes what a report about a part of a recording must say, from ing-dump's CSV of all of it.

    narrow_truth.py [--windows=N] [--seed=N] [--lossy] FILE...

What each thread and each CPU did is laid out over the whole recording first; a window is then cut
out of that, so nothing is known here of how a reader comes by the state at a window's ends; but
where the end of a sleep is not recorded, a keyframe may tell of it all the same. Windows are
random: of all lengths down to microseconds, inside one sleep of a thread, without a row on a CPU,
at both ends of the recording, of some CPUs only, and consecutive ones, whose sums must be the
whole's. --lossy: what is missing contradicts itself, so times are not compared. Exit status 1:
something differs.
"""
import argparse
import bisect
import collections
import itertools
import json
import os
import random
import subprocess
import sys

import independent
from independent import (ABANDONED, BIN, DEAD, NOT_READY, OPEN, OPEN_CALL, PREEMPTED, QUERY,
                         RECORDER, ROOT, RUNNABLE, RUNNING, THREAD, TREE, UNKNOWN, WAITING, clamp)

failures = 0


def equal(got, want, what):
    global failures
    if got != want:
        failures += 1
        if failures <= 30:
            print(f"  {what}: the report says {got}, the tables say {want}")


def report(path, *args):
    command = [os.path.join(BIN, "ingero-report"), "--json", "--no-group", *args, path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


class Sum:
    """How much of some stretches of time lies before a moment."""
    def __init__(self):
        self.stretches = []
        self.ready = False

    def add(self, start, end):
        if start < end:
            self.stretches.append((start, end))

    def prepare(self):
        self.starts = sorted(s for s, _ in self.stretches)
        self.ends = sorted(e for _, e in self.stretches)
        self.start_sums = [0, *itertools.accumulate(self.starts)]
        self.end_sums = [0, *itertools.accumulate(self.ends)]
        self.ready = True

    def before(self, ts):
        begun, ended = bisect.bisect_left(self.starts, ts), bisect.bisect_left(self.ends, ts)
        return begun * ts - self.start_sums[begun] - (ended * ts - self.end_sums[ended])

    def between(self, a, b):
        if not self.ready:
            self.prepare()
        return self.before(b) - self.before(a)


class Events:
    """(ts, amounts...) in order of time, to be summed over a window."""
    def __init__(self):
        self.rows = []
        self.stamps = None

    def add(self, ts, *amounts):
        self.rows.append((ts, *amounts))

    def between(self, a, b):
        if self.stamps is None:
            self.rows.sort()
            self.stamps = [r[0] for r in self.rows]
        return self.rows[bisect.bisect_left(self.stamps, a):bisect.bisect_left(self.stamps, b)]


class Whole(independent.Recording):
    """The recording laid out: pieces of threads and CPUs, and events. only: rows of these CPUs."""
    def __init__(self, path, only=None):
        super().__init__(path)
        self.only = only
        for name in ("switch", "page", "call") if only else ():
            self.tables[name] = [r for r in self.tables[name] if r["cpu_stream"] in only]
        self.by_cpu = collections.defaultdict(list)
        for r in self.tables["switch"]:
            if r["ts"] <= self.end:
                self.by_cpu[r["cpu_stream"]].append(r)
        self.keys = collections.defaultdict(list)       # by thread, in order of time
        self.cpus = {c: (Sum(), Sum(), Events()) for c in self.present()}    # busy, idle, rows
        for t in self.threads:
            t.sums = {"running": Sum(), "waiting": Sum(), "blocked": Sum()}
            t.outs, t.ins, t.page_rows = Events(), Events(), Events()
        self.find_keys()
        for rows in self.by_cpu.values():
            for r in rows:
                self.row(r)
        for cpu, rows in self.by_cpu.items():
            self.tiles(cpu, rows)
        self.quiet()
        self.pages()
        for t in self.threads:
            self.life(t)

    def present(self):
        covered = {r["cpu"] for r in self.tables["state"] if r["kind"] == independent.COVERAGE}
        tables = (self.tables[n] for n in ("switch", "call", "page"))
        seen = covered | {r["cpu_stream"] for rows in tables for r in rows}
        return seen & self.only if self.only else seen

    def find_keys(self):
        for r in self.tables["state"]:
            thread = self.thread_at(r["tid"], r["ts"]) if r["kind"] == THREAD else None
            if thread:
                self.keys[thread].append(r)
            if thread and r["since"] <= self.end and \
                    (not thread.key or r["ts"] >= thread.key["ts"]):
                thread.key = r

    def row(self, r):
        prev, into = self.thread_at(r["prev_tid"], r["ts"]), self.thread_at(r["next_tid"], r["ts"])
        state = r["prev_state"]
        if prev and r["prev_tid"]:
            runnable = bool(state & PREEMPTED) or state & 0xf == RUNNABLE
            prev.outs.add(r["ts"], not runnable, runnable, r["prev_page_events"], r["prev_pages"])
            if r["ts"] >= prev.last_out:
                prev.last_out, prev.out_runnable = r["ts"], runnable
            if state & 0xf == DEAD and not state & PREEMPTED:
                prev.died = r["ts"]
        if into and r["next_tid"]:
            woken = r["ts"] - r["next_wait"]
            into.sums["waiting"].add(woken, r["ts"])
            into.sums["blocked"].add(r["ts"] - r["next_off"], woken)
            into.ins.add(r["ts"], not r["next_flags"] & UNKNOWN, r["next_off"], r["next_wait"])
            into.last_in = max(into.last_in, r["ts"])
            into.first_in = min(into.first_in or r["ts"], r["ts"])

    def run(self, cpu, thread, idle, start, end):
        busy_sum, idle_sum, _ = self.cpus[cpu]
        (idle_sum if idle else busy_sum).add(start, end)
        if thread and not idle:
            thread.sums["running"].add(start, end)

    def tiles(self, cpu, rows):
        rows_of = self.cpus[cpu][2]
        rows_of.add(rows[0]["ts"], 0)
        for last, r in zip(rows, rows[1:]):
            a = self.thread_at(last["next_tid"], last["ts"])
            b = self.thread_at(r["prev_tid"], r["ts"])
            broken = last["next_tid"] != r["prev_tid"] and (a is not b or a is None)
            rows_of.add(r["ts"], broken)
            if not broken:
                self.run(cpu, a, last["next_tid"] == 0, last["ts"], r["ts"])
        self.first_tile(cpu, rows[0])
        self.last_tile(cpu, rows[-1])

    def first_tile(self, cpu, first):
        thread = self.thread_at(first["prev_tid"], first["ts"])
        if first["prev_tid"] == 0 or thread and thread.begin <= self.start and \
                not (thread.first_in and thread.first_in < first["ts"]):
            self.run(cpu, thread, first["prev_tid"] == 0, self.start, first["ts"])

    def last_tile(self, cpu, last):
        thread, ts = self.thread_at(last["next_tid"], last["ts"]), last["ts"]
        if last["next_tid"] == 0:
            self.run(cpu, None, True, ts, self.end)
            return
        if not thread or thread.last_in > ts or thread.last_out > ts:
            return
        key = thread.key
        if key and key["ts"] > ts and (key["state"] != RUNNING or key["cpu"] != cpu):
            return
        exited = thread.exit and ts <= thread.exit < self.end
        self.run(cpu, thread, False, ts, thread.exit if exited else self.end)

    def quiet(self):
        free = set(self.cpus) - set(self.by_cpu)
        for thread in self.threads:
            key = thread.key
            if key and key["state"] == RUNNING and key["cpu"] in free and \
                    thread.begin <= self.start:
                self.run(key["cpu"], thread, False, self.start, self.end)
                free.discard(key["cpu"])
        for cpu in free:
            self.run(cpu, None, True, self.start, self.end)

    def pages(self):
        for r in self.tables["page"]:
            thread = self.thread_at(r["tid"], r["ts"])
            if thread and r["ts"] <= self.end:
                thread.page_rows.add(r["ts"], r["events"], r["pages"])
                thread.last_page = max(thread.last_page, r["ts"])
        for thread in self.threads:
            key = thread.key
            if key and key["ts"] > thread.last_out and key["ts"] > thread.last_page and \
                    (not self.only or key["cpu"] in self.only):
                thread.page_rows.add(self.end, key["page_events"], key["pages"])

    def life(self, t):
        end = self.end
        if t.died:
            end = t.died
        elif t.exit:
            end = max(t.exit, t.last_in, t.last_out)
        t.begin = min(max(t.begin, self.start), end)
        t.end = end
        if not t.died and not t.exit and not (t.last_out and t.last_in > t.last_out):
            self.tail(t)

    @staticmethod
    def tail(t):
        key = t.key
        if key and key["ts"] >= t.last_out and key["ts"] >= t.last_in:
            if key["state"] == RUNNING:
                return
            since = clamp(key["since"], max(t.last_out, t.begin), t.end)
            woken = key["runnable_since"] if key["state"] == WAITING else t.end
            runnable = clamp(woken, since, t.end)
        elif t.last_out:
            since = clamp(t.last_out, t.begin, t.end)
            runnable = since if t.out_runnable else t.end
        else:
            return
        t.sums["blocked"].add(since, runnable)
        t.sums["waiting"].add(runnable, t.end)


class Window:
    """Figures of [a, b), b itself included where it is the recording's end."""
    def __init__(self, rec, a, b):
        self.rec, self.a, self.b = rec, a, b
        self.until = b + (b == rec.end)         # for events

    def thread(self, t):
        life = max(0, min(t.end, self.b) - max(t.begin, self.a))
        outs = t.outs.between(self.a, self.until)
        ins = t.ins.between(self.a, self.until)
        f = {f"{k}_ns": s.between(self.a, self.b) for k, s in t.sums.items()}
        for key, ns in self.by_keyframe(t).items():
            f[key] += ns
        if self.rec.only:
            f["waiting_ns"] = sum(min(wait, ts - self.a) for ts, _, _, wait in ins)
            f["blocked_ns"] = sum(min(off, ts - self.a) for ts, _, off, _ in ins) - f["waiting_ns"]
        f["unrecorded_ns"] = 0 if self.rec.only else max(0, life - sum(f.values()))
        pages = t.page_rows.between(self.a, self.until)
        f["life_ns"] = life
        f["switches_voluntary"] = sum(r[1] for r in outs)
        f["switches_involuntary"] = sum(r[2] for r in outs)
        f["page_allocations"] = sum(r[3] for r in outs) + sum(r[1] for r in pages)
        f["page_bytes"] = (sum(r[4] for r in outs) + sum(r[2] for r in pages)) * \
            int(self.rec.info.get("host.page_size", 0))
        f["arrivals"] = sum(r[1] for r in ins)
        return f

    def by_keyframe(self, t):
        """A sleep over the window's end of which no row tells, as rows are missing."""
        if self.rec.only or self.b == self.rec.end or not t.begin < self.b <= t.end or \
                any(s.between(self.b - 1, self.b) for s in t.sums.values()):
            return {}
        key = self.keyframe(t)
        if not key or key["since"] >= self.b or key["state"] == RUNNING:
            return {}
        last = max((e.rows[bisect.bisect_left(e.stamps, self.b) - 1][0] for e in (t.ins, t.outs)
                    if e.stamps and e.stamps[0] < self.b), default=0)
        since = max(key["since"], self.a, t.begin, last)
        woken = key["runnable_since"] if key["state"] == WAITING else self.b
        runnable = clamp(woken, since, self.b)
        return {"blocked_ns": runnable - since, "waiting_ns": self.b - runnable}

    def keyframe(self, t):
        """The first after the end; of a thread that has not changed since the last before it."""
        keys = self.rec.keys[t]
        later = [k for k in keys if k["ts"] >= self.b]
        if later:
            return later[0]
        changed = max((e.rows[-1][0] for e in (t.ins, t.outs) if e.rows), default=0)
        same = keys and not t.process.flags & TREE and changed <= keys[-1]["ts"]
        return keys[-1] if same else None

    def cpu(self, cpu):
        busy, idle, rows = self.rec.cpus[cpu]
        f = {"busy_ns": busy.between(self.a, self.b), "idle_ns": idle.between(self.a, self.b)}
        f["unrecorded_ns"] = self.b - self.a - sum(f.values())
        inside = rows.between(self.a, self.until)
        f["switches"], f["chain_breaks"] = len(inside), sum(r[1] for r in inside)
        return f


class Calls:
    """Calls of a recording, and those of a window by process and operation."""
    def __init__(self, rec):
        self.rec = rec
        self.names = {r["id"]: r for r in rec.tables["operation"]}
        self.rows = sorted(rec.tables["call"], key=lambda r: r["ts"])
        self.stamps = [r["ts"] for r in self.rows]
        for r in self.rows:
            r["start"] = r["ts"] - r["duration"]
            thread = rec.thread_at(r["tid"], r["ts"])
            r["thread"], r["process"] = thread, thread.process if thread else None
        self.longest = max((r["duration"] for r in self.rows), default=0)
        self.find_hanging()

    def find_hanging(self):
        """Calls in the last keyframe of their thread that no row tells of."""
        told = {(r["thread"], r["start"]) for r in self.rows}
        rows = [r for r in self.rec.tables["state"] if not self.rec.only]
        last, found = {}, {}
        for r in rows:
            if r["kind"] == THREAD:
                thread = self.rec.thread_at(r["tid"], r["ts"])
                last[thread] = max(last.get(thread, 0), r["ts"])
        for r in rows:
            thread = self.rec.thread_at(r["tid"], r["ts"])
            if r["kind"] == OPEN_CALL and r["ts"] >= last.get(thread, 0) and \
                    (thread, r["since"]) not in told and r["since"] <= self.rec.end:
                found[thread, r["since"], r["depth"]] = r
        self.hanging = [(key[0], r) for key, r in found.items()]

    def window(self, w):
        groups = collections.defaultdict(independent.Group)
        first, end = bisect.bisect_left(self.stamps, w.a), bisect.bisect_left(self.stamps, w.until)
        for r in self.rows[first:end]:
            self.one(groups[r["process"], self.names[r["operation"]]["name"]], r)
        if w.b < self.rec.end:
            for r in self.rows[end:bisect.bisect_right(self.stamps, w.b + self.longest)]:
                if r["start"] < w.b:
                    groups[r["process"], self.names[r["operation"]]["name"]].open += 1
        for thread, r in self.hanging:
            if r["since"] < w.until and not (thread.exit and thread.exit < w.a):
                groups[thread.process, self.names[r["operation"]]["name"]].open += 1
        return groups

    def one(self, g, r):
        operation = self.names[r["operation"]]
        if r["flags"] & (OPEN | ABANDONED):
            g.open += 1
            return
        g.calls += 1
        g.nested += r["depth"] > 0
        if r["code"] == 0 or (r["code"] == NOT_READY and operation["category"] == QUERY):
            g.total += r["duration"] if not r["depth"] else 0
            g.good.append((r["start"], r["ts"], r["duration"]))
        else:
            g.failed += 1


def start_seen(process, w):
    """The first moments of the process lie in the window."""
    if process is None:
        return False
    if process.born:
        return process.born_at >= w.a or w.a == w.rec.start
    return bool(process.flags & ROOT and process.execed) and w.a == w.rec.start


def note_births(rec):
    for r in rec.tables["task"]:
        thread = rec.thread_at(r["tid"], r["ts"])
        if r["event"] == independent.FORK and thread and r["tid"] == r["tgid"]:
            thread.process.born_at = r["ts"]


def compare_threads(w, rows, times, what):
    by_number = collections.defaultdict(list)
    for row in rows:
        by_number[row["pid"], row["tid"]].append(row)
    alive = collections.Counter((t.process.pid, t.tid) for t in w.rec.threads
                                if min(t.end, w.b) > max(t.begin, w.a))
    for t in w.rec.threads:
        found = by_number.get((t.process.pid, t.tid), [])
        if t.process.flags & RECORDER or not found and min(t.end, w.b) <= max(t.begin, w.a):
            continue
        want = w.thread(t)
        arrivals = want.pop("arrivals")
        if w.rec.only:      # its last row may be on another CPU
            want.pop("life_ns")
        if not found:
            active = any(want[k] for k in want if k not in SLEEPING)
            if want.get("life_ns") and (t.process.flags & TREE or active):
                equal("no such row", want, f"{what} thread {t.tid}")
            continue
        if alive[t.process.pid, t.tid] > 1 or len(found) > 1 or not want.get("life_ns", 1):
            continue        # numbers used twice: the CPUs' figures and the sums vouch for them
        for key, value in want.items():
            if times or not key.endswith("_ns"):
                equal(found[0][key], value, f"{what} thread {t.tid} {key}")
        equal(found[0]["off_cpu_periods"] - arrivals in (0, 1), True,
              f"{what} thread {t.tid} off_cpu_periods")


SLEEPING = ("blocked_ns", "unrecorded_ns", "life_ns")


def compare_cpus(w, rows, times, what):
    equal({r["cpu"] for r in rows} >= set(w.rec.by_cpu), True, f"{what} CPUs")
    equal(not w.rec.only or {r["cpu"] for r in rows} <= w.rec.only, True, f"{what} CPUs left out")
    for row in rows:
        want = w.cpu(row["cpu"]) if row["cpu"] in w.rec.cpus else {}
        for key, value in want.items():
            if times or not key.endswith("_ns"):
                equal(row[key], value, f"{what} CPU {row['cpu']} {key}")


def compare_calls(w, groups, found, what):
    ids = {p["id"]: p["pid"] for p in found["processes"]}
    rows = {(ids.get(o["process"]), o["operation"] if "operation" in o else o["name"]): o
            for o in found["operations"] if o["process"] is not None}
    rows.update({("all", o["name"]): o for o in found["operations"] if o["process"] is None})
    pids = collections.Counter(p["pid"] for p in found["processes"])
    parts = collections.defaultdict(list)
    for (process, name), g in groups.items():
        part = g, g.population(bool(g.good) and start_seen(process, w))
        parts["all", name].append(part)
        if process and pids[process.pid] == 1:
            parts[process.pid, name].append(part)
    equal({k for k in rows if k[0] == "all"}, {k for k in parts if k[0] == "all"},
          f"{what} operations")
    for key, list_of in parts.items():
        if key in rows:
            independent.compare_row(rows[key], list_of, f"{what} {key}")
        else:
            equal("no such row", key, f"{what} operation")


def compare_window(rec, calls, path, a, b, times, name):
    w = Window(rec, a, b)
    options = [f"--from={a - rec.start}ns", f"--to={b - rec.start}ns", "--all"]
    options += [f"--cpu={','.join(map(str, rec.only))}"] if rec.only else []
    what = f"{os.path.basename(path)} {name} {rec.only or ''} [{a - rec.start}, {b - rec.start})"
    found = report(path, *options)
    equal(found["span_ns"], b - a, f"{what} span_ns")
    equal(found["inconsistent_threads"] if times else 0, 0, f"{what} inconsistent_threads")
    compare_cpus(w, found["cpus"], times, what)
    compare_calls(w, calls.window(w), found, what)
    threads = report(path, "--threads", *options)["threads"]
    compare_threads(w, threads, times, what)
    return found


def random_window(rec, rng):
    span = rec.end - rec.start
    length = min(span - 1, int(10 ** rng.uniform(3, 10.5)))
    a = rec.start + rng.randrange(span - length)
    return a, a + length


def sleep_window(rec, rng):
    """Inside one sleep of a thread of the tree."""
    sleeps = [s for t in rec.threads if t.process.flags & TREE for s in t.sums["blocked"].stretches
              if s[1] - s[0] > 1000]
    if not sleeps:
        return random_window(rec, rng)
    start, end = rng.choice(sleeps)
    a = max(start, rec.start) + rng.randrange(1, (end - max(start, rec.start)) // 2)
    return a, a + rng.randrange(1, end - a)


def gap_window(rec, rng):
    """Between two rows of a CPU."""
    rows = rng.choice(list(rec.by_cpu.values()))
    i = rng.randrange(len(rows) - 1)
    start, end = rows[i]["ts"], rows[i + 1]["ts"]
    if end - start < 10:
        return random_window(rec, rng)
    a = start + rng.randrange(1, (end - start) // 2)
    return a, a + rng.randrange(1, end - a)


def edge_window(rec, rng):
    """Bounds that are rows' own times."""
    stamps = sorted({r["ts"] for rows in rec.by_cpu.values() for r in rows})
    i = rng.randrange(len(stamps) - 1)
    k = min(len(stamps) - 1, i + rng.choice((1, 1, 2, 5, 50)))
    return stamps[i], stamps[k]


def end_window(rec, rng):
    length = min(rec.end - rec.start - 1, int(10 ** rng.uniform(3, 9.5)))
    if rng.random() < 0.5:
        return rec.start, rec.start + length
    return rec.end - length, rec.end


SUMS = ("running_ns", "waiting_ns", "blocked_ns", "unrecorded_ns", "switches_voluntary",
        "switches_involuntary", "page_allocations", "page_bytes", "cuda_calls")
TIMES = SUMS[:4]


def totals(found, times, broken):
    """Where a process's rows are broken keyframes may tell more of some parts than of the whole."""
    sums = collections.Counter()
    for p in found["processes"]:
        if p["id"] in broken:
            p["blocked_ns"] += p.pop("waiting_ns") + p.pop("unrecorded_ns")
            p["waiting_ns"] = p["unrecorded_ns"] = 0
        for key in SUMS:
            # Others are listed only where they do more than sleep.
            if (times or key not in TIMES) and (p["in_tree"] or key not in SLEEPING):
                sums[p["id"], key] += p[key]
    for c in found["cpus"]:
        for key, value in c.items():
            if key != "cpu" and (times or not key.endswith("_ns")):
                sums["cpu", c["cpu"], key] += value
    for o in found["operations"]:
        for key in ("calls", "failed", "nested", "total_ns"):
            sums[o["process"], o["name"], key] += o[key]
    return sums


def compare_partition(rec, path, whole, times, rng, parts):
    cuts = sorted(rng.sample(range(rec.start + 1, rec.end), parts - 1))
    sums = collections.Counter()
    broken = {p["id"] for p in whole["processes"] if p["chain_breaks"]}
    for a, b in zip([rec.start, *cuts], [*cuts, rec.end]):
        found = report(path, f"--from={a - rec.start}ns", f"--to={b - rec.start}ns", "--all")
        sums.update(totals(found, times, broken))
    want = totals(whole, times, broken)
    for key in {*sums, *want}:
        equal(sums[key], want[key], f"{os.path.basename(path)} sum of {parts} parts: {key}")


KINDS = (random_window, random_window, sleep_window, gap_window, edge_window, end_window)


def compare(path, options):
    rng = random.Random(options.seed)
    rec = Whole(path)
    note_births(rec)
    calls = Calls(rec)
    whole = compare_window(rec, calls, path, rec.start, rec.end, not options.lossy, "whole")
    for i in range(options.windows):
        make = KINDS[i % len(KINDS)]
        compare_window(rec, calls, path, *make(rec, rng), not options.lossy, make.__name__)
    if len(rec.by_cpu) > 1:
        part = Whole(path, set(rng.sample(sorted(rec.by_cpu), rng.randrange(1, len(rec.by_cpu)))))
        note_births(part)
        for make in KINDS[1:]:
            compare_window(part, Calls(part), path, *make(part, rng), not options.lossy,
                           make.__name__)
    compare_partition(rec, path, whole, not options.lossy, rng, 7)
    print(f"{os.path.basename(path)}: {options.windows} windows and 7 parts compared")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lossy", action="store_true")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    for path in options.files:
        compare(path, options)
    if failures:
        print(f"{failures} figures differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
