#!/usr/bin/env python3
"""Viewers read the same totals, threads and functions from the exports of a real recording as
`sampan report --json` prints.

NPM_PACKAGES names the folder for the viewers of npm. Tests of viewers that are not installed are skipped.
"""
import collections
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "exporters"))
import npm_viewers
import sampan
import viewers

TOP = 20
# A trace has times in whole microseconds, not weights; see the exporter.
TRACE_TOLERANCE = 0.05


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_of_sampan = sampan.run([sampan.TARGETS / "target_shares", "3"])
        cls.report = cls.run_of_sampan.report
        cls.directory = cls.run_of_sampan.directory
        formats = [f"--format={name}" for name in ("trace", "pprof", "pstats", "folded")]
        subprocess.run([sampan.PROGRAM, "export", *formats, "--per-thread",
                        cls.run_of_sampan.recording], check=True, stdout=subprocess.DEVNULL)
        cls.all = cls.report["sampled_cpu_s"]
        cls.self, cls.total, count = (collections.Counter() for _ in range(3))
        for row in cls.report["functions"]:
            cls.self[row["name"]] += row["self_s"]
            cls.total[row["name"]] += row["total_s"]
            count[row["name"]] += 1
        # Formats that know functions by name only cannot tell several functions of one name apart.
        cls.alone = {name for name, functions in count.items() if functions == 1}
        assert len(cls.report["threads"]) >= 5 and cls.all > 1, cls.report

    def assert_near(self, found, expected, tolerance, what):
        self.assertLessEqual(abs(found - expected), tolerance * self.all, (what, found, expected))

    def assert_same_functions(self, table, tolerance=1e-4, totals=True):
        self.assert_near(table.all, self.all, tolerance, "all")
        for name, seconds in self.self.most_common(TOP):
            self.assert_near(table.self[name], seconds, tolerance, f"self of {name}")
            if totals and name in self.alone:
                self.assert_near(table.total[name], self.total[name], tolerance, f"total of {name}")

    def assert_same_threads(self, threads, key, tolerance=1e-4):
        expected = {key(t): t["sampled_cpu_s"] for t in self.report["threads"] if t["samples"]}
        self.assertEqual(len(threads), len(expected), (threads, expected))
        for thread, seconds in expected.items():
            self.assert_near(threads[thread], seconds, tolerance, thread)

    def test_pprof(self):
        table = viewers.pprof(self.directory / "profile_overall.pb.gz")
        self.assert_same_functions(table)
        self.assert_same_threads(table.threads, lambda t: (t["name"], t["tid"]))

    def test_pstats(self):
        table = viewers.python_pstats(self.directory / "profile_overall.prof")
        self.assert_same_functions(table)
        self.assert_same_threads(table.threads, lambda t: t["name"])

    def test_pyprof2calltree(self):
        table = viewers.pyprof2calltree(self.directory / "profile_overall.prof")
        self.assert_same_functions(table, totals=False)

    def test_folded(self):
        # Time in samples at the rate: a line is off by one at most.
        period_s = 1 / self.report["rate_hz"]
        path = self.directory / "profile_overall.folded"
        table = viewers.folded(path, period_s)
        rounded = len(path.read_text().splitlines()) * period_s / self.all
        self.assertLess(rounded, 0.1)
        self.assert_same_functions(table, rounded)
        self.assert_same_threads(table.threads, lambda t: t["name"], rounded)

    def test_trace(self):
        table = viewers.trace(self.directory / "profile_trace.json")
        self.assertEqual(set(table.threads), {(t["name"], t["tid"]) for t in self.report["threads"]
                                              if t["samples"]})
        # If threads outnumber CPUs, a slice goes on while the thread waits for its turn.
        self.assertGreaterEqual(table.all, self.all * (1 - TRACE_TOLERANCE))
        [(hottest, _)] = table.self.most_common(1)
        self.assertGreater(self.self[hottest], 0.5 * max(self.self.values()))

    def test_speedscope(self):
        [table] = npm_viewers.speedscope(self.directory / "profile_overall.pb.gz").values()
        self.assert_near(table.all, self.all, 1e-4, "all")
        [table] = npm_viewers.speedscope(self.directory / "profile_overall.folded").values()
        written = viewers.folded(self.directory / "profile_overall.folded", 1)
        self.assertEqual(table.all, written.all)
        self.assertEqual(+table.self, +written.self)
        threads = npm_viewers.speedscope(self.directory / "profile_trace.json")
        for thread in self.report["threads"]:
            if thread["samples"]:
                self.assertTrue(any(f"{thread['name']} (tid {thread['tid']})" in name
                                    for name in threads), (thread, list(threads)))

    def test_per_thread(self):
        for thread in self.report["threads"]:
            stem = f"profile_thread_{thread['tid']}_{thread['name']}"
            self.assertEqual((self.directory / f"{stem}.pb.gz").exists(), thread["samples"] > 0)
            if not thread["samples"]:
                continue
            for read, suffix in ((viewers.pprof, ".pb.gz"), (viewers.python_pstats, ".prof")):
                table = read(self.directory / (stem + suffix))
                self.assert_near(table.all, thread["sampled_cpu_s"], 1e-4, stem + suffix)


class Nothing(sampan.Case):
    """A recording without samples: pstats refuses a file without functions by a TypeError."""

    def test_pstats(self):
        run = sampan.run(["true"], ["--start-paused"])
        self.assertEqual(run.report["samples"], 0)
        path = run.directory / "profile_overall.prof"
        subprocess.run([sampan.PROGRAM, "export", "--format", "pstats", run.recording], check=True, stdout=subprocess.DEVNULL)
        table = viewers.python_pstats(path)
        self.assertEqual((table.all, table.total, table.threads), (0, {}, {}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
