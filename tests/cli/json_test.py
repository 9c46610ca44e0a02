"""JSON has one word for one thing over all commands, and the pages of docs/ explain each.

usage: json_test.py SAMPAN SHIM_FOLDER
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

import cli_test

ROOT = pathlib.Path(__file__).parent.parent.parent
# A name of its own for each number that is no time: a count, a share, a number that something has.
COUNTS = {
    "cpus", "samples", "self_samples", "total_samples", "too_few_samples", "occurrences", "unclosed", "count", "tasks", "spans", "functions",
    "closed_by_thread_end", "closed_by_process_end", "in_slow"}
SHARES = {"share", "mean_share", "distance", "self_share", "total_share", "change", "low", "high", "confidence", "p", "coverage", "complete_stacks"}
NUMBERS_OF_THINGS = {"pid", "tid", "parent", "depth", "line", "column", "exit_status", "exit_signal"}
RATES = {"rate_hz", "achieved_rate_hz"}
OF_LOCKS = {"waits", "locks", "threads", "draws", "intervals", "waiter_tid", "waker_tid"}
OF_COUNTERS = {"mean", "least", "most", "deviation", "excess"}  # in what the program counts
# What other words would say: the word that is used for it.
SYNONYMS = {"queued_s": "runnable_s", "runnable_ns": "runnable_s", "seconds": "time_s", "total": "total_s", "self": "self_s",
            "wait_s": "waiting_s", "waited_s": "waiting_s", "span_s": "duration_s", "stopped_ns": "stopped_s",
            "function_name": "name", "path": "file", "hz": "rate_hz", "thread_name": "name"}
PROGRAM = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
import sampan_markers as markers

def work():
    return sum(range(300_000))

async def request(i):
    with markers.span("request"):
        work()
        await asyncio.sleep(0.001)

async def main():
    with markers.section("all"):
        for i in range(120):
            await request(i)

asyncio.run(main())
"""
LOOP = """
import asyncio

async def wait():
    await asyncio.sleep(60)

async def main():
    print(flush=True)
    await asyncio.gather(wait(), wait())

asyncio.run(main())
"""


def members(value):
    """All keys with their values, however deep. Reasons of losses are keys, too, and have a table of their own; labels are
    the user's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            if key not in ("lost", "labels"):
                yield from members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner)


class Words(cli_test.Case):
    def looping(self):
        """A process with tasks of asyncio."""
        process = subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        return process

    def answers(self):
        """What each command that has --json says, by its words."""
        script = self.path / "program.py"
        script.write_text(PROGRAM)
        self.assertEqual(self.run_quietly(sys.executable, script, ROOT / "examples", options=["--clock", "wall", "--locks"]).returncode, 0)
        run = self.only_run()
        both = self.path / "both"
        self.assertEqual(self.sampan("merge", f"a={run}", f"b={run}", "-o", both).returncode, 0)
        sleeper = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        for words in (["report", "--blocking", "1", run], ["report", "--locks", run],
                      ["report", "--critical", "request", run], ["spans", run], ["spans", "--tree", "--cpu", run],
                      ["spans", "--explain", "request", run], ["diff", run, run], ["ranks", both], ["annotate", "work", run], ["doctor"],
                      ["doctor", run], ["doctor", "--", "sleep", "1"], ["dump", sleeper.pid], ["dump", "--tasks", self.looping().pid],
                      ["top", "-s", "500ms", sleeper.pid], ["query", run, "SELECT * FROM samples LIMIT 9"]):
            dashes = words.index("--") if "--" in words else len(words)
            result = self.sampan(*words[:dashes], "--json", *words[dashes:])
            if words[0] in ("dump", "top") and "permi" in result.stderr:
                continue
            self.assertIn(result.returncode, (0, 1), result.stderr)
            yield words[0], json.loads(result.stdout)

    def counted_answers(self):
        """The same of profiles that count no time: an imported one, and a heap."""
        file = self.path / "counts.folded"
        file.write_text("main;parse 3000\nmain 1000\n")
        run = self.sampan("import", "-o", self.path / "imported", file).stdout.strip()
        heap = self.path / "heap"
        self.assertEqual(self.sampan("run", "--quiet", "--heap=4096", "--output", heap, "--", sys.executable, "-c", "list(map(str, range(99999)))").returncode, 0)
        [heap] = heap.iterdir()
        for unit, words in (("samples", ["report", run]), ("samples", ["diff", run, run]), ("samples", ["annotate", "parse", run]),
                            ("samples", ["doctor", run]), ("bytes", ["report", "--heap", heap])):
            result = self.sampan(*words, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            answer = json.loads(result.stdout)
            self.assertEqual(answer.get("unit", answer.get("recording", {}).get("unit")), unit, words[0])
            yield words[0], answer

    def check(self, command, answer):
        """By Debian's python3-jsonschema, which another interpreter may lack."""
        file = self.path / "answer.json"
        file.write_text(json.dumps(answer))
        return subprocess.run(["/usr/bin/python3", "-W", "ignore", "-m", "jsonschema", "-i", file, ROOT / f"docs/schemas/{command}.json"],
                              capture_output=True, text=True, check=False)

    def test_have_schemas(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import jsonschema"], capture_output=True, check=False).returncode != 0:
            self.skipTest("python3-jsonschema is not installed")
        commands = set()
        for command, answer in [*self.answers(), *self.counted_answers()]:
            commands.add(command)
            with self.subTest(command=command):
                checked = self.check(command, answer)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""), json.dumps(answer)[:2000])
                for wrong in ({**answer, "unknown": 1}, {}) if isinstance(answer, dict) else ({}, [1]):
                    self.assertNotEqual(self.check(command, wrong).returncode, 0, "the schema permits anything")
        self.assertLessEqual({"report", "spans", "diff", "ranks", "annotate", "doctor", "query"}, commands)
        self.assertLessEqual(commands, {page.stem for page in (ROOT / "docs/schemas").iterdir()})

    def test_are_the_same_in_all_commands(self):
        documented = "".join(page.read_text() for page in (ROOT / "docs").glob("*-json.md"))
        commands = set()
        for command, answer in self.answers():
            commands.add(command)
            if command == "query":
                continue  # its words are the user's
            for key, value in members(answer):
                with self.subTest(command=command, key=key):
                    self.assertNotIn(key, SYNONYMS)
                    if isinstance(value, (int, float)) and not isinstance(value, bool) and key != "beyond_noise":
                        self.assertTrue(key.endswith(("_s", "_s_since_start")) or
                                        key in COUNTS | SHARES | NUMBERS_OF_THINGS | RATES | OF_COUNTERS | OF_LOCKS, f"{key}: {value}")
                    if command != "doctor":
                        self.assertIn(f"`{key}`", documented)
        self.assertLessEqual({"report", "spans", "diff", "annotate", "doctor"}, commands)

    def test_of_a_function_is_its_name(self):
        for command, answer in self.answers():
            rows = answer.get("functions", []) if command in ("report", "diff", "top") else [answer] if command == "annotate" else []
            for row in rows:
                self.assertIn("name", row, command)
                self.assertIn("module", row, command)


if __name__ == "__main__":
    unittest.main()
