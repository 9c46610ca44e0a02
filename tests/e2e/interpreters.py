"""The interpreters of Python that are there, and runs of them, for the tests. Those that a test judged by are a line for
tests/summary.py."""
import atexit
import csv
import functools
import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import sampan
from tolerances import share_noise

KNOWN = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
# In CI, a test may judge by those that differ most; `./dev test --long python` judges by all.
EVERY = os.environ.get("SAMPAN_TEST_EVERY_PYTHON") == "1"

# For programs that tell where they are.
COLUMN_OF = """
def column_of(frame):  # from 1; 0: not known, as before 3.11
    positions = getattr(frame.f_code, "co_positions", None)
    column = list(positions())[frame.f_lasti // 2][2] if positions else None
    return 0 if column is None else column + 1
"""

# Prints the CPU that each function has used, by the thread's clock, and the stacks of `leaf` as the interpreter tells
# them, "FUNCTION:LINE:COLUMN;…": "stack …", or "brief …" if it uses no CPU to speak of.
SHARES = COLUMN_OF + """
import sys, threading, time, zlib

def name_of(code):  # qualified since 3.11
    return getattr(code, "co_qualname", code.co_name)

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(2000):
            pass

def frequent(seconds):
    return leaf(seconds / 2) or leaf(seconds / 2)

def rare(seconds):
    for _ in [0]:
        leaf(seconds)

def leaf(seconds):
    frame = sys._getframe()
    chain = []
    while frame is not None:
        chain.append(f"{name_of(frame.f_code)}:{frame.f_lineno}:{column_of(frame)}")
        frame = frame.f_back
    # One write: print() makes several, and two threads do this at once.
    sys.stdout.write(("stack " if seconds > 0 else "brief ") + ";".join(reversed(chain[1:])) + "\\n")
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


def version_of(program):
    done = subprocess.run([program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def name_in(version, name):
    """What a code object of this version has of a qualified name."""
    return name if tuple(map(int, version.split("."))) >= (3, 11) else name.split(".")[-1]


@functools.cache
def installed():
    """{version: program}, all that are installed; Debian's first. pyenv's are not in the path. SAMPAN_TEST_PYTHONS
    ("3.13=PROGRAM 3.14=PROGRAM") has others in their place."""
    chosen = os.environ.get("SAMPAN_TEST_PYTHONS")
    if chosen is not None:
        return dict(word.split("=", 1) for word in chosen.split())
    found = {}
    others = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv").glob("versions/*/bin/python3")
    for name in ["/usr/bin/python3", sys.executable, *(f"python3.{minor}" for minor in range(9, 15)), *sorted(others)]:
        program = shutil.which(name)
        version = program and version_of(program)
        if version:
            found.setdefault(version, program)
    return found


def judged(*few):
    """[(version, program)] of the interpreters that a test judges by: those of the versions `few` in CI (one of any
    version where none of them is there), and all whose functions sampan knows otherwise."""
    known = {version: program for version, program in installed().items() if version in KNOWN}
    chosen = [version for version in few if version in known] or list(known)[:1]
    chosen = known if EVERY or not few else chosen
    were_judged.update(chosen)
    return [(version, known[version]) for version in chosen]


were_judged = set()


@atexit.register
def say_those():
    if were_judged:
        print("interpreters:", *were_judged, file=sys.stderr)


def exported(run, *options):
    """The stacks of the recording as [(frames root first, seconds)], one for each sample."""
    samples = subprocess.run([sampan.PROGRAM, "export", "--format", "csv-samples", "--output", "-", *options, run.recording],
                             check=True, capture_output=True, text=True).stdout
    return [(row["stack"].split(";"), float(row["weight_s"])) for row in csv.DictReader(io.StringIO(samples))]


class Script(sampan.Piped):
    """An interpreter that runs a script."""

    def __init__(self, program, path, script, *arguments):
        path.write_text(script)
        super().__init__(program, path, *arguments)


def places(run):
    """The stacks of Python's functions in the recording: [((function, line, column), …)], root first, one for each
    sample. 0: not known."""
    data = subprocess.run([sampan.PROGRAM, "export", "--format", "firefox", "--python", "python", "--output", "-",
                           run.recording], check=True, capture_output=True).stdout
    profile = json.loads(gzip.decompress(data))
    shared = profile["shared"]
    frames, functions, table = shared["frameTable"], shared["funcTable"], shared["stackTable"]
    stacks = []
    for prefix, frame in zip(table["prefix"], table["frame"]):
        name = shared["stringArray"][functions["name"][frames["func"][frame]]]
        place = (name, frames["line"][frame] or 0, frames["column"][frame] or 0)
        stacks.append((() if prefix is None else stacks[prefix]) + (place,))
    samples = [stack for thread in profile["threads"] for stack in thread["samples"]["stack"]]
    return [stacks[stack] for stack in samples if stack is not None]


class Case(sampan.Case):
    def assert_shares(self, version, stacks, spare_s):
        """The shares of SHARES in one second of each thread, and no eval loop where a function is known. `spare_s`: CPU
        of these two seconds that is used outside of the functions, or not sampled."""
        sampled_s = sum(weight for _, weight in stacks)
        # A thread that others push off its CPU has fewer samples, which weigh more.
        samples = sampled_s ** 2 / sum(weight ** 2 for _, weight in stacks)

        def share(*names):
            wanted = [name_in(version, name) for name in names]
            return sum(weight for frames, weight in stacks if all(name in frames for name in wanted)) / sampled_s
        for names, expected in {("rare", "leaf", "spin"): 0.25, ("frequent", "leaf", "spin"): 0.5,
                                ("compress",): 0.25, ("Service.parts", "frequent"): 0.5,
                                ("Service.__init__", "rare"): 0.25}.items():
            self.assertAlmostEqual(share(*names), expected, delta=share_noise(expected, samples) + spare_s / sampled_s,
                                   msg=f"{names}, {samples:.0f} samples")
        for frames, _ in stacks:
            for caller, callee in zip(frames, frames[1:]):
                self.assertFalse(caller.startswith("_PyEval_EvalFrameDefault") and callee in ("work", "leaf", "spin"))

    def stacks_of(self, program, *options, seconds="1", script=SHARES, rate="250", env=None):
        """The run and its stacks, as exported() has them."""
        path = self.path / "program.py"
        path.write_text(script)
        run = sampan.run([program, path, seconds], ["--rate", rate, *options], env, timeout=300 + 120 * float(seconds), text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run, exported(run)
