"""A program's own use of SIGPROF works as without sampan, and the program is sampled nevertheless."""
import functools
import unittest

import stalls
from profiled import bare, profiled
from tolerances import DEVIATIONS, unsampled_s

EXACT = ["blocked", "all-blocked", "handler", "default", "ignore", "dies", "sigwait", "signalfd",
         "reset"]


@functools.cache
def alone(kind):
    return bare("sigprof", kind)


def facts(result):
    return [line for line in result.out.splitlines() if line.split()[0] not in ("cpu", "itimer")]


class Sigprof(unittest.TestCase):
    def check(self, kind, rate=None):
        plain = alone(kind)
        run = profiled("sigprof", kind, rate=rate)
        self.assertEqual(run.status, plain.status, run.err)
        self.assertEqual(facts(run), facts(plain))
        used = 0.5 if kind == "dies" else run.numbers("cpu")[""]
        self.assertGreaterEqual(run.sampled_cpu() + unsampled_s(len(run.report["threads"])), 0.9 * used)
        return plain, run

    def check_timer(self, kind):
        plain, run = self.check(kind)
        # 0.5 s of CPU, a signal for each 10 ms, counted in ticks: on a busy machine each of 125 counts for whoever runs
        # then, bare and sampled. Ticks that are in step with what else runs count for the same program again and again, so
        # this one may have many more. Signals of sampan would be 125 more.
        noise = DEVIATIONS * (2 / 125) ** 0.5
        self.assertGreater(run.numbers("itimer")[""], (1 - noise) * plain.numbers("itimer")[""])
        self.assertLess(run.numbers("itimer")[""], 50 + 125 / 2)

    def test_itimer(self):
        self.check_timer("itimer")

    def test_itimer_off(self):
        self.check_timer("itimer-off")


class Views(unittest.TestCase):
    def test_what_a_program_sees(self):
        plain = bare("signal_views")
        run = profiled("signal_views")
        self.assertEqual(run.out, plain.out)
        self.assertEqual(run.status, 0)

    def test_what_a_program_sees_with_perf(self):
        plain = bare("signal_views")
        run = profiled("signal_views", rate=1000)
        self.assertEqual(run.out, plain.out)


for use in EXACT:
    setattr(Sigprof, "test_" + use.replace("-", "_"), lambda self, kind=use: self.check(kind))
    setattr(Sigprof, "test_" + use.replace("-", "_") + "_at_1000",
            lambda self, kind=use: self.check(kind, rate=1000))
Sigprof = stalls.measures_time("compares sampled CPU with the process's clock")(Sigprof)

if __name__ == "__main__":
    unittest.main(verbosity=2)
