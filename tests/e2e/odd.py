# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
"""What is rare and legal: a probed function that ends in a jump to another one, an exec inside a
call, a recorder that was born with a child, a closed standard error, an inode number used again;
and page allocations accounted for to the last one.
"""
import contextlib
import json
import os
import shutil
import signal
import tempfile
import lib
from lib import check, equal, note

OPEN, ABANDONED = 0x10, 0x20          # table call, column flags
SOURCE_SWITCH, SOURCE_PAGE_ALLOC = 1, 6
KIND_THREAD, KIND_COVERAGE = 1, 2     # table state, column kind
TOUCHERS = 3


def calls_by_name(recording):
    """[(operation, depth, flags)] of the calls, in order of their ends."""
    names = {row["id"]: row["name"] for row in recording.table("operation")}
    rows = sorted(recording.table("call"), key=lambda r: (r["ts"], -r["depth"]))
    return [(names[r["operation"]], r["depth"], r["flags"] & (OPEN | ABANDONED)) for r in rows]


def count(calls, name, depth, flags=0):
    return calls.count((name, depth, flags))


def tail_call():
    recording = lib.record([lib.workload("tailcall"), "-n", "5"], name="tailcall.ing",
                           env=lib.environment(LD_LIBRARY_PATH=os.path.join(lib.BUILD, "tests/tailcall")))
    told = json.loads(recording.stdout)
    if not check(told["jumps"] == 5, f"the function ends in a jump: {told}"):
        return
    calls = calls_by_name(recording)
    equal(count(calls, "cuEventRecord", 0), 5, "calls of the function that jumps")
    equal(count(calls, "cuEventRecordWithFlags", 1), 5, "calls it jumps to, nested in it")
    equal(count(calls, "cuEventRecordWithFlags", 0), 1, "calls of the latter by itself")
    equal(len(calls), 11, f"rows, none of them abandoned: {calls}")


def exec_inside(mode):
    recording = lib.record([lib.workload("execcall"), mode], name="exec.ing")
    pid = json.loads(recording.stdout)["pid"]
    calls, what = calls_by_name(recording), f"exec inside a call, {mode}"
    for name, depth in (("cudaStreamSynchronize", 0), ("cuStreamSynchronize", 1)):
        equal(count(calls, name, depth), 5, f"{what}: {name} after it, at depth {depth}")
        equal(count(calls, name, depth, OPEN), 1, f"{what}: {name} left open")
    equal(len(calls), 12, f"{what}: rows: {calls}")
    rows = recording.operations(recording.process(pid)["id"])
    equal({n: (r["calls"], r["open"]) for n, r in rows.items()},
          {"cudaStreamSynchronize": (5, 1), "cuStreamSynchronize": (5, 1)}, f"{what}: in the report")


def foreign_child():
    """A shell with a child that becomes the recorder: the child is not the command's."""
    path = lib.scratch("foreign.ing")
    script = 'sleep 30 >/dev/null 2>&1 & echo $!; exec "$@"'
    done = lib.run("sh", "-c", script, "sh", *lib.record_command(path, ["sh", "-c", "echo $$; sleep 0.1; exit 3"]))
    sleeper, command = map(int, done.stdout.split())
    os.kill(sleeper, signal.SIGKILL)
    equal(done.returncode, 3, "exit status of a recorder with another child")
    recording = lib.Recording(path, done.returncode, done.stdout, done.stderr)
    equal(int(lib.info(recording)["record.pid"]), command, "record.pid")
    tree = {p["pid"]: p for p in recording.report["processes"] if p["in_tree"]}
    check(command in tree, f"the command is in the tree: {sorted(tree)}")
    check(sleeper not in tree, "the other child is not")
    equal([pid for pid, p in tree.items() if pid != command and p["ppid"] != command], [],
          "what is in the tree and no child of the command")


