# SPDX-License-Identifier: BSD-2-Clause
# timeout: 150
"""What is recorded around calls and switches, each against a truth of its own: system calls and
interrupts against a program that knows where it sleeps, throttling and samples against the control
group's own figures, major faults against rusage, reclaim against the kernel's trace, affinity
against sched_getaffinity; and nothing of it with --without.
"""
import collections
import json
import os
import sys
import lib
from lib import check, equal, note

TASK, SOFTIRQ, HARDIRQ = 1, 2, 3                      # enum waker_context
NET_RX, BLOCK, HARD_TIMER, HARD_DEVICE = 4, 5, 32, 33  # enum waker_vector
PREV_THROTTLED, PREV_IO_WAIT = 0x20, 0x40
FIRST, UNKNOWN, PREEMPTED, THROTTLED, IO_WAIT = 0x1, 0x4, 0x8, 0x10, 0x20
INTERRUPT, RECLAIM = 15, 16                            # enum event_source
ROUNDS = 300
MIB = 1 << 20
# Moves itself into the group $1, then runs the rest.
IN_GROUP = 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"'


def by_thread(recording):
    """{tid: [(left, came back)]}: its rows in time order, one of each in turn."""
    rows = sorted(recording.table("switch"), key=lambda r: r["ts"])
    left, pairs = {}, collections.defaultdict(list)
    for row in rows:
        if row["next_tid"] in left:
            pairs[row["next_tid"]].append((left.pop(row["next_tid"]), row))
        left[row["prev_tid"]] = row
    return pairs


def nearly_all(rows, holds, what, least):
    good = sum(1 for r in rows if holds(r))
    check(len(rows) >= least and good >= 0.97 * len(rows), f"{what}: {good} of {len(rows)} rows")


def woken(way, row):
    """Whether the row says of the waker what the program knows."""
    context, vector = row["waker_context"], row["waker_vector"]
    if way["way"] in ("nanosleep", "timerfd"):
        return (context, vector) == (HARDIRQ, HARD_TIMER)
    if way["way"] in ("disk", "fault"):
        disk = (context, vector) in ((SOFTIRQ, BLOCK), (HARDIRQ, HARD_DEVICE))
        return disk and row["next_flags"] & IO_WAIT
    wanted = (SOFTIRQ, NET_RX) if way["way"] == "network" else (TASK, 0)
    return (context, vector) == wanted and row["waker_syscall"] == way["waker_syscall"] + 1


def sleeps():
    path = lib.scratch("data")
    with open(path, "wb") as file:
        file.write(os.urandom(8 * MIB))
        os.fsync(file.fileno())
    command = [lib.workload("sleeps"), "-n", str(ROUNDS), "-f", path]
    recording = lib.record(command, name="sleeps.ing")
    pairs = by_thread(recording)
    for way in map(json.loads, recording.stdout.splitlines()):
        one_way(way, [r for _, r in pairs[way["tid"]]])
        if way["way"] == "fault":
            got = faults_of(recording, {way["tid"]})
            # Where files lie in memory none is major; major_faults() has wait4's count.
            check(got in (0, ROUNDS), f"major faults of the thread that makes them: {got}")
    flags_follow(pairs, 1000)


