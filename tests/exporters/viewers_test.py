#!/usr/bin/env python3
"""Opens the exports of a known profile with the viewers that Debian has: viewers_test.py VIEWER."""
import collections
import csv
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import otlp_reader
import viewers
from known_profile import PERIOD, PYTHON, PYTHON_TIMES, WAITING, WAITING_TIMES, Case, labels, main


class Pprof(Case):
    def test_everything_together(self):
        table = viewers.pprof(self.path / "profile_overall.pb.gz")
        self.assert_same(table)
        self.assert_same_threads(table)

    def test_wall_time(self):
        """Wall time is the default, and CPU the second choice."""
        path = self.export(WAITING) / "profile_overall.pb.gz"
        self.assert_equal_times(viewers.pprof(path).self,
                                WAITING_TIMES)
        self.assert_equal_times(viewers.pprof(path, "-sample_index=cpu").self,
                                {"work": 3 * PERIOD})

    def test_one_thread(self):
        table = viewers.pprof(self.path / "profile_thread_102_worker.pb.gz")
        self.assert_equal_times(table.threads, {("worker", 102): 6 * PERIOD})
        self.assert_equal_times(table.total, {"start_thread": 3 * PERIOD, "work(void*)": 4 * PERIOD,
                                              "__memcpy_avx": 3 * PERIOD, "[unknown]": 2 * PERIOD})

    def test_python_has_lines_and_no_addresses(self):
        raw = viewers.run("go", "tool", "pprof", "-raw", self.export(PYTHON) / "profile_overall.pb.gz",
                          stderr=subprocess.DEVNULL)
        self.assertRegex(raw, r": 0x0 Service\.pack /srv/w\.py:5")
        self.assertRegex(raw, r": 0x[0-9a-f]*[1-9a-f][0-9a-f]* M=\d+ deflate ")

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
        # Debian 13's Go shows a column, 0 if it is not known.
        self.assertRegex(raw, r"is_space src/parse.cpp:4(:0)? s=4\(\)\n"
                              r" +\(anonymous namespace\)::parse\(char const\*, 'é'\) src/parse.cpp:22(:0)? s=20\(\)\n"
                              r" +main src/main.cpp:15(:0)? s=10\(\)\n")
        mappings = [line.split()[2:4] for line in raw.split("Mappings\n")[1].splitlines()]
        self.assertEqual(mappings[0], ["/usr/bin/app", "ab00"])
        self.assertIn(["/lib/libm.so.6", "ab01"], mappings)


class Otlp(Case):
    def test_everything_together(self):
        table = viewers.otlp(self.path / "profile_overall.otlp")
        self.assert_same(table)
        self.assert_same_threads(table)

    def test_waiting_is_a_kind_of_its_own(self):
        message = otlp_reader.Message((self.export(WAITING) / "profile_overall.otlp").read_bytes())
        times = collections.Counter()
        for sample in message.samples:
            times[sample.kind, sample.frames[0][0]] += sample.nanoseconds / 1e9
        kinds = {"work": "cpu"}
        self.assert_equal_times(times, {(kinds.get(name, "off_cpu"), name): seconds
                                        for name, seconds in WAITING_TIMES.items()})

    def test_processes_lines_and_mappings(self):
        message = otlp_reader.Message((self.path / "profile_overall.otlp").read_bytes())
        self.assertEqual([(r["process.pid"], r["process.executable.path"]) for r in message.resources],
                         [(100, "/usr/bin/app"), (200, "/usr/bin/child of app")])
        self.assertIn([("is_space", "src/parse.cpp", 4),
                       ("(anonymous namespace)::parse(char const*, 'é')", "src/parse.cpp", 22),
                       ("main", "src/main.cpp", 15), ("_start", "start.S", 1)],
                      [sample.frames for sample in message.samples])
        self.assertEqual(message.mappings()["/lib/libm.so.6"], {"process.executable.build_id.gnu": "ab01"})


