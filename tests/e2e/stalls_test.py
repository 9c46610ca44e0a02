"""That a test is repeated where the machine stood still, and only there."""
import contextlib
import io
import os
import signal
import time
import unittest

import stalls


class Cases(stalls.TestCase):
    """Not run by themselves: they fail."""

    set_up_fails = 0  # after the first time

    @classmethod
    def setUpClass(cls):
        cls.set_up += 1
        if cls.set_up > 1 and cls.set_up_fails:
            cls.set_up_fails -= 1
            raise OSError("not now")

    def first_fails(self):
        self.kept()
        self.assertGreater(len(self.makings), 1)

    def first_subtest_fails(self):
        self.kept()
        for part in range(2):
            with self.subTest(part):
                self.assertGreater(len(self.makings), part)

    def needs_set_up(self):
        self.assertGreater(self.set_up, 2)

    def fails(self):
        self.kept()
        raise ValueError

    def skips(self):
        self.skipTest("it says")

    @staticmethod
    @stalls.cache
    def kept():
        Cases.makings.append(1)


def outcome(name, stall_s):
    """Of one of them, on a machine that stands still for so long before it ends."""
    Cases.makings, Cases.set_up = [], 0
    Cases.kept.cache_clear()
    result = unittest.TestResult()
    says = io.StringIO()
    stall_s_before, stalls.watch.stall_s = stalls.watch.stall_s, lambda: stall_s
    try:
        with contextlib.redirect_stderr(says):
            unittest.TestSuite([Cases(name)]).run(result)
    finally:
        stalls.watch.stall_s = stall_s_before
    return result, says.getvalue()


class Stalls(unittest.TestCase):
    def test_a_cpu_that_stands_still(self):
        for process in stalls.watch.processes:
            stalls.watch.reset()
            os.kill(process, signal.SIGSTOP)
            time.sleep(5 * stalls.STEP_S)
            os.kill(process, signal.SIGCONT)
            time.sleep(5 * stalls.STEP_S)
            self.assertGreater(stalls.watch.stall_s(), 3 * stalls.STEP_S)

    def test_repeated_with_what_its_class_shares(self):
        for name in ("first_fails", "first_subtest_fails"):
            result, says = outcome(name, 0.25)
            self.assertTrue(result.wasSuccessful(), name)
            self.assertEqual((result.testsRun, len(Cases.makings), Cases.set_up), (1, 2, 2), name)
            self.assertRegex(says, rf"^repeated: .*\.{name}: the machine stood still for 250 ms: AssertionError: .*\n$")

    def test_the_first_failure_on_a_machine_that_stands_by_its_clock(self):
        for name in ("first_fails", "first_subtest_fails", "fails"):
            result, says = outcome(name, 0.01)
            self.assertEqual((len(result.failures) + len(result.errors), len(Cases.makings), says), (1, 1, ""), name)

    def test_what_its_class_shares_fails_first(self):
        Cases.set_up_fails = 1
        self.addCleanup(setattr, Cases, "set_up_fails", 0)
        result, says = outcome("needs_set_up", 0.25)
        self.assertTrue(result.wasSuccessful(), result.errors)
        self.assertEqual(says.count("repeated: "), 2)

    def test_not_for_ever(self):
        result, says = outcome("fails", 0.25)
        self.assertEqual((len(result.errors), len(Cases.makings)), (1, stalls.ATTEMPTS))
        self.assertEqual(says.count("repeated: "), stalls.ATTEMPTS - 1)

    def test_skipped(self):
        result, says = outcome("skips", 0.25)
        self.assertEqual(([reason for _, reason in result.skipped], says), (["it says"], ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
