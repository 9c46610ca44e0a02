#!/usr/bin/env python3
"""Sections that a program names: each has the samples that were taken in it and no others, in every thread, as a
directory of its own and by --section."""
import collections
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sampan
import stalls
from tolerances import unsampled_s

REQUESTS = [f"infer_{i}" for i in range(1, 5)]
PHASE = "../phase 1;\n"
PHASE_DIRECTORY = "%2E.%2Fphase%201%3B%0A"
PART = 0.12  # seconds of CPU, of each section
SAMPLE = unsampled_s(2)  # that is missing at its end, or that its first sample carries from before


def total(report, name):
    return sum(row["total_s"] for row in report["functions"] if row["name"].endswith("::" + name))


class Sections(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
        cls.addClassCleanup(directory.cleanup)
        completed = subprocess.run(
            [sampan.PROGRAM, "run", "--format", "trace,pprof,folded", "--output", directory.name, "--",
             str(sampan.TARGETS / "target_sections")], check=True, stderr=subprocess.PIPE)
        [cls.path] = pathlib.Path(directory.name).iterdir()
        cls.page = completed.stderr.decode()
        cls.report = sampan.report(cls.path)

    def samples(self, *options):
        output = subprocess.run([sampan.PROGRAM, "export", "--format", "csv-samples", *options,
                                 "--output", "-", self.path], check=True, stdout=subprocess.PIPE)
        return list(csv.DictReader(io.StringIO(output.stdout.decode())))

    def test_the_list(self):
        rows = {row["name"]: row for row in self.report["sections"]}
        self.assertEqual(set(rows), {*REQUESTS, PHASE})
        for row in rows.values():
            self.assertEqual((row["occurrences"], row["unclosed"]), (1, 0))
            self.assertGreaterEqual(row["wall_s"], PART * 0.99)
        self.assertIn("Sections, longest first (seconds)", self.page)
        self.assertIn("sections/*: 5 directories of single sections", self.page)
        self.assertIn(f"sampan report --section NAME {self.path}\n", self.page)

    @stalls.measures_time("compares sampled CPU with what the program uses by its clock")
    def test_a_request_has_its_own_samples(self):
        """All samples of its thread while it answers, and none from between requests."""
        answers = 0
        for name in REQUESTS:
            report = sampan.report(self.path, "--section", name)
            self.assertEqual({t["name"] for t in report["threads"]}, {"server"})
            self.assertEqual(total(report, "between"), 0)
            self.assertAlmostEqual(total(report, "answer"), PART, delta=SAMPLE)
            answers += total(report, "answer")
        self.assertAlmostEqual(answers, total(self.report, "answer"), places=6)

    def test_a_phase_has_all_threads(self):
        report = sampan.report(self.path, "--section", PHASE)
        self.assertEqual({t["name"] for t in report["threads"] if t["samples"]}, {"server", "beside"})
        self.assertAlmostEqual(total(report, "phase"), total(self.report, "phase"), places=6)
        self.assertEqual(total(report, "between") + total(report, "answer"), 0)

    def test_the_samples_are_those_of_the_interval(self):
        every = self.samples()
        rows = {row["name"]: row for row in self.report["sections"]}
        for name in (*REQUESTS, PHASE):
            begin = rows[name]["first_s"]
            end = begin + rows[name]["wall_s"]
            threads = {"server"} if name in REQUESTS else {"server", "beside", "target_sections"}
            expected = [sample for sample in every if sample["thread"] in threads
                        and begin <= float(sample["time_s"]) <= end]
            self.assertEqual(self.samples("--section", name), expected, name)
            self.assertGreater(len(expected), 0)

    def test_directories(self):
        self.assertEqual({path.name for path in (self.path / "sections").iterdir()},
                         {*REQUESTS, PHASE_DIRECTORY})
        for name in REQUESTS:
            directory = self.path / "sections" / name
            [thread] = directory.glob("profile_thread_*_server.folded")
            self.assertEqual({path.name for path in directory.iterdir()},
                             {"profile_trace.json", "profile_overall.pb.gz", "profile_overall.folded",
                              thread.name, thread.name.replace(".folded", ".pb.gz")})
            self.assertEqual(thread.read_text(), (directory / "profile_overall.folded").read_text())
            self.assertNotIn("between", thread.read_text())
            self.check_trace(directory / "profile_trace.json", name)

    def check_trace(self, path, name):
        """The trace is cut to the section and has its span."""
        section = next(row for row in self.report["sections"] if row["name"] == name)
        begin = section["first_s"] * 1e6
        end = begin + section["wall_s"] * 1e6
        phases = collections.Counter()
        for event in json.loads(path.read_text()):
            phases[event["ph"]] += 1
            if event["ph"] in "BEbei":
                self.assertGreaterEqual(event["ts"], begin - 0.001, event)
                self.assertLessEqual(event["ts"], end + 0.001, event)
            if event["ph"] == "B":
                self.assertEqual((event["name"], event["args"]["text"]), ("answer", name))
        self.assertEqual((phases["B"], phases["E"], phases["b"], phases["e"]), (1, 1, 1, 1))
        self.assertGreater(phases["X"], 0)

    def test_export_to_its_directory(self):
        directory = self.path / "sections" / "infer_1"
        output = subprocess.run([sampan.PROGRAM, "export", "--section", "infer_1", "--format", "csv",
                                 self.path], check=True, stdout=subprocess.PIPE).stdout.decode()
        self.assertEqual(output, f"{directory}/profile_overall.csv\n")

    def test_fewer_directories(self):
        with tempfile.TemporaryDirectory() as there:
            done = subprocess.run([sampan.PROGRAM, "export", "--format", "folded", "--max-sections", "2",
                                   "--output", there + "/", self.path], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(len(list(pathlib.Path(there).glob("sections/*"))), 2)
            self.assertIn("the 2 longest of 5 sections", done.stderr.decode())
            self.assertEqual(len(done.stdout.decode().splitlines()), 3)

    def test_an_unknown_name(self):
        done = subprocess.run([sampan.PROGRAM, "report", "--section", "infer_9", self.path],
                              stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no section is called 'infer_9', did you mean 'infer_1'?", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
