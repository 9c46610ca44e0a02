"""What `sampan top` costs for 500 threads, of which 498 wait: rows of bench/run.py.

The CPU of top and of its recorder, from /proc, over SAMPAN_BENCH_TOP seconds (60), in a terminal of
80x24.
"""
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import termios
import threading
import time

import pairs

SECONDS = float(os.environ.get("SAMPAN_BENCH_TOP", "60"))
WARM_S = 5  # for the lookup of names


def cpu_s(pid):
    """User and system time of a process, including its ended threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_of(pid):
    words = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(word) for word in words]


class Watching:
    """top in a terminal of its own, whose output is read and discarded."""

    def __init__(self, command):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.ours = ours
        self.top = subprocess.Popen(list(map(str, command)), stdin=theirs, stdout=theirs,
                                    stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        self.bytes = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while data := os.read(self.ours, 65536):
                self.bytes += len(data)
        except OSError:
            pass

    def shares(self):
        """The shares of a core that top and its recorder use."""
        time.sleep(WARM_S)
        pids = [self.top.pid, *children_of(self.top.pid)]
        before, begin = [cpu_s(pid) for pid in pids], time.monotonic()
        time.sleep(SECONDS)
        return [(cpu_s(pid) - cpu) / (time.monotonic() - begin) for pid, cpu in zip(pids, before)]

    def quit(self):
        os.write(self.ours, b"q")
        self.top.wait(60)


def watch(bench, name, command, bound):
    watching = Watching(command)
    shares = watching.shares()
    watching.quit()
    text = f"{sum(shares) * 100:.1f} % ({' + '.join(f'{share * 100:.1f}' for share in shares)})"
    bench.judge(name, sum(shares), bound, text)


def top(bench):
    target = [bench.build / "bench" / "idlers", "500", "2", str(int(SECONDS + WARM_S + 20))]
    for clock in ("wall", "cpu"):
        options = ["--rate", "100", "--clock", clock]
        process = subprocess.Popen(list(map(str, target)), stdout=subprocess.DEVNULL)
        attach = [bench.sampan, "top", *options, process.pid]
        bench.table.note(pairs.shown([*map(str, attach[:-1]), "PID"]))
        watch(bench, f"top PID, 500 threads, 100 Hz, {clock}: share of a core", attach, 0.03)
        process.kill()
        process.wait()
        run = [bench.sampan, "top", *options, "--", *target]
        bench.table.note(pairs.shown(run))
        watch(bench, f"top -- COMMAND, 500 threads, 100 Hz, {clock}: share of a core", run, 0.03)


ROWS = {"top": top}
