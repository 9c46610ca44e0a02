"""Programs that set their signals by system calls that nothing sees, or forbid themselves what a sample needs, end as
they do without sampan, at every rate, with both clocks and by each engine; what is not sampled is counted.

    forbidden_test.py [RUNS] [TEST...]    how often each is run: once in CI
"""
import functools
import subprocess
import sys
import unittest

import profiled
import sampan

RUNS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1
RATES = [250, 1000, 4000]
TARGETS = ["raw_signals", "confined"]


@functools.cache
def alone(target):
    return profiled.bare(target)


class Forbidden(unittest.TestCase):
    def check(self, target, rate, clock):
        plain = alone(target)
        self.assertEqual(plain.status, 0, plain.err)
        for _ in range(RUNS):
            done = sampan.run(profiled.command(target), ["--rate", str(rate), "--clock", clock], text=True)
            self.assertEqual(done.stdout, plain.out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(done.report["samples"], 0)

    def check_from_outside(self, target, engine, rate, clock):
        plain = alone(target)
        for _ in range(RUNS):
            done, run = sampan.run_attached(profiled.command(target), engine, ["--rate", rate, "--clock", clock, "--follow"])
            self.assertEqual(done.stdout.decode(), plain.out)
            self.assertEqual((done.returncode, run.returncode), (0, 0), run.stderr)
            self.assertGreater(run.report["samples"], 0)

    def check_dispatched(self, engine):
        """Attached while the program's calls are dispatched to itself."""
        target = subprocess.Popen(profiled.command("confined", "dispatched"), stdout=subprocess.PIPE, text=True)
        self.addCleanup(target.kill)
        self.assertEqual(target.stdout.readline(), "on\n")
        run = sampan.Attached(target.pid, engine, ["--rate", 250, "--duration", 1]).finish()
        out, _ = target.communicate(timeout=120)
        self.assertEqual((target.returncode, out), (7, "dispatched 0\n"))
        self.assertGreater(run.report["samples"], 0)

    def check_filtered(self, engine):
        """The filter goes in after sampan has attached."""
        target = subprocess.Popen(profiled.command("confined", "filtered"), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(target.kill)
        self.assertEqual(target.stdout.readline(), "off\n")
        attached = sampan.Attached(target.pid, engine, ["--rate", 250, "--duration", 0.7])
        target.communicate("x", timeout=120)
        run = attached.finish()
        self.assertEqual(target.returncode, 7)
        self.assertGreater(run.report["samples"], 0)


class Counted(unittest.TestCase):
    """What a sample needs is forbidden, and the report says how many threads were concerned."""

    def lost(self, kind, rate=1000):
        run = profiled.profiled("confined", kind, rate=rate)
        self.assertEqual(run.status, 7, run.err)
        return run.report

    def test_samples_go_on_where_only_other_calls_are_forbidden(self):
        for kind in ("few-calls", "clock", "clock-syscall", "refused"):
            with self.subTest(kind):
                report = self.lost(kind)
                self.assertEqual(report["lost"], {})
                # Four computations of 10 ms each, at the kernel's tick at least.
                self.assertGreater(report["samples"], 3)

    def test_seccomp(self):
        for kind, threads in {"kill": 1, "two-filters": 1, "inline": 2, "inherited": 1, "thread": 2}.items():
            with self.subTest(kind):
                self.assertEqual(self.lost(kind)["lost"], {"thread_seccomp": threads})

    def test_seccomp_for_all_threads(self):
        report = self.lost("all-threads")
        self.assertEqual(report["lost"], {"thread_seccomp": 4})

    def test_actions_that_were_reset(self):
        run = profiled.profiled("raw_signals", rate=1000)
        # Three children each of six kinds; the others reset by syscall(), execute inline, or were never sampled.
        self.assertEqual(run.status, 0, run.err)
        self.assertGreaterEqual(run.report["lost"]["thread_signal"], 15)

    def test_dispatch(self):
        report = self.lost("dispatch")
        self.assertEqual(report["lost"], {"thread_dispatch": 1})
        self.assertEqual(self.lost("dispatch-thread")["lost"], {"thread_dispatch": 1})
        # Between the three times, and after them, it is sampled.
        self.assertGreater(report["samples"], 3)


for name in TARGETS:
    for hertz in RATES:
        for which in ("cpu", "wall"):
            setattr(Forbidden, f"test_{name}_at_{hertz}_{which}",
                    lambda self, n=name, r=hertz, c=which: self.check(n, r, c))
    for which in ("perf", "ptrace", "poll"):
        for hertz in RATES:
            for what in ("cpu", "wall"):
                setattr(Forbidden, f"test_{name}_by_{which}_at_{hertz}_{what}",
                        lambda self, n=name, e=which, r=hertz, c=what: self.check_from_outside(n, e, r, c))
for which in ("perf", "ptrace", "poll"):
    setattr(Forbidden, f"test_dispatched_by_{which}", lambda self, e=which: self.check_dispatched(e))
    setattr(Forbidden, f"test_filtered_by_{which}", lambda self, e=which: self.check_filtered(e))

if __name__ == "__main__":
    unittest.main(verbosity=2)
