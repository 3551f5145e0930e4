#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds from ing-dump's CSV when feeding threads lost time and what they did then, and compares.

    chains_truth.py FILE [TRUTH.csv]

Written from the definitions alone, with plain lists; no code of report/. Compared are the chains of
ingero-report --json: windows, baselines, lost time, accounts, and who ran while a feeding thread
waited. Percentiles are within 1 % in the report; given those it prints, the lost time of a group
is compared to the nanosecond. TRUTH.csv: what ing-synth --neighbour knows of the time it took.
Exit status 1: something differs.
"""
import collections
import csv
import json
import os
import sys
import independent as base
from chains_windows import Windows, CALL, GAP, IDLE
from chains_timeline import Timeline, RUNNING, WAITING, BLOCKED, UNRECORDED

STATES = ("running", "waiting", "latency", "throttled", "blocked", "unrecorded")
KINDS = {"slow_call": CALL, "gap": GAP, "starvation": IDLE}
THROTTLED = 0x10
SYNC_TAIL = 100000

failures = []


def check(holds, text):
    if not holds:
        failures.append(text)
        if len(failures) <= 30:
            print(f"  {text}")


def near(got, want, tolerance, what):
    check(abs(got - want) <= tolerance, f"{what}: the report says {got}, the tables say {want:.0f}")


class Group:
    """Calls or gaps that are compared with each other: members are (start, end, initial)."""

    def __init__(self, key, members):
        self.kind, self.thread, self.text = key[:3]
        sizes = key[3:] if self.kind == CALL else (None, 0)
        self.copy_kind, self.bytes_from = sizes[0], 1 << (sizes[1] - 1) if sizes[1] else None
        self.members = members
        durations = sorted(end - start for start, end, _ in members)
        n = self.count = len(durations)
        self.p50, self.p99 = durations[(n + 1) // 2 - 1], durations[n - n // 100 - 1]
        self.max = durations[-1]
        self.normal, self.slow, self.unsure = [], [], []
        if self.kind == IDLE:
            self.slow = members
        elif n >= 10:
            self.sort_members()
        self.base = 0 if self.kind == IDLE else self.p50
        self.lost = sum(end - start - self.base for start, end, _ in self.slow)
        self.accounts = None

    def sort_members(self):
        limit = max(3 * self.p50, self.p50 + 9999)
        for member in self.members:
            duration = member[1] - member[0]
            if duration <= self.p50:
                self.normal.append(member)
            elif duration > limit:
                self.slow.append(member)
            if abs(duration - limit) <= limit / 50:
                self.unsure.append(member)
        if len(self.slow) < 3 and len(self.slow) + len(self.unsure) >= 3 and self.unsure:
            self.unsure += [m for m in self.slow if m not in self.unsure]
        if len(self.slow) < 3:
            self.slow = []

    def may_differ(self):
        """By how much lost time may: by members at the limit."""
        return sum(end - start for start, end, _ in self.unsure)


class Account:
    """Sums of some windows by state, and of waiting by the process that ran."""

    def __init__(self):
        self.states, self.ran, self.ns = collections.Counter(), collections.Counter(), 0

    def add(self, timeline, group, window):
        start, end, initial = window
        pieces = timeline.pieces(group.thread, start, end)
        self.ns += end - start
        if initial:
            for p in pieces:
                self.states[p.state] += p.end - p.start
            return
        device = group.kind == CALL and group.text in timeline.synchronising
        counts = late_stretches(pieces) if device else None
        for i, p in enumerate(pieces):
            self.piece(timeline, group, p, counts is None or i in counts)

    def piece(self, timeline, group, p, counts):
        ns = p.end - p.start
        if p.state == UNRECORDED:
            self.states["unrecorded"] += ns
        elif p.state == BLOCKED or not counts:
            self.states["blocked"] += ns
        elif p.state == RUNNING:
            self.states["running"] += ns
        else:
            renewed = min(max(self.renewed(p.row), p.start), p.end)
            self.states["throttled"] += renewed - p.start
            self.wait(timeline, group, p, renewed)

    @staticmethod
    def renewed(row):
        """Until when a wait was for the CPU quota."""
        if not row or not row["next_flags"] & THROTTLED:
            return 0
        part = row["next_throttled"] or row["next_wait"]
        return row["ts"] - row["next_wait"] + part

    def wait(self, timeline, group, p, since):
        for start, end, thread in timeline.slices(p.cpu, since, p.end):
            if thread is None:
                self.states["unrecorded"] += end - start
            elif thread == "idle" or thread is group.thread:
                self.states["latency"] += end - start
            else:
                self.states["waiting"] += end - start
                self.ran[thread.process.pid] += end - start


def late_stretches(pieces):
    """Of a call that waits for the device: time off the CPU that its return followed at once."""
    found, back = set(), None
    for i in range(len(pieces) - 1, -1, -1):
        p = pieces[i]
        if p.state in (UNRECORDED, RUNNING):
            back = None
            continue
        back = p.end if back is None else back
        if pieces[-1].end - back <= SYNC_TAIL:
            found.add(i)
    return found


def account_of(timeline, group, p50):
    """Lost time by state: what slow windows have beyond as many normal ones, scaled to p50."""
    if group.accounts is None:
        group.accounts = Account(), Account()
        for windows, account in zip((group.normal, group.slow), group.accounts):
            for window in windows:
                account.add(timeline, group, window)
    normal, slow = group.accounts
    base = 0 if group.kind == IDLE else p50
    lost = slow.ns - base * len(group.slow)
    scale = base * len(group.slow) / normal.ns if normal.ns else 0
    beyond = {s: max(0, slow.states[s] - scale * normal.states[s]) for s in STATES}
    whole = sum(beyond.values())
    states = {s: beyond[s] * lost / whole if whole else 0 for s in STATES}
    ran = {pid: ns * states["waiting"] / slow.states["waiting"] for pid, ns in slow.ran.items()}
    return states, ran


HARMLESS = ("device", "initialisation", "external", "sleep", "network")


def join(chains):
    """What the host lost of a group and what is harmless are two chains: such chains as one."""
    merged = []
    for chain in chains:
        groups = {e["group"] for e in chain["effects"]}
        one = {"process": chain["process"], "groups": groups, "chains": [chain]}
        for other in [m for m in merged if m["groups"] & groups]:
            merged.remove(other)
            one["groups"] |= other["groups"]
            one["chains"] += other["chains"]
        merged.append(one)
    for m in merged:
        m.update(lost_ns=sum(c["lost_ns"] for c in m["chains"]), account=collections.Counter(),
                 effects=list(effects_of(m["chains"]).values()),
                 causes=sum((c["causes"] for c in m["chains"]), []),
                 worst=sorted((w for c in m["chains"] for w in c["worst"]),
                              key=lambda w: -w["lost_ns"]))
        for c in m["chains"]:
            m["account"].update(c["account"])
    return merged


def effects_of(chains):
    effects = {}
    for chain in chains:
        for e in chain["effects"]:
            one = effects.setdefault(e["group"], dict(e, lost_ns=0, parts=[]))
            one["lost_ns"] += e["lost_ns"]
            one["parts"].append(chain)
    return effects


class Comparison:
    def __init__(self, path):
        self.report = json.loads(base.program("ingero-report", "--json", path))
        self.rec = base.Recording(path)
        base.switches(self.rec)
        self.timeline = Timeline(self.rec, base.table(path, "switch"))
        self.windows = Windows(self.rec, base.table(path, "probe"))
        self.groups = [Group(k, m) for k, m in self.windows.groups.items()]
        self.by_effect = collections.defaultdict(list)
        for g in self.groups:
            self.by_effect[g.thread.process.pid, g.thread.tid, g.kind, g.text].append(g)
        self.told = set()
        several = {p["pid"] for p in self.report["processes"]
                   if p["in_tree"] and p["role"] != "helper"}
        self.names = {r["tid"]: r["name"] for r in self.rec.tables["task"]
                      if r["tid"] == r["tgid"] and r["tid"] not in several}

    def groups_of(self, pid, effect):
        """The group of the effect, in a list: alike in operation, kind, size and number."""
        groups = self.by_effect[pid, effect["tid"], KINDS[effect["kind"]], effect["operation"]]
        return [g for g in groups if id(g) not in self.told and g.count == effect["all_calls"] and
                g.bytes_from == effect["bytes_from"] and g.copy_kind == effect["copy_kind"]][:1]

    def effect(self, pid, effect):
        what = f"{pid} {effect['kind']} {effect['operation']}"
        groups = self.groups_of(pid, effect)
        check(groups, f"{what}: no group of {effect['all_calls']} calls and gaps")
        if not groups:
            return []
        self.told.update(id(g) for g in groups)
        unsure = sum(len(g.unsure) for g in groups)
        near(effect["calls"], sum(len(g.slow) for g in groups), unsure, f"{what} calls")
        check(effect["max_ns"] == max(g.max for g in groups), f"{what} max_ns")
        if len(groups) == 1:
            self.one_group(effect, groups[0], what)
        lost = sum(g.lost for g in groups)
        tolerance = lost * 0.015 + 1000 * effect["calls"] + sum(g.may_differ() for g in groups)
        slack = self.slack(pid, effect, groups)
        check(lost - tolerance - slack <= effect["lost_ns"] <= lost + tolerance,
              f"{what} lost_ns: {effect['lost_ns']}, by the tables {lost}")
        return groups

    def slack(self, pid, effect, groups):
        """What may be in no chain, as it is below 1 % there: the other part of the effect."""
        if len(effect["parts"]) > 1:
            return 0
        least = self.windows.span(pid) / 100
        first = effect["parts"][0]["causes"][:1]
        if not first or first[0]["kind"] in HARMLESS or "(the recorder" in first[0]["who"]:
            return least
        blocked = sum(account_of(self.timeline, g, g.p50)[0]["blocked"] for g in groups)
        initial = sum(end - start for g in groups for start, end, first in g.slow if first)
        recorder = self.report["system"]["recorder_running_ns"]
        return min(least, blocked + initial + recorder)

    def one_group(self, effect, group, what):
        near(effect["p50_ns"], group.p50, group.p50 / 100 + 1, f"{what} p50_ns")
        near(effect["p99_ns"], group.p99, group.p99 / 100 + 1, f"{what} p99_ns")
        whole = not self.slack(group.thread.process.pid, effect, [group])
        if whole and len(group.slow) == effect["calls"] and not group.unsure:
            p50 = 0 if group.kind == IDLE else effect["p50_ns"]
            lost = sum(end - start - p50 for start, end, _ in group.slow)
            near(effect["lost_ns"], lost, 0, f"{what} lost_ns given p50")

    def chain(self, chain):
        pid, states, ran = chain["process"], collections.Counter(), collections.Counter()
        groups, unsure = [], 0
        for effect in chain["effects"]:
            found = self.effect(pid, effect)
            groups += found
            unsure += self.slack(pid, effect, found)
            unsure += sum(g.may_differ() for g in found)
            for g in found:
                p50 = effect["p50_ns"] if len(found) == 1 else g.p50
                part, who = account_of(self.timeline, g, p50)
                states.update(part)
                ran.update(who)
        calls = sum(e["calls"] for e in chain["effects"])
        tolerance = chain["lost_ns"] * 0.015 + 1000 * calls + unsure
        self.account(chain, states, tolerance)
        self.causes(chain, states, ran, tolerance)
        self.worst(chain, groups)
        near(chain["lost_ns"], sum(e["lost_ns"] for e in chain["effects"]), 0, f"{pid} lost_ns")

    def account(self, chain, states, tolerance):
        a, what = chain["account"], f"{chain['process']} account of {chain['lost_ns']}"
        check(sum(a.values()) == chain["lost_ns"], f"{what} adds up")
        near(a["running_ns"], states["running"], tolerance, f"{what} running")
        near(a["waiting_on_others_ns"], states["waiting"], tolerance, f"{what} waiting")
        near(a["wake_latency_ns"], states["latency"], tolerance, f"{what} wake latency")
        near(a["throttled_ns"], states["throttled"], tolerance, f"{what} throttled")
        # What is not recorded of others, whom a blocked thread waited for, is unrecorded too.
        rest = a["blocked_ns"] + a["unexplained_ns"] + a["unrecorded_ns"]
        near(rest, states["blocked"] + states["unrecorded"], tolerance,
             f"{what} blocked, unexplained and unrecorded")
        check(a["unrecorded_ns"] >= states["unrecorded"] - tolerance, f"{what} unrecorded")

    def causes(self, chain, states, ran, tolerance):
        told, what = collections.Counter(), f"{chain['process']} causes of {chain['lost_ns']}"
        for cause in chain["causes"]:
            told[cause["kind"], cause["pid"]] += cause["ns"]
        whole = sum(told.values())
        check(whole <= chain["lost_ns"], f"{what} are more than that")
        account = chain["account"]
        explained = chain["lost_ns"] - account["unexplained_ns"] - account["unrecorded_ns"]
        near(whole, explained, 1000 + len(chain["causes"]) * 100, f"{what} together")
        followed = chain["account"]["blocked_ns"]
        for pids, ns in self.of_one_name(ran, chain["causes"]).items():
            got = sum(told["cpu_contention", pid] for pid in pids)
            check(ns - tolerance <= got <= ns + followed + tolerance,
                  f"{what}: {pids} ran for {got} while others waited, by the tables {ns:.0f}")
        own = sum(ns for (kind, pid), ns in told.items() if pid == chain["process"] and kind in (
            "own_work", "page_allocation", "reclaim", "worker_startup", "initialisation"))
        near(own, states["running"], tolerance + followed + states["waiting"], f"{what} own work")

    def of_one_name(self, ran, causes):
        """Processes of one name are one cause where they are neither a main nor a worker."""
        told = {c["pid"] for c in causes}
        groups = collections.defaultdict(set)
        for pid in ran:
            groups[self.names.get(pid) or pid].add(pid)
        return {tuple(sorted(pids | {p for p in told if self.names.get(p) == name})):
                sum(ran[p] for p in pids) for name, pids in groups.items()}

    def worst(self, chain, groups):
        windows = {(s, e - s): g for g in groups for s, e, _ in g.slow + g.unsure}
        longest = max((d - g.base for (_, d), g in windows.items()), default=0)
        for i, w in enumerate(chain["worst"]):
            what = f"{chain['process']} worst"
            at = w["start_ns"] + self.rec.start, w["duration_ns"]
            if at in windows:
                lost = w["duration_ns"] - windows[at].base
                near(w["lost_ns"], lost, windows[at].base / 50 + 1, f"{what} lost_ns")
            else:
                check(False, f"{what}: no slow window at {w['start_ns']} of {w['duration_ns']}")
            if not i:
                near(w["lost_ns"], longest, longest / 20 + 1000, f"{what} of all")

    def spans(self):
        for chain in self.report["chains"] + self.report["small"]:
            pid = chain["process"]
            for cause in chain["causes"]:
                near(cause["share"], cause["ns"] / chain["lost_ns"], 1e-4, f"{pid} share")
            near(chain["active_span_ns"], self.windows.span(pid), 0, f"{pid} active span")
        near(self.report["active_span_ns"], sum(self.windows.spans.values()), 0, "active span")
        near(self.report["feeding_threads"], len(self.windows.spans), 0, "feeding threads")

    def untold(self):
        """What is in no chain lost less than 1 % of the active span, or cannot be told."""
        silent = {c["process"] for c in self.report["cannot_tell"]}
        for g in self.groups:
            pid = g.thread.process.pid
            if id(g) not in self.told and not silent & {pid, None}:
                limit = self.windows.span(pid) / 100 * 1.015 + 1000 * len(g.slow) + g.may_differ()
                check(g.lost <= limit,
                      f"{pid} {g.kind} {g.text}: {g.lost} lost in {len(g.slow)}, in no chain")

    def run(self):
        chains = self.report["chains"] + self.report["small"]
        for chain in join(chains):
            self.chain(chain)
        self.spans()
        self.untold()
        loud = self.report["chains"] or self.report["cannot_tell"]
        check(self.report["quiet"] == (not loud), "quiet")
        rows = [len(self.rec.tables[name]) for name in ("call", "switch")]
        lost = sum(c["lost_ns"] for c in chains) / 1e6
        effects = sum(len(c["effects"]) for c in chains)
        print(f"{rows[0]} calls, {rows[1]} switches: {len(chains)} chains, {effects} effects, "
              f"{lost:.1f} ms lost", file=sys.stderr)


def initial_of(groups):
    """Lost before the work had begun, which is told as that, by process, operation and kind."""
    initial = collections.Counter()
    for g in groups:
        where = g.thread.process.pid, g.text.split(" -> ")[-1]
        what = "gaps_ns" if g.kind == GAP else "calls_ns"
        initial[where, what] += sum(end - start - g.base for start, end, first in g.slow if first)
    return initial


def compare_neighbour(report, groups, path):
    """Time taken inside calls and in the gaps before them, by construction."""
    initial = initial_of(groups)
    truth = collections.defaultdict(dict)
    for row in csv.DictReader(open(path)):
        if row["kind"] == "neighbour":
            truth[int(row["process"]), row["name"]][row["figure"]] = int(row["value"])
    seen, told = collections.Counter(), set()
    for chain in report["chains"] + report["small"]:
        for e in chain["effects"]:
            where = chain["process"], e["operation"].split(" -> ")[-1]
            what = "gaps" if e["kind"] == "gap" else "calls"
            seen[where, what] += 0 if e["group"] in told else e["calls"]
            told.add(e["group"])
            seen[where, what + "_ns"] += e["lost_ns"]
    for where, figures in truth.items():
        for what in ("calls", "gaps"):
            near(seen[where, what], figures[what], 0, f"{where} {what} hit")
            ns = figures[what + "_ns"]
            near(seen[where, what + "_ns"], ns, ns * 0.01 + 1000 + initial[where, what + "_ns"],
                 f"{where} {what} taken")
    taken = sum(f["calls_ns"] + f["gaps_ns"] for f in truth.values())
    named = sum(c["ns"] for chain in report["chains"] for c in chain["causes"]
                if c["kind"] == "cpu_contention" and c["who"].startswith("neighbour"))
    near(named, taken, taken * 0.01 + sum(initial.values()), "taken by the neighbour")
    print(f"by construction {taken / 1e6:.1f} ms taken, the report says {named / 1e6:.1f} ms",
          file=sys.stderr)


def main():
    path = sys.argv[1]
    comparison = Comparison(path)
    comparison.run()
    if len(sys.argv) > 2:
        compare_neighbour(comparison.report, comparison.groups, sys.argv[2])
    differ = f"{len(failures)} figures differ" if failures else "chains as in the tables"
    print(f"{os.path.basename(path)}: {differ}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
