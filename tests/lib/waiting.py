# SPDX-License-Identifier: MIT
"""Waits for what must happen. There is no limit: tests/lib/limited ends a test that hangs, and SIGTERM prints where."""
import faulthandler
import signal
import time

faulthandler.register(signal.SIGTERM, chain=True)


def await_(condition, what, pause=0.02):  # pylint: disable=unused-argument
    """Returns once the condition is true. `what` is for the reader of the test."""
    while not condition():
        time.sleep(pause)


def is_mounted(mount):
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return any(line.split()[4] == mount for line in f)
