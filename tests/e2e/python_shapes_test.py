#!/usr/bin/env python3
"""Interpreters that are embedded, several in a process, in children of all kinds, at their end, and with stacks that
move: Python's functions have the callers that they have, or the stack is native; and the program ends as it would."""
import pathlib
import subprocess
import unittest

import interpreters
import sampan
from python_programs import known_calls
from tolerances import unsampled_s

# A spin that is told by its callers.
SPIN = """
import sys, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
"""


def library_of(program):
    """The interpreter as a library, if there is one; else None."""
    shared, folder = subprocess.run(
        [program, "-c", "import sysconfig; v = sysconfig.get_config_var; print(v('INSTSONAME')); print(v('LIBDIR'))"],
        check=True, capture_output=True, text=True).stdout.split("\n")[:2]
    places = [pathlib.Path(folder) / shared, pathlib.Path(folder) / "x86_64-linux-gnu" / shared]
    return next((place for place in places if ".so" in shared and place.exists()), None)


def judged_by(*few):
    """A test by these versions of the interpreter in CI, and by all of them otherwise."""
    def test_of(check):
        def test(self):
            for version, program in interpreters.judged(*few):
                with self.subTest(version):
                    check(self, version, program)
        return test
    return test_of


class Shapes(interpreters.Case):
    def seen(self, stacks, calls, roots):
        """The CPU of which each function is the innermost known one, after the check that all calls are right. A
        function has no name while sampan is late to empty the rings: such stacks are left out, and counted."""
        seen = {}
        for frames, weight in stacks:
            if "[python]" in frames:
                seen["[python]"] = seen.get("[python]", 0) + weight
                continue
            known = known_calls(frames, calls, roots)
            if known:
                seen[known[-1]] = seen.get(known[-1], 0) + weight
        return seen

    def assert_spent(self, seen, function, wanted, delta):
        self.assertLess(seen.get(function, 0), wanted + delta, seen)
        self.assertGreater(seen.get(function, 0) + seen.get("[python]", 0), wanted - delta, seen)

    @judged_by("3.9", "3.11", "3.13")
    def test_daemon_threads_while_the_interpreter_ends(self, version, program):
        """A thread goes on in C without the GIL, while its state and its frames are taken apart by another."""
        script = """
import hashlib, sys, threading, time
def burn():
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 10**9)
class Last:
    clock = time.thread_time
    def __del__(self): self.ending(self.clock)
    def ending(self, clock):
        end = clock() + self.seconds
        while clock() < end: pass
last = Last()
last.seconds = float(sys.argv[1])
sys.modules["last"] = last
del last
threading.Thread(target=burn, daemon=True).start()
"""
        run, stacks = self.stacks_of(program, seconds="0.4", script=script)
        def of(name):
            return sum(weight for frames, weight in stacks if name in (frame.split(".")[-1] for frame in frames))
        report = {name: run.report[name] for name in ("sampled_cpu_s", "cpu_s", "complete_stacks", "lost", "threads")}
        self.assertAlmostEqual(of("ending"), 0.4, delta=unsampled_s(1), msg=report)
        native = sum(weight for frames, weight in stacks if "start_thread" in frames)
        self.assertGreater(native, 0.1, "the daemon thread has run meanwhile")
        self.assertLess(of("burn"), 0.3 * native + unsampled_s(1), version)

    def check_embedded(self, program, *options):
        library = library_of(program)
        if library is None:
            return
        script = self.path / "embedded.py"
        script.write_text(SPIN + "def outer(): inner()\ndef inner(): spin(0.2)\nouter()\n")
        run = sampan.run([sampan.TARGETS / "target_embedding", library, script, *options], ["--rate", "1000"], text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.report["lost"], {})
        stacks = interpreters.exported(run)
        calls = {"outer": {"inner"}, "inner": {"spin"}}
        seen = self.seen(stacks, calls, ["outer"])
        in_thread = sum(weight for frames, weight in stacks if "run_in_thread" in frames and "spin" in frames)
        native = sum(weight for frames, weight in stacks if "native_spin" in frames)
        # Each of two threads in each of two lives.
        self.assert_spent(seen, "spin", 0.8, unsampled_s(4))
        self.assert_spent({**seen, "spin": in_thread}, "spin", 0.4, unsampled_s(2))
        self.assert_spent({**seen, "spin": seen["spin"] - in_thread}, "spin", 0.4, unsampled_s(2))
        self.assertGreater(native, 0.3 - unsampled_s(2))
        self.assertGreater(run.report["complete_stacks"], 0.99)

    @judged_by("3.9", "3.11", "3.13")
    def test_embedded_and_loaded_late(self, _, program):
        self.check_embedded(program)

    @judged_by("3.10", "3.12")
    def test_embedded_without_signal_handlers(self, _, program):
        self.check_embedded(program, "0")

    @judged_by("3.9", "3.11", "3.12", "3.13")
    def test_subinterpreters(self, version, program):
        script = SPIN + """
INNER = '''
import time
def sub_outer(): sub_inner()
def sub_inner():
    end = time.thread_time() + 0.2
    while time.thread_time() < end: pass
sub_outer()
'''
import threading
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
def main_outer():
    main_inner()
    interpreters.run_string(interpreters.create(), INNER)
    main_inner()
def main_inner(): spin(0.1)
def in_thread(): interpreters.run_string(interpreters.create(), INNER)
main_outer()
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
"""
        calls = {"main_outer": {"main_inner", "sub_outer"}, "main_inner": {"spin"}, "in_thread": {"sub_outer"},
                 "sub_outer": {"sub_inner"}}
        run, stacks = self.stacks_of(program, script=script, rate="1000")
        seen = self.seen(stacks, calls, ["main_outer", "in_thread"])
        text = self.tree(run)
        if version == "3.9":  # counts the runs of one state from the root: native stacks, which say so
            self.assertNotIn("sub_inner", seen)
            self.assertLess(run.report["complete_stacks"], 0.8)
            self.assertNotIn("sub_inner", text)
            return
        self.assert_spent(seen, "spin", 0.2, unsampled_s())
        # Where an interpreter is made or ended, stacks are native: how long that takes, the machine says.
        self.assert_spent(seen, "sub_inner", 0.4, unsampled_s(2))
        # A person sees who runs the subinterpreter's functions, with the C functions in between.
        self.assertRegex(text, r"(?s)\bmain_outer\b.*\bsub_outer\b.*\bsub_inner\b")

    def tree(self, run):
        return subprocess.run([sampan.PROGRAM, "report", "--tree", "--top", "0", run.recording], check=True,
                              capture_output=True, text=True).stdout

    @judged_by("3.9", "3.11", "3.13")
    def test_subinterpreters_of_subinterpreters(self, version, program):
        """Until 3.11, of more than two interpreters on one stack those between are not known: such stacks are native, and
        counted."""
        script = SPIN + """
INNER = '''
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
import time
def sub_outer():
    interpreters.run_string(interpreters.create(), \"\"\"if True:
        import time
        def innermost():
            end = time.thread_time() + 0.3
            while time.thread_time() < end: pass
        innermost()\"\"\")
    sub_inner()
def sub_inner():
    end = time.thread_time() + 0.2
    while time.thread_time() < end: pass
sub_outer()
'''
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
def main_outer(): interpreters.run_string(interpreters.create(), INNER)
main_outer()
"""
        calls = {"main_outer": {"sub_outer"}, "sub_outer": {"sub_inner", "innermost"}}
        run, stacks = self.stacks_of(program, script=script, rate="1000")
        seen = self.seen(stacks, calls, ["main_outer"])
        torn_s = (1 - run.report["complete_stacks"]) * run.report["sampled_cpu_s"]
        if version not in ("3.9", "3.10", "3.11"):
            self.assert_spent(seen, "innermost", 0.3, unsampled_s())
            self.assert_spent(seen, "sub_inner", 0.2, unsampled_s())
            return
        self.assertNotIn("innermost", seen)
        self.assertGreater(torn_s, 0.3 - unsampled_s(), run.report["complete_stacks"])

    @judged_by("3.9", "3.13")
    def test_children_of_all_kinds(self, _, program):
        script = SPIN + """
import multiprocessing, concurrent.futures
def task(number): return part(number)
def part(number): spin(0.1); return number
def main():
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool: assert pool.map(task, range(4), 1) == [0, 1, 2, 3]
        process = context.Process(target=task, args=(1,))
        process.start()
        process.join()
        assert process.exitcode == 0
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool: pool.submit(task, 1).result()
if __name__ == "__main__": main()
"""
        run, stacks = self.stacks_of(program, script=script, rate="1000")
        seen = self.seen(stacks, {"task": {"part"}, "part": {"spin"}}, ["task"])
        # 18 tasks of a tenth of a second.
        self.assert_spent(seen, "spin", 1.8, unsampled_s(18))

    @judged_by("3.9", "3.13")
    def test_threads_that_outlive_the_interpreter(self, _, program):
        script = SPIN + """
import hashlib, threading, zlib
def burner():
    while True: spin(0.01)
def presser():
    data = bytes(range(256)) * 40000
    while True: zlib.compress(data, 9)
def hasher():
    while True: hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 200000)
class Kept:
    def __init__(self): self.other = [self]
    def __del__(self): dropped()
def dropped(): return [None for _ in (1, 2)]
kept = [Kept() for _ in range(100000)]
for target in (burner, presser, hasher):
    threading.Thread(target=target, daemon=True).start()
spin(float(sys.argv[1]))
"""
        for _ in range(2):
            run, stacks = self.stacks_of(program, script=script, seconds="0.1", rate="8000")
            self.assertEqual(run.stderr, "")
            self.seen(stacks, {"burner": {"spin"}}, ["burner", "spin"])

    def check_greenlets(self, script, calls, roots):
        """What was on the C stack where a greenlet began may have moved away since: then its stack ends there, and
        counts as incomplete."""
        _, stacks = self.stacks_of("/usr/bin/python3", script=script, rate="1000", seconds="0.5")
        return self.seen(stacks, calls, roots)

    def test_greenlets(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import greenlet"], capture_output=True, check=False).returncode:
            self.skipTest("greenlet is not installed")
        seen = self.check_greenlets(SPIN + """
import greenlet
def ping():
    for _ in range(50): ping_part()
def ping_part():
    spin(0.005)
    pongs.switch()
def pong():
    while True: sum(map(pong_part, (1, 2)))
def pong_part(value):
    spin(0.0025)
    pings.switch()
    return value
def main():
    pings.switch()
pings, pongs = greenlet.greenlet(ping), greenlet.greenlet(pong)
main()
""", {"main": {"ping", "pong"}, "ping": {"ping_part"}, "ping_part": {"spin"}, "pong": {"pong_part"}, "pong_part": {"spin"}},
            ["main", "ping", "pong"])
        self.assert_spent(seen, "spin", 0.375, unsampled_s())

    def test_gevent(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import gevent"], capture_output=True, check=False).returncode:
            self.skipTest("gevent is not installed")
        seen = self.check_greenlets(SPIN + """
import gevent, gevent.pool
def handle(number):
    first(number)
    gevent.sleep(0)
    second(number)
def first(number): spin(0.01)
def second(number): sorted(range(3), key=by)
def by(value): spin(0.003); gevent.sleep(0); return value
def main():
    pool = gevent.pool.Pool(5)
    for number in range(25): pool.spawn(handle, number)
    pool.join()
main()
""", {"main": set(), "handle": {"first", "second"}, "first": {"spin"}, "second": {"by"}, "by": {"spin"}}, ["main", "handle"])
        self.assert_spent(seen, "spin", 0.475, unsampled_s())


if __name__ == "__main__":
    unittest.main()
