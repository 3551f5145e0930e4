# SPDX-License-Identifier: BSD-2-Clause
"""Calls, gaps between them and idle stretches of the device, in groups, by plain search.

For chains_truth.py.
"""
import bisect
import collections
import independent as base

CALL, GAP, IDLE = "slow_call", "gap", "starvation"
COPY, SET, SYNC, QUERY, SYNC_FLAG, WORK_FLAG = 2, 3, 5, 10, 1, 2
BYTES, KIND, STREAM, READ_FAILED = 1, 2, 4, 8
OPEN, ABANDONED = 0x10, 0x20
TO_HOST = 2
WAITED = 50000        # a synchronise that takes longer had something to wait for
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
        self.before, self.others = 0, 0     # see in_order()

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

    def waited(self):
        category = self.operation["category"]
        waits = category == SYNC or \
            (category in (COPY, SET) and self.operation["flags"] & SYNC_FLAG)
        return waits and not self.work and self.end - self.start > WAITED

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
        in_order(calls)
        idle, points, feeding = collections.defaultdict(list), [], set()
        for start, end, prover, early, dropped in self.idle(calls, by_thread):
            if not dropped:
                points.append(start)
                feeding.add(prover.thread)
            if end > start:
                idle[prover.thread].append((start, end))
            if end > start and not dropped:
                self.groups[IDLE, prover.thread, prover.name].append((start, end, early))
        work = [c for c in calls if c.work]
        feeding |= {c.thread for c in work}
        self.begun = max(10, len(work) // 100), min(points, default=float("inf"))
        for thread, own in by_thread.items():
            if thread in feeding or not work:
                self.spans[thread] = max(c.end for c in own) - own[0].start
                self.thread(own, sorted(idle[thread]))

    def idle(self, calls, by_thread):
        """When the device is known to have nothing to do, on the thread whose call proved it.

        Dropped: until a call that waited showed that it still had.
        """
        work = [c for c in calls if c.work]
        place = {c: i for i, c in enumerate(calls)}
        waited = [c for c in calls if c.waited()]
        starts = [c.start for c in work]
        point, found = 0, []            # point: when the last idle began
        for c in sorted((c for c in calls if c.proves()), key=lambda c: (c.end, c.start)):
            if found and c.end > found[-1][0] and (c.start, place[c]) < found[-1][1:]:
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
            ender = work[begun] if begun < len(work) else None
            until = (ender.start, place[ender]) if ender else (self.rec.end + 1, 0)
            late = next((x for x in waited if x.thread is c.thread and x.start >= c.end and
                         (x.start, place[x]) < until), None)
            if late:
                until, end = (late.start, place[late]), late.start
            else:
                point = c.end
            found.append((c.end, *until))
            yield c.end, end, c, early, late

    def mark_initial(self):
        """Early and, where enough are known, ten times as long as usual: the beginning."""
        for members in self.groups.values():
            durations = sorted(end - start for start, end, _ in members)
            usual = durations[(len(durations) + 1) // 2 - 1] if len(durations) >= 3 else 0
            members[:] = [(s, e, early and e > s and e - s >= 10 * usual)
                          for s, e, early in members]

    def thread(self, calls, idle):
        before = None
        for c in calls:
            if before:
                self.gap(before, c, idle)
            if c.good and not c.first and not inside(idle, c.start):
                member = c.start, c.end, self.early(c.before, c.start)
                self.groups[CALL, c.thread, c.name, c.kind, c.size].append(member)
            before = c

    def gap(self, before, c, idle):
        if not inside(idle, before.end):
            key = GAP, c.thread, f"{before.name} -> {c.name}", c.others > before.end
            early = self.early(before.before + before.work, before.end)
            self.groups[key].append((before.end, c.start, early))

    def early(self, work, start):
        """Before the process had begun to work, and to wait for the device."""
        return work < self.begun[0] and start < self.begun[1]

    def span(self, pid):
        return sum(s for thread, s in self.spans.items() if thread.process.pid == pid)


def in_order(calls):
    """Before each call of a process: how much work, and the latest end of other threads' work."""
    count, latest = 0, {}
    for c in calls:
        c.before = count
        c.others = max((end for thread, end in latest.items() if thread is not c.thread), default=0)
        if c.work:
            count += 1
            latest[c.thread] = max(c.end, latest.get(c.thread, 0))


def inside(idle, ts):
    at = bisect.bisect_right(idle, (ts, float("inf")))
    return at > 0 and idle[at - 1][0] <= ts < idle[at - 1][1]
