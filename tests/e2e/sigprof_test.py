"""A program's own use of SIGPROF goes on as if nobody else sampled, and it is sampled all the same."""
import unittest

import stalls
from profiled import bare, profiled

EXACT = ["blocked", "all-blocked", "handler", "default", "ignore", "dies", "sigwait", "signalfd",
         "reset"]


def facts(result):
    return [line for line in result.out.splitlines() if line.split()[0] not in ("cpu", "itimer")]


class Sigprof(stalls.TestCase):
    def check(self, kind, rate=None):
        self.compare(kind, rate)

    def compare(self, kind, rate=None):
        plain = bare("sigprof", kind)
        run = profiled("sigprof", kind, rate=rate)
        self.assertEqual(run.status, plain.status, run.err)
        self.assertEqual(facts(run), facts(plain))
        used = 0.8 if kind == "dies" else run.numbers("cpu")[""]
        self.assertGreaterEqual(run.sampled_cpu(), 0.9 * used)
        return plain, run

    def check_timer(self, kind):
        plain, run = self.compare(kind)
        # 0.8 s of CPU, a signal for each 10 ms, counted in ticks. Ours would be 200 more.
        self.assertGreater(run.numbers("itimer")[""], 0.7 * plain.numbers("itimer")[""])
        self.assertLess(run.numbers("itimer")[""], 110)

    def test_itimer(self):
        self.check_timer("itimer")

    def test_itimer_off(self):
        self.check_timer("itimer-off")

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

if __name__ == "__main__":
    unittest.main(verbosity=2)
