#!/usr/bin/env python3
"""What each format says is what the report says: for twenty recordings of many kinds, the seconds of each thread in each
state, read back by readers that sampan has no part in: viewers where they are quick, else the format's own description.

`./dev test --long truth`.
"""
import collections
import csv
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "exporters"))
import otlp_reader
import sampan
import viewers
from tolerances import TICK_S

STATES = {"cpu": ("all", "cpu"), "wall": ("all", "cpu", "waiting")}  # by clock
EXACT_S = 1e-6  # of each thread: formats have whole microseconds
FRAME_HEIGHT, NARROWEST = 17, 0.1 / 1200  # of flame graphs; in parts of the root's width
SPIN = "t = __import__('time'); e = t.process_time() + {}\nwhile t.process_time() < e: pass"
THREADS = """
import threading, time
def work(n):
    end = time.thread_time() + {cpu}
    while time.thread_time() < end: pass
    time.sleep({sleep})
threads = [threading.Thread(target=work, args=(n,), name=f'worker-{{n}}') for n in range({count})]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
CHILDREN = "i=0; while [ $i -lt {} ]; do {}; i=$((i+1)); done"


def python(script, *options):
    return ["/usr/bin/python3", "-c", script], list(options)


# Name: command, options of `sampan run`.
RECORDINGS = {
    "no samples": (["true"], ["--start-paused"]),
    "no samples, wall": (["sleep", "0.01"], ["--start-paused", "--clock", "wall"]),
    "one thread": python(SPIN.format(0.5)),
    "fast": python(SPIN.format(0.5), "--rate", "4000"),
    "slow": python(SPIN.format(1), "--rate", "20"),
    "native only": python(SPIN.format(0.3), "--no-python"),
    "sleeping": python("import time; time.sleep(0.5)", "--clock", "wall"),
    "threads": python(THREADS.format(cpu=0.1, sleep=0.1, count=8)),
    "threads, wall": python(THREADS.format(cpu=0.1, sleep=0.1, count=8), "--clock", "wall"),
    "crowd": python(THREADS.format(cpu=0.002, sleep=0.2, count=500)),
    "crowd, wall": python(THREADS.format(cpu=0.002, sleep=0.2, count=500), "--clock", "wall"),
    "children": (["sh", "-c", CHILDREN.format(200, "/bin/true")], ["--rate", "1000"]),
    "children, wall": (["sh", "-c", CHILDREN.format(50, "sleep 0.005")], ["--clock", "wall"]),
    "GIL": python(THREADS.format(cpu=0.3, sleep=0, count=6), "--clock", "wall", "--rate", "1000"),
    "queue": (["sh", "-c", " & ".join(["xz -T1 -9 -c /bin/bash > /dev/null"] * 6) + " & wait"], ["--clock", "wall"]),
    "perf": python(SPIN.format(0.5)),
    "ptrace": python(THREADS.format(cpu=0.1, sleep=0.1, count=4), "--clock", "wall"),
    "poll": python(THREADS.format(cpu=0.1, sleep=0.1, count=4)),
    "markers": ([os.environ.get("SAMPAN_EXAMPLES", "examples") + "/markers"], ["--clock", "wall"]),
}


def read_pprof(path):
    """What `go tool pprof -raw` prints of a sample: values, then lines of labels."""
    threads = collections.Counter()
    cpu = None
    for line in viewers.run("go", "tool", "pprof", "-raw", path).splitlines():
        if match := re.match(r" +(?:\d+ +)+(\d+): ", line):
            cpu = int(match[1])
        elif cpu is not None and (match := re.search(r"thread:\[(.*?)\](?: |$)", line)):
            name = match[1]
        if cpu is not None and (match := re.search(r"\btid:\[(\d+)\]", line)):
            threads[name, int(match[1])] += cpu / 1e9
            cpu = None
    return threads


def read_pstats(path):
    return viewers.python_pstats(path).threads


def read_callgrind(path):
    return viewers.callgrind_annotate(path).threads


def read_speedscope(path):
    """https://www.speedscope.app/file-format-schema.json"""
    threads = collections.Counter()
    for profile in json.loads(path.read_text())["profiles"]:
        assert profile["unit"] == "nanoseconds"
        if profile["weights"]:
            threads[profile["name"]] += sum(profile["weights"]) / 1e9
    return threads


def read_firefox(path):
    """Processed profile format: a sample's weight in ms."""
    threads = collections.Counter()
    for thread in json.loads(gzip.decompress(path.read_bytes()))["threads"]:
        assert thread["samples"]["weightType"] == "tracing-ms"
        threads[thread["name"], int(float(thread["tid"]))] += sum(thread["samples"]["weight"]) / 1e3
    return {thread: seconds for thread, seconds in threads.items() if seconds}


