"""How far apart what was sampled and what happened may be. Every bound is derived so that one comparison fails by
chance with a probability of CHANCE; the suite makes fewer than 500 of them, so a run of it fails by chance less
than once in 10,000 times.
"""
import math
import mmap
import os
import pathlib
import statistics
import struct
import time

CHANCE = 2e-7
DEVIATIONS = statistics.NormalDist().inv_cdf(1 - CHANCE / 2)  # 5.2
CLOCK_MONOTONIC_COARSE = 6
TICK_S = time.clock_getres(CLOCK_MONOTONIC_COARSE)  # of the kernel, which serves CPU timers in it
LOADER_S = 0.03  # relocating the largest program here, clang, on a busy machine
POLL_S = 0.005


def share_noise(share, samples):
    """For a share of so many independent samples: a binomial share's deviation, at CHANCE."""
    return DEVIATIONS * math.sqrt(share * (1 - share) / max(samples, 1))


def unseen(things, samples_each):
    """How many of so many things, with so many samples each in the mean, may have none (Poisson)."""
    none = math.exp(-samples_each)
    at_least = 1.0
    for count in range(things + 1):
        at_least -= math.comb(things, count) * none ** count * (1 - none) ** (things - count)
        if at_least < CHANCE:
            return count
    return things


def in_turns(samples):
    """How many samples count as independent of functions that take turns in half a millisecond of CPU: a timer
    as exact as perf's is in step with them now and then, for a quarter of the samples at most."""
    return samples / 4


def unsampled_s(ends=1):
    """CPU that a kernel's timer may leave without a sample at so many ends: of threads, of sampling in them. A
    tick meets a thread that others push off its CPU at any moment with a probability of 1/TICK_S per second of
    its CPU, so what is left after its last tick has an exponential distribution at most; a thread that keeps its
    CPU has one tick at most. Chernoff's bound of the sum: P(sum > x ticks) <= exp(ends - x) * (x / ends) ** ends.
    The last tick took a sample only if the timer had expired by then: what its last period had used is left, too, a
    tick at most at each end, for periods are that long or shorter."""
    low, high = ends, 1000 + 10 * ends
    while high - low > 0.01:
        ticks = (low + high) / 2
        if ticks - ends - ends * math.log(ticks / ends) < -math.log(CHANCE):
            low = ticks
        else:
            high = ticks
    return (high + ends) * TICK_S


def stolen_s():
    """CPU time that the host has taken from this machine so far."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(words[8]) / os.sysconf("SC_CLK_TCK")


class Delays:
    """How long a process's threads have waited for a CPU while this lives, as the kernel counts it: a sampler
    that waits samples late, or never if the thread has ended. The kernel forgets the counts of threads that have
    ended, so a process of the highest priority that is permitted reads them all the time."""

    def __init__(self, pid):
        self.stolen_before_s = stolen_s()
        self.sum = mmap.mmap(-1, 8)
        self.process = os.fork()
        if self.process == 0:
            try:
                self.poll(pathlib.Path(f"/proc/{pid}/task"), os.getppid())
            finally:
                os._exit(0)  # whatever happens: this copy of the tests must not run them

    def poll(self, tasks, tests):
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # a program may wait for the end of a pipe
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            pass
        waited_ns = {}
        while os.getppid() == tests:
            try:
                found = list(tasks.iterdir())
            except OSError:
                found = []  # the process has ended
            for task in found:
                try:
                    waited_ns[task.name] = int((task / "schedstat").read_text().split()[1])
                except (OSError, IndexError):
                    pass  # it has ended
            struct.pack_into("d", self.sum, 0, sum(waited_ns.values()) * 1e-9)
            time.sleep(POLL_S)

    def finish(self):
        """Seconds, of all threads together, with what the host took meanwhile."""
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)
        return struct.unpack_from("d", self.sum, 0)[0] + stolen_s() - self.stolen_before_s
