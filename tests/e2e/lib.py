# SPDX-License-Identifier: BSD-2-Clause
"""What the end-to-end tests share: recording, reading reports and tables, stating what must hold.

A test calls check() for each thing that must hold and finish() at its end; every failure is
printed, so that one run tells all. Figures worth keeping are printed with note().
"""
import collections
import csv
import ctypes
import ctypes.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("INGERO_BUILD") or os.path.join(TOP, "build")
BIN = os.environ.get("INGERO_BIN") or TOP
FAKECUDA = os.path.join(BUILD, "tests/fakecuda")
DATALOADER = os.path.join(TOP, "tests/workloads/dataloader.py")
FULL = os.environ.get("FULL") == "1"
NOT_STARTED = 125
FORK, EXEC, EXIT = 2, 3, 4            # table task, column event

sys.path.insert(0, os.path.join(TOP, "tests/fakecuda"))

_failures = 0
_scratch = None


def check(holds, what):
    global _failures
    if not holds:
        _failures += 1
        if _failures <= 40:
            print(f"FAILED: {what}", flush=True)
    return bool(holds)


def equal(got, want, what):
    return check(got == want, f"{what}: {got}, expected {want}")


def note(text):
    print(text, flush=True)


def finish():
    if _failures:
        print(f"{_failures} checks failed")
        sys.exit(1)
    sys.exit(0)


def skip(reason):
    print(reason)
    sys.exit(77)


def program(name):
    return os.path.join(BIN, name)


def workload(name):
    return os.path.join(BUILD, "tests/workloads", name)


def scratch(name=""):
    """A path in a folder of this test's own, open to other users, gone at exit."""
    global _scratch
    if _scratch is None:
        _scratch = tempfile.TemporaryDirectory(prefix="ingero-e2e-")
        os.chmod(_scratch.name, 0o755)
    return os.path.join(_scratch.name, name)


def need_recording():
    """Skip where this kernel or user cannot record at all, and only there."""
    if os.geteuid() != 0:
        skip("recording needs root")
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        skip("this kernel has no BTF (/sys/kernel/btf/vmlinux)")
    if not _bpf_allowed():
        skip("bpf() is not permitted here")


class _BpfAttr(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint), ("next", ctypes.c_uint), ("flags", ctypes.c_uint),
                ("rest", ctypes.c_char * 116)]


PROG_GET_NEXT_ID, LINK_GET_NEXT_ID = 11, 31


def _bpf_next(command, after):
    attr = _BpfAttr(start=after)
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
    if libc.syscall(number, command, ctypes.byref(attr), ctypes.sizeof(attr)) < 0:
        return -ctypes.get_errno()
    return attr.next


def _bpf_allowed():
    return _bpf_next(PROG_GET_NEXT_ID, 0) not in (-1, -13, -38)


def bpf_ids_of(pid):
    """Ids of the BPF programs and links that a process holds."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as f:
                for line in f:
                    key, _, value = line.partition(":")
                    if key in ("prog_id", "link_id"):
                        command = PROG_GET_NEXT_ID if key == "prog_id" else LINK_GET_NEXT_ID
                        found.add((command, int(value)))
        except FileNotFoundError:
            pass
    return found


def bpf_ids():
    """Ids of all BPF programs and links of the machine."""
    found = set()
    for command in (PROG_GET_NEXT_ID, LINK_GET_NEXT_ID):
        at = _bpf_next(command, 0)
        while at > 0:
            found.add((command, at))
            at = _bpf_next(command, at)
    return found


class Recording:
    def __init__(self, path, status, stdout, stderr):
        self.path, self.status, self.stdout, self.stderr = path, status, stdout, stderr
        self._json = None
        self._tables = {}

    @property
    def report(self):
        if self._json is None:
            self._json = report_json(self.path)
        return self._json

    def table(self, name):
        if name not in self._tables:
            self._tables[name] = table(self.path, name)
        return self._tables[name]

    def process(self, pid, number=0):
        """The number-th process of that PID in the report, or None."""
        found = [p for p in self.report["processes"] if p["pid"] == pid]
        return found[number] if number < len(found) else None

    def operations(self, process_id):
        """{name: row} of one process, None for all of them."""
        return {o["name"]: o for o in self.report["operations"] if o["process"] == process_id}


def environment(**more):
    """Ours, with the stand-in CUDA first in line; FAKECUDA_* of the caller are not passed on."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("FAKECUDA_")}
    env["LD_LIBRARY_PATH"] = FAKECUDA
    env.update(more)
    return env


def truth_folder():
    path = tempfile.mkdtemp(prefix="truth-", dir=scratch())
    os.chmod(path, 0o1777)
    return path


def record_command(path, command, options=()):
    return [program("ingero-record"), "-o", path, *options, "--", *command]


def record(command, *options, name="run.ing", env=None, timeout=300, want=0):
    path = scratch(name)
    if os.path.exists(path):
        os.unlink(path)
    done = subprocess.run(record_command(path, command, options), env=env or environment(),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    if done.returncode != want:
        note(f"ingero-record: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        check(False, f"recording {command[0]} ended with {want}")
        if not os.path.exists(path):
            finish()
    return Recording(path, done.returncode, done.stdout, done.stderr)


def start_record(command, *options, name="run.ing", env=None, **popen):
    """A recording in the background: (Popen, path)."""
    path = scratch(name)
    if os.path.exists(path):
        os.unlink(path)
    return subprocess.Popen(record_command(path, command, options), env=env or environment(),
                            text=True, **popen), path


def run(*command, **more):
    more.setdefault("timeout", 300)
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)


def report_json(path, *options):
    done = run(program("ingero-report"), "--json", *options, path)
    if done.returncode:
        raise RuntimeError(f"ingero-report: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def number(text):
    """Cells of a table are numbers where they can be: decimal, or hex with 0x."""
    try:
        return int(text, 0)
    except ValueError:
        return text


def table(path, name):
    """The rows of a table as dicts."""
    done = subprocess.run([program("ing-dump"), "--csv", "--table", name, path], capture_output=True, text=True,
                          timeout=300)
    if done.returncode:
        raise RuntimeError(f"ing-dump: {done.returncode}: {done.stderr}")
    return [{k: number(v) for k, v in row.items()} for row in csv.DictReader(done.stdout.splitlines())]


def info(recording):
    return {row["key"]: row["value"] for row in recording.table("info")}


def switch_rows(recording):
    """{cpu: rows in time order}"""
    by_cpu = collections.defaultdict(list)
    for row in recording.table("switch"):
        by_cpu[row["cpu_stream"]].append(row)
    for rows in by_cpu.values():
        rows.sort(key=lambda r: r["ts"])
    return by_cpu


def chain_breaks(recording):
    """Breaks in all, and by thread: each break concerns the thread expected and the one found.

    A thread that is not the leader and execs goes on under the leader's number: no break.
    """
    total, by_tid = 0, collections.Counter()
    same = {(row["other_tid"], row["tid"]) for row in recording.table("task") if row["event"] == EXEC}
    for rows in switch_rows(recording).values():
        for last, row in zip(rows, rows[1:]):
            pair = last["next_tid"], row["prev_tid"]
            if pair[0] != pair[1] and pair not in same:
                total += 1
                by_tid.update(set(pair) - {0})
    return total, by_tid


def wait_until(condition, seconds, step=0.02):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(step)
    return bool(condition())


def kill(process, number=signal.SIGKILL):
    try:
        process.send_signal(number)
    except ProcessLookupError:
        pass


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0
