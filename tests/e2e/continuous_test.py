"""Recordings of several files. The program computes in step<0>, step<1>, … one after the other, and says when the
first begins."""
import collections
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import sampan
import stalls
from tolerances import Delays, unsampled_s

PROGRAM = sampan.TARGETS / "target_clockwork"
# A thread computes for a quarter of the time: 30 samples of each step at the usual rate, and fewer on a busy
# machine.
STEP_S = 0.5


class Clockwork:
    """The program under `sampan run`, in a directory of its own."""

    def __init__(self, options, arguments, env=None, prefix=(), preexec=None):
        self.folder = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
        count = int(arguments[0]) * int(arguments[1])
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [*prefix, sampan.PROGRAM, "run", "--output", self.folder.name, *map(str, options), "--", PROGRAM,
             *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
            preexec_fn=preexec)
        self.threads = [self.process.stdout.readline().split() for _ in range(count)]
        if not all(self.threads):
            raise AssertionError(self.process.stderr.read())
        self.begin = float(self.threads[0][2])

    @property
    def directory(self):
        return next(pathlib.Path(self.folder.name).iterdir())

    @property
    def pids(self):
        return sorted({int(pid) for pid, _, _ in self.threads})

    def sleep_until_step(self, step):
        time.sleep(max(0, self.begin + step * STEP_S - time.monotonic()))

    def finish(self):
        self.stdout, self.stderr = self.process.communicate(timeout=60)
        return self.process.returncode


def samples_of_steps(recording, tid=None):
    """{step: samples} of the steps that have any."""
    report = sampan.report(recording, *(["--thread", str(tid)] if tid else []))
    found = collections.Counter()
    for function in report["functions"]:
        if match := re.match(r"(?:.*::)?step<(\d+)>", function["name"]):
            found[int(match[1])] += function["total_samples"]
    return found


def steps_of(recording, tid=None):
    return sorted(samples_of_steps(recording, tid))


