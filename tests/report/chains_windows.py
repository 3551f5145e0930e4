# SPDX-License-Identifier: BSD-2-Clause
"""Calls, gaps between them and idle stretches of the device, in groups, by plain search.

For chains_truth.py.
"""
import bisect
import collections
import independent as base

CALL, GAP, IDLE = "slow_call", "gap", "starvation"
COPY, QUERY, SYNC_FLAG, WORK_FLAG = 2, 10, 1, 2
BYTES, KIND, STREAM, READ_FAILED = 1, 2, 4, 8
OPEN, ABANDONED = 0x10, 0x20
TO_HOST = 2
WHOLE_DEVICE = {"cudaDeviceSynchronize", "cudaThreadSynchronize", "cuCtxSynchronize"}
OF_STREAM = {"cudaStreamSynchronize", "cuStreamSynchronize"}


class Call:
    def __init__(self, row, operation, thread, symbols):
        self.start, self.end, self.thread = row["ts"] - row["duration"], row["ts"], thread
        self.name, self.operation, self.depth = operation["name"], operation, row["depth"]
        answer = row["code"] == base.NOT_READY and operation["category"] == QUERY
        self.good = row["code"] == 0 or answer
        flags = row["flags"]
        self.kind = row["kind"] if flags & KIND else None
        self.size = max(1, row["bytes"].bit_length()) if flags & BYTES else 0
        self.work = self.good and bool(operation["flags"] & WORK_FLAG)
        self.stream = self.stream_of(row, symbols)
        self.first = False

    def stream_of(self, row, symbols):
        """None: any."""
        own = ("thread", row["tid"])
        if not row["flags"] & STREAM and (row["flags"] & READ_FAILED or
                                          self.name.endswith(("Async", "MultiDevice"))):
            return None
        stream = row["stream"] if row["flags"] & STREAM else 0
        per_thread = symbols.get(row["probe"], "").endswith(("_ptsz", "_ptds"))
        if stream == 2 or (not stream and per_thread):
            return own
        return 0 if stream == 1 else stream

    def proves(self):
        """"all", "stream", or nothing: what it waited for."""
        if not self.good:
            return None
        if self.name in WHOLE_DEVICE:
            return "all"
        copy = self.operation["category"] == COPY and self.operation["flags"] & SYNC_FLAG
        copy = copy and self.kind == TO_HOST
        return "stream" if self.stream is not None and (self.name in OF_STREAM or copy) else None


class Windows:
    def __init__(self, rec, probes):
        self.rec, self.groups, self.spans = rec, collections.defaultdict(list), {}
        operations = {r["id"]: r for r in rec.tables["operation"]}
        symbols = {r["id"]: r["symbol"] for r in probes}
        calls = []
        for r in rec.tables["call"]:
            thread = rec.thread_at(r["tid"], r["ts"])
            if r["ts"] <= rec.end and not r["flags"] & (OPEN | ABANDONED) and thread and \
                    thread.process.flags & base.TREE and not thread.process.flags & base.RECORDER:
                calls.append(Call(r, operations[r["operation"]], thread, symbols))
        self.mark_first(calls)
        processes = collections.defaultdict(list)
        for c in calls:
            if not c.depth:
                processes[c.thread.process].append(c)
        for calls in processes.values():
            self.process(sorted(calls, key=lambda c: (c.start, c.thread.tid)))
        self.mark_initial()

    @staticmethod
    def mark_first(calls):
        first = {}
        for c in calls:
            p = c.thread.process
            if c.good and (p.born or (p.flags & base.ROOT and p.execed)):
                key = p, c.name
                if key not in first or (c.start, c.end) < (first[key].start, first[key].end):
                    first[key] = c
        for c in first.values():
            c.first = True

    def process(self, calls):
        by_thread = collections.defaultdict(list)
        for c in calls:
            by_thread[c.thread].append(c)
        idle = collections.defaultdict(list)
        for start, end, prover, early in self.idle(calls, by_thread):
            idle[prover.thread].append((start, end))
            self.groups[IDLE, prover.thread, prover.name].append((start, end, early))
        for thread, own in by_thread.items():
            self.spans[thread] = max(c.end for c in own) - own[0].start
            self.thread(own, sorted(idle[thread]))

    def idle(self, calls, by_thread):
        """When the device is known to have nothing to do, on the thread whose call proved it."""
        work = [c for c in calls if c.work]
        starts = [c.start for c in work]
        point, found = 0, []            # point: when the last idle began
        for c in sorted((c for c in calls if c.proves()), key=lambda c: (c.end, c.start)):
            if found and c.end > found[-1][0] and c.start < found[-1][1]:
                continue                # known to be idle already
            begun = bisect.bisect_left(starts, c.end)
            if any(w.end > c.start and w.thread is not c.thread for w in work[:begun]):
                continue
            since = work[bisect.bisect_left(starts, point):begun]
            if c.proves() == "stream" and any(w.stream != c.stream for w in since if w is not c):
                continue
            last = max(x.end for x in by_thread[c.thread])
            end = min(starts[begun], last) if begun < len(starts) else last
            early = begun < max(10, len(work) // 100)
            # To the next work of any thread, whose start ends the idleness even of no length.
            found.append((c.end, starts[begun] if begun < len(starts) else self.rec.end + 1))
            point = c.end
            if end > c.end:
                yield c.end, end, c, early

    def mark_initial(self):
        """Early and, where enough are known, ten times as long as usual: the beginning."""
        for key, members in self.groups.items():
            if key[0] == IDLE:
                durations = sorted(end - start for start, end, _ in members)
                usual = durations[(len(durations) + 1) // 2 - 1] if len(durations) >= 3 else 0
                members[:] = [(s, e, early and e - s >= 10 * usual) for s, e, early in members]

    def thread(self, calls, idle):
        before = None
        for c in calls:
            if before:
                self.gap(before, c, idle)
            if c.good and not c.first and not inside(idle, c.start):
                self.groups[CALL, c.thread, c.name, c.kind, c.size].append((c.start, c.end, False))
            before = c

    def gap(self, before, c, idle):
        if not inside(idle, before.end):
            key = GAP, c.thread, f"{before.name} -> {c.name}"
            self.groups[key].append((before.end, c.start, False))

    def span(self, pid):
        return sum(s for thread, s in self.spans.items() if thread.process.pid == pid)


def inside(idle, ts):
    at = bisect.bisect_right(idle, (ts, float("inf")))
    return at > 0 and idle[at - 1][0] <= ts < idle[at - 1][1]
