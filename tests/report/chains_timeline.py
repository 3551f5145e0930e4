# SPDX-License-Identifier: BSD-2-Clause
"""What each thread and each CPU did, piece by piece, from plain lists of switch rows.

For chains_truth.py.
"""
import bisect
import collections
import independent as base

RUNNING, WAITING, BLOCKED, UNRECORDED = "running", "waiting", "blocked", "unrecorded"
Piece = collections.namedtuple("Piece", "start end state cpu row")


class Timeline:
    def __init__(self, rec, rows):
        self.rec, self.lives, self.cut = rec, {}, {}
        self.tiles, self.returns = collections.defaultdict(list), collections.defaultdict(list)
        self.cpus = collections.defaultdict(list)       # (start, end, thread, "idle" or None)
        by_cpu = collections.defaultdict(list)
        for r in rows:
            if r["ts"] <= rec.end:
                by_cpu[r["cpu_stream"]].append(r)
                if r["next_tid"]:
                    self.returns[self.thread(r["next_tid"], r["ts"])].append(r)
        for cpu, cpu_rows in by_cpu.items():
            self.cpu_rows(cpu, cpu_rows)
        self.quiet(by_cpu)
        for cpu in self.cpus:
            self.cut[cpu] = [s[1] for s in self.cpus[cpu]]
        self.synchronising = {o["name"] for o in rec.tables["operation"] if o["category"] == 5 or
                              (o["flags"] & 1 and o["category"] in (2, 3))}

    def thread(self, tid, ts):
        return self.rec.thread_at(tid, ts) if tid else "idle"

    def tile(self, cpu, start, end, thread):
        if start < end:
            self.cpus[cpu].append((start, end, thread))
            if thread not in (None, "idle"):
                self.tiles[thread].append((start, end, cpu))

    def cpu_rows(self, cpu, rows):
        first, last = rows[0], rows[-1]
        thread = self.thread(first["prev_tid"], first["ts"])
        if thread not in (None, "idle"):
            elsewhere = thread.first_in and thread.first_in < first["ts"]
            thread = None if thread.begin > self.rec.start or elsewhere else thread
        self.tile(cpu, self.rec.start, first["ts"], thread)
        for a, b in zip(rows, rows[1:]):
            came, left = self.thread(a["next_tid"], a["ts"]), self.thread(b["prev_tid"], b["ts"])
            same = came is left or came == left == "idle"
            self.tile(cpu, a["ts"], b["ts"], came if same else None)
        thread = self.thread(last["next_tid"], last["ts"])
        if thread not in (None, "idle") and not self.stays(thread, last["ts"], cpu):
            thread = None
        self.tile(cpu, last["ts"], self.rec.end, thread)

    @staticmethod
    def stays(thread, ts, cpu):
        key = thread.key
        return thread.last_in <= ts and thread.last_out <= ts and (
            not key or key["ts"] <= ts or (key["state"] == base.RUNNING and key["cpu"] == cpu))

    def quiet(self, by_cpu):
        """CPUs without a row: one thread's all the time, or nobody's."""
        for thread in self.rec.threads:
            key = thread.key
            if not key or key["state"] != base.RUNNING or key["cpu"] in by_cpu:
                continue
            if thread.begin <= self.rec.start and not self.cpus[key["cpu"]]:
                self.tile(key["cpu"], self.rec.start, self.rec.end, thread)
        for cpu in range(int(self.rec.info.get("host.cpus", 1))):
            if not self.cpus[cpu]:
                self.tile(cpu, self.rec.start, self.rec.end, "idle")

    def slices(self, cpu, start, end):
        if cpu not in self.cut:
            return [(start, end, None)]
        found, at = [], bisect.bisect_right(self.cut[cpu], start)
        for a, b, thread in self.cpus[cpu][at:]:
            if a >= end:
                break
            found.append((max(a, start), min(b, end), thread))
        return found

    def pieces(self, thread, start, end):
        if thread not in self.lives:
            life = self.life(thread)
            self.lives[thread] = life, [p.end for p in life]
        life, ends = self.lives[thread]
        found = []
        for p in life[bisect.bisect_right(ends, start):]:
            if p.start >= end:
                break
            found.append(p._replace(start=max(p.start, start), end=min(p.end, end)))
        return found

    def off(self, thread):
        """Stretches off the CPU, each (from, runnable, until, row)."""
        found = [(r["ts"] - r["next_off"], r["ts"] - r["next_wait"], r["ts"], r)
                 for r in self.returns[thread]]
        tail = self.tail(thread)
        return sorted(found + ([tail] if tail else []), key=lambda o: o[2])

    def tail(self, thread):
        key, end = thread.key, self.rec.end
        if thread.died or thread.exit or (thread.last_out and thread.last_in > thread.last_out):
            return None
        if key and key["ts"] >= max(thread.last_out, thread.last_in):
            if key["state"] == base.RUNNING:
                return None
            since = max(key["since"], thread.last_out, thread.begin, self.rec.start)
            waits = key["state"] == base.WAITING
            return since, max(since, key["runnable_since"]) if waits else end, end, None
        if thread.last_out:
            return thread.last_out, thread.last_out if thread.out_runnable else end, end, None
        return None

    def life(self, thread):
        """Pieces of the whole recording: off the CPU as rows say, tiles where they do not."""
        known = []
        for since, runnable, until, row in self.off(thread):
            cpu = row["cpu_stream"] if row else None
            moved = until - row["migrated_wait"] if row and row["migrated_from"] else runnable
            known.append(Piece(since, runnable, BLOCKED, None, row))
            before = row["migrated_from"] - 1 if row else None
            known.append(Piece(runnable, moved, WAITING, before, row))
            known.append(Piece(max(runnable, moved), until, WAITING, cpu, row))
        known += [Piece(a, b, RUNNING, cpu, None) for a, b, cpu in self.tiles[thread]]
        known = sorted(p for p in known if p.start < p.end)
        life, at = [], self.rec.start
        for p in sorted(known, key=lambda p: (p.start, p.end)):
            if p.start > at:
                life.append(Piece(at, p.start, UNRECORDED, None, None))
            if p.end > at:
                life.append(p._replace(start=max(at, p.start)))
                at = p.end
        if at < self.rec.end:
            life.append(Piece(at, self.rec.end, UNRECORDED, None, None))
        return life
