"""The profile has the known shares of threads and functions; stacks of deep recursion are complete."""
import re
import unittest

import stalls
from profiled import profiled
from tolerances import share_noise, unsampled_s

NAMES = ["share-1", "share-2", "share-4", "share-8"]
FUNCTIONS = {"ten_percent": 0.1, "twenty_percent": 0.2, "thirty_percent": 0.3,
             "forty_percent": 0.4}
DEPTHS = [10, 50, 200, 1000]


@stalls.measures_time("compares sampled CPU with the threads' clocks")
class Shares(unittest.TestCase):
    def check_shares(self, rate, seconds):
        run = profiled("shares", seconds, rate=rate)
        self.assertEqual(run.status, 0, run.err)
        true = run.numbers("thread")
        all_true = sum(true.values())
        all_sampled = sum(run.sampled_cpu(name) for name in NAMES)
        for name in NAMES:
            self.assertEqual(len(run.threads(name)), 1)
            share, wanted = run.sampled_cpu(name) / all_sampled, true[name] / all_true
            self.assertLess(abs(share - wanted), 0.005 + unsampled_s(len(NAMES)) / all_sampled,
                            f"{name}: {share} instead of {wanted}")
            # The report's true CPU is the thread's own clock at its end.
            self.assertLess(abs(run.threads(name)[0]["cpu_s"] - true[name]), 0.01 * true[name] + 0.002)
        seconds = {name: run.seconds_in(name) for name in FUNCTIONS}
        samples = sum(t["samples"] for name in NAMES for t in run.threads(name))
        for name, wanted in FUNCTIONS.items():
            share = seconds[name] / sum(seconds.values())
            self.assertLess(abs(share - wanted), share_noise(wanted, samples), f"{name}: {share}")
        self.assertGreater(run.report["complete_stacks"], 0.99)

    def test_shares_at_250(self):
        self.check_shares(250, 6)

    def test_shares_at_1000(self):
        self.check_shares(1000, 3)

    def check_depths(self, rate):
        run = profiled("depths", 2, rate=rate)
        self.assertEqual(run.status, 0, run.err)
        counts = dict.fromkeys(DEPTHS, 0)
        whole = dict.fromkeys(DEPTHS, 0)
        for frames, count in run.folded_stacks():
            for depth in DEPTHS:
                calls = sum(re.search(rf"recurse<{depth}u?>", frame) is not None for frame in frames)
                if calls == 0:
                    continue
                counts[depth] += count
                if calls == depth and any("main" in frame for frame in frames):
                    whole[depth] += count
        total = sum(counts.values())
        for depth in DEPTHS:
            # All except those on the way down or up.
            self.assertGreaterEqual(whole[depth], 0.98 * counts[depth] - 1, f"depth {depth}")
            noise = share_noise(0.25, run.report["samples"])
            self.assertLess(abs(counts[depth] / total - 0.25), noise + 0.005, f"depth {depth}")
        self.assertGreater(run.report["complete_stacks"], 0.99)

    def test_depths_at_250(self):
        self.check_depths(250)

    def test_depths_at_1000(self):
        self.check_depths(1000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
