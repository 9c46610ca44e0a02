#!/usr/bin/env python3
"""Every output has the same markers of a program: Chrome trace, Firefox profile, page, lines of JSON.
markers_test.py compares them with what the program itself has logged."""
import base64
import collections
import gzip
import json
import os
import pathlib
import re
import subprocess
import unittest
import zlib

import sampan

SERVICE = pathlib.Path(os.environ.get("SAMPAN_EXAMPLES", "build/examples")) / "service"
MARKER_TRACK = 1 << 30
Span = collections.namedtuple("Span", "name begin end parent text tid")
Markers = collections.namedtuple("Markers", "spans sections events counters")


def ns(value, per_ns):
    return round(value * per_ns)


def of_trace(text):
    spans, sections, events, counters = {}, [], [], collections.defaultdict(list)
    open_spans, open_ids = collections.defaultdict(list), {}

    def add(begin, end):
        args = begin["args"]
        if begin["cat"] == "section":
            sections.append((begin["name"], ns(begin["ts"], 1e3), ns(end["ts"], 1e3)))
            return
        spans[args["id"]] = Span(begin["name"], ns(begin["ts"], 1e3), ns(end["ts"], 1e3),
                                 args.get("parent"), args.get("text", ""),
                                 begin["tid"] & ~MARKER_TRACK)

    for event in json.loads(text):
        if event["ph"] == "B":
            open_spans[event["tid"]].append(event)
        elif event["ph"] == "E":
            add(open_spans[event["tid"]].pop(), event)
        elif event["ph"] == "b":
            open_ids[event["id2"]["local"]] = event
        elif event["ph"] == "e":
            add(open_ids.pop(event["id2"]["local"]), event)
        elif event["ph"] == "i":
            events.append((event["name"], ns(event["ts"], 1e3), event.get("args", {}).get("text", ""),
                           event["tid"] & ~MARKER_TRACK))
        elif event["ph"] == "C" and event["name"] != "threads on CPU":
            counters[event["name"]].append((ns(event["ts"], 1e3), event["args"]["value"]))
    return Markers(spans, sorted(sections), sorted(events), dict(counters))


def of_firefox(data):
    profile = json.loads(gzip.decompress(data))
    strings = profile["shared"]["stringArray"]
    spans, sections, events, counters = {}, [], [], {}
    for thread in profile["threads"]:
        table = thread["markers"]
        columns = (table[key] for key in ("data", "name", "startTime", "endTime"))
        for values, name, begin, end in zip(*columns, strict=True):
            name, begin = strings[name], ns(begin, 1e6)
            if values["type"] == "event":
                events.append((name, begin, values.get("text", ""), int(thread["tid"])))
            elif values["type"] == "section":
                sections.append((name, begin, ns(end, 1e6)))
            else:
                spans[values["id"]] = Span(name, begin, ns(end, 1e6), values.get("parent"),
                                           values.get("text", ""), int(thread["tid"]))
    for counter in profile["counters"]:
        total, points = 0, []
        for time, change in zip(counter["samples"]["time"], counter["samples"]["count"]):
            total += change
            points.append((ns(time, 1e6), total))
        counters[counter["name"]] = points[1:]
    return Markers(spans, sorted(sections), sorted(events), counters)


def of_lines(text):
    """Spans only."""
    spans = {}
    for line in map(json.loads, text.splitlines()):
        if line["event"] == "begin":
            spans[line["id"]] = Span(line["name"], ns(line["time"], 1e9), None, line["parent"],
                                     line["text"], line["thread"])
        else:
            spans[line["id"]] = spans[line["id"]]._replace(end=ns(line["time"], 1e9))
    return spans


def counts_of_page(text):
    header = re.search(r'id="profile-header">([^<]*)<', text)[1]
    columns = json.loads(zlib.decompress(base64.b64decode(header)))["columns"]
    counts = {column["name"]: column["count"] for column in columns}
    return tuple(counts[f"{table}.name"] for table in ("spans", "sections", "events", "counters"))


class MarkerExports(sampan.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recorded = sampan.run([SERVICE, "--requests", "300"])
        cls.trace = of_trace(cls.export("trace"))

    @classmethod
    def export(cls, name, *options):
        return subprocess.run([sampan.PROGRAM, "export", "--format", name, "--output", "-", *options,
                               cls.recorded.recording], check=True, stdout=subprocess.PIPE).stdout

    def setUp(self):
        self.assertGreaterEqual(len(self.trace.spans), 300 * 2)
        self.assertEqual(len(self.trace.sections) >= 300, True, len(self.trace.sections))

    def test_firefox(self):
        firefox = of_firefox(self.export("firefox"))
        self.assertEqual(firefox.spans, self.trace.spans)
        self.assertEqual(firefox.sections, self.trace.sections)
        self.assertEqual(firefox.events, self.trace.events)
        self.assertEqual(firefox.counters, self.trace.counters)

    def test_lines_of_json(self):
        self.assertEqual(of_lines(self.export("spans")), self.trace.spans)

    def test_page(self):
        """That columns come back as they were: tests/exporters/page/html_markers_test.mjs."""
        self.assertEqual(counts_of_page(self.export("html").decode()),
                         (len(self.trace.spans), len(self.trace.sections), len(self.trace.events),
                          sum(map(len, self.trace.counters.values()))))

    def test_parts_of_the_time_make_the_whole(self):
        """A span is in every part that it overlaps."""
        middle = self.recorded.report["duration_s"] / 2
        first = of_trace(self.export("trace", "--to", str(middle)))
        second = of_trace(self.export("trace", "--from", str(middle)))
        self.assertEqual(set(first.spans) | set(second.spans), set(self.trace.spans))
        both = [self.trace.spans[span] for span in set(first.spans) & set(second.spans)]
        for span in both:
            self.assertLessEqual(span.begin, middle * 1e9 + 1)
            self.assertGreaterEqual(span.end, middle * 1e9 - 1)


if __name__ == "__main__":
    unittest.main()
