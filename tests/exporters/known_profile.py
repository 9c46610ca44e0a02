"""Tests of exports of a profile that is known sample by sample, consumer_profile.txt.

A test script calls main() with its classes, which are Cases: SCRIPT CLASS runs one of them.
WRITE_EXPORTS names the program that writes the exports, NPM_PACKAGES the folder for viewers of npm.
What is not installed is skipped.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import viewers

HERE = pathlib.Path(__file__).parent
PROFILE = HERE / "consumer_profile.txt"
PERIOD = 0.004  # seconds of CPU, of each sample in the text
SKIPPED = 77
WAITING = "main;work 3\nmain;read;~read pipe:[7] 5\n~runnable 2\n"
# Functions of Python among those of C; one line has two calls of the same function.
PYTHON = ("main;<module>@/srv/w.py:1:9:3@[python];Service.pack@/srv/w.py:3:5:12@[python];deflate@@/lib/libz.so.1 4\n"
          "main;<module>@/srv/w.py:1:9:3@[python];Service.pack@/srv/w.py:3:5:30@[python];deflate@@/lib/libz.so.1 2\n"
          "main;<module>@/srv/w.py:1:9@[python];Service.pack@/srv/w.py:3:7@[python] 3\n"
          "main;<module>@/srv/w.py:1:8@[python] 1\n")
PYTHON_TIMES = {"deflate": 6 * PERIOD, "Service.pack": 3 * PERIOD, "<module>": PERIOD}
WAITING_TIMES = {"work": 3 * PERIOD, "[read pipe:[7]]": 5 * PERIOD,
                 "[waiting for a CPU]": 2 * PERIOD}


def truth():
    """What the text says, read by itself: a Table with threads by (name, tid)."""
    table = viewers.Table()
    for line in PROFILE.read_text().splitlines():
        if line.startswith("# thread "):
            tid, name = line[9:].split(" ", 1)
        elif not line.startswith("#"):
            stack, count = line.rsplit(" ", 1)
            seconds = int(count) * PERIOD
            frames = [f.split("@")[0] for f in stack.replace("...;", "").replace("=>", ";").split(";")]
            frames = ["[unknown]"] if frames == [""] else frames
            table.all += seconds
            table.threads[name, int(tid)] += seconds
            table.self[frames[-1]] += seconds
            for frame in set(frames):
                table.total[frame] += seconds
    return table


def labels(threads):
    """The names of threads where they alone tell threads apart."""
    names = [name for name, _ in threads] + ["idle"]
    return {name if names.count(name) == 1 else f"{name} ({tid})": seconds
            for (name, tid), seconds in threads.items()}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="sampan-exports-")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.path = pathlib.Path(cls.directory.name)
        subprocess.run([os.environ["WRITE_EXPORTS"], PROFILE, cls.path], check=True)
        cls.truth = truth()

    def assert_equal_times(self, found, expected):
        """Within 10 us: a trace keeps some slices 1 us apart."""
        found = {name: round(seconds, 5) for name, seconds in found.items() if seconds > 1e-5}
        expected = {name: round(seconds, 5) for name, seconds in expected.items() if seconds}
        self.assertEqual(found, expected)

    def assert_same(self, table, expected=None, totals=True):
        expected = expected or self.truth
        self.assertAlmostEqual(table.all, expected.all, 5)
        self.assert_equal_times(table.self, expected.self)
        if totals:
            self.assert_equal_times(table.total, expected.total)

    def assert_same_threads(self, table):
        self.assert_equal_times(table.threads, self.truth.threads)

    def assert_same_labels(self, table):
        """Where threads are known by name."""
        self.assert_equal_times(table.threads, labels(self.truth.threads))

    def export(self, text):
        """The folder with the exports of another profile."""
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.path))
        (directory / "profile.txt").write_text(text)
        subprocess.run([os.environ["WRITE_EXPORTS"], directory / "profile.txt", directory],
                       check=True)
        return directory


def main(viewers_by_name):
    """Runs the tests of one class of a script's globals()."""
    viewer = viewers_by_name[sys.argv[1]]
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(viewer))
    if not result.wasSuccessful():
        return 1
    if result.skipped:
        print(result.skipped[0][1])
        return SKIPPED
    return 0
