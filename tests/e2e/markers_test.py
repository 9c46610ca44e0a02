#!/usr/bin/env python3
"""Programs with markers, from launch to export: the exports have what the programs themselves have logged. Their
journals hold pairs of times, read before and after each call: every recorded time lies in such an interval, and every
duration between two bounds."""
import collections
import csv
import gzip
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import sampan

EXAMPLES = pathlib.Path(os.environ.get("SAMPAN_EXAMPLES", "build/examples"))
SOURCES = pathlib.Path(os.environ.get("SAMPAN_EXAMPLE_SOURCES", "examples"))
TARGET = sampan.TARGETS / "target_markers"
MARKER_TRACK = 1 << 30  # of the Chrome trace: the track of a thread's spans
Span = collections.namedtuple("Span", "name id parent text tid end_tid begin end")


def ns(event):
    return round(event["ts"] * 1000)


class Trace:
    """Markers of the Chrome trace."""

    def __init__(self, text):
        self.spans, self.events, self.sections = {}, [], []
        self.counters = collections.defaultdict(list)
        self.threads, self.places = {}, {}
        stacks, open_ones = collections.defaultdict(list), {}
        for event in json.loads(text):
            phase, tid = event["ph"], event.get("tid", 0) & ~MARKER_TRACK
            key = json.dumps([event["pid"], event.get("id2")])
            if phase == "M" and event["name"] == "thread_name" and tid == event["tid"]:
                self.threads[tid] = event["args"]["name"]
            elif phase == "M" and event["name"] == "thread_sort_index" and tid == event["tid"]:
                self.places[event["args"]["sort_index"]] = tid
            elif phase == "B":
                stacks[tid].append(event)
            elif phase == "E":
                self.add_span(stacks[tid].pop(), event)
            elif phase == "b":
                open_ones[key] = event
            elif phase == "e" and event["cat"] == "section":
                begin = open_ones.pop(key)
                self.sections.append((event["name"], ns(begin), ns(event)))
            elif phase == "e":
                self.add_span(open_ones.pop(key), event)
            elif phase == "i":
                text = event.get("args", {}).get("text", "")
                self.events.append((event["name"], text, tid, ns(event)))
            elif phase == "C" and event["name"] != "threads on CPU":
                self.counters[event["name"]].append((ns(event), event["args"]["value"]))
        assert not any(stacks.values()) and not open_ones

    def add_span(self, begin, end):
        values = begin["args"]
        span = int(values["id"], 16)
        self.spans[span] = Span(
            begin["name"], span, int(values.get("parent", "0"), 16), values.get("text", ""),
            begin["tid"] & ~MARKER_TRACK, end["tid"] & ~MARKER_TRACK, ns(begin), ns(end))


class Firefox:
    """Markers of the Firefox Profiler's file."""

    def __init__(self, zipped):
        profile = json.loads(gzip.decompress(zipped))
        self.spans, self.events, self.sections = {}, [], []
        for thread in profile["threads"]:
            names = thread.get("stringArray") or profile["shared"]["stringArray"]
            table = thread["markers"]
            for name, begin, end, data in zip(table["name"], table["startTime"], table["endTime"],
                                              table["data"]):
                self.add(names[name], int(thread["tid"]), begin, end, data)
        self.counters = {}
        for counter in profile["counters"]:
            times, steps = counter["samples"]["time"], counter["samples"]["count"]
            values = itertools.accumulate(steps[1:])  # the first is what it begins at
            self.counters[counter["name"]] = list(zip(times[1:], values))

    def add(self, name, tid, begin, end, data):
        begin, end = (None if ms is None else round(ms * 1e6) for ms in (begin, end))
        if data["type"] == "event":
            self.events.append((name, data.get("text", ""), tid, begin))
        elif data["type"] == "section":
            self.sections.append((name, begin, end))
        else:
            ended_by = re.search(r"\((\d+)\)$", data.get("end", ""))
            identity = int(data["id"], 16)
            self.spans[identity] = Span(name, identity, int(data.get("parent", "0"), 16),
                                        data.get("text", ""), tid,
                                        int(ended_by.group(1)) if ended_by else tid, begin, end)