def one_way(way, rows):
    """Rows of the thread that slept in one way, all but a few."""
    name, syscall = way["way"], way["syscall"] + 1
    rows = [r for r in rows if not r["next_flags"] & (FIRST | UNKNOWN | PREEMPTED)]
    if way["prepares"] >= 0:
        rows = [r for r in rows if r["next_syscall"] != way["prepares"] + 1]
    note(f"{name}: {len(rows)} sleeps")
    if name in ("disk", "fault") and len(rows) < ROUNDS // 4:
        note(f"{name}: not looked at, the disk answers without a sleep")
        return
    if way["waker"]:
        rows = [r for r in rows if r["waker_tid"] == way["waker"]]
    nearly_all(rows, lambda r: r["next_syscall"] == syscall, f"{name}: slept in", ROUNDS // 2)
    nearly_all(rows, lambda r: woken(way, r), f"{name}: woken by", ROUNDS // 2)


def flags_follow(pairs, least):
    """What a row says of how a thread came back is what the one before said of how it left."""
    seen = collections.Counter()
    for tid, times in pairs.items():
        for left, back in times:
            state, flags = left["prev_state"], back["next_flags"]
            whole = back["next_off"] == back["ts"] - left["ts"]     # no row between is missing
            if not tid or flags & (FIRST | UNKNOWN) or not whole:
                continue
            runnable = not state & 0xf
            seen["all"] += 1
            seen["I/O"] += bool(flags & IO_WAIT) != bool(state & PREV_IO_WAIT)
            seen["call"] += runnable and back["next_syscall"] != 0
            seen["quota"] += runnable and bool(state & PREV_THROTTLED) and not flags & THROTTLED
    check(seen["all"] > least, f"rows in pairs: {seen['all']}")
    # The kernel takes the mark off again where a wake-up comes early.
    check(seen["I/O"] <= 0.01 * seen["all"], f"I/O wait at both ends: {seen} differ")
    equal(seen["call"], 0, "threads that did not sleep, with a system call")
    equal(seen["quota"], 0, "throttled threads that came back without the flag")


def tree(recording):
    return {r["tid"] for r in recording.table("task") if r["flags"] & 0x1}


def throttled_waits(recording):
    own = tree(recording)
    rows = recording.table("switch")
    return [r["next_wait"] for r in rows if r["next_flags"] & THROTTLED and r["next_tid"] in own]


def faults_of(recording, tids):
    return sum(r["prev_major_faults"] for r in recording.table("switch") if r["prev_tid"] in tids)


FAULTS = """
import mmap, os, sys
if len(sys.argv) > 2:
    fd = os.open(sys.argv[1], os.O_RDONLY)
    for i in range(int(sys.argv[2])):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as m:
            m.madvise(mmap.MADV_RANDOM)
            m[i * 65536]
    os._exit(0)
import subprocess
child = subprocess.Popen([sys.executable, __file__, sys.argv[1], "100"])
_, status, usage = os.wait4(child.pid, 0)
print(child.pid, usage.ru_majflt, status)
"""


def major_faults():
    """wait4 of a child that is born inside the recording."""
    path = lib.scratch("data")
    with open(path + ".py", "w") as file:
        file.write(FAULTS)
    recording = lib.record([sys.executable, path + ".py", path], name="faults.ing")
    pid, truth, status = map(int, recording.stdout.split())
    equal(status, 0, "the child's status")
    tids = {r["tid"] for r in recording.table("task") if r["tgid"] == pid}
    got = faults_of(recording, tids)
    note(f"major faults: recorded {got}, wait4 {truth}")
    if truth < 50:
        note("major faults: few here, the file stays in memory")
    check(abs(got - truth) <= 1, f"major faults: {got}, wait4 says {truth}")


def hierarchy(controller):
    """(mount point, version) of the hierarchy that has it and lets groups be made; None without."""
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file if " - cgroup" in line]
    for fields in mounts:
        kind, options = fields[fields.index("-") + 1], fields[-1].split(",")
        if kind == "cgroup" and controller in options:
            return fields[4], 1
    for fields in mounts:
        if fields[fields.index("-") + 1] == "cgroup2" and usable(fields[4], controller):
            return fields[4], 2
    return None


def usable(mount, controller):
    path = os.path.join(mount, "cgroup.subtree_control")
    try:
        with open(path, "w") as file:
            file.write("+" + controller)
        return True
    except OSError:
        return False


class Group:
    """A control group of this test's own."""

    def __init__(self, controller):
        self.found = hierarchy(controller)
        self.path = self.found and os.path.join(self.found[0], f"ingero-test-{os.getpid()}")
        if self.path:
            os.mkdir(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.path:
            lib.wait_until(self.remove, 5)

    def remove(self):
        try:
            os.rmdir(self.path)
            return True
        except OSError:
            return False

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(str(value))

    def stat(self):
        with open(os.path.join(self.path, "cpu.stat")) as file:
            return {k: int(v) for k, v in (line.split() for line in file)}

    def quota(self, us, period):
        if self.found[1] == 1:
            self.write("cpu.cfs_period_us", period)
            self.write("cpu.cfs_quota_us", us)
        else:
            self.write("cpu.max", f"{us} {period}")

    def throttled_time(self, stat):
        return stat["throttled_time"] if self.found[1] == 1 else stat["throttled_usec"] * 1000


def run_in(group, command, name):
    return lib.record(["sh", "-c", IN_GROUP, "sh", group.path, *command], name=name)


def throttling():
    """One thread on one CPU: each throttled wait is one of the group's, and they last as long."""
    with Group("cpu") as group:
        if not group.path:
            return note("throttling: not looked at, no cpu controller to make groups with")
        group.quota(30000, 100000)
        hog = [lib.workload("hog"), "-p", "1", "-c", "0", "-ms"]
        recording = run_in(group, [*hog, "1500"], "quota.ing")
        stat = group.stat()
        compare_waits(throttled_waits(recording), stat["nr_throttled"], group.throttled_time(stat))
        samples(recording, group, stat)
        group.quota(-1 if group.found[1] == 1 else "max", 100000)
        twin = run_in(group, [*hog, "300"], "free.ing")
        equal(throttled_waits(twin), [], "throttled waits without a quota")
    flags_follow(by_thread(recording), 50)


def compare_waits(waits, times, truth):
    waited = sum(waits)
    note(f"throttled: {len(waits)} waits of {waited / 1e6:.1f} ms, the kernel's own: {times} periods, "
         f"{truth / 1e6:.1f} ms")
    check(times >= 5, f"it was throttled: {times}")
    check(abs(len(waits) - times) <= 2, f"throttled waits: {len(waits)}, {times}")
    # A wait lasts until the thread has the CPU again, for which it may compete.
    check(0.97 * truth <= waited <= 1.25 * truth + 10e6 * len(waits),
          f"throttled for {waited} ns, {truth} ns")


def samples(recording, group, stat):
    """The last row is what the group says once all is over; before, 10 a second, growing."""
    name = "/" + os.path.basename(group.path)
    rows = [r for r in recording.table("cgroup") if r["path"] == name]
    if not check(len(rows) >= 10, f"rows of {name}: {len(rows)}"):
        return
    last = rows[-1]
    equal((last["quota"], last["period"]), (30000000, 100000000), "quota and period")
    equal(last["throttled"], stat["nr_throttled"], "nr_throttled")
    equal(last["throttled_time"], group.throttled_time(stat), "throttled time")
    check(abs(last["periods"] - stat["nr_periods"]) <= 1, f"nr_periods: {last}, {stat}")
    if "usage_usec" in stat:
        check(abs(last["usage"] / 1000 - stat["usage_usec"]) < 20000, f"usage: {last}, {stat}")
    for key in ("ts", "periods", "throttled", "throttled_time", "usage"):
        check(all(a[key] <= b[key] for a, b in zip(rows, rows[1:])), f"{key} never goes back")
    middle = lib.median([b["ts"] - a["ts"] for a, b in zip(rows, rows[1:])])
    check(80e6 < middle < 150e6, f"time between rows: {middle} ns")


class Trace:
    """The kernel's own trace of some events, in an instance apart from others'."""

    def __init__(self, *events):
        self.path = f"/sys/kernel/tracing/instances/ingero-{os.getpid()}"
        self.events = events
        self.works = False

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(value)

    def __enter__(self):
        try:
            os.mkdir(self.path)
            self.write("trace_clock", "mono")
            self.write("buffer_size_kb", "8192")
            for event in self.events:
                self.write(f"events/{event}/enable", "1")
            self.works = True
        except OSError:
            pass
        return self

    def __exit__(self, *unused):
        if os.path.isdir(self.path):
            os.rmdir(self.path)

    def rows(self):
        """[(pid, ns, event)]"""
        found = []
        with open(os.path.join(self.path, "trace"), errors="replace") as file:
            for line in file:
                if line.startswith("#"):
                    continue
                head, _, rest = line.partition(": ")
                task, at = head.rsplit(None, 1)
                pid = task.split("[")[0].rstrip().rpartition("-")[2]
                found.append((int(pid), round(float(at) * 1e9), rest.split(":")[0]))
        return found


def reclaim():
    """A small memory limit, and a file larger than it."""
    path = lib.scratch("large")
    with open(path, "wb") as file:
        for _ in range(96):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    events = [f"vmscan/mm_vmscan_memcg_reclaim_{end}" for end in ("begin", "end")]
    with Group("memory") as group, Trace(*events) as trace:
        if not group.path or not trace.works:
            return note("reclaim: not looked at, no memory controller or no tracing instance")
        limit = "memory.limit_in_bytes" if group.found[1] == 1 else "memory.max"
        group.write(limit, 24 * MIB)
        script = 'cat "$1" >/dev/null; sleep 1.5'
        recording = run_in(group, ["sh", "-c", script, "sh", path], "reclaim.ing")
        compare_reclaim(recording, trace.rows())
        rows = recording.table("cgroup")
        check(any(r["memory_limit"] == 24 * MIB for r in rows), f"the limit is there: {rows[-1:]}")
    os.unlink(path)


def compare_reclaim(recording, traced):
    rows = recording.table("reclaim")
    counters = last_counters(recording, RECLAIM)
    begin, truth = {}, collections.defaultdict(list)
    for pid, at, event in traced:
        if event.endswith("begin"):
            begin[pid] = at
        elif pid in begin:
            truth[pid].append(at - begin.pop(pid))
    wanted = {pid: spans for pid, spans in truth.items() if pid in tree(recording)}
    if not wanted:
        note("reclaim: the kernel did none, the file stays in memory")
        equal(len([r for r in rows if r["tid"] in tree(recording)]), 0, "reclaims")
        return
    check(sum(map(len, wanted.values())) >= 100, f"there was reclaim: {wanted}")
    for pid, spans in wanted.items():
        mine = [r for r in rows if r["tid"] == pid and r["kind"] == 2]
        total, traced_total = sum(r["duration"] for r in mine), sum(spans)
        note(f"reclaim of {pid}: {len(mine)} in {total / 1e6:.1f} ms, traced {len(spans)} in "
             f"{traced_total / 1e6:.1f} ms")
        equal(len(mine), len(spans), f"reclaims of {pid}")
        check(abs(total - traced_total) <= 0.1 * traced_total + 1e6,
              f"time in reclaim of {pid}: {total}, {traced_total}")
        check(sum(r["pages"] for r in mine) > 0, "pages were reclaimed")
    equal(sum(c["emitted"] for c in counters), len(rows), "rows and emitted")


def last_counters(recording, *sources):
    rows = [r for r in recording.table("counter") if r["source"] in sources or not sources]
    last = {(r["source"], r["cpu"]): r for r in rows}
    for row in last.values():
        parts = row["emitted"] + row["filtered"] + row["lost"]
        equal(row["entries"], parts, f"source {row['source']}: entries")
    return list(last.values())


AFFINITY = """
import json, os, threading, time
told = []
def step(cpus):
    os.sched_setaffinity(0, cpus)
    told.append([threading.get_native_id(), sorted(os.sched_getaffinity(0))])
    time.sleep(0.8)
def other():
    step({min(everywhere)})
everywhere = os.sched_getaffinity(0)
step(everywhere)
thread = threading.Thread(target=other)
thread.start()
step({max(everywhere)})
thread.join()
step(everywhere)
print(json.dumps(told))
"""


def cpus_of(text):
    found = []
    for part in str(text).split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def affinity():
    recording = lib.record([sys.executable, "-c", AFFINITY], name="affinity.ing")
    got = collections.defaultdict(list)
    for row in recording.table("affinity"):
        got[row["tid"]].append(cpus_of(row["cpus"]))
        equal(row["count"], len(cpus_of(row["cpus"])), "count and list")
    truth = collections.defaultdict(list)
    for tid, cpus in json.loads(recording.stdout):
        truth[tid].append(cpus)
    for tid, steps in truth.items():
        changes = [s for i, s in enumerate(steps) if not i or s != steps[i - 1]]
        mine = got[tid][1:] if got[tid][:1] != changes[:1] else got[tid]
        note(f"affinity of {tid}: {mine}")
        equal(mine, changes, f"affinity of {tid}")
    check(set(got) <= tree(recording), "only of the tree")


def without():
    everything = "interrupts,syscalls,throttling,faults,reclaim,cgroups,affinity"
    columns = ("next_syscall", "waker_syscall", "waker_vector", "prev_major_faults")
    command = [sys.executable, "-c", "import time; time.sleep(0.6)"]
    with_all = lib.record(command, name="with.ing")
    for column in ("next_syscall", "waker_syscall", "waker_vector"):
        check(any(r[column] for r in with_all.table("switch")), f"{column} is there")
    check(any(r["syscall"] for r in with_all.table("state")), "keyframes tell the system call")
    check(last_counters(with_all, INTERRUPT), "interrupts are counted")
    last_counters(with_all)
    check("record.without" not in lib.info(with_all), "record.without is absent")
    recording = lib.record(command, "--without", everything, name="without.ing")
    equal(lib.info(recording).get("record.without"), everything, "record.without")
    for column in columns:
        check(not any(r[column] for r in recording.table("switch")), f"{column} is left out")
    for table in ("reclaim", "cgroup", "affinity"):
        equal(recording.table(table), [], f"table {table}")
    check(not last_counters(recording, INTERRUPT, RECLAIM), "nothing of it is counted")
    equal(recording.report["complete"], True, "complete")
    check("record.lacks" not in lib.info(recording), "what is not wanted is not missing")


def lacking():
    """Where no control groups are mounted, the file says so, and all else is there."""
    path = lib.scratch("lacking.ing")
    command = lib.record_command(path, ["sleep", "0.1"])
    everywhere = "awk '$3 ~ /^cgroup/ { print $2 }' /proc/mounts"
    hidden = f'{everywhere} | sort -r | xargs -r umount -l && exec "$@"'
    done = lib.run("unshare", "--mount", "sh", "-c", hidden, "sh", *command)
    if not check(done.returncode == 0, f"without control groups: {done.returncode} {done.stderr}"):
        return
    recording = lib.Recording(path, 0, "", "")
    lacks = lib.info(recording).get("record.lacks", "")
    check("cgroups" in lacks.split(","), f"record.lacks: {lacks}")
    equal(recording.table("cgroup"), [], "table cgroup")
    check(recording.table("affinity"), "table affinity")


lib.need_recording()
sleeps()
major_faults()
throttling()
reclaim()
affinity()
without()
lacking()
lib.finish()
