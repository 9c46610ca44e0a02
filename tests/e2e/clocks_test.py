"""Times and CPU are those of the machine: in a time namespace, and where somebody else's clocks stand before sampan's."""
import csv
import io
import os
import pathlib
import subprocess
import tempfile
import unittest

import sampan
from profiled import command
from tolerances import LOADER_S, unsampled_s

DAY_S = 86_400
WRONG_CLOCKS = sampan.TARGETS / "target_wrong_clocks.so"
SECONDS = 0.5


class TimeNamespace(sampan.Case):
    """CLOCK_MONOTONIC is another in a time namespace; all times of a recording are of one."""

    def setUp(self):
        words = ["unshare", "--time", "--fork", "--monotonic", "1000", "true"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"NOT TESTED: {done.stderr.strip()}")

    def check_times(self, offset, *options):
        run = sampan.run(["unshare", "--time", "--fork", "--monotonic", str(offset), "sh", "-c",
                          f"{command('other_loads')[0]} dlmopen {sampan.TARGETS}/libtarget_library.so; sleep 0.1"], options, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        done = subprocess.run([sampan.PROGRAM, "export", "--format", "csv-samples", "--output", "-", str(run.recording)],
                              stdout=subprocess.PIPE, text=True, check=True)
        times = [float(row["time_s"]) for row in csv.DictReader(io.StringIO(done.stdout)) if row["state"] == "cpu"]
        self.assertGreater(len(times), 10)
        self.assertGreater(max(times) - min(times), 0.5 * SECONDS)
        self.assertGreater(min(times), 0)
        self.assertLess(max(times), run.report["duration_s"])
        self.assert_whole(run)

    def test_far_ahead(self):
        self.check_times(1_000_000)

    def test_behind(self):
        self.check_times(-300)

    def test_with_the_drummer(self):
        self.check_times(1_000_000, "--rate", "1000", "--sampling-clock", "drum")

    def test_the_recorder_inside(self):
        words = ["unshare", "--time", "--fork", "--monotonic", "1000000"]
        with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as output:
            subprocess.run([*words, sampan.PROGRAM, "run", "--quiet", "--format", "none", "--output", output, "--",
                            *command("other_loads", "dlmopen", sampan.TARGETS / "libtarget_library.so")], check=True)
            [recording] = pathlib.Path(output).glob("*/recording.sampan")
            report = sampan.report(recording)
        self.assertGreater(report["sampled_cpu_s"] + unsampled_s(), SECONDS)
        self.assertLess(report["duration_s"], DAY_S)


class WrongClocks(sampan.Case):
    def test_outside(self):
        """faketime sampan run: sampan's clocks are the kernel's, whatever the C library's functions say."""
        run = sampan.run(command("other_loads", "dlmopen", sampan.TARGETS / "libtarget_library.so"),
                         env={"LD_PRELOAD": str(WRONG_CLOCKS)}, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        report = run.report
        # The library's namespace has a C library of its own, and true clocks.
        self.assertLess(report["cpu_s"], SECONDS + LOADER_S + unsampled_s())
        self.assertGreater(report["cpu_s"], SECONDS)
        self.assertLess(report["duration_s"], DAY_S / 100)
        self.assert_whole(run)

    def test_attached(self):
        for engine in ("perf", "ptrace", "poll"):
            with self.subTest(engine), sampan.Piped(*command("moved_code")) as target:
                self.assertEqual(target.line(), "moved\n")
                before = os.environ.get("LD_PRELOAD")
                os.environ["LD_PRELOAD"] = str(WRONG_CLOCKS)
                try:
                    attached = sampan.Attached(target.pid, engine, ["--duration", "1s"])
                finally:
                    del os.environ["LD_PRELOAD"]
                    if before is not None:
                        os.environ["LD_PRELOAD"] = before
                report = attached.finish().report
            self.assertGreater(report["duration_s"], 0.9)
            self.assertLess(report["cpu_s"], 2 * report["duration_s"])
            self.assertGreater(report["sampled_cpu_s"] + unsampled_s(), 0.9 * report["cpu_s"])


if __name__ == "__main__":
    unittest.main()
