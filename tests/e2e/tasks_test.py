#!/usr/bin/env python3
"""The tasks of asyncio: whose CPU is whose, and what held the loop, by every interpreter that is there."""
import csv
import gzip
import io
import json
import pathlib
import subprocess
import sys
import unittest

import interpreters
import sampan
import tolerances

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "exporters"))
import otlp_reader

RATE_HZ = 250
BLOCK_S = 0.25

# Prints what each task has used by the thread's clock; and for a step that blocks, its CPU and the time around it.
TASKS = """
import asyncio, json, random, sys, time

used = {}
blocks = []

def spin(name, seconds):
    begin = time.thread_time()
    while time.thread_time() < begin + seconds:
        for _ in range(1000):
            pass
    spent = time.thread_time() - begin
    used[name] = used.get(name, 0) + spent
    return spent

async def inner(name, seconds):
    spin(name, seconds)
    await asyncio.sleep(0)

# In steps that differ: equal ones would take their turns in step with the clock that samples them.
async def service(name, seconds):
    for _ in range(100):
        await inner(name, seconds / 50 * random.random())

async def worker():
    await service("worker", 0.08)

def hold_the_loop():
    return spin("blocker", BLOCK)

async def blocker():
    for _ in range(2):
        begin = time.monotonic()
        await asyncio.sleep(0)
        cpu = hold_the_loop()
        await asyncio.sleep(0)
        blocks.append((cpu, time.monotonic() - begin))

async def main():
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(service("alpha", 0.8), name="alpha"), loop.create_task(service("βeta", 0.4))]
    tasks[1].set_name("βeta")
    tasks += [loop.create_task(worker()) for _ in range(4)] + [loop.create_task(blocker())]
    for _ in range(50):
        loop.call_soon(spin, "callback", 0.004)
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)

START
print(json.dumps({"used": used, "blocks": blocks}))
"""
RUN = "asyncio.run(main())"
RUN_UVLOOP = """
import uvloop
uvloop.install()
asyncio.run(main())
"""

EAGER = """
import asyncio, json, time

used = {}

def spin(name, seconds):
    begin = time.thread_time()
    while time.thread_time() < begin + seconds:
        for _ in range(1000):
            pass
    used[name] = used.get(name, 0) + time.thread_time() - begin

async def child(name, seconds):
    spin(name, seconds)
    await asyncio.sleep(0)
    spin(name, seconds)

async def parent():
    loop = asyncio.get_running_loop()
    for _ in range(4):
        spin("parent", 0.1)
        await loop.create_task(child("child", 0.05), name="child")

async def main():
    loop = asyncio.get_running_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    await loop.create_task(parent(), name="parent")

asyncio.run(main())
print(json.dumps({"used": used}))
"""


# Neither asyncio's frames nor a coroutine's are on the stack: the interpreter alone knows the task.
ALONE = """
import asyncio, collections.abc, json, time

class Spins(collections.abc.Coroutine):
    def __await__(self):
        return self
    def throw(self, *exception):
        raise exception[0]
    def send(self, value):
        begin = time.thread_time()
        while time.thread_time() < begin + 0.5:
            for _ in range(1000):
                pass
        raise StopIteration

asyncio.events.Handle._run = lambda self: self._context.run(self._callback, *self._args)
loop = asyncio.new_event_loop()
task = asyncio.Task(Spins(), loop=loop, name="spins")
loop.run_until_complete(task)
print(json.dumps({}))
"""


