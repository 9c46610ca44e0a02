"""Measuring commands in pairs, on a machine that is shared and noisy.

Two commands run in turn, A B A B ..., and the result is the median of the ratios A/B of the pairs.
Whatever slows the machine for a while slows both sides of a pair.
"""
import os
import resource
import shlex
import statistics
import subprocess
import time


class Cost:
    """The cost of one command, including all children that it waited for."""

    def __init__(self, command, env=None, **keywords):
        self.command = command
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        keywords.setdefault("stdout", subprocess.DEVNULL)
        keywords.setdefault("stderr", subprocess.DEVNULL)
        self.status = subprocess.run(command, env={**os.environ, **(env or {})}, **keywords).returncode
        self.wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def pairs(a, b, count, measure=lambda run: run().cpu):
    """Medians of a, of b, of their ratios, and of their differences; quartiles of the ratios; the difference of the
    least of a and of b, for what is small beside the noise. `a` and `b` each run one command and return a Cost."""
    measure(a), measure(b)  # warm up: caches, page tables
    measured = []
    for i in range(count):
        if i % 2 == 0:
            first = measure(a)
            measured.append((first, measure(b)))
        else:
            second = measure(b)
            measured.append((measure(a), second))
    ratios = sorted(x / y for x, y in measured)
    return {
        "a": statistics.median(x for x, _ in measured),
        "b": statistics.median(y for _, y in measured),
        "ratio": statistics.median(ratios),
        "low": ratios[len(ratios) // 4],
        "high": ratios[-1 - len(ratios) // 4],
        "difference": statistics.median(x - y for x, y in measured),
        "least": min(x for x, _ in measured) - min(y for _, y in measured),
    }


def shown(command, env=None):
    words = [f"{key}={shlex.quote(value)}" for key, value in (env or {}).items()]
    return " ".join(words + [shlex.join(map(str, command))])


class Table:
    """Prints each row as soon as it is measured, and the commands at the end."""

    def __init__(self):
        self.commands = []
        print(f"{'what':46} {'measured':>24} {'bound':>12}  ")

    def row(self, what, measured, bound="", met=None):
        mark = {None: "", True: "ok", False: "MISSED"}[met]
        print(f"{what:46} {measured:>24} {bound:>12}  {mark}", flush=True)

    def note(self, text):
        if text not in self.commands:
            self.commands.append(text)

    def finish(self):
        print("\ncommands:")
        for command in self.commands:
            print("  " + command)
