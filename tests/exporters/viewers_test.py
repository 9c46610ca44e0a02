#!/usr/bin/env python3
"""Opens the exports of a profile that is known sample by sample with the real viewers.

viewers_test.py VIEWER, one of the classes below. WRITE_EXPORTS names the program that writes the
exports, NPM_PACKAGES the folder for those of npm. What is not installed is skipped.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import viewers

HERE = pathlib.Path(__file__).parent
PROFILE = HERE / "consumer_profile.txt"
PERIOD = 0.004  # seconds of CPU, of each sample in the text
SKIPPED = 77


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


def together(tables):
    """The sum of the tables of all threads."""
    whole = viewers.Table(all=sum(table.all for table in tables.values()))
    for table in tables.values():
        whole.self.update(table.self)
        whole.total.update(table.total)
    return whole


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


class Pprof(Case):
    def test_everything_together(self):
        table = viewers.pprof(self.path / "profile_overall.pb.gz")
        self.assert_same(table)
        self.assert_equal_times(table.threads, self.truth.threads)

    def test_wall_time(self):
        """Wall time is the default, and CPU the second choice."""
        text = self.path / "wall.txt"
        text.write_text("main;work 3\nmain;read;~read pipe:[7] 5\n~runnable 2\n")
        subprocess.run([os.environ["WRITE_EXPORTS"], text, self.path / "wall"], check=True)
        path = self.path / "wall" / "profile_overall.pb.gz"
        self.assert_equal_times(viewers.pprof(path).self,
                                {"work": 3 * PERIOD, "[read pipe:[7]]": 5 * PERIOD,
                                 "[waiting for a CPU]": 2 * PERIOD})
        self.assert_equal_times(viewers.pprof(path, "-sample_index=cpu").self,
                                {"work": 3 * PERIOD})

    def test_one_thread(self):
        table = viewers.pprof(self.path / "profile_thread_102_worker.pb.gz")
        self.assert_equal_times(table.threads, {("worker", 102): 6 * PERIOD})
        self.assert_equal_times(table.total, {"start_thread": 3 * PERIOD, "work(void*)": 4 * PERIOD,
                                              "__memcpy_avx": 3 * PERIOD, "[unknown]": 2 * PERIOD})

    def test_header_and_focus(self):
        overall = self.path / "profile_overall.pb.gz"
        top = viewers.run("go", "tool", "pprof", "-top", overall, stderr=subprocess.STDOUT)
        self.assertIn("File: app\n", top)
        self.assertIn("Type: cpu\n", top)
        self.assertIn("Duration: 68ms", top)
        for focus, total in (("tid=101", 28), ("thread=^app$", 68), ("process=child of app", 8),
                             ("pid=100", 120)):
            top = viewers.run("go", "tool", "pprof", "-top", "-unit=ms", f"-tagfocus={focus}", overall,
                              stderr=subprocess.DEVNULL)
            self.assertIn(f"Showing nodes accounting for {total}ms", top, focus)

    def test_lines_and_mappings(self):
        raw = viewers.run("go", "tool", "pprof", "-raw", self.path / "profile_overall.pb.gz")
        self.assertRegex(raw, r"is_space src/parse.cpp:4 s=4\(\)\n"
                              r" +\(anonymous namespace\)::parse\(char const\*, 'é'\) src/parse.cpp:22 s=20\(\)\n"
                              r" +main src/main.cpp:15 s=10\(\)\n")
        mappings = [line.split()[2:4] for line in raw.split("Mappings\n")[1].splitlines()]
        self.assertEqual(mappings[0], ["/usr/bin/app", "ab00"])
        self.assertIn(["/lib/libm.so.6", "ab01"], mappings)


class Pstats(Case):
    def test_everything_together(self):
        table = viewers.python_pstats(self.path / "profile_overall.prof")
        # Totals are by function there, and the two programs' main() are two.
        self.assert_same(table)
        self.assert_equal_times(table.threads, labels(self.truth.threads))

    def test_one_thread(self):
        table = viewers.python_pstats(self.path / "profile_thread_101_worker.prof")
        self.assert_equal_times(table.threads, {"worker": 7 * PERIOD})
        self.assert_equal_times(table.self, {"__memcpy_avx": 6 * PERIOD, "fib(int)": PERIOD})

    def test_recursion_counts_once(self):
        stats = viewers.pstats.Stats(str(self.path / "profile_overall.prof")).stats
        fib = "src/fib.cpp", 3, "fib(int)"
        self.assertEqual(stats[fib][:2], (6, 14))
        self.assertAlmostEqual(stats[fib][3], 6 * PERIOD)
        nc, cc, tt, ct = stats[fib][4][fib]
        self.assertEqual((nc, cc), (8, 4))
        self.assertAlmostEqual(ct, 4 * PERIOD)

    def test_the_module_stands_for_the_file(self):
        stats = viewers.pstats.Stats(str(self.path / "profile_overall.prof")).stats
        self.assertIn(("/lib/libm.so.6", 0, "[libm.so.6+0x1030]"), stats)


class Pyprof2calltree(Case):
    def test_everything_together(self):
        table = viewers.pyprof2calltree(self.path / "profile_overall.prof")
        self.assert_same(table, totals=False)


class Trace(Case):
    def test_everything_together(self):
        table = viewers.trace(self.path / "profile_trace.json")
        self.assert_same(table)
        self.assert_equal_times(table.threads, self.truth.threads)


class Folded(Case):
    def test_everything_together(self):
        table = viewers.folded(self.path / "profile_overall.folded", PERIOD)
        self.assert_same(table)
        self.assert_equal_times(table.threads, labels(self.truth.threads))


class Speedscope(Case):
    def open(self, name):
        return viewers.speedscope(self.path / name)

    def test_trace(self):
        threads = self.open("profile_trace.json")
        self.assert_equal_times(
            {name: table.all for name, table in threads.items()},
            {"app (pid 100), app (tid 100)": 17 * PERIOD, "app (pid 100), worker (tid 101)": 7 * PERIOD,
             "app (pid 100), worker (tid 102)": 6 * PERIOD,
             "child of app (pid 200), worker (tid 200)": 2 * PERIOD})
        self.assert_same(together(threads))

    def test_speedscope(self):
        """A profile per thread, the busiest first; functions by name, shared by the threads."""
        threads = self.open("profile_overall.speedscope.json")
        self.assertEqual(list(threads), ["app", "worker (101)", "worker (102)", "worker (200)"])
        self.assert_equal_times({name: table.all for name, table in threads.items()},
                                labels(self.truth.threads))
        self.assert_same(together(threads))

    def test_speedscope_of_wall_time(self):
        text = self.path / "wall.txt"
        text.write_text("main;work 3\nmain;read;~read pipe:[7] 5\n~runnable 2\n")
        subprocess.run([os.environ["WRITE_EXPORTS"], text, self.path / "wall"], check=True)
        [table] = self.open("wall/profile_overall.speedscope.json").values()
        self.assert_equal_times(table.self, {"work": 3 * PERIOD, "[read pipe:[7]]": 5 * PERIOD,
                                             "[waiting for a CPU]": 2 * PERIOD})

    def test_folded(self):
        [table] = self.open("profile_overall.folded").values()
        self.assertEqual(table.all * PERIOD, self.truth.all)
        self.assert_equal_times({name: samples * PERIOD for name, samples in table.self.items()},
                                self.truth.self)

    def test_pprof(self):
        """speedscope shows no inlined functions of a pprof file: their time is their caller's."""
        [table] = self.open("profile_overall.pb.gz").values()
        expected = dict(self.truth.self)
        expected["main"] += expected.pop("is_space")
        self.assertAlmostEqual(table.all, self.truth.all)
        self.assert_equal_times(table.self, expected)


