#!/usr/bin/env python3
"""2,000 threads, of which four have one name each and a tenth no samples, opened with every viewer.

WRITE_EXPORTS names the program that writes the exports, NPM_PACKAGES the folder for viewers of npm.
What is not installed is skipped.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import npm_viewers
import viewers
from known_profile import PERIOD

THREADS = 2000
NAMES = 500


class ManyThreads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="sampan-exports-")
        cls.addClassCleanup(directory.cleanup)
        cls.path = pathlib.Path(directory.name)
        cls.threads, cls.self = {}, {}
        lines = []
        for i in range(THREADS):
            name, tid = f"pool-{i % NAMES}", 10_000 + i
            lines.append(f"# thread {tid} {name}")
            if i % 10 == 9:
                continue
            function, count = f"task<{i % 40}, \"&\">", 1 + i % 3
            lines.append(f"start;work;{function} {count}")
            cls.threads[name, tid] = count * PERIOD
            cls.self[function] = cls.self.get(function, 0) + count * PERIOD
        cls.all = sum(cls.threads.values())
        (cls.path / "many.txt").write_text("# process 10000 /usr/bin/app\n" + "\n".join(lines) + "\n")
        subprocess.run([os.environ["WRITE_EXPORTS"], cls.path / "many.txt", cls.path, "merged"],
                       check=True)

    def check(self, table, threads=None):
        self.assertAlmostEqual(table.all, self.all, 4)
        self.assertEqual({name: round(table.self[name], 5) for name in self.self},
                         {name: round(seconds, 5) for name, seconds in self.self.items()})
        self.assertAlmostEqual(table.total["work"], self.all, 4)
        if threads is not None:
            self.assertEqual(sorted(round(seconds, 5) for seconds in threads.values()),
                             sorted(round(seconds, 5) for seconds in self.threads.values()))

    def open(self, read, name, *arguments):
        return read(self.path / name, *arguments)

    def test_pprof(self):
        table = self.open(viewers.pprof, "profile_overall.pb.gz")
        self.check(table, table.threads)
        table = self.open(npm_viewers.pprof_format, "profile_overall.pb.gz")
        self.check(table, table.threads)

    def test_pstats(self):
        table = self.open(viewers.python_pstats, "profile_overall.prof")
        self.check(table, table.threads)

    def test_callgrind(self):
        table = self.open(viewers.callgrind_annotate, "profile_overall.callgrind")
        self.check(table, table.threads)
        self.assertEqual(self.open(viewers.kcachegrind, "profile_overall.callgrind")[0], [])

    def test_trace_and_folded(self):
        table = self.open(viewers.trace, "profile_trace.json")
        self.check(table, table.threads)
        table = self.open(viewers.folded, "profile_overall.folded", PERIOD)
        self.check(table, table.threads)

    def test_flamegraph(self):
        table = self.open(viewers.flamegraph, "profile_overall.svg", PERIOD)
        self.check(table, table.threads)

    def test_speedscope(self):
        threads = self.open(npm_viewers.speedscope, "profile_overall.speedscope.json")
        self.check(viewers.together(threads.values()),
                   {name: table.all for name, table in threads.items()})

    def test_firefox(self):
        threads = self.open(npm_viewers.firefox, "profile_overall.firefox.json.gz", 3)
        self.assertEqual(len(threads), THREADS)
        self.assertAlmostEqual(sum(thread["cpuMs"] for thread in threads) / 1e3, self.all, 4)
        for thread in threads[:3]:
            self.assertAlmostEqual(thread["table"].all, 3 * PERIOD)


if __name__ == "__main__":
    unittest.main(verbosity=2)
