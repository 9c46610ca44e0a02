"""Whether --max-overhead holds what it promises, measured from outside: rows of bench/run.py.

CPU of target and sampan together, as the kernel accounts it to them (wait4), beside that of a bare run of the same work: a
compile by clang, and redis-server for a fixed number of requests. The two run at the same time, each on a CPU of its own,
and then on each other's: what slows the machine, and the difference of the CPUs, is in both. The clients of a server run on
its CPU, so that how many requests meet it at once does not depend on the other side. A run takes 20 s of CPU, so that
starting is not what is measured. Beside it the same of two bare runs, which says how much of a ratio is chance, what
4,000 Hz cost without a limit, and what the recording says of its cost.

SAMPAN_BENCH_PAIRS says how often, SAMPAN_BENCH_SCALE makes runs shorter or longer.
"""
import math
import os
import shutil
import statistics
import subprocess

import outside
import pairs
import workloads

SCALE = float(os.environ.get("SAMPAN_BENCH_SCALE", "1"))
ASKED = ("--rate", "4000")
LIMITS = {"--max-overhead 1%": ("--max-overhead", "1%"), "without a limit": ()}
BOUND = 1.01


class Clang:
    name = "clang"

    def __init__(self, folder, side):
        self.command = workloads.compile_heavy(folder, int(55 * SCALE))
        self.command[-1] += side
        self.load = None


class Redis:
    name = "redis"

    def __init__(self, folder, side):
        place = folder / f"redis-{side}"
        place.mkdir(exist_ok=True)
        redis = workloads.Redis(place, int(6_000_000 * SCALE), pipeline=16)
        self.command, self.load = redis.server, redis.load


def together(jobs):
    """Runs (prefix, work) at the same time, the first on CPU 0; the CPU that each took."""
    running, loads = [], []
    for cpu, (prefix, work) in enumerate(jobs):
        running.append(outside.Job(["taskset", "-c", cpu, *prefix, *work.command]))
        if work.load:
            loads.append(subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", work.load],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    taken = [job.wait().cpu for job in running]
    for load in loads:
        load.wait()
    return taken


def swapped(ours, bare):
    """The ratio of their CPU, of two runs of each, one on each CPU; and the CPU of the bare one."""
    a, b = together([ours, bare])
    d, c = together([bare, ours])
    return math.sqrt(a / b * c / d), (b + d) / 2


def measured(prefix, ours, bare, times):
    """The median ratio of so many, their text, and the CPU of the bare program."""
    found = [swapped((prefix, ours), ((), bare)) for _ in range(times)]
    ratios = sorted(ratio for ratio, _ in found)
    ratio = statistics.median(ratios)
    return ratio, f"{ratio:.3f} [{ratios[0]:.3f} {ratios[-1]:.3f}]", statistics.median(cpu for _, cpu in found)


def governor(bench):
    for Work in (Clang, Redis):
        ours, bare = Work(bench.folder, "a"), Work(bench.folder, "b")
        if not shutil.which(ours.command[0]):
            bench.table.row(f"governor: {Work.name} is not installed", "skipped")
            continue
        bench.table.note(pairs.shown(ours.command))
        _, text, cpu = measured((), ours, bare, bench.pairs)
        bench.table.row(f"CPU of two bare runs, {Work.name}", text)
        bench.table.row("  CPU of one, s", f"{cpu:.1f}")
        for limit, options in LIMITS.items():
            prefix = bench.capture(*ASKED, *options)
            bench.table.note(pairs.shown(prefix))
            ratio, text, _ = measured(prefix, ours, bare, bench.pairs if options else 1)
            if options:
                bench.judge(f"CPU at 4000 Hz {limit}, {Work.name}", ratio, BOUND, text)
            else:
                bench.table.row(f"CPU at 4000 Hz {limit}, {Work.name}", text)
            report = bench.recording()[1]
            bench.table.row("  as the recording says", f"{1 + report['cost']['share']:.4f}")
            bench.table.row("  rate achieved, Hz; coverage",
                            f"{report['achieved_rate_hz']:.0f}; {report['coverage']:.4f}")


ROWS = {"governor": governor}
