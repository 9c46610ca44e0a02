"""What programs do with their signals where no function of the C library sees it: by the instruction itself, in a handler's
frame, or within the C library."""
import functools
import unittest

import sampan
from profiled import bare, profiled

RATES = {"250": (250, "auto"), "timer": (250, "timer"), "perf": (1000, "perf"), "drum": (1000, "drum"), "drum_at_4000": (4000, "drum")}


@functools.cache
def alone(*words):
    return bare(*words)


class UnseenSignals(sampan.Case):
    def check(self, words, rate, clock):
        plain = alone(*words)
        run = profiled(*words, rate=rate, options=["--sampling-clock", clock])
        self.assertEqual((run.status, run.out, run.err), (plain.status, plain.out, plain.err))
        self.assertGreater(run.report["samples"], 0)
        return run

    def check_inline_stacks(self, rate, clock):
        self.check(("inline_stacks", 0.1), rate, clock)

    def check_handler_masks(self, rate, clock):
        self.check(("handler_masks",), rate, clock)


for check in ["inline_stacks", "handler_masks"]:
    for name, (rate, clock) in RATES.items():
        setattr(UnseenSignals, f"test_{check}_{name}",
                lambda self, check=check, rate=rate, clock=clock: getattr(self, "check_" + check)(rate, clock))

if __name__ == "__main__":
    unittest.main(verbosity=2)
