#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What ingero-report does on a terminal and in a pipe: pager, colour, width, ASCII, failing writes.

terminal.py FILE, in an empty folder. Terminals are made of pseudo terminals; pagers are scripts
that note that they were called.
"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata

FILE = sys.argv[1]
SEQUENCE = re.compile(r"\033\[[0-9;]*m")
failures = checks = 0

BASE = {name: value for name, value in os.environ.items()
        if name not in ("PAGER", "INGERO_PAGER", "LESS", "LV", "NO_COLOR", "COLUMNS", "LANG")}
BASE.update(TERM="xterm", TZ="UTC", LC_ALL="C.UTF-8")


def check(what, holds, detail=""):
    global failures, checks
    checks += 1
    if not holds:
        failures += 1
        print("not ok:", what, detail)


def environment(changes):
    env = dict(BASE, PATH=os.getcwd() + "/bin:" + BASE["PATH"])
    env.update(changes)
    return {name: value for name, value in env.items() if value is not None}


def script(name, text):
    os.makedirs("bin", exist_ok=True)
    with open("bin/" + name, "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\n" + text)
    os.chmod("bin/" + name, 0o755)


def read_all(fd):
    parts = []
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode().replace("\r\n", "\n")


def terminal(*options, width=80, typed=None, **changes):
    """The output and exit status on a terminal so wide; typed is sent to it after half a second."""
    pid, fd = pty.fork()
    if not pid:
        os.execvpe("ingero-report", ["ingero-report", *options, FILE], environment(changes))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    if typed:
        time.sleep(0.5)
        os.write(fd, typed)
    text = read_all(fd)
    os.close(fd)
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def sized(width, *options, **changes):
    """As terminal(), but wide from the very start."""
    with open("run", "w", encoding="utf-8") as out:
        out.write("stty cols %d rows 24\nexec ingero-report \"$@\"\n" % width)
    pid, fd = pty.fork()
    if not pid:
        os.execvpe("sh", ["sh", "run", *options, FILE], environment(changes))
    text = read_all(fd)
    os.close(fd)
    os.waitpid(pid, 0)
    return text


def pipe(*options, **changes):
    done = subprocess.run(["ingero-report", *options, FILE], env=environment(changes),
                          capture_output=True, check=False)
    return done.stdout.decode(), done.stderr.decode(), done.returncode


def paged():
    """What the pagers of this test noted since the last time: their names and LESS."""
    try:
        with open("paged", encoding="utf-8") as notes:
            text = notes.read()
        os.unlink("paged")
    except FileNotFoundError:
        text = ""
    return text.split()


def columns(line):
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) > 0 for c in line)


def widest(text):
    return max(columns(SEQUENCE.sub("", line)) for line in text.split("\n"))


def test_pager():
    script("less", 'echo "less:$LESS" >>paged\ncat\n')
    script("other", 'echo "other:$*" >>paged\ncat\n')
    text, status = terminal()
    check("less is the pager", paged() == ["less:FRX"] and not status)
    check("and gets the text", text.startswith("Recording: "), text[:80])
    terminal(PAGER="other")
    check("PAGER", paged() == ["other:"])
    terminal(PAGER="less", INGERO_PAGER="other -x")
    check("INGERO_PAGER, with an argument", paged() == ["other:-x"])
    terminal(PAGER="cat | other \"a\"")
    check("a pager for the shell", paged() == ["other:a"])
    terminal(LESS="M")
    check("LESS is left alone", paged() == ["less:M"])


def test_no_pager():
    for what, options, changes in (
            ("--no-pager", ["--no-pager"], {}), ("PAGER=cat", [], {"PAGER": "cat"}),
            ("PAGER empty", [], {"PAGER": ""}), ("TERM=dumb", [], {"TERM": "dumb"}),
            ("no TERM", [], {"TERM": None}), ("--json", ["--json"], {}),
            ("--csv", ["--ops", "--csv"], {}),
            ("INGERO_PAGER empty", [], {"PAGER": "less", "INGERO_PAGER": ""})):
        text, status = terminal(*options, **changes)
        check(what + ": no pager", not paged() and not status and len(text) > 100)
    pipe()
    check("no pager in a pipe", not paged())


def test_odd_pagers():
    text, status = terminal(PAGER="no-such-pager")
    check("a pager that is not there", text.startswith("Recording: ") and not status)
    text, status = terminal(PAGER="no-such-pager; exit 127")
    check("one that the shell cannot run", status == 6 and "cannot run the pager" in text, text)
    text, status = terminal("--json", "--info", "--no-pager", PAGER="true")
    check("nothing of it without a pager", not status)
    text, status = terminal("--per-process", "--info", PAGER="true")
    check("a pager that leaves at once", (text, status) == ("", 0), repr(text))
    script("waits", "trap 'echo interrupted' INT\nsleep 1\ncat >/dev/null\necho done\n")
    text, status = terminal(PAGER="waits", typed=b"\x03")
    check("an interrupt is the pager's", text == "^Cinterrupted\ndone\n" and not status, repr(text))