class Tasks(interpreters.Case):
    def profile(self, program, script):
        run, _ = self.stacks_of(program, script=script.replace("BLOCK", str(BLOCK_S)), rate=str(RATE_HZ))
        return run, json.loads(run.stdout), run.report

    def check_shares(self, rows, used, samples):
        """`rows`: {what: seconds}"""
        everything = sum(used.values())
        for name, seconds in used.items():
            share = seconds / everything
            noise = tolerances.share_noise(share, tolerances.in_turns(samples)) * everything
            self.assertLessEqual(abs(rows.get(name, 0) - seconds), noise + tolerances.unsampled_s(), (name, rows, used))

    def seconds_of(self, report):
        rows = {}
        for row in report["tasks"]:
            coroutine = row["coroutine"].split(".")[-1]
            name = row["kind"] if row["kind"] != "task" else row["name"] or coroutine
            name = coroutine if name.startswith("Task-") else name
            rows[name] = rows.get(name, 0) + row["sampled_cpu_s"]
        return rows

    def check(self, program, start, has_steps):
        run, truth, report = self.profile(program, TASKS.replace("START", start))
        used = truth["used"]
        rows = self.seconds_of(report)
        if not has_steps:  # no callback of uvloop is seen
            del used["callback"]
        self.check_shares(rows, used, run.report["samples"])
        self.assertNotIn("unknown", {row["kind"] for row in report["tasks"]}, rows)
        [workers] = [row for row in report["tasks"] if row["coroutine"] == "worker"]
        # A thread that shares its CPU has fewer samples, of more weight each.
        samples_each = run.report["samples"] * 0.08 / sum(row["sampled_cpu_s"] for row in report["tasks"])
        self.assertGreaterEqual(workers["tasks"], 4 - tolerances.unseen(4, samples_each))
        if not has_steps:
            self.assertEqual(report["blocks"], [])
            return run, truth
        blocks = [block for block in report["blocks"] if block["coroutine"] == "blocker"]
        self.assertEqual(len(blocks), len(truth["blocks"]), report["blocks"])
        # What was found is within the step that was measured. Its CPU before the first sample and after the last one is
        # what a timer may leave at two ends; and no interval is shorter than the CPU in it.
        for block, (cpu, around) in zip(sorted(blocks, key=lambda block: block["begin_s"]), truth["blocks"]):
            self.assertLessEqual(block["at_least_s"], around)
            self.assertGreaterEqual(block["at_least_s"], cpu - tolerances.unsampled_s(2) - 1 / RATE_HZ)
            self.assertEqual(block["functions"][:3], ["blocker", "hold_the_loop", "spin"])
        # Every other step was short, unless the machine had no CPU for it: then the step has no samples of its own.
        for block in report["blocks"]:
            if block["coroutine"] != "blocker":
                self.assertLess(block["samples"], 0.1 * RATE_HZ, block)
        return run, truth

    def check_exports(self, run, used):
        def exported(form):
            return subprocess.run([sampan.PROGRAM, "export", "--format", form, "--output", "-", run.recording], check=True,
                                  capture_output=True).stdout

        rows = self.seconds_of(run.report)
        # Slices do not overlap in their thread, and each has the time of its samples at least.
        slices, open_since, end = {}, {}, 0
        for event in json.loads(exported("trace")):
            if event.get("cat") != "task":
                continue
            name, key, time = event["name"], event["id2"]["local"], event["ts"] / 1e6
            if event["ph"] == "b":
                self.assertEqual(event["args"]["task"], name)
                self.assertGreaterEqual(time, end - 1e-6)
                open_since[key] = time
            else:
                end = time
                slices[name] = slices.get(name, 0) + time - open_since.pop(key)
        self.assertEqual(open_since, {})
        self.assertEqual(slices.keys() - {"main"}, used.keys() - {"callback"})
        for name in ("alpha", "worker", "blocker"):
            self.assertGreaterEqual(slices[name], 0.99 * rows[name], name)
        # A row of CSV and a sample of OTLP have the task as pprof's label has it; what no task did has none.
        of_csv = {}
        for row in csv.DictReader(io.StringIO(exported("csv-samples").decode())):
            of_csv[row["task"]] = of_csv.get(row["task"], 0) + float(row["weight_s"])
        of_otlp = {}
        for sample in otlp_reader.Message(exported("otlp")).samples:
            task = sample.thread.get("task.name", "")
            of_otlp[task] = of_otlp.get(task, 0) + sample.nanoseconds / 1e9
        self.assertEqual(of_csv.keys(), of_otlp.keys())
        self.assertEqual(of_csv.keys() - {"", "main"}, used.keys() - {"callback"})
        for name, seconds in of_csv.items():
            self.assertAlmostEqual(of_otlp[name], seconds, places=6)
            if name:
                self.assertAlmostEqual(seconds, rows[name], places=6)
        strings = gzip.decompress(exported("pprof"))
        for text in ("task", "alpha", "βeta", "blocker"):
            self.assertIn(bytes([len(text.encode())]) + text.encode(), strings)

    def test_each_interpreter(self):
        for version, program in interpreters.judged("3.9", "3.13"):
            with self.subTest(version):
                self.check(program, RUN, has_steps=True)

    def test_the_report(self):
        run, truth = self.check("/usr/bin/python3", RUN, has_steps=True)
        text = subprocess.run([sampan.PROGRAM, "report", "--tasks", "--blocking", "120", run.recording], check=True,
                              capture_output=True, text=True).stdout
        self.assertRegex(text, r"(?m)^ +1 +\d\.\d+ .* alpha +service$")
        self.assertRegex(text, r"(?m)^ +4 .* Task-… +worker$")
        self.assertRegex(text, r"held their loop for 120 ms or more")
        self.assertRegex(text, r"Task-\d+ +blocker > hold_the_loop > spin")
        longer = subprocess.run([sampan.PROGRAM, "report", "--json", "--blocking", "100000", run.recording], check=True,
                                capture_output=True, text=True).stdout
        self.assertEqual(json.loads(longer)["blocks"], [])
        self.check_exports(run, truth["used"])
        nothing = sampan.run(["/usr/bin/python3", "-c", "sum(range(3_000_000))"], text=True)
        self.assertNotIn("tasks", nothing.report)

    def test_a_hint_where_steps_may_have_waited(self):
        script = """
import asyncio, time
def spin():
    end = time.thread_time() + 0.05
    while time.thread_time() < end: pass
async def main():
    for _ in range(3):
        spin()
        time.sleep(0.2)
        await asyncio.sleep(0)
asyncio.run(main())
"""
        for options, expected in ([], True), (["--clock", "wall"], False):
            run, _ = self.stacks_of("/usr/bin/python3", *options, script=script)
            text = subprocess.run([sampan.PROGRAM, "report", "--tasks", run.recording], check=True, capture_output=True,
                                  text=True).stdout
            hint = r"for [\d.]+ s of [\d.]+ s their loops had no CPU: --clock wall shows steps that waited"
            (self.assertRegex if expected else self.assertNotRegex)(text, hint)

    def test_uvloop(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import uvloop"], capture_output=True, check=False).returncode != 0:
            self.skipTest("there is no uvloop")
        self.check("/usr/bin/python3", RUN_UVLOOP, has_steps=False)

    def test_eager_tasks_are_not_taken_for_those_that_made_them(self):
        for version, program in interpreters.judged("3.12", "3.13"):
            if version in ("3.9", "3.10", "3.11"):
                continue
            with self.subTest(version):
                run, truth, report = self.profile(program, EAGER)
                rows = self.seconds_of(report)
                rows["child"] = rows.get("child", 0) + rows.pop("unknown", 0)
                self.check_shares(rows, truth["used"], run.report["samples"])

    def test_the_interpreters_own_word(self):
        for version, program in interpreters.installed().items():
            if version not in interpreters.KNOWN:
                continue
            with self.subTest(version):
                run, _, report = self.profile(program, ALONE)
                rows = self.seconds_of(report) if "tasks" in report else {}
                if version in ("3.9", "3.10", "3.11", "3.12", "3.13"):  # they do not say
                    self.assertEqual(rows, {})
                    continue
                self.assertEqual(rows.keys() - {"outside"}, {"spins"}, rows)
                self.assertAlmostEqual(rows["spins"], 0.5, delta=tolerances.unsampled_s(2) + run.delayed_s)

    def test_tasks_that_are_written_in_python_are_not_known(self):
        for version, program in interpreters.judged("3.9", "3.13"):
            with self.subTest(version):
                start = "asyncio.Task = asyncio.tasks.Task = asyncio.tasks._PyTask\n" + RUN
                _, truth, report = self.profile(program, TASKS.replace("START", start))
                rows = self.seconds_of(report)
                self.assertEqual(rows.keys() - {"outside"}, {"unknown", "callback"}, rows)


if __name__ == "__main__":
    unittest.main()
