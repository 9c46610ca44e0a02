#!/usr/bin/env python3
"""sampan ranks: eight workers, of which one does more in one function than the others."""
import csv
import io
import json
import math
import os
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
def exchange(): spin(0.001)
# Without a common length, so that samples do not keep step with them.
parts = [0.5 + random.random() for _ in range(120)]
more = (float(sys.argv[2]) if sys.argv[1] == "7" else 1) * 1.2 / sum(parts)
for part in parts:
    solve(part * more)
    exchange()
"""
RECORD = ["run", "--quiet", "--format", "none", "--rate", "1000", "--max-overhead", "none"]
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
        # 1.56 s, where the others have 1.2 s. Both ends of 120 pieces are met by samples 4 ms apart, if others do not push the
        # program off its CPU: a standard deviation of sqrt(120 / 6) * 4 ms, which is 1.5 %. Four of them.
        report = sampan.report(self.path / recording)
        period_s = max(0.004, report["sampled_cpu_s"] / report["samples"])
        error = 4 * math.sqrt(120 / 6) * period_s / 1.2
        self.assertAlmostEqual(rows["solve"]["most_s"] / rows["solve"]["mean_s"], 1.3 / (8.3 / 8), delta=error * 1.3)
        self.assertEqual(len(said["workers"]), RANKS)
        table = list(csv.reader(io.StringIO(self.sampan("ranks", "--csv", "--python", "python", "--of", "total", recording).stdout)))
        self.assertEqual(len(table[0]), 4 + RANKS)
        [solve] = [row for row in table if row[:2] == ["function", "solve"]]
        self.assertEqual(table[0][4 + max(range(RANKS), key=lambda rank: float(solve[4 + rank]))], slowest)

    def test_recordings_that_were_merged(self):
        for rank in range(RANKS):
            subprocess.run([sampan.PROGRAM, *RECORD, "--output", "runs", "--", "/usr/bin/python3", "worker.py",
                            str(rank), "1.3"], cwd=self.path, env={**os.environ, "PMI_RANK": str(rank)}, check=True, timeout=300)
        # In another order than that of their ranks, which the merged recording has.
        self.sampan("merge", *sorted((self.path / "runs").iterdir(), reverse=True), "-o", "all")
        said = json.loads(self.sampan("ranks", "--json", "--python", "python", "all").stdout)
        self.assertEqual([worker["name"] for worker in said["workers"]], [f"rank-{rank}" for rank in range(RANKS)])
        # `spin` has the samples of solve() and exchange(), and is named first; so is the rank.
        self.assertEqual((said["functions"][0]["name"], said["functions"][0]["slowest"]), ("spin", "rank-7"))
        page = self.sampan("ranks", "--python", "python", "--of", "total", "all").stdout.splitlines()
        first = page[next(i for i, line in enumerate(page) if "excess" in line) + 1]
        self.assertIn("rank-7", first)
        self.check("all", "rank-7")
        processes = self.order_in_the_trace("all")
        self.assertEqual(processes, [f"rank-{rank}: python3.11" if "3.11" in processes[0] else f"rank-{rank}: python3" for rank in range(RANKS)])

    def order_in_the_trace(self, recording):
        self.sampan("export", "--format", "trace", "--output", "trace.json", recording)
        events = json.loads((self.path / "trace.json").read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        of = {name: {event["pid"]: event["args"] for event in events if event["name"] == name} for name in ("process_name", "process_sort_index")}
        return [of["process_name"][pid]["name"] for pid in sorted(of["process_name"], key=lambda pid: of["process_sort_index"][pid]["sort_index"])]

    def test_processes_of_one_recording(self):
        # They share the CPUs, so each has few samples in each of its turns: three times as much is told from that.
        script = f"for i in $(seq 0 {RANKS - 1}); do /usr/bin/python3 worker.py $i 3 & test $i = 7 && echo $!; done; wait"
        run = self.sampan(*RECORD, "--output", "one", "--", "bash", "-c", script)
        [recording] = (self.path / "one").iterdir()
        # The shell itself does little; it is a worker, too.
        said = json.loads(self.sampan("ranks", "--json", "--python", "python", "--of", "total", recording).stdout)
        rows = {row["name"]: row for row in said["functions"]}
        self.assertEqual(rows["solve"]["slowest"].split()[-1], run.stdout.strip())


if __name__ == "__main__":
    unittest.main()
