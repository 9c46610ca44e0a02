"""Programs whose truths are known, sampled from outside: attach_test.py ENGINE [TEST...]

The same engine as root, where this is root, and as an ordinary user on a process of its own.
"""
import math
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import profiled
import sampan

ENGINE = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "perf"
# Samples by perf come at the rate, one that nothing else goes by; other engines at the kernel's tick at most.
RATE = 487 if ENGINE == "perf" else 250
# poll sees a thread only when it looks.
EXACT = ENGINE != "poll"


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
        for name, cpu in true.items():
            threads = outcome.threads(name)
            self.assertEqual(len(threads), 1, name)
            # Two ticks of each thread may be missing, on either side of the share.
            wanted = cpu / sum(true.values())
            ends = 2 * sampan.KERNEL_TICK_S * len(true) / all_sampled
            self.assertLess(abs(outcome.sampled_cpu(name) / all_sampled - wanted), 0.01 + ends, name)
            if EXACT:
                self.assert_cpu_agrees(threads[0])
                self.assertLess(abs(threads[0]["cpu_s"] - cpu), 0.01 * cpu + 2 * sampan.KERNEL_TICK_S)
        functions = {"ten_percent": 0.1, "twenty_percent": 0.2, "thirty_percent": 0.3,
                     "forty_percent": 0.4}
        seconds = {name: outcome.seconds_in(name) for name in functions}
        samples = sum(thread["samples"] for name in true for thread in outcome.threads(name))
        for name, wanted in functions.items():
            # Four standard deviations of a share of that many independent samples. They are not
            # quite: the functions take turns in half a millisecond of CPU, and a timer as exact as
            # perf's is in step with them now and then. So a quarter of them is taken to be independent.
            noise = 4 * math.sqrt(wanted * (1 - wanted) / (samples / 4))
            share = seconds[name] / sum(seconds.values())
            self.assertLess(abs(share - wanted), noise + 0.005, f"{name}: {share}")
        self.assertGreaterEqual(outcome.report["complete_stacks"], 0.99)
        self.assertEqual(outcome.report["lost"], {})

    def test_shares(self):
        self.check_shares()

    def test_shares_as_an_ordinary_user(self):
        if os.geteuid() != 0:
            self.skipTest("the other tests are an ordinary user's already")
        self.check_shares(sampan.ORDINARY_USER)

    def check_end(self, kind, options=()):
        plain = profiled.bare("ends", kind)
        outcome = attached("ends", kind, options=options)
        self.assertEqual(outcome.status, plain.status, outcome.err)
        self.assertEqual(len(outcome.out.splitlines()), len(plain.out.splitlines()))
        self.assertEqual(outcome.run.returncode, 0, outcome.run.stderr)
        used = sum(outcome.numbers("cpu").values())
        self.assertGreaterEqual(outcome.sampled_cpu(), (0.9 if EXACT else 0.5) * used)
        self.assertLessEqual(outcome.sampled_cpu(), 1.02 * used + 0.05)
        return outcome

    def test_its_exit_status_is_seen(self):
        page = self.check_end("exit").run.stderr.decode()
        self.assertIn("exit status 3", page)
        self.assertRegex(page, rf"engine +{ENGINE}\b")

    def test_killed_while_attached(self):
        self.assertIn("killed by SIGKILL", self.check_end("sigkill").run.stderr.decode())

    def test_leader_exits_before_its_threads(self):
        outcome = self.check_end("pthread_exit")
        # 0.4 s of CPU, after the main thread has ended.
        self.assertGreater(outcome.sampled_cpu("survivor"), 0.3 if EXACT else 0.1)

    def test_exec_in_the_target(self):
        outcome = self.check_end("exec")
        for name in ("worker-a", "worker-b"):
            self.assertEqual(len(outcome.threads(name)), 2, "one of each image")
        # The shell that waited is the first.
        self.assertEqual(len(outcome.report["processes"]), 3)

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
        count = 10_000
        outcome = attached("threads", "short", count, 100)
        self.assertEqual(outcome.status, 0, outcome.err)
        report = outcome.report
        if ENGINE == "perf":
            # Each of them is known, whether a sample met it or not. What they used is known of all
            # together: no single one lives long enough to be asked.
            self.assertEqual(len(report["threads"]), count + 2)
            self.assertGreaterEqual(report["cpu_s"], 0.95 * outcome.numbers("threads")[""])
            self.assertEqual(report["lost"], {})

    def test_detaches(self):
        target = subprocess.Popen(profiled.command("shares", 3), stdout=subprocess.PIPE)
        self.addCleanup(target.kill)
        time.sleep(0.3)
        run = sampan.Attached(target.pid, ENGINE, ["--duration", 0.7]).finish()
        self.assertEqual(run.returncode, 0, run.stderr)
        page = run.stderr.decode()
        self.assertIn(", detached\n", page)
        self.assertGreater(run.report["samples"], 0.1 * RATE)
        again = sampan.Attached(target.pid, ENGINE, ["--rate", RATE])
        time.sleep(0.3)
        run = again.stop()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(run.report["samples"], 0.05 * RATE)
        out = target.communicate(timeout=60)[0].decode()
        self.assertEqual((target.returncode, len(re.findall("thread share-", out))), (0, 4))

    def test_threads_that_were_there_and_names_they_take(self):
        target = subprocess.Popen(profiled.command("ends", "exit"), stdout=subprocess.DEVNULL)
        time.sleep(0.1)
        run = sampan.Attached(target.pid, ENGINE, ["--rate", RATE]).finish()
        target.wait()
        self.assertEqual({t["name"] for t in run.report["threads"]},
                         {"target_ends", "worker-a", "worker-b"})
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

    def test_sampan_waits_for_a_cpu(self):
        if ENGINE != "perf" or os.geteuid() != 0:
            self.skipTest("only perf samples meanwhile, and only root has the memory to keep so many")
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
        self.assertIsNotNone(run.report)  # what had been written can be read


if __name__ == "__main__":
    unittest.main(verbosity=2)
