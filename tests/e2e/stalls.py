"""The few tests that measure time, and the watch that says whether the machine kept time.

A test passes or fails by what is right, and runs once. One that judges rates, shares or waits by the clock has
a tolerance that tolerances.py derives from ticks, samples and queues. No tolerance covers a virtual machine that
stands still: its host runs others for a quarter of a second, programs wait that should not, and some kernels
count that time as CPU of the thread that was running. A test that may fail by that says so with @measures_time.
When it fails and the watch saw a stall, it is repeated and says so; without a stall the first failure counts.
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
    """The longest stall of each CPU since the last reset(). One process per CPU sleeps in short steps, with the
    highest priority where that is permitted, and measures how late it woke."""

    def __init__(self):
        cpus = sorted(os.sched_getaffinity(0))
        self.longest = mmap.mmap(-1, 8 * len(cpus))  # a double each, shared with the watching processes
        self.processes = []
        tests = os.getpid()
        for place, cpu in enumerate(cpus):
            begin = time.monotonic()
            self.processes.append(os.fork())
            if self.processes[-1] == 0:
                try:
                    self.watch(cpu, 8 * place, tests, begin)
                finally:
                    os._exit(0)  # whatever happens: this copy of the tests must not run them

    def watch(self, cpu, offset, tests, awake):
        """From the time `awake` until the tests have ended, without a gap."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            os.sched_setaffinity(0, {cpu})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            pass  # an ordinary user: it wakes soon enough unless the CPU is busy
        while os.getppid() == tests:
            time.sleep(STEP_S)
            before, awake = awake, time.monotonic()
            late = awake - before - STEP_S
            if late > struct.unpack_from("d", self.longest, offset)[0]:
                struct.pack_into("d", self.longest, offset, late)

    def stall_s(self):
        time.sleep(2 * STEP_S)  # until the watch has seen a stall that has just ended
        return max(struct.unpack(f"{len(self.longest) // 8}d", self.longest[:]))

    def reset(self):
        self.longest[:] = bytes(len(self.longest))


watch = functools.cache(Watch)  # begins with the first test that measures time
caches = []


def cache(function):
    """functools.cache of what several tests share, made anew when a test is repeated."""
    caches.append(functools.cache(function))
    return caches[-1]


def begin_again(case):
    """Makes everything anew that `case` looks at: the stall may have been in any of it."""
    watch().reset()
    for cached in caches:
        cached.cache_clear()
    with contextlib.suppress(Exception):  # the next attempt says what is missing
        case.tearDownClass()
        case.doClassCleanups()
        case.setUpClass()
    case.tearDown()
    case.doCleanups()
    with contextlib.suppress(Exception):
        case.setUp()


def measures_time(why):
    """Marks a test, or all tests of a class, as one that the clock of the machine may upset, and says why."""
    def mark(test):
        watch()
        if isinstance(test, type):
            for name in unittest.defaultTestLoader.getTestCaseNames(test):
                setattr(test, name, mark(getattr(test, name)))
            return test

        @functools.wraps(test)
        def repeated(case):
            # The first failure has to come here: a part of a test does not fail alone.
            case.subTest = lambda *_, **__: contextlib.nullcontext()
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return test(case)
                except unittest.SkipTest:
                    raise
                except Exception as failure:
                    stall_s = watch().stall_s()
                    if attempt == ATTEMPTS or stall_s < STALL_S:
                        raise
                    said = " ".join(f"{type(failure).__name__}: {failure}".split())
                    print(f"repeated: {case.id()} ({why}): the machine stood still for {1000 * stall_s:.0f} ms: "
                          f"{said[:200]}", file=sys.stderr)
                begin_again(case)
            return None
        return repeated
    return mark
