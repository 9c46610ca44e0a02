"""Blocking calls are not interrupted while sampan is attached at 250 Hz, with each engine. A stopped program stays
stopped until it is continued."""
import os
import signal
import subprocess
import tempfile
import time
import unittest

import sampan
from profiled import bare, command
from sleepers_test import interrupted

ENGINES = ("perf", "ptrace", "poll")


class AttachSleepers(sampan.Case):
    def attached(self, engine, pid):
        output = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
        self.addCleanup(output.cleanup)
        return subprocess.Popen(
            [sampan.PROGRAM, "attach", "--engine", engine, "--rate", "250", "--quiet", "--format",
             "none", "--output", output.name, str(pid)], stderr=subprocess.PIPE)

    def test_blocking_calls(self):
        truth = interrupted(bare("blocking_calls", 1).out)
        for engine in ENGINES:
            with self.subTest(engine=engine), \
                    subprocess.Popen(command("blocking_calls", 2), stdout=subprocess.PIPE,
                                     text=True) as target, \
                    self.attached(engine, target.pid) as tracer:
                out, _ = target.communicate(timeout=60)
                self.assertEqual(tracer.wait(timeout=30), 0, tracer.stderr.read())
                calls = interrupted(out)
                # A thread that is interrupted may have written a part: docs/attaching.md#the-poll-engine. By ptrace, once.
                short = calls.pop("write")
                self.assertTrue(engine == "poll" or short <= (engine == "ptrace"), (engine, short))
                self.assertEqual(calls, {name: truth[name] for name in calls})

    def test_job_control(self):
        for engine in ENGINES:
            with self.subTest(engine=engine), \
                    subprocess.Popen(command("steady"), stdout=subprocess.PIPE) as target, \
                    self.attached(engine, target.pid) as tracer:
                time.sleep(0.2)
                os.kill(target.pid, signal.SIGSTOP)
                # Its parent is told, as without sampan.
                self.assertTrue(os.WIFSTOPPED(os.waitpid(target.pid, os.WUNTRACED)[1]))
                os.kill(target.pid, signal.SIGCONT)
                target.communicate(timeout=60)
                self.assertEqual(target.returncode, 0)
                self.assertEqual(tracer.wait(timeout=30), 0, tracer.stderr.read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
