"""Blocking calls are not interrupted, and threads of every size and length live and are counted."""
import unittest

import stalls
from profiled import bare, profiled


def interrupted(result):
    calls = {}
    for line in result.out.splitlines():
        name, count, of = line.split()
        calls[name] = int(count)
        assert int(of) > 100, line
    assert len(calls) == 11
    return calls


class Sleepers(stalls.TestCase):
    def check_blocking(self, rate):
        plain, run = bare("blocking_calls", 2), profiled("blocking_calls", 4, rate=rate)
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(interrupted(run), interrupted(plain))
        self.assertGreater(run.sampled_cpu("compute"), 1)

    def test_blocking_calls_at_250(self):
        self.check_blocking(250)

    def test_blocking_calls_at_4000(self):
        self.check_blocking(4000)

    def check_small_stacks(self, rate, coverage):
        run = profiled("threads", "small-stacks", rate=rate)
        self.assertEqual(run.status, 0, run.err)
        self.assertGreater(run.sampled_cpu(), coverage * run.numbers("threads")[""])

    def test_small_stacks(self):
        # Sixteen threads at once on few CPUs: a tick may not meet one in its last quarter.
        self.check_small_stacks(250, 0.6)

    def test_small_stacks_at_4000(self):
        self.check_small_stacks(4000, 0.9)

    def test_short_threads(self):
        run = profiled("threads", "short", 10000)
        self.assertEqual(run.status, 0, run.err)
        used = run.numbers("threads")[""]
        self.assertGreater(used, 9)
        report = run.report
        # Most end before a tick: what they used is known at their end, and whose it is.
        entry = [f for f in report["functions"] if "be_short" in f["name"]]
        self.assertGreater(sum(f["total_s"] for f in entry), 0.8 * used)
        # What no sample carries is still in the CPU time, as unsampled.
        self.assertGreater(report["sampled_cpu_s"], 0.8 * used)
        self.assertGreater(report["cpu_s"], 0.98 * used)
        self.assertLessEqual(report["sampled_cpu_s"], report["cpu_s"] * 1.001)


if __name__ == "__main__":
    unittest.main(verbosity=2)
