#!/usr/bin/env python3
"""sampan dump --tasks of programs whose tasks are known, by every interpreter that is there."""
import json
import os
import re
import subprocess
import unittest

import interpreters
import sampan

# Tasks that wait in all ways that asyncio has. One that runs says what all_tasks() has, as JSON: {id: [name, coroutine,
# line, column, type of what it waits for]}, and computes from then on.
PROGRAM = interpreters.COLUMN_OF + """
import asyncio, json, sys, threading

async def leaf(future):
    await future  # leaf
async def middle(future):
    await leaf(future)  # middle
async def nested(future):
    await middle(future)  # nested

class Awaitable:
    def __init__(self, future):
        self.future = future
    def __await__(self):
        return (yield from self.future)  # __await__
async def by_object(future):
    await Awaitable(future)  # by_object

async def produce(future):
    yield 1
    await leaf(future)  # produce
async def consume(future):
    async for _ in produce(future):  # consume
        pass

async def sleeper():
    await asyncio.sleep(1000)  # sleeper
async def taker(queue):
    await queue.get()  # taker
async def locker(lock):
    async with lock:  # locker
        pass
async def joiner(task):
    await task  # joiner
async def gatherer(tasks):
    await asyncio.gather(*tasks)  # gatherer
async def waiter(tasks):
    await asyncio.wait(tasks)  # waiter
async def shielder(task):
    await asyncio.shield(task)  # shielder
async def limiter(task):
    await asyncio.wait_for(task, 1000)  # limiter
async def grouper(loop):
    async with asyncio.TaskGroup() as group:  # grouper
        group.create_task(sleeper(), name="member-1")
        group.create_task(sleeper(), name="member-2")
async def unnamed():
    await asyncio.sleep(1000)  # unnamed
async def fresh():
    pass

class Derived(asyncio.Task):
    pass

def name_of(code):
    return getattr(code, "co_qualname", code.co_name)

def truth():
    tasks = {}
    # all_tasks() of 3.14 leaves out those that are written in Python.
    for task in asyncio.all_tasks() | getattr(asyncio.tasks, "_py_all_tasks", set)():
        coroutine = task.get_coro()
        awaits = task._fut_waiter
        tasks[hex(id(task))] = [task.get_name() if task.get_coro().__name__ != "unnamed" else None,
                                coroutine.__qualname__, coroutine.cr_frame.f_lineno, column_of(coroutine.cr_frame),
                                type(awaits).__name__ if awaits is not None else None]
    return tasks

def compute(told):
    print(told, flush=True)
    while True:
        pass

async def spinner(others):
    new = asyncio.get_running_loop().create_task(fresh(), name="new")
    others.update(truth())
    del new
    compute(json.dumps(others))  # spinner

async def main(others, in_thread):
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    lock = asyncio.Lock()
    await lock.acquire()
    def start(coroutine, name):
        tasks.append(loop.create_task(coroutine, name=name))
        return tasks[-1]
    tasks = []
    start(nested(future), "nested")
    start(by_object(future), "by an object")
    start(consume(future), "consume")
    start(taker(asyncio.Queue()), "taker")
    start(locker(lock), "löcker")
    for i in (2, 10, 1):
        start(sleeper(), f"sleeper-{i}")
    start(joiner(tasks[-1]), "joiner")
    start(gatherer(tasks[-4:-2]), "gatherer")
    start(waiter(tasks[:2]), "waiter")
    start(shielder(tasks[0]), "shielder")
    start(limiter(tasks[0]), "limiter")
    tasks.append(loop.create_task(unnamed()))
    tasks.append(Derived(sleeper(), loop=loop, name="derived"))
    if hasattr(asyncio, "TaskGroup"):
        start(grouper(loop), "grouper")
    await asyncio.sleep(0.1)
    if in_thread:
        others.update(truth())
        ready.release()
        await future
    start(spinner(others), "spinner")
    await asyncio.gather(*tasks)

START
others, ready = {}, threading.Semaphore(0)
threading.Thread(target=lambda: asyncio.run(main(others, True)), daemon=True, name="aside").start()
ready.acquire()
asyncio.run(main(others, False))
"""

