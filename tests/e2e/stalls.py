"""Tests that measure time need a machine that stands by its clock.

A virtual machine may stand still for a quarter of a second, whatever wants to run in it: its host gives the
CPU to others, or fetches its memory. Then programs wait that should not, and some kernels count the time as CPU of the
thread that was running. So one process for each CPU sleeps in short steps, ahead of everything else
there where it may, and knows how late it woke. A test that fails is repeated where the machine stood still, and
says so; where it did not, the first failure is the last.
"""
import contextlib
import functools
import mmap
import os
import signal
import struct
import sys
import time
import unittest

ATTEMPTS = 4
STEP_S = 0.02
# An ordinary kernel wakes a process of the highest priority within fractions of a millisecond.
STALL_S = 0.02


class Watch:
    """The longest stall of each CPU since the last reset()."""

    def __init__(self):
        cpus = sorted(os.sched_getaffinity(0))
        self.longest = mmap.mmap(-1, 8 * len(cpus))  # a double each, shared with the watching processes
        self.processes = []
        tests = os.getpid()
        for place, cpu in enumerate(cpus):
            begin = time.monotonic()
            self.processes.append(os.fork())
            if self.processes[-1] == 0:
                self.watch(cpu, 8 * place, tests, begin)

    def watch(self, cpu, offset, tests, awake):
        """From when it was `awake`, and until the tests have ended: no moment is left out."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            os.sched_setaffinity(0, {cpu})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            pass  # an ordinary user's: it wakes soon enough unless the CPU is full
        while os.getppid() == tests:
            time.sleep(STEP_S)
            before, awake = awake, time.monotonic()
            late = awake - before - STEP_S
            if late > struct.unpack_from("d", self.longest, offset)[0]:
                struct.pack_into("d", self.longest, offset, late)
        os._exit(0)

    def stall_s(self):
        return max(struct.unpack(f"{len(self.longest) // 8}d", self.longest[:]))

    def reset(self):
        self.longest[:] = bytes(len(self.longest))


watch = Watch()
caches = []


def cache(function):
    """functools.cache of what several tests look at, until one is repeated."""
    caches.append(functools.cache(function))
    return caches[-1]


class Trial:
    """A result that remembers what it is told, to tell it to another or to forget it."""
    failfast = False

    def __init__(self):
        self.told = []

    def __getattr__(self, name):
        return lambda *arguments: self.told.append((name, arguments))

    def failure(self):
        """The first one's exception; None of a success."""
        for name, arguments in self.told:
            if name in ("addFailure", "addError", "addSubTest") and arguments[-1] is not None:
                return arguments[-1][1]
        return None

    def tell(self, result):
        for name, arguments in self.told:
            getattr(result, name)(*arguments)


class TestCase(unittest.TestCase):
    def run(self, result=None):
        for attempt in range(1, ATTEMPTS + 1):
            trial = Trial()
            super().run(trial)
            failure = trial.failure()
            if attempt == ATTEMPTS or failure is None:
                break
            time.sleep(2 * STEP_S)  # of a stall that has just ended the watch is to know
            stall_s = watch.stall_s()
            if stall_s < STALL_S:
                break
            said = " ".join(f"{type(failure).__name__}: {failure}".split())
            print(f"repeated: {self.id()}: the machine stood still for {1000 * stall_s:.0f} ms: {said[:200]}",
                  file=sys.stderr)
            with contextlib.suppress(Exception):  # the next attempt says what it misses, and is not the last
                self.begin_again()
        trial.tell(result)
        return result

    def begin_again(self):
        """What the tests of a class share is made anew, too: it may be what the stall was in."""
        watch.reset()
        for cached in caches:
            cached.cache_clear()
        self.tearDownClass()
        self.doClassCleanups()
        self.setUpClass()