class Pstats(Case):
    def test_everything_together(self):
        table = viewers.python_pstats(self.path / "profile_overall.prof")
        # Totals are by function there, and the two programs' main() are two.
        self.assert_same(table)
        self.assert_same_labels(table)

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


    def test_python_is_as_cprofile_has_it(self):
        """By file, line and function; those of C are built-in."""
        path = self.export(PYTHON) / "profile_overall.prof"
        self.assert_equal_times(viewers.python_pstats(path).self, PYTHON_TIMES)
        browser = viewers.run("python3", "-m", "pstats", path, input="strip\nsort time\nstats\ncallees pack\n")
        self.assertRegex(browser, r" 9 +0\.012 +0\.001 +0\.036 +0\.004 w\.py:3\(Service\.pack\)\n")
        self.assertRegex(browser, r"w\.py:3\(Service\.pack\) +-> +6 +0\.024 +0\.024 +\{built-in deflate of libz\.so\.1\}")


class Pyprof2calltree(Case):
    def test_everything_together(self):
        table = viewers.pyprof2calltree(self.path / "profile_overall.prof")
        self.assert_same(table, totals=False)


class Trace(Case):
    def test_everything_together(self):
        table = viewers.trace(self.path / "profile_trace.json")
        self.assert_same(table)
        self.assert_same_threads(table)


class Folded(Case):
    def test_everything_together(self):
        table = viewers.folded(self.path / "profile_overall.folded", PERIOD)
        self.assert_same(table)
        self.assert_same_labels(table)


class Flamegraph(Case):
    def test_everything_together(self):
        table = viewers.flamegraph(self.path / "profile_overall.svg", PERIOD)
        self.assert_same(table)
        self.assert_same_labels(table)


class CallgrindAnnotate(Case):
    def test_everything_together(self):
        table = viewers.callgrind_annotate(self.path / "profile_overall.callgrind")
        self.assert_same(table)
        self.assert_same_labels(table)

    def test_wall_time(self):
        table = viewers.callgrind_annotate(self.export(WAITING) / "profile_overall.callgrind")
        self.assert_equal_times(table.self, WAITING_TIMES)

    def test_python(self):
        path = self.export(PYTHON) / "profile_overall.callgrind"
        self.assert_equal_times(viewers.callgrind_annotate(path).self, PYTHON_TIMES)
        table = viewers.run("callgrind_annotate", "--threshold=100", path)
        self.assertRegex(table, r"(?m)^12,000,000 .* /srv/w\.py:Service\.pack")


class Graphviz(Case):
    def test_everything_together(self):
        table = viewers.graphviz(self.path / "profile_overall.dot")
        self.assert_same(table)
        self.assert_same_labels(table)

    def test_wall_time(self):
        table = viewers.graphviz(self.export(WAITING) / "profile_overall.dot")
        self.assert_equal_times(table.self, WAITING_TIMES)


class Kcachegrind(Case):
    def test_everything_together(self):
        complaints, title, table = viewers.kcachegrind(self.path / "profile_overall.callgrind")
        self.assertEqual(complaints, [])
        self.assertIn("profile_overall.callgrind [app]", title)
        self.assert_same(table)
        self.assert_same_labels(table)

    def test_wall_time(self):
        path = self.export(WAITING) / "profile_overall.callgrind"
        self.assert_equal_times(viewers.kcachegrind(path)[2].self, WAITING_TIMES)

    def test_complains_of_what_is_wrong(self):
        bad = self.path / "bad.callgrind"
        bad.write_text("events: ns\ncmd: bad\nfn=main\n1 5\nno such line\n")
        complaints = viewers.kcachegrind(bad)[0]
        self.assertIn("Invalid line 'no such line'", complaints[0])


class Csv(Case):
    def rows(self, name):
        with open(self.path / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_functions(self):
        table = viewers.Table()
        for row in self.rows("profile_overall.csv"):
            table.all += float(row["self_s"])
            table.self[row["function"]] += float(row["self_s"])
            table.total[row["function"]] += float(row["total_s"])
        self.assert_same(table)

    def test_samples(self):
        table = viewers.Table()
        for row in self.rows("profile_csv-samples.csv"):
            frames = row["stack"].split(";") if row["stack"] else ["[unknown]"]
            seconds = float(row["weight_s"])
            table.all += seconds
            table.threads[row["thread"], int(row["tid"])] += seconds
            table.self[frames[-1]] += seconds
            for name in set(frames):
                table.total[name] += seconds
        self.assert_same(table)
        self.assert_same_threads(table)


if __name__ == "__main__":
    sys.exit(main(globals()))