# Whom each awaits, if that is a task.
AWAITED = {"joiner": {"sleeper-1"}, "gatherer": {"sleeper-2", "sleeper-10"}, "waiter": {"nested", "by an object"},
           "shielder": {"nested"}, "limiter": {"nested"}, "grouper": {"member-1", "member-2"}}
# The functions of the program that each stands in, innermost first, each at the line that has its name as a comment.
STANDS_IN = {"nested": ["leaf", "middle", "nested"], "by an object": ["Awaitable.__await__", "by_object"],
             "consume": ["leaf", "produce", "consume"], "spinner": ["compute", "spinner"]}

# Tasks come and go; twenty stay. The program computes, or it sleeps and wakes up all the time.
CHURN = """
import asyncio
async def short(n):
    await asyncio.sleep(PAUSE)
    if n:
        await asyncio.get_running_loop().create_task(short(n - 1))
async def inner():
    await asyncio.sleep(1000)
async def stay():
    await inner()
async def main():
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(stay(), name=f"stays-{i}") for i in range(20)]
    await asyncio.sleep(0)
    print("ready", flush=True)
    while True:
        await asyncio.gather(*(short(3) for _ in range(10)))
asyncio.run(main())
"""


# A task that is run by the step of another one, and has not waited yet.
EAGER = """
import asyncio
async def child():
    print("ready", flush=True)
    while True:
        pass
async def parent():
    await asyncio.get_running_loop().create_task(child())
async def main():
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    await asyncio.get_running_loop().create_task(parent())
asyncio.run(main())
"""


def dump(pid, *options, check=True):
    return subprocess.run([sampan.PROGRAM, "dump", "--tasks", *options, str(pid)], check=check, capture_output=True,
                          text=True, timeout=120)


