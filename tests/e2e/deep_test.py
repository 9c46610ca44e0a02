"""Stacks that are deeper than what is recorded of one have their innermost and their outermost frames, and are complete."""
import subprocess
import unittest

import interpreters
import sampan
from profiled import Outcome, command, profiled

SECONDS = 2
RECORDED = 2048
LEFT_OUT = "[frames left out]"

PYTHON = """
import sys, time
sys.setrecursionlimit(100_000)

def innermost(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(2000):
            pass

def recurse(left):
    return recurse(left - 1) + 1 if left > 1 else innermost({seconds}) or 1

def outermost(frames):
    return recurse(frames) + 1

outermost({frames})
"""


class Deep(sampan.Case):
    def check(self, outcome, outer, inner="innermost"):
        """Nearly all samples are of the bottom, with the frames `outer` at the top."""
        self.assertEqual(outcome.status, 0, outcome.err)
        at_bottom = 0
        for stack, count in outcome.folded_stacks():
            if inner not in stack:
                continue
            at_bottom += count
            place = stack.index(inner)
            self.assertEqual(stack.count(LEFT_OUT), 1, stack)
            cut = stack.index(LEFT_OUT)
            self.assertLessEqual(len(stack), RECORDED + 60)  # functions that are inlined come on top
            top = [frame for frame in stack[:cut] if frame != "recurse"]
            self.assertEqual(top[-len(outer):], outer, stack[:20])
            self.assertEqual(set(stack[cut + 1:place]), {"recurse"})
            self.assertGreater(cut, RECORDED / 2 - 10)
            self.assertGreater(place - cut, RECORDED / 2 - 20)
        taken = outcome.report["samples"]
        self.assertGreater(at_bottom, 0.9 * taken)
        self.assertGreater(outcome.report["complete_stacks"], 0.99)
        shown = subprocess.run([sampan.PROGRAM, "report", str(outcome.run.directory)], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertRegex(" ".join(shown.split()), r"stacks \S+ % complete, [0-9,]+ so deep that the frames in the middle are left out")

    def check_from_outside(self, frames):
        done, run = sampan.run_attached(command("deep", frames, SECONDS), "ptrace", ["--rate", "100"])
        self.check(Outcome(done.returncode, done.stdout.decode(), done.stderr, run), ["main", "outermost"])

    def test_of_3000(self):
        self.check(profiled("deep", 3000, SECONDS), ["main", "outermost"])

    def test_of_30000(self):
        self.check(profiled("deep", 30_000, SECONDS), ["main", "outermost"])

    def test_of_3000_from_outside(self):
        self.check_from_outside(3000)

    def test_of_30000_in_python(self):
        for version, program in interpreters.judged("3.11", "3.13"):
            if version in ("3.9", "3.10"):  # where this many calls overflow the C stack
                continue
            with self.subTest(version):
                script = PYTHON.format(frames=30_000, seconds=SECONDS)
                run = sampan.run([program, "-c", script], text=True)
                self.check(Outcome(run.returncode, run.stdout, run.stderr, run), ["<module>", "outermost"])


if __name__ == "__main__":
    unittest.main()
