#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the files of tests/data/bad out of format-spec/example.ing: tests/data/make-bad.py

Each is wrong in one way that its name says; checksums are right unless they are what is wrong.
"""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests/format"))
sys.dont_write_bytecode = True
from read_ing import BLOCK_MAGIC, CLOSE, INDEX, M64, SCHEMA, File, xxh64  # noqa: E402

EXAMPLE = open(os.path.join(TOP, "format-spec/example.ing"), "rb").read()
BLOCKS = File(EXAMPLE).blocks
HEADER, SCHEMA_BLOCK = EXAMPLE[:32], EXAMPLE[32:BLOCKS[0].end]
STRING, INFO, SWITCH, PAGE, CALL = 1, 2, 5, 6, 7
CONSTANT, PLAIN, PACKED, DELTA, TEXT, DICTIONARY, PREDICTED = range(1, 8)


def entry(column, encoding, data=b"", encoded=None, parameter=0, low=0, high=0, lz4=0, stored=None):
    return (column, encoding, lz4, data, len(data) if encoded is None else encoded, parameter, low, high,
            len(data) if stored is None else stored)


def plain(column, *values):
    return entry(column, PLAIN, struct.pack("<%dQ" % len(values), *values), low=min(values), high=max(values))


def block(table, rows, *entries, cpu=0, sequence=1, first=0, last=0, start=0, payload=None, count=None, size=None):
    body, directory = b"", b""
    for column, encoding, lz4, data, encoded, parameter, low, high, stored in entries:
        directory += struct.pack("<HBBIIIQQQ", column, encoding, lz4, stored, encoded, parameter, low, high, xxh64(data))
        body += data + bytes(-len(data) % 8)
    head = BLOCK_MAGIC + struct.pack(
        "<IHHIIQQQQQ", 72 + len(directory) if size is None else size, table, len(entries) if count is None else count,
        cpu, rows, len(body) if payload is None else payload, sequence, first, last, start) + directory
    return head + struct.pack("<Q", xxh64(head)) + body


def one(table, rows, *entries, **options):
    """A file of header, schema and one block."""
    return HEADER + SCHEMA_BLOCK + block(table, rows, *entries, **options)


def column(encoding, data=b"", **options):
    """A file whose one block holds column tid of table page, two rows, under the encoding."""
    return one(PAGE, 2, plain(1, 5, 6), entry(2, encoding, data, **options), first=5, last=6, start=5)


def schema(*rows):
    names = b"".join(r[3] for r in rows)
    return HEADER + block(SCHEMA, len(rows), plain(1, *(r[0] for r in rows)), plain(2, *(r[1] for r in rows)),
                          plain(3, *(r[2] for r in rows)), plain(4, *(len(r[3]) for r in rows)), entry(4, TEXT, names),
                          sequence=0)


def strings(ids, lengths, text):
    return one(STRING, len(ids), plain(1, *ids), plain(2, *lengths), entry(2, TEXT, text))


def header(major=1, minor=0, size=32):
    head = HEADER[:8] + struct.pack("<HHIQ", major, minor, size, 0)
    return head + struct.pack("<Q", xxh64(head)) + EXAMPLE[32:]


def flipped(offset, bit=1):
    return EXAMPLE[:offset] + bytes([EXAMPLE[offset] ^ bit]) + EXAMPLE[offset + 1:]


def packed(reference_bytes, patched, *rest):
    return bytes([reference_bytes, patched]) + bytes(rest)


SWITCHES = next(b for b in BLOCKS if b.table == SWITCH)
LAST = BLOCKS[-1].offset
FILES = {
    "empty": b"",
    "text": b"This is no recording but a text of some length, which is long enough to hold a header.\n",
    "header-cut": EXAMPLE[:20],
    "header-magic-through-text-mode": EXAMPLE.replace(b"\r\n", b"\n"),
    "header-major-newer": header(major=2),
    "header-major-zero": header(major=0),
    "header-size-other": header(size=40),
    "header-checksum": flipped(24),
    "header-only": HEADER,
    "cut-in-schema": EXAMPLE[:60],
    "cut-in-block-header": EXAMPLE[:SWITCHES.offset + 30],
    "cut-in-directory": EXAMPLE[:SWITCHES.offset + 100],
    "cut-in-payload": EXAMPLE[:SWITCHES.offset + SWITCHES.header + 9],
    "cut-before-close": EXAMPLE[:LAST],
    "flip-schema-header": flipped(40),
    "flip-schema-payload": flipped(BLOCKS[0].offset + BLOCKS[0].header + 3),
    "flip-block-header": flipped(SWITCHES.offset + 20),
    "flip-payload": flipped(SWITCHES.offset + SWITCHES.header),
    "flip-magic": flipped(SWITCHES.offset),
    "tail-garbage": EXAMPLE + b"garbage at the end of a closed file, and more",
    "tail-zeros": EXAMPLE + bytes(4096),
    "block-missing": EXAMPLE[:SWITCHES.offset] + EXAMPLE[SWITCHES.end:],
    "block-rows-huge": one(PAGE, 0xffffffff, plain(1, 5)),
    "block-rows-65537": one(PAGE, 65537, entry(1, CONSTANT, low=5, high=5), first=5, last=5, start=5),
    "block-entries-huge": one(PAGE, 1, plain(1, 5), count=65535),
    "block-header-size-huge": one(PAGE, 1, plain(1, 5), size=0xfffffff8),
    "block-payload-huge": one(PAGE, 1, plain(1, 5), payload=1 << 63),
    "block-payload-wraps": one(PAGE, 1, plain(1, 5), payload=M64 - 7),
    "block-times-swapped": one(PAGE, 2, plain(1, 5, 6), first=6, last=5, start=5),
    "block-times-wrong": one(PAGE, 2, plain(1, 5, 6), first=5, last=7, start=5),
    "block-rows-unordered": one(PAGE, 2, plain(1, 6, 5), first=5, last=6, start=5),
    "block-cpu-of-global": one(INFO, 1, entry(1, CONSTANT, low=0, high=0), cpu=3),
    "block-unknown-column": one(PAGE, 1, plain(1, 5), plain(200, 7), first=5, last=5, start=5),
    "block-unknown-table": one(777, 1, plain(1, 5)),
    "block-unknown-encoding": column(99, b"12345678"),
    "block-unknown-compression": column(PLAIN, b"1234567812345678", lz4=9),
    "column-stored-huge": column(PLAIN, b"", stored=0xffffffff),
    "column-stored-beyond": column(PLAIN, bytes(16), stored=1 << 20),
    "column-encoded-huge": column(PLAIN, b"\x10", encoded=0xffffffff, lz4=1),
    "column-encoded-other": column(PLAIN, bytes(16), encoded=24),
    "column-constant-range": column(CONSTANT, low=1, high=2),
    "column-constant-bytes": column(CONSTANT, bytes(8), low=1, high=1),
    "column-plain-short": column(PLAIN, bytes(8)),
    "column-plain-range": one(PAGE, 2, entry(1, PLAIN, struct.pack("<QQ", 5, 6), low=4, high=6), first=5, last=6, start=5),
    "lz4-garbage": column(PLAIN, b"\xff\xff\xff\xff\xff\xff", encoded=16, lz4=1),
    "lz4-match-from-nowhere": column(PLAIN, b"\x1aA\xff\xff\x10A", encoded=16, lz4=1),
    "lz4-short": column(PLAIN, b"\x30abc", encoded=16, lz4=1),
    "lz4-bomb": column(PLAIN, b"\x1fA\x01\x00" + b"\xff" * 17000 + b"\x00\x00", encoded=4 << 20, lz4=1),
    "packed-empty": column(PACKED, b""),
    "packed-reference-bytes": column(PACKED, packed(9, 0, 1, *range(12))),
    "packed-patched-flag": column(PACKED, packed(1, 2, 1, 0, 0)),
    "packed-width": column(PACKED, packed(0, 0, 65) + bytes(17)),
    "packed-width-and-high": column(PACKED, packed(0, 1, 40, 1, 25) + bytes(15)),
    "packed-count": column(PACKED, packed(0, 1, 1, 3, 1, 3, 0, 1, 2, 7)),
    "packed-position": column(PACKED, packed(0, 1, 1, 1, 1, 3, 2, 1)),
    "packed-cut": column(PACKED, packed(1, 0, 64, 5) + bytes(15)),
    "packed-long": column(PACKED, packed(1, 0, 1, 5, 3, 0)),
    "delta-short": column(DELTA, bytes(7)),
    "delta-no-rows": one(PAGE, 0, entry(1, DELTA, bytes(10))),
    "delta-parameter": column(DELTA, bytes(8) + packed(0, 0, 0), parameter=2),
    "dictionary-empty": column(DICTIONARY, b"\0\0" + packed(0, 0) + packed(0, 0, 0)),
    "dictionary-huge": column(DICTIONARY, b"\xff\xff" + packed(0, 0, 0)),
    "dictionary-index": column(DICTIONARY, b"\1\0" + packed(0, 0, 0) + packed(0, 0, 1, 2)),
    "predicted-bitmap-cut": column(PREDICTED, bytes(4), parameter=1 + 256),
    "predicted-bitmap-beyond": column(PREDICTED, b"\xff" * 8 + packed(0, 0), parameter=1 + 256),
    "predicted-predictor": column(PREDICTED, bytes(8) + packed(0, 0), parameter=77),
    "predicted-from-itself": column(PREDICTED, bytes(8) + packed(0, 0), parameter=1 + 2 * 256),
    "predicted-from-behind": column(PREDICTED, bytes(8) + packed(0, 0), parameter=1 + 3 * 256),
    "text-lengths-wrap": strings([1, 2], [M64, 3], b"ab"),
    "text-lengths-short": strings([1], [2], b"abc"),
    "text-missing": one(STRING, 1, plain(1, 1), plain(2, 5)),
    "text-twice": one(STRING, 1, plain(1, 1), plain(2, 3), entry(2, TEXT, b"abc"), entry(2, TEXT, b"abcdef")),
    "string-id-zero": strings([0], [1], b"a"),
    "string-id-huge": strings([1 << 40], [1], b"a"),
    "string-id-twice": strings([1, 1], [1, 1], b"ab"),
    "string-id-dangling": one(INFO, 1, entry(1, CONSTANT, low=99, high=99)),
    "string-too-long": strings([1], [65536], b"x" * 65536),
    "schema-name-long": schema((1, 0, 1, b"x" * 32)),
    "schema-name-odd": schema((1, 0, 1, b"a\x1b[2J")),
    "schema-column-alone": schema((1, 1, 1, b"alone")),
    "schema-columns-33": schema((100, 0, 1, b"wide"), *((100, i, 3, b"c") for i in range(1, 34))),
    "schema-table-twice": schema((100, 0, 1, b"a"), (100, 0, 1, b"b")),
    "schema-table-reserved": schema((CLOSE, 0, 1, b"a")),
    "schema-type-changed": schema((PAGE, 0, 2, b"page"), (PAGE, 1, 6, b"ts")),
    "index-wrong": one(INDEX, 2, plain(1, 32, 40)),
    "index-of-itself": one(INDEX, 1, plain(1, 32), start=32 + len(SCHEMA_BLOCK)),
    "close-in-the-middle": HEADER + SCHEMA_BLOCK + block(CLOSE, 0) + block(PAGE, 1, plain(1, 5), sequence=2, first=5,
                                                                          last=5, start=5),
    "call-before-time": one(CALL, 1, plain(1, 5), plain(2, 6), first=5, last=5, start=M64),
}


def main():
    folder = os.path.join(HERE, "bad")
    os.makedirs(folder, exist_ok=True)
    for name, data in FILES.items():
        with open(os.path.join(folder, name + ".ing"), "wb") as file:
            file.write(data)
    print("%d files" % len(FILES))


main()
