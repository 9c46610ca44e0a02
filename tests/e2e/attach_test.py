"""Programs whose CPU is known, sampled from outside: attach_test.py ENGINE [TEST...]

The engine runs as root, if this is root, and as an ordinary user on a process of its own.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import ends_test
import profiled
import sampan
import stalls
from tolerances import share_noise, unsampled_s

ENGINE = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "perf"
# perf samples at the rate, which no other clock of the machine has; other engines at the kernel's tick at most.
RATE = 487 if ENGINE == "perf" else 250
# poll does not see what a thread does between two looks.
EXACT = ENGINE != "poll"
WATCHED_THREADS = {"target_watched", "worker-1", "worker-2", "sleeper"}


def attached(name, *arguments, options=(), prefix=()):
    done, run = sampan.run_attached(profiled.command(name, *arguments), ENGINE,
                                    ["--rate", RATE, *options], prefix)
    return profiled.Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(), run)


class Attach(sampan.Case):
    def check_shares(self, prefix=()):
        outcome = attached("shares", 3, prefix=prefix)
        self.assertEqual((outcome.status, outcome.run.returncode), (0, 0), outcome.run.stderr)
        true = outcome.numbers("thread")
        all_sampled = sum(outcome.sampled_cpu(name) for name in true)
        missing = unsampled_s(len(true)) + outcome.run.delayed_s
        for name, cpu in true.items():
            threads = outcome.threads(name)
            self.assertEqual(len(threads), 1, name)
            # The end of each thread may be missing, on either side of the share, and what a sampler missed that
            # waited for a CPU.
            wanted = cpu / sum(true.values())
            self.assertLess(abs(outcome.sampled_cpu(name) / all_sampled - wanted), 0.01 + missing / all_sampled, name)
            if EXACT:
                self.assert_cpu_agrees(threads[0], beyond_s=outcome.run.delayed_s)
                self.assertLess(abs(threads[0]["cpu_s"] - cpu), 0.01 * cpu + unsampled_s() + outcome.run.delayed_s)
        functions = {"ten_percent": 0.1, "twenty_percent": 0.2, "thirty_percent": 0.3,
                     "forty_percent": 0.4}
        seconds = {name: outcome.seconds_in(name) for name in functions}
        samples = sum(thread["samples"] for name in true for thread in outcome.threads(name))
        for name, wanted in functions.items():
            # A late sample stands for more than others: for all that its thread did meanwhile.
            share = seconds[name] / sum(seconds.values())
            noise = share_noise(wanted, samples) + missing / all_sampled
            self.assertLess(abs(share - wanted), noise, f"{name}: {share}")
        self.assertGreaterEqual(outcome.report["complete_stacks"], 0.99)
        self.assert_lost_little(outcome)

    def assert_lost_little(self, outcome):
        """The kernel's ring of an ordinary user is small: samples that come while sampan waits for a CPU may find it full."""
        lost = dict(outcome.report["lost"])
        full = lost.pop("engine_ring_full", 0)
        self.assertEqual(lost, {})
        self.assertLessEqual(full, RATE * os.cpu_count() * outcome.run.delayed_s)

    @stalls.measures_time("compares sampled CPU with the threads' clocks")
    def test_shares(self):
        self.check_shares()

    @stalls.measures_time("compares sampled CPU with the threads' clocks")
    def test_shares_as_an_ordinary_user(self):
        if os.geteuid() != 0:
            self.skipTest("the other tests run as an ordinary user already")
        self.check_shares(sampan.ORDINARY_USER)

    def check_end(self, kind, options=()):
        outcome = attached("ends", kind, options=options)
        self.assertEqual(outcome.status, ends_test.STATUS[kind], outcome.err)
        self.assertEqual(len(outcome.out.splitlines()), ends_test.images(kind))
        self.assertEqual(outcome.run.returncode, 0, outcome.run.stderr)
        used = sum(outcome.numbers("cpu").values())
        threads = len(outcome.report["threads"])
        self.assertGreaterEqual(outcome.sampled_cpu() + self.missing_s(outcome, threads), (0.95 if EXACT else 0.5) * used)
        # The shell that waited and the loader use CPU that the program does not count.
        self.assertLessEqual(outcome.sampled_cpu(), 1.02 * used + unsampled_s())
        return outcome

    def missing_s(self, outcome, threads):
        """CPU without a sample at the end of so many threads. While the sampler waits for a CPU, threads may go on
        to their end on all others."""
        return unsampled_s(threads) + outcome.run.delayed_s * os.cpu_count()

    @stalls.measures_time("compares sampled CPU with the process's clock")
    def test_its_exit_status_is_seen(self):
        page = self.check_end("exit").run.stderr.decode()
        self.assertIn("exit status 3", page)
        self.assertRegex(page, rf"engine +{ENGINE}\b")

    @stalls.measures_time("compares sampled CPU with the process's clock")
    def test_killed_while_sampling_begins(self):
        """There is a readable recording, of whatever there was, unless the process was gone before sampan looked."""
        commands = []
        for step in range(20):
            with subprocess.Popen(["sleep", "60"]) as target, tempfile.TemporaryDirectory(prefix="sampan-e2e-") as output:
                attach = subprocess.Popen([sampan.PROGRAM, "attach", "--engine", ENGINE, "--format", "none", "--output", output,
                                           str(target.pid)], stderr=subprocess.PIPE, text=True)
                time.sleep(step / 100)
                target.kill()
                _, said = attach.communicate(timeout=60)
                recordings = list(pathlib.Path(output).glob("*/recording.sampan"))
                if attach.returncode == 1 and ENGINE == "perf":
                    self.assertRegex(said, "there is no process|has ended; its parent", step)
                elif attach.returncode == 1:
                    self.assertRegex(said, "there is no process|has ended; its parent|cannot be sampled", step)
                self.assertEqual((attach.returncode, len(recordings)), (0, 1) if recordings else (1, 0), (step, said))
                if recordings:  # a process that is gone when its command is asked for has its pid for a name
                    commands.append(sampan.report(recordings[0])["command"])
                    self.assertIn(commands[-1], (["sleep", "60"], [f"pid {target.pid}"]))
        self.assertIn(["sleep", "60"], commands)

    def test_killed_while_attached(self):
        self.assertIn("killed by SIGKILL", self.check_end("sigkill").run.stderr.decode())

    @stalls.measures_time("compares sampled CPU with the process's clock")
    def test_leader_exits_before_its_threads(self):
        outcome = self.check_end("pthread_exit")
        # It begins when the main thread has ended.
        self.assertGreater(outcome.sampled_cpu("survivor") + self.missing_s(outcome, 1),
                           (0.95 if EXACT else 0.4) * ends_test.SECONDS)

    @stalls.measures_time("compares sampled CPU with the process's clock")
    def test_exec_in_the_target(self):
        outcome = self.check_end("exec")
        for name in ("worker-a", "worker-b"):
            self.assertEqual(len(outcome.threads(name)), 2, "one of each image")
        # The shell that waited is the first.
        self.assertEqual(len(outcome.report["processes"]), 3)

    @stalls.measures_time("compares sampled CPU with the process's clock")
    def test_forked_children_only_with_follow(self):
        outcome = attached("ends", "fork-exit")
        self.assertEqual({p["pid"] for p in outcome.report["processes"]},
                         {outcome.report["processes"][0]["pid"]})
        outcome = self.check_end("fork-exit", ["--follow"])
        self.assertEqual(len({p["pid"] for p in outcome.report["processes"]}), 2)
        for name in ("worker-a", "worker-b"):
            self.assertEqual(len(outcome.threads(name)), 2)

    def test_thread_storm(self):
        """Threads that come and go at 5,000 a second, and more."""
        count = 10_000 if ENGINE == "perf" else 2_000  # a tracer stops each of them, on a busy machine slowly
        outcome = attached("threads", "short", count, 100)
        self.assertEqual(outcome.status, 0, outcome.err)
        report = outcome.report
        if ENGINE == "perf":
            # Every thread is known, whether a sample met it or not. The CPU that they used is known only as a sum:
            # no single one lives long enough to be asked.
            self.assertEqual(len(report["threads"]), count + 2)
            self.assertGreaterEqual(report["cpu_s"], 0.95 * outcome.numbers("threads")[""])
            self.assertEqual(report["lost"], {})

    def watched(self):
        """A program that computes in two of its four threads, all of which have their names."""
        target = subprocess.Popen(profiled.command("watched", 300, 0), stdout=subprocess.DEVNULL)
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        tasks = pathlib.Path(f"/proc/{target.pid}/task")
        while {(task / "comm").read_text().strip() for task in tasks.iterdir()} != WATCHED_THREADS:
            time.sleep(0.01)
        return target

    def cpu_ns(self, target):
        """CPU that its threads have used so far."""
        tasks = pathlib.Path(f"/proc/{target.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())

    def sampled_for(self, cpu_s, target):
        """The Run of an attach that lasts until the target has used so much CPU."""
        attached = sampan.Attached(target.pid, ENGINE, ["--rate", RATE])
        end_ns = self.cpu_ns(target) + cpu_s * 1e9
        while self.cpu_ns(target) < end_ns:
            time.sleep(0.01)
        return attached.stop()

    def test_detaches(self):
        target = self.watched()
        run = sampan.Attached(target.pid, ENGINE, ["--duration", 0.7]).finish()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(", detached\n", run.stderr.decode())
        run = self.sampled_for(0.3, target)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(run.report["samples"], 0)
        # It goes on.
        self.assertIsNone(target.poll())
        before = self.cpu_ns(target)
        while self.cpu_ns(target) == before:
            time.sleep(0.01)

    def test_threads_that_were_there_and_names_they_take(self):
        target = self.watched()
        run = self.sampled_for(0.3, target)
        self.assertEqual({t["name"] for t in run.report["threads"]}, WATCHED_THREADS)
        self.assertGreater(run.report["samples"], 0)
        self.assertGreaterEqual(run.report["complete_stacks"], 0.99)

    def test_a_late_thread_that_only_sleeps_has_the_name_it_took(self):
        program = ("import ctypes, threading, time\n"
                   "def late():\n"
                   "    time.sleep(0.1)\n"  # after sampan has seen it
                   "    ctypes.CDLL(None).prctl(15, b'late')\n"
                   "    time.sleep(2.5)\n"
                   "time.sleep(3.6)\n"  # until names are looked at each fourth second only
                   "thread = threading.Thread(target=late); thread.start(); thread.join()\n")
        _, run = sampan.run_attached(["python3", "-c", program], ENGINE, ["--clock", "wall"])
        self.assertEqual([thread["name"] for thread in run.report["threads"] if thread["name"] == "late"], ["late"])

    def test_threads_that_wait_for_all_signals_get_none_of_ours(self):
        program = ("import signal, time\n"
                   "every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}\n"
                   "signal.pthread_sigmask(signal.SIG_BLOCK, every)\n"
                   "print('ready', flush=True)\n"
                   "end = time.process_time() + 0.7\n"
                   "taken = []\n"
                   "while time.process_time() < end:\n"
                   "    sum(range(1000))\n"
                   "    if signal.sigtimedwait(every, 0) is not None: taken.append(1)\n"
                   "print(len(taken))\n")
        target = subprocess.Popen(["python3", "-c", program], stdout=subprocess.PIPE, text=True)
        self.addCleanup(target.wait)
        self.assertEqual(target.stdout.readline(), "ready\n")
        run = sampan.Attached(target.pid, ENGINE, ["--rate", RATE]).finish()
        self.assertEqual(target.stdout.read(), "0\n")
        self.assertGreater(run.report["samples"], 0)

    @stalls.measures_time("the memory for samples lasts for the quarter of a second that sampan is stopped")
    def test_sampan_waits_for_a_cpu(self):
        if ENGINE != "perf" or os.geteuid() != 0:
            self.skipTest("only perf samples while sampan is stopped, and only root has the memory for so many samples")
        target = subprocess.Popen(profiled.command("shares", 2), stdout=subprocess.PIPE)
        self.addCleanup(target.communicate)
        attach = sampan.Attached(target.pid, ENGINE, ["--rate", 1000])
        for _ in range(3):
            time.sleep(0.1)
            attach.sampan.send_signal(signal.SIGSTOP)
            time.sleep(0.25)
            attach.sampan.send_signal(signal.SIGCONT)
        run = attach.finish()
        self.assertEqual(run.report["lost"], {})

    def test_sampan_is_killed(self):
        target = subprocess.Popen(profiled.command("ends", "exit"), stdout=subprocess.DEVNULL)
        attach = sampan.Attached(target.pid, ENGINE, ["--rate", RATE])
        time.sleep(0.2)
        attach.sampan.send_signal(signal.SIGKILL)
        self.assertEqual(target.wait(timeout=60), 3)
        run = attach.finish()
        self.assertEqual(run.returncode, -signal.SIGKILL)
        self.assertIsNotNone(run.report)  # what it had written can be read


if __name__ == "__main__":
    unittest.main(verbosity=2)
