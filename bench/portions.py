"""Comparing two programs that do the same work in small portions, in turn on one CPU.

Where caches are shared with other virtual machines, the cost of the same work changes by a fifth from one
second to the next. So the result is the median of the ratios of neighbouring portions. The sides are started
anew several times, because the placement of their memory makes a difference too. No portion includes the
cost of starting and ending.
"""
import math
import pathlib
import statistics

import outside
import top


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
