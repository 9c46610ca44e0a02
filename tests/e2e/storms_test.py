"""Storms at 4 kHz: no hang, no crash, no wrong result.

    storms_test.py [SECONDS] [TEST...]    seconds of each storm: 1.5 in CI, 20 in `./dev test --long storm`
"""
import sys
import unittest

from profiled import LIBRARY, profiled
from tolerances import unsampled_s

SECONDS = float(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1][0].isdigit() else 1.5
KINDS = ["load", "throw", "malloc", "threads", "fork", "spawn", "fibers", "signals", "all"]


class Storms(unittest.TestCase):
    def check(self, kind, clock, options=()):
        run = profiled("storm", kind, SECONDS, LIBRARY, timeout=SECONDS * 8 + 120, rate=4000, options=options,
                       env={"SAMPAN_SAMPLING_CLOCK": clock, "SAMPAN_FAST_CLOCK": "always"})
        self.assertEqual((run.status, run.out), (0, f"{kind} right\n"), run.err)
        # Sampling goes on through the storm: at least a third of the CPU is in samples, a tenth with perf, whose clock
        # stops in the kernel, where most CPU of a fork goes, and with the drummer, whom the shortest threads do not meet.
        root = run.report["processes"][0]
        share = 1 / 3 if clock == "timer" else 0.1
        sampled_s = sum(t["sampled_cpu_s"] for t in run.report["threads"] if t["pid"] == root["pid"])
        self.assertGreater(sampled_s + unsampled_s(2), share * root["cpu_s"])
        self.assertGreater(root["samples"], 0)


for storm in KINDS:
    setattr(Storms, "test_" + storm, lambda self, kind=storm: self.check(kind, "perf"))
    setattr(Storms, f"test_{storm}_by_timer", lambda self, kind=storm: self.check(kind, "timer"))
    setattr(Storms, f"test_{storm}_by_drum", lambda self, kind=storm: self.check(kind, "drum"))
    setattr(Storms, f"test_{storm}_with_wrappers", lambda self, kind=storm: self.check(kind, "perf", ["--heap=16K", "--locks=1us"]))

if __name__ == "__main__":
    unittest.main(verbosity=2)
