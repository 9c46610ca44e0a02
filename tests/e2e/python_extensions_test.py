#!/usr/bin/env python3
"""Programs with numpy, greenlet, gevent, uvloop and Cython (Debian's, by Debian's interpreter), and PyPy: each stack has
only calls that the program makes, or no Python function at all, and then the report says why."""
import json
import pathlib
import shutil
import subprocess
import sysconfig
import unittest

import interpreters
import sampan

PYTHON = "/usr/bin/python3"
PYPY = "/usr/bin/pypy3"

SPIN = """
import time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(500): pass
"""

NUMPY = SPIN + """
import numpy
def multiply():
    end = time.thread_time() + 0.005  # one product is faster than a sample where there is a good BLAS
    while time.thread_time() < end: matrix @ matrix
def callback(value):
    return value + 1
def vectorize():
    return numpy.frompyfunc(callback, 1, 1)(values)
def order():
    return numpy.sort(matrix.ravel())
def main():
    end = time.thread_time() + 0.6
    while time.thread_time() < end:
        multiply()
        vectorize()
        order()
        spin(0.01)
matrix = numpy.arange(22_500.0).reshape(150, 150)
values = numpy.arange(50_000)
main()
"""

# Greenlets: each has a stack of its own and takes turns with the others, also from within a callback of C code.
GREENLET = SPIN + """
import greenlet
def first(other):
    for _ in range(100):
        one()
        second_g.switch()
def one(): spin(0.003)
def second():
    while True:
        sorted(range(3), key=within)
        first_g.switch()
def within(value):
    two()
    return value
def two(): spin(0.001)
def main():
    first_g.switch(None)
first_g, second_g = greenlet.greenlet(first), greenlet.greenlet(second)
main()
"""

GEVENT = SPIN + """
import gevent
def client(number):
    for _ in range(30):
        request()
        gevent.sleep(0)
def request(): spin(0.003)
def server():
    for _ in range(60):
        answer()
        gevent.sleep(0)
def answer(): spin(0.003)
def main():
    gevent.joinall([gevent.spawn(client, 1), gevent.spawn(client, 2), gevent.spawn(server)])
main()
"""

UVLOOP = SPIN + """
import asyncio, uvloop
async def client():
    for _ in range(60):
        await request()
        await asyncio.sleep(0)
async def request(): spin(0.003)
def callback(left):
    answer()
    if left: asyncio.get_running_loop().call_soon(callback, left - 1)
def answer(): spin(0.003)
async def serve():
    asyncio.get_running_loop().call_soon(callback, 60)
    await asyncio.gather(client(), client())
def main():
    uvloop.install()
    asyncio.run(serve())
main()
"""

# A module in C that calls back into Python.
CYTHON_MODULE = """
cdef double inner(long turns):
    cdef double total = 0
    cdef long i
    for i in range(turns):
        total += i * 0.5
    return total
def compiled(function):
    for _ in range(20):
        inner(1000000)
        function(0.002)
"""
CYTHON = SPIN + """
import extension
def called(seconds): spin(seconds)
def main():
    for _ in range(8):
        extension.compiled(called)
main()
"""

# Who calls whom among the functions of each program; those that the package calls have no caller there.
CALLS = {
    "numpy": {"main": {"multiply", "vectorize", "order", "spin"}, "vectorize": {"callback"}},
    "greenlet": {"main": set(), "first": {"one"}, "one": {"spin"}, "second": {"within"}, "within": {"two"}, "two": {"spin"}},
    "gevent": {"main": set(), "client": {"request"}, "request": {"spin"}, "server": {"answer"}, "answer": {"spin"}},
    "uvloop": {"main": {"client", "callback", "serve"}, "client": {"request"}, "request": {"spin"}, "callback": {"answer"},
               "answer": {"spin"}},
    "cython": {"main": {"called"}, "called": {"spin"}},
}


