#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Computes --per-process, --threads, --tree and groups of workers from ing-dump's CSV; compares.

    views_processes.py FILE...

Times come from independent.py, which is written from format-spec/ alone; nothing of report/ is used
but the roles it guesses. Exit status 1: something differs.
"""
import csv
import io
import json
import os
import sys
import independent as base

GROUP_DEAD, IO_WAIT, FIRST, BY_TASK = 0x10, 0x20, 0x1, 1
SUMS = ("running", "waiting", "blocked", "unrecorded")
NO_SUM = ("off_cpu_mean_ns", "off_cpu_max_ns")
LEAST, GENERATIONS = 5, 2
FOREVER = float("inf")

failures = []


def equal(got, want, what):
    if got != want:
        failures.append(what)
        if len(failures) <= 40:
            print(f"  {what}: the report says {got}, the tables say {want}")


def report(path, *options):
    return json.loads(base.program("ingero-report", "--json", *options, path))


def rows_of_csv(path, *options):
    return list(csv.DictReader(io.StringIO(base.program("ingero-report", "--csv", *options, path))))


# ---- the truth ----

def load(path):
    rec = base.Recording(path)
    base.switches(rec)
    base.pages(rec)
    base.lives(rec)
    rec.page_size = int(rec.info.get("host.page_size", 0))
    for process in rec.processes:
        process.end = process.exit = None
        process.ppid, process.made, process.inside = 0, 0, 0
    for thread in rec.threads:
        thread.name, thread.made, thread.wait = "", 0, None
    for row in sorted((r for r in rec.tables["task"] if r["ts"] <= rec.end), key=lambda r: r["ts"]):
        task(rec, row)
    count_calls(rec)
    first_waits(rec)
    return rec


def leader_of(process):
    return next((t for t in reversed(process.threads) if t.tid == process.pid), None)


def task(rec, row):
    thread = rec.thread_at(row["tid"], row["ts"])
    process = thread.process
    thread.name = str(row["name"]) or thread.name
    leads = thread is leader_of(process)
    if leads and not process.ppid:
        process.ppid = row["ppid"]
    if row["event"] == base.EXIT:
        if row["flags"] & GROUP_DEAD:
            process.end = row["ts"]
        if leads or (process.exit is None and row["flags"] & GROUP_DEAD):
            process.exit = row["exit_code"]


def count_calls(rec):
    operations = {r["id"]: r for r in rec.tables["operation"]}
    for r in rec.tables["call"]:
        thread = rec.thread_at(r["tid"], r["ts"])
        if r["ts"] > rec.end or not thread or r["flags"] & (base.OPEN | base.ABANDONED):
            continue
        good = r["code"] == 0 or (r["code"] == base.NOT_READY and
                                  operations[r["operation"]]["category"] == base.QUERY)
        thread.made += 1
        thread.process.made += 1
        thread.process.inside += r["duration"] if good and not r["depth"] else 0


def first_waits(rec):
    for r in rec.tables["switch"]:
        thread = rec.thread_at(r["next_tid"], r["ts"]) if r["next_tid"] else None
        slept = r["next_off"] > r["next_wait"] and not r["next_flags"] & (IO_WAIT | FIRST)
        if thread and r["ts"] <= rec.end and slept and r["waker_context"] == BY_TASK:
            begin = r["ts"] - r["next_off"]
            thread.wait = begin if thread.wait is None else min(thread.wait, begin)


def figures(rec, threads):
    """Of some threads together: a row's numbers, but for what it is called."""
    periods = sum(t.periods for t in threads)
    off = sum(t.waiting + t.blocked for t in threads)
    row = {f"{n}_ns": sum(getattr(t, n) for t in threads) for n in SUMS}
    row.update(switches_voluntary=sum(t.voluntary for t in threads),
               switches_involuntary=sum(t.involuntary for t in threads),
               off_cpu_periods=periods, off_cpu_mean_ns=off // periods if periods else None,
               off_cpu_max_ns=max(t.off_max for t in threads) if periods else None,
               page_allocations=sum(t.page_events for t in threads),
               page_bytes=sum(t.pages for t in threads) * rec.page_size,
               threads=len(threads))
    return row


def life(rec, process):
    """(begin, end or None), ns since the start."""
    end = None if process.end is None else max([process.end, *(t.end for t in process.threads)])
    return min(t.begin for t in process.threads) - rec.start, end and end - rec.start


def exit_of(process):
    """(code as a shell has it, signal)"""
    if process.exit is None:
        return None, None
    signal = process.exit & 0x7f
    return 128 + signal if signal else process.exit >> 8 & 0xff, signal or None


def process_row(rec, processes):
    row = figures(rec, [t for p in processes for t in p.threads])
    lives = [life(rec, p) for p in processes]
    exits = {exit_of(p) for p in processes}
    code, signal = exits.pop() if len(exits) == 1 else (None, None)
    row.update(processes=len(processes), cuda_calls=sum(p.made for p in processes),
               cuda_time_ns=sum(p.inside for p in processes), start_ns=min(b for b, _ in lives),
               end_ns=None if any(e is None for _, e in lives) else max(e for _, e in lives),
               exit_code=code, exit_signal=signal, name=name_of(processes[0]))
    return row


