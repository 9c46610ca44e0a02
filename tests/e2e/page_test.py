#!/usr/bin/env python3
"""profile.html of real recordings, opened in Chromium: the tests use every view and control, compare what is shown
with `sampan report --json` of the same recording, and let axe look at it (tests/exporters/page/*_test.js)."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

import sampan

TESTS = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "support"))
import npm_packages


class PageTest(sampan.Case):
    def open(self, run):
        """Runs the tests of the page on a recording."""
        page, report = self.path / "profile.html", self.path / "report.json"
        subprocess.run([sampan.PROGRAM, "export", "--format", "html", "--output", str(page), str(run.recording)],
                       check=True, stdout=subprocess.PIPE)
        report.write_text(json.dumps(run.report))
        for script in ("page", "features", "axe"):
            self.run_script(script, PAGE=str(page), REPORT=str(report))

    def run_script(self, script, **variables):
        done = subprocess.run(
            ["node", str(TESTS / f"exporters/page/{script}_test.js")], text=True,
            env={**npm_packages.environment(), **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == npm_packages.SKIPPED:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_threads_that_wait(self):
        self.open(sampan.run([sampan.TARGETS / "target_waits", 1], options=["--clock", "wall"]))

    def test_sources_and_instructions(self):
        run = sampan.run([sampan.TARGETS / "target_shares", 1])
        page, without, annotation = (self.path / name for name in ("page.html", "without.html", "annotation.json"))
        view = [sampan.PROGRAM, "view", "--no-open", "--output"]
        said = subprocess.run([*view, str(page), "--with-source", str(run.recording)], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stderr
        self.assertRegex(said, r"with the source or the instructions of [1-9]\d* functions?, \d+ kB")
        subprocess.run([*view, str(without), str(run.recording)], check=True, stdout=subprocess.PIPE)
        self.assertNotIn('id="profile-sources"', without.read_text())
        hottest = max((row for row in run.report["functions"] if row["file"]), key=lambda row: row["self_s"])
        annotation.write_bytes(subprocess.run(
            [sampan.PROGRAM, "annotate", "--asm", "--json", hottest["name"], str(run.recording)], check=True,
            stdout=subprocess.PIPE).stdout)
        self.run_script("source", PAGE=str(page), WITHOUT=str(without), ANNOTATION=str(annotation))

    def test_time_heap_and_locks(self):
        programs = [f"'{sampan.TARGETS / 'target_allocations'}' known 40 5", f"'{sampan.TARGETS / 'target_locks'}' mutex 50 2000",
                    f"'{sampan.TARGETS / 'target_locks'}' made_mutex 10 2000"]
        run = sampan.run(["sh", "-c", "; ".join(programs)], options=["--heap=4096", "--locks"])
        self.assertEqual(run.returncode, 0, run.stderr)
        page, first, reports = (self.path / name for name in ("page.html", "first.html", "reports.json"))
        view = [sampan.PROGRAM, "view", "--no-open", "--output"]
        subprocess.run([*view, str(page), str(run.recording)], check=True, stdout=subprocess.PIPE)
        subprocess.run([*view, str(first), "--locks", str(run.recording)], check=True, stdout=subprocess.PIPE)
        options = {"cpu": [], "live": ["--heap"], "allocated": ["--heap=allocated"], "locks": ["--locks"]}
        reports.write_text(json.dumps({name: sampan.report(run.recording, *words) for name, words in options.items()}))
        self.run_script("samples", PAGE=str(page), LOCKS_FIRST=str(first), REPORTS=str(reports))
        self.run_script("axe", PAGE=str(first))

    def test_deep_stacks_of_cpp(self):
        self.need("clang++")
        source = self.path / "source.cpp"
        source.write_text("#include <regex>\n#include <map>\nstd::map<std::string, std::regex> all;\n")
        self.open(sampan.run(["clang++", "-O1", "-c", "-o", os.devnull, source]))


if __name__ == "__main__":
    unittest.main()