class Extensions(interpreters.Case):
    def check(self, package, script, least_s, python_path=""):
        """The run, its stacks, and the CPU by function of the program, itself or what it calls."""
        path = self.path / "program.py"
        path.write_text(script)
        run = sampan.run([PYTHON, path], ["--rate", "1000"], text=True, env={"PYTHONPATH": python_path})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.report["lost"], {})
        calls = CALLS[package]
        functions = calls.keys() | set().union(*calls.values())
        stacks, total = interpreters.exported(run), {}
        for frames, weight in stacks:
            known = [name for name in frames if name in functions]
            for caller, callee in zip(known, known[1:]):
                self.assertIn(callee, calls.get(caller, ()), frames)
            for name in set(known):
                total[name] = total.get(name, 0) + weight
        for name, seconds in least_s.items():
            self.assertGreater(total.get(name, 0), seconds, total)
        return run, stacks, total

    def needs(self, module):
        if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"NOT TESTED: {PYTHON} has no {module} (Debian: python3-{module})")

    def test_numpy(self):
        self.needs("numpy")
        _, stacks, _ = self.check("numpy", NUMPY, {"multiply": 0, "callback": 0, "spin": 0.02})
        # What numpy computes is below the function that asks for it.
        self.assertTrue(any("multiply" in frames[:-1] for frames, _ in stacks))

    def test_greenlet(self):
        self.needs("greenlet")
        self.check("greenlet", GREENLET, {"one": 0.1, "two": 0.1})

    def test_gevent(self):
        self.needs("gevent")
        self.check("gevent", GEVENT, {"request": 0.08, "answer": 0.08})

    def test_uvloop(self):
        self.needs("uvloop")
        self.check("uvloop", UVLOOP, {"request": 0.15, "answer": 0.08})

    def test_cython(self):
        cython, headers = shutil.which("cython3"), pathlib.Path("/usr/include/python3.11/Python.h")
        if not cython or not headers.exists() or interpreters.version_of(PYTHON) != "3.11":
            self.skipTest("NOT TESTED: needs cython3 and python3-dev of Debian 12")
        (self.path / "extension.pyx").write_text(CYTHON_MODULE)
        subprocess.run([cython, "-3", self.path / "extension.pyx"], check=True)
        suffix = sysconfig.get_config_var("EXT_SUFFIX") if sysconfig.get_python_version() == "3.11" else ".so"
        subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", f"-I{headers.parent}", self.path / "extension.c", "-o",
                        self.path / f"extension{suffix}"], check=True)
        _, stacks, _ = self.check("cython", CYTHON, {"called": 0.1}, python_path=str(self.path))
        # The code that Cython makes is C: below the function that calls it, above the one that it calls.
        between = [frames for frames, _ in stacks if "called" in frames]
        self.assertTrue(between)
        for frames in between:
            outer, inner = frames.index("main"), frames.index("called")
            self.assertTrue(any("compiled" in frame or "extension" in frame for frame in frames[outer:inner]), frames)

    def test_pypy(self):
        if not pathlib.Path(PYPY).exists():
            self.skipTest("NOT TESTED: pypy3 is not installed")
        path = self.path / "program.py"
        path.write_text(SPIN + "def main():\n    spin(0.5)\nmain()\n")
        run = sampan.run([PYPY, path], ["--rate", "250"], text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        sentence = "sampan does not know PyPy: its stacks are native"
        self.assertEqual([note for note in run.report["notes"] if "PyPy" in note],
                         [sentence + ", without the functions of the Python program"])
        self.assertFalse({"spin", "main"} & {frame for frames, _ in interpreters.exported(run) for frame in frames})
        doctor = subprocess.run([sampan.PROGRAM, "doctor", run.recording], capture_output=True, text=True, check=True).stdout
        self.assertIn("python: " + sentence, doctor)
        running = subprocess.Popen([PYPY, "-c", "print(flush=True); import time; time.sleep(60)"], stdout=subprocess.PIPE)
        try:
            running.stdout.read(1)
            findings = json.loads(subprocess.run([sampan.PROGRAM, "doctor", "--json", str(running.pid)], capture_output=True,
                                                 check=False).stdout)
            self.assertIn(sentence, [module["verdict"] for module in findings["modules"]])
        finally:
            running.kill()
            running.communicate()

    def test_an_unknown_version(self):
        run = sampan.run([sampan.TARGETS / "target_unknown_python"])
        self.assertEqual(run.report["lost"], {"python_unknown": 1})
        self.assertTrue(any("does not know this build of Python" in note for note in run.report["notes"]), run.report["notes"])


if __name__ == "__main__":
    unittest.main()
