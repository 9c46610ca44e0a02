"""The drummer at 1000 Hz: samples for each second of CPU, and what it adds to a program."""
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import pairs
import workloads

RATE = 1000


def capture(bench):
    return bench.capture("--rate", str(RATE), "--sampling-clock", "drum", "--max-overhead", "none")


def rate(bench, name, command):
    """Samples for each second of CPU of the thread that used most."""
    workloads.run(name, command, bench.folder, capture(bench))
    _, report = bench.recording()
    thread = max(report["threads"], key=lambda row: row["cpu_s"])
    each = thread["samples"] / thread["cpu_s"]
    bench.judge(f"samples a CPU-second at {RATE} Hz, {name}", each, 0.95 * RATE, f"{each:.0f}", ">=")


# Runs a command, and writes the CPU seconds of that command alone to a file.
ALONE = """
import os, resource, subprocess, sys
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(str(used.ru_utime + used.ru_stime))
"""


def added(bench, name, command):
    """CPU that it adds to what perf record adds at the same rate: to the target alone, and with the collector's."""
    alone = bench.folder / "alone"
    command = [sys.executable, "-c", ALONE, str(alone), *command]
    perf = ["perf", "record", "-q", "-F", str(RATE), "-e", "task-clock:u", "-g", "-o", str(bench.folder / "perf.data"), "--"]
    bench.table.note(pairs.shown([*capture(bench), *command])[:160])
    bench.table.note(pairs.shown(perf))

    def measure(prefix):
        cost = workloads.run(name, command, bench.folder, prefix)
        return float(alone.read_text()), cost.cpu

    rounds = [[measure(prefix) for prefix in ((), capture(bench), perf)] for _ in range(1 + bench.pairs)][1:]
    for what, column, bound in (("to the target", 0, 0.4), ("in all", 1, 0.7)):
        ours, theirs = (statistics.median(measured[i][column] / measured[0][column] for measured in rounds) for i in (1, 2))
        text = f"({ours:.3f}/{theirs:.3f})"
        if theirs - 1 < 0.01:
            bench.table.row(f"CPU added {what} at {RATE} Hz, {name}", f"perf adds nothing {text}")
        else:
            ratio = (ours - 1) / (theirs - 1)
            bench.judge(f"CPU added {what} at {RATE} Hz to perf record's, {name}", ratio, bound, f"{ratio:.2f} {text}")


def drummer(bench, threads, seconds=8):
    """What the drummer itself needs for each thread that runs, and when all sleep."""
    idlers = [str(bench.build / "bench" / "idlers"), "8", str(threads), str(seconds)]
    command = idlers if threads else ["sleep", str(seconds)]
    words = [*capture(bench), *command]
    bench.table.note(pairs.shown(words))
    collector = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    looks = []
    for pause in (2, seconds - 4):
        time.sleep(pause)
        [task] = [task for task in pathlib.Path(f"/proc/{collector.pid}/task").iterdir()
                  if (task / "comm").read_text() == "drummer\n"]
        looks.append((time.monotonic(), int((task / "schedstat").read_text().split()[0]) / 1e9))
    collector.wait()
    (begin, before), (end, after) = looks
    share = 100 * (after - before) / (end - begin) / max(threads, 1)
    what = f"drummer, {threads} of 8 threads run, % of a core for each" if threads else "drummer, nothing runs, % of a core"
    bench.judge(what, share, 1.5 if threads else 0.2, f"{share:.2f}")


def drum(bench):
    for threads in (0, 1, 2):
        drummer(bench, threads)
    for name, command in bench.workloads.items():
        rate(bench, name, command)
        if name != "redis" and shutil.which("perf"):
            added(bench, name, command)


ROWS = {"drum": drum}
