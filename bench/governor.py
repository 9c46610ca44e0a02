"""Whether --max-overhead holds what it promises, measured from outside: rows of bench/run.py.

Compares the CPU of target and sampan together, as the kernel accounts it, with that of a bare program
that does the same work: compiles by clang, and answers of redis-server. Three more rows help to read
the result: the ratio of two bare programs shows how much is chance; the cost of 4,000 Hz without a limit;
the cost that the recording itself reports.

Both sides do small portions of the work in turn (portions.py).

SAMPAN_BENCH_PAIRS sets how often, SAMPAN_BENCH_SCALE makes portions shorter or longer.
"""
import os
import shutil
import subprocess
import sys
import time

import pairs
import portions
import workloads

SCALE = float(os.environ.get("SAMPAN_BENCH_SCALE", "1"))
ASKED = ("--rate", "4000")
BOUNDS = {"1%": 1.01, "none": None}  # of --max-overhead


class Clang(portions.Side):
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


class Redis(portions.Side):
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


def governor(bench):
    for Program in (Clang, Redis):
        name = Program.__name__.lower()
        if not shutil.which(Program.program):
            bench.table.row(f"governor: {name} is not installed", "skipped")
            continue
        times = 2 * bench.pairs
        bench.table.row(f"CPU of two bare programs, {name}", portions.measured(Program, (), bench.folder, times)[1])
        for limit, bound in BOUNDS.items():
            prefix = bench.capture(*ASKED, "--max-overhead", limit)
            bench.table.note(pairs.shown([*prefix, Program.program]))
            mean, text = portions.measured(Program, prefix, bench.folder, times if bound else 1)
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
