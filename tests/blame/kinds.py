# SPDX-License-Identifier: BSD-2-Clause
"""The planted kinds: how each is set up, planted and as its healthy twin, and what must be said.

A plant function gets the case and whether to plant; it starts the culprits and records. An Expect
says what the report must then answer: see judge.py.
"""
import os
import shutil
import signal
import sys
import time
import windows
from plant import BUILD, CannotPlant, program

HERE = os.path.dirname(os.path.abspath(__file__))


class Expect:
    """kinds: cause kinds that are right for the largest cause; culprit: prefix of the program
    whose process it must be ("": any of the tree); hops: from the feeding thread, None: any;
    effect: (kind, operation) of the worst effect; also: (kind, prefix) of further causes that must
    be there; innocent: prefix of a program that must not be; share: function (case, windows) -> ns
    the culprit took, None: not known."""

    def __init__(self, *kinds, culprit="job", hops=None, share=None, severity=("HIGH",), also=(),
                 innocent=None, effect=None, answer="chain"):
        self.kinds, self.culprit, self.hops, self.share = kinds, culprit, hops, share
        self.severity, self.also, self.innocent, self.answer = severity, also, innocent, answer
        self.effect = effect


LAUNCH = "slow_call", "cudaLaunchKernel"
QUIET = Expect(answer="quiet")
CANNOT_TELL = Expect(answer="cannot tell")


class Kind:
    def __init__(self, number, name, plant, expect, twin=QUIET):
        self.number, self.name, self.plant = number, name, plant
        self.expect, self.twin = expect, twin


# Busy in its launches, and the device is quick: the job needs a whole CPU in either mode.
BUSY = {"FAKECUDA_DEVICE_NS": "10000", "FAKECUDA_OPS":
        "cudaStreamSynchronize=ns:1000,mode:{mode};cudaLaunchKernel=ns:50000"}


def noted(prefix, *names):
    """The share that programs noted of themselves, inside the windows."""
    def share(case, found):
        return windows.taken(found, windows.Intervals(case.notes.intervals(prefix, *names)))
    return share


def noted_while(prefix, name, other, during):
    """The same of what one program did while another was at something."""
    def share(case, found):
        first, second = (windows.Intervals(case.notes.intervals(*at))
                         for at in ((prefix, name), (other, during)))
        return windows.taken(found, first.meet(second))
    return share


def beyond_median(prefix, name):
    """The same, less what each takes when nothing is wrong."""
    def share(case, found):
        pairs = case.notes.intervals(prefix, name)
        usual = windows.p50([end - start for start, end in pairs])
        late = [(start + usual, end) for start, end in pairs if end > start + usual]
        return windows.taken(found, windows.Intervals(late))
    return share


def all_but_delays(case, found):
    """What the job lost while it ran: all but its waits for a CPU."""
    return windows.lost(found) - noted("job", "delay")(case, found)


def job(case, *options, env=None, record=(), during=None, enter=None):
    command = [program("job"), *map(str, options)]
    if enter:
        command = enter(command)
    case.record(command, env, record, during)


def hogs(case, number, *options):
    for _ in range(number):
        case.start(program("hog"), *map(str, options))
    time.sleep(0.05)


def same_cpu(case, planted):
    if planted:
        hogs(case, 2, "-c", 1)
    job(case, "-c", 1, "-n", 250 if planted else 600, env=BUSY)


def oversubscribed(case, planted):
    """One CPU allowed: who ran when the job did not is known exactly."""
    job(case, "-c", 1, "-busy", 2 if planted else 0, "-n", 250 if planted else 600, env=BUSY)


def crowded(case, planted):
    """Two CPUs, four busy workers; or one, for which there is room."""
    job(case, "-busy", 4 if planted else 1, "-n", 300 if planted else 600, env=BUSY,
        enter=lambda command: ["taskset", "-c", "0,1", *command])


def other_cpu(case, planted):
    hogs(case, 2, "-c", 0)
    job(case, "-c", 1, "-n", 120, *(("-work", 30000, "-work-every", 20) if planted else ()))


def gone_before(case, planted):
    hogs(case, 2, "-ms", 500)
    rare = ("-rare", 4000, "-rare-every", 60) if planted else ()
    job(case, "-wait-ms", 700, *rare, "-n", 150)


