"""Whether --max-overhead holds what it promises, measured from outside: rows of bench/run.py.

Compares the CPU of target and sampan together, as the kernel accounts it, with that of a bare program
that does the same work: compiles by clang, and answers of redis-server. Three more rows help to read
the result: the ratio of two bare programs shows how much is chance; the cost of 4,000 Hz without a limit;
the cost that the recording itself reports.

Where caches are shared with other virtual machines, the cost of the same work changes by a fifth from one
second to the next. So both sides do small portions of the work in turn on one CPU, and the result is the
median of the ratios of neighbouring portions. The sides are started anew several times, because the
placement of their memory makes a difference too. No portion includes the cost of starting and ending.

SAMPAN_BENCH_PAIRS sets how often, SAMPAN_BENCH_SCALE makes portions shorter or longer.
"""
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import outside
import pairs
import top
import workloads

SCALE = float(os.environ.get("SAMPAN_BENCH_SCALE", "1"))
ASKED = ("--rate", "4000")
BOUNDS = {"1%": 1.01, "none": None}  # of --max-overhead


class Side:
    """A program that works on request, and the sampan that samples it, if any, on one CPU."""

    def __init__(self, prefix, command, cpu, **keywords):
        self.on_cpu = ["taskset", "-c", str(cpu)]
        self.job = outside.Job([*self.on_cpu, *prefix, *command], **keywords)

    def cpu_ns(self):
        pids = [self.job.pid, *top.children_of(self.job.pid)]
        return sum(int(path.read_text().split()[0])
                   for pid in pids for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))

    def portion(self):
        """Does a portion of the work; its CPU, ns."""
        before = self.cpu_ns()
        return self.work() + self.cpu_ns() - before


class Clang(Side):
    """Compiles one file after the other, 3.5 s of CPU each, of which starting clang is a small part."""

    program, portions = "clang++", 4
    COMPILER = """
import os, subprocess, sys
for _ in sys.stdin:
    _, status, used = os.wait4(subprocess.Popen(sys.argv[1:]).pid, 0)
    print(status or int((used.ru_utime + used.ru_stime) * 1e9), flush=True)
"""

    def __init__(self, prefix, folder, side, cpu):
        *command, output = workloads.compile_heavy(folder, max(1, int(10 * SCALE)))
        super().__init__(prefix, [sys.executable, "-c", self.COMPILER, *command, output + side], cpu,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def work(self):
        self.job.process.stdin.write(b"\n")
        self.job.process.stdin.flush()
        return int(self.job.process.stdout.readline())

    def end(self):
        self.job.process.stdin.close()
        self.job.wait()


class Redis(Side):
    """Answers requests, 0.2 s of CPU a portion. The client runs on the same CPU, but is not counted."""

    program, portions = "redis-server", 20

    def __init__(self, prefix, folder, side, cpu):
        place = folder / f"redis-{side}"
        place.mkdir(exist_ok=True)
        self.redis = workloads.Redis(place)
        super().__init__(prefix, self.redis.server, cpu)
        self.client = [*self.on_cpu, "redis-benchmark", "-s", str(self.redis.socket), "-q", "-P", "16", "-r", "10000",
                       "-t", "set", "-n", str(int(100_000 * SCALE))]
        while not self.redis.accepts("ping"):
            time.sleep(0.05)

    def work(self):
        subprocess.run(self.client, stdout=subprocess.DEVNULL, check=True)
        return 0

    def end(self):
        self.redis.accepts("shutdown", "nosave")
        self.job.wait()


def ratio(Program, prefix, folder, turn):
    """CPU of a portion under `prefix`, divided by that of a bare one. Orders and CPUs take turns."""
    sides = {}
    for side in sorted("ab", reverse=turn % 2):
        sides[side] = Program(prefix if side == "a" else (), folder, side, turn // 2 % 2)
        sides[side].portion()
    ratios = []
    for i in range(Program.portions):
        cpu = {side: sides[side].portion() for side in sorted("ab", reverse=i % 2)}
        ratios.append(cpu["a"] / cpu["b"])
    for side in sides.values():
        side.end()
    return statistics.median(ratios)


def measured(Program, prefix, folder, times):
    """The mean of `times` ratios, and its text with the standard error."""
    ratios = [ratio(Program, prefix, folder, turn) for turn in range(times)]
    mean = statistics.mean(ratios)
    if times == 1:
        return mean, f"{mean:.3f}"
    error = statistics.stdev(ratios) / math.sqrt(times)
    return mean, f"{mean:.3f} +- {error:.3f} [{min(ratios):.3f} {max(ratios):.3f}]"


def governor(bench):
    for Program in (Clang, Redis):
        name = Program.__name__.lower()
        if not shutil.which(Program.program):
            bench.table.row(f"governor: {name} is not installed", "skipped")
            continue
        times = 2 * bench.pairs
        bench.table.row(f"CPU of two bare programs, {name}", measured(Program, (), bench.folder, times)[1])
        for limit, bound in BOUNDS.items():
            prefix = bench.capture(*ASKED, "--max-overhead", limit)
            bench.table.note(pairs.shown([*prefix, Program.program]))
            mean, text = measured(Program, prefix, bench.folder, times if bound else 1)
            what = f"CPU at 4000 Hz --max-overhead {limit}, {name}"
            if bound:
                bench.judge(what, mean, bound, text)
            else:
                bench.table.row(what, text)
            report = bench.recording()[1]
            bench.table.row("  as the recording says", f"{1 + report['cost']['share']:.4f}")
            bench.table.row("  rate achieved, Hz; coverage",
                            f"{report['achieved_rate_hz']:.0f}; {report['coverage']:.4f}")


ROWS = {"governor": governor}