class Lines:
    """Spans of `export --format spans`."""

    def __init__(self, text):
        self.spans, begins, self.closed = {}, {}, collections.Counter()
        for line in map(json.loads, text.splitlines()):
            identity = int(line["id"], 16)
            if line["event"] == "begin":
                begins[identity] = line
                continue
            begin = begins.pop(identity)
            self.closed[line["closed_by"]] += 1
            self.spans[identity] = Span(
                line["name"], identity, int(line["parent"] or "0", 16), line["text"], begin["thread"],
                line["thread"], round(begin["time"] * 1e9), round(line["time"] * 1e9))
        assert not begins


class Page:
    """Markers of profile.html. It has no ids: its spans get those of the lines."""

    def __init__(self, path, lines):
        script = pathlib.Path(__file__).parent.parent / "exporters" / "page" / "page_markers.mjs"
        said = json.loads(subprocess.run(["node", script, path], check=True,
                                         stdout=subprocess.PIPE).stdout)
        place = lambda span: (span.tid, span.begin, -span.end, span.name)
        ids = {place(span): identity for identity, span in lines.spans.items()}
        assert len(ids) == len(lines.spans)
        rows = [Span(row["name"], 0, row["parent"], row["text"], row["tid"], row["end_tid"],
                     round(row["begin"]), round(row["end"])) for row in said["spans"]]
        ids_of_rows = [ids[place(row)] for row in rows]
        self.spans = {identity: row._replace(
            id=identity, parent=ids_of_rows[row.parent] if row.parent >= 0 else 0)
            for identity, row in zip(ids_of_rows, rows)}
        self.events = [(*event[:3], round(event[3])) for event in said["events"]]
        self.sections = [(name, round(begin), round(end)) for name, begin, end in said["sections"]]
        self.counters = collections.defaultdict(list)
        for name, time, value in said["counters"]:
            self.counters[name].append((time, value))


class Clock:
    """The session's beginning on the clock of the journals: each pair narrows the interval."""

    def __init__(self):
        self.low, self.high = -float("inf"), float("inf")

    def saw(self, recorded, before_and_after):
        before, after = before_and_after
        self.low, self.high = max(self.low, before - recorded), min(self.high, after - recorded)


