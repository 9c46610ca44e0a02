#!/usr/bin/env python3
"""Opens the exports of a known profile with viewers of npm, some in Chromium: npm_viewers_test.py
VIEWER."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import npm_viewers
import viewers
from known_profile import HERE, PERIOD, PYTHON, PYTHON_TIMES, WAITING, WAITING_TIMES, Case, labels, main


class Speedscope(Case):
    def open(self, name):
        return npm_viewers.speedscope(self.path / name)

    def test_trace(self):
        threads = self.open("profile_trace.json")
        self.assert_equal_times(
            {name: table.all for name, table in threads.items()},
            {"app (pid 100), app (tid 100)": 17 * PERIOD, "app (pid 100), worker (tid 101)": 7 * PERIOD,
             "app (pid 100), worker (tid 102)": 6 * PERIOD,
             "child of app (pid 200), worker (tid 200)": 2 * PERIOD})
        self.assert_same(viewers.together(threads.values()))

    def test_speedscope(self):
        """A profile per thread, the busiest first; functions by name, shared by the threads."""
        threads = self.open("profile_overall.speedscope.json")
        self.assertEqual(list(threads), ["app", "worker (101)", "worker (102)", "worker (200)"])
        self.assert_equal_times({name: table.all for name, table in threads.items()},
                                labels(self.truth.threads))
        self.assert_same(viewers.together(threads.values()))

    def test_speedscope_of_wall_time(self):
        [table] = npm_viewers.speedscope(self.export(WAITING) / "profile_overall.speedscope.json").values()
        self.assert_equal_times(table.self, WAITING_TIMES)

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


class Firefox(Case):
    def test_everything_together(self):
        threads = npm_viewers.firefox(self.path / "profile_overall.firefox.json.gz")
        self.assert_same(viewers.together(thread["table"] for thread in threads))
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
        [thread] = npm_viewers.firefox(self.export(WAITING) / "profile_overall.firefox.json.gz")
        self.assert_equal_times(thread["table"].self,
                                WAITING_TIMES)
        self.assertAlmostEqual(thread["cpuMs"] / 1e3, 3 * PERIOD)

    def test_python(self):
        path = self.export(PYTHON) / "profile_overall.firefox.json.gz"
        [thread] = npm_viewers.firefox(path)
        self.assert_equal_times(thread["table"].self, PYTHON_TIMES)

    def test_perf_script(self):
        """The profiler reads that too, and counts samples."""
        threads = npm_viewers.firefox(self.path / "profile_overall.linux-perf.txt")
        self.assert_equal_times(
            {(t["name"], int(t["tid"])): t["table"].all * 1e3 * PERIOD for t in threads},
            self.truth.threads)


MARKED = """main;serve 20
# thread 101 worker
start;work 20
! span 101 10 30 handle id=7 text=a\\s"b"
! span 101 12.5 20 parse id=8 parent=7
! span 101 20 30 reply id=9 parent=7 closed=1
! span 100 5 15 request id=10 to=101
! section all 2 40 phase
! section 101 12 21 infer_1
! event 101 12.5 flush text=full
! counter 101 3 queue 1.5
! counter 101 9 queue 4
! counter 100 30 queue 0
"""


class Markers(Case):
    """What the program said, in viewers that have a place for it."""

    def test_trace_in_speedscope(self):
        """Spans are of a track of their own, with their arguments; that of samples is as without."""
        app, worker, markers = npm_viewers.speedscope(
            self.export(MARKED) / "profile_trace.json").values()
        self.assert_equal_times(app.self, {"main": 0, "serve": 20 * PERIOD})
        self.assert_equal_times(worker.self, {"start": 0, "work": 20 * PERIOD})
        names = {name.split(" ")[0]: seconds for name, seconds in markers.self.items()}
        self.assert_equal_times(names, {"handle": 0.0025, "parse": 0.0075, "reply": 0.010})
        self.assertAlmostEqual(markers.all, 0.020)

    def test_firefox(self):
        path = self.export(MARKED) / "profile_overall.firefox.json.gz"
        with npm_viewers.firefox_client(path) as ask:
            found = json.loads(ask("profile", "markers", "--limit", "100", "--json"))["markers"]
            [counter] = json.loads(ask("counter", "list", "--json"))["counters"]
        shown = {(m["threadName"], m["markerType"], m["name"], m["start"],
                  m.get("duration"))
                 for m in found}
        self.assertEqual(shown, {
            ("worker", "span", "handle", 10, 20), ("worker", "span", "parse", 12.5, 7.5),
            ("worker", "span", "reply", 20, 10), ("app", "span across threads", "request", 5, 10),
            ("app", "section", "phase", 2, 38), ("worker", "section", "infer_1", 12, 9),
            ("worker", "event", "flush", 12.5, None)})
        data = {marker["name"]: marker["data"] for marker in found}
        self.assertEqual(data["handle"], {"id": f"{7:016x}", "text": 'a "b"'})
        self.assertEqual(data["reply"],
                         {"id": f"{9:016x}", "parent": f"{7:016x}", "closed": "by the end of its thread"})
        self.assertEqual(data["request"], {"id": f"{10:016x}", "end": "worker (101)"})
        self.assertEqual(data["flush"], {"text": "full"})
        self.assertEqual((counter["label"], counter["pid"]), ("queue", "100"))
        self.assertEqual([value for i, value in enumerate(counter["graph"])
                          if i == 0 or value != counter["graph"][i - 1]], [0, 1.5, 4, 0])


class PprofFormat(Case):
    def test_everything_together(self):
        table = npm_viewers.pprof_format(self.path / "profile_overall.pb.gz")
        self.assert_same(table)
        self.assert_same_threads(table)


class Chromium(Case):
    def test_flamegraph(self):
        """Hover, zoom, search, keyboard."""
        npm_viewers.in_chromium(HERE / "flamegraph_test.js", self.path / "profile_overall.svg")

    def test_speedscope(self):
        """What the person sees first of each format that speedscope reads."""
        suffixes = (".speedscope.json", ".linux-perf.txt", ".pb.gz", ".folded")
        own, perf, pprof, folded, trace = npm_viewers.speedscope_in_chromium(
            *(self.path / f"profile_overall{suffix}" for suffix in suffixes),
            self.path / "profile_trace.json")
        self.assertEqual(own["title"], "app - speedscope")
        self.assertEqual(own["thread"], "app (1/4)")
        self.assertIn("app (tid 100) (1/4)", trace["thread"])
        self.assertIn("tid: 100 (1/4)", perf["thread"])
        for shown in (own, trace):
            self.assertIn(["68.00ms (100%)", "0.00ns (<0.01%)", "main"], shown["rows"])
            self.assertIn(["20.00ms (29%)", "20.00ms (29%)", "fib(int)"], shown["rows"])
        self.assertIn(["44.00ms (34%)", "4.00ms (3.1%)", "work(void*)"], pprof["rows"])
        self.assertIn(["11 (34%)", "1 (3.1%)", "work(void*)"], folded["rows"])


if __name__ == "__main__":
    sys.exit(main(globals()))