def test_color():
    def colored(*options, **changes):
        return bool(SEQUENCE.search(terminal(*options, **changes)[0]))

    script("more", "cat\n")
    check("colour on a terminal", colored(PAGER="cat") and colored())
    check("empty NO_COLOR", colored(NO_COLOR=""))
    for what, options, changes in (
            ("NO_COLOR", [], {"NO_COLOR": "1"}), ("TERM=dumb", [], {"TERM": "dumb"}),
            ("never", ["--color=never"], {}), ("less without -R", [], {"LESS": "M"}),
            ("more", [], {"PAGER": "more"}),
            ("--json", ["--json", "--color=always"], {})):
        check("no colour: " + what, not colored(*options, **changes))
    check("always, whatever NO_COLOR says", colored("--color=always", NO_COLOR="1", TERM="dumb"))
    plain, bright = pipe()[0], pipe("--color=always")[0]
    check("no colour in a pipe", "\033" not in plain)
    check("--color=always in a pipe", "\033" in bright and SEQUENCE.sub("", bright) == plain)
    check("--color is always", pipe("--color")[0] == bright)
    check("--color=auto in a pipe", pipe("--color=auto")[0] == plain)
    out, err, status = pipe("--color=purple")
    check("an unknown word", not out and "purple" in err and "auto, always or never" in err
          and status == 2, err)
    paged()


def test_width():
    plain = pipe("--per-process")[0]
    for width in (60, 80, 160):
        text = sized(width, "--per-process", "--color=never", PAGER="cat")
        check("%d columns are enough" % width, widest(text) <= width, widest(text))
    for view in ("--info", "--chains", "--ops", "--threads", "--tree", "--errors", "--open",
                 "--waits", "--memory", "--losses", "--timeline", "--op-detail=cudaMalloc"):
        check("60 columns are enough for " + view, widest(sized(60, view, PAGER="cat")) <= 60)
    check("80 columns are those of a pipe", sized(80, "--per-process", "--color=never") == plain)
    check("160 columns are used", widest(sized(160, "--info", PAGER="cat")) > 80)
    check("COLUMNS on a terminal", widest(sized(160, PAGER="cat", COLUMNS="70")) <= 70)
    check("not fewer than 40", sized(3, PAGER="cat") == sized(40, PAGER="cat"))
    check("COLUMNS in a pipe", pipe("--per-process", COLUMNS="200", TERM="dumb")[0] == plain)
    paged()


def test_locale():
    for changes in ({"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LC_ALL": None},
                    {"LC_ALL": "de_DE@euro"}, {"LC_ALL": "C", "LANG": "C.UTF-8"}):
        text = pipe("--timeline", **changes)[0]
        check("ASCII with %s" % changes, text.isascii() and "#" in text)
    for changes in ({"LC_ALL": "C.UTF-8"}, {"LC_ALL": "xx_YY.utf8"},
                    {"LC_ALL": None, "LANG": "de_DE.UTF-8"},
                    {"LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"}):
        text = pipe("--timeline", **changes)[0]
        check("blocks with %s" % changes, "\u2588" in text and "#" not in text)
    check("numbers are the same", pipe(LC_ALL="C")[0] == pipe(LC_ALL="de_DE.UTF-8")[0])


def closed_pipe(handler):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(["ingero-report", "--info", FILE], stdout=writing, check=False,
                          env=environment({}), stderr=subprocess.PIPE, restore_signals=False,
                          preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler))
    os.close(writing)
    return done.returncode, done.stderr


def test_writing():
    check("a broken pipe is silent", closed_pipe(signal.SIG_DFL) == (-signal.SIGPIPE, b""))
    check("where SIGPIPE is ignored too", closed_pipe(signal.SIG_IGN) == (0, b""))
    for options in ([], ["--json"], ["--ops", "--csv"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(["ingero-report", *options, FILE], stdout=full, check=False,
                                  env=environment({}), stderr=subprocess.PIPE)
        check("a full disk, %s" % options, done.returncode == 6 and
              b"No space left on device" in done.stderr, done.stderr)


def main():
    for test in (test_pager, test_no_pager, test_odd_pagers, test_color, test_width, test_locale,
                 test_writing):
        test()
    print("not ok: %d of %d checks" % (failures, checks) if failures else "ok: %d checks" % checks)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
