#!/usr/bin/env python3
"""sampan ci: verdicts about a program whose functions take as much CPU as it is told."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

import sampan

PROGRAM = """
import sys, time
def spin(s):
    end = time.thread_time() + s
    while time.thread_time() < end:
        for _ in range(1000): pass
def parse(): spin(float(sys.argv[1]))
def write(): spin(0.1)
print("the program speaks")
parse(); write()
"""
# Far from what runs of such a program differ by: a sample stands for 4 ms of 100.
BUDGETS = """
[[budget]]
function = "parse"
max-growth = "30%"

[[budget]]
function = "write"
max = "1s"
"""


class Ci(sampan.Case):
    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory(prefix="sampan-ci-")
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        (self.path / "program.py").write_text(PROGRAM)
        (self.path / "sampan-ci.toml").write_text(BUDGETS)

    def command(self, parse_s):
        return ["/usr/bin/python3", "program.py", str(parse_s)]

    def ci(self, *options, parse_s=0.1, action="run"):
        runs = [] if "--runs" in options else ["--runs", "5"]
        return subprocess.run([sampan.PROGRAM, "ci", action, *runs, *options, "--", *self.command(parse_s)], cwd=self.path,
                              env={**os.environ, "TMPDIR": str(self.path)}, capture_output=True, text=True, check=False, timeout=300)

    def verdict(self, result, status):
        self.assertEqual((result.returncode, result.stderr), (status, ""), result.stdout)
        self.assertNotIn("the program speaks", result.stdout)
        self.assertEqual(list(self.path.glob("sampan-ci-*")), [], "a temporary directory is left")
        return result.stdout

    def test_in_turn_with_another_command(self):
        against = ["--against", " ".join(self.command(0.1))]
        held = self.verdict(self.ci(*against), 0)
        self.assertIn("2 budgets of 5 runs: 2 held, 0 broken, 0 unknown", held)
        outputs = ["--junit", "junit.xml", "--markdown", "page.md", "--html", "both.html", "--github"]
        broken = self.verdict(self.ci(*against, *outputs, parse_s=0.2), 1)
        self.assertRegex(broken, r"function parse: cpu .*\+\d+\.\d ± .* BROKEN +it grew by (9\d|10\d)\.\d %, from ")
        self.assertRegex(broken, r"::error title=sampan ci::function parse: cpu: it grew by \S+ %25")
        suite = xml.parse(self.path / "junit.xml").getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("2", "1", "0"))
        self.assertIn("| function parse: cpu |", (self.path / "page.md").read_text())
        self.assertIn("</html>", (self.path / "both.html").read_text())

    def test_together(self):
        """Both sides of a round run at the same time, on one CPU."""
        (self.path / "program.py").write_text(
            "import os, time\nbegin = time.monotonic()\n" + PROGRAM +
            "cpus = ','.join(map(str, os.sched_getaffinity(0)))\n"
            "open('ran', 'a').write(f'{cpus} {begin} {time.monotonic()}\\n')\n")
        # To tell 30 % at 99 %, the quotients of 5 runs may differ by 18 % (Student's 3.75 of 4 degrees), those of 10 by 33 %.
        # Each is of 25 samples a side; beside the other tests they differed by 23 %.
        against = ["--runs", "10", "--together", "--against", " ".join(self.command(0.1))]
        self.verdict(self.ci(*against), 0)
        rows = [line.split() for line in (self.path / "ran").read_text().splitlines()]
        self.assertEqual(len(rows), 20)
        for (cpu, begin, end), (other_cpu, other_begin, other_end) in zip(rows[::2], rows[1::2]):
            self.assertEqual(cpu, other_cpu)
            self.assertNotIn(",", cpu)
            self.assertLess(max(float(begin), float(other_begin)), min(float(end), float(other_end)), "one after the other")
        self.assertEqual({cpu for cpu, _, _ in rows}, set(map(str, sorted(os.sched_getaffinity(0))[:10])), "each CPU in turn")
        self.assertRegex(self.verdict(self.ci(*against, parse_s=0.2), 1), r"function parse: cpu .*BROKEN")

    def test_together_is_for_cpu(self):
        (self.path / "sampan-ci.toml").write_text('[[budget]]\nfigure = "wall"\nmax = "9s"\n')
        refused = self.ci("--together", "--against", "true")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("--together is for budgets of CPU, not of 'program wall'", refused.stderr)
        alone = self.ci("--together")
        self.assertIn("--together runs two commands, so it needs --against COMMAND", alone.stderr)

    def test_instructions(self):
        (self.path / "sampan-ci.toml").write_text('[[budget]]\nfigure = "instructions"\nmax-growth = "5%"\n')
        against = ["--against", "/usr/bin/python3 -c pass"]
        result = self.ci(*against, "--runs", "10")
        said = subprocess.run([sampan.PROGRAM, "run", "--instructions", "--output", self.path / "run", "--", "true"],
                              capture_output=True, text=True, check=True).stderr
        why = re.search("^sampan: (instructions are not counted: .+)$", said, re.MULTILINE)
        if why:
            self.assertIn("instructions were not counted: `sampan run --instructions` says why", self.verdict(result, 2))
            self.skipTest(why[1])
        self.assertRegex(self.verdict(result, 1), r"program: instructions +\S+ ± \S+ [MG] .*BROKEN")

    def test_with_a_baseline(self):
        made = self.ci("-o", "base.json", action="baseline")
        self.assertEqual((made.returncode, made.stdout), (0, "base.json: 5 runs of /usr/bin/python3\n"), made.stderr)
        self.assertLessEqual((self.path / "base.json").stat().st_size, 50_000)
        figures = {row["figure"]: row for row in json.loads((self.path / "base.json").read_text())["figures"]}
        self.assertAlmostEqual(figures["function cpu parse"]["mean"], 0.1, delta=0.02)
        self.assertIn("program wall", figures)
        self.assertIn("2 held", self.verdict(self.ci("--baseline", "base.json"), 0))
        self.assertIn("1 broken", self.verdict(self.ci("--baseline", "base.json", parse_s=0.2), 1))
        other = (self.path / "base.json").read_text().replace('"kernel": "', '"kernel": "other-')
        (self.path / "other.json").write_text(other)
        self.assertIn("note: the kernel is another one", self.verdict(self.ci("--baseline", "other.json"), 0))

    def test_what_cannot_be_judged_is_said(self):
        unknown = self.verdict(self.ci(), 2)
        self.assertIn("there is nothing to compare with", unknown)
        (self.path / "sampan-ci.toml").write_text('[[budget]]\nspan = "request"\nmax = "1s"\n')
        self.assertIn("no run has it: is the name right?", self.verdict(self.ci(), 2))
        # CPU of 0.1 s cannot be told from a limit of 0.1 s.
        (self.path / "sampan-ci.toml").write_text('[[budget]]\nfunction = "parse"\nfigure = "share"\nmax-growth = "0.01%"\n')
        said = self.verdict(self.ci("--against", " ".join(self.command(0.1))), 2)
        self.assertRegex(said, "the runs differ too much to tell")

    def test_a_signal_ends_what_runs(self):
        (self.path / "program.py").write_text("import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(1000)\n")
        gate = subprocess.Popen([sampan.PROGRAM, "ci", "run", "--", *self.command(1)], cwd=self.path, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "TMPDIR": str(self.path)})
        self.addCleanup(gate.stderr.close)
        while not (self.path / "pid").exists() or not (self.path / "pid").read_text():
            time.sleep(0.02)
        gate.send_signal(signal.SIGTERM)
        self.assertIn("stopped by a signal", gate.communicate(timeout=60)[1])
        self.assertEqual(gate.returncode, 2)
        self.assertEqual(list(self.path.glob("sampan-ci-*")), [])
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.path / "pid").read_text()), 0)

    def test_a_failure_is_no_verdict(self):
        failed = self.ci("--against", "sh -c 'echo about; exit 3'")
        self.assertEqual(failed.returncode, 2)
        self.assertRegex(failed.stderr, r"ci: sh failed \(exit status 3\), so nothing is judged:\nabout\n")
        for options, words in ((["--budgets", "none.toml"], "none.toml: cannot be read"),
                               (["--baseline", "none.json"], "make it by sampan ci baseline -o none.json"),
                               (["--baseline", "sampan-ci.toml"], "sampan-ci.toml: this is no JSON"),
                               (["--baseline", "a", "--against", "b"], "either --baseline or --against"),
                               (["--html", "x.html"], "needs --against"), (["--against", "a; b"], "sh -c"), (["--runs", "1"], "2 or more")):
            result = self.ci(*options)
            self.assertEqual(result.returncode, 2)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
