#!/usr/bin/env python3
"""sampan serve --heap --locks: the profiles of Go's names and the metrics have what the report of the same recording has,
and what the programs are known to do."""
import os
import re
import subprocess
import unittest

import sampan
from served import Served

BLOCKS, SIZE = 200, 100_000
MEAN = 4096  # blocks of SIZE are certain to be drawn
HOLD = f"""
import sys
blocks = [bytearray({SIZE}) for _ in range({BLOCKS})]
print("ready", flush=True)
sys.stdin.read()
"""
ROUNDS, HELD_US = 50, 2000


class Watched(sampan.Case):
    def setUp(self):
        self.need("go")

    def pprof(self, served, path):
        """The names of the types, the default one, and the samples: [(values, functions innermost first)]."""
        file = self.path / "profile.pb.gz"
        file.write_bytes(served.get(path))
        raw = subprocess.run(["go", "tool", "pprof", "-raw", str(file)], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PPROF_TMPDIR": str(self.path)}).stdout
        types = raw.partition("Samples:\n")[2].splitlines()[0].split()
        functions = {}
        for line in raw.partition("\nLocations\n")[2].partition("\nMappings")[0].splitlines():
            if found := re.match(r"\s*(\d+): (.*)", line):
                number = found[1]
            functions[number] = functions.get(number, "") + line  # a line for each inlined function
        samples = []
        for line in raw.partition("Samples:\n")[2].partition("\nLocations")[0].splitlines():
            if found := re.match(r"\s*([\d ]+): ([\d ]+)$", line):
                samples.append((list(map(int, found[1].split())), [functions[number] for number in found[2].split()]))
        return [name.removesuffix("[dflt]") for name in types], \
            [name for name in types if name.endswith("[dflt]")][0].split("/")[0], samples

    def report(self, served, option):
        copy = self.path / "copy.sampan"
        copy.write_bytes(served.get("/recording"))
        return sampan.report(copy, option)

    def test_the_heap_of_a_running_program(self):
        served = Served(self, f"--heap={MEAN}", "--", "python3", "-c", HOLD, stdin=subprocess.PIPE)
        self.assertEqual(served.server.stdout.readline(), "ready\n")
        heap, before = self.report(served, "--heap")["heap"], None
        while heap["allocated"] != before:  # until sampan has read what the program did before it was ready
            before = heap["allocated"]
            heap = self.report(served, "--heap")["heap"]
        names = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]
        for path, default in (("/debug/pprof/heap", "inuse_space"), ("/debug/pprof/allocs", "alloc_space")):
            types, usual, samples = self.pprof(served, path)
            self.assertEqual((types, usual), (names, default))
            sums = [sum(values[i] for values, _ in samples) for i in range(4)]
            expected = [heap[part][unit] for part in ("allocated", "live") for unit in ("blocks", "bytes")]
            for measured, reported in zip(sums, expected):
                self.assertAlmostEqual(measured, reported, delta=len(samples) + 1)  # each is rounded
        self.assertGreater(sums[3], BLOCKS * SIZE)
        metrics = served.metrics()
        [live] = [value for name, value in metrics.items() if name.startswith("sampan_heap_live_bytes{")]
        self.assertAlmostEqual(live, heap["live"]["bytes"], delta=1)
        [allocated] = [value for name, value in metrics.items() if name.startswith("sampan_heap_allocated_bytes_total{")]
        self.assertAlmostEqual(allocated, heap["allocated"]["bytes"], delta=1)
        # The program waits: nothing is allocated in these seconds, and what lived lives.
        _, _, samples = self.pprof(served, "/debug/pprof/heap?seconds=0.2")
        self.assertEqual(sum(values[1] for values, _ in samples), 0)
        self.assertAlmostEqual(sum(values[3] for values, _ in samples), heap["live"]["bytes"], delta=len(samples) + 1)
        self.assertEqual(served.ask("/debug/pprof/block")[0], 400)

    def test_waits_for_locks_by_who_waited_and_by_who_held_them(self):
        served = Served(self, "--locks", "--stay", "--", sampan.TARGETS / "target_locks", "mutex", ROUNDS, HELD_US)
        while "has ended" not in (line := served.server.stderr.readline()):
            self.assertTrue(line, "it does not say that the process has ended")
        locks = self.report(served, "--locks")["locks"]
        waited_ns = sum(row["waiting_s"] for row in locks["table"]) * 1e9
        self.assertGreater(waited_ns, 0)
        types, usual, blocked = self.pprof(served, "/debug/pprof/block")
        self.assertEqual((types, usual), (["contentions/count", "delay/nanoseconds"], "delay"))
        self.assertAlmostEqual(sum(values[1] for values, _ in blocked), waited_ns, delta=1e-6 * waited_ns + 1000)
        self.assertAlmostEqual(sum(values[0] for values, _ in blocked), sum(row["waits"] for row in locks["table"]),
                               delta=len(blocked) + 1)
        types, _, held = self.pprof(served, "/debug/pprof/mutex")
        self.assertEqual(types, ["contentions/count", "delay/nanoseconds"])
        known_ns = sum(row["waiting_s"] for row in locks["blocked_by"] if row["held_in"]) * 1e9
        self.assertAlmostEqual(sum(values[1] for values, _ in held), known_ns, delta=1e-6 * known_ns + 1000)
        self.assertGreaterEqual(sum(values[0] for values, stack in held if "mutex" in stack[0]), ROUNDS)
        by_waiter = {name for _, stack in blocked for name in stack}
        by_holder = {name for _, stack in held for name in stack}
        for row in locks["blocked_by"]:
            for function, names in ((row["waited_in"], by_waiter), (row["held_in"], by_holder)):
                self.assertTrue(function is None or any(function in name for name in names), (row, names))
        metrics = served.metrics()
        [seconds] = [value for name, value in metrics.items() if name.startswith("sampan_lock_wait_seconds_total{")]
        self.assertAlmostEqual(seconds, waited_ns / 1e9, delta=1e-5)

    def test_what_was_not_recorded_is_refused_with_a_sentence(self):
        served = Served(self, "--stay", "--", "true")
        for path, option in (("heap", "--heap"), ("allocs", "--heap"), ("block", "--locks"), ("mutex", "--locks")):
            status, body, _ = served.ask(f"/debug/pprof/{path}")
            self.assertEqual(status, 400, path)
            self.assertIn(f"sampan serve {option} -- COMMAND", body.decode())
        self.assertFalse([name for name in served.metrics() if name.startswith(("sampan_heap", "sampan_lock_"))])
        for option in ("--heap=on", "--locks=on"):
            failed = subprocess.run([sampan.PROGRAM, "serve", option, str(os.getpid())], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(failed.returncode, 2, failed.stderr)
            self.assertIn("need a command", failed.stderr)


if __name__ == "__main__":
    unittest.main()
