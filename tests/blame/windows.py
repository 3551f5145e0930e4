# SPDX-License-Identifier: BSD-2-Clause
"""What a job lost and to whom, by its own clocks: the independent truth of the planted cases.

From the calls that the stand-in library accounts for, the windows are formed by the rules of the
report (slow calls, slow gaps, starvation); what a culprit noted of itself inside them is its share.
"""
import bisect
import collections

FACTOR, GROUP_MIN, SLOW_MIN, EXCESS_MIN = 3, 10, 3, 10000
SYNCHRONISE = "cudaStreamSynchronize"

# cost is the part of the window in which time was lost, and at most lost of it.
Window = collections.namedtuple("Window", "kind name start end cost lost")


def p50(values):
    return sorted(values)[-(-len(values) // 2) - 1]


def slow_members(kind, groups):
    """groups: {key: [(start, end)]}; a synchronise can only lose what is after its usual end."""
    found = []
    for key, members in groups.items():
        if len(members) < GROUP_MIN:
            continue
        middle = p50([end - start for start, end in members])
        slow = [m for m in members
                if m[1] - m[0] > FACTOR * middle and m[1] - m[0] >= middle + EXCESS_MIN]
        if len(slow) < SLOW_MIN:
            continue
        for start, end in slow:
            late = start + middle if key[0] == SYNCHRONISE and kind == "slow_call" else start
            found.append(Window(kind, key, start, end, late, end - start - middle))
    return found


def windows_of(calls):
    """The windows of one thread that does nothing but feed, and its active span."""
    calls = sorted((c for c in calls if c.depth == 0 and c.end and c.code == 0),
                   key=lambda c: c.start)
    by_operation, by_gap, found, seen = {}, {}, [], set()
    for i, call in enumerate(calls):
        if call.operation in seen:
            size = call.bytes.bit_length()
            by_operation.setdefault((call.operation, size), []).append((call.start, call.end))
        seen.add(call.operation)
        if i + 1 == len(calls):
            break
        after = calls[i + 1]
        if call.operation == SYNCHRONISE:
            found.append(Window("starvation", (SYNCHRONISE,), call.end, after.start, call.end,
                                after.start - call.end))
        else:
            by_gap.setdefault((call.operation, after.operation), []).append((call.end, after.start))
    found += slow_members("slow_call", by_operation) + slow_members("gap", by_gap)
    return found, calls[-1].end - calls[0].start


class Intervals:
    """A union of intervals, asked how much of it lies in a window."""

    def __init__(self, pairs):
        merged = []
        for start, end in sorted(pairs):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        self.starts = [m[0] for m in merged]
        self.ends = [m[1] for m in merged]

    def meet(self, other):
        """What is in both."""
        found, at = [], 0
        for start, end in zip(self.starts, self.ends):
            while at < len(other.ends) and other.ends[at] <= start:
                at += 1
            for i in range(at, len(other.starts)):
                if other.starts[i] >= end:
                    break
                found.append((max(start, other.starts[i]), min(end, other.ends[i])))
        return Intervals(found)

    def within(self, start, end):
        at = bisect.bisect_right(self.ends, start)
        total = 0
        while at < len(self.starts) and self.starts[at] < end:
            total += min(end, self.ends[at]) - max(start, self.starts[at])
            at += 1
        return total


def taken(windows, intervals):
    return sum(min(w.lost, intervals.within(w.cost, w.end)) for w in windows)


def lost(windows):
    return sum(w.lost for w in windows)
