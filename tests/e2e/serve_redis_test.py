#!/usr/bin/env python3
"""A served redis-server under load, used as people and scrapers do: go tool pprof, google-pprof and Chromium. They
must agree with the recording of the same process. CI runs two of the tests; `./dev test --long real` all."""
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
import unittest

import sampan
import stalls
from served import Served

TESTS = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "support"))
import npm_packages

RATE = 100
SECONDS = 2  # of each profile


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Redis(sampan.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in ("redis-server", "redis-benchmark", "go", "google-pprof"):
            cls.need(cls(), program)
        port = str(free_port())
        cls.redis = cls.start("redis-server", "--port", port, "--save", "")
        for _ in range(100):
            if subprocess.run(["redis-cli", "-p", port, "ping"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout == b"PONG\n":
                break
            time.sleep(0.05)
        cls.start("redis-benchmark", "-p", port, "-q", "-n", "1000000000", "-c", "8", "-t", "set,get")

    @classmethod
    def start(cls, *words):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.kill)
        return process

    def setUp(self):
        self.served = Served(self, "--rate", RATE, self.redis.pid)

    def go_pprof(self, path):
        raw = subprocess.run(["go", "tool", "pprof", "-raw", f"{self.served.url}{path}"], check=True, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**os.environ, "PPROF_TMPDIR": str(self.path)}).stdout
        rows = re.findall(r"^ +(\d+) +(\d+): ", raw, re.MULTILINE)
        duration = re.search(r"^Duration: (.*)$", raw, re.MULTILINE)
        return sum(int(count) for count, _ in rows), sum(int(ns) for _, ns in rows) / 1e9, raw, duration

    @stalls.measures_time("asks for profiles of the next two seconds")
    def test_profiles_of_the_next_seconds_agree_with_the_recording(self):
        """Three clients ask at the same time; each gets the seconds after its request. They all lie in the seconds of
        the recording, which is asked for first and ends last."""
        found = {}

        def google_pprof():
            found["google"] = subprocess.run(
                ["google-pprof", "--text", f"--seconds={SECONDS}", f"{self.served.url}pprof/profile"], check=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "HOME": str(self.path)}).stdout

        def go_pprof():
            found["go"] = self.go_pprof(f"debug/pprof/profile?seconds={SECONDS}")

        def later():
            time.sleep(0.2)
            threads = [threading.Thread(target=ask) for ask in (google_pprof, go_pprof)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        asking = threading.Thread(target=later)
        asking.start()
        around_s = SECONDS + 2
        recording = self.path / "around.sampan"
        recording.write_bytes(self.served.get(f"/recording?seconds={around_s}"))
        asking.join()
        around = sampan.report(recording)
        samples, cpu_s, raw, _ = found["go"]
        google_ms = int(re.match(r"Total: (\d+) samples", found["google"])[1])
        # redis-server works in one thread under a steady load: at least half of the average CPU.
        fair_s = around["sampled_cpu_s"] * SECONDS / around_s
        for share in (cpu_s, google_ms / 1000):
            self.assertLessEqual(share, around["sampled_cpu_s"] + 0.02)
            self.assertGreater(share, fair_s / 2)
        self.assertGreater(samples, SECONDS * RATE / 4)
        for thread in ("redis-server",):
            self.assertIn(f"thread:[{thread}]", raw)
        self.assertIn("epoll_wait", found["google"])

    def test_totals_are_those_of_the_recording(self):
        """The same seconds of the past: exactly, because the samples are the same."""
        self.served.get("/debug/pprof/profile?seconds=1")
        recording = self.path / "whole.sampan"
        # While sampling is paused, all answers have the same samples.
        subprocess.run([sampan.PROGRAM, "ctl", str(self.redis.pid), "pause"], check=True, stdout=subprocess.DEVNULL)
        try:
            time.sleep(0.2)
            report = self.served.json("/report.json")
            recording.write_bytes(self.served.get("/recording"))
            samples, cpu_s, _, _ = self.go_pprof("debug/pprof/profile?last=1000")
            metrics = self.served.metrics()
        finally:
            subprocess.run([sampan.PROGRAM, "ctl", str(self.redis.pid), "resume"], check=True, stdout=subprocess.DEVNULL)
        recorded = sampan.report(recording)
        self.assertGreater(recorded["samples"], 0)
        self.assertEqual(report["samples"], recorded["samples"])
        self.assertEqual(samples, recorded["samples"])
        self.assertEqual(metrics['sampan_samples_total{state="cpu"}'], recorded["samples"])
        self.assertAlmostEqual(cpu_s, recorded["sampled_cpu_s"], 6)
        self.assertAlmostEqual(metrics["sampan_sampled_cpu_seconds_total"], recorded["sampled_cpu_s"], 6)
        self.assertEqual({f["name"]: f["self_samples"] for f in report["functions"]},
                         {f["name"]: f["self_samples"] for f in recorded["functions"]})

    @stalls.measures_time("compares the kernel's account with samples of a program that goes on")
    def test_coverage_is_what_the_kernel_says(self):
        time.sleep(2)
        metrics = self.served.metrics()
        # 0.1 s is for the time before the first look, and for what the process does between the two looks now.
        cpu_s = metrics["sampan_target_cpu_seconds_total"]
        self.assertAlmostEqual(metrics["sampan_sampled_cpu_seconds_total"], cpu_s, delta=0.05 * cpu_s + 0.1)
        self.assertAlmostEqual(metrics["sampan_coverage_ratio"] * cpu_s, metrics["sampan_sampled_cpu_seconds_total"], 5)

    def test_many_clients_share_one_answer(self):
        clients = []
        for _ in range(300):
            client = socket.create_connection((self.served.host, self.served.port), timeout=60)
            self.addCleanup(client.close)
            client.sendall(b"GET /debug/pprof/profile?seconds=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            clients.append(client)
        for client in clients:
            self.assertTrue(b"".join(iter(lambda: client.recv(65536), b"")).startswith(b"HTTP/1.1 200"))

    def test_the_page_in_chromium_is_updated(self):
        done = subprocess.run(["node", str(TESTS / "exporters/page/live_test.js")], text=True, check=False,
                              env={**npm_packages.environment(), "URL": f"{self.served.url}?every=1"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == npm_packages.SKIPPED:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
