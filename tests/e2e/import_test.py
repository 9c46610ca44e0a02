#!/usr/bin/env python3
"""Profiles that other programs wrote: perf, gperftools, node; and sampan's own exports, which come back as they were."""
import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import profiled
import sampan
import tolerances

SCRIPT = """
function busy(turns) { let sum = 0; for (let i = 0; i < turns; ++i) sum += Math.sqrt(i); return sum; }
function three() { return busy(3e6); }
function one() { return busy(1e6); }
// In short turns: what compiling costs, and what else the machine does, is not of one of them.
for (let i = 0; i < 60; ++i) { three(); one(); }
setTimeout(() => {}, 200);
"""


class Import(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sampan-import-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sampan(self, *words):
        done = subprocess.run([sampan.PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def imported(self, file, *options):
        """The report of the file's recording."""
        directory = self.sampan("import", "-o", self.folder / "imported", *options, file).strip()
        return json.loads(self.sampan("report", "--json", directory))

    def shares(self, report, key="total_s"):
        """{function: its part of all}"""
        whole = sum(f[key.replace("total", "self")] for f in report["functions"])
        return {f["name"]: f[key] / whole for f in report["functions"]}

    def test_own_exports_come_back(self):
        run = profiled.profiled("shares", 2, rate=1000).run
        before = run.report
        for format_, options in (("pprof", []), ("perf-script", []), ("folded", ["--rate", before["rate_hz"]])):
            with self.subTest(format_):
                file = self.folder / ("profile." + format_)
                self.sampan("export", "--format", format_, "-o", file, run.recording)
                after = self.imported(file, *options)
                expected, found = self.shares(before, "self_s"), self.shares(after, "self_s")
                for name, share in expected.items():
                    # Folded counts are rounded to whole samples, each stack by half a sample at most.
                    error = 0.02 if format_ == "folded" else 0.0001
                    self.assertAlmostEqual(found.get(name, 0), share, delta=error, msg=name)
                self.assertIsNone(after["cpu_s"])
                self.assertIsNone(after["coverage"])
                if format_ != "folded":
                    self.assertEqual(after["samples"], before["samples"])
                    self.assertEqual({t["tid"] for t in after["threads"]}, {t["tid"] for t in before["threads"] if t["samples"]})

    @unittest.skipIf(ctypes.util.find_library("profiler") is None, "gperftools is not installed")
    def test_gperftools(self):
        file = self.folder / "cpu.prof"
        subprocess.run(profiled.command("shares", 4), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "LD_PRELOAD": ctypes.util.find_library("profiler"), "CPUPROFILE": str(file)})
        report = self.imported(file)
        found = self.shares(report)
        for word, share in (("ten", 0.1), ("twenty", 0.2), ("thirty", 0.3), ("forty", 0.4)):
            self.assertAlmostEqual(sum(part for name, part in found.items() if word + "_percent" in name), share,
                                   delta=5 * (share * (1 - share) / report["samples"]) ** 0.5, msg=(word, found))

    def perf(self, *words):
        return subprocess.run(["perf", *map(str, words)], cwd=self.folder, capture_output=True, check=False)

    @unittest.skipIf(shutil.which("perf") is None, "perf is not installed")
    def test_perf(self):
        """Each kind of stack and each container: known shares, and the frames that perf script prints."""
        for name, options in (("chains", ["-g"]), ("copies", ["--call-graph", "dwarf,16384"]), ("compressed", ["-g", "-z"])):
            with self.subTest(name):
                file = self.folder / (name + ".data")
                done = self.perf("record", "-q", "-e", "cpu-clock", "-F", "1000", *options, "-o", file, "--",
                                 *profiled.command("shares", 2))
                if not file.exists() or done.returncode != 0:
                    self.skipTest(f"perf record is refused: {done.stderr.decode(errors='replace')[:200]}")
                report = self.imported(file)
                self.assertGreater(report["complete_stacks"], 0.99)
                threads = {t["name"]: t["sampled_cpu_s"] for t in report["threads"]}
                whole = sum(threads.values())
                for thread, share in (("share-1", 1 / 15), ("share-2", 2 / 15), ("share-4", 4 / 15), ("share-8", 8 / 15)):
                    self.assertAlmostEqual(threads[thread] / whole, share,
                                           delta=5 * (share * (1 - share) / report["samples"]) ** 0.5 + 0.01)
                self.check_frames(file, name == "copies")

    def check_frames(self, file, walked):
        """At least 99.9 % of the frames are those of perf script, up to the names that glibc's functions have twice. The walker
        of perf misses frames in the loader, and ends at a clone that creates a thread: such stacks are not compared."""
        script = self.perf("script", "--no-inline", "-F", "tid,time,ip,sym,dso", "-i", file).stdout.decode()
        expected = {}  # by tid: the number of frames of each sample, and whether to compare it
        for block in script.split("\n\n"):
            lines = [line for line in block.splitlines() if line.strip()]
            if lines:
                tid, time = lines[0].split()[:2]
                outermost = [line.split()[1] for line in lines[-2:]]
                is_thread = outermost[0] == "start_thread" and outermost[-1] in ("clone", "clone3")
                is_whole = (outermost[-1] == "_start" or is_thread) and "/ld-linux" not in block
                expected.setdefault(int(tid), []).append((float(time.rstrip(":")), len(lines) - 1, is_whole or not walked))
        recording = max((self.folder / "imported").iterdir(), key=lambda path: path.stat().st_mtime)
        rows = json.loads(self.sampan("query", "--json", recording, """
            SELECT t.tid, s.time_ns, (SELECT count(*) FROM frames f WHERE f.stack = s.stack AND NOT f.is_inlined) AS depth
            FROM samples s JOIN threads t ON t.id = s.thread ORDER BY s.time_ns"""))
        found = {}
        for row in rows:
            found.setdefault(row["tid"], []).append((row["time_ns"], row["depth"]))
        self.assertEqual({tid: len(samples) for tid, samples in found.items()},
                         {tid: len(samples) for tid, samples in expected.items()})
        pairs = [(a[1], b[1]) for tid in expected for a, b in zip(sorted(expected[tid]), sorted(found[tid])) if a[2]]
        self.assertLessEqual(len(rows) - len(pairs), 1000 * 2 * tolerances.LOADER_S)  # as it begins and as it ends
        unlike = sum(abs(a - b) for a, b in pairs)
        self.assertLessEqual(unlike, 0.001 * sum(a for a, _ in pairs), [pair for pair in pairs if pair[0] != pair[1]][:5])

    @unittest.skipIf(shutil.which("node") is None, "node is not installed")
    @staticmethod
    def times_of(profile, names):
        """{name: seconds with it on the stack}: a sample lasts until the next one."""
        within = {}
        def visit(node, above):
            within[node["id"]] = above | {node["callFrame"]["functionName"]}
            for child in node.get("children", []):
                visit(nodes[child], within[node["id"]])
        nodes = {node["id"]: node for node in profile["nodes"]}
        visit(profile["nodes"][0], frozenset())
        lengths = [*profile["timeDeltas"][1:], 0]
        return {name: sum(length for sample, length in zip(profile["samples"], lengths) if name in within[sample]) / 1e6
                for name in names}

    def test_node(self):
        script = self.folder / "script.js"
        script.write_text(SCRIPT)
        subprocess.run(["node", "--cpu-prof", f"--cpu-prof-dir={self.folder}", script], check=True)
        [file] = self.folder.glob("*.cpuprofile")
        report = self.imported(file)
        seconds = {f["name"]: f["total_s"] for f in report["functions"]}
        for name, true_s in self.times_of(json.loads(file.read_text()), ("three", "one")).items():
            self.assertGreater(true_s, 0)
            self.assertAlmostEqual(seconds[name], true_s, delta=1e-3)
        self.assertGreater(report["waiting_s"], 0.15)
        self.assertEqual(report["clock"], "wall")

    def test_what_counts_no_time(self):
        file = self.folder / "counts.folded"
        file.write_text("main;parse 3000\nmain 1000\n")
        report = self.imported(file)
        self.assertEqual(report["unit"], "samples")
        self.assertEqual({f["name"]: (f["self"], f["total"]) for f in report["functions"]},
                         {"parse": (3000, 3000), "main": (1000, 4000)})
        recording = next((self.folder / "imported").iterdir())
        page = self.sampan("report", recording)
        self.assertIn("most self samples first (samples)", page)
        self.assertNotIn("CPU", page)
        for format_ in ("html", "pprof", "folded", "speedscope", "callgrind", "dot", "firefox", "flamegraph", "csv",
                        "csv-samples", "perf-script", "otlp", "json"):
            self.sampan("export", "--format", format_, "-o", self.folder / ("x." + format_), recording)
        self.assertEqual((self.folder / "x.folded").read_text(), "all;main 1000\nall;main;parse 3000\n")
        about = json.loads(self.sampan("doctor", "--json", recording))
        self.assertEqual((about["unit"], about["sampled"], about["unnamed"]), ("samples", 4000, 0))
        refused = subprocess.run([sampan.PROGRAM, "export", "--format", "trace", "-o", str(self.folder / "x"), str(recording)],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("trace shows time only, and this profile counts samples", refused.stderr)

    def test_what_is_no_profile(self):
        for text, message in (("", "it is empty"), ("Dear reader", "none of the known formats")):
            file = self.folder / "letter"
            file.write_text(text)
            done = subprocess.run([sampan.PROGRAM, "import", "-o", str(self.folder / "imported"), str(file)],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
            self.assertIn(str(file), done.stderr)
            self.assertFalse((self.folder / "imported").exists())


if __name__ == "__main__":
    unittest.main()