def name_of(process):
    leader = leader_of(process)
    return leader.name if leader else ""


def median(values):
    return sorted(values)[(len(values) + 1) // 2 - 1] if values else None


def generations(workers):
    """The most of which no two lived at the same time: always the one that ends first."""
    count, free = 0, 0
    for begin, end in sorted(workers, key=lambda w: w[1]):
        if begin >= free or not count:
            count, free = count + 1, end
    return count


def at_once(workers):
    return max(sum(b <= begin < e or (b, e) == (begin, begin) for b, e in workers)
               for begin, _ in workers)


def find_groups(rec, roles):
    """Lists of worker processes, by birth."""
    by_main = {}
    for process in rec.processes:
        role = roles.get(process, "")
        if role.startswith("worker"):
            by_main.setdefault(role.partition(" of ")[2], []).append(process)
    found = []
    for workers in by_main.values():
        workers.sort(key=lambda p: leader_of(p).begin)
        if len(workers) >= LEAST and generations(spans(workers)) >= GENERATIONS:
            found.append(workers)
    return found


def spans(workers):
    return [(leader_of(p).begin, FOREVER if p.end is None else p.end) for p in workers]


# ---- comparing ----

def match(rec, document):
    """The document's element of each process that it lists."""
    by_pid = {}
    for element in document["processes"]:
        by_pid.setdefault(element["pid"], []).append(element)
    found = {}
    for process in rec.processes:
        events = sum(t.voluntary + t.involuntary + t.arrivals + t.running + t.waiting
                     for t in process.threads)
        listed = process.flags & base.TREE or events or process.made
        if listed and not process.flags & base.RECORDER and by_pid.get(process.pid):
            found[process] = by_pid[process.pid].pop(0)
    return found


def compare_row(got, want, what):
    for key, value in want.items():
        if key in got:
            equal(got[key], value, f"{what} {key}")


def compare_csv(path, name, rows, *options):
    """The same rows as CSV, empty where JSON says null."""
    texts = rows_of_csv(path, f"--{name}", *options)
    for row in rows + texts:
        row.pop("lossy", None)
    plain = [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows]
    equal(texts, plain, f"--{name} as CSV")


def add_up(rows, whole, what):
    """Rows of a partition and the whole."""
    for key, value in whole.items():
        if key in rows[0] and isinstance(value, int) and key not in NO_SUM:
            equal(sum(r[key] or 0 for r in rows), value, f"{what}: sum of {key}")


def shown(listed, groups, grouped):
    """What has a row of its own: lists of processes."""
    members = {id(p) for g in groups for p in g} if grouped else set()
    rest = [[p] for p in listed if id(p) not in members]
    return rest + (groups if grouped else [])


def key_of(row):
    return row["pid"], row["role"]


def role_of(processes, elements):
    role = elements[processes[0]]["role"]
    main = role.partition(" of ")
    return role if len(processes) == 1 else f"{len(processes)} workers{main[1]}{main[2]}"


def compare_processes(path, rec, elements, sets, options):
    rows = report(path, "--per-process", *options)["processes"]
    compare_csv(path, "per-process", rows, *options)
    by_key = {key_of(r): r for r in rows}
    equal(len(by_key), len(sets), "--per-process: rows")
    for processes in sets:
        pid = processes[0].pid if len(processes) == 1 else None
        got = by_key.get((pid, role_of(processes, elements)), {})
        what = f"--per-process {pid} {role_of(processes, elements)}"
        compare_row(got, process_row(rec, processes), what)
        equal(set(process_row(rec, processes)) - set(got), set(), "--per-process: columns")
    listed = [p for s in sets for p in s]
    if rows:
        whole = process_row(rec, listed)
        for key in ("start_ns", "end_ns", "exit_code", "exit_signal"):
            whole.pop(key)
        add_up(rows, whole, "--per-process")


def thread_sets(sets):
    """A thread, or all of one name in a group."""
    for processes in sets:
        if len(processes) == 1:
            yield from ((processes, [t]) for t in processes[0].threads)
            continue
        threads = [t for p in processes for t in p.threads]
        for name in {t.name for t in threads}:
            yield processes, [t for t in threads if t.name == name]


def compare_threads(path, rec, elements, sets, options):
    rows = report(path, "--threads", *options)["threads"]
    compare_csv(path, "threads", rows, *options)
    running = [r["running_ns"] for r in rows]
    equal(running, sorted(running, reverse=True), "--threads: order")
    by_key = {}
    for row in rows:
        by_key.setdefault((row["pid"], row["tid"], row["role"], row["name"]), []).append(row)
    count = 0
    for processes, threads in thread_sets(sets):
        one = len(processes) == 1
        key = (processes[0].pid if one else None, threads[0].tid if one else None,
               role_of(processes, elements), threads[0].name)
        count += 1
        got = by_key[key].pop(0) if by_key.get(key) else {}
        want = figures(rec, threads)
        alive = any(not t.died and not t.exit for t in threads)
        want.update(cuda_calls=sum(t.made for t in threads),
                    life_ns=sum(t.end - t.begin for t in threads),
                    start_ns=min(t.begin for t in threads) - rec.start,
                    end_ns=None if alive else max(t.end for t in threads) - rec.start,
                    process_name=name_of(processes[0]))
        compare_row(got, want, f"--threads {key}")
        equal(set(want) - set(got), set(), f"--threads {key}: columns")
    equal(len(rows), count, "--threads: rows")
    whole = figures(rec, [t for s in sets for p in s for t in p.threads])
    whole["cuda_calls"] = sum(p.made for s in sets for p in s)
    if rows:
        add_up(rows, whole, "--threads")


def compare_tree(path, rec, elements, sets, options):
    rows = report(path, "--tree", *options)["tree"]
    compare_csv(path, "tree", rows, *options)
    by_key = {key_of(r): r for r in rows}
    equal(len(rows), len(sets), "--tree: rows")
    for processes in sets:
        pid = processes[0].pid if len(processes) == 1 else None
        got = by_key.get((pid, role_of(processes, elements)), {})
        want = process_row(rec, processes)
        begin = want["start_ns"]
        end = max(max(t.end for t in p.threads) for p in processes) - rec.start
        ends = [e for _, e in map(lambda p: life(rec, p), processes) if e is not None]
        want.update(life_ns=max([end, *ends]) - begin, ppid=processes[0].ppid or None,
                    switches=want["switches_voluntary"] + want["switches_involuntary"])
        compare_row(got, want, f"--tree {pid} {role_of(processes, elements)}")
    # The path from the top to each row: its parent is the last one that is less deep.
    path_to = []
    for row in rows:
        del path_to[row["depth"]:]
        equal(row["depth"], len(path_to), f"--tree {key_of(row)}: depth")
        pids = {p.pid for s in sets for p in s}
        if path_to:
            equal(row["ppid"], path_to[-1], f"--tree {key_of(row)}: below its parent")
        elif row["ppid"]:
            equal(row["ppid"] in pids, False, f"--tree {key_of(row)}: at the top, not its parent")
        path_to.append(row["pid"])


def compare_groups(rec, document, elements, groups):
    equal(len(document["groups"]), len(groups), "groups")
    for got, workers in zip(document["groups"], groups):
        lived = [p.end - leader_of(p).begin for p in workers
                 if leader_of(p).born and p.end is not None]
        waits = [leader_of(p).wait - leader_of(p).begin for p in workers
                 if leader_of(p).born and leader_of(p).wait is not None]
        want = process_row(rec, workers)
        want.update(members=[elements[p]["id"] for p in workers], workers=len(workers),
                    generations=generations(spans(workers)), at_once=at_once(spans(workers)),
                    lifetime_ns=median(lived), lifetime_n=len(lived),
                    startup_ns=median(waits), startup_n=len(waits))
        what = f"groups {got['name']}"
        compare_row(got, want, what)
        equal(set(want) - {"processes", "exit_code", "exit_signal"} - set(got), set(), what)


def compare_document(document, elements):
    for process, element in elements.items():
        equal(element["cuda_time_ns"], process.inside, f"process {process.pid} cuda_time_ns")
        for thread, told in zip(process.threads, element.get("thread_list", [])):
            equal(told["cuda_calls"], thread.made, f"thread {thread.tid} cuda_calls")


def compare(path):
    rec = load(path)
    document = report(path)
    elements = match(rec, document)
    listed = [p for p in elements if p.flags & base.TREE]
    groups = find_groups(rec, {p: e["role"] for p, e in elements.items()})
    compare_groups(rec, document, elements, groups)
    compare_document(document, elements)
    for options in ((), ("--no-group",)):
        sets = shown(listed, groups, not options)
        compare_processes(path, rec, elements, sets, options)
        compare_threads(path, rec, elements, sets, options)
        compare_tree(path, rec, elements, sets, options)
    compare_some(path, rec, elements, listed)
    threads = sum(len(p.threads) for p in listed)
    print(f"{os.path.basename(path)}: {len(listed)} processes, {threads} threads, "
          f"{len(groups)} groups of {[len(g) for g in groups]} compared")


def compare_some(path, rec, elements, listed):
    """Two processes alone: the narrowed tables are those rows."""
    some = listed[-2:]
    if len({p.pid for p in rec.processes}) < len(rec.processes) or not some:
        return
    options = ("--no-group", "--pid", ",".join(str(p.pid) for p in some))
    sets = [[p] for p in some]
    compare_processes(path, rec, elements, sets, options)
    compare_threads(path, rec, elements, sets, options)
    compare_tree(path, rec, elements, sets, options)


def main():
    for path in sys.argv[1:]:
        compare(path)
    if failures:
        print(f"{len(failures)} figures differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
