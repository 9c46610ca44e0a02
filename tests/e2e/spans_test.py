#!/usr/bin/env python3
"""Reports about markers: `sampan spans`, `sampan metrics` and the export of spans, of a program that logs what it
marks; and why its slow requests are slow, if a cause was planted and if none was."""
import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

import sampan
import stalls
from tolerances import DEVIATIONS

REQUESTS = 1000
SLOW = REQUESTS // 100
NPM = pathlib.Path(__file__).resolve().parent.parent / "support" / "npm_packages.py"
SKIPPED = 77


@stalls.cache
def requests(mode, *options, number=REQUESTS):
    return sampan.run([sampan.TARGETS / "target_requests", mode, str(number)], options=options)


def call(*words, **keywords):
    completed = subprocess.run([sampan.PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, timeout=60, **keywords)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = requests("lock", "--clock", "wall")
        cls.log = json.loads(cls.run_.stdout)
        cls.metrics = cls.run_.directory / "metrics"
        call("metrics", cls.run_.directory, "--output", cls.metrics)

    def rows(self, *options):
        return list(csv.DictReader(io.StringIO(call("spans", "--csv", *options, self.run_.directory))))

    @stalls.measures_time("compares durations with the program's own clock")
    def test_the_ranking_is_what_the_program_logged(self):
        rows = self.rows()
        self.assertEqual([(row["span"], int(row["count"]), row["not_ended"]) for row in rows],
                         [("request", REQUESTS, "0"), ('compute, "fast"', REQUESTS, "0"),
                          ("parse", REQUESTS, "0")])
        # The program reads its own clock outside the span, and may wait for a CPU between the two.
        for figure, slack in [("total", 0.05), ("max", 0.03), ("min", 0.0005)]:
            marked = float(rows[0][figure + "_s"])
            self.assertLessEqual(marked, self.log[figure])
            self.assertGreater(marked, 0.98 * self.log[figure] - slack - self.log["queued"], figure)
        for row in rows:
            figures = [float(row[f"{name}_s"]) for name in ("min", "p50", "p95", "p99", "max")]
            self.assertEqual(figures, sorted(figures))
            self.assertAlmostEqual(float(row["average_s"]) * REQUESTS, float(row["total_s"]), places=5)
        text = call("spans", self.run_.directory)
        self.assertIn(f"{3 * REQUESTS:,} spans, most total time first", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_the_tree_is_that_of_the_program(self):
        rows = self.rows("--tree")
        self.assertEqual([(row["span"], row["depth"], row["parent"]) for row in rows],
                         [("request", "0", ""), ('compute, "fast"', "1", "0"), ("parse", "1", "0")])

    @stalls.measures_time("compares waits with the time that the program sleeps")
    def test_samples_say_what_was_done_in_them(self):
        rows = {row["span"]: row for row in self.rows("--cpu")}
        request = rows["request"]
        # It waits for each lock for 20 ms, and longer if the holder waits for a CPU after that.
        queued_s = self.log["queued"]
        self.assertAlmostEqual(float(request["waiting_s"]), SLOW * 0.02, delta=SLOW * 0.01 + queued_s)
        # A request parses one part and computes five. The error is one deviation of the sampled sum.
        parsed = rows["parse"]
        errors_s = DEVIATIONS * (float(request["cpu_error_s"]) + 6 * float(parsed["cpu_error_s"]))
        self.assertAlmostEqual(float(request["cpu_s"]), 6 * float(parsed["cpu_s"]), delta=errors_s)
        self.assertAlmostEqual(float(request["cpu_s"]) + float(request["waiting_s"]) +
                               float(request["runnable_s"]), float(request["total_s"]),
                               delta=0.1 * float(request["total_s"]) + errors_s + queued_s)
        self.assertLess(float(rows["parse"]["waiting_s"]), 0.1 * float(request["waiting_s"]) + 0.01 + queued_s)

    def test_json_and_the_selection(self):
        report = json.loads(call("spans", "--json", "--thread", "target_requests", self.run_.directory))
        self.assertEqual([row["count"] for row in report["spans"]], [REQUESTS] * 3)
        none = json.loads(call("spans", "--json", "--from", "1000", self.run_.directory))
        self.assertEqual(none["spans"], [])

    def test_the_export_has_every_begin_and_end(self):
        lines = [json.loads(line) for line in
                 call("export", "--format", "spans", "--output", "-", self.run_.directory).splitlines()]
        self.assertEqual(len(lines), 6 * REQUESTS)
        times = [line["time"] for line in lines]
        self.assertEqual(times, sorted(times))
        self.assertEqual({line["closed_by"] for line in lines if line["event"] == "end"}, {"program"})
        stack, names = [], {}
        for line in lines:
            if line["event"] == "begin":
                self.assertEqual(line["parent"], stack[-1]["id"] if stack else None)
                self.assertEqual(line["trace"], (stack or [line])[0]["id"])
                stack.append(line)
                names[line["id"]] = line["name"]
            else:
                begin = stack.pop()
                self.assertEqual(begin["id"], line["id"])
                self.assertAlmostEqual(line["duration"], line["time"] - begin["time"], places=8)
        self.assertEqual(len(names), 3 * REQUESTS)

    def test_python_reads_the_tables(self):
        with open(self.metrics / "metrics.csv", newline="") as file:
            rows = {row["metric_name"]: row for row in csv.DictReader(file)}
        self.assertEqual(sorted(rows), ["queue/length", "ten\nmore"])
        queue, ten = rows["queue/length"], rows["ten\nmore"]
        self.assertEqual((queue["count"], queue["type"]), (str(REQUESTS), "counter"))
        self.assertEqual([float(queue[key]) for key in ("min", "max", "average", "last")],
                         [1, REQUESTS, (REQUESTS + 1) / 2, 1])
        self.assertEqual((ten["count"], ten["type"], ten["min"]), (str(REQUESTS // 10), "event", ""))
        with open(self.metrics / queue["file"], newline="") as file:
            values = list(csv.DictReader(file))
        self.assertEqual([float(row["value"]) for row in values], list(range(REQUESTS, 0, -1)))
        stamps = [float(row["timestamp"]) for row in values]
        self.assertEqual(stamps, sorted(stamps))
        self.assertAlmostEqual(float(queue["avg_interval"]), (stamps[-1] - stamps[0]) / (REQUESTS - 1), places=6)
        self.assertRegex(values[0]["datetime"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
        with open(self.metrics / ten["file"], newline="") as file:
            self.assertEqual(len(list(csv.DictReader(file))), REQUESTS // 10)

    @unittest.skipUnless(shutil.which("sqlite3"), "sqlite3 is not installed")
    def test_sqlite_imports_the_tables(self):
        def query(file, sql):
            return subprocess.run(["sqlite3", ":memory:", "-cmd", ".mode csv", "-cmd",
                                   f".import '{self.metrics / file}' t", sql], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout.split()
        self.assertEqual(query("metrics.csv", "SELECT count(*), sum(count) FROM t"),
                         [f"2,{REQUESTS + REQUESTS // 10}"])
        self.assertEqual(query("raw/queue%2Flength.csv", "SELECT count(*), sum(value) FROM t"),
                         [f"{REQUESTS},{REQUESTS * (REQUESTS + 1) // 2}"])
        spans = self.metrics / "spans.csv"
        spans.write_text(call("spans", "--csv", self.run_.directory))
        self.assertEqual(query("spans.csv", "SELECT sum(count) FROM t"), [str(3 * REQUESTS)])

    def test_the_plots_are_looked_at_in_chromium(self):
        pictures = [*sorted((self.metrics / "plots").iterdir()), self.metrics / "metrics_comparison.svg"]
        self.assertEqual(len(pictures), 3)
        completed = subprocess.run([sys.executable, str(NPM), "node", str(NPM.parent.parent / "e2e" / "plots_test.js"),
                                    *map(str, pictures)], timeout=120, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        if completed.returncode == SKIPPED:
            self.skipTest(completed.stdout.strip())
        self.assertEqual(completed.returncode, 0, completed.stdout)


# On a busy machine, the slow spans are those whose thread waited for a CPU: these tests want a quiet one (`--long`).
class Explained(unittest.TestCase):
    def explain(self, run):
        found = json.loads(call("spans", "--explain", "request", "--json", run.directory))
        self.assertTrue(found["enough"], found)
        return found, " ".join(cause["function"] for cause in found["causes"])

    def test_a_lock_that_one_in_a_hundred_takes(self):
        found, names = self.explain(requests("lock", "--clock", "wall"))
        self.assertIn("take_lock", names)
        self.assertIn("[futex", names)
        for innocent in ("parse", "compute", "slow_path"):
            self.assertNotIn(innocent, names)
        self.assertGreater(found["slow"]["waiting_s"], 0.01)

    def test_a_slow_path_that_one_in_a_hundred_takes(self):
        found, names = self.explain(requests("slow"))
        self.assertEqual(names, "(anonymous namespace)::slow_path")
        self.assertGreaterEqual(found["causes"][0]["in_slow"], SLOW / 2)
        text = call("spans", "--explain", "request", requests("slow").directory)
        self.assertIn("slow_path", text)

    def test_nothing_if_nothing_is_planted(self):
        # Twice as many: the slow ones have few samples when nothing makes them slow.
        found, names = self.explain(requests("none", number=2 * REQUESTS))
        self.assertEqual(names, "")
        self.assertEqual(found["slow"]["spans"], 2 * SLOW)

    def test_an_unknown_span_is_a_sentence(self):
        run = requests("slow")
        completed = subprocess.run([sampan.PROGRAM, "spans", "--explain", "requets", str(run.directory)],
                                   stderr=subprocess.PIPE, text=True)
        self.assertEqual(completed.returncode, 1)
        self.assertIn("did you mean 'request'?", completed.stderr)


if __name__ == "__main__":
    unittest.main()
