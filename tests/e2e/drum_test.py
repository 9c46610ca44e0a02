"""The drummer: rates above the kernel's tick where perf_event_open is refused, as in containers."""
import os
import platform
import subprocess
import unittest

import sampan
import seccomp
from profiled import command, profiled
from sleepers_test import interrupted

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[platform.machine()]
SPIN = """
import time
end = time.thread_time() + 1.5
while time.thread_time() < end: sum(range(1000))
"""
# For this program, /proc/PID/task/TID/syscall is root's.
UNDUMPABLE = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" + SPIN


def refused(words, rate, **keywords):
    return sampan.run(words, ["--rate", str(rate), "--max-overhead", "none"], text=True,
                      preexec_fn=lambda: seccomp.refuse(PERF_EVENT_OPEN), **keywords)


class Drum(sampan.Case):
    def check_rate(self, report):
        [thread] = report["threads"]
        # Beats come by the clock on the wall. On a busy machine the drummer may have to wait for a CPU.
        self.assertGreater(thread["samples"], 0.7 * 1000 * thread["cpu_s"])
        self.assertGreater(thread["sampled_cpu_s"], 0.95 * thread["cpu_s"])

    def test_a_kilohertz_without_perf_events(self):
        run = refused(["/usr/bin/python3", "-c", SPIN], 1000)
        self.assertEqual((run.returncode, run.stderr, run.report["lost"]), (0, "", {}))
        self.assertEqual(run.report["sampling_clocks"], ["drum"])
        self.check_rate(run.report)

    def test_calls_are_not_cut_short(self):
        for rate in (1000, 4000):
            with self.subTest(rate):
                run = refused(command("blocking_calls", 2), rate)
                self.assertEqual((run.returncode, run.report["lost"]), (0, {}))
                calls = interrupted(run.stdout)
                self.assertEqual(calls, dict.fromkeys(calls, 0))

    def test_a_program_whose_threads_may_not_be_asked(self):
        if os.geteuid() != 0:
            self.skipTest("NOT TESTED: only root can become another user")
        self.path.chmod(0o777)
        words = [*sampan.ORDINARY_USER, sampan.PROGRAM, "run", "--quiet", "--format", "none", "--rate", "1000", "--max-overhead", "none",
                 "--sampling-clock", "drum", "--output", self.path / "out", "--", "/usr/bin/python3", "-c", UNDUMPABLE]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        [recording] = (self.path / "out").glob("*/recording.sampan")
        self.check_rate(sampan.report(recording))

    def test_images_that_nothing_sees_coming(self):
        run = profiled("raw_exec", 40, rate=4000, env={"SAMPAN_SAMPLING_CLOCK": "drum"})
        self.assertEqual((run.status, run.out), (0, "right\n"), run.err)
        self.assertGreater(run.sampled_cpu(), 0)

    def test_real_programs_give_what_they_give_alone(self):
        words = ["sh", "-c", "head -c 8000000 /usr/bin/python3.* | xz -T2 | sha256sum"]
        self.need("xz")
        alone = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
        run = refused(words, 4000)
        self.assertEqual((run.returncode, run.stdout), (0, alone), run.stderr)
        self.assertGreater(run.report["samples"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
