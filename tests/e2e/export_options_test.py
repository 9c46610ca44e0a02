#!/usr/bin/env python3
"""Which files `sampan export` writes: of threads, processes and pools, in bundles, of limited size."""
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sampan

# A program of two threads that belong to one pool.
POOLS = """
import threading, hashlib, os, ctypes
prctl = ctypes.CDLL(None).prctl
def work(name):
    prctl(15, name.encode())
    for i in range(400): hashlib.sha256(b'x' * 1000000).digest()
ts = [threading.Thread(target=work, args=(f'worker-{i}',)) for i in (1, 2)]
[t.start() for t in ts]; [t.join() for t in ts]
"""


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_of_sampan = sampan.run(
            ["sh", "-c", 'python3 -c "$1"; python3 -c "$1"; exit 0', "sh", POOLS])
        cls.report = cls.run_of_sampan.report
        cls.workers = [t for t in cls.report["threads"] if t["name"].startswith("worker-")]
        assert len(cls.workers) == 4, cls.report["threads"]

    def setUp(self):
        keep = tempfile.TemporaryDirectory(prefix="sampan-options-")
        self.addCleanup(keep.cleanup)
        self.directory = pathlib.Path(keep.name)

    def export(self, formats, *options, output=None):
        return subprocess.run(
            [sampan.PROGRAM, "export", "--format", formats, "--output", str(output or self.directory),
             *options, str(self.run_of_sampan.recording)],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def folded(self, path):
        """Samples by the first frame of each line, which is the thread; and the number of lines, each of which is
        off by one sample at most."""
        threads = {}
        for line in path.read_text().splitlines():
            stack, count = line.rsplit(" ", 1)
            thread = stack.split(";")[0]
            threads[thread] = threads.get(thread, 0) + int(count)
        return threads, len(path.read_text().splitlines())

    def assert_time(self, count, lines, seconds):
        self.assertLessEqual(abs(count - seconds * self.report["rate_hz"]), lines)

    def test_a_file_for_each_process(self):
        self.export("folded,trace", "--per-process")
        found = 0
        for process in self.report["processes"]:
            if process["samples"]:
                stem = f"profile_process_{process['pid']}_{process['name']}"
                threads, lines = self.folded(self.directory / f"{stem}.folded")
                sampled_s = sum(t["sampled_cpu_s"] for t in self.report["threads"] if t["pid"] == process["pid"])
                self.assert_time(sum(threads.values()), lines, sampled_s)
                self.assertTrue(json.loads((self.directory / f"{stem}_trace.json").read_text()))
                found += 1
        self.assertGreaterEqual(found, 2)
        threads, lines = self.folded(self.directory / "profile_overall.folded")
        self.assert_time(sum(threads.values()), lines, self.report["sampled_cpu_s"])

    def test_threads_of_a_pool_are_one(self):
        done = self.export("folded,trace", "--merge-by", "pool", "--per-thread")
        of_workers_s = sum(t["sampled_cpu_s"] for t in self.workers)
        overall, lines = self.folded(self.directory / "profile_overall.folded")
        pools = {name: count for name, count in overall.items() if name.startswith("worker")}
        self.assertEqual(len(pools), 2, overall)  # a pool belongs to one process
        self.assert_time(sum(pools.values()), lines, of_workers_s)
        self.assert_time(sum(overall.values()), lines, self.report["sampled_cpu_s"])
        files = list(self.directory.glob("profile_thread_*_worker.folded"))
        self.assertEqual(sum(sum(self.folded(file)[0].values()) for file in files), sum(pools.values()))
        # The timeline keeps each thread, and sampan says so.
        names = {e["args"]["name"] for e in json.loads((self.directory / "profile_trace.json").read_text())
                 if e["name"] == "thread_name"}
        self.assertLessEqual({"worker-1", "worker-2"}, names)
        self.assertIn(b"the threads of trace stay apart", done.stderr)

    def test_a_bundle_has_the_same_files(self):
        self.export("folded,pprof,csv", "--per-thread")
        bundle = self.directory / "all.tar.gz"
        printed = self.export("folded,pprof,csv", "--per-thread", "--bundle", output=bundle).stdout
        self.assertEqual(printed.decode(), f"{bundle}\n")
        with tarfile.open(bundle) as tar:
            inside = {pathlib.Path(m.name).name: tar.extractfile(m).read() for m in tar.getmembers()}
        bundle.unlink()
        self.assertEqual(inside, {path.name: path.read_bytes() for path in self.directory.iterdir()})
        streamed = self.export("folded,pprof,csv", "--per-thread", "--bundle", output="-").stdout
        with tarfile.open(fileobj=io.BytesIO(streamed)) as tar:
            self.assertEqual({pathlib.Path(name).name for name in tar.getnames()}, set(inside))

    def test_a_smaller_file_has_the_same_totals(self):
        whole = self.directory / "whole.folded"
        small = self.directory / "small.folded"
        self.export("folded", output=whole)
        size = whole.stat().st_size // 2
        done = self.export("folded", "--max-size", f"{size}b", output=small)
        self.assertLessEqual(small.stat().st_size, size)
        of_small, of_whole = self.folded(small), self.folded(whole)
        self.assertEqual(set(of_small[0]), set(of_whole[0]))
        for thread, count in of_small[0].items():
            self.assertLessEqual(abs(count - of_whole[0][thread]), of_small[1] + of_whole[1])
        self.assertIn(b"are part of their callers'", done.stderr)
        for name in ("trace", "perf-script", "speedscope", "csv-samples"):
            self.export(name, output=whole)
            size = whole.stat().st_size // 2
            done = self.export(name, "--max-size", f"{size}b", output=small)
            self.assertLess(small.stat().st_size, 2 * size, name)
            if small.stat().st_size > size:  # each stack once is already too much
                self.assertNotEqual(name, "trace")
                self.assertIn(f"{name} cannot be made smaller", done.stderr.decode())


if __name__ == "__main__":
    unittest.main(verbosity=2)
