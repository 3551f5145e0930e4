# SPDX-License-Identifier: BSD-2-Clause
# timeout: 90
"""A transparent wrapper: exit status, signals, Ctrl-C once, stdin and stdout, -f, sudo's user."""
import os
import pty
import pwd
import signal
import stat
import subprocess
import sys
import time
import lib
from lib import check, equal

COUNT_INTERRUPTS = """
import signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *a: got.append(1))
print("ready", flush=True)
end = time.monotonic() + 20
while not got and time.monotonic() < end: time.sleep(0.01)
time.sleep(0.5)
print("interrupts", len(got), flush=True)
sys.exit(7)
"""


def statuses():
    plain = lib.scratch("plain")
    with open(plain, "w") as f:
        f.write("not a program\n")
    shell = ["sh", "-c"]
    for command, want in ((["true"], 0), (shell + ["exit 3"], 3), (shell + ["kill -9 $$"], 137),
                          (shell + ["kill -TERM $$"], 143), ([plain], 126), (["/"], 126),
                          (["no-such-command-anywhere"], 127)):
        done = lib.run(*lib.record_command(lib.scratch("status.ing"), command, ["-f"]))
        equal(done.returncode, want, f"exit status of {command}")
        if want in (126, 127):
            check(command[0] in done.stderr, f"the message names it: {done.stderr!r}")
        equal(done.stdout, "", f"stdout of {command}")


def streams():
    data = os.urandom(3000000)
    done = subprocess.run(lib.record_command(lib.scratch("cat.ing"), ["cat"]), input=data,
                          capture_output=True, timeout=60)
    equal(done.stdout == data, True, "stdin to stdout, byte for byte")
    done = lib.run(*lib.record_command(lib.scratch("err.ing"), ["sh", "-c", "echo talk >&2; echo said"], ["-q"]))
    equal((done.stdout, done.stderr), ("said\n", "talk\n"), "stdout and stderr with -q")
    inherited = lib.run(*lib.record_command(lib.scratch("fd.ing"), ["sh", "-c", "ls -1 /proc/self/fd | wc -l"]))
    plain = lib.run("sh", "-c", "ls -1 /proc/self/fd | wc -l")
    equal(inherited.stdout, plain.stdout, "open descriptors of the command")
    blocked = lib.run(*lib.record_command(lib.scratch("sig.ing"), ["grep", "^Sig[BI]", "/proc/self/status"]))
    equal(blocked.stdout, lib.run("grep", "^Sig[BI]", "/proc/self/status").stdout, "signals of the command")


def overwriting():
    path = lib.scratch("kept.ing")
    with open(path, "w") as f:
        f.write("precious")
    done = lib.run(*lib.record_command(path, ["touch", lib.scratch("ran")]))
    equal(done.returncode, lib.NOT_STARTED, "an existing file without -f")
    check("-f" in done.stderr, f"the hint names -f: {done.stderr!r}")
    check(not os.path.exists(lib.scratch("ran")), "the command was not started")
    with open(path) as f:
        equal(f.read(), "precious", "the file is as it was")
    link, target = lib.scratch("link.ing"), lib.scratch("target")
    with open(target, "w") as f:
        f.write("precious")
    os.symlink(target, link)
    lib.run(*lib.record_command(link, ["true"], ["-f"]))
    with open(target) as f:
        equal(f.read(), "precious", "what a symbolic link points to")
    equal(lib.run(*lib.record_command(path, ["true"], ["-f"])).returncode, 0, "with -f")
    equal(lib.report_json(path)["closed"], True, "and it is a recording")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of the file")


def read_until(fd, text):
    got = b""
    end = time.monotonic() + 40
    while text not in got and time.monotonic() < end:
        try:
            got += os.read(fd, 1000)
        except OSError:
            break
    return got


