"""sampan is killed while it is attached: the program goes on as if nothing had happened.

leaving_test.py [COUNT]: so many times, over all engines (9 in CI, 200 in `./dev test --long leaving`).
"""
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import sampan

ENGINES = ("perf", "ptrace", "poll")
COUNT = 9
TARGET = [str(sampan.TARGETS / "target_steady")]
MAKER = [str(sampan.TARGETS / "target_threads"), "short", "20000"]  # of 1 ms each: it is killed before it has made them all
IGNORED_BY_DEFAULT = {signal.SIGURG, signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT}
SEED = random.randrange(1 << 32)
RANDOM = random.Random(SEED)


def statuses(pid):
    """{tid: /proc/PID/task/TID/status as a dict} of the threads that exist."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            text = (task / "status").read_text(encoding="utf-8")
        except OSError:
            continue  # it has ended
        found[int(task.name)] = dict(line.split(":\t", 1) for line in text.splitlines()
                                     if ":\t" in line)
    return found


def cpu_ns(pid, tid):
    """CPU that the thread has used; 0 if it has ended."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/task/{tid}/schedstat").read_text(encoding="utf-8").split()[0])
    except (OSError, IndexError):
        return 0


def timers(pid):
    """[(signal, thread)] of the process's timers."""
    try:
        text = pathlib.Path(f"/proc/{pid}/timers").read_text(encoding="utf-8")
    except OSError:
        return []
    return re.findall(r"signal: (\d+)/.*\nnotify: \w+/\w+\.(\d+)", text)


class Leaving(sampan.Case):
    @classmethod
    def setUpClass(cls):
        cls.truth = subprocess.run(TARGET, stdout=subprocess.PIPE, check=True).stdout

    def assert_untouched(self, pid):
        """No thread is stopped, traced or has another signal mask. glibc blocks all signals while it makes a thread,
        so only a mask that stays counts: in so many looks, not counting those between which a thread that wants to
        run got no CPU."""
        looks, used_ns = {}, {}
        while max(looks.values(), default=0) < 50:
            now = {}
            for tid, status in statuses(pid).items():
                state, tracer, blocked = status["State"][0], status["TracerPid"], status["SigBlk"]
                if state in "tT" or tracer != "0" or int(blocked, 16):
                    before_ns, used_ns[tid] = used_ns.get(tid), cpu_ns(pid, tid)
                    suspect = (tid, state in "tT", tracer, blocked)
                    now[suspect] = looks.get(suspect, 0) + (state != "R" or used_ns[tid] != before_ns)
            looks = now
            if not looks:
                break
            time.sleep(0.002)
        self.assertFalse(looks, "seed %d" % SEED)
        for status in statuses(pid).values():
            self.assertEqual(int(status["SigIgn"], 16), 0)
            # glibc handles 32 and 33.
            self.assertEqual(int(status["SigCgt"], 16) & ~(0x180000000), 0)
        for number, _ in timers(pid):
            self.assertIn(int(number), IGNORED_BY_DEFAULT)

    def attach(self, pid, engine, output):
        return subprocess.Popen(
            [sampan.PROGRAM, "attach", "--engine", engine, "--rate", "250", "--quiet", "--format",
             "none", "--output", output, str(pid)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def interrupt(self, tracer):
        """As Ctrl-C does, some time after sampan has begun to expect it."""
        blocked = 0  # from then on it is read from a descriptor
        while not blocked & 1 << (signal.SIGINT - 1):
            self.assertIsNone(tracer.poll())
            status = pathlib.Path(f"/proc/{tracer.pid}/status").read_text()
            blocked = int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16)
            time.sleep(0.002)
        time.sleep(RANDOM.uniform(0.1, 0.25))
        tracer.send_signal(signal.SIGINT)

    def check_kills(self, engine):
        for _ in range((COUNT + len(ENGINES) - 1) // len(ENGINES)):
            with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as output, \
                    subprocess.Popen(TARGET, stdout=subprocess.PIPE) as target:
                time.sleep(0.02)
                tracer = self.attach(target.pid, engine, output)
                time.sleep(RANDOM.uniform(0, 0.4))
                tracer.send_signal(signal.SIGKILL)
                tracer.wait()
                if target.poll() is None:
                    self.assert_untouched(target.pid)
                out, _ = target.communicate(timeout=60)
                self.assertEqual(target.returncode, 0, f"seed {SEED}")
                self.assert_result(out, engine)

    def assert_result(self, out, engine):
        # If sampan dies during a poll or its first look, no one restarts the interrupted call: once at most.
        lines = out.split(b"\n")
        self.assertEqual(lines[0], self.truth.split(b"\n")[0])
        self.assertLessEqual(int(lines[1].split()[1]), 0 if engine == "perf" else 1)

    def test_killed_with_perf(self):
        self.check_kills("perf")

    def test_killed_with_ptrace(self):
        self.check_kills("ptrace")

    def test_killed_with_poll(self):
        self.check_kills("poll")

    def test_detached_with_each(self):
        for engine in ENGINES:
            with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as output, \
                    subprocess.Popen(TARGET, stdout=subprocess.PIPE) as target:
                tracer = self.attach(target.pid, engine, output)
                self.interrupt(tracer)
                self.assertEqual(tracer.wait(timeout=30), 0)
                if target.poll() is None:
                    self.assert_untouched(target.pid)
                    self.assertEqual(timers(target.pid), [])
                out, _ = target.communicate(timeout=60)
                self.assertEqual(target.returncode, 0)
                self.assertEqual(out, self.truth)

    def test_detached_while_threads_are_made(self):
        """And timers for them: sampan deletes one that it was making, too. Without that one detach in ten left one."""
        for _ in range(max(10, COUNT // 2)):
            with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as output, \
                    subprocess.Popen(MAKER, stdout=subprocess.DEVNULL) as target:
                tracer = self.attach(target.pid, "ptrace", output)
                self.interrupt(tracer)
                status = tracer.wait(timeout=30)
                left = timers(target.pid)
                self.assertIsNone(target.poll())
                target.kill()
                self.assertEqual((status, left), (0, []), f"seed {SEED}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        COUNT = int(sys.argv.pop(1))
    unittest.main(verbosity=2)
