#!/usr/bin/env python3
"""Python functions in the stacks: names, callers, lines and shares, by every interpreter that is there."""
import csv
import functools
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import sampan
from stalls import measures_time
from tolerances import share_noise, unsampled_s

KNOWN = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")

# Prints the CPU that each function has used, by the thread's clock, and the stacks of `leaf` as the interpreter tells
# them: the line of each function.
SHARES = """
import sys, threading, time, zlib

def name_of(code):  # qualified since 3.11
    return getattr(code, "co_qualname", code.co_name)

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(2000):
            pass

def frequent(seconds):
    return leaf(seconds)

def rare(seconds):
    for _ in [0]:
        leaf(seconds)

def leaf(seconds):
    frame = sys._getframe()
    chain = []
    while frame is not None:
        chain.append(f"{name_of(frame.f_code)}:{frame.f_lineno}")
        frame = frame.f_back
    if seconds > 0:
        # One write: print() makes several, and two threads do this at once.
        sys.stdout.write("stack " + ";".join(reversed(chain[1:])) + "\\n")
    spin(seconds)

class Service:
    def __init__(self, seconds):
        rare(seconds)

    def run(self, seconds):
        return sum(self.parts(seconds))

    def parts(self, seconds):
        frequent(seconds)
        yield 1

def compress(seconds):
    end = time.thread_time() + seconds
    data = bytes(range(256)) * 4096
    while time.thread_time() < end:
        zlib.compress(data)

def work(seconds):
    Service(seconds * 0.25)
    Service(0).run(seconds * 0.5)
    compress(seconds * 0.25)

threads = [threading.Thread(target=work, args=(float(sys.argv[1]),)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

# Little else than calls, in every way that has a path of its own through the interpreter.
STORM = """
import sys, threading, time, zlib

class Dropped:
    def __del__(self): finalize()
def finalize(): return [None for _ in (1, 2, 3)]
def dropper():
    for _ in range(100): Dropped()

def sorter():
    for _ in range(20): sorted(range(30), key=key)
def key(value): return negative(value)
def negative(value): return -value

def catcher():
    for _ in range(50):
        try: deep(12)
        except ValueError: handle()
def deep(n): return deep(n - 1) if n else bottom()
def bottom(): raise ValueError
def handle(): return 1

def summer():
    for _ in range(20): sum(outer(20))
def outer(n): yield from inner(n)
def inner(n):
    for i in range(n): yield element(i)
def element(i): return i

def runner():
    for _ in range(50):
        try: coroutine().send(None)
        except StopIteration: pass
async def coroutine(): return await awaited()
async def awaited(): return element(1)

def presser():
    for _ in range(5): zlib.compress(DATA, 1)
DATA = bytes(range(256)) * 40

TURNS = [dropper, sorter, catcher, summer, runner, presser]
def work(first):
    end = time.thread_time() + float(sys.argv[1])
    while time.thread_time() < end:
        TURNS[first % len(TURNS)]()
        first += 1
