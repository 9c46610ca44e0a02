"""Whether --max-overhead holds what it promises, measured from outside: rows of bench/run.py.

CPU of target and sampan together, as the kernel accounts it to them, beside that of a bare run of the same work, a compile by
clang, and redis-server under a fixed load. Beside it the same of two bare runs, which says how much of a ratio is chance, what
4,000 Hz cost without a limit, and what the recording says of its cost.

SAMPAN_BENCH_PAIRS says how often, SAMPAN_BENCH_SCALE makes runs shorter or longer.
"""
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import time

import outside
import pairs
import top
import workloads

SCALE = float(os.environ.get("SAMPAN_BENCH_SCALE", "1"))
ASKED = ("--rate", "4000")
LIMITS = {"--max-overhead 1%": ("--max-overhead", "1%"), "without a limit": ()}
BOUND = 1.01


class Clang:
    """A compile of 20 s, so that starting is not what is measured. The two run at the same time, each on a CPU of its own, and
    then on each other's: what slows the machine, and the difference of the CPUs, is in both."""

    command = ["clang++"]

    def __init__(self, folder):
        self.command = workloads.compile_heavy(folder, int(55 * SCALE))

    def ratio(self, prefix, turn):
        a, b = self.together(prefix, ())
        d, c = self.together((), prefix)
        return math.sqrt(a / b * c / d)

    def together(self, *prefixes):
        running = [outside.Job(["taskset", "-c", cpu, *prefix, *self.command[:-1], f"{self.command[-1]}{cpu}"])
                   for cpu, prefix in enumerate(prefixes)]
        return [job.wait().cpu for job in running]


class Served:
    """A redis-server and the sampan that samples it, if any, on one CPU with their client."""

    def __init__(self, prefix, folder, side, cpu):
        place = folder / f"redis-{side}"
        place.mkdir(exist_ok=True)
        self.redis = workloads.Redis(place)
        self.on_cpu = ["taskset", "-c", str(cpu)]
        self.client = [*self.on_cpu, "redis-benchmark", "-s", str(self.redis.socket), "-q", "-P", "16", "-r", "10000",
                       "-t", "set", "-n", str(int(100_000 * SCALE))]
        self.job = outside.Job([*self.on_cpu, *prefix, *self.redis.server])
        while not self.redis.said("ping"):
            time.sleep(0.05)
        self.portion()

    def cpu_ns(self):
        pids = [self.job.pid, *top.children_of(self.job.pid)]
        return sum(int(path.read_text().split()[0])
                   for pid in pids for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))

    def portion(self):
        """The CPU of answering so many requests."""
        before = self.cpu_ns()
        subprocess.run(self.client, stdout=subprocess.DEVNULL, check=True)
        return self.cpu_ns() - before

    def end(self):
        self.redis.said("shutdown", "nosave")
        self.job.wait()


class Redis:
    """What a request costs a server changes by a fifth from one second to the next where caches are shared with other machines.
    So two servers get small portions of the load (0.2 s of CPU) one after the other, and it is the median of neighbours that
    counts; of servers started anew, as where their memory lies makes a difference too."""

    command = ["redis-server"]
    portions = 20

    def __init__(self, folder):
        self.folder = folder

    def ratio(self, prefix, turn):
        sides = {"a": prefix, "b": ()}
        servers = {side: Served(sides[side], self.folder, side, turn // 2 % 2) for side in sorted(sides, reverse=turn % 2)}
        ratios = []
        for i in range(self.portions):
            cpu = {side: servers[side].portion() for side in sorted(sides, reverse=i % 2)}
            ratios.append(cpu["a"] / cpu["b"])
        for server in servers.values():
            server.end()
        return statistics.median(ratios)


def measured(work, prefix, times):
    """The mean ratio of so many, and its text with the standard error."""
    ratios = [work.ratio(prefix, turn) for turn in range(times)]
    mean = statistics.mean(ratios)
    if times == 1:
        return mean, f"{mean:.3f}"
    error = statistics.stdev(ratios) / math.sqrt(times)
    return mean, f"{mean:.3f} +- {error:.3f} [{min(ratios):.3f} {max(ratios):.3f}]"


def governor(bench):
    for Work, times in ((Clang, bench.pairs), (Redis, 2 * bench.pairs)):
        name = Work.__name__.lower()
        if not shutil.which(Work.command[0]):
            bench.table.row(f"governor: {name} is not installed", "skipped")
            continue
        work = Work(bench.folder)
        bench.table.note(pairs.shown(work.command))
        bench.table.row(f"CPU of two bare runs, {name}", measured(work, (), times)[1])
        for limit, options in LIMITS.items():
            prefix = bench.capture(*ASKED, *options)
            bench.table.note(pairs.shown(prefix))
            ratio, text = measured(work, prefix, times if options else 1)
            what = f"CPU at 4000 Hz {limit}, {name}"
            if options:
                bench.judge(what, ratio, BOUND, text)
            else:
                bench.table.row(what, text)
            report = bench.recording()[1]
            bench.table.row("  as the recording says", f"{1 + report['cost']['share']:.4f}")
            bench.table.row("  rate achieved, Hz; coverage",
                            f"{report['achieved_rate_hz']:.0f}; {report['coverage']:.4f}")


ROWS = {"governor": governor}
