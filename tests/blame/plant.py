# SPDX-License-Identifier: BSD-2-Clause
"""Runs one planted case: groups, a slow disk, culprits around a recorded job; keeps their notes."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("INGERO_BUILD") or os.path.join(TOP, "build")
BIN = os.environ.get("INGERO_BIN") or TOP
FAKECUDA = os.path.join(BUILD, "tests/fakecuda")
sys.path.insert(0, os.path.join(TOP, "tests/fakecuda"))

OPERATIONS = ("cudaStreamSynchronize=ns:1000,mode:{mode};cudaLaunchKernel=ns:5000;"
              "cudaMemcpyAsync=ns:5000")
MODES = ("device-spin", "device-block")


class CannotPlant(Exception):
    """This kernel or machine has not what the case needs; the text says what."""


def program(name):
    return os.path.join(BUILD, "tests/blame", name)


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def memory_folder(otherwise):
    """The library's account is written inside calls: where a fresh page costs least."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else otherwise


def mount_of(controller):
    """(folder, version) of the hierarchy that has the controller, or (None, 0)."""
    with open("/proc/mounts") as f:
        mounts = [line.split()[1:4] for line in f]
    for where, kind, options in mounts:
        if kind == "cgroup" and controller in options.split(","):
            return where, 1
    for where, kind, _ in mounts:
        if kind != "cgroup2":
            continue
        with open(os.path.join(where, "cgroup.controllers")) as f:
            if {"blkio": "io"}.get(controller, controller) in f.read().split():
                return where, 2
    return None, 0


