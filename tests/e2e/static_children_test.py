#!/usr/bin/env python3
"""Programs that take no shim, executed by one that has it: perf samples them from outside, where the kernel permits that;
elsewhere they are counted. Either way they run as alone."""
import subprocess
import unittest

import sampan
import seccomp
from tolerances import LOADER_S, unsampled_s

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) unsigned work(unsigned n) { unsigned s = 0; while (n--) s = s * 31 + n % 7; return s; }
int main(int c, char** v) { printf("%s %u\\n", getenv("GIVEN"), work(100000000)); return c; }
"""
# Each way in which Python starts a program: fork and exec, vfork and exec, posix_spawn; then this process becomes it.
PARENT = """
import os, subprocess, sys
program, env = sys.argv[1], {"GIVEN": "given"}
print(subprocess.run([program], env=env, preexec_fn=lambda: None).returncode, flush=True)
print(subprocess.run([program], env=env).returncode, flush=True)
print(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(program, [program], env), 0)[1]), flush=True)
os.execve(program, [program], env)
"""
PERF_EVENT_OPEN = 298


class StaticChildren(sampan.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.path / "program"
        (cls.path / "program.c").write_text(SOURCE)
        done = subprocess.run(["cc", "-O1", "-static", cls.path / "program.c", "-o", cls.program], check=False)
        if done.returncode != 0:
            raise unittest.SkipTest("NOT TESTED: the compiler makes no static programs here")
        cls.command = ["/usr/bin/python3", "-c", PARENT, cls.program]
        cls.alone = subprocess.run(list(map(str, cls.command)), stdout=subprocess.PIPE, text=True, check=False)

    def check(self, options=(), **keywords):
        run = sampan.run(self.command, options, text=True, delays=True, **keywords)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (self.alone.returncode, self.alone.stdout, ""))
        return run

    def test_sampled_by_perf(self):
        run = self.check(options=["--rate", "1000"])
        if "perf" not in run.report["sampling_clocks"]:
            self.skipTest("NOT TESTED: the kernel refuses perf_event_open")
        self.assertEqual(run.report["lost"], {})
        programs = run.threads("program")
        self.assertEqual(len(programs), 4, run.report["threads"])
        # posix_spawn tells of its child when that runs: what it uses until sampan looks is not sampled.
        for thread in programs:
            missing = thread["cpu_s"] - thread["sampled_cpu_s"] - unsampled_s(2) - LOADER_S - run.delayed_s
            self.assertLessEqual(missing, 0.1, thread)
        [work] = [row for row in run.report["functions"] if row["name"] == "work"]
        sampled = sum(thread["sampled_cpu_s"] for thread in programs)
        self.assertGreater(work["self_s"], 0.95 * sampled)
        self.assertIn("4 processes without the shim", subprocess.run(
            [sampan.PROGRAM, "report", run.recording], stdout=subprocess.PIPE, text=True, check=True).stdout)

    def test_counted_without_perf(self):
        run = self.check(preexec_fn=lambda: seccomp.refuse(PERF_EVENT_OPEN))
        self.assertEqual(run.report["lost"].get("process_static"), 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
