#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The account that the stand-in CUDA libraries keep, merged.

    truth.py DIR                  a line per process and operation, as CSV
    truth.py --calls DIR          a line per call
    from truth import load        load(DIR) -> [Process]
"""
import collections
import csv
import glob
import os
import struct
import sys

MAGIC = 0x3155525445414B46
HEADER = struct.Struct("<QQIIIIQ16s")
CHUNK = struct.Struct("<IIII")
RECORD = struct.Struct("<QQQQHHiII")
COUNTS = struct.Struct("<QQQQQQiiII")
SYMBOLS, CHUNKS, SYMBOL = 4096, 65536, 96
RECORDS, COUNTED = 1, 2
NOT_READY = {"cudaStreamQuery", "cudaEventQuery", "cuStreamQuery", "cuEventQuery"}

Call = collections.namedtuple(
    "Call", "symbol operation tid start end bytes stream kind depth code")


class Operation:
    """Counts as the report has them: failed leaves out a query's answer 600, not ready."""

    def __init__(self, name):
        self.name, self.layer = name, "runtime" if name.startswith("cuda") else "driver"
        self.calls = self.failed = self.nested = self.open = self.bytes = self.ns = 0
        self.codes = collections.Counter()
        self.durations = []     # of all calls that returned, in order of start


class Process:
    """A process image. Images of one process, before and after exec, share pid and start_ticks."""

    def __init__(self, pid, start_ticks, image, comm, path):
        self.pid, self.start_ticks, self.image, self.comm = pid, start_ticks, image, comm
        self.path, self.calls, self.operations, self.tids = path, [], {}, set()

    def operation(self, name):
        return self.operations.setdefault(name, Operation(name))

    def _account(self, call):
        op = self.operation(call.operation)
        if not call.end:
            op.open += 1
            return
        op.calls += 1
        op.nested += call.depth > 0
        op.ns += call.end - call.start
        op.durations.append(call.end - call.start)
        if call.code == 0:
            op.bytes += call.bytes
        elif not (call.code == 600 and call.operation in NOT_READY):
            op.failed += 1
            op.codes[call.code] += 1

    def _add_records(self, data, at, tid, used, names):
        for i in range(min(used, (65536 - 64) // RECORD.size)):
            start, end, size, stream, symbol, depth, code, kind, _ = RECORD.unpack_from(
                data, at + 64 + i * RECORD.size)
            if start:       # 0: died before the call's first act was over
                self.calls.append(Call(*names[symbol], tid, start, end, size, stream,
                                       None if kind == 0xff else kind, depth, code))

    def _add_counts(self, data, at, names):
        for symbol, (_, operation) in enumerate(names):
            calls, failed, nested, size, ns, open_, c0, c1, n0, n1 = COUNTS.unpack_from(
                data, at + 64 + symbol * COUNTS.size)
            if not calls and not open_:
                continue
            op = self.operation(operation)
            op.calls, op.failed, op.nested = op.calls + calls, op.failed + failed, op.nested + nested
            op.bytes, op.ns, op.open = op.bytes + size, op.ns + ns, op.open + open_
            op.codes.update({c: n for c, n in ((c0, n0), (c1, n1)) if n})

    def read(self, data, names):
        for at in range(CHUNKS, len(data), 65536):
            kind, tid, used, _ = CHUNK.unpack_from(data, at)
            if kind:
                self.tids.add(tid)
            if kind == RECORDS:
                self._add_records(data, at, tid, used, names)
            elif kind == COUNTED:
                self._add_counts(data, at, names)
        self.calls.sort(key=lambda c: (c.start, -(c.end or 1 << 63)))
        for call in self.calls:
            self._account(call)


def text(raw):
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def read_file(path):
    with open(path, "rb") as f:
        data = f.read()
    magic, ticks, pid, image, symbols, _, _, comm = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ValueError(f"{path}: not an account")
    names = [tuple(text(data[at + o:at + o + 48]) for o in (0, 48))
             for at in range(SYMBOLS, SYMBOLS + symbols * SYMBOL, SYMBOL)]
    process = Process(pid, ticks, image, text(comm), path)
    process.read(data, names)
    return process


def load(directory):
    """All process images, by start, pid and image."""
    found = []
    for path in glob.glob(os.path.join(directory, "*.truth")):
        try:
            found.append(read_file(path))
        except (ValueError, struct.error):
            if os.path.getsize(path) > CHUNKS:
                raise           # an image killed while it began its account has made no call
    return sorted(found, key=lambda p: (p.start_ticks, p.pid, p.image))


def processes(directory):
    """{(pid, start_ticks): {operation: Operation}}, the images of a process added up."""
    merged = {}
    for image in load(directory):
        into = merged.setdefault((image.pid, image.start_ticks), {})
        for name, op in image.operations.items():
            if name not in into:
                into[name] = op
                continue
            to = into[name]
            for field in ("calls", "failed", "nested", "open", "bytes", "ns", "codes", "durations"):
                setattr(to, field, getattr(to, field) + getattr(op, field))
    return merged


def main(argv):
    if len(argv) < 2 or argv[1].startswith("--") and (argv[1] != "--calls" or len(argv) < 3):
        print(__doc__, file=sys.stderr)
        return 2
    out = csv.writer(sys.stdout, lineterminator="\n")
    if argv[1] == "--calls":
        out.writerow(("pid", "start_ticks", "image") + Call._fields)
        for p in load(argv[2]):
            out.writerows((p.pid, p.start_ticks, p.image) + call for call in p.calls)
        return 0
    out.writerow("pid start_ticks operation calls failed nested open bytes ns".split())
    for (pid, ticks), operations in processes(argv[1]).items():
        for name, op in sorted(operations.items()):
            out.writerow((pid, ticks, name, op.calls, op.failed, op.nested, op.open, op.bytes, op.ns))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