def read_csv_samples(path):
    threads = collections.Counter()
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            threads[row["thread"], int(row["tid"])] += float(row["weight_s"])
    return threads


def read_otlp(path):
    """protoc with OpenTelemetry's schema."""
    threads = collections.Counter()
    for sample in otlp_reader.Message(path.read_bytes()).samples:
        threads[sample.thread["thread.name"], sample.thread["thread.id"]] += sample.nanoseconds / 1e9
    return threads


def read_dot(path):
    return viewers.graphviz(path).threads


def read_flamegraph(path):
    """By name, the widths of the frames above the root, in parts of the root's; and the seconds in its title, rounded."""
    svg = "{http://www.w3.org/2000/svg}"
    root, *frames = xml.etree.ElementTree.parse(path).iterfind(f".//{svg}g[@class='frame']")
    title, rect = root.find(svg + "title").text, root.find(svg + "rect")
    value, unit = re.search(r"^([\d.]+) (\w+), 100", title, re.M).groups()
    widths = collections.Counter()
    for frame in frames:
        box = frame.find(svg + "rect")
        if int(box.get("y")) == int(rect.get("y")) - FRAME_HEIGHT:
            widths[frame.find(svg + "title").text.split("\n")[0]] += float(box.get("width")) / float(rect.get("width"))
    return widths, float(value) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}[unit]


def read_perf_script(path):
    """What `perf script -F comm,pid,tid,time,period,event` prints of a sample: a line, then its frames, which begin with
    blanks."""
    threads = collections.Counter()
    for line in path.read_text().splitlines():
        if line and not line[0].isspace():
            sample = re.fullmatch(r"(.*?) +\d+/(\d+) +[\d.]+: +(\d+) \S+:", line)
            assert sample, line
            threads[sample[1], int(sample[2])] += int(sample[3]) / 1e9
    return threads


def read_trace(path):
    """Outermost slices of the tracks of threads; markers have their own."""
    names, threads, ends = {}, collections.Counter(), {}
    for event in json.loads(path.read_text()):
        thread = event["pid"], event.get("tid")
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[thread] = event["args"]["name"]
        elif event["ph"] == "X" and event["ts"] >= ends.get(thread, 0):
            ends[thread] = event["ts"] + event["dur"]
            threads[thread] += event["dur"] / 1e6
    return collections.Counter({(names[thread], thread[1]): seconds for thread, seconds in threads.items()})


READERS = {
    "pprof": ("pb.gz", read_pprof), "pstats": ("prof", read_pstats), "callgrind": ("callgrind", read_callgrind),
    "speedscope": ("speedscope.json", read_speedscope), "firefox": ("firefox.json.gz", read_firefox),
    "csv-samples": (None, read_csv_samples), "otlp": ("otlp", read_otlp), "dot": ("dot", read_dot),
    "perf-script": ("linux-perf.txt", read_perf_script),
}
DOT_SHARE = 0.005  # of all: lighter functions, and threads are such, are left out of graphs


def seconds_of(threads):
    return sum(seconds for _, seconds in threads)


