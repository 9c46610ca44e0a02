#!/usr/bin/env python3
"""Programs that call, throw, delegate, fork and drop functions: no stack has a call that the program does not make."""
import os
import sys
import unittest

import interpreters
from python_programs import KINDS, KINDS_CALLS, KINDS_NATIVES, STORM, STORM_CALLS, STORM_NATIVES, known_calls

SECONDS = os.environ.get("PYTHON_STORM_SECONDS", "0.4")  # of CPU in each thread
RATES = os.environ.get("PYTHON_STORM_RATES", "8000").split()


class PythonStorm(interpreters.Case):
    def check_calls(self, version, program, script, calls, natives):
        """No stack has a call that `calls` does not have; how many samples there were, and how many are torn."""
        functions = calls.keys() | set().union(*calls.values())
        samples = torn = 0
        for rate in RATES:
            run, stacks = self.stacks_of(program, seconds=SECONDS, script=script, rate=rate)
            for frames, _ in stacks:
                frames = [frame.split(".")[-1] for frame in frames]
                if "[python]" in frames:
                    continue
                known = known_calls(frames, calls, ["work"])
                for i, frame in enumerate(frames):
                    if frame in natives and known:
                        nearest = [name for name in frames[:i] if name in functions][-1]
                        self.assertEqual(nearest, natives[frame], frames)
            samples += len(stacks)
            torn += round((1 - run.report["complete_stacks"]) * len(stacks))
        print(f"  {version}, {' and '.join(RATES)} Hz: {samples} samples, {torn} torn", file=sys.stderr)
        self.assertGreater(samples, 200)
        self.assertLess(torn, 3 + 0.001 * samples, f"of {samples}")

    def check_everywhere(self, script, calls, natives):
        for version, program in interpreters.installed().items():
            if version in interpreters.KNOWN:
                with self.subTest(version):
                    self.check_calls(version, program, script, calls, natives)

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
        self.check_everywhere(STORM, STORM_CALLS, STORM_NATIVES)

    def test_programs_of_many_kinds(self):
        self.check_everywhere(KINDS, KINDS_CALLS, KINDS_NATIVES)

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