def export(run, name):
    return subprocess.run([sampan.PROGRAM, "export", "--format", name, "--output", "-",
                           str(run.recording)], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout


def export_trace(run):
    return Trace(export(run, "trace"))


def marker_losses(run):
    return {key: count for key, count in run.report["lost"].items() if key.startswith("marker")}


class ExamplesTest(sampan.Case):
    """The examples without and with sampan: the output is the same, and the trace agrees with the journal."""

    def run_example(self, *command):
        command = list(map(str, command))
        journal = self.path / "journal"
        bare = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        words = ["--journal", str(journal)] if "--requests" in command else [str(journal)]
        run = sampan.run([*command, *words])
        self.assertEqual((run.returncode, run.stdout), (0, bare), run.stderr)
        self.assertEqual(marker_losses(run), {})
        lines = collections.defaultdict(list)
        for line in journal.read_text().splitlines():
            line = json.loads(line)
            lines[line["what"]].append(line)
        return run, lines

    def assert_truth(self, run, lines):
        trace, clock = export_trace(run), Clock()
        spans = Lines(export(run, "spans"))
        page = self.path / "page.html"
        page.write_bytes(export(run, "html"))
        for timeline in (trace, Firefox(export(run, "firefox")), Page(page, spans)):
            self.assert_spans(timeline, lines["span"] + lines["across"], clock)
            self.assert_events(timeline, lines["event"], clock)
            self.assert_sections(timeline, lines["section"], clock)
            self.assert_counters(timeline, lines["counter"])
        self.assert_spans(spans, lines["span"] + lines["across"], clock)
        self.assert_tables(run, lines["event"] + lines["counter"])
        # One beginning of the session fits all times.
        self.assertLessEqual(clock.low, clock.high)
        return trace

    def assert_spans(self, trace, lines, clock):
        self.assertEqual(len(lines), len(trace.spans))
        for line in lines:
            span = trace.spans[line["id"]]
            self.assertEqual((span.name, span.parent, span.text, span.tid, span.end_tid),
                             (line["name"], line["parent"], line["text"], line["tid"],
                              line["end_tid"]))
            (begin_low, begin_high), (end_low, end_high) = line["begin"], line["end"]
            self.assertLessEqual(end_low - begin_high, span.end - span.begin)
            self.assertLessEqual(span.end - span.begin, end_high - begin_low)
            clock.saw(span.begin, line["begin"])
            clock.saw(span.end, line["end"])
            if span.parent in trace.spans:
                self.assertLessEqual(trace.spans[span.parent].begin, span.begin)

    def assert_events(self, trace, lines, clock):
        self.assertEqual(len(lines), len(trace.events))
        by_time = lambda event: event[-1]
        written = sorted(((line["name"], line["text"], line["tid"], line["time"]) for line in lines),
                         key=by_time)
        for line, event in zip(written, sorted(trace.events, key=by_time)):
            self.assertEqual(line[:3], event[:3])
            clock.saw(event[3], line[3])

    def assert_sections(self, trace, lines, clock):
        found = {name: (begin, end) for name, begin, end in trace.sections}
        self.assertEqual(len(found), len(trace.sections))
        self.assertEqual(sorted(found), sorted(line["name"] for line in lines))
        for line in lines:
            clock.saw(found[line["name"]][0], line["begin"])
            clock.saw(found[line["name"]][1], line["end"])

    def assert_counters(self, trace, lines):
        """Each change from value to value, in order of time, is one that the program has made."""
        changes = collections.defaultdict(collections.Counter)
        for line in lines:
            changes[line["name"]][line["change"]] += 1
        self.assertEqual(set(changes), set(trace.counters))
        for name, values in trace.counters.items():
            values = [value for _, value in sorted(values)]
            steps = collections.Counter(after - before for before, after in zip([0, *values], values))
            self.assertEqual(steps, changes[name], name)

    def assert_tables(self, run, lines):
        """sampan metrics has a row for each event and each change of a counter."""
        folder = self.path / "metrics"
        subprocess.run([sampan.PROGRAM, "metrics", "--output", str(folder), str(run.recording)],
                       check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(folder / "metrics.csv", newline="") as table:
            counts = {row["metric_name"]: int(row["count"]) for row in csv.DictReader(table)}
        self.assertEqual(counts, collections.Counter(line["name"] for line in lines))

    def test_service(self):
        run, lines = self.run_example(EXAMPLES / "service", "--requests", "200")
        self.assertEqual(len(lines["across"]), 200)
        self.assertEqual(len(lines["span"]), 5 * 200 + 20)
        trace = self.assert_truth(run, lines)
        # Threads with an order come first, the lowest before the others; the main thread has none.
        names = [trace.threads[tid] for _, tid in sorted(trace.places.items())]
        roles = [name.split()[0] for name in names]
        self.assertEqual(roles[:6], ["parser"] * 2 + ["computer"] * 2 + ["answerer"] * 2)
        self.assertEqual(len(set(names[:6])), 6)

    def test_c(self):
        run, lines = self.run_example(EXAMPLES / "markers")
        self.assertEqual(len(lines["span"]), 2 * 255)
        self.assert_truth(run, lines)

    def test_python(self):
        run, lines = self.run_example(sys.executable, SOURCES / "markers.py")
        self.assertEqual(len(lines["span"]), 2 * 127)
        trace = self.assert_truth(run, lines)
        self.assertLessEqual({"sorter 1", "sorter 2"}, set(trace.threads.values()))


# Coroutines, generators and threads that take turns inside their spans. Prints what they return.
TURNS = """
import asyncio
import contextlib
import sampan_markers as markers

@markers.traced(hide=("password",))
async def login(user, password, *more, deep=None):
    with markers.span("wait", user):
        await turn()
    inner(user)
    return user

@markers.traced
def inner(user):
    markers.record_metric("length", len(user))

@markers.traced(name="numbers", hide=True)
def generator(n):
    try:
        for i in range(n):
            got = yield i
            inner("g")
            if got:
                yield got
        return "returned"
    except KeyError:
        yield "caught"

@markers.traced
async def asynchronous(n):
    for i in range(n):
        await turn()
        yield i

class Shop:
    @markers.traced
    def sell(self, goods, price=2):
        return goods * price

async def turn():
    await asyncio.sleep(0.001)

async def main():
    with markers.span("outer"), contextlib.ExitStack() as stack:
        stack.enter_context(markers.span("stacked"))
        print(await asyncio.gather(login("a", "secret", 7, deep=[1]), login("bb", password="secret")))
        numbers = generator(3)
        print(next(numbers), numbers.send("sent"), numbers.throw(KeyError()), list(numbers))
        def delegating():
            return (yield from generator(1))
        print(list(generator(2)), [value async for value in asynchronous(2)])
        delegated = delegating()
        next(delegated)
        try:
            next(delegated)
        except StopIteration as end:
            print(end.value)
        print(Shop().sell(3, price=4))
        await asyncio.to_thread(inner, "thread")

with markers.span("root"):
    asyncio.run(main())
"""


class PythonContexts(sampan.Case):
    def test_spans_belong_to_their_contexts(self):
        program = self.path / "turns.py"
        program.write_text(TURNS)
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        bare = subprocess.run([sys.executable, program], env=environment, stdout=subprocess.PIPE, text=True, check=True)
        run = sampan.run([sys.executable, program], env=environment, stdout=subprocess.PIPE, text=True)
        self.assertEqual((run.returncode, run.stdout), (0, bare.stdout))
        self.assertEqual(marker_losses(run), {})
        text = export(run, "spans")
        self.assertNotIn(b"secret", text)
        lines = Lines(text)
        self.assertEqual(set(lines.closed), {"program"})
        title = {0: None, **{span.id: f"{span.name}({span.text})" for span in lines.spans.values()}}
        found = dict(collections.Counter((title[span.parent], title[span.id]) for span in lines.spans.values()))
        self.assertEqual(found, {
            (None, "root()"): 1, ("root()", "outer()"): 1, ("outer()", "stacked()"): 1,
            ("stacked()", "login(user='a', password=…, …, deep=[1])"): 1,
            ("stacked()", "login(user='bb', password=…)"): 1,
            ("login(user='a', password=…, …, deep=[1])", "wait(a)"): 1,
            ("login(user='a', password=…, …, deep=[1])", "inner(user='a')"): 1,
            ("login(user='bb', password=…)", "wait(bb)"): 1,
            ("login(user='bb', password=…)", "inner(user='bb')"): 1,
            ("stacked()", "numbers()"): 3, ("numbers()", "inner(user='g')"): 4,
            ("stacked()", "asynchronous(n=2)"): 1, ("stacked()", "Shop.sell(goods=3, price=4)"): 1,
            ("stacked()", "inner(user='thread')"): 1})
        for span in lines.spans.values():
            if parent := lines.spans.get(span.parent):
                self.assertLessEqual(parent.begin, span.begin)
                self.assertLessEqual(span.end, parent.end)


class KilledTest(sampan.Case):
    def test_all_markers_are_there(self):
        journal = self.path / "journal"
        run = sampan.run(["timeout", "--signal=KILL", "0.5", EXAMPLES / "service", "--requests",
                          "1000000", "--journal", journal])
        # Each thread may have been killed while it wrote a marker.
        losses = marker_losses(run)
        self.assertLessEqual(losses.pop("marker_hole", 0), 7)
        self.assertEqual(losses, {})
        # The last line may be incomplete.
        lines = [json.loads(line) for line in journal.read_text().split("\n")[:-1]]
        spans = Lines(export(run, "spans"))
        said = [line for line in lines if line["what"] in ("span", "across")]
        self.assertGreater(len(said), 100)
        for line in said:
            span = spans.spans[line["id"]]
            self.assertEqual((span.name, span.parent, span.text, span.tid, span.end_tid),
                             (line["name"], line["parent"], line["text"], line["tid"],
                              line["end_tid"]))
        counters = export_trace(run).counters
        for name in counters:
            changes = sum(line["what"] == "counter" and line["name"] == name for line in lines)
            # Each thread may have been killed after the marker and before the line.
            self.assertLessEqual(changes, len(counters[name]))
            self.assertLessEqual(len(counters[name]), changes + 7)
        self.assertGreater(spans.closed["process_end"], 0)


class BadInputTest(sampan.Case):
    """tests/targets/markers.cpp uses markers wrongly; tests/preload tests the lanes."""

    def run_target(self, word):
        run = sampan.run([TARGET, word])
        self.assertEqual(run.returncode, 0, run.stderr)
        return run, export_trace(run)

    def test_ends_without_begins(self):
        run, trace = self.run_target("unmatched")
        self.assertEqual(marker_losses(run), {"marker_unmatched": 5})
        self.assertEqual([span.name for span in trace.spans.values()], ["fine"])

    def test_odd_names(self):
        run, trace = self.run_target("odd_names")
        self.assertEqual(marker_losses(run), {})
        names = [name for name, _, _, _ in sorted(trace.events, key=lambda event: event[3])]
        self.assertEqual(len(names), 6)
        self.assertEqual(len(set(names[:3])), 3)
        for name in names[:3]:
            self.assertRegex(name, "^(x+|é+)~[0-9a-f]{16}$")
            self.assertLessEqual(len(name.encode()), 512)
        self.assertEqual(names[3], "a\nb;c\"d,e/../f\ufffd\ufffd<&>")

    def test_texts_of_cpp(self):
        run, trace = self.run_target("texts_of_cpp")
        self.assertEqual(marker_losses(run), {})
        spans = {span.name: span for span in trace.spans.values()}
        long_ones = [name for name in spans if re.fullmatch("x+~[0-9a-f]{16}", name)]
        self.assertEqual(sorted(set(spans) - set(long_ones)), ["job", "part", "request", "task"])
        self.assertEqual(len(long_ones), 2)
        self.assertEqual([spans[name].text for name in ("task", "job", "request")], ["16", "17", "19"])
        self.assertEqual(spans["part"].parent, spans["request"].id)
        self.assertNotEqual(spans["request"].end_tid, spans["request"].tid)
        self.assertEqual(sorted(name for name, _, _ in trace.sections), ["18", "job"])

    def test_a_million_names(self):
        run, trace = self.run_target("distinct_names")
        # A new name travels separately from its span, and may be dropped without it.
        dropped = marker_losses(run).get("marker_full", 0)
        names = collections.Counter(span.name for span in trace.spans.values())
        self.assertLessEqual(names.pop("", 0), dropped)
        self.assertGreater(len(names), 32768)
        self.assertGreaterEqual(len(names) + dropped, 1_000_001)
        self.assertEqual([name for name in names if not re.fullmatch(r"name (\d+|last)", name)], [])
        self.assertEqual(trace.counters["counter"][0][1], 1)

    def test_values_that_are_not_numbers(self):
        run, trace = self.run_target("no_numbers")
        self.assertEqual(marker_losses(run), {"marker_counter": 2})
        self.assertEqual([value for _, value in trace.counters["counter"]], [1, 3])

    def test_too_deep(self):
        run, trace = self.run_target("deep")
        self.assertEqual(marker_losses(run), {"marker_deep": 200 - 112})
        self.assertEqual(len(trace.spans), 112 + 1)

    def test_time_stamps_out_of_order(self):
        run, trace = self.run_target("everything")
        self.assertEqual([name for name, _, _, _ in trace.events], ["event"] * 3)
        self.assertEqual(marker_losses(run), {})

    def test_fork_inside_a_span(self):
        for word in ("fork", "raw_fork"):
            with self.subTest(word):
                run, trace = self.run_target(word)
                self.assertEqual(sorted(span.name for span in trace.spans.values()),
                                 ["around the fork", "in the child"])
                self.assertEqual(marker_losses(run), {"marker_unmatched": 1})

    def test_begins_without_ends(self):
        run, trace = self.run_target("thread_ends")
        self.assertEqual(sorted(span.name for span in trace.spans.values()),
                         ["inside", "left open", "next", "open at the end"])

    def test_under_seccomp(self):
        for word in ("filter", "strict"):
            with self.subTest(word):
                run, trace = self.run_target(word)
                self.assertIn("before", [span.name for span in trace.spans.values()])


if __name__ == "__main__":
    unittest.main()