def interrupt():
    """Typed at a terminal, Ctrl-C goes to recorder and command alike."""
    path = lib.scratch("interrupt.ing")
    pid, terminal = pty.fork()
    if pid == 0:
        command = lib.record_command(path, [sys.executable, "-c", COUNT_INTERRUPTS])
        os.execv(command[0], command)
    check(b"ready" in read_until(terminal, b"ready"), "the command runs on the terminal")
    os.write(terminal, b"\x03")
    said = read_until(terminal, b"interrupts")
    said += read_until(terminal, b"\n")
    status = os.waitpid(pid, 0)[1]
    check(b"interrupts 1\r\n" in said, f"the command gets it once: {said!r}")
    equal(os.waitstatus_to_exitcode(status), 7, "its status")
    equal(lib.report_json(path)["closed"], True, "the recording is finished")


def outlived():
    """A descendant that outlives the command is neither killed nor waited for."""
    mark = lib.scratch("outlived")
    start = time.monotonic()
    done = lib.run(*lib.record_command(lib.scratch("daemon.ing"),
                                       ["sh", "-c", f"(sleep 6; touch {mark}) >/dev/null 2>&1 & exit 4"]))
    equal(done.returncode, 4, "exit status with a descendant left")
    check(time.monotonic() - start < 5.5, "it is not waited for")
    check(lib.wait_until(lambda: os.path.exists(mark), 10), "it is not killed")


def terminated():
    """SIGTERM to the recorder ends the command by it and finishes the recording."""
    recorder, path = lib.start_record(["sleep", "30"], stderr=subprocess.PIPE)
    time.sleep(3)
    lib.kill(recorder, signal.SIGTERM)
    recorder.communicate(timeout=20)
    equal(recorder.returncode, 143, "status after SIGTERM")
    equal(lib.report_json(path)["closed"], True, "closed after SIGTERM")


def as_user():
    """What sudo leaves in the environment decides who runs the command."""
    try:
        user = pwd.getpwnam("games")
    except KeyError:
        return
    folder = lib.scratch("home")
    os.mkdir(folder)
    os.chown(folder, user.pw_uid, user.pw_gid)
    env = lib.environment(SUDO_UID=str(user.pw_uid), SUDO_GID=str(user.pw_gid), SUDO_USER=user.pw_name,
                          HOME="/root", USER="root", LOGNAME="root")
    path = os.path.join(folder, "user.ing")
    show = ["sh", "-c", "id -u; id -g; id -G; echo $HOME; echo $USER; grep CapEff /proc/self/status"]
    groups = " ".join(map(str, os.getgrouplist(user.pw_name, user.pw_gid)))
    done = lib.run(*lib.record_command(path, show), env=env)
    said = done.stdout.splitlines()
    equal(said[:2], [str(user.pw_uid), str(user.pw_gid)], f"uid and gid ({done.stderr})")
    equal(sorted(said[2].split()), sorted(groups.split()), "groups")
    equal(said[3:5], [user.pw_dir, user.pw_name], "HOME and USER")
    check(said[5].split()[1].strip("0") == "", f"no capabilities: {said[5]}")
    made = os.stat(path)
    equal((made.st_uid, made.st_gid), (user.pw_uid, user.pw_gid), "owner of the file")
    equal(stat.S_IMODE(made.st_mode), 0o600, "mode of the file")
    done = lib.run(*lib.record_command(path, ["id", "-u"], ["-f", "--as-root"]), env=env)
    equal(done.stdout, "0\n", "--as-root")
    equal(os.stat(path).st_uid, user.pw_uid, "the file is still the person's")


def no_privilege():
    """Without privilege: one clear line, status 125, the command is not started."""
    mark = lib.scratch("unprivileged")
    user = pwd.getpwnam("nobody")
    done = subprocess.run(lib.record_command("/tmp/ingero-e2e-nobody.ing", ["touch", mark]), capture_output=True,
                          text=True, user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    equal(done.returncode, lib.NOT_STARTED, "exit status without privilege")
    check("hint:" in done.stderr and len(done.stderr.splitlines()) <= 2, f"one line with a hint: {done.stderr!r}")
    check(not os.path.exists(mark), "the command was not started")


lib.need_recording()
for part in (statuses, streams, overwriting, interrupt, outlived, terminated, as_user, no_privilege):
    part()
lib.finish()