class Truth(sampan.Case):
    def lived(self, thread, state):
        keys = {"all": ("sampled_cpu_s", "waiting_s", "runnable_s"), "cpu": ("sampled_cpu_s",),
                "waiting": ("waiting_s", "runnable_s")}[state]
        return sum(thread.get(key, 0) for key in keys)

    def expected(self, report, state):
        """((name, tid), seconds) of each thread: exec makes another thread of that name and tid."""
        return [((thread["name"], thread["tid"]), seconds) for thread in report["threads"]
                if (seconds := self.lived(thread, state))]

    def busy(self, report, state):
        """The same without threads that only wait, unless all do."""
        def only_waits(thread):
            cpu_s = thread["sampled_cpu_s"] if thread.get("cpu_s") is None else thread["cpu_s"]
            waiting_s, runnable_s = thread.get("waiting_s", 0), thread.get("runnable_s", 0)
            return waiting_s > 0 and cpu_s < 0.001 * (cpu_s + waiting_s + runnable_s)
        threads = [thread for thread in report["threads"] if not only_waits(thread)]
        return self.expected({**report, "threads": threads}, state) or self.expected(report, state)

    def assert_same(self, found, expected, delta_s=lambda _: EXACT_S, least_s=0):
        """Readers have threads by (name, tid), or by a name that the tid is added to where several have it. Threads below
        `least_s` may be missing."""
        most, least = collections.Counter(), collections.Counter()
        for (name, tid), seconds in expected:
            key = (name, tid)
            if key not in found:
                key = f"{name} ({tid})" if f"{name} ({tid})" in found else name
            most[key] += seconds
            least[key] += seconds if seconds >= least_s else 0
        self.assertLessEqual({key for key, seconds in least.items() if seconds}, set(found))
        self.assertLessEqual(set(found), set(most))
        for key, seconds in found.items():
            self.assertGreaterEqual(seconds, least[key] - delta_s(key), key)
            self.assertLessEqual(seconds, most[key] + delta_s(key), key)

    def check_folded(self, path, expected, period_s):
        """It counts samples at the session's rate. A stack counts one at least, so each may be wrong by a sample."""
        stacks = collections.Counter(line.split(";", 1)[0] for line in path.read_text().splitlines())
        self.assert_same(viewers.folded(path, period_s).threads, expected, lambda key: period_s * (stacks[key] + 1))

    def check_flamegraph(self, path, expected):
        widths, title_s = read_flamegraph(path)
        all_s = seconds_of(expected)
        self.assertAlmostEqual(title_s, all_s, delta=0.005 * all_s)  # three digits
        self.assert_same({name: width * all_s for name, width in widths.items()}, expected, lambda _: 1e-5 * all_s,
                         NARROWEST * all_s)

    def check(self, recording):
        for state in STATES[sampan.report(recording)["clock"]]:
            report = sampan.report(recording, "--state", state)
            expected = self.expected(report, state)
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                subprocess.run([sampan.PROGRAM, "export", "--state", state, "--max-size", "0", "--output", folder, "--format",
                                ",".join([*READERS, "folded", "flamegraph"]), recording], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for format_, (suffix, read) in READERS.items() if expected else ():
                    path = folder / ("profile_csv-samples.csv" if suffix is None else f"profile_overall.{suffix}")
                    with self.subTest(state=state, format=format_):
                        self.assert_same(read(path), expected,
                                         least_s=DOT_SHARE * seconds_of(expected) if format_ == "dot" else 0)
                if expected:
                    with self.subTest(state=state, format="folded"):
                        self.check_folded(folder / "profile_overall.folded", expected, 1 / report["rate_hz"])
                    with self.subTest(state=state, format="flamegraph"):
                        self.check_flamegraph(folder / "profile_overall.svg", self.busy(report, state))
                with self.subTest(state=state, format="csv-threads"):
                    subprocess.run([sampan.PROGRAM, "export", "--state", state, "--output", folder, "--format", "csv-threads",
                                    recording], check=True, stdout=subprocess.DEVNULL)
                    with open(folder / "profile_csv-threads.csv", newline="", encoding="utf-8") as file:
                        rows = list(csv.DictReader(file))
                    keys = ("sampled_cpu_s", "waiting_s", "runnable_s")
                    self.assertEqual(sorted((int(row["pid"]), int(row["tid"]), row["thread"],
                                             *(round(float(row[key] or 0), 9) for key in keys)) for row in rows),
                                     sorted((row["pid"], row["tid"], row["name"],
                                             *(round(row.get(key, 0), 9) for key in keys)) for row in report["threads"]))
        self.check_trace(recording)

    def check_trace(self, recording):
        """A slice lasts through pauses of a tick and a half, and what is shorter than a microsecond is not drawn."""
        report = sampan.report(recording)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sampan.PROGRAM, "export", "--max-size", "0", "--output", folder, "--format", "trace", recording],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            drawn = read_trace(pathlib.Path(folder) / "profile_trace.json")
        lived, samples, seen = collections.Counter(), collections.Counter(), collections.Counter()
        for thread in report["threads"]:  # a track is of a tid, whatever was executed in between
            lived[thread["tid"]] += self.lived(thread, "all")
            samples[thread["tid"]] += thread["samples"]
        for (_, tid), seconds in drawn.items():
            seen[tid] += seconds
        for tid, seconds in lived.items():
            self.assertGreaterEqual(seen[tid], seconds - 2e-6 * (samples[tid] + 1) - 0.01 * seconds, tid)
            self.assertLessEqual(seen[tid], seconds + samples[tid] * 1.5 * max(TICK_S, 1 / report["rate_hz"]), tid)

    def test_recordings(self):
        runs = []
        for name, (command, options) in RECORDINGS.items():
            with self.subTest(name):
                if name in ("perf", "ptrace", "poll"):
                    _, run = sampan.run_attached(command, name, options)
                else:
                    run = sampan.run(command, options)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.check(run.recording)
                runs.append(run)
        with self.subTest("merged"):
            merged = self.path / "merged.sampan"
            subprocess.run([sampan.PROGRAM, "merge", "--output", merged, *(run.recording for run in runs[2:6])], check=True)
            self.check(merged)


if __name__ == "__main__":
    unittest.main(verbosity=2)
