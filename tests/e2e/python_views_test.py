#!/usr/bin/env python3
"""Recordings of Python programs as people look at them: which frames, merged and live, and the names of threads."""
import collections
import gzip
import json
import os
import pathlib
import re
import struct
import subprocess
import unittest

import interpreters
import push_test
import sampan
import served
from stalls import measures_time
from store import PATHS, Content, Store
from tolerances import DEVIATIONS

# What a view shows where it does not know a function: no module, no name, and the number that stands for a Python frame.
ODD_BESIDE_NAMES = re.compile(r"\[jit\]|(0x|(?m:^) *)[4-7][0-9a-f]{15}\b")
ODD = re.compile(rf"\[unknown\]|\[no module\]|\[no file\]|{ODD_BESIDE_NAMES.pattern}")
# The interpreter's loop. Debian's 3.14 does not export its symbol: there it is an address.
EVAL_LOOP = re.compile(r"_PyEval_EvalFrameDefault|\[python3\.1[4-9]\+0x")
# A class of the program, and of two modules with functions of the same names.
VIEWED = """
import json, sys, time, zlib
class Service:
    def run(self, seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            self.parse()
            self.pack()
    def parse(self):
        return json.loads(json.dumps(rows))
    def pack(self):
        return zlib.compress(text)
rows = [{"id": i, "tags": ["a", "b"]} for i in range(500)]
text = bytes(range(256)) * 256
Service().run(float(sys.argv[1]))
"""
# Spans, one in two hundred of them slow, and the CPU of all. The slowest hundredth has room for as many that others slow.
SPANS = """
import sys, time
import sampan_markers as markers
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(200): pass
class Service:
    def handle(self, number):
        with markers.span("request", str(number)):
            self.parse()
            if number % 200 == 7: self.slow_path()
    def parse(self): spin(0.0004)
    def slow_path(self): spin(0.03)
service = Service()
begin = time.thread_time()
for number in range(1000): service.handle(number)
print(time.thread_time() - begin)
"""
# Two versions of a program: `changed` takes more turns in one.
CHANGED = """
import json, sys
def work():
    for _ in range(6000):
        encode()
        changed()
def encode(): return json.dumps(rows)
def changed():
    for _ in range(turns): pass
rows, turns = [{"id": i} for i in range(200)], int(sys.argv[1])
work()
"""
MARKERS = pathlib.Path(os.environ.get("SAMPAN_EXAMPLE_SOURCES", "examples")).resolve()


