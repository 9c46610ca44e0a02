#!/usr/bin/env python3
"""A hundred gates of equal programs and a hundred of one whose function is 5 % slower, with as many runs as the tool says.

The programs do the same number of steps in each run; how long these take is up to the machine. So both run together, and long
enough that a sample is a small part of them.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import sampan

PROGRAM = """
import sys
def parse(steps):
    n = 0
    for i in range(steps): n += i
parse(int(float(sys.argv[1]) * 3_000_000))
"""
GATES = 100
MOST_RUNS = 100
BUDGET = '[[budget]]\nfunction = "parse"\nmax-growth = "5%"\n'


class Gate(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sampan-gate-")
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        (self.path / "program.py").write_text(PROGRAM)
        (self.path / "sampan-ci.toml").write_text(BUDGET)

    def gate(self, runs, scale):
        result = subprocess.run([sampan.PROGRAM, "ci", "run", "--together", "--runs", str(runs), "--rate", "1000",
                                 "--against", "/usr/bin/python3 program.py 1", "--", "/usr/bin/python3", "program.py", str(scale)],
                                cwd=self.path, capture_output=True, text=True, check=False, timeout=600)
        self.assertIn(result.returncode, (0, 1, 2), result.stderr)
        self.assertEqual(result.stderr, "")
        return result

    def enough_runs(self):
        """What the tool says is needed, asked again with so many, at most twice as many each time, until it does not want more.

        A few runs among which one was disturbed ask for hundreds; ten and more leave that one out.
        """
        runs = 12
        while True:
            gates = [self.gate(runs, scale) for scale in (1, 1.05) for _ in range(5)]
            found = [(gate, re.search(r"(\d+) runs would be enough", gate.stdout)) for gate in gates if gate.returncode == 2]
            needed = [int(match[1]) if match else 2 * runs for _, match in found]
            if not needed or runs >= MOST_RUNS:
                return runs
            runs = min(MOST_RUNS, 2 * runs, max(runs + 2, sorted(needed)[len(needed) // 2]))

    def test_verdicts_are_right(self):
        runs = self.enough_runs()
        counts = {}
        for scale in (1, 1.05):
            statuses = [self.gate(runs, scale).returncode for _ in range(GATES)]
            counts[scale] = tuple(statuses.count(status) for status in (0, 1, 2))
            print(f"{runs} runs, {scale}: held, broken, unknown: {counts[scale]}", file=sys.stderr)
        self.assertLessEqual(counts[1][1], 1, "equal programs break the gate")
        self.assertGreaterEqual(counts[1.05][1], 95, "5 % slower is not found")


if __name__ == "__main__":
    unittest.main()