class Flamegraph(Case):
    def test_everything_together(self):
        table = viewers.flamegraph(self.path / "profile_overall.svg", PERIOD)
        self.assert_same(table)
        self.assert_equal_times(table.threads, labels(self.truth.threads))

    def test_controls(self):
        """In Chromium: hover, zoom, search, keyboard."""
        viewers.in_chromium(HERE / "flamegraph_test.js", self.path / "profile_overall.svg")


class Firefox(Case):
    def test_everything_together(self):
        threads = viewers.firefox(self.path / "profile_overall.firefox.json.gz")
        self.assert_same(together({thread["tid"]: thread["table"] for thread in threads}))
        by_name = {(thread["name"], int(thread["tid"])): thread for thread in threads}
        self.assert_equal_times({name: thread["table"].all for name, thread in by_name.items()},
                                self.truth.threads)
        self.assert_equal_times({name: thread["cpuMs"] / 1e3 for name, thread in by_name.items()},
                                self.truth.threads)
        self.assertEqual({(thread["processName"], thread["pid"]) for thread in threads},
                         {("app", "100"), ("child of app", "200")})
        self.assertIn(("idle", 103), by_name)

    def test_wall_time(self):
        """Waiting is counted, and no CPU."""
        text = self.path / "wall.txt"
        text.write_text("main;work 3\nmain;read;~read pipe:[7] 5\n~runnable 2\n")
        subprocess.run([os.environ["WRITE_EXPORTS"], text, self.path / "wall"], check=True)
        [thread] = viewers.firefox(self.path / "wall/profile_overall.firefox.json.gz")
        self.assert_equal_times(thread["table"].self,
                                {"work": 3 * PERIOD, "[read pipe:[7]]": 5 * PERIOD,
                                 "[waiting for a CPU]": 2 * PERIOD})
        self.assertAlmostEqual(thread["cpuMs"] / 1e3, 3 * PERIOD)


def main():
    viewer = globals()[sys.argv[1]]
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(viewer))
    if not result.wasSuccessful():
        return 1
    if result.skipped:
        print(result.skipped[0][1])
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
