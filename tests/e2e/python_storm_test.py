#!/usr/bin/env python3
"""Programs that call, throw, delegate, fork and drop functions: no stack has a call that the program does not make."""
import unittest

import interpreters


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


class PythonStorm(interpreters.Case):
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
        for version, program in interpreters.installed().items():
            if version not in interpreters.KNOWN:
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

    def test_a_storm_of_calls(self):
        """No sample has a call that the program does not make, and hardly any meets the interpreter in between."""
        functions = STORM_CALLS.keys() | set().union(*STORM_CALLS.values())
        for version, program in interpreters.installed().items():
            if version not in interpreters.KNOWN:
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
