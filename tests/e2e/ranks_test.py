#!/usr/bin/env python3
"""sampan ranks: eight workers, of which one does half as much more in one function."""
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import sampan

WORKER = """
import random, sys, time
def spin(s):
    end = time.thread_time() + s
    while time.thread_time() < end: pass
def solve(s): spin(s)
def exchange(): spin(0.002)
# Without a common length, so that samples do not keep step with them.
parts = [0.5 + random.random() for _ in range(60)]
more = (float(sys.argv[2]) if sys.argv[1] == "5" else 1) * 0.6 / sum(parts)
for part in parts:
    solve(part * more)
    exchange()
"""
RANKS = 8


class Ranks(sampan.Case):
    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory(prefix="sampan-ranks-")
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        (self.path / "worker.py").write_text(WORKER)

    def sampan(self, *words):
        return subprocess.run([sampan.PROGRAM, *map(str, words)], cwd=self.path, check=True, capture_output=True, text=True, timeout=300)

    def check(self, recording, slowest):
        page = self.sampan("ranks", "--python", "python", recording).stdout
        self.assertIn(f"Functions of {RANKS} workers", page)
        said = json.loads(self.sampan("ranks", "--json", "--python", "python", "--of", "total", recording).stdout)
        rows = {row["name"]: row for row in said["functions"]}
        self.assertTrue(rows["solve"]["beyond_noise"])
        self.assertEqual(rows["solve"]["slowest"], slowest)
        # 0.9 s of 0.6 s each. Both ends of 60 pieces are met by samples 4 ms apart, if not closer: a standard deviation of
        # sqrt(60 / 6) * 4 ms, which is 2.1 %. Four of them.
        self.assertAlmostEqual(rows["solve"]["most_s"] / rows["solve"]["mean_s"], 1.5 / (8.5 / 8), delta=4 * 0.021 * 1.5)
        self.assertEqual(len(said["workers"]), RANKS)
        table = list(csv.reader(io.StringIO(self.sampan("ranks", "--csv", "--python", "python", "--of", "total", recording).stdout)))
        self.assertEqual(len(table[0]), 3 + RANKS)
        [solve] = [row for row in table if row[0] == "solve"]
        self.assertEqual(table[0][3 + max(range(RANKS), key=lambda rank: float(solve[3 + rank]))], slowest)

    def test_recordings_that_were_merged(self):
        for rank in range(RANKS):
            self.sampan("run", "--quiet", "--format", "none", "--rate", "1000", "--output", f"rank-{rank}", "--", "/usr/bin/python3",
                        "worker.py", rank, 1.5)
        self.sampan("merge", *(f"rank-{rank}={next((self.path / f'rank-{rank}').iterdir())}" for rank in range(RANKS)), "-o", "all")
        self.check("all", "rank-5")

    def test_processes_of_one_recording(self):
        # They share the CPUs, so each has few samples in each of its turns: three times as much is told from that.
        script = f"for i in $(seq 0 {RANKS - 1}); do /usr/bin/python3 worker.py $i 3 & test $i = 5 && echo $!; done; wait"
        run = self.sampan("run", "--quiet", "--format", "none", "--rate", "1000", "--output", "one", "--", "bash", "-c", script)
        [recording] = (self.path / "one").iterdir()
        # The shell itself does little; it is a worker, too.
        said = json.loads(self.sampan("ranks", "--json", "--python", "python", "--of", "total", recording).stdout)
        rows = {row["name"]: row for row in said["functions"]}
        self.assertEqual(rows["solve"]["slowest"].split()[-1], run.stdout.strip())


if __name__ == "__main__":
    unittest.main()