def closed_streams():
    for number, redirection in enumerate(("2>&-", ">&- 2>&-", "<&- >&- 2>&-")):
        path = lib.scratch(f"closed{number}.ing")
        command = lib.record_command(path, ["sh", "-c", "echo said >&2; exit 5"], ["-v"])
        done = lib.run("sh", "-c", f'"$@" {redirection}', "sh", *command)
        equal(done.returncode, 5, f"exit status with {redirection}")
        verified = lib.run(lib.program("ing-dump"), "--verify", path)
        equal(verified.returncode, 0, f"ing-dump --verify with {redirection}: {verified.stdout}{verified.stderr}")


# The file of a program that has ended makes room for the library: $1 folder, $2 library.
REUSE = """
for try in 1 2 3 4 5 6 7 8 9 10; do
    cp "$(command -v sleep)" $1/gone
    old=$(stat -c %i $1/gone)
    $1/gone 0.2
    rm $1/gone
    cp "$2" $1/libcudart-$try.so.13
    new=$(stat -c %i $1/libcudart-$try.so.13)
    [ $old = $new ] && break
done
echo $old $new
LATE_LIBRARY=$1/libcudart-$try.so.13 exec "$3" -n 1000 -ms 200
"""


def reused_inode():
    folder = lib.scratch("reuse")
    os.mkdir(folder)
    shutil.copy(os.path.join(lib.FAKECUDA, "libcuda.so.1"), folder)
    env = lib.environment()
    del env["LD_LIBRARY_PATH"]
    recording = lib.record(["sh", "-c", REUSE, "sh", folder, os.path.join(lib.FAKECUDA, "libcudart.so.13"),
                            lib.workload("latecopy")], name="reuse.ing", env=env)
    old, new = recording.stdout.splitlines()[0].split()
    if old != new:
        note(f"an inode number used again: not tried, this file system does not use them again ({old}, {new})")
        return
    equal({n: r["calls"] for n, r in recording.operations(None).items()},
          {"cudaStreamSynchronize": 1000, "cuStreamSynchronize": 1000}, f"calls of the library at inode {new}")


@contextlib.contextmanager
def touchers():
    """Folders of fifos for so many page touchers, each of which may go on as soon as it is there."""
    folders = [tempfile.mkdtemp(prefix="toucher-", dir=lib.scratch()) for _ in range(TOUCHERS)]
    opened = []
    for folder in folders:
        for name in ("ready", "go"):
            os.mkfifo(os.path.join(folder, name))
            opened.append(os.open(os.path.join(folder, name), os.O_RDWR))
        os.write(opened[-1], b"gg")
    yield folders
    for fd in opened:
        os.close(fd)


def pages_accounted(name):
    """Each run of the program at mm_page_alloc is in a row, pending in the last keyframe, or lost."""
    start = 'p=$1; shift; for d in "$@"; do "$p" -b "$d" -n 100000000 >/dev/null 2>&1 & echo $!; done; sleep 1.2'
    with touchers() as folders:
        recording = lib.record(["sh", "-c", start, "sh", lib.workload("pagetoucher"), *folders], name=name)
        for pid in recording.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
    last = {(r["source"], r["cpu"]): r for r in recording.table("counter")}
    entries = sum(r["entries"] for (source, _), r in last.items() if source == SOURCE_PAGE_ALLOC)
    states = recording.table("state")
    keyframe = max(r["ts"] for r in states)
    of_keyframe = [r for r in states if r["ts"] == keyframe]
    found = {
        "switch rows": sum(r["prev_page_events"] for r in recording.table("switch")),
        "page rows": sum(r["events"] for r in recording.table("page")),
        "pending": sum(r["page_events"] for r in of_keyframe if r["kind"] == KIND_THREAD),
        "lost": sum(r["page_events"] for r in of_keyframe if r["kind"] == KIND_COVERAGE),
    }
    note(f"page allocations: {entries}, {found}")
    check(entries > 100000 and found["page rows"], "there were many, some inside long slices")
    equal(sum(found.values()), entries, "page allocations accounted for")


def kernel():
    return tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])


lib.need_recording()
tail_call()
exec_inside("-leader")
exec_inside("-thread")
foreign_child()
closed_streams()
reused_inode()
if kernel() < (5, 19):
    note("page allocations: not accounted for, before 5.19 those pending at a keyframe cannot be read")
else:
    for run in range(3):
        pages_accounted(f"pages{run}.ing")
lib.finish()
