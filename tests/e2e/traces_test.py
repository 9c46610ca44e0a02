#!/usr/bin/env python3
"""Requests across services: each sample has the trace id that its thread had, published by an OpenTelemetry library in
each way in which code may refer to thread-local storage, or set by a marker; records that are none do no harm; a request
is profiled only with a proof of the key; two services are one tree."""
import gzip
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "exporters"))
import otlp_reader
import sampan
import stalls
from tolerances import share_noise

ALPHA = "a102030405060708090a0b0c0d0e0f10"
BETA = "b202030405060708090a0b0c0d0e0f10"
ALPHA_SPAN, BETA_SPAN, BACK_SPAN = "a100000000000001", "b200000000000002", "a100000000000009"
KEY = b"a secret that both services know"
WORK = {"work_for_alpha": (ALPHA, ALPHA_SPAN), "work_for_beta": (BETA, BETA_SPAN), "work_for_none": (None, None)}
LIBRARIES = ("descriptors", "calls", "static")


def call(*words, status=0, **keywords):
    completed = subprocess.run([sampan.PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, timeout=120, **keywords)
    assert completed.returncode == status, completed.stderr
    return completed.stdout if status == 0 else completed.stderr


def cpu(run):
    rows = [line.split() for line in run.stdout.decode().splitlines()]
    return {row[1]: float(row[2]) for row in rows if row[0] == "cpu"}


def samples(run):
    """By function that works for a request: (trace id, span id) and the number of samples with them."""
    rows = json.loads(call("query", "--json", run.directory, """
        SELECT name, trace_id, span_id, count(*) AS samples FROM samples JOIN frames USING (stack)
        WHERE name LIKE 'work_for_%' OR name LIKE '%::work_for_%' GROUP BY name, trace_id, span_id"""))
    found = {}
    for row in rows:
        name = row["name"].split("::")[-1].split("(")[0]
        found.setdefault(name, {})[row["trace_id"], row["span_id"]] = row["samples"]
    return found


class Traces(unittest.TestCase):
    def check_ids(self, run, least=20):
        self.assertEqual(run.returncode, 0, run.stderr)
        found = samples(run)
        for name, ids in WORK.items():
            # The context changes outside of the functions, so no sample in one may have another.
            self.assertEqual(list(found.get(name, {})), [ids], (name, found))
            self.assertGreater(found[name][ids], least)
        return found

    def check_shares(self, run, found):
        true, counts = cpu(run), {name: sum(ids.values()) for name, ids in found.items()}
        for name, count in counts.items():
            wanted = true[name.removeprefix("work_for_")] / sum(true.values())
            all_samples = sum(counts.values())
            # They take turns, two threads with 24 of them: each turn has a sample more or less.
            slack = 2 * 24 / all_samples
            self.assertLess(abs(count / all_samples - wanted), share_noise(wanted, all_samples) + slack, name)

    def test_the_program_defines_the_variable(self):
        run = sampan.run([sampan.TARGETS / "target_traced_linked", "otel", ""])
        found = self.check_ids(run)
        self.check_shares(run, found)
        self.assertEqual(run.report["lost"], {})

    def test_a_library_that_is_opened_defines_it(self):
        for name in LIBRARIES:
            with self.subTest(name):
                library = sampan.TARGETS / f"otel_{name}.so"
                self.check_ids(sampan.run([sampan.TARGETS / "target_traced", "otel", library]))

    def test_markers_set_it(self):
        run = sampan.run([sampan.TARGETS / "target_traced", "set"])
        found = self.check_ids(run)
        self.check_shares(run, found)
        self.check_exports(run, found)

    def check_exports(self, run, found):
        """The samples of each function that works have its ids in every format that has room for them."""
        counts = {name.removeprefix("work_for_"): ids for name, ids in found.items()}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "profile")
            call("export", "--format", "otlp", "--output", file, run.directory)
            links = {}
            for sample in otlp_reader.Message(file.read_bytes()).samples:
                name = next((name for name in counts for frame in sample.frames if f"work_for_{name}" in frame[0]), None)
                links.setdefault(name, set()).add(sample.link)
            links.pop(None, None)
            self.assertEqual(links, {"alpha": {(ALPHA, ALPHA_SPAN)}, "beta": {(BETA, BETA_SPAN)}, "none": {None}})

            call("export", "--format", "trace", "--output", file, run.directory)
            events = [event for event in json.loads(file.read_text()) if event.get("cat") == "request" and event["ph"] == "b"]
            self.assertEqual({(event["args"]["trace_id"], event["args"]["span_id"]) for event in events},
                             {(ALPHA, ALPHA_SPAN), (BETA, BETA_SPAN)})
            # A sample at the begin or the end of a turn may be outside of the function that works.
            for trace_id, name in ((ALPHA, "alpha"), (BETA, "beta")):
                samples_of = sum(event["args"]["samples"] for event in events if event["args"]["trace_id"] == trace_id)
                self.assertLess(abs(samples_of - sum(counts[name].values())), 16)

            call("export", "--format", "pprof", "--output", file, run.directory)
            text = gzip.decompress(file.read_bytes())
            for word in ("trace_id", "span_id", ALPHA, ALPHA_SPAN, BETA, BETA_SPAN):
                self.assertIn(word.encode(), text)
            if shutil.which("go"):
                shown = subprocess.run(["go", "tool", "pprof", "-tags", str(file)], capture_output=True, text=True)
                self.assertIn(ALPHA, shown.stdout, shown.stderr)

    def test_python_sets_it(self):
        program = f"""
import time, sampan_markers as markers
def use(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: sum(range(1000))
def work_for_alpha(): use(0.4)
def work_for_none(): use(0.4)
markers.context({ALPHA!r}, {ALPHA_SPAN!r})
work_for_alpha()
markers.context_clear()
work_for_none()
"""
        run = sampan.run([sys.executable, "-c", program], env={"PYTHONPATH": os.environ["SAMPAN_EXAMPLE_SOURCES"]})
        self.assertEqual(run.returncode, 0, run.stderr)
        names = {row["name"] for row in sampan.report(run.recording, "--trace", ALPHA, "--python", "python")["functions"]}
        self.assertIn("work_for_alpha", names)
        self.assertNotIn("work_for_none", names)

    def test_what_is_no_record_does_no_harm(self):
        for library in ("", "calls"):
            with self.subTest(library):
                program = "target_traced" if library else "target_traced_linked"
                path = sampan.TARGETS / f"otel_{library}.so" if library else ""
                run = sampan.run([sampan.TARGETS / program, "hostile", path])
                self.check_ids(run, least=5)
                self.assertGreater(run.report["lost"]["trace_unread"], 5)

    def section(self, key, traceparent, tracestate, options=("--sections-only",)):
        with tempfile.NamedTemporaryFile() as file:
            file.write(key)
            file.flush()
            run = sampan.run([sampan.TARGETS / "target_traced", "section", traceparent, tracestate], options,
                             env={"SAMPAN_TRACE_KEY_FILE": file.name})
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def test_a_request_is_profiled_alone_if_it_proves_the_key(self):
        proof = hmac.new(KEY, ALPHA.encode(), hashlib.sha256).hexdigest()
        traceparent = f"00-{ALPHA}-{ALPHA_SPAN}-01"
        run = self.section(KEY + b"\n", traceparent, f"other=1, sampan={proof} ,more=2")
        self.assertIn(b"begun 1", run.stdout)
        found = samples(run)
        self.assertEqual(list(found), ["work_for_alpha"])
        self.assertEqual(list(found["work_for_alpha"]), [(ALPHA, None)])
        self.assertEqual([section["name"] for section in run.report["sections"]], ["request"])

        other = hmac.new(KEY + b"!", ALPHA.encode(), hashlib.sha256).hexdigest()
        wrong = [(traceparent, f"sampan={other}"), (traceparent, ""), (traceparent, f"sampan={proof[:-1]}"),
                 (f"00-{BETA}-{ALPHA_SPAN}-01", f"sampan={proof}"), (traceparent, f"xsampan={proof}")]
        for parent, state in wrong:
            with self.subTest(parent=parent, state=state):
                run = self.section(KEY, parent, state)
                self.assertIn(b"begun 0", run.stdout)
                self.assertEqual(samples(run), {})

    def test_without_a_key_no_request_is_profiled(self):
        proof = hmac.new(b"short", ALPHA.encode(), hashlib.sha256).hexdigest()
        run = self.section(b"short", f"00-{ALPHA}-{ALPHA_SPAN}-01", f"sampan={proof}")
        self.assertIn(b"begun 0", run.stdout)
        self.assertEqual(run.report["lost"]["trace_key"], 1)