def quota(case, planted):
    group = case.group("cpu")
    group.quota(5000 if planted else 40000, 20000)
    job(case, "-c", 1, "-n", 300 if planted else 500, "-stat", group.file("cpu.stat"),
        enter=group.enter, env=BUSY)


def throttled_share(case, _):
    """The kernel's own count, over the time of the job's calls."""
    ((before, after),) = case.notes.intervals("job", "throttled")
    return after - before


def slow_disk(case, planted):
    disk, group = case.disk(), case.group("blkio")
    if planted:
        group.rate("read", disk.number, 8 << 20)
    work = (300, "-read", 65536, "-n", 100) if planted else (
        100, "-read", 16384, "-n", 150, "-prefetch", 8)
    job(case, "-workers", 1, "-make", *work, "-file", disk.path, enter=group.enter)


def sleeping_worker(case, planted):
    job(case, "-workers", 1, "-make", 2000 if planted else 300, "-sleep", 8000 if planted else 500,
        "-n", 100 if planted else 150)


def lock_holder(case, planted):
    if planted:
        hogs(case, 1, "-c", 1)
    hold = 4000 if planted else 30
    job(case, "-c", 0, "-hold", hold, "-rest", 1000, "-sibling-c", 1, "-sibling-nice", 5,
        "-n", 50 if planted else 150)


def starved_worker(case, planted, *more):
    if planted:
        hogs(case, 1, "-c", 1)
    job(case, "-c", 0, "-workers", 1, "-worker-c", 1, "-worker-nice", 5,
        "-make", 3000 if planted else 700, "-n", 70 if planted else 150, *more)


def starved_behind_feeder(case, planted):
    starved_worker(case, planted, "-feeder")


def fresh_memory(case, planted):
    job(case, "-copy", 262144, "-n", 2000, "-launches", 2,
        *(("-fresh-every", 3) if planted else ()),
        env={"FAKECUDA_COPY": "1", "FAKECUDA_DEVICE_NS": "50000"})


def small_group(case, planted):
    """It writes faster than its disk does, until the group is full of pages not yet written."""
    group = case.group("memory")
    if group.version == 2:
        raise CannotPlant("groups of version 2 slow writers down before they have to reclaim")
    group.memory((24 if planted else 256) << 20)
    disk = case.disk(mounted=True)
    if planted:
        case.root_group("blkio").rate("write", disk.number, 60 << 20)
    size = ("-write", 1 << 20, "-n", 60) if planted else ("-write", 16384, "-n", 150)
    job(case, *size, "-file", disk.file, enter=group.enter)


def busy_device(case, planted):
    job(case, "-n", 120, *(("-bursts", 300, "-burst-every", 20) if planted else ()))


def first_call(case, planted):
    job(case, "-n", 120, env={"FAKECUDA_FIRST_NS": "2000000000" if planted else "0"})


def new_workers(case, planted):
    job(case, "-workers", 2, "-make", 300, "-epochs", 6, "-n", 30,
        *(("-startup", 40000) if planted else ()))


def startup_share(case, found):
    """What new workers ran before their first batch, and the making and ending of them."""
    pairs = case.notes.intervals("worker", "startup") + case.notes.intervals("job", "start", "end")
    return windows.taken(found, windows.Intervals(pairs))


def collecting(case, planted):
    job(case, "-n", 120, *(("-work", 30000, "-work-every", 20) if planted else ()))


def straggler(case, planted):
    job(case, "-workers", 4, "-make", 300, "-straggler", 3, "-straggler-make",
        32000 if planted else 1000, "-n", 100 if planted else 150)


def lossy(case, planted):
    def stop_recorder(recorder):
        time.sleep(0.7)
        recorder.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        recorder.send_signal(signal.SIGCONT)
    worker = ("-workers", 1, "-make", 2000, "-sleep", 8000, "-n", 120)
    if planted:
        case.start_group(os.path.join(BUILD, "tests/workloads/pingpong"), "-n", "1000000")
        job(case, *worker, record=("--buffer", "4K"), during=stop_recorder)
    else:
        job(case, *worker)


