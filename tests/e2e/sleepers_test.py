"""Blocking calls are not interrupted. Threads with small stacks and short lives are sampled and counted."""
import unittest

from profiled import bare, profiled
from tolerances import TICK_S, unsampled_s


def interrupted(output):
    """By call, how often it was cut short."""
    calls = {}
    for line in output.splitlines():
        name, count, of = line.split()
        calls[name] = int(count)
        assert int(of) > 10, line  # enough to be interrupted; a busy machine leaves little CPU for more
    assert len(calls) == 12
    return calls


class Sleepers(unittest.TestCase):
    def check_blocking(self, rate):
        plain, run = bare("blocking_calls", 1), profiled("blocking_calls", 2, rate=rate)
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(interrupted(run.out), interrupted(plain.out))
        [compute] = run.threads("compute")
        self.assertGreaterEqual(compute["sampled_cpu_s"] + unsampled_s(), 0.9 * compute["cpu_s"])

    def test_blocking_calls_at_250(self):
        self.check_blocking(250)

    def test_blocking_calls_at_4000(self):
        self.check_blocking(4000)

    def check_small_stacks(self, rate):
        run = profiled("threads", "small-stacks", rate=rate)
        self.assertEqual(run.status, 0, run.err)
        used = run.numbers("threads")[""]
        self.assertGreaterEqual(run.report["cpu_s"], 0.98 * used)
        if rate > 1 / TICK_S:
            self.assertGreater(run.sampled_cpu() + unsampled_s(32), used)
        # A tick that is in step with what else runs meets a thread of 50 ms too rarely: of 400 ticks that were due, 83 came.
        # Threads whose stack has no room for a signal would have no sample at all.
        self.assertGreater(run.sampled_cpu(), used / 4)

    def test_small_stacks(self):
        self.check_small_stacks(250)

    def test_small_stacks_at_4000(self):
        self.check_small_stacks(4000)

    def test_short_threads(self):
        run = profiled("threads", "short", 4000)
        self.assertEqual(run.status, 0, run.err)
        used = run.numbers("threads")[""]
        self.assertGreater(used, 3.6)
        report = run.report
        # Most end before a tick. At their end it is known how much they used, and in which function.
        entry = [f for f in report["functions"] if "be_short" in f["name"]]
        self.assertGreater(sum(f["total_s"] for f in entry), 0.8 * used)
        # CPU that no sample carries is still in the CPU time, as unsampled.
        self.assertGreater(report["sampled_cpu_s"], 0.8 * used)
        self.assertGreater(report["cpu_s"], 0.98 * used)
        self.assertLessEqual(report["sampled_cpu_s"], report["cpu_s"] * 1.001)


if __name__ == "__main__":
    unittest.main(verbosity=2)
