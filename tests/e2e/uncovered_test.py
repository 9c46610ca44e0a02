"""Stacks through functions without unwind information are whole and true, from inside and from outside.

What those functions' instructions do to the stack says where their callers' frames are. A register that leads elsewhere
is not followed, even where a function's address lies at the end of it. The same holds where the unwind information is
wrong, and the report counts it.
"""
import platform
import subprocess
import unittest

import sampan
from profiled import Outcome, command, profiled
from tolerances import in_turns, share_noise, unsampled_s

CALLED = {"framed": ["covered"], "pointer_in_fp": [], "counter_in_fp": ["covered"],
          "pointer_in_scratch": ["leaves_scratch"], "unadjusted": []}
SECONDS = 5


class Uncovered(sampan.Case):
    def check(self, outcome):
        self.assertEqual(outcome.status, 0, outcome.err)
        counts = dict.fromkeys(CALLED, 0)
        for stack, count in outcome.folded_stacks():
            self.assertNotIn("never_called", stack)
            for name in set(CALLED).intersection(stack):
                counts[name] += count
                place = stack.index(name)
                self.assertEqual(stack[place - 2:place], ["main", "(anonymous namespace)::use"], stack)
                self.assertIn("_start", stack[:place], stack)
                called = stack[place + 1:]
                self.assertEqual(called, CALLED[name][:len(called)], stack)
        truth, samples = outcome.numbers("cpu"), sum(counts.values())
        for name, count in counts.items():
            noise = share_noise(1 / len(CALLED), in_turns(samples)) + unsampled_s() / SECONDS
            self.assertLess(abs(count / samples - truth[name] / sum(truth.values())), noise, counts)
        # The loader's _start has no unwind table and no caller, and a thread that is interrupted in it counts as incomplete:
        # by ptrace, that is a sample due when the program is executed, which a slow machine has.
        in_start = sum(count for stack, count in outcome.folded_stacks() if stack[1:] == ["_start"])
        taken = outcome.report["samples"]
        self.assertGreaterEqual(round(outcome.report["complete_stacks"] * taken) + in_start, taken, outcome.report["lost"])
        rules = outcome.report["lost"]["table_overruled"]
        self.assertGreater(rules, 0)
        doctor = subprocess.run([sampan.PROGRAM, "doctor", str(outcome.run.directory)], check=True, stdout=subprocess.PIPE, text=True)
        self.assertIn(f"lost: {rules:,} rules of wrong unwind tables", doctor.stdout)

    def test_in_the_handler(self):
        self.check(profiled("uncovered", SECONDS))

    def check_from_outside(self, engine):
        done, run = sampan.run_attached(command("uncovered", SECONDS), engine, ["--rate", "250"])
        self.check(Outcome(done.returncode, done.stdout.decode(), done.stderr, run))

    def test_by_perf(self):
        self.check_from_outside("perf")

    def test_by_ptrace(self):
        self.check_from_outside("ptrace")


@unittest.skipIf(platform.machine() != "x86_64", "where no way leads to a return, only the code of x86-64 is read from its start")
class FromTheStart(sampan.Case):
    """Functions that never return: their starts say how deep the stack is."""
    def check(self, outcome):
        self.assertEqual(outcome.status, 0, outcome.err)
        inside = 0
        for stack, count in outcome.folded_stacks():
            if "endless" in stack:
                place = stack.index("endless")
                self.assertEqual(stack[place - 1], "main", stack)
                self.assertIn("_start", stack[:place], stack)
                self.assertIn(stack[place + 1:place + 2], ([], ["switched"]), stack)
            if "switched" in stack:
                self.assertIn("endless", stack)
                inside += count
        taken = outcome.report["samples"]
        self.assertGreater(inside, 0.9 * taken)
        in_start = sum(count for stack, count in outcome.folded_stacks() if stack[1:] == ["_start"])
        self.assertGreaterEqual(round(outcome.report["complete_stacks"] * taken) + in_start, taken, outcome.report["lost"])

    def test_in_the_handler(self):
        self.check(profiled("endless", SECONDS))

    def check_from_outside(self, engine):
        done, run = sampan.run_attached(command("endless", SECONDS), engine, ["--rate", "250"])
        self.check(Outcome(done.returncode, done.stdout.decode(), done.stderr, run))

    def test_by_perf(self):
        self.check_from_outside("perf")

    def test_by_ptrace(self):
        self.check_from_outside("ptrace")


if __name__ == "__main__":
    unittest.main()
