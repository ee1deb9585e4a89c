# SPDX-License-Identifier: MIT
"""A mount in the foreground of its own process, and what the process uses. SESSIONFS is the program."""

import os
import subprocess
import threading
import time


class Mount:
    """Mounts SOURCE at AT. The program's messages are appended to LOG, or go to the caller's stderr."""

    def __init__(self, source, at, *options, log=None):
        self.at = at
        os.makedirs(at, exist_ok=True)
        program = os.environ.get("SESSIONFS", "build/sessionfs")
        with open(log or os.devnull, "ab") as f:
            self.program = subprocess.Popen(
                [program, "-f", *options, source, at], stdin=subprocess.DEVNULL, stderr=f if log else None
            )
        end = time.monotonic() + 30
        while not os.path.ismount(at):
            if self.program.poll() is not None or time.monotonic() > end:
                raise RuntimeError("it did not mount")
            time.sleep(0.01)

    def _fields(self, name):
        with open(f"/proc/{self.program.pid}/{name}", encoding="ascii", errors="replace") as f:
            return [line.split() for line in f]

    def cpu(self):
        """Seconds."""
        with open(f"/proc/{self.program.pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Memory that only swapping would free. Long lines and texts are in files, which the kernel writes back."""
        return sum(int(f[1]) << 10 for f in self._fields("status") if f and f[0] in ("RssAnon:", "RssShmem:"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.program.pid}/fd"))

    def calls(self):
        """The reads that the program made: of requests from the kernel, and of files."""
        return next(int(f[1]) for f in self._fields("io") if f[0] == "syscr:")

    def close(self):
        subprocess.run(["fusermount3", "-uz", self.at], check=False)
        try:
            self.program.wait(30)
        except subprocess.TimeoutExpired:
            self.program.kill()
            self.program.wait()


class Watch(threading.Thread):
    """Watches the memory all the time, and keeps the maximum."""

    def __init__(self, mount):
        super().__init__(daemon=True)
        self.mount, self.over, self.most = mount, threading.Event(), 0

    def run(self):
        while not self.over.wait(0.01):
            try:
                self.most = max(self.most, self.mount.memory())
            except OSError:
                return
