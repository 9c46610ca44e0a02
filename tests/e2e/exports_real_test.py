#!/usr/bin/env python3
"""Recordings of real programs, in every format, opened with the program that people open it with: the totals, threads
and hottest functions are those of `sampan report --json`. zstd, clang and redis on CPU, python3 and node with their
waits. CI runs python3; `./dev test --long real` runs all.

NPM_PACKAGES names the folder for the viewers of npm. Tests of programs that are not installed are skipped.
"""
import collections
import csv
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "exporters"))
import npm_viewers
import sampan
import viewers

TOP = 10
RUNNABLE = ["[waiting for a CPU]"]
EXACT = 1e-4  # of all: viewers round
FORMATS = ("pprof", "pstats", "folded", "callgrind", "speedscope", "firefox", "flamegraph", "json",
           "trace", "csv", "csv-threads", "csv-samples")

# The threads use enough CPU to be among the hundred functions that kcachegrind lists.
PYTHON = """
import threading, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def work():
    for _ in range(3):
        fib(26)
        time.sleep(0.1)
threads = [threading.Thread(target=work, name='worker') for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
fib(32);
setTimeout(() => fib(30), 200);
"""

CPP = """
#include <map>
#include <regex>
std::map<int, std::regex> patterns;
int main(int, char** argv) { return std::regex_match(argv[0], patterns[0]); }
"""


