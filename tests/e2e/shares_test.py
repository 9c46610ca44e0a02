"""The profile has the known shares of threads and functions; stacks of deep recursion are complete."""
import re
import unittest

import stalls
from profiled import profiled
from tolerances import TICK_S, share_noise, unsampled_s

NAMES = ["share-1", "share-2", "share-4", "share-8"]
FUNCTIONS = {"ten_percent": 0.1, "twenty_percent": 0.2, "thirty_percent": 0.3,
             "forty_percent": 0.4}
DEPTHS = [10, 50, 200, 1000]
HIDDEN_PART = 1 / 32  # kHiddenPart of preload/clocks/clock.cpp


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

    def check_kernel_time(self, rate):
        """Code in the kernel is charged to its callers, at rates that the kernel's timers have and at others."""
        run = profiled("kernel_time", 1, rate=rate)
        self.assertEqual(run.status, 0, run.err)
        true = run.numbers("cpu")
        # From periods that the perf clock hides: a part at most, and a few at the beginning.
        hidden = HIDDEN_PART + 10 / rate if rate > 1 / TICK_S else 0
        for thread, function in (("calls", "long_calls"), ("faults", "page_faults")):
            both = [true[function], true[f"between_{thread}"]]
            seen = [run.seconds_in(function), run.seconds_in(f"between_{thread}")]
            share, wanted = seen[0] / sum(seen), both[0] / sum(both)
            samples = run.threads(thread)[0]["samples"]
            self.assertLess(abs(share - wanted), share_noise(wanted, samples) + hidden, (function, samples))
        if run.report["lost"].get("perf_refused", 0) == 0 and rate > 1 / TICK_S:
            [thread] = run.threads("user")
            self.assertGreater(thread["samples"], thread["sampled_cpu_s"] / TICK_S, "a thread without calls has the rate")

    def test_kernel_time_at_250(self):
        self.check_kernel_time(250)

    def test_kernel_time_at_1000(self):
        self.check_kernel_time(1000)

    def test_kernel_time_at_4000(self):
        self.check_kernel_time(4000)

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
