#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A second reader of .ing files, written from format-spec/ alone and sharing no code with the first.

read_ing.py FILE                 rows of each table
read_ing.py --table NAME FILE    its rows as CSV, as "ing-dump --csv" prints them
read_ing.py --explain FILE       every byte of a small file, explained
read_ing.py --vectors FILE       check the encodings of a vectors.txt
"""
import csv
import io
import struct
import sys

M64 = (1 << 64) - 1
FILE_MAGIC = b"\x89ING\r\n\x1a\n"
BLOCK_MAGIC = b"\x8dINGBLK\n"
SCHEMA, INDEX, CLOSE = 65535, 65534, 65533
TIME, DURATION, UNSIGNED, SIGNED, HEX, STRING, SIZE, TEXT = range(1, 9)
ENCODINGS = {1: "constant", 2: "plain", 3: "packed", 4: "delta", 5: "text", 6: "dictionary", 7: "predicted"}
FIXED_SCHEMA = {
    SCHEMA: ("schema", 1, [(1, UNSIGNED, "table"), (2, UNSIGNED, "column"), (3, UNSIGNED, "type"), (4, TEXT, "name")]),
    INDEX: ("index", 1, [(1, UNSIGNED, "offset")]),
}
MAX_COLUMN = (4 << 20) + 65536


class Damaged(Exception):
    pass


class Unknown(Exception):
    pass


def need(holds, what):
    if not holds:
        raise Damaged(what)


# --- appendices A and B

P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def rol(x, n):
    return (x << n | x >> (64 - n)) & M64


def xxh64(data):
    def turn(acc, x):
        return rol((acc + x * P2) & M64, 31) * P1 & M64

    n = len(data)
    whole = n // 32 * 32
    if whole:
        v = [(P1 + P2) & M64, P2, 0, -P1 & M64]
        words = struct.unpack("<%dQ" % (whole // 8), data[:whole])
        for i in range(0, len(words), 4):
            v = [turn(v[k], words[i + k]) for k in range(4)]
        h = (rol(v[0], 1) + rol(v[1], 7) + rol(v[2], 12) + rol(v[3], 18)) & M64
        for x in v:
            h = ((h ^ turn(0, x)) * P1 + P4) & M64
    else:
        h = P5
    h = (h + n) & M64
    at = whole
    while at + 8 <= n:
        h = (rol(h ^ turn(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & M64
        at += 8
    if at + 4 <= n:
        h = (rol(h ^ struct.unpack_from("<I", data, at)[0] * P1 & M64, 23) * P2 + P3) & M64
        at += 4
    for x in data[at:]:
        h = rol(h ^ x * P5 & M64, 11) * P1 & M64
    h = (h ^ h >> 33) * P2 & M64
    h = (h ^ h >> 29) * P3 & M64
    return h ^ h >> 32


def unlz4(data, size):
    out = bytearray()
    at = 0

    def byte():
        nonlocal at
        need(at < len(data), "lz4 data is cut")
        at += 1
        return data[at - 1]

    def length(n):
        more = 255 if n == 15 else 0
        while more == 255:
            more = byte()
            n += more
            need(n <= size, "lz4 data is too long")
        return n

    while True:
        token = byte()
        literals = length(token >> 4)
        need(at + literals <= len(data), "lz4 data is cut")
        out += data[at:at + literals]
        at += literals
        need(len(out) <= size, "lz4 data is too long")
        if at == len(data):
            break
        offset = byte() | byte() << 8
        need(1 <= offset <= len(out), "an lz4 match from nowhere")
        match = length(token & 15) + 4
        need(len(out) + match <= size, "lz4 data is too long")
        for _ in range(match):
            out.append(out[-offset])
    need(len(out) == size, "lz4 data has another size")
    return bytes(out)


# --- section 3: encodings

def bit_string(data, at, count, width):
    """count numbers of width bits, and the offset behind them."""
    size = (count * width + 7) // 8
    need(at + size <= len(data), "packed bits are cut")
    whole = int.from_bytes(data[at:at + size], "little")
    mask = (1 << width) - 1
    return [whole >> i * width & mask for i in range(count)], at + size


def packed(data, at, n):
    """A packed stream of n numbers, and the offset behind it."""
    need(at + 2 <= len(data), "a packed stream is cut")
    reference_bytes, patched = data[at], data[at + 1]
    need(reference_bytes <= 8 and patched <= 1, "a packed stream with a wrong head")
    groups = (n + 127) // 128
    at += 2
    head = data[at:at + groups * (3 if patched else 1)]
    need(len(head) == groups * (3 if patched else 1), "a packed stream is cut")
    at += len(head)
    references = at
    at += groups * reference_bytes
    need(at <= len(data), "a packed stream is cut")
    values = []
    for g in range(groups):
        m = min(128, n - 128 * g)
        w = head[g]
        c, h = (head[groups + g], head[2 * groups + g]) if patched else (0, 0)
        need(c <= m and w + h <= 64, "a packed group out of bounds")
        start = references + g * reference_bytes
        reference = int.from_bytes(data[start:start + reference_bytes], "little")
        low, at = bit_string(data, at, m, w)
        positions = data[at:at + c]
        need(len(positions) == c, "a packed group is cut")
        high, at = bit_string(data, at + c, c, h)
        group = [reference + x for x in low]
        for position, x in zip(positions, high):
            need(position < m, "a patch behind its group")
            group[position] += x << w
        values += [x & M64 for x in group]
    return values, at


def whole_packed(data, at, n):  # and nothing behind it
    values, end = packed(data, at, n)
    need(end == len(data), "bytes behind a packed stream")
    return values


def delta(parameter, data, n):
    need(n >= 1 and len(data) >= 8, "a delta column is cut")
    if parameter > 1:
        raise Unknown("parameter of delta")
    value = struct.unpack_from("<Q", data)[0]
    values = [value]
    for d in whole_packed(data, 8, n - 1):
        if parameter == 1:
            d = d >> 1 ^ -(d & 1)
        value = value + d & M64
        values.append(value)
    return values


def dictionary(data, n):
    need(len(data) >= 2, "a dictionary is cut")
    k = struct.unpack_from("<H", data)[0]
    need(1 <= k <= 256, "a dictionary out of bounds")
    entries, at = packed(data, 2, k)
    indices = whole_packed(data, at, n)
    need(all(i < k for i in indices), "an index beyond its dictionary")
    return [entries[i] for i in indices]


def departures(time, leaves, comes):
    table = {}
    predicted = []
    for a, b, c in zip(time, leaves, comes):
        who, when = table.get(c % 1024, (0, 0))
        predicted.append(a - when & M64 if c and who == c else 0)
        table[b % 1024] = (b, a)
    return predicted


def predicted(parameter, column, data, n):
    """column(id) gives the values of a column that stands before."""
    bases = [column(parameter >> shift & 255) for shift in (8, 16, 24)]
    predictor = parameter & 255
    if predictor == 1:
        values = list(bases[0])
    elif predictor == 2:
        values = ([0] + bases[0])[:n]
    elif predictor == 3:
        values = departures(*bases)
    elif predictor == 4:
        values = [0] * n
    else:
        raise Unknown("predictor %d" % predictor)
    size = (n + 63) // 64 * 8
    need(len(data) >= size, "a bitmap is cut")
    bits = int.from_bytes(data[:size], "little")
    rows = [i for i in range(8 * size) if bits >> i & 1]
    need(not rows or rows[-1] < n, "an exception behind the last row")
    for row, value in zip(rows, whole_packed(data, size, len(rows))):
        values[row] = value
    return values


def decode(encoding, parameter, minimum, column, data, n):
    if encoding == 1:
        need(not data, "a constant with bytes")
        return [minimum] * n
    if encoding == 2:
        need(len(data) == 8 * n, "a plain column of another size")
        return list(struct.unpack("<%dQ" % n, data))
    if encoding == 3:
        return whole_packed(data, 0, n)
    if encoding == 4:
        return delta(parameter, data, n)
    if encoding == 6:
        return dictionary(data, n)
    if encoding == 7:
        return predicted(parameter, column, data, n)
    raise Unknown("encoding %d" % encoding)


# --- section 2: blocks

class Entry:
    def __init__(self, data, at, payload):
        (self.column, self.encoding, self.compression, self.stored, self.encoded, self.parameter, self.min,
         self.max, self.checksum) = struct.unpack_from("<HBBIIIQQQ", data, at)
        self.at = payload
        need(self.stored <= MAX_COLUMN and self.encoded <= MAX_COLUMN, "a column beyond all bounds")
        need(self.compression or self.stored == self.encoded, "sizes that differ without compression")


class Block:
    """A block whose header is right; raises Damaged otherwise."""

    def __init__(self, data, offset):
        self.data, self.offset = data, offset
        need(data[offset:offset + 8] == BLOCK_MAGIC, "no block begins here")
        need(offset + 72 <= len(data), "a block header is cut")
        (self.header, self.table, entries, self.cpu, self.rows, self.payload, self.sequence, self.first_ts,
         self.last_ts, self.min_start) = struct.unpack_from("<IHHIIQQQQQ", data, offset + 8)
        need(entries <= 64 and self.header == 72 + 40 * entries and self.rows <= 65536, "a wrong block header")
        need(offset + self.header <= len(data), "a block header is cut")
        end = offset + self.header - 8
        need(struct.unpack_from("<Q", data, end)[0] == xxh64(data[offset:end]), "a block header's checksum")
        self.entries = []
        at = offset + self.header
        for i in range(entries):
            self.entries.append(Entry(data, offset + 64 + 40 * i, at))
            need(self.entries[-1].column and self.entries[-1].column < 256, "a column without a proper id")
            at += (self.entries[-1].stored + 7) // 8 * 8
        kinds = [(e.column, e.encoding == 5) for e in self.entries]
        need(len(kinds) == len(set(kinds)), "a column twice")
        need(at == offset + self.header + self.payload and self.first_ts <= self.last_ts, "a wrong block header")
        need(at <= len(data), "a block's data is cut")
        self.end = at

    def raw(self, entry):
        data = self.data[entry.at:entry.at + entry.stored]
        need(xxh64(data) == entry.checksum, "a column's checksum")
        if entry.compression == 0:
            return data
        if entry.compression == 1:
            return unlz4(data, entry.encoded)
        raise Unknown("compression %d" % entry.compression)

    def values(self, index):
        """Values of entry number index; those it looks at stand before it."""
        def column(wanted):
            for i, other in enumerate(self.entries[:index]):
                if other.column == wanted and other.encoding != 5:
                    return self.values(i)
            return [0] * self.rows

        e = self.entries[index]
        return decode(e.encoding, e.parameter, e.min, column, self.raw(e), self.rows)

    def column(self, wanted):
        """Values of a column; None where it cannot be read."""
        for i, e in enumerate(self.entries):
            if e.column == wanted and e.encoding != 5:
                try:
                    return self.values(i)
                except Unknown:
                    return None
        return [0] * self.rows

    def texts(self, wanted):
        data = b""
        for e in self.entries:
            if e.column == wanted and e.encoding == 5:
                data = self.raw(e)
        found, at = [], 0
        for length in self.column(wanted):
            found.append(data[at:at + length])
            at += length
        need(at == len(data), "lengths of texts do not add up")
        return found


class File:
    def __init__(self, data):
        need(data[:8] == FILE_MAGIC and len(data) >= 32, "not an .ing file")
        self.major, self.minor, size = struct.unpack_from("<HHI", data, 8)
        need(self.major == 1, "version %d" % self.major)
        need(size == 32 and struct.unpack_from("<Q", data, 24)[0] == xxh64(data[:24]), "a damaged file header")
        self.data, self.blocks, self.notes = data, [], []
        self.walk()
        self.closed = bool(self.blocks) and self.blocks[-1].table == CLOSE
        self.schema = self.read_schema()
        self.strings = self.read_strings()

    def walk(self):
        at, bad = 32, None
        while at < len(self.data):
            try:
                block = Block(self.data, at)
            except Damaged as e:
                if bad is None:
                    bad = at
                    self.notes.append("offset %d: %s" % (at, e))
                at = self.data.find(BLOCK_MAGIC, at + 8)
                while at > 0 and at % 8:
                    at = self.data.find(BLOCK_MAGIC, at + 1)
                if at < 0:
                    break
                continue
            bad = None
            self.blocks.append(block)
            at = block.end

    def read_schema(self):
        schema = dict(FIXED_SCHEMA)
        for block in self.blocks:
            if block.table != SCHEMA:
                continue
            names = [t.decode() for t in block.texts(4)]
            for table, column, kind, name in zip(block.column(1), block.column(2), block.column(3), names):
                need(column == 0 or table in schema and table < CLOSE, "a schema out of order")
                if column == 0:
                    schema[table] = (name, kind, [])
                else:
                    schema[table][2].append((column, kind, name))
            break
        return schema

    def read_strings(self):
        strings = {0: b""}
        for block in self.blocks:
            if block.table in self.schema and self.schema[block.table][0] == "string":
                strings.update(zip(block.column(1), block.texts(2)))
        return strings

    def table(self, name):
        for number, (other, scope, columns) in self.schema.items():
            if other == name:
                return number, scope, columns
        raise Damaged("no table %s" % name)

    def show(self, kind, values):
        if kind == STRING:
            return [self.strings.get(v, b"").decode("utf-8", "surrogateescape") for v in values]
        if kind == HEX:
            return ["0x%x" % v if v else "0" for v in values]
        if kind == SIGNED:
            return [v - (1 << 64) if v >> 63 else v for v in values]
        return values

    def rows(self, name):
        """Header, then rows, with strings resolved."""
        number, scope, columns = self.table(name)
        yield (["cpu_stream"] if scope == 2 else []) + [c[2] for c in columns]
        for block in self.blocks:
            if block.table != number:
                continue
            shown = [[block.cpu] * block.rows] if scope == 2 else []
            for column, kind, _ in columns:
                if kind == TEXT:
                    shown.append([t.decode("utf-8", "surrogateescape") for t in block.texts(column)])
                else:
                    values = block.column(column)
                    shown.append([""] * block.rows if values is None else self.show(kind, values))
            yield from zip(*shown)


# --- explaining a file byte by byte

def hex_lines(data, start, end, text, out):
    for at in range(start, end, 16):
        piece = data[at:min(at + 16, end)]
        out.append("%06x  %-47s  %s" % (at, piece.hex(" "), text if at == start else ""))
        out[-1] = out[-1].rstrip()


def explain_entry(f, block, i, out):
    e = block.entries[i]
    name = next((c[2] for c in f.schema[block.table][2] if c[0] == e.column), "?")
    base = block.offset + 64 + 40 * i
    hex_lines(f.data, base, base + 16,
              "column %d %s, encoding %d %s, %s, stored %d, encoded %d, parameter %d" % (
                  e.column, name, e.encoding, ENCODINGS.get(e.encoding, "?"), "lz4" if e.compression else "not compressed",
                  e.stored, e.encoded, e.parameter), out)
    hex_lines(f.data, base + 16, base + 32, "min %d, max %d" % (e.min, e.max), out)
    hex_lines(f.data, base + 32, base + 40, "checksum of its bytes", out)


def explain_payload(f, block, i, out):
    e = block.entries[i]
    if not e.stored:
        return
    name = next((c[2] for c in f.schema[block.table][2] if c[0] == e.column), "?")
    if e.encoding == 5:
        what = "text: %s" % block.raw(e)[:40]
    else:
        values = block.values(i)
        what = "%s: %s%s" % (name, ", ".join(str(v) for v in values[:6]), ", ..." if len(values) > 6 else "")
    hex_lines(f.data, e.at, e.at + e.stored, what, out)
    padding = -e.stored % 8
    if padding:
        hex_lines(f.data, e.at + e.stored, e.at + e.stored + padding, "padding", out)


def explain(data):
    f = File(data)
    out = []
    hex_lines(data, 0, 8, "magic of the file", out)
    hex_lines(data, 8, 16, "version %d.%d, 32 bytes of header" % (f.major, f.minor), out)
    hex_lines(data, 16, 24, "0", out)
    hex_lines(data, 24, 32, "checksum of all before", out)
    for block in f.blocks:
        o = block.offset
        name = f.schema[block.table][0] if block.table in f.schema else "close mark"
        out.append("")
        hex_lines(data, o, o + 8, "magic of a block", out)
        hex_lines(data, o + 8, o + 16, "header %d bytes, table %d %s, %d entries" % (
            block.header, block.table, name, len(block.entries)), out)
        hex_lines(data, o + 16, o + 24, "cpu %d, %d rows" % (block.cpu, block.rows), out)
        hex_lines(data, o + 24, o + 40, "payload %d bytes, sequence %d" % (block.payload, block.sequence), out)
        hex_lines(data, o + 40, o + 64, "first_ts %d, last_ts %d, min_start %d" % (
            block.first_ts, block.last_ts, block.min_start), out)
        for i in range(len(block.entries)):
            explain_entry(f, block, i, out)
        hex_lines(data, o + block.header - 8, o + block.header, "checksum of the header", out)
        for i in range(len(block.entries)):
            explain_payload(f, block, i, out)
    return "\n".join(out) + "\n"


# --- vectors

def check_vectors(text):
    """Each line: encoding parameter min n bytes values [a [b [c]]], lists with commas; "-" is empty."""
    checked = 0
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        encoding, parameter, minimum, n, data, *lists = line.split()
        lists = [[int(x) for x in one.split(",")] if one != "-" else [] for one in lists]
        bases = {1 + i: values for i, values in enumerate(lists[1:])}
        got = decode(int(encoding), int(parameter), int(minimum), lambda c: bases.get(c, [0] * int(n)),
                     bytes.fromhex(data) if data != "-" else b"", int(n))
        need(got == lists[0], "vector %d" % (checked + 1))
        checked += 1
    need(checked > 0, "no vectors")
    return checked


def main(arguments):
    path = arguments[-1]
    if arguments[0] == "--vectors":
        print(check_vectors(open(path).read()), "vectors are right")
        return
    with open(path, "rb") as file:
        data = file.read()
    if arguments[0] == "--explain":
        sys.stdout.write(explain(data))
        return
    f = File(data)
    for note in f.notes:
        print("read_ing: " + note, file=sys.stderr)
    if arguments[0] == "--table":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(f.rows(arguments[1]))
        sys.stdout.buffer.write(out.getvalue().encode("utf-8", "surrogateescape"))
        return
    for name, _, _ in f.schema.values():
        print(name, sum(1 for _ in f.rows(name)) - 1)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Damaged as error:
        sys.exit("read_ing: %s" % error)
