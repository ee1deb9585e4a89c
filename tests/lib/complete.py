#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types at an interactive shell, and prints the arguments of the program that it runs, one word a line.

usage: complete.py SHELL [ARGUMENT...] <LINE    in LINE \\t is a tab; the program prints its words between `[` and `]`."""
import os
import pty
import re
import sys


def until(fd, wanted):
    got = b""
    while not re.search(wanted, got, re.S):
        try:
            got += os.read(fd, 65536)
        except OSError:
            sys.exit(f"{wanted} did not come: {got!r}")
    return got


def main():
    line = sys.stdin.read().rstrip("\n").replace("\\t", "\t")
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", PS1="ready> ", INPUTRC="/dev/null")
        os.execvp(sys.argv[1], sys.argv[1:])
    until(fd, rb"ready> ")
    for part in re.split("(\t)", line):
        os.write(fd, part.encode())
        if part == "\t":
            # After completing it reads on: the next key makes it respond.
            os.write(fd, b"\x18m")
            until(fd, rb"COMPLETED")
    os.write(fd, b"\r")
    print(re.search(rb"\[\r?\n(.*?)\]\r?\n", until(fd, rb"\[\r?\n(.*?)\]\r?\n"), re.S)[1].decode().replace("\r", ""), end="")
    os.close(fd)


main()
