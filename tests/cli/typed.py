#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What an interactive shell makes of words and the tabulator key.

    typed.py bash|zsh FOLDER LINE...    FOLDER: of the completion files; prints each line completed
"""
import os
import pty
import re
import select
import sys
import time

LIMIT = 20      # seconds for one answer
SETUP = {
    "bash": "PS1='> '; bind 'set bell-style none' 'set enable-bracketed-paste off'; for f in {}/*; do . $f; done",
    "zsh": "PS1='> '; unsetopt beep; fpath=({} $fpath); autoload -Uz compinit; compinit -u -D",
}
START = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


class Shell:
    def __init__(self, name, folder):
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.environ.update(TERM="dumb", HISTFILE="/dev/null")
            os.execvp(START[name][0], START[name])
        self.say(SETUP[name].format(folder) + "; echo READY=YES")
        self.until(r"\nREADY=YES\r?\n")

    def say(self, text):
        os.write(self.terminal, text.encode() + b"\r")

    def until(self, pattern):
        """What the pattern's group, if it has one, matched."""
        text, end = "", time.monotonic() + LIMIT
        while time.monotonic() < end:
            if not select.select([self.terminal], [], [], 0.2)[0]:
                continue
            text += os.read(self.terminal, 65536).decode(errors="replace")
            found = re.search(pattern, text)
            if found:
                return found[1] if found.groups() else ""
        sys.exit(f"no answer: {text!r}")

    def completed(self, line):
        """To the start of the line goes an echo, once the shell has done its work."""
        os.write(self.terminal, line.encode() + b"\t")
        time.sleep(0.1)
        os.write(self.terminal, b"\x01echo DONE= \x05 ENDED\r")
        return self.until(r"\nDONE= (.*?) ENDED\r?\n").strip()


def main():
    shell = Shell(sys.argv[1], sys.argv[2])
    for line in sys.argv[3:]:
        print(re.sub(" +", " ", shell.completed(line)))
    shell.say("exit")


main()
