#!/usr/bin/env python3
"""Profiles that other programs wrote: gperftools, node, perf; and sampan's own exports, which come back as they were."""
import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import profiled
import sampan

SCRIPT = """
function busy(turns) { let sum = 0; for (let i = 0; i < turns; ++i) sum += Math.sqrt(i); return sum; }
function three() { return busy(75e6); }
function one() { return busy(25e6); }
three(); one();
setTimeout(() => {}, 200);
"""


class Import(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sampan-import-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sampan(self, *words):
        done = subprocess.run([sampan.PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def imported(self, file, *options):
        """The report of the file's recording."""
        directory = self.sampan("import", "-o", self.folder / "imported", *options, file).strip()
        return json.loads(self.sampan("report", "--json", directory))

    def shares(self, report, key="total_s"):
        """{function: its part of all}"""
        whole = sum(f[key.replace("total", "self")] for f in report["functions"])
        return {f["name"]: f[key] / whole for f in report["functions"]}

    def test_own_exports_come_back(self):
        run = profiled.profiled("shares", 2, rate=1000).run
        before = run.report
        for format_, options in (("pprof", []), ("perf-script", []), ("folded", ["--rate", before["rate_hz"]])):
            with self.subTest(format_):
                file = self.folder / ("profile." + format_)
                self.sampan("export", "--format", format_, "-o", file, run.recording)
                after = self.imported(file, *options)
                expected, found = self.shares(before, "self_s"), self.shares(after, "self_s")
                for name, share in expected.items():
                    # Folded counts are rounded to whole samples, each stack by half a sample at most.
                    error = 0.02 if format_ == "folded" else 0.0001
                    self.assertAlmostEqual(found.get(name, 0), share, delta=error, msg=name)
                self.assertIsNone(after["cpu_s"])
                self.assertIsNone(after["coverage"])
                if format_ != "folded":
                    self.assertEqual(after["samples"], before["samples"])
                    self.assertEqual({t["tid"] for t in after["threads"]}, {t["tid"] for t in before["threads"] if t["samples"]})

    @unittest.skipIf(ctypes.util.find_library("profiler") is None, "gperftools is not installed")
    def test_gperftools(self):
        file = self.folder / "cpu.prof"
        subprocess.run(profiled.command("shares", 4), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "LD_PRELOAD": ctypes.util.find_library("profiler"), "CPUPROFILE": str(file)})
        report = self.imported(file)
        found = self.shares(report)
        for word, share in (("ten", 0.1), ("twenty", 0.2), ("thirty", 0.3), ("forty", 0.4)):
            self.assertAlmostEqual(sum(part for name, part in found.items() if word + "_percent" in name), share,
                                   delta=5 * (share * (1 - share) / report["samples"]) ** 0.5, msg=(word, found))

    @unittest.skipIf(shutil.which("node") is None, "node is not installed")
    def test_node(self):
        script = self.folder / "script.js"
        script.write_text(SCRIPT)
        subprocess.run(["node", "--cpu-prof", f"--cpu-prof-dir={self.folder}", script], check=True)
        report = self.imported(next(self.folder.glob("*.cpuprofile")))
        seconds = {f["name"]: f["total_s"] for f in report["functions"]}
        self.assertAlmostEqual(seconds["three"] / (seconds["three"] + seconds["one"]), 0.75, delta=0.1)
        self.assertGreater(report["waiting_s"], 0.15)
        self.assertEqual(report["clock"], "wall")

    def test_what_counts_no_time(self):
        file = self.folder / "counts.folded"
        file.write_text("main;parse 3000\nmain 1000\n")
        report = self.imported(file)
        self.assertEqual(report["unit"], "samples")
        self.assertEqual({f["name"]: (f["self"], f["total"]) for f in report["functions"]},
                         {"parse": (3000, 3000), "main": (1000, 4000)})
        recording = next((self.folder / "imported").iterdir())
        page = self.sampan("report", recording)
        self.assertIn("most self samples first (samples)", page)
        self.assertNotIn("CPU", page)
        for format_ in ("html", "pprof", "folded", "speedscope", "callgrind", "dot", "firefox", "flamegraph", "csv",
                        "csv-samples", "perf-script", "otlp", "json"):
            self.sampan("export", "--format", format_, "-o", self.folder / ("x." + format_), recording)
        self.assertEqual((self.folder / "x.folded").read_text(), "all;main 1000\nall;main;parse 3000\n")
        refused = subprocess.run([sampan.PROGRAM, "export", "--format", "trace", "-o", str(self.folder / "x"), str(recording)],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("trace shows time only, and this profile counts samples", refused.stderr)

    def test_what_is_no_profile(self):
        for text, message in (("", "it is empty"), ("Dear reader", "none of the known formats")):
            file = self.folder / "letter"
            file.write_text(text)
            done = subprocess.run([sampan.PROGRAM, "import", "-o", str(self.folder / "imported"), str(file)],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
            self.assertIn(str(file), done.stderr)
            self.assertFalse((self.folder / "imported").exists())


if __name__ == "__main__":
    unittest.main()