@stalls.measures_time("compares waits with the time that the program sleeps")
class Services(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = [sampan.run([sampan.TARGETS / "target_traced", name], ("--clock", "wall"))
                    for name in ("front", "back")]
        words = [f"{name}={run.directory}" for name, run in zip(("front", "back"), cls.runs)]
        cls.words = words
        cls.traces = json.loads(call("spans", "--traces", "--json", *words))["traces"]

    def test_they_are_one_tree(self):
        [trace] = self.traces
        self.assertEqual((trace["trace_id"], trace["processes"]), (ALPHA, 2))
        self.assertEqual([(row["span_id"], row["parent"], row["depth"], row["name"]) for row in trace["spans"]],
                         [(ALPHA_SPAN, None, 0, "ask"), (BACK_SPAN, 0, 1, "answer")])
        for row, run, label in zip(trace["spans"], self.runs, ("front", "back")):
            self.assertTrue(row["process"].startswith(label + ": "), row["process"])
            self.assertTrue(row["host"])
            true = cpu(run)
            self.assertAlmostEqual(row["cpu_s"], true["alpha"], delta=0.1 * true["alpha"] + 0.02)
            self.assertIn("work_for_alpha", row["functions"][0]["name"])
            self.assertNotIn("work_for_none", json.dumps(row))
            self.assertIn("nanosleep", row["waits"][0]["name"])
            self.assertGreater(row["waiting_s"], 0.35)
            self.assertLess(row["waiting_s"], 0.45 + run.delayed_s)

    def test_the_page_has_them(self):
        page = call("spans", "--traces", *self.words)
        self.assertIn(ALPHA, page)
        self.assertIn("  " + BACK_SPAN + " answer", page)

    def test_one_trace_can_be_reported_alone(self):
        run = self.runs[0]
        alone = sampan.report(run.recording, "--trace", ALPHA[:6])
        self.assertNotIn("work_for_none", json.dumps(alone["functions"]))
        self.assertIn("work_for_alpha", json.dumps(alone["functions"]))
        self.assertEqual([(row["trace_id"], row["spans"]) for row in alone["traces"]], [(ALPHA, 1)])
        self.assertIn("no sample is of the trace", call("report", "--trace", "ff", run.directory, status=1))


if __name__ == "__main__":
    unittest.main()
