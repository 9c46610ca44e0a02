"""A process whose main thread has ended is looked at as any other: /proc/PID tells nothing of its memory then, and
/proc/PID/task/TID does."""
import os
import pathlib
import subprocess
import time
import unittest

import sampan
from profiled import command
from tolerances import unsampled_s

SECONDS = 1


class Leaders(sampan.Case):
    def check(self, run, least_s):
        report = run.report
        self.assertEqual(report["lost"], {})
        [process] = report["processes"]
        self.assertEqual(process["name"], "target_leader_ends")
        self.assertGreater(report["sampled_cpu_s"] + unsampled_s(3), least_s)
        hot = sum(row["total_s"] for row in report["functions"] if row["name"].endswith("outlives"))
        self.assertGreater(hot + unsampled_s(3), 0.5 * report["sampled_cpu_s"])
        self.assertGreaterEqual(report["complete_stacks"], 0.99)

    def cpu_s(self, pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def check_engine(self, engine, waits):
        with sampan.Piped(*command("leader_ends", *(["wait"] if waits else []))) as target:
            if not waits:
                self.assertEqual(target.line(), "ended\n")
            attached = sampan.Attached(target.pid, engine)
            begin_s = self.cpu_s(target.pid)
            if waits:
                target.go()
                self.assertEqual(target.line(), "ended\n")
            while self.cpu_s(target.pid) < begin_s + SECONDS:
                time.sleep(0.01)
            run = attached.stop()
        self.check(run, SECONDS - 0.02)  # the kernel shows hundredths

    def test_a_dump(self):
        with sampan.Piped(*command("leader_ends")) as target:
            self.assertEqual(target.line(), "ended\n")
            done = subprocess.run([sampan.PROGRAM, "dump", str(target.pid)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("target_leader_ends", done.stdout)
        self.assertIn("no stack: it has ended", done.stdout)
        self.assertRegex(done.stdout, r"(?s)survivor.* in start_thread")

    def test_a_top(self):
        with sampan.Piped(*command("leader_ends")) as target:
            self.assertEqual(target.line(), "ended\n")
            done = subprocess.run([sampan.PROGRAM, "top", "--once", "--look", "functions", str(target.pid)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("outlives", done.stdout)


for each in ("perf", "ptrace", "poll"):
    setattr(Leaders, f"test_attached_after_its_end_by_{each}", lambda self, engine=each: self.check_engine(engine, False))
    setattr(Leaders, f"test_that_ends_meanwhile_by_{each}", lambda self, engine=each: self.check_engine(engine, True))

if __name__ == "__main__":
    unittest.main()