class PythonViews(interpreters.Case):
    def test_threads_have_the_names_that_python_gives_them(self):
        script = """
import concurrent.futures, ctypes, sys, threading, time
def spin():
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
class Worker(threading.Thread):
    def __init__(self, number):
        super().__init__(name=f"worker {number}")
        self.number = number
    def run(self):
        spin()
def rename():
    ctypes.CDLL(None).prctl(15, b"renamed")
    spin()
long = threading.Thread(target=spin, name="x" * 100)
looked_at = threading.Thread(target=spin, name="looked at")
vars(looked_at)  # its attributes move into a dictionary
threads = [threading.Thread(target=spin, name="wörker-π"), Worker(7), threading.Thread(target=spin), long,
           threading.Thread(target=rename, name="before"), looked_at]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with concurrent.futures.ThreadPoolExecutor() as pool:
    pool.submit(spin)
"""
        for version, program in interpreters.installed().items():
            if version not in interpreters.KNOWN or version in ("3.9", "3.10"):  # those before are not read
                continue
            with self.subTest(version):
                run, _ = self.stacks_of(program, script=script)
                names = {thread["name"] for thread in run.report["threads"]}
                self.assertLessEqual({"wörker-π", "worker 7", "Thread-1 (spin)", "x" * 63, "renamed",
                                      "ThreadPoolExecutor-0_0"}, names)
                self.assertNotIn("before", names)

    def test_frames_are_chosen_when_a_recording_is_read(self):
        run, mixed = self.stacks_of("/usr/bin/python3", script="""
import sys, zlib
def compress():
    zlib.compress(bytes(range(256)) * 4096)
def nothing(item):
    return item % 7 * 3 + item // 5
for _ in range(100):  # so long that either has a hundred samples at the tick's rate, too
    compress()
    sorted(range(50_000), key=nothing)
""", rate="1000")
        native, python = (interpreters.exported(run, "--python", frames) for frames in ("native", "python"))
        self.assertEqual(interpreters.exported(run, "--python", "mixed"), mixed)
        for stacks in (native, python):
            self.assertEqual([weight for _, weight in stacks], [weight for _, weight in mixed])
        functions = {"compress", "nothing"}
        seen = {frame for frames, _ in mixed for frame in frames}
        self.assertLessEqual(functions, seen)
        in_zlib = 0
        for (both, _), (c, _), (own, _) in zip(mixed, native, python):
            self.assertFalse(functions.intersection(c), c)
            if not functions.intersection(both):
                continue
            self.assertTrue(any(EVAL_LOOP.search(frame) for frame in c), c)
            # The C frames of both are those of the native stack, without eval loops; of the Python frames none is lost.
            self.assertEqual([frame for frame in both if frame in functions], [frame for frame in own if frame in functions])
            self.assertFalse([frame for frame in own if "Py" in frame or ".so" in frame], own)
            if both[-1] != "compress" and "compress" in both:
                self.assertEqual(own[-1], "compress", (both, own))
                in_zlib += 1
        self.assertGreater(in_zlib, 0)
        refused = subprocess.run([sampan.PROGRAM, "report", "--python", "c", run.recording], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(refused.returncode, 2, refused.stderr)

    def test_frames_are_chosen_by_the_environment(self):
        run, _ = self.stacks_of("/usr/bin/python3", seconds="0.2")
        report = subprocess.run([sampan.PROGRAM, "report", "--top", "0", run.recording], capture_output=True, text=True,
                                check=True, env={**os.environ, "SAMPAN_PYTHON_FRAMES": "native"}).stdout
        self.assertNotIn("spin", report)
        self.assertRegex(report, EVAL_LOOP)

    def test_merged_segmented_and_live_recordings_have_the_names(self):
        run, _ = self.stacks_of("/usr/bin/python3", seconds="0.2")
        merged = self.path / "merged"
        subprocess.run([sampan.PROGRAM, "merge", f"a={run.recording}", f"b={run.recording}", "-o", merged], check=True,
                       capture_output=True)
        diff = subprocess.run([sampan.PROGRAM, "diff", "--html", self.path / "diff.html", run.recording, run.recording],
                              check=True, capture_output=True, text=True).stdout
        self.assertNotIn("[jit]", diff)
        runs = self.path / "runs"
        subprocess.run([sampan.PROGRAM, "run", "--quiet", "--continuous", "--output", runs, "--", "/usr/bin/python3",
                        self.path / "program.py", "0.2"], check=True, capture_output=True)
        [continuous] = runs.iterdir()
        live = subprocess.run([sampan.PROGRAM, "top", "--once", "--delay", "1.5", "--look", "functions", "--python", "python",
                               "--", "/usr/bin/python3", self.path / "program.py", "2"], check=True, capture_output=True,
                              text=True, cwd=self.path).stdout
        reports = [subprocess.run([sampan.PROGRAM, "report", "--top", "0", recording], check=True, capture_output=True,
                                  text=True).stdout for recording in (merged, continuous)]
        for text in (*reports, live):
            self.assertRegex(text, r"\bspin\b")
            self.assertNotIn("[jit]", text)


    def sampan(self, *words):
        return subprocess.run([sampan.PROGRAM, *map(str, words)], check=True, capture_output=True).stdout

    def test_no_view_has_odd_words_for_python(self):
        run, _ = self.stacks_of("/usr/bin/python3", script=VIEWED, rate="1000")
        views = {f"report {' '.join(options)}": self.sampan("report", "--top", "0", *options, run.recording)
                 for options in ([], ["--tree"], ["--callers", "pack"], ["--by", "line"], ["--by", "file"],
                                 ["--by", "module"], ["--python", "python", "--by", "module"], ["--json"])}
        views["annotate"] = self.sampan("annotate", "pack", run.recording)
        views["annotate --json"] = self.sampan("annotate", "--json", "pack", run.recording)
        views["diff"] = self.sampan("diff", "--top", "0", run.recording, run.recording)
        for name in ("trace", "pprof", "otlp", "pstats", "folded", "speedscope", "callgrind", "dot", "firefox", "perf-script",
                     "csv", "csv-samples", "json", "flamegraph"):
            file = self.path / f"viewed.{name}"
            self.sampan("export", "--format", name, "--output", file, run.recording)
            data = file.read_bytes()
            views[name] = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        # A function has no name while sampan is late to empty the rings.
        odd = ODD_BESIDE_NAMES if b"[python]" in views["folded"] else ODD
        for name, view in views.items():
            text = view.decode(errors="replace")
            with self.subTest(name):
                self.assertIsNone(odd.search(text), text[:20000])
                if "--by" not in name and name != "diff":
                    self.assertIn("pack", text)
        by_module = views["report --by module"].decode()
        self.assertRegex(by_module, r"(?m) json$")
        self.assertRegex(by_module, r"(?m) json\.encoder$")
        self.assertRegex(by_module, rf"(?m) {self.path}/program\.py$")
        self.assertRegex(views["annotate"].decode(), r"(?m)^  +hits +time +% +self +line$")

    def test_top_has_modules_and_serve_has_names(self):
        path = self.path / "program.py"
        path.write_text(VIEWED)
        top = json.loads(subprocess.run([sampan.PROGRAM, "top", "--once", "--json", "--delay", "1.5", "--", "/usr/bin/python3",
                                         path, "2"], check=True, capture_output=True, text=True, cwd=self.path).stdout)
        modules = {row["name"]: row["module"] for row in top["functions"]}
        self.assertEqual(modules["Service.pack"], "program.py")
        self.assertIn("json.encoder", modules.values())
        server = served.Served(self, "--", "/usr/bin/python3", path, "30")
        profile = server.get("/pprof/profile?seconds=2")
        words = struct.unpack(f"<{len(profile) // 8}Q", profile[:len(profile) // 8 * 8])
        python = {word for word in words if word >> 62 == 1}
        names = server.ask("/pprof/symbol", "POST", body="+".join(hex(word - d) for word in python for d in (0, 1)))[1].decode()
        self.assertIn("\tService.parse\n", names)
        remote = json.loads(self.sampan("top", "--once", "--json", "--delay", "2", "--python", "python", server.url))
        modules = {row["name"]: row["module"] for row in remote["functions"]}
        self.assertEqual(modules["Service.pack"], "program.py")
        self.assertFalse([name for name in modules if name.startswith("[") or name.startswith("Py")])

    @measures_time("the slow spans are those that take more CPU, unless others wait longer for one")
    def test_spans_know_the_functions_of_their_samples(self):
        path = self.path / "program.py"
        path.write_text(SPANS)
        run = sampan.run(["/usr/bin/python3", path], ["--rate", "1000"], env={"PYTHONPATH": str(MARKERS)}, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        [row] = json.loads(self.sampan("spans", "--cpu", "--json", run.recording))["spans"]
        self.assertEqual((row["name"], row["count"]), ("request", 1000))
        # Outside of the spans are their begins and ends. The error is stated at 95 %: two deviations.
        self.assertAlmostEqual(row["cpu"]["total_s"], float(run.stdout), delta=DEVIATIONS / 2 * row["cpu"]["error_s"] + 0.05)
        for frames in ("mixed", "python"):
            found = json.loads(self.sampan("spans", "--explain", "request", "--json", "--python", frames, run.recording))
            self.assertIn("Service.slow_path", [cause["function"] for cause in found["causes"]], found)
            self.assertNotIn("Service.parse", [cause["function"] for cause in found["causes"]], found)
        native = json.loads(self.sampan("spans", "--explain", "request", "--json", "--python", "native", run.recording))
        self.assertNotIn("Service", json.dumps(native["causes"]))

    def test_two_runs_are_compared_merged_and_named_later(self):
        runs = [self.stacks_of("/usr/bin/python3", "--no-symbolize", script=CHANGED, seconds=turns, rate="1000")[0]
                for turns in ("1000", "6000")]
        recordings = [run.recording for run in runs]
        changes = json.loads(self.sampan("diff", "--json", "--python", "python", *recordings))["functions"]
        grown = [row["name"] for row in changes if row["beyond_noise"] and row["change"] > 0]
        self.assertIn("changed", grown)
        self.assertNotIn("JSONEncoder.iterencode", grown)
        # Each function has in the merged recording what it has in both.
        merged = self.path / "merged runs"
        self.sampan("merge", f"before={recordings[0]}", f"after={recordings[1]}", "-o", merged)
        own = [collections.Counter() for _ in (runs, merged)]
        for totals, parts in zip(own, (recordings, [merged])):
            for part in parts:
                for row in sampan.report(part, "--python", "python")["functions"]:
                    totals[row["name"], row["file"], row["line"]] += row["self_s"]
        self.assertEqual(own[0].keys(), own[1].keys())
        for function, seconds in own[0].items():
            self.assertAlmostEqual(seconds, own[1][function], places=6, msg=function)
        # Names of C functions are added; those of Python's stay.
        before = {row["name"] for row in runs[0].report["functions"]}
        self.sampan("symbolize", recordings[0])
        after = {row["name"] for row in sampan.report(recordings[0])["functions"]}
        self.assertEqual({name for name in after if "." in name and not name.startswith("[")},
                         {name for name in before if "." in name and not name.startswith("[")})
        self.assertLessEqual({"changed", "encode", "JSONEncoder.iterencode"}, after)


class Pushed(push_test.PushCase):
    def test_a_store_has_the_functions(self):
        path = self.path / "program.py"
        path.write_text(interpreters.SHARES)
        run = sampan.run(["/usr/bin/python3", path, "0.3"], ["--rate", "1000"])
        for form in PATHS:
            with self.subTest(form):
                store = Store(self)
                self.push(store.url, run.recording, form=form)
                [content] = map(Content, store.kept())
                self.assert_is_report(content, run.report)
                self.assertGreater(content.self["spin"], 0)


if __name__ == "__main__":
    unittest.main()
