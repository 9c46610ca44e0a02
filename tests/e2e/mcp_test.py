#!/usr/bin/env python3
"""sampan mcp: the official client of the Model Context Protocol asks it about recordings of a known program."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import npm_packages
import sampan

CLIENT = pathlib.Path(__file__).parent / "mcp_client.js"
# Three of four calls of `work` are from `often`. The recording's first function is `spin`, wherever it is called.
PROGRAM = """
import sys, time; WORK = [None] * 20000
def spin(s):
    end = time.process_time() + s
    while time.process_time() < end:
        for _ in WORK: a = b = c = d = None  # nothing of C's
def often(): spin(0.3)
def seldom(): spin(0.1)
often(); seldom()
print("done", sys.argv[1:])
"""
# A person reads a page, a model 2,000 tokens, each of 2.6 bytes in such tables.
LONGEST_SUMMARY = 5200


class Mcp(sampan.Case):
    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory(prefix="sampan-mcp-")
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        self.script = self.path / "program.py"
        self.script.write_text(PROGRAM)
        self.command = ["/usr/bin/python3", str(self.script)]
        self.environment = {**npm_packages.environment(), "SAMPAN_OUTPUT": str(self.path / "elsewhere")}

    def record(self, *options):
        """As a person does, in the usual place."""
        environment = {name: value for name, value in os.environ.items() if name != "SAMPAN_OUTPUT"}
        subprocess.run([sampan.PROGRAM, "run", "--quiet", "--format", "none", *options, "--", *self.command], cwd=self.path,
                       env=environment, check=True, capture_output=True, timeout=60)
        return max((self.path / "sampan-profiles").iterdir())

    def ask(self, *calls, options=()):
        script = {"server": [sampan.PROGRAM, "mcp", "--directory", str(self.path), *options],
                  "calls": [{"name": name, "arguments": arguments, **more} for name, arguments, more in
                            ((*call, {})[:3] for call in calls)]}
        done = subprocess.run(["node", str(CLIENT)], input=json.dumps(script), capture_output=True, text=True, timeout=300,
                              env=self.environment, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def answers(self, *calls, options=()):
        results = self.ask(*calls, options=options)["results"]
        for (name, *_), result in zip(calls, results):
            self.assertFalse(result.get("isError", True), (name, result))
        return [result["text"] for result in results]

    def test_tools_answer_about_a_recording(self):
        self.record()
        second = self.record("--clock", "wall")
        self.record()
        listed, summary, hot, callers, callees, tree, lines, diff, spans, waits, threads, doctor = self.answers(
            ("list", {}), ("summary", {}), ("hot_functions", {"limit": 1, "by": "function"}),
            ("callers", {"function": "spin"}), ("callees", {"function": "often"}), ("call_tree", {}),
            ("lines", {"function": "spin"}), ("diff", {}), ("spans", {}), ("waits", {"recording": "-2"}), ("threads", {}),
            ("doctor", {"recording": str(second)}))
        self.assertEqual(len(listed.splitlines()), 3, listed)
        self.assertRegex(listed.splitlines()[1], rf"^  -2 .*{second.name}$")
        self.assertLess(len(summary), LONGEST_SUMMARY)
        self.assertRegex(summary, r"coverage \d+\.\d %")
        self.assertRegex(summary, r"(?m)^ +\d+\.\d ± \d+\.\d +\d+\.\d ± \d+\.\d +spin ")
        self.assertIn("sampan report --callers 'spin'", summary)
        self.assertRegex(hot, r"(?m) spin +\S*program.py:3$")
        for name, text in (("often", callers), ("seldom", callers), ("spin", callees), ("often", tree)):
            self.assertIn(name, text)
        self.assertNotIn("seldom", callees)
        self.assertIn("for _ in WORK: a = b", lines)
        self.assertIn("beyond noise", diff)
        self.assertIn("0 spans", spans)
        self.assertIn("Waits", waits)
        self.assertRegex(threads, r"(?m) python3 ")
        self.assertIn("rate:", doctor)

    def test_sources_are_of_the_directory(self):
        self.record()
        inner = self.path / "inner"
        inner.mkdir()
        shutil.move(self.path / "sampan-profiles", inner)
        self.path = inner
        [lines] = self.answers(("lines", {"function": "spin"}))
        self.assertNotIn("for _ in WORK", lines)
        self.assertRegex(lines, r"(?m)^>.* 6$")

    def test_recordings_are_of_the_directory(self):
        """Also by way of links, and when they are named by their place."""
        recording = self.record()
        here = self.path / "here"
        begun = here / "sampan-profiles"
        begun.mkdir(parents=True)
        inner = begun / recording.name
        segments = here / "continuous" / "segments"
        segments.mkdir(parents=True)
        (segments / "000001.sampan").symlink_to(recording / "recording.sampan")
        (here / "link").symlink_to(recording.parent)
        (here / "file.sampan").symlink_to(recording / "recording.sampan")
        for name in ("-copy=1", "1"):  # neither an option nor a process
            shutil.copytree(recording, here / name)
        outside = [str(recording), "..", "../sampan-profiles", "link", f"link/{recording.name}", "file.sampan", "continuous",
                   "nowhere", "", "--json", "/root/x", "x" * 5000]

        def ask(words, tool="summary"):
            calls = [{"id": i, "method": "tools/call", "params": {"name": tool, "arguments": {"recording": word}}}
                     for i, word in enumerate(words)]
            done = subprocess.run([sampan.PROGRAM, "mcp"], cwd=here, input="".join(json.dumps(call) + "\n" for call in calls),
                                  capture_output=True, text=True, check=True, timeout=300, env=self.environment)
            self.assertEqual(done.stderr, "")
            return [json.loads(line)["result"]["content"][0]["text"] for line in done.stdout.splitlines()]

        inner.symlink_to(recording)
        for word, answer in zip([*outside, "-1", inner.name], ask([*outside, "-1", inner.name]), strict=True):
            self.assertIn("is not in the directory of this server", answer, word)
        inner.unlink()
        inner.mkdir()
        (inner / "recording.sampan").symlink_to(recording / "recording.sampan")
        [answer] = ask(["-1"])
        self.assertIn("-1 is not in the directory of this server", answer)
        (inner / "recording.sampan").unlink()
        shutil.copy(recording / "recording.sampan", inner)
        inside = ["-1", "sampan-profiles", f"sampan-profiles/{inner.name}/recording.sampan", "-copy=1", "1", str(inner)]
        for word, answer in zip(inside, ask(inside), strict=True):
            self.assertIn("coverage", answer, word)
        [answer] = ask(["1"], tool="doctor")
        self.assertIn("rate:", answer)
        [answer] = ask(["-2"])
        self.assertIn("there is only 1 recording", answer)

    def test_processes_are_looked_into_only_if_allowed(self):
        asked = self.ask(("record", {"command": self.command}), ("attach", {"pid": 1, "seconds": 1}), ("dump", {"pid": 1}),
                         ("rm", {}))
        self.assertTrue({"record", "attach", "dump"}.isdisjoint(tool["name"] for tool in asked["tools"]))
        self.assertIn("summary", asked["instructions"])
        *refused, unknown = asked["results"]
        for result in refused:
            self.assertTrue(result["isError"])
            self.assertIn("--allow-run", result["text"])
        self.assertIn("no such tool", unknown["refused"])
        self.assertFalse((self.path / "sampan-profiles").exists())

    def test_an_agent_records_and_asks(self):
        recorded, listed, summary = self.answers(
            ("record", {"command": [*self.command, "--flag", "a b"], "rate": 500}), ("list", {}), ("summary", {}),
            options=["--allow-run"])
        self.assertIn("done ['--flag', 'a b']", recorded)
        [line] = listed.splitlines()
        self.assertIn(line.split()[-1], recorded)
        self.assertIn("500 Hz asked", summary)
        self.assertFalse((self.path / "elsewhere").exists())

    def test_a_recording_that_takes_too_long_is_ended(self):
        [recorded] = self.ask(("record", {"command": ["sleep", "1000"], "seconds": 1}), options=["--allow-run"])["results"]
        self.assertIn("SIGTERM", recorded["text"])

    def test_a_process_is_recorded_and_dumped(self):
        target = subprocess.Popen([*self.command[:1], "-c", "while True: pass"])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        attached, dumped = self.answers(("attach", {"pid": target.pid, "seconds": 1}), ("dump", {"pid": target.pid}),
                                        options=["--allow-run"])
        self.assertIn("<module>", attached)
        self.assertIn("<module>", dumped)

    def test_a_call_can_be_cancelled(self):
        marker = self.path / "ended"
        script = f"trap 'touch {marker}; exit' TERM; echo begun; while :; do sleep 0.1; done"
        cancelled, listed = self.ask(("record", {"command": ["sh", "-c", script]}, {"cancel_ms": 3000}), ("list", {}),
                                     options=["--allow-run"])["results"]
        self.assertTrue(cancelled["cancelled"])
        self.assertFalse(listed["isError"])
        self.assertTrue(marker.exists(), "the program was not ended")

    def test_a_program_that_does_not_end_is_left(self):
        """It ignores SIGTERM, so its recorder is killed, and the next call is answered."""
        pid_file = self.path / "pid"
        script = f"trap '' TERM; echo $$ > {pid_file}; while :; do sleep 0.1; done"
        cancelled, listed = self.ask(("record", {"command": ["sh", "-c", script]}, {"cancel_ms": 2000}), ("list", {}),
                                     options=["--allow-run"])["results"]
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        self.assertTrue(cancelled["cancelled"])
        self.assertFalse(listed["isError"])

    def test_what_a_program_leaves_running_is_not_waited_for(self):
        """It has the pipe that the program's output comes by."""
        [recorded] = self.answers(("record", {"command": ["sh", "-c", "sleep 1000 & echo $!"]}), options=["--allow-run"])
        os.kill(int(recorded.split()[0]), signal.SIGKILL)

    def test_what_it_runs_ends_with_it(self):
        """A server that gets a signal ends the program that it records."""
        pid_file = self.path / "pid"
        server = subprocess.Popen([sampan.PROGRAM, "mcp", "--allow-run"], cwd=self.path, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        call = {"name": "record", "arguments": {"command": ["sh", "-c", f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 1000"]}}
        server.stdin.write(json.dumps({"id": 1, "method": "tools/call", "params": call}).encode() + b"\n")
        server.stdin.flush()
        while not pid_file.exists():
            time.sleep(0.02)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(60), 0)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid_file.read_text()), 0)

    def test_calls_are_answered_before_the_end(self):
        done = subprocess.run([sampan.PROGRAM, "mcp"], cwd=self.path, input=b'{"id":1,"method":"tools/call","params":{"name":"list"}}\n',
                              capture_output=True, check=True, timeout=60)
        self.assertIn("no recordings in sampan-profiles", json.loads(done.stdout)["result"]["content"][0]["text"])


if __name__ == "__main__":
    unittest.main()
