"""Processes that cannot be profiled: a sentence that names the rule, and exit status 1."""
import ctypes
import json
import os
import signal
import subprocess
import tempfile
import unittest

import sampan
from seccomp import refuse

NOBODY = 65534
PR_SET_DUMPABLE = 4
SYS_PTRACE, SYS_PERF_EVENT_OPEN = 101, 298
libc = ctypes.CDLL(None, use_errno=True)


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


class Refusals(sampan.Case):
    def refused(self, pid, *options, before=None):
        with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as output:
            os.chmod(output, 0o777)
            done = subprocess.run(
                [sampan.PROGRAM, "attach", "--duration", "0.2", "--format", "none", "--output",
                 output, *options, str(pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=before, text=True, timeout=60, check=False)
            if done.returncode:
                self.assertEqual(os.listdir(output), [], "something was left behind")
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def sleeper(self, before=None):
        process = subprocess.Popen(["sleep", "60"], preexec_fn=before)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def needs_root(self):
        if os.getuid() != 0:
            self.skipTest("only root can be another user")

    def test_no_such_process(self):
        self.assertIn("there is no process 4194303", self.refused(4194303))
        self.assertIn("there is no process called no-such-name", self.refused("no-such-name"))

    def test_kernel_thread(self):
        if open("/proc/2/comm", encoding="utf-8").read() != "kthreadd\n":
            self.skipTest("in a pid namespace without the kernel's threads")
        self.assertIn("thread of the kernel", self.refused(2))

    def test_zombie(self):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        text = self.refused(pid)
        os.waitpid(pid, 0)
        self.assertIn("has ended; its parent", text)

    def test_sampan_itself(self):
        done = subprocess.run(["sh", "-c", f"exec {sampan.PROGRAM} attach $$"],
                              stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("sampan itself", done.stderr)

    def test_another_user(self):
        self.needs_root()
        text = self.refused(self.sleeper(), before=as_nobody)
        self.assertEqual(text.count("belongs to another user (root (0), sampan runs as nobody"), 1, text)

    def test_not_dumpable(self):
        self.needs_root()
        ready, says_so = os.pipe()
        pid = os.fork()
        if pid == 0:
            as_nobody()
            libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
            os.write(says_so, b"x")
            signal.pause()
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        os.read(ready, 1)
        text = self.refused(pid, before=as_nobody)
        self.assertIn("is not dumpable", text)

    def test_traced_by_another(self):
        pid = self.sleeper()
        tracer = os.fork()
        if tracer == 0:
            libc.ptrace(0x4206, pid, 0, 0)  # PTRACE_SEIZE
            signal.pause()
        self.addCleanup(os.waitpid, tracer, 0)
        self.addCleanup(os.kill, tracer, signal.SIGKILL)
        while f"TracerPid:\t{tracer}\n" not in open(f"/proc/{pid}/status", encoding="utf-8").read():
            pass
        self.assertRegex(self.refused(pid, "--engine", "ptrace"),
                         rf"is being traced by process {tracer} \(python3.*only one tracer")

    def test_filter_against_perf(self):
        text = self.refused(self.sleeper(), "--engine", "perf",
                            before=lambda: refuse(SYS_PERF_EVENT_OPEN))
        self.assertRegex(text, "seccomp filter .* refuses perf_event_open")

    def test_filter_against_ptrace(self):
        for engine in ("ptrace", "poll"):
            text = self.refused(self.sleeper(), "--engine", engine,
                                before=lambda: refuse(SYS_PTRACE))
            self.assertRegex(text, "seccomp filter .* refuses ptrace")

    def test_filter_against_both_names_both(self):
        text = self.refused(self.sleeper(),
                            before=lambda: refuse(SYS_PTRACE, SYS_PERF_EVENT_OPEN))
        self.assertRegex(text, "(?s)refuses perf_event_open.*refuses ptrace")

    def test_ptrace_scope(self):
        try:
            scope = open("/proc/sys/kernel/yama/ptrace_scope", encoding="utf-8").read().strip()
        except OSError:
            self.skipTest("this kernel has no yama")
        if scope == "0" or os.getuid() == 0:
            self.skipTest(f"ptrace_scope {scope} does not restrict this user")
        self.assertIn(f"ptrace_scope is {scope}", self.refused(self.sleeper(), "--engine", "ptrace"))

    def test_doctor_says_ok_of_nothing_that_it_cannot_read(self):
        self.needs_root()
        done = subprocess.run([sampan.PROGRAM, "doctor", "--json", str(self.sleeper())], stdout=subprocess.PIPE, text=True,
                              preexec_fn=as_nobody, check=False)
        found = json.loads(done.stdout)
        unknown = {row["subject"]: row["good"] for row in found["findings"] + found["modules"] if "not known" in row["verdict"]}
        self.assertEqual(unknown, {"glibc fast path": False, "RLIMIT_SIGPENDING": False, "modules": False})

    def test_doctor_finds_the_filter(self):
        done = subprocess.run([sampan.PROGRAM, "doctor"], stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: refuse(SYS_PERF_EVENT_OPEN), check=False)
        self.assertEqual(done.returncode, 0)  # ptrace is left
        self.assertRegex(done.stdout, r"(?s)no perf engine.*refuses perf_event_open.*ok ptrace")


if __name__ == "__main__":
    unittest.main(verbosity=2)
