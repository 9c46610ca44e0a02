#!/usr/bin/env python3
"""Python stacks at every instruction of the interpreter: each one is a state of the program, in the order in which the
program comes to it, or it has no Python functions and counts as torn. targets/step.cpp takes the samples."""
import json
import os
import sys
import unittest

import interpreters
import sampan

MOST_UNSEEN = 4  # states of which all samples are torn
BOUNDARIES = int(os.environ.get("PYTHON_STEP_BOUNDARIES", "20000"))

# Prints the stacks below turn() in the order of one turn, as sys._getframe tells them, and then takes turns.
STEPS = """
import ctypes, functools, gc, json, sys

class Dropped:
    def __del__(self): finalize()
class Made:
    def __init__(self, value): self.value = kept(value)
    def __call__(self): return self.value
    def __getattr__(self, name): return missing(name)
    @property
    def part(self): return kept(self.value)
class Guard:
    def __enter__(self): return self
    def __exit__(self, *_): return handled()
def finalize(): return 1
def kept(value): return value
def missing(name): return name
def handled(): return True

def drops():
    Dropped()
def makes():
    made = Made(2)
    return made(), made.part, made.other
def sorts(): return sorted((2, 1), key=key)
def key(value): return negative(value)
def negative(value): return -value
def catches():
    try: deep(2)
    except ValueError: return handled()
def deep(n): return deep(n - 1) if n else bottom()
def bottom(): raise ValueError
def guards():
    with Guard(): bottom()
def sums(): return sum(outer(2))
def outer(n): yield from inner(n)
def inner(n):
    for i in range(n): yield element(i)
def element(i): return i
def awaits():
    try: coroutine().send(None)
    except StopIteration as stopped: return stopped.value
async def coroutine(): return await awaited()
async def awaited(): return element(1)
def throws():
    generator = delegating()
    next(generator)
    try: generator.throw(KeyError())
    except StopIteration: pass
def delegating(): yield from catching()
def catching():
    try: yield
    except KeyError: handled()
def applies(): return functools.partial(added, 1)(2), functools.reduce(added, (1, 2, 3)), list(map(kept, (1, 2)))
def added(one, other): return one + other
def closes():
    generator = closing()
    next(generator)
    generator.close()
def closing():
    try: yield
    finally: handled()

KINDS = [drops, makes, sorts, catches, guards, sums, awaits, applies, closes]
if sys.argv[3] == "throws": KINDS.append(throws)
def turn():
    for kind in KINDS: kind()

def chain(frame):
    names = []
    while frame is not None:
        names.append(getattr(frame.f_code, "co_qualname", frame.f_code.co_name))
        if names[-1] == "turn": return names[::-1]
        frame = frame.f_back
    return None
states = []
def record(frame, event, _):
    if event == "call": states.extend([chain(frame.f_back), chain(frame)])
    if event == "return": states.extend([chain(frame), chain(frame.f_back)])

step = ctypes.CDLL(sys.argv[1])
step_begin, step_left = step.step_begin, step.step_left
step_left()
gc.disable()
for _ in range(100): turn()  # until the interpreter has adapted its code to it
sys.setprofile(record)
turn()
sys.setprofile(None)
for _ in range(100): turn()
print(json.dumps([state for state in states if state]))
step_begin(int(sys.argv[2]))
while step_left(): turn()
"""
# A call of them makes a generator: the function's frame is there for a moment, of which the interpreter does not tell.
GENERATORS = {"outer", "inner", "coroutine", "awaited", "delegating", "catching", "closing"}


def changes(stacks):
    """Without those that equal the one before, and without generators that are entered and left again: that also looks
    like making one."""
    changed = []
    for stack in stacks:
        if len(changed) > 1 and changed[-2] == stack == changed[-1][:-1] and changed[-1][-1] in GENERATORS:
            changed.pop()
        elif not changed or changed[-1] != stack:
            changed.append(stack)
    return changed


class Steps:
    """Goes through the states of a program that repeats them."""

    def __init__(self, states):
        self.states = changes(states)
        if self.states[0] == self.states[-1]:
            self.states.pop()
        self.at = 0
        self.skipped = 0

    def follow(self, stack):
        """Whether the stack is the present state, or one of the next."""
        for ahead in range(MOST_UNSEEN + 2):
            if self.states[(self.at + ahead) % len(self.states)] == stack:
                self.at += ahead
                self.skipped += max(0, ahead - 1)
                return True
        return False


class PythonSteps(interpreters.Case):
    def check(self, version, program):
        # 3.9 loses the callers of a generator through which an exception is thrown, and says so.
        kinds = "all" if version == "3.9" else "throws"
        script = self.path / "steps.py"
        script.write_text(STEPS)
        # step_begin() resumes: a sample of the start, where other functions have these names, is no state.
        run = sampan.run([program, script, sampan.TARGETS / "target_step.so", str(BOUNDARIES), kinds],
                         ["--rate", "1", "--start-paused"], text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        # The target does not wait for a collector that gets no CPU: then the order is not known.
        lost = run.report["lost"]
        self.assertLessEqual(lost.keys(), {"ring_full"})
        steps = Steps(json.loads(run.stdout))
        functions = {name for state in steps.states for name in state}
        self.assertGreater(len(functions), 30)
        seen, torn, outside, unknown = [], 0, 0, 0
        for frames, _ in interpreters.exported(run, "--python", "python"):
            names = [frame for frame in frames if frame in functions]
            if not names:
                # Before the first turn, between two, or without Python functions, which all others have.
                outside += "<module>" in frames
                torn += "<module>" not in frames
                continue
            if "[python]" in frames:  # the ring had no room for its name
                unknown += 1
                continue
            self.assertEqual(frames[frames.index(names[0]):], names)
            self.assertIn(names, [*steps.states, *(state + [name] for state in steps.states for name in GENERATORS)],
                          "a stack that the program does not have")
            seen.append(names)
        samples = len(seen) + torn + outside + unknown
        self.assertGreaterEqual(samples + lost.get("ring_full", 0), BOUNDARIES)
        self.assertLess(torn, 0.04 * samples)
        if lost or unknown:
            print(f"  {version}: {samples} boundaries, {torn} torn, {unknown} unknown, lost {lost}", file=sys.stderr)
            return
        for place, names in enumerate(changes(seen)):
            if not steps.follow(names):
                self.fail(f"state {place}: {names} does not follow {steps.states[steps.at % len(steps.states)]}")
        turns = steps.at / len(steps.states)
        print(f"  {version}: {samples} boundaries, {torn} torn, {turns:.1f} turns, {steps.skipped} of {steps.at} states "
              f"not seen", file=sys.stderr)
        self.assertGreater(steps.at, 20)
        self.assertLess(steps.skipped, 0.05 * steps.at)

    def test_every_instruction(self):
        for version, program in interpreters.judged("3.9", "3.12", "3.13"):
            with self.subTest(version):
                self.check(version, program)


if __name__ == "__main__":
    unittest.main()
