"""The interpreters of Python that are there, and runs of them, for the tests."""
import csv
import functools
import io
import os
import pathlib
import shutil
import subprocess
import sys

import sampan
from tolerances import share_noise

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


def exported(run, *options):
    """The stacks of the recording as [(frames root first, seconds)], one for each sample."""
    samples = subprocess.run([sampan.PROGRAM, "export", "--format", "csv-samples", "--output", "-", *options, run.recording],
                             check=True, capture_output=True, text=True).stdout
    return [(row["stack"].split(";"), float(row["weight_s"])) for row in csv.DictReader(io.StringIO(samples))]


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

    def stacks_of(self, program, *options, seconds="1", script=SHARES, rate="250"):
        """The run and its stacks, as exported() has them."""
        path = self.path / "program.py"
        path.write_text(script)
        run = sampan.run([program, path, seconds], ["--rate", rate, *options], timeout=300 + 120 * float(seconds), text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run, exported(run)
