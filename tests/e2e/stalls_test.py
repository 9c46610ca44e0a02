"""A test that measures time is repeated when the machine stood still, and only then; no other test is repeated."""
import contextlib
import io
import os
import signal
import time
import unittest

import stalls


class Cases(unittest.TestCase):
    """Not run by themselves: they fail."""

    set_up_fails = 0  # so many times after the first

    @classmethod
    def setUpClass(cls):
        cls.class_set_up += 1
        if cls.class_set_up > 1 and cls.set_up_fails:
            cls.set_up_fails -= 1
            raise OSError("not now")

    def setUp(self):
        Cases.set_up += 1

    @stalls.measures_time("why")
    def first_fails(self):
        self.kept()
        self.assertGreater(len(self.makings), 1)

    @stalls.measures_time("why")
    def first_part_fails(self):
        self.kept()
        for part in range(2):
            with self.subTest(part):
                self.assertGreater(len(self.makings), part)

    @stalls.measures_time("why")
    def needs_set_up(self):
        self.assertGreater(self.class_set_up, 2)

    @stalls.measures_time("why")
    def fails(self):
        self.kept()
        raise ValueError

    @stalls.measures_time("why")
    def skips(self):
        self.skipTest("it says")

    def not_marked(self):
        self.first_fails.__wrapped__(self)

    @staticmethod
    @stalls.cache
    def kept():
        Cases.makings.append(1)


def outcome(name, stall_s):
    """Runs one of them on a machine that stands still for so long: (result, what it said)."""
    Cases.makings, Cases.class_set_up, Cases.set_up = [], 0, 0
    Cases.kept.cache_clear()
    result = unittest.TestResult()
    says = io.StringIO()
    watch = stalls.watch()
    watch.stall_s = lambda: stall_s
    try:
        with contextlib.redirect_stderr(says):
            unittest.TestSuite([Cases(name)]).run(result)
    finally:
        del watch.stall_s
    return result, says.getvalue()


class Stalls(unittest.TestCase):
    def test_a_cpu_that_stands_still(self):
        for process in stalls.watch().processes:
            stalls.watch().reset()
            deadline = time.monotonic() + 10
            os.kill(process, signal.SIGSTOP)
            time.sleep(5 * stalls.STEP_S)
            os.kill(process, signal.SIGCONT)
            # It wakes when this machine lets it.
            while stalls.watch().stall_s() <= 3 * stalls.STEP_S:
                self.assertLess(time.monotonic(), deadline)

    def test_repeated_with_everything_it_looks_at(self):
        for name in ("first_fails", "first_part_fails"):
            result, says = outcome(name, 0.25)
            self.assertTrue(result.wasSuccessful(), name)
            made = (result.testsRun, len(Cases.makings), Cases.class_set_up, Cases.set_up)
            self.assertEqual(made, (1, 2, 2, 2), name)
            self.assertRegex(says, rf"^repeated: .*\.{name} \(why\): the machine stood still for 250 ms: "
                                   r"AssertionError: .*\n$")

    def test_the_first_failure_counts_when_the_machine_kept_time(self):
        for name in ("first_fails", "first_part_fails", "fails"):
            result, says = outcome(name, 0.01)
            self.assertEqual((len(result.failures) + len(result.errors), len(Cases.makings), says), (1, 1, ""), name)

    def test_the_first_failure_counts_of_a_test_that_is_not_marked(self):
        result, says = outcome("not_marked", 0.25)
        self.assertEqual((len(result.failures), len(Cases.makings), says), (1, 1, ""))

    def test_a_class_whose_set_up_fails_meanwhile(self):
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

    def test_all_tests_of_a_class(self):
        @stalls.measures_time("why")
        class Both(unittest.TestCase):
            def test_a(self):
                pass

            def helper(self):
                pass
        self.assertTrue(hasattr(Both.test_a, "__wrapped__"))
        self.assertFalse(hasattr(Both.helper, "__wrapped__"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