threads = [threading.Thread(target=work, args=(2 * i,)) for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
# Who calls whom there; what a list comprehension has of its own depends on the version.
STORM_CALLS = {
    "work": {"dropper", "sorter", "catcher", "summer", "runner", "presser"},
    "dropper": {"__del__"}, "__del__": {"finalize"}, "sorter": {"key"}, "key": {"negative"}, "catcher": {"deep", "handle"},
    "deep": {"deep", "bottom"}, "summer": {"outer"}, "outer": {"inner"}, "inner": {"element"}, "runner": {"coroutine"},
    "coroutine": {"awaited"}, "awaited": {"element"},
}
# The function that runs while C code of this name does.
STORM_NATIVES = {"list_sort": "sorter", "builtin_sum": "summer", "deflate": "presser"}


def version_of(program):
    done = subprocess.run([program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def name_in(version, name):
    """What a code object of this version has of a qualified name."""
    return name if tuple(map(int, version.split("."))) >= (3, 11) else name.split(".")[-1]


@functools.cache
def interpreters():
    """{version: program}, all that are installed; Debian's first. pyenv's are not in the path."""
    found = {}
    others = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv").glob("versions/*/bin/python3")
    for name in ["/usr/bin/python3", sys.executable, *(f"python3.{minor}" for minor in range(9, 15)), *sorted(others)]:
        program = shutil.which(name)
        version = program and version_of(program)
        if version:
            found.setdefault(version, program)
    return found


def chain_start(chain):
    """Where the program's own functions begin: the threads' have names like theirs (`run`)."""
    return next(i for i, frame in enumerate(chain) if frame.startswith("work:"))


def exported(run, *options):
    """The stacks of the recording as [(frames root first, seconds)], one for each sample."""
    samples = subprocess.run([sampan.PROGRAM, "export", "--format", "csv-samples", "--output", "-", *options, run.recording],
                             check=True, capture_output=True, text=True).stdout
    return [(row["stack"].split(";"), float(row["weight_s"])) for row in csv.DictReader(io.StringIO(samples))]


class Python(sampan.Case):
    def stacks_of(self, program, *options, seconds="1", script=SHARES, rate="250"):
        """The run and its stacks, as exported() has them."""
        path = self.path / "program.py"
        path.write_text(script)
        run = sampan.run([program, path, seconds], ["--rate", rate, *options], text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run, exported(run)

    def check_shares(self, version, program):
        run, stacks = self.stacks_of(program)
        self.assertEqual(run.report["lost"], {})
        self.assertGreaterEqual(run.report["complete_stacks"], 0.99)
        sampled_s = sum(weight for _, weight in stacks)
        # A thread that others push off its CPU has fewer samples, which weigh more.
        samples = sampled_s ** 2 / sum(weight ** 2 for _, weight in stacks)
        self.assertGreater(sampled_s, 2 - unsampled_s(2))
        def share(*names):
            wanted = [name_in(version, name) for name in names]
            return sum(weight for frames, weight in stacks if all(name in frames for name in wanted)) / sampled_s
        for names, expected in {("rare", "leaf", "spin"): 0.25, ("frequent", "leaf", "spin"): 0.5,
                                ("compress",): 0.25, ("Service.parts", "frequent"): 0.5,
                                ("Service.__init__", "rare"): 0.25}.items():
            # What is used outside of the loops, as the start of the interpreter, is some hundredths of a second of two.
            self.assertAlmostEqual(share(*names), expected, delta=share_noise(expected, samples) + 0.03 + unsampled_s(2) / 2,
                                   msg=f"{names}, {samples:.0f} samples")
        # zlib is below the function that calls it, and no eval loop is left where the functions are known.
        self.assertTrue(any("compress" in frames and "libz" not in frames[-1] and
                            any(re.search("deflate|libz", frame) for frame in frames[frames.index("compress"):])
                            for frames, _ in stacks), stacks)
        for frames, _ in stacks:
            for caller, callee in zip(frames, frames[1:]):
                self.assertFalse(caller.startswith("_PyEval_EvalFrameDefault") and callee in ("work", "leaf", "spin"))

    def check_lines(self, version, program):
        """The callers' lines are those that the interpreter itself tells."""
        run, _ = self.stacks_of(program)
        truth = {tuple(line.split(" ", 1)[1].split(";")) for line in run.stdout.splitlines()}
        self.assertEqual(len(truth), 2, run.stdout)
        lines = subprocess.run([sampan.PROGRAM, "report", "--by", "line", "--top", "0", run.recording], check=True,
                               capture_output=True, text=True).stdout
        for name, number in (frame.split(":") for chain in truth for frame in chain[chain_start(chain):]):
            if name in [name_in(version, name) for name in (
                    "frequent", "rare", "Service.parts", "Service.run", "Service.__init__", "work")]:
                self.assertRegex(lines, rf" {name[:19]}.* .*\.py:{number}\b", f"{name} of {truth}")

    def test_the_system_interpreter_is_known(self):
        self.assertIn(version_of("/usr/bin/python3"), KNOWN)

    @measures_time("an interpreter that waits for a CPU starts late")
    def test_shares_and_callers(self):
        for version, program in interpreters().items():
            if version in KNOWN:
                with self.subTest(version):
                    self.check_shares(version, program)

    def test_lines(self):
        for version, program in interpreters().items():
            if version in KNOWN:
                with self.subTest(version):
                    self.check_lines(version, program)

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
        for version, program in interpreters().items():
            if version not in KNOWN:
                continue
            with self.subTest(version):
                run, _ = self.stacks_of(program, script=script)
                names = {thread["name"] for thread in run.report["threads"]}
                self.assertLessEqual({"wörker-π", "worker 7", "Thread-1 (spin)", "x" * 63, "renamed",
                                      "ThreadPoolExecutor-0_0"}, names)
                self.assertNotIn("before", names)

    def test_an_unknown_version_has_native_stacks_and_says_so(self):
        run = sampan.run([sampan.TARGETS / "target_unknown_python"], ["--rate", "250"])
        self.assertEqual(run.report["lost"], {"python_unknown": 1})
        self.assertGreater(run.report["complete_stacks"], 0.9)
        names = [row["name"] for row in run.report["functions"]]
        self.assertIn("spin", names)

    def test_exceptions_that_are_thrown_through_generators(self):
        """`outer` delegates to `inner`, where the exception arrives; the interpreter skips a run of `outer`."""
        script = """
import sys, time
def spin(end):
    while time.thread_time() < end: pass
def inner():
    try:
        yield
    except KeyError:
        spin(time.thread_time() + float(sys.argv[1]))
        yield
def outer():
    yield from inner()
def main():
    generator = outer()
    next(generator)
    generator.throw(KeyError())
main()
"""
        for version, program in interpreters().items():
            if version not in KNOWN:
                continue
            with self.subTest(version):
                run, stacks = self.stacks_of(program, seconds="0.3", script=script, rate="1000")
                spinning = [[name for name in frames if name in ("main", "outer", "inner", "spin")]
                            for frames, _ in stacks if "spin" in frames]
                if version == "3.9":  # loses the callers of `outer`: native stacks, which say so
                    self.assertEqual(spinning, [])
                    self.assertLess(run.report["complete_stacks"], 0.8)
                    continue
                self.assertGreater(len(spinning), 30)
                for names in spinning:
                    self.assertEqual(names, ["main", "outer", "inner", "spin"])
                self.assertGreater(run.report["complete_stacks"], 0.99)

    def test_trampolines_for_perf(self):
        """`-X perf` puts code without unwind information between the eval loops."""
        programs = [program for version, program in interpreters().items() if version in ("3.12", "3.13")]
        if not programs:
            self.skipTest("no interpreter with -X perf is installed")
        path = self.path / "trampolines.py"
        path.write_text(SHARES)
        for program in programs:
            run = sampan.run([program, "-X", "perf", path, "0.5"], text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.report["lost"], {})
            self.assertGreaterEqual(run.report["complete_stacks"], 0.99)
            functions = {function["name"] for function in run.report["functions"]}
            self.assertLessEqual({"Service.run", "frequent", "rare", "leaf", "spin", "compress"}, functions)

    def test_frames_are_chosen_when_a_recording_is_read(self):
        run, mixed = self.stacks_of("/usr/bin/python3", script="""
import sys, zlib
def compress():
    zlib.compress(bytes(range(256)) * 4096)
def nothing(item):
    return item
for _ in range(10):
    compress()
    sorted(range(100_000), key=nothing)
""", rate="1000")
        native, python = (exported(run, "--python", frames) for frames in ("native", "python"))
        self.assertEqual(exported(run, "--python", "mixed"), mixed)
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
            self.assertIn("_PyEval_EvalFrameDefault", c)
            # The C frames of both are those of the native stack, without eval loops; of the Python frames none is lost.
            self.assertEqual([frame for frame in both if frame in functions], [frame for frame in own if frame in functions])
            self.assertFalse([frame for frame in own if "Py" in frame or ".so" in frame], own)
            if both[-1] != "compress" and "compress" in both:
                self.assertEqual(own[-1], "compress", (both, own))
                in_zlib += 1
        self.assertGreater(in_zlib, 20)
        refused = subprocess.run([sampan.PROGRAM, "report", "--python", "c", run.recording], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(refused.returncode, 2, refused.stderr)

    def test_frames_are_chosen_by_the_environment(self):
        run, _ = self.stacks_of("/usr/bin/python3", seconds="0.2")
        report = subprocess.run([sampan.PROGRAM, "report", "--top", "0", run.recording], capture_output=True, text=True,
                                check=True, env={**os.environ, "SAMPAN_PYTHON_FRAMES": "native"}).stdout
        self.assertNotIn("spin", report)
        self.assertIn("_PyEval_EvalFrame", report)


    def test_a_storm_of_calls(self):
        """No sample has a call that the program does not make, and hardly any meets the interpreter in between."""
        functions = STORM_CALLS.keys() | set().union(*STORM_CALLS.values())
        for version, program in interpreters().items():
            if version not in KNOWN:
                continue
            with self.subTest(version):
                run, stacks = self.stacks_of(program, seconds="0.4", script=STORM, rate="8000")
                for frames, _ in stacks:
                    frames = [frame.split(".")[-1] for frame in frames]
                    if "work" not in frames or "[python]" in frames:
                        continue
                    known = [name for name in frames if name in functions]
                    for caller, callee in zip(known, known[1:]):
                        self.assertIn(callee, STORM_CALLS.get(caller, ()), f"{caller}: {frames}")
                    for i, frame in enumerate(frames):
                        if frame in STORM_NATIVES:
                            nearest = [name for name in frames[:i] if name in functions][-1]
                            self.assertEqual(nearest, STORM_NATIVES[frame], frames)
                self.assertGreater(len(stacks), 200)
                torn = (1 - run.report["complete_stacks"]) * len(stacks)
                self.assertLess(torn, 3 + 0.001 * len(stacks), f"of {len(stacks)}")


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

    def test_off(self):
        _, stacks = self.stacks_of("/usr/bin/python3", "--no-python", seconds="0.2")
        self.assertFalse(any("leaf" in frames for frames, _ in stacks))

    def test_forked_children_and_functions_that_come_and_go(self):
        script = """
import os, sys, time
def made(number):
    scope = {}
    exec(f"def made_{number}(end):\\n while time.thread_time() < end: pass\\n", {"time": time}, scope)
    return scope[f"made_{number}"]
def loop(first):
    for number in range(first, first + 40):
        made(number)(time.thread_time() + 0.01)
children = [os.fork() for _ in range(2)]
loop(children.count(0) * 1000)
if 0 not in children:
    for child in children:
        os.waitpid(child, 0)
"""
        run, stacks = self.stacks_of("/usr/bin/python3", script=script, rate="1000")
        seen = {frame for frames, _ in stacks for frame in frames if frame.startswith("made_")}
        self.assertGreater(len(seen), 100, seen)  # of 120, for 10 ms each
        for frames, _ in stacks:
            made = [frame for frame in frames if frame.startswith("made_")]
            self.assertLessEqual(len(made), 1, frames)
            if made:
                self.assertIn("loop", frames)


if __name__ == "__main__":
    unittest.main()
