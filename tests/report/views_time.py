#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Computes what --timeline, --memory, --waits and --losses show from ing-dump's CSV, and compares.

    views_time.py FILE...

Plain lists, no code of report/. Every figure in the views' JSON is compared, and sums over steps
and waiters with the whole's. Exit status 1: something differs.
"""
import collections
import json
import os
import sys
import independent as base
from chains_timeline import Timeline

STEPS = (7_000_000, 300_000_000, 10**14)
STEPS_MAX = 4000
SECOND = 1_000_000_000
TASK, SOFTIRQ, HARDIRQ = 1, 2, 3
IO_WAIT, THROTTLED = 0x20, 0x10
TIMERS, BLOCKS, NET_RX, NET_TX = (2, 9, 32), (5, 6), 4, 3
SENDS = (1, 18, 20, 296, 328, 44, 46, 307, 40, 275, 278, 42, 48)
SLEEPS = (35, 230)
MEMORY = 2


def equal(got, want, what):
    base.equal(got, want, what)


def view(path, *args):
    return json.loads(base.program("ingero-report", "--json", "--no-group", *args, path))


class Truth(base.Recording):
    def __init__(self, path):
        super().__init__(path)
        for name in ("system", "cpu"):
            self.tables[name] = base.table(path, name)
        base.switches(self)
        base.pages(self)
        base.lives(self)
        self.timeline = Timeline(self, self.tables["switch"])
        self.page_size = int(self.info.get("host.page_size", 0))
        self.names = {}
        for r in sorted(self.tables["task"], key=lambda r: r["ts"]):
            thread = self.thread_at(r["tid"], r["ts"])
            if thread and r["name"]:
                self.names[thread] = str(r["name"])
        self.groups, _ = base.calls(self)

    def recorder(self, thread):
        return thread is not None and bool(thread.process.flags & base.RECORDER)

    def rows(self, name):
        return [r for r in self.tables[name] if r["ts"] <= self.end]

    def allocations(self):
        """(thread, ts, events, pages) of every row, and of the keyframe at the end."""
        for r in self.rows("switch"):
            if r["prev_tid"]:
                yield (self.thread_at(r["prev_tid"], r["ts"]), r["ts"], r["prev_page_events"],
                       r["prev_pages"])
        for r in self.rows("page"):
            yield self.thread_at(r["tid"], r["ts"]), r["ts"], r["events"], r["pages"]
        for thread in self.threads:
            key = thread.key
            if key and key["ts"] > thread.last_out and key["ts"] > thread.last_page:
                yield thread, min(key["ts"], self.end), key["page_events"], key["pages"]


class Steps:
    """Sums by name of a step's figures; stretches of time are cut at the borders."""
    def __init__(self, rec, step):
        self.start, self.end, self.step = rec.start, rec.end, step
        self.count = max(1, -(-(rec.end - rec.start) // step))
        self.sums = [collections.Counter() for _ in range(self.count)]

    def at(self, ts):
        return min(max(0, ts - self.start) // self.step, self.count - 1)

    def add(self, ts, name, amount=1):
        self.sums[self.at(ts)][name] += amount

    def stretch(self, start, end, *names):
        start = max(start, self.start)
        while start < end:
            step = self.at(start)
            border = self.start + (step + 1) * self.step if step + 1 < self.count else end
            for name in names:
                self.sums[step][name] += min(end, border) - start
            start = min(end, border)

    def length(self, step):
        return min(self.step, self.end - self.start - step * self.step)


def fitting(rec):
    """A step that gives several and not too many."""
    return max(300_000_000, (rec.end - rec.start) // 1000 + 1)


def add_cpus(rec, steps):
    for cpu, slices in rec.timeline.cpus.items():
        for start, end, owner in slices:
            if owner is None:
                steps.stretch(start, end, "unrecorded", ("unrecorded", cpu))
            elif owner == "idle":
                steps.stretch(start, end, "recorded", ("idle", cpu))
            elif rec.recorder(owner):
                steps.stretch(start, end, "recorded", "busy", ("busy", cpu))
            else:
                steps.stretch(start, end, "recorded", "busy", ("busy", cpu), "runnable")
    for r in rec.rows("switch"):
        if r["next_tid"] and not rec.recorder(rec.thread_at(r["next_tid"], r["ts"])):
            steps.stretch(r["ts"] - r["next_wait"], r["ts"], "runnable")
        steps.add(r["ts"], "switches", r["prev_tid"] != 0)
    for thread in rec.threads:
        tail = rec.timeline.tail(thread)
        if tail and not rec.recorder(thread):
            steps.stretch(tail[1], tail[2], "runnable")


def firsts(rec):
    """The calls percentiles leave out, as (process, operation): (start, ts, duration)."""
    return {(process, name): min(g.good) for (process, name), g in rec.groups.items()
            if process is not None and g.good and
            (process.born or process.flags & base.ROOT and process.execed)}


def add_calls(rec, steps, only=None):
    """Returns the durations that percentiles rest on, by step."""
    operations = {r["id"]: r for r in rec.tables["operation"]}
    left_out, values = firsts(rec), [[] for _ in range(steps.count)]
    for r in rec.rows("call"):
        operation = operations[r["operation"]]
        if r["flags"] & (base.OPEN | base.ABANDONED) or (only and operation["name"] != only):
            continue
        steps.add(r["ts"], "calls")
        if r["code"] and not (r["code"] == base.NOT_READY and operation["category"] == base.QUERY):
            steps.add(r["ts"], "failed")
            continue
        if not r["depth"]:
            steps.stretch(r["ts"] - r["duration"], r["ts"], "cuda")
        thread = rec.thread_at(r["tid"], r["ts"])
        key = thread.process if thread else None, operation["name"]
        if left_out.get(key) == (r["ts"] - r["duration"], r["ts"], r["duration"]):
            del left_out[key]
        elif only or not r["depth"]:
            values[steps.at(r["ts"])].append(r["duration"])
    return values


def add_samples(rec, steps):
    """Returns the available memory at the end of each step."""
    memory = {}
    for r in rec.rows("system"):
        if r["flags"] & MEMORY:
            memory[steps.at(r["ts"])] = r["memory_available"]
    last = {}
    for r in rec.rows("cpu"):
        before, last[r["cpu"]] = last.get(r["cpu"]), r
        if not before:
            continue
        first, end = max(0, before["ts"] - rec.start), max(0, r["ts"] - rec.start)
        taken, told, at = max(0, r["steal"] - before["steal"]), 0, first
        while at < end:
            border = min(end, (at // steps.step + 1) * steps.step)
            share = taken * (border - first) // (end - first)
            steps.add(rec.start + at, "steal", share - told)
            steps.add(rec.start + at, "sampled", border - at)
            told, at = share, border
    found, known = [], None
    for step in range(steps.count):
        known = memory.get(step, known)
        found.append(known)
    return found


def compare_steps(rec, rows, steps, values, memory, what):
    equal(len(rows), steps.count, f"{what} steps")
    for i, row in enumerate(rows):
        sums, ordered = steps.sums[i], sorted(values[i])
        name = f"{what} step {i}"
        equal(row["start_ns"], i * steps.step, f"{name} start_ns")
        equal(row["length_ns"], steps.length(i), f"{name} length_ns")
        for field, key in (("busy_ns", "busy"), ("cpu_time_ns", "recorded"), ("unrecorded_ns", "unrecorded"),
                           ("runnable_ns", "runnable"), ("switches", "switches"), ("calls", "calls"),
                           ("failed", "failed"), ("cuda_ns", "cuda"), ("page_allocations", "events")):
            equal(row[field], sums[key], f"{name} {field}")
        equal(row["steal_ns"], sums["steal"] if sums["sampled"] else None, f"{name} steal_ns")
        equal(row["page_bytes"], sums["pages"] * rec.page_size, f"{name} page_bytes")
        equal(row["memory_available_bytes"], memory[i], f"{name} memory_available_bytes")
        equal(row["percentile_n"], len(ordered), f"{name} percentile_n")
        equal(row["p50_ns"], base.percentile(ordered, 500), f"{name} p50_ns")
        equal(row["p99_ns"], base.percentile(ordered, 990), f"{name} p99_ns")
        equal(row["max_ns"], ordered[-1] if ordered else None, f"{name} max_ns")


def compare_cpus(rows, steps, cpus):
    for n, row in enumerate(rows):
        step, cpu = n // cpus, row["cpu"]
        for field in ("busy", "idle", "unrecorded"):
            equal(row[f"{field}_ns"], steps.sums[step][field, cpu], f"step {step} CPU {cpu} {field}")


def timeline(rec, path, step, document):
    told = view(path, f"--timeline={step}ns")
    steps = Steps(rec, step)
    add_cpus(rec, steps)
    values, memory = add_calls(rec, steps), add_samples(rec, steps)
    for _, ts, events, pages in rec.allocations():
        steps.add(ts, "events", events)
        steps.add(ts, "pages", pages)
    compare_steps(rec, told["timeline"], steps, values, memory, f"timeline {step}")
    compare_cpus(told["timeline_cpus"], steps, max(1, len(rec.timeline.cpus)))
    whole = lambda field: sum(r[field] for r in told["timeline"])
    system, operations = document["system"], [o for o in document["operations"] if o["process"] is None]
    equal(whole("busy_ns"), system["cpu_busy_ns"], f"{step}: busy of all steps")
    equal(whole("cpu_time_ns"), system["cpu_recorded_ns"], f"{step}: CPU time of all steps")
    equal(whole("unrecorded_ns"), system["cpu_unrecorded_ns"], f"{step}: unrecorded of all steps")
    equal(whole("calls"), sum(o["calls"] for o in operations), f"{step}: calls of all steps")
    equal(whole("cuda_ns"), sum(o["total_ns"] for o in operations), f"{step}: time of all calls")


def selections(rec, path):
    """By operation; by process; the figures of a part of the time."""
    names = collections.Counter(name for _, name in rec.groups)
    for name in sorted(names)[:3]:
        steps = Steps(rec, fitting(rec))
        values = add_calls(rec, steps, name)
        for i, row in enumerate(view(path, f"--timeline={fitting(rec)}ns", "--op", name)["timeline"]):
            for field, key in (("calls", "calls"), ("failed", "failed"), ("cuda_ns", "cuda")):
                equal(row[field], steps.sums[i][key], f"--op {name} step {i} {field}")
            equal(row["p99_ns"], base.percentile(sorted(values[i]), 990), f"--op {name} step {i} p99_ns")
    for process in rec.processes:
        if process.flags & base.TREE:
            one_process(rec, path, process)
            break


def one_process(rec, path, process):
    rows = view(path, f"--timeline={fitting(rec)}ns", "--pid", str(process.pid))["timeline"]
    threads = [t for p in rec.processes if p.pid == process.pid for t in p.threads]
    for field, want in (("busy_ns", sum(t.running for t in threads)),
                        ("runnable_ns", sum(t.running + t.waiting for t in threads)),
                        ("switches", sum(t.voluntary + t.involuntary for t in threads)),
                        ("page_allocations", sum(t.page_events for t in threads))):
        equal(sum(r[field] for r in rows), want, f"--pid {process.pid} {field}")


def narrowed(rec, path):
    """Steps of a part of the recording add up to that part's figures."""
    span, step = rec.end - rec.start, fitting(rec)
    parts(path, step, "--from", f"{span // 4}ns", "--to", f"{span * 2 // 3}ns")
    parts(path, step, "--skip", "30%")
    parts(path, step, "--cpu", "0")
    parts(path, step, "--cpu", "0", "--to", "60%")


def parts(path, step, *args):
    document, rows = view(path, *args), view(path, f"--timeline={step}ns", *args)["timeline"]
    operations = [o for o in document["operations"] if o["process"] is None]
    for field, want in (("busy_ns", document["system"]["cpu_busy_ns"]),
                        ("cpu_time_ns", document["system"]["cpu_recorded_ns"]),
                        ("calls", sum(o["calls"] for o in operations)),
                        ("cuda_ns", sum(o["total_ns"] for o in operations))):
        equal(sum(r[field] for r in rows), want, f"{' '.join(args)} {field}")
    grown = collections.Counter()
    for row in view(path, f"--memory={step}ns", *args)["memory"]:
        grown[row["id"]] += row["page_allocations"]
    waits = collections.Counter()
    for row in view(path, "--waits", *args)["waits"]:
        waits[row["pid"]] += row["time_ns"]
    pids = collections.Counter()
    for p in document["processes"]:
        if p["in_tree"]:
            equal(grown[p["id"]], p["page_allocations"], f"{' '.join(args)} allocations of {p['pid']}")
            pids[p["pid"]] += p["waiting_ns"] + p["blocked_ns"]
    equal({k: v for k, v in waits.items() if v}, {k: v for k, v in pids.items() if v}, f"{' '.join(args)} waits")


class Growth:
    def __init__(self, process):
        self.begin, self.end = min(t.begin for t in process.threads), max(t.end for t in process.threads)
        self.events = self.pages = self.first = 0
        self.tenths, self.steps = [0] * 10, collections.defaultdict(lambda: [0, 0])

    def add(self, rec, step, ts, events, pages):
        life, age = self.end - self.begin, max(0, ts - self.begin)
        self.events, self.pages = self.events + events, self.pages + pages
        self.tenths[age * 10 // life if age < life else 9] += pages
        self.first += pages if age < SECOND else 0
        low, high = ((t - rec.start) // step for t in (self.begin, max(self.begin, self.end - 1)))
        at = self.steps[min(max((ts - rec.start) // step, low), high)]
        at[0], at[1] = at[0] + events, at[1] + pages


def digits(tenths):
    return "".join(str(-(-p * 9 // max(tenths))) for p in tenths) if max(tenths) else ""


def memory(rec, path, step):
    told = view(path, f"--memory={step}ns")
    grown = {p: Growth(p) for p in rec.processes
             if p.flags & base.TREE and p.threads and not p.flags & base.RECORDER}
    for thread, ts, events, pages in rec.allocations():
        if thread and thread.process in grown and (events or pages):
            grown[thread.process].add(rec, step, ts, events, pages)
    by_pid = collections.defaultdict(list)
    for g, process in sorted((min(t.begin for t in p.threads), p.pid) for p in grown):
        by_pid[process].append(g)
    places = {(process.pid, min(t.begin for t in process.threads)): g for process, g in grown.items()}
    rows, owners = collections.defaultdict(dict), {}
    for row in told["memory"]:
        rows[row["id"]][row["start_ns"] // step] = row
    equal(len(told["growth"]), len(grown), "processes of --memory")
    for row in told["growth"]:
        g = places.get((row["pid"], rec.start + row["begin_ns"]))
        if g is None:
            equal(row["pid"], None, "process of --memory")
            continue
        one_growth(rec, row, g, rows[row["id"]], step)


def one_growth(rec, row, g, steps, step):
    what, size, later = f"memory of {row['pid']}", rec.page_size, max(0, g.end - g.begin - SECOND)
    equal(row["page_allocations"], g.events, f"{what} page_allocations")
    for field, pages in (("page_bytes", g.pages), ("first_second_bytes", g.first),
                         ("later_bytes", g.pages - g.first), ("first_tenth_bytes", g.tenths[0]),
                         ("last_tenth_bytes", g.tenths[9])):
        equal(row[field], pages * size, f"{what} {field}")
    equal(row["tenths"], digits(g.tenths), f"{what} tenths")
    equal(row["life_ns"], g.end - g.begin, f"{what} life_ns")
    equal(row["later_bytes_per_second"], (g.pages - g.first) * SECOND // later * size if later else None,
          f"{what} later_bytes_per_second")
    equal(sum(s["alive_ns"] for s in steps.values()), g.end - g.begin, f"{what} alive_ns of all steps")
    for at, s in steps.items():
        equal([s["page_allocations"], s["page_bytes"]], [g.steps[at][0], g.steps[at][1] * size],
              f"{what} step {at}")
    equal(sum(s["page_allocations"] for s in steps.values()), g.events, f"{what} all steps")


def woken(rec, r):
    """What ended a block, and by which thread."""
    vector, context = r["waker_vector"], r["waker_context"]
    waker = rec.thread_at(r["waker_tid"], r["ts"]) if r["waker_tid"] else None
    if r["next_flags"] & IO_WAIT or vector in BLOCKS:
        return "disk", None
    if context == TASK:
        return ("woken", waker) if waker else ("unknown", None)
    if context not in (SOFTIRQ, HARDIRQ):
        return "unknown", None
    if vector == NET_RX and waker and waker.process.flags & base.TREE and r["waker_syscall"] - 1 in SENDS:
        return "woken", waker
    if vector in (NET_RX, NET_TX):
        return "network", None
    asleep = vector == 0 and r["next_syscall"] - 1 in SLEEPS
    return ("timer" if vector in TIMERS or asleep else "interrupt"), None


def runnable(rec, thread, start, until, r):
    """Pieces of a wait as (how, who, ns)."""
    if r and r["next_flags"] & THROTTLED:
        renewed = start + r["next_throttled"] if r["next_throttled"] else until
        yield "throttled", None, renewed - start
        start = renewed
    moved = until - r["migrated_wait"] if r and r["migrated_from"] else start
    here = r["cpu_stream"] if r else thread.key["cpu"] if thread.key else None
    for cpu, low, high in ((r["migrated_from"] - 1 if r else None, start, moved), (here, max(start, moved), until)):
        if low >= high:
            continue
        for a, b, owner in rec.timeline.slices(cpu, low, high):
            if owner is None:
                yield "unrecorded", None, b - a
            elif owner == "idle" or owner is thread:
                yield "latency", None, b - a
            else:
                yield "ran", owner, b - a


class Waits:
    def __init__(self, rec, mains):
        self.rec, self.mains, self.pieces = rec, mains, collections.defaultdict(lambda: [0, 0, 0])
        self.callers = {rec.thread_at(r["tid"], r["ts"]) for r in rec.rows("call")
                        if not r["flags"] & (base.OPEN | base.ABANDONED)}
        self.units = collections.defaultdict(list)
        for thread in rec.threads:
            self.units[self.unit(thread)].append(thread)

    def unit(self, thread):
        """(PID, TID, name): of threads that are one waiter."""
        pid = thread.process.pid
        if pid not in self.mains:
            return pid, None, None
        if thread.tid == pid or thread in self.callers:
            return pid, thread.tid, None
        return pid, None, self.rec.names.get(thread, "")

    def who(self, thread, owner):
        if owner is None:
            return None
        if owner.process is not thread.process:
            return owner.process.pid, None, None
        unit = self.unit(owner)
        alone = len(self.units[unit]) == 1
        return unit[0], owner.tid if alone else None, None if alone else unit[2] or "own threads"

    def add(self, thread, pieces):
        parts = collections.Counter()
        for how, owner, ns in pieces:
            parts[self.unit(thread), how, self.who(thread, owner)] += ns
        for key, ns in parts.items():
            if ns:
                piece = self.pieces[key]
                piece[0], piece[1], piece[2] = piece[0] + ns, piece[1] + 1, max(piece[2], ns)

    def off(self, thread, since, start, until, r):
        how, owner = woken(self.rec, r) if r else ("open", None)
        self.add(thread, [(how, owner, start - since)])
        self.add(thread, runnable(self.rec, thread, start, until, r))


def told_key(row):
    """Of a row of --waits, as Waits.pieces has it."""
    label, who = row["waited_for"], None
    name = row["waiter"].split(": ", 1)[1].rsplit(" (", 1)[0] if row["tid"] is None and ": " in row["waiter"] else None
    unit = row["pid"], row["tid"], name
    if row["waited_for_pid"] is not None:
        joined = row["waited_for_pid"] == row["pid"] and row["waited_for_tid"] is None
        text = label[4:].rsplit(" (", 1)[0] if joined else None
        who = row["waited_for_pid"], row["waited_for_tid"], text
    return unit, row["how"], who


def waits(rec, path, document):
    told = view(path, "--waits")
    mains = {p["pid"] for p in document["processes"] if p["role"].startswith("main")}
    found = Waits(rec, mains)
    tree = {t for t in rec.threads if t.process.flags & base.TREE and not t.process.flags & base.RECORDER}
    for thread in tree:
        for since, start, until, r in rec.timeline.off(thread):
            found.off(thread, since, start, until, r)
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for row in told["waits"]:
        piece = rows[told_key(row)]
        for i, field in enumerate(("time_ns", "count")):
            piece[i] += row[field]
        piece[2] = max(piece[2], row["longest_ns"])
    for key in sorted({*rows, *found.pieces}, key=str):
        equal(rows.get(key), found.pieces.get(key), f"waits of {key}")
    sums = collections.Counter()
    for row in told["waits"]:
        sums[row["pid"], row["state"]] += row["time_ns"]
    for state in ("waiting", "blocked"):
        whole = collections.Counter()
        for t in tree:
            whole[t.process.pid] += getattr(t, state)
        for pid, ns in whole.items():
            equal(sums[pid, state], ns, f"{state} of {pid}")


def losses(rec, path):
    told = view(path, "--losses")
    sums = collections.Counter()
    for row in told["losses"]:
        sums["count"] += row["count"]
    equal(sums["count"], sum(r["count"] for r in rec.tables["loss"]), "losses")
    last = {}
    for r in rec.tables["counter"]:
        if r["ts"] >= last.get((r["source"], r["cpu"]), r)["ts"]:
            last[r["source"], r["cpu"]] = r
    for field in ("entries", "emitted", "filtered", "lost"):
        equal(sum(row[field] or 0 for row in told["counters"]), sum(r[field] for r in last.values()), field)


def compare(path):
    rec, document = Truth(path), view(path)
    for step in STEPS:
        if (rec.end - rec.start) // step < STEPS_MAX:
            timeline(rec, path, step, document)
    memory(rec, path, fitting(rec))
    waits(rec, path, document)
    losses(rec, path)
    selections(rec, path)
    narrowed(rec, path)
    print(f"{os.path.basename(path)}: {len(rec.tables['switch'])} switches, {len(rec.tables['call'])} calls, "
          f"{len(rec.processes)} processes compared")


def main():
    for path in sys.argv[1:]:
        compare(path)
    if base.failures:
        print(f"{base.failures} figures differ")
    return 1 if base.failures else 0


if __name__ == "__main__":
    sys.exit(main())
