#!/usr/bin/env python3
"""sampan report --critical of a program in which three threads wait for each other in turn, and a fourth one works for nobody."""
import subprocess
import unittest

import sampan
from tolerances import share_noise

ROUNDS = 60
RATE_HZ = 1000


def report(*options):
    return subprocess.run([sampan.PROGRAM, "report", *options], capture_output=True, text=True, check=False, timeout=120)


class CriticalPath(sampan.Case):
    def setUp(self):
        super().setUp()
        self.sampled = sampan.run([sampan.TARGETS / "target_critical", ROUNDS], ["--locks", "--rate", str(RATE_HZ)])
        self.assertEqual(self.sampled.returncode, 0, self.sampled.stderr)
        self.true_s = dict(zip(("in_main", "in_front", "in_back"), (int(word) / 1e9 for word in self.sampled.stdout.split())))

    def critical(self, of):
        path = sampan.report(self.sampled.recording, "--critical", of)["critical_path"]
        self.assertAlmostEqual(sum(row["time_s"] for row in path["rows"]), path["total_s"], delta=1e-6)
        return path

    def check(self, path):
        on_cpu = {name: 0.0 for name in self.true_s}
        for row in path["rows"]:
            self.assertNotEqual(row["thread"], "busy", row)
            for name in on_cpu:
                on_cpu[name] += row["time_s"] * (row["part"] == "cpu" and name in row["name"])
        all_s, all_true_s = sum(on_cpu.values()), sum(self.true_s.values())
        # A period of 1 ms takes a sample of each part independently: the parts take 4 ms and more in turn.
        samples = all_true_s * RATE_HZ
        for name, true_s in self.true_s.items():
            share = true_s / all_true_s
            self.assertAlmostEqual(on_cpu[name] / all_s, share, delta=share_noise(share, samples), msg=f"{name}: {path['rows']}")
        self.assertLessEqual(all_s, path["total_s"])
        edges = {(row["waker_tid"], row["waiter_tid"]): row["count"] for row in path["handovers"]}
        # Main waits for front, front for back; and each is asked. A wait below the limit is not recorded now and then.
        self.assertEqual(len(edges), 4, edges)
        for edge, times in edges.items():
            self.assertGreaterEqual(times, 0.9 * ROUNDS, f"{edge}: {edges}")

    def test_spans_and_their_thread(self):
        spans = self.critical("request")
        self.assertEqual(spans["intervals"], ROUNDS)
        self.check(spans)
        self.check(self.critical(self.main_name()))

    def main_name(self):
        return next(row["name"] for row in self.sampled.report["threads"] if row["tid"] == row["pid"])

    def test_the_page(self):
        page = report("--critical", "request", self.sampled.recording).stdout
        self.assertRegex(page, rf"Critical path of request, {ROUNDS} times: \d+\.\d+ s")
        self.assertRegex(page, r"in_back.* back \(\d+\)")
        self.assertIn("Threads on it that let each other wait", page)

    def test_a_recording_without_locks_is_refused(self):
        run = sampan.run([sampan.TARGETS / "target_critical", 1], [])
        refused = report("--critical", "request", run.recording)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("record with `sampan run --locks`", refused.stderr)


if __name__ == "__main__":
    unittest.main()