class TaskDump(interpreters.Case):
    def check(self, version, program, start=""):
        script = PROGRAM.replace("START", start)
        line_of = {line.split("# ")[1]: i for i, line in enumerate(script.splitlines(), 1) if "  # " in line}
        path = self.path / "program.py"
        with interpreters.Script(program, path, script) as target:
            truth = json.loads(target.line())
            result = json.loads(dump(target.pid, "--json").stdout)
            text = dump(target.pid).stdout
        self.assertEqual(result["notes"], [])
        self.assertGreater(result["stopped_s"], 0)
        self.assertEqual(len(result["loops"]), 2)
        self.assertEqual(result["loops"][0]["tid"], target.pid)
        tasks = {task["id"]: task for loop in result["loops"] for task in loop["tasks"]}
        self.assertEqual(tasks.keys(), truth.keys())
        for loop in result["loops"]:
            names = {task["name"]: task for task in loop["tasks"]}
            for task in loop["tasks"]:
                with self.subTest(task["name"]):
                    self.check_task(version, task, truth[task["id"]], line_of, str(path))
                    awaited = {tasks[id]["name"] for id in task["awaited_tasks"]}
                    if task["coroutine"] != "main":
                        self.assertEqual(awaited, AWAITED.get(task["name"], set()))
                    for id in task["awaited_tasks"]:
                        self.assertIn(task["id"], tasks[id]["awaited_by"])
            order = [task["name"] for task in loop["tasks"] if task["name"].startswith("sleeper")]
            self.assertEqual(order, ["sleeper-1", "sleeper-2", "sleeper-10"])
            self.assertEqual(names["spinner"]["state"] if "spinner" in names else "running", "running")
        self.check_text(text, target.pid, line_of, path)

    def check_task(self, version, task, truth, line_of, path):
        name, coroutine, line, column, awaits = truth
        stack = [(frame["function"], frame["line"]) for frame in task["stack"]]
        self.assertTrue(task["complete"])
        if name is not None:
            self.assertEqual(task["name"], name)
        else:
            self.assertRegex(task["name"], r"^Task-\d+$")
        self.assertEqual(task["coroutine"], coroutine)
        self.assertEqual(stack[-1][0], interpreters.name_in(version, coroutine))
        if name == "spinner":
            self.assertEqual(task["state"], "running")
            self.assertEqual(stack[-1][1], line_of["spinner"])
        elif coroutine == "main":  # what it did after it had told is known by its gather
            self.assertEqual(task["state"], "waiting")
        else:
            self.assertEqual((stack[-1][1], task["stack"][-1]["column"]), (line, column))
            self.assertEqual(task["state"], "ready" if awaits is None else "waiting")
            self.assertEqual(task["awaits"], awaits)
        if name in STANDS_IN:
            self.assertEqual([function for function, _ in stack],
                             [interpreters.name_in(version, function) for function in STANDS_IN[name]])
        for frame in task["stack"]:
            function = frame["function"].split(".")[-1]
            if frame["file"] == path and function in line_of:
                self.assertEqual(frame["line"], line_of[function], frame)
        innermost = {"taker": "get", "löcker": "acquire", "sleeper-1": "sleep"}
        if name in innermost:
            self.assertEqual(stack[0][0].split(".")[-1], innermost[name])

    def check_text(self, text, pid, line_of, path):
        self.assertRegex(text, rf'(?m)^TID {pid} "python.*": loop .*Loop$')
        self.assertRegex(text, r"(?m)^threads were stopped for \d")
        self.assertRegex(text, r"(?m)^\d+ tasks, 1 running, 1 ready, \d+ waiting, ")
        for line in (r'"joiner": waiting for "sleeper-1"', r'"gatherer": waiting for "sleeper-2" and "sleeper-10" \(\w+\)',
                     r'"new": ready, waiting for its turn', r'"spinner": running', r'"löcker": waiting for Future'):
            self.assertRegex(text, f"(?m)^{line}$")
        self.assertRegex(text, r'(?m)^"nested": waiting for Future\n    awaited by .*"limiter".*\n'
                         rf'#0  leaf at {path}:{line_of["leaf"]}\n#1  middle at .*\n#2  nested at .*\n')

    def test_each_interpreter(self):
        for version, program in interpreters.judged("3.9", "3.11", "3.13"):
            with self.subTest(version):
                self.check(version, program)

    def test_uvloop(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import uvloop"], capture_output=True, check=False).returncode != 0:
            self.skipTest("there is no uvloop")
        self.check(interpreters.version_of("/usr/bin/python3"), "/usr/bin/python3", "import uvloop\nuvloop.install()")

    def test_tasks_that_are_written_in_python(self):
        start = "asyncio.Task = asyncio.tasks.Task = asyncio.tasks._PyTask\nasyncio.Future = asyncio.futures._PyFuture"
        script = PROGRAM.replace("START", start)
        for version, program in interpreters.judged("3.10", "3.13"):
            with self.subTest(version), interpreters.Script(program, self.path / "program.py", script) as target:
                truth = json.loads(target.line())
                result = json.loads(dump(target.pid, "--json").stdout)
                tasks = {task["id"]: task for loop in result["loops"] for task in loop["tasks"]}
                self.assertEqual({id: task["name"] for id, task in tasks.items() if truth[id][0]},
                                 {id: name for id, (name, *_) in truth.items() if name})
                for id, task in tasks.items():
                    if task["coroutine"] not in ("main", "spinner"):
                        self.assertEqual(task["awaits"], truth[id][-1], task)

    def test_eager_tasks(self):
        for version, program in interpreters.judged("3.12", "3.13"):
            if version not in ("3.12", "3.13", "3.14"):
                continue
            with self.subTest(version), interpreters.Script(program, self.path / "program.py", EAGER) as target:
                target.line()
                [loop] = json.loads(dump(target.pid, "--json").stdout)["loops"]
                tasks = {task["coroutine"]: task for task in loop["tasks"]}
                self.assertEqual(tasks.keys(), {"main", "parent", "child"})
                self.assertEqual({task["state"] for task in tasks.values()}, {"running"})
                functions = [frame["function"] for frame in tasks["main"]["stack"]]
                self.assertEqual([name for name in functions if name in tasks], ["child", "parent", "main"])
                self.assertEqual([frame["function"] for frame in tasks["child"]["stack"]], ["child"])

    def test_tasks_that_come_and_go(self):
        for version, program in interpreters.judged("3.9", "3.13"):
            for pause in ("0", "0.0003"):
                script = CHURN.replace("PAUSE", pause)
                with self.subTest(version, pause=pause), interpreters.Script(program, self.path / "program.py", script) as target:
                    target.line()
                    dumps = [json.loads(dump(target.pid, "--json").stdout) for _ in range(8)]
                    whole = [each for each in dumps if each["notes"] == []]
                    for each in whole:
                        self.check_churn(each)
                    self.assertGreaterEqual(len(whole), 4, [each["notes"] for each in dumps])

    # All of it is of one moment.
    def check_churn(self, result):
        [loop] = result["loops"]
        tasks = {task["id"]: task for task in loop["tasks"]}
        staying = [task for task in loop["tasks"] if task["name"].startswith("stays-")]
        self.assertEqual(len(staying), 20)
        for task in staying:
            self.assertEqual([frame["function"] for frame in task["stack"]], ["sleep", "inner", "stay"])
        for task in loop["tasks"]:
            self.assertIn(task["coroutine"], ("main", "short", "stay"))
            self.assertTrue(task["complete"])
            awaited = [tasks[id]["coroutine"] for id in task["awaited_tasks"]]
            if task["state"] != "waiting":
                self.assertEqual(awaited, [])
            elif task["coroutine"] == "main":
                self.assertEqual(task["awaits"], "_GatheringFuture")
                self.assertLessEqual(set(awaited), {"short"})  # all may be done, and the future not told yet
            elif task["stack"][0]["function"] == "sleep":
                self.assertEqual((task["awaits"], awaited), ("Future", []))
            else:
                self.assertEqual((task["awaits"], awaited), ("Task", ["short"]))

    def test_programs_without_tasks(self):
        script = "import time\nprint(flush=True)\ntime.sleep(100)\n"
        with interpreters.Script("/usr/bin/python3", self.path / "program.py", script) as target:
            target.line()
            self.assertRegex(dump(target.pid).stdout, r"0 tasks, .*\n\nnote: the program has not imported asyncio\n$")
            self.assertEqual(json.loads(dump(target.pid, "--json").stdout)["loops"], [])
        for command, expected in ((["sleep", "100"], "runs no Python interpreter"),
                                  ([sampan.TARGETS / "target_unknown_python", "stay"], "does not know the version")):
            target = subprocess.Popen(command)
            try:
                while not os.readlink(f"/proc/{target.pid}/exe").endswith(str(command[0]).rsplit("/", 1)[-1]):
                    pass
                done = dump(target.pid, check=False)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(expected, re.sub(r"\s+", " ", done.stderr))
            finally:
                target.kill()
                target.wait()

    def test_an_ordinary_user_and_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become other users")
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        command = [sampan.PROGRAM, "dump", "--tasks"]
        script = "import asyncio\nprint(flush=True)\nasyncio.run(asyncio.sleep(100))\n"
        for owner, status in ((user, 0), ({}, 1)):
            target = subprocess.Popen(["/usr/bin/python3", "-c", script], stdout=subprocess.PIPE, **owner)
            try:
                target.stdout.readline()
                done = subprocess.run([*command, str(target.pid)], capture_output=True, text=True, check=False, **user)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertRegex(done.stdout if status == 0 else done.stderr, "tasks?, |^sampan: ")
            finally:
                target.kill()
                target.wait()
                target.stdout.close()


if __name__ == "__main__":
    unittest.main()