class RealExports(sampan.Case):
    def check(self, command, options=(), **keywords):
        run = sampan.run(command, options, **keywords)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.check_exports(run)

    def check_exports(self, run):
        subprocess.run([sampan.PROGRAM, "export", f"--format={','.join(FORMATS)}", run.recording],
                       check=True, stdout=subprocess.DEVNULL)
        self.report = run.report
        with open(run.directory / "profile_csv-samples.csv", newline="", encoding="utf-8") as file:
            self.samples = list(csv.DictReader(file))
        self.directory = run.directory
        self.self, self.total, functions = (collections.Counter() for _ in range(3))
        for row in run.report["functions"]:
            self.self[row["name"]] += row["self_s"]
            self.total[row["name"]] += row["total_s"]
            functions[row["name"]] += 1
        # Most formats know functions by name and file: if several have the same, their totals are not comparable.
        self.alone = {name for name, count in functions.items() if count == 1}
        self.threads = {(thread["name"], thread["tid"]): self.lived(thread)
                        for thread in run.report["threads"] if thread["samples"]}
        self.all = self.lived(run.report)
        self.assertGreater(run.report["samples"], 20)
        for name in ("pprof", "pprof_format", "pstats", "pyprof2calltree", "callgrind",
                     "kcachegrind", "speedscope", "firefox", "folded", "flamegraph", "trace",
                     "csv"):
            with self.subTest(name):
                getattr(self, f"check_{name}")()

    @staticmethod
    def lived(part):
        return sum(part.get(key, 0) for key in ("sampled_cpu_s", "waiting_s", "runnable_s"))

    def assert_near(self, found, expected, what, tolerance=EXACT):
        self.assertLessEqual(abs(found - expected), tolerance * self.all, (what, found, expected))

    def assert_same(self, table, totals=True):
        self.assert_near(table.all, self.all, "all")
        for name, seconds in self.self.most_common(TOP):
            self.assert_near(table.self[name], seconds, f"self of {name}")
            if totals and name in self.alone:
                self.assert_near(table.total[name], self.total[name], f"total of {name}")

    def assert_same_threads(self, threads):
        """By (name, tid)."""
        self.assertEqual(set(threads), set(self.threads))
        for thread, seconds in self.threads.items():
            self.assert_near(threads[thread], seconds, thread)

    def assert_same_labels(self, labels):
        """By name, with the tid if several threads have the name."""
        self.assertEqual(len(labels), len(self.threads), labels)
        for (name, tid), seconds in self.threads.items():
            label = name if name in labels else f"{name} ({tid})"
            self.assert_near(labels[label], seconds, label)

    def check_pprof(self):
        table = viewers.pprof(self.directory / "profile_overall.pb.gz")
        self.assert_same(table)

    def check_pprof_format(self):
        table = npm_viewers.pprof_format(self.directory / "profile_overall.pb.gz")
        self.assert_same(table)
        self.assert_same_threads(table.threads)

    def check_pstats(self):
        table = viewers.python_pstats(self.directory / "profile_overall.prof")
        self.assert_same(table, totals=False)
        self.assert_same_labels(table.threads)

    def check_pyprof2calltree(self):
        self.assert_same(viewers.pyprof2calltree(self.directory / "profile_overall.prof"),
                         totals=False)

    def check_callgrind(self):
        path = self.directory / "profile_overall.callgrind"
        table = viewers.callgrind_annotate(path)
        self.assert_same(table, totals=False)
        self.assert_same_labels(table.threads)

    def check_kcachegrind(self):
        complaints, _, table = viewers.kcachegrind(self.directory / "profile_overall.callgrind")
        self.assertEqual(complaints, [])
        self.assert_near(table.all, self.all, "all")
        self.assert_same_labels(table.threads)
        self.assertGreater(len(table.total), TOP)
        for name in self.alone & table.total.keys():
            self.assert_near(table.self[name], self.self[name], f"self of {name}")
            self.assert_near(table.total[name], self.total[name], f"total of {name}")

    def check_trace(self):
        """The slices at the time of a sample are its stack. They last longer than the CPU: a thread stays in them
        while it waits for one. A recording's times are in 10 us: of samples that a thread has at one of them, the
        slices show one."""
        threads = viewers.trace(self.directory / "profile_trace.json").threads
        self.assertLessEqual(set(threads), set(self.threads))
        slices = collections.defaultdict(list)
        for event in json.loads((self.directory / "profile_trace.json").read_text()):
            if event["ph"] == "X":
                slices[event["pid"], event["tid"]].append(event)
        at_once = collections.defaultdict(list)
        for row in self.samples:
            at_once[row["pid"], row["tid"], row["time_s"]].append(row["stack"].split(";"))
        for row in self.samples:
            time = round(float(row["time_s"]) * 1e6)
            stack = [event["name"] for event in slices[int(row["pid"]), int(row["tid"])]
                     if event["ts"] < time <= event["ts"] + event["dur"]]
            if RUNNABLE not in (stack[-1:], [row["function"]]):  # the sum of many short waits
                self.assertIn(stack, at_once[row["pid"], row["tid"], row["time_s"]], row)

    def check_csv(self):
        with open(self.directory / "profile_overall.csv", newline="", encoding="utf-8") as file:
            functions = list(csv.DictReader(file))
        with open(self.directory / "profile_csv-threads.csv", newline="", encoding="utf-8") as file:
            threads = list(csv.DictReader(file))
        self.assertEqual(len(threads), len(self.report["threads"]))
        for row in threads:
            if int(row["samples"]):
                seconds = sum(float(row[key]) for key in ("sampled_cpu_s", "waiting_s", "runnable_s"))
                self.assert_near(seconds, self.threads[row["thread"], int(row["tid"])], row)
        self.assert_near(sum(float(row["weight_s"]) for row in self.samples), self.all, "all samples")
        table = viewers.Table()
        for row in functions:
            table.all += float(row["self_s"])
            table.self[row["function"]] += float(row["self_s"])
            table.total[row["function"]] += float(row["total_s"])
        self.assert_same(table)

    def check_speedscope(self):
        threads = npm_viewers.speedscope(self.directory / "profile_overall.speedscope.json")
        self.assert_same_labels({name: table.all for name, table in threads.items()})
        busiest = max(self.report["threads"], key=lambda thread: thread["sampled_cpu_s"])
        self.assertIn(next(iter(threads)), (busiest["name"], f"{busiest['name']} ({busiest['tid']})"))
        self.assert_same(viewers.together(threads.values()))

    def check_firefox(self):
        threads = npm_viewers.firefox(self.directory / "profile_overall.firefox.json.gz")
        self.assertEqual(len(threads), len(self.report["threads"]))
        tables = [thread["table"] for thread in threads]
        self.assert_same(viewers.together(tables))
        # After an exec a process's tid occurs twice, the second time as "100.1".
        self.assert_same_threads({(thread["name"], int(float(thread["tid"]))): thread["table"].all
                                  for thread in threads if thread["table"].all})

    def check_folded(self):
        table = viewers.folded(self.directory / "profile_overall.folded", 1)
        self.assertEqual(len(table.threads), len(self.threads))
        [(hottest, _)] = self.self.most_common(1)
        # As many samples as the time has at the rate, and at least one per stack.
        period_s = 1 / self.report["rate_hz"]
        stacks = collections.defaultdict(list)
        for row in self.samples:
            if row["function"] == hottest:
                stacks[row["tid"], row["stack"]].append(float(row["weight_s"]))
        counts = [max(round(sum(weights) / period_s), 1) for weights in stacks.values()]
        self.assertEqual(table.self[hottest], sum(counts))

    def check_flamegraph(self):
        table = viewers.flamegraph(self.directory / "profile_overall.svg", 1)
        self.assertEqual(table.all, self.report["samples"])
        [(hottest, _)] = self.self.most_common(1)
        self.assertIn(hottest, table.self)

    def test_zstd(self):
        self.need("zstd")
        text = self.path / "text"
        text.write_text("".join(f"{i * 7919 % 104729:x} {i}\n" for i in range(800_000)))
        self.check(["zstd", "-T2", "-13", "-B2MiB", "-q", "-c", text])

    def test_clang(self):
        self.need("clang++")
        source = self.path / "source.cpp"
        source.write_text(CPP)
        self.check(["clang++", "-O1", "-c", source, "-o", self.path / "source.o"])

    def test_python3(self):
        self.check([sys.executable, "-c", PYTHON], ["--clock", "wall"])

    def test_node(self):
        self.need("node")
        self.check(["node", "-e", NODE], ["--clock", "wall"])

    def test_redis(self):
        self.need("redis-server")
        self.need("redis-benchmark")
        socket = self.path / "redis.sock"
        load = subprocess.Popen(["sh", "-c", f"""
            until redis-cli -s {socket} ping; do sleep 0.05; done
            redis-benchmark -s {socket} -q -n 30000 -r 10000 -t set,lpush
            redis-cli -s {socket} shutdown nosave
            """], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.check(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                        "--dir", self.path])
        finally:
            load.wait(timeout=60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