def run_tool(*command):
    """What it printed; a tool that is not there or fails: the case cannot be planted."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as missing:
        raise CannotPlant(f"{command[0]} is not installed") from missing
    if done.returncode:
        raise CannotPlant(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Group:
    """A control group of one controller, gone at close()."""

    def __init__(self, controller, root_itself=False):
        self.mounted, self.made = None, not root_itself
        root, self.version = mount_of(controller)
        if not root:
            root, self.version = self._mount(controller), 1
        if self.version == 2:
            name = {"blkio": "io"}.get(controller, controller)
            write(os.path.join(root, "cgroup.subtree_control"), "+" + name)
        self.path = root if root_itself else tempfile.mkdtemp(prefix="ingero-blame-", dir=root)
        self.undo = []

    def _mount(self, controller):
        self.mounted = tempfile.mkdtemp(prefix="ingero-blame-cgroup-")
        done = subprocess.run(["mount", "-t", "cgroup", "-o", controller, "none", self.mounted],
                              capture_output=True, text=True)
        if done.returncode:
            os.rmdir(self.mounted)
            raise CannotPlant(f"no {controller} control groups here: {done.stderr.strip()}")
        return self.mounted

    def set(self, name, value):
        write(os.path.join(self.path, name), value)

    def file(self, name):
        return os.path.join(self.path, name)

    def quota(self, quota_us, period_us):
        if self.version == 1:
            self.set("cpu.cfs_period_us", period_us)
            self.set("cpu.cfs_quota_us", quota_us)
        else:
            self.set("cpu.max", f"{quota_us} {period_us}")

    def memory(self, limit):
        self.set("memory.limit_in_bytes" if self.version == 1 else "memory.max", limit)

    def rate(self, what, device, bytes_per_second):
        """what: read or write"""
        if self.version == 1:
            name = f"blkio.throttle.{what}_bps_device"
            self.set(name, f"{device} {bytes_per_second}")
            self.undo.append((name, f"{device} 0"))
        else:
            self.set("io.max", f"{device} {what[0]}bps={bytes_per_second}")

    def enter(self, command):
        procs = os.path.join(self.path, "cgroup.procs")
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', procs, *command]

    def close(self):
        for name, value in self.undo:
            self.set(name, value)
        for _ in range(100 if self.made else 0):
            try:
                os.rmdir(self.path)
                break
            except OSError:
                time.sleep(0.02)
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=False)
            os.rmdir(self.mounted)


class Disk:
    """A loop device over a file; mounted: with a file system and the path of a file in it."""

    def __init__(self, folder, mounted):
        image, self.mount = os.path.join(folder, "disk.img"), None
        with open(image, "wb") as f:
            f.truncate(512 << 20)
        self.path = run_tool("losetup", "--find", "--show", image).strip()
        number = os.stat(self.path).st_rdev
        self.number = f"{os.major(number)}:{os.minor(number)}"
        if mounted:
            run_tool("mkfs.ext4", "-q", "-F", "-O", "^has_journal", self.path)
            mount = os.path.join(folder, "mounted")
            os.mkdir(mount)
            run_tool("mount", self.path, mount)
            self.mount, self.file = mount, os.path.join(mount, "file")

    def close(self):
        if self.mount:
            subprocess.run(["umount", self.mount], check=False)
        subprocess.run(["losetup", "--detach", self.path], check=False)


class Session:
    """Processes that one command started, in a session of their own."""

    def __init__(self, process):
        self.process = process

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Notes:
    """What the programs noted: {program: {pid: {name: [(start, end)]}}}."""

    def __init__(self, folder):
        self.programs = {}
        for path in glob.glob(os.path.join(folder, "*.[0-9]*")):
            name, pid = os.path.basename(path).rsplit(".", 1)
            rows = {}
            with open(path) as f:
                for line in f:
                    word, start, end = line.split()
                    rows.setdefault(word, []).append((int(start), int(end)))
            self.programs.setdefault(name, {})[int(pid)] = rows

    def matching(self, prefix):
        return {pid: rows for name, by_pid in self.programs.items() if name.startswith(prefix)
                for pid, rows in by_pid.items()}

    def pids(self, prefix=""):
        return set(self.matching(prefix))

    def intervals(self, prefix, *names):
        return [pair for rows in self.matching(prefix).values() for name in names
                for pair in rows.get(name, ())]


class Case:
    """One recording: a folder with run.ing, the notes and the library's account."""

    def __init__(self, folder, mode):
        self.folder, self.mode = folder, mode
        self.notes_folder = os.path.join(folder, "notes")
        self.truth_folder = tempfile.mkdtemp(prefix="ingero-blame-", dir=memory_folder(folder))
        os.mkdir(self.notes_folder)
        self.recording = os.path.join(folder, "run.ing")
        self.culprits, self.pids, self.closing = [], set(), []

    def environment(self, more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FAKECUDA_")}
        env.update(LD_LIBRARY_PATH=FAKECUDA, FAKECUDA_TRUTH_DIR=self.truth_folder,
                   FAKECUDA_TRUTH_AHEAD=str(16 << 20),
                   FAKECUDA_DEVICE_NS="200000", BLAME_LOG=self.notes_folder, LC_ALL="C.UTF-8")
        env.update(more)
        env["FAKECUDA_OPS"] = env.get("FAKECUDA_OPS", OPERATIONS).format(mode=self.mode)
        return env

    def group(self, controller):
        group = Group(controller)
        self.closing.append(group)
        return group

    def root_group(self, controller):
        """The one that writes of dirty pages are counted in, whoever made them."""
        group = Group(controller, root_itself=True)
        self.closing.append(group)
        return group

    def disk(self, mounted=False):
        disk = Disk(self.folder, mounted)
        self.closing.append(disk)
        return disk

    def start(self, *command, env=None):
        """A culprit outside the tree, told to end by SIGTERM."""
        process = subprocess.Popen(command, env=self.environment(env or {}),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.culprits.append(process)
        self.pids.add(process.pid)
        return process

    def start_group(self, *command):
        """The same of a command that starts others: all of them end, whatever becomes of us."""
        process = subprocess.Popen(("timeout", "60", *command), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        self.closing.append(Session(process))

    def record(self, command, env=None, options=(), during=None):
        recorder = subprocess.Popen(
            [os.path.join(BIN, "ingero-record"), "-o", self.recording, *options, "--", *command],
            env=self.environment(env or {}), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pids.add(recorder.pid)
        if during:
            during(recorder)
        try:
            out, err = recorder.communicate(timeout=60)
        finally:
            if recorder.poll() is None:
                recorder.kill()
        if recorder.returncode:
            raise RuntimeError(f"ingero-record: exit status {recorder.returncode}\n{out}{err}")

    def stop(self):
        for process in self.culprits:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.culprits:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.culprits = []

    def close(self):
        self.stop()
        for thing in reversed(self.closing):
            thing.close()
        self.closing = []

    def report(self):
        done = subprocess.run([os.path.join(BIN, "ingero-report"), "--json", self.recording],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"ingero-report: exit status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def table(self, name):
        return subprocess.run([os.path.join(BIN, "ing-dump"), "--csv", "--table", name,
                               self.recording], capture_output=True, text=True).stdout.splitlines()

    def remove(self):
        for folder in (self.folder, self.truth_folder):
            shutil.rmtree(folder, ignore_errors=True)