class Continuous(sampan.Case):
    @stalls.measures_time("knows by the clock which step a segment has")
    def test_segments_join_to_what_one_file_would_have(self):
        program = Clockwork(["--continuous", "--rotate", "1s", "--rate", 250], [2, 2, STEP_S, "exit", 3.9])
        self.assertEqual(program.finish(), 0)
        segments = sorted((program.directory / "segments").iterdir())
        self.assertGreaterEqual(len(segments), 4)
        self.assertFalse((program.directory / "profile.html").exists())
        self.assertIn(f"sampan report {program.directory}", program.stderr)
        self.assertIn("sampan export", program.stderr)
        whole = sampan.report(program.directory)
        self.assertEqual(whole["damage"], [])
        self.assertEqual(len(whole["processes"]), 2)
        tids = {int(tid) for _, tid, _ in program.threads}
        self.assertLessEqual(tids, {thread["tid"] for thread in whole["threads"]})
        self.assertEqual(len(whole["threads"]), len({thread["tid"] for thread in whole["threads"]}))
        for thread in whole["threads"]:
            if thread["tid"] in tids:
                self.assert_cpu_agrees(thread, share=0.05)
        self.assertEqual(steps_of(program.directory), list(range(8)))
        parts = [sampan.report(segment) for segment in segments]
        for key in ("samples", "sampled_cpu_s", "cpu_s"):
            self.assertAlmostEqual(sum(part[key] for part in parts), whole[key], delta=0.002)
        self.assertAlmostEqual(sum(part["duration_s"] for part in parts), whole["duration_s"], delta=0.01)
        for part in parts:
            # The last one is short; each of the others has all threads.
            if part["duration_s"] < 0.9:
                continue
            self.assertLessEqual(tids, {thread["tid"] for thread in part["threads"]})
            # CPU belongs to the segment of its sample; a thread's CPU since its last sample is in the next one.
            carried_s = unsampled_s(len(part["threads"]))
            self.assertLessEqual(part["sampled_cpu_s"], part["cpu_s"] * 1.02 + carried_s)
            self.assertGreaterEqual(part["sampled_cpu_s"] + carried_s, 0.9 * part["cpu_s"])

    @stalls.measures_time("knows by the clock which step a segment has")
    def test_the_oldest_are_removed(self):
        program = Clockwork(["--continuous", "--rotate", "1s", "--keep", "2s", "--quiet"],
                            [1, 1, STEP_S, "exit", 4.9])
        self.assertEqual(program.finish(), 0)
        numbers = sorted(int(file.stem) for file in (program.directory / "segments").iterdir())
        self.assertLessEqual(len(numbers), 4)
        self.assertGreaterEqual(numbers[0], 2)
        self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)))
        report = sampan.report(program.directory)
        self.assertLess(report["duration_s"], 4)
        self.assertEqual(report["damage"], [])
        steps = steps_of(program.directory)
        self.assertNotIn(0, steps)
        self.assertIn(9, steps)

    @stalls.measures_time("knows by the clock which step a segment has")
    def test_a_flush_ends_the_segment(self):
        program = Clockwork(["--continuous", "--quiet"], [1, 2, STEP_S, "exit", 3.4])
        program.sleep_until_step(3)
        done = subprocess.run([sampan.PROGRAM, "ctl", str(program.pids[0]), "flush"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        first = program.directory / "segments" / "000000.sampan"
        self.assertIn(str(first), done)
        self.assertIn(steps_of(first)[-1], (2, 3))
        self.assertNotIn("damage", sampan.report(first)["notes"])
        program.sleep_until_step(5)
        program.process.send_signal(signal.SIGUSR1)
        self.assertEqual(program.finish(), 0)
        self.assertIn("what was recorded so far is in", program.stderr)
        self.assertIn("000001.sampan", program.stderr)
        self.assertEqual(len(list((program.directory / "segments").iterdir())), 3)
        self.assertEqual(steps_of(program.directory), list(range(7)))

    def test_by_the_environment_and_without_the_launcher(self):
        with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as folder:
            shim = pathlib.Path(sampan.PROGRAM).parent / "libsampan_preload.so"
            subprocess.run([PROGRAM, "1", "1", str(STEP_S), "exit", "2.4"], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL,
                           env={**os.environ, "LD_PRELOAD": str(shim), "SAMPAN": "1", "SAMPAN_CONTINUOUS": "1",
                                "SAMPAN_ROTATE": "1s", "SAMPAN_OUTPUT": folder, "SAMPAN_QUIET": "1"})
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                directories = list(pathlib.Path(folder).iterdir())
                if directories and not sampan.report(directories[0])["notes"]:
                    break
                time.sleep(0.2)
            self.assertGreaterEqual(len(list((directories[0] / "segments").iterdir())), 2)
            self.assertEqual(steps_of(directories[0]), list(range(5)))

    @stalls.measures_time("knows by the clock how long each thread has lived")
    def test_from_outside(self):
        target = subprocess.Popen([PROGRAM, "1", "2", str(STEP_S), "exit", "4"], stdout=subprocess.PIPE, text=True)
        tids = [int(target.stdout.readline().split()[1]) for _ in range(2)]
        with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as folder:
            attach = subprocess.Popen([sampan.PROGRAM, "attach", "--continuous", "--rotate", "1s", "--quiet", "--clock",
                                       "wall", "--output", folder, str(target.pid)], stderr=subprocess.PIPE, text=True)
            delays = Delays(attach.pid)
            stderr = attach.communicate()[1]
            late_s = 0.4 + delays.finish()
            target.communicate()
            if "cannot be sampled" in stderr:
                self.skipTest(f"the kernel refuses: {stderr}")
            self.assertEqual((attach.returncode, stderr), (0, ""))
            directory = next(pathlib.Path(folder).iterdir())
            segments = sorted((directory / "segments").iterdir())
            self.assertGreaterEqual(len(segments), 3)
            whole = sampan.report(directory)
            parts = [sampan.report(segment) for segment in segments]
            self.assertLessEqual(set(range(2, 7)), set(steps_of(directory)))
            for key in ("sampled_cpu_s", "waiting_s"):
                self.assertAlmostEqual(sum(part[key] for part in parts), whole[key], delta=0.002)
            for tid in tids:
                # Each second has a second of each thread, on CPU, waiting, or in the queue. What sampan reads late
                # is in the next part, so all parts together miss no more than one part does.
                missing = 0
                for part in parts[1:-1]:
                    thread = next(thread for thread in part["threads"] if thread["tid"] == tid)
                    lived = thread["sampled_cpu_s"] + thread["waiting_s"] + thread["runnable_s"]
                    self.assertAlmostEqual(lived, part["duration_s"], delta=late_s)
                    missing += part["duration_s"] - lived
                self.assertAlmostEqual(missing, 0, delta=late_s)

    def test_what_makes_no_sense_is_refused(self):
        for options, text in ((["--rotate", "10m"], "--continuous"), (["--continuous", "--keep", "10"], "--keep takes"),
                              (["--continuous", "--black-box", "3s"], "either"),
                              (["--black-box", "3M"], "--black-box takes a time")):
            result = subprocess.run([sampan.PROGRAM, "run", *options, "--", "true"], text=True, cwd=self.path,
                                    stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main()
