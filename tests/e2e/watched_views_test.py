"""What report and export show of the heap and of locks. That the sums are the truth is the matter of heap_test.py and
locks_test.py; here all forms have to show the same, and what the programs are known to do."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import sampan

ROUNDS = 40
Z95 = 1.96
DEVIATIONS = 6  # that a share may be off: one false alarm in a hundred million runs


def command(*words):
    return subprocess.run([sampan.PROGRAM, *map(str, words)], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True).stdout


def export(recording, *options):
    with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as folder:
        file = os.path.join(folder, "out")
        command("export", *options, "--output", file, recording)
        with open(file, "rb") as content:
            return content.read()


class Heap(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = sampan.run([sampan.TARGETS / "target_allocations", "known", ROUNDS, 5], ["--heap=4096"])
        cls.recording = cls.run_.recording
        cls.heap = sampan.report(cls.recording, "--heap")["heap"]

    def test_what_lives_is_a_possible_leak(self):
        leaked = [row for row in self.heap["possible_leaks"] if any("allocate_first" in name for name in row["stack"])]
        self.assertTrue(leaked)
        early = sum(row["early"]["bytes"] for row in leaked)
        all_early = sum(row["early"]["bytes"] / row["survived"] for row in leaked)
        # Draws of bursts weigh more than others, so the error is that of their weights. The blocks that are freed, seven
        # of eight, add a tenth: their weights count for an eighth each.
        deviation = 1.1 * sum((row["early"]["bytes_error"] / Z95) ** 2 for row in leaked) ** 0.5
        self.assertAlmostEqual(early, all_early / 8, delta=DEVIATIONS * deviation)

    def test_the_page_has_all_sections(self):
        page = command("report", "--heap", self.recording)
        for title in ("allocated ", "live ", "sampling ", "Functions, most live bytes first", "Possible leaks",
                      "Freed, most bytes first"):
            self.assertIn(title, page)
        self.assertIn("Call tree (", command("report", "--heap", "--tree", self.recording))
        allocated = command("report", "--heap=allocated", "--by", "thread", self.recording)
        self.assertIn("Threads, most self bytes first", allocated)

    def test_a_time_has_the_blocks_that_lived_then(self):
        whole = sampan.report(self.recording, "--heap")
        half = sampan.report(self.recording, "--heap", "--to", f"{whole['duration_s'] / 2:.3f}s")
        self.assertLess(half["heap"]["allocated"]["bytes"], whole["heap"]["allocated"]["bytes"])
        self.assertGreater(half["heap"]["allocated"]["bytes"], 0)

    def test_every_format_has_the_same_sum(self):
        live = self.heap["live"]["bytes"]
        rounding = self.heap["live"]["draws"] + 1  # each stack is rounded
        folded = export(self.recording, "--heap", "-f", "folded").decode()
        self.assertAlmostEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), live, delta=rounding)
        scope = json.loads(export(self.recording, "--heap", "-f", "speedscope"))
        self.assertAlmostEqual(sum(sum(profile["weights"]) for profile in scope["profiles"]), live, delta=rounding)
        self.assertEqual({profile["unit"] for profile in scope["profiles"]}, {"bytes"})

    def test_no_heap_is_a_sentence(self):
        plain = sampan.run(["true"])
        failed = subprocess.run([sampan.PROGRAM, "report", "--heap", plain.recording], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("record with `sampan run --heap`", failed.stderr)

    @unittest.skipUnless(shutil.which("go"), "go is not installed")
    def test_go_reads_the_four_types(self):
        with tempfile.NamedTemporaryFile(suffix=".pb.gz") as file:
            file.write(export(self.recording, "--heap", "-f", "pprof"))
            file.flush()
            raw = subprocess.run(["go", "tool", "pprof", "-raw", file.name], check=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True).stdout
            self.assertIn("alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]", raw)
            self.assertIn("Period: 4096", raw)
            sums = [0, 0, 0, 0]
            for line in raw[raw.index("Samples:"):raw.index("Locations")].splitlines():
                numbers = re.match(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+):", line)
                if numbers:
                    sums = [total + int(number) for total, number in zip(sums, numbers.groups())]
            allocated, live = self.heap["allocated"], self.heap["live"]
            for total, expected in zip(sums, (allocated["blocks"], allocated["bytes"], live["blocks"], live["bytes"])):
                self.assertAlmostEqual(total, expected, delta=allocated["draws"] + 1)
            top = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=alloc_space", file.name], check=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
            self.assertRegex(top, r"allocate_fifth")


class HeapOfSegments(unittest.TestCase):
    def test_each_file_has_what_lives(self):
        with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as folder:
            subprocess.run([sampan.PROGRAM, "run", "--quiet", "--heap=4096", "--continuous", "--rotate", "1s", "--output", folder,
                            "--", sampan.TARGETS / "target_allocations", "known", "20", "150"], check=True,
                           stdout=subprocess.PIPE)
            whole = next(pathlib.Path(folder).glob("*/segments"))
            # A file that begins just when the program has ended has nothing of it.
            files = [file for file in sorted(whole.glob("*.sampan")) if sampan.report(file)["threads"]]
            self.assertGreaterEqual(len(files), 3)
            heap = sampan.report(whole, "--heap")["heap"]
            last = sampan.report(files[-1], "--heap")["heap"]
            # Alone, the last file has every block that lives, and only its own allocations.
            self.assertEqual(last["live"]["draws"], heap["live"]["draws"])
            self.assertAlmostEqual(last["live"]["bytes"], heap["live"]["bytes"], delta=1e-6 * heap["live"]["bytes"])
            each = [sampan.report(file, "--heap")["heap"]["allocated"]["draws"] for file in files]
            self.assertEqual(sum(each), heap["allocated"]["draws"])
            self.assertGreater(each[0], 0)


class Locks(unittest.TestCase):
    def waits(self, kind, rounds):
        run = sampan.run([sampan.TARGETS / "target_locks", kind, rounds, 2000], ["--locks"])
        self.assertEqual(run.returncode, 0, run.stderr)
        return run, [[int(number) for number in line.split()] for line in run.stdout.decode().splitlines()]

    def test_the_lock_its_holder_and_its_time(self):
        run, rounds = self.waits("mutex", 50)
        recording = run.recording
        report = sampan.report(recording, "--locks")
        rows = [row for row in report["locks"]["table"] if row["name"].endswith("::mutex")]
        self.assertEqual(len(rows), 1, report["locks"]["table"])
        self.assertEqual(rows[0]["kind"], "mutex")
        self.assertGreaterEqual(rows[0]["waits"], 49.9)
        # The program measures more: also what it does before and after, and how long it has no CPU then.
        waited_s, queued_s = sum(row[2] for row in rounds) / 1e9, sum(row[3] for row in rounds) / 1e9
        self.assertLessEqual(rows[0]["waiting_s"], waited_s)
        self.assertGreaterEqual(rows[0]["waiting_s"], 0.95 * (waited_s - queued_s))
        held = [row for row in report["locks"]["blocked_by"] if row["lock"] == rows[0]["name"] and row["held_in"]]
        self.assertGreaterEqual(sum(row["waiting_s"] for row in held), 0.98 * rows[0]["waiting_s"])
        page = command("report", "--locks", recording)
        for text in ("Locks, most waited first", "Who waited for whom", "Who ended the waits", "mutex (anonymous namespace)::mutex"):
            self.assertIn(text, page)
        self.assertIn("all of 10.0µs and more", page)
        folded = export(recording, "--locks", "-f", "folded").decode()
        self.assertRegex(folded, r"wait_here.*;\[mutex .*::mutex\] \d+")
        microseconds = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
        self.assertAlmostEqual(microseconds, report["locks"]["waiting_s"] * 1e6, delta=len(folded.splitlines()) + 1)

    def test_a_lock_without_a_name_is_of_who_made_it(self):
        run, _ = self.waits("made_mutex", 10)
        names = [row["name"] for row in sampan.report(run.recording, "--locks")["locks"]["table"]]
        self.assertTrue(any(re.fullmatch(r"0x[0-9a-f]+ of .*make_mutex(\(\))?", name) for name in names), names)


if __name__ == "__main__":
    unittest.main()