def rare_calls(case, planted):
    operations = "cudaStreamSynchronize=ns:1000,mode:{mode};cudaLaunchKernel=ns:20000"
    job(case, "-launches", 100, "-rare", 450 if planted else 30, "-rare-every", 200, "-n", 400,
        "-delays", env={"FAKECUDA_DEVICE_NS": "5000", "FAKECUDA_OPS": operations})


def quota_and_hog(case, planted):
    group = case.group("cpu")
    group.quota(6000 if planted else 40000, 20000)
    if planted:
        hogs(case, 1, "-c", 1)
    job(case, "-c", 1, "-n", 300 if planted else 500, "-stat", group.file("cpu.stat"),
        enter=group.enter, env=BUSY)


def interpreter_lock(case, planted):
    script = os.path.join(HERE, "interpreter.py")
    more = ["--batches", "60"] if planted else ["--batches", "200", "--rest"]
    case.record([sys.executable, script, *more], env={"FAKECUDA_DEVICE_NS": "1000000"})


def full_queue(case, planted):
    job(case, "-workers", 1, "-make", 200, "-batch", 4096, "-n", 150,
        *(("-push",) if planted else ()))


KINDS = [
    Kind(1, "hogs-same-cpu", same_cpu,
         Expect("cpu_contention", culprit="hog", hops=1, share=noted("hog", "run"))),
    Kind(2, "oversubscribed", oversubscribed,
         Expect("cpu_contention", culprit="busy", hops=1, share=noted("busy", "run"))),
    Kind(2, "crowded", crowded, Expect("cpu_contention", culprit="busy", hops=1)),
    Kind(3, "hogs-other-cpu", other_cpu,
         Expect("own_work", hops=0, share=noted("job", "work"), innocent="hog")),
    Kind(4, "hogs-gone", gone_before,
         Expect("own_work", hops=0, share=noted("job", "rare"), innocent="hog", effect=LAUNCH)),
    Kind(5, "cpu-quota", quota,
         Expect("cpu_quota", culprit="", share=throttled_share)),
    Kind(6, "slow-disk", slow_disk,
         Expect("disk", culprit="worker", hops=1, share=noted("worker", "disk"))),
    Kind(7, "sleeping-worker", sleeping_worker,
         Expect("sleep", culprit="worker", hops=1, share=noted("worker", "sleep"))),
    Kind(8, "lock-holder", lock_holder,
         Expect("cpu_contention", culprit="hog", hops=2,
                share=noted_while("hog", "run", "job", "held"))),
    Kind(9, "two-hops", starved_worker,
         Expect("cpu_contention", culprit="hog", hops=2,
                share=noted_while("hog", "run", "worker", "make"))),
    Kind(10, "three-hops", starved_behind_feeder,
         Expect("cpu_contention", culprit="hog", hops=3,
                share=noted_while("hog", "run", "worker", "make"))),
    Kind(11, "fresh-memory", fresh_memory,
         Expect("page_allocation", hops=0, effect=("slow_call", "cudaMemcpyAsync"))),
    Kind(12, "small-group", small_group,
         Expect("reclaim", hops=0, share=beyond_median("job", "write"))),
    Kind(13, "busy-device", busy_device, QUIET),
    Kind(14, "first-call", first_call, Expect("initialisation", answer="quiet or chain")),
    Kind(15, "new-workers", new_workers,
         Expect("worker_startup", "initialisation", culprit="", share=startup_share)),
    Kind(16, "collecting", collecting, Expect("own_work", hops=0, share=noted("job", "work"))),
    Kind(17, "straggler", straggler,
         Expect("peer_work", culprit="worker3", hops=1, share=noted("worker3", "run"))),
    Kind(18, "lossy", lossy, CANNOT_TELL, Expect("sleep", culprit="worker", hops=1)),
    Kind(19, "rare-calls", rare_calls,
         Expect("own_work", hops=0, share=all_but_delays, severity=("MEDIUM", "HIGH"),
                effect=LAUNCH)),
    Kind(20, "quota-and-hog", quota_and_hog,
         Expect("cpu_quota", culprit="", share=throttled_share, also=(("cpu_contention", "hog"),))),
    Kind(21, "interpreter-lock", interpreter_lock, Expect("lock_guess", culprit="python")),
    Kind(22, "full-queue", full_queue, QUIET),
]
