"""What programs do with their signals where no function of the C library sees it: by the instruction itself, in a handler's
frame, or within the C library."""
import functools
import os
import platform
import struct
import unittest
import unittest.mock

import sampan
from profiled import bare, profiled
from tolerances import unsampled_s

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

    def check_ticks(self, kind, rate, clock, plain, run, count):
        self.assertEqual((run.status, run.err), (plain.status, plain.err))
        # 100 for each second, counted in ticks of the kernel, for whoever runs then: perhaps the drummer, again and again. Samples
        # would be 250 or 1000 more.
        self.assertGreater(count(run), 0 if clock == "drum" else count(plain) / 2)
        self.assertLess(count(run), 100 * run.numbers("cpu")[""] + rate / 2)
        self.assertGreater(run.sampled_cpu() + unsampled_s(len(run.report["threads"])), 0.9 * run.numbers("cpu")[""], kind)

    def check_profil(self, rate, clock):
        for kind in ["profil", "inline"] if platform.machine() == "x86_64" else ["profil"]:
            with self.subTest(kind):
                words = ("counted", kind, 1)
                plain = alone(*words)
                run = profiled(*words, rate=rate, options=["--sampling-clock", clock])
                self.check_ticks(kind, rate, clock, plain, run, lambda one, kind=kind: one.numbers("ticks")[kind])

    def check_monitored(self, rate, clock):
        def count(_):
            [path] = self.path.glob("gmon.*")
            data = path.read_bytes()
            path.unlink()
            # A header of 20 bytes, then a record of 1 + 16 + 4 + 4 + 16 bytes with 16-bit counts behind it.
            self.assertEqual((data[:4], data[20]), (b"gmon", 0))
            [size] = struct.unpack_from("=i", data, 37)
            return sum(struct.unpack_from(f"={size}H", data, 61))

        words = ("counted_monitored", "monitor", 1)
        with unittest.mock.patch.dict(os.environ, GMON_OUT_PREFIX=str(self.path / "gmon")):
            plain = bare(*words)
            ticks = count(plain)
            run = profiled(*words, rate=rate, options=["--sampling-clock", clock])
        ticks_of_run = count(run)
        self.check_ticks("monitor", rate, clock, plain, run, {plain: ticks, run: ticks_of_run}.get)

    def check_children_that_are_not_followed(self, rate, clock):
        words = ("raw_signals",)
        run = profiled(*words, rate=rate, options=["--sampling-clock", clock, "--no-follow"])
        self.assertEqual((run.status, run.out), (0, alone(*words).out), run.err)

    def check_stacks_of_handlers(self, rate, clock):
        run = self.check(("interrupted", 1), rate, clock)
        # What the shim does at the end of a program may be there.
        self.assertEqual([f["name"] for f in run.report["functions"] if "sampan" in f["name"] and "_handler" in f["name"]], [])
        self.assertGreater(run.seconds_in("burn"), 0.5)

    def check_chained(self, rate, clock):
        self.check(("chained",), rate, clock)

    def check_handler_masks(self, rate, clock):
        self.check(("handler_masks",), rate, clock)


CHECKS = ["handler_masks", "stacks_of_handlers", "profil", "monitored"] + (["chained", "inline_stacks", "children_that_are_not_followed"] if platform.machine() == "x86_64" else [])
for check in CHECKS:
    for name, (rate, clock) in RATES.items():
        setattr(UnseenSignals, f"test_{check}_{name}",
                lambda self, check=check, rate=rate, clock=clock: getattr(self, "check_" + check)(rate, clock))

if __name__ == "__main__":
    unittest.main(verbosity=2)
