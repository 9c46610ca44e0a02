#!/usr/bin/env python3
"""sampan dump of programs whose threads stay in known functions."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import sampan

SOURCE = pathlib.Path(__file__).parent.parent / "targets" / "dumped.c"
DEPTH = 50
# By thread: the function that it stays in, the call that it waits in, and the object that it waits for.
HABITS = {
    "spinner": ("spin", None, ""),
    "reader": ("wait_for_pipe", "read", r"pipe:\[\d+\]"),
    "poller": ("wait_for_events", "epoll_wait", r"pipe:\[\d+\]"),
    "sleeper": ("wait_for_time", "clock_nanosleep", ""),
    "waiter": ("wait_for_condition", "futex", ""),
}
# musl uses other system calls than glibc.
MUSL_CALLS = {"epoll_wait": "epoll_pwait", "clock_nanosleep": "nanosleep"}


def line_of(text):
    lines = SOURCE.read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


class Program(sampan.Piped):
    """Says "ready" first."""

    def __init__(self, *command, **keywords):
        super().__init__(*command, **keywords)
        assert self.line() == "ready\n"

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=30)


def dump(*words, check=True, **keywords):
    return subprocess.run([sampan.PROGRAM, "dump", *map(str, words)], check=check,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          **keywords)


def dump_json(*words, **keywords):
    return json.loads(dump("--json", *words, **keywords).stdout)


class DumpTest(sampan.Case):
    def compiled(self, name, *arguments, compiler="cc"):
        self.need(compiler)
        program = self.path / name
        if not program.exists():
            subprocess.run([compiler, "-g", "-O2", *arguments, SOURCE, "-o", program, "-pthread"],
                           check=True)
        return program

    def assert_truth(self, result, calls=lambda call: call):
        threads = {thread["name"]: thread for thread in result["threads"]}
        self.assertLessEqual(set(HABITS), set(threads))
        for name, (function, call, wanted) in HABITS.items():
            thread = threads[name]
            with self.subTest(thread=name):
                self.assertEqual(thread["call"], calls(call))
                self.assertRegex(thread["object"], f"^{wanted}$")
                functions = [frame["function"] for frame in thread["stack"]]
                place = functions.index(function)
                self.assertEqual(functions[place + 1:place + 1 + DEPTH], ["descend"] * DEPTH)
                self.assertEqual(functions[place + 1 + DEPTH], "work")
                self.assertTrue(thread["complete"], thread["stop"])
                for frame in thread["stack"][place:place + 2 + DEPTH]:
                    self.assertEqual(pathlib.Path(frame["file"]).name, SOURCE.name)
        self.assertEqual(threads["spinner"]["state"], "R")
        spin = threads["spinner"]["stack"][0]
        self.assertEqual((spin["line"], spin["inlined"]), (line_of("spins here"), False))
        inlined = next(frame for frame in threads["reader"]["stack"]
                       if frame["function"] == "read_byte")
        self.assertEqual((inlined["line"], inlined["inlined"]), (line_of("reads here"), True))

    def test_finds_every_thread_where_it_is(self):
        for name, argument in (("frame_pointers", "-fno-omit-frame-pointer"),
                               ("no_frame_pointers", "-fomit-frame-pointer")):
            with self.subTest(build=name), Program(self.compiled(name, argument)) as program:
                self.assert_truth(dump_json(program.pid))
                self.assertEqual(program.end(), 0)

    def test_static_programs(self):
        with Program(self.compiled("static", "-static")) as program:
            self.assert_truth(dump_json(program.pid))

    def test_musl_without_unwind_information_in_its_library(self):
        for name, argument in (("musl_frame_pointers", "-fno-omit-frame-pointer"),
                               ("musl_no_frame_pointers", "-fomit-frame-pointer")):
            with self.subTest(build=name):
                built = self.compiled(name, "-static", argument, compiler="musl-gcc")
                with Program(built) as program:
                    self.assert_truth(dump_json(program.pid),
                                      lambda call: MUSL_CALLS.get(call, call))

    def test_a_deleted_and_replaced_program_keeps_its_names(self):
        original = self.compiled("replaceable")
        copy = self.path / "replaced"
        shutil.copy(original, copy)
        with Program(copy) as program:
            copy.unlink()
            shutil.copy("/bin/true", copy)
            self.assert_truth(dump_json(program.pid))

    def test_one_thread_by_name_or_tid(self):
        with Program(self.compiled("replaceable")) as program:
            reader = dump_json("--thread", "reader", program.pid)["threads"]
            self.assertEqual([thread["name"] for thread in reader], ["reader"])
            self.assertEqual(dump_json("--thread", reader[0]["tid"], program.pid)["threads"],
                             reader)
            wrong = dump("--thread", "raeder", program.pid, check=False)
            self.assertEqual(wrong.returncode, 1)
            self.assertIn("'raeder', did you mean 'reader'?", wrong.stderr)

    def test_the_text_is_like_a_debugger_s(self):
        with Program(self.compiled("replaceable")) as program:
            text = dump(program.pid).stdout
        self.assertRegex(text, r'TID \d+ "reader": waiting in read \(pipe:\[\d+\]\)\n#0 ')
        self.assertRegex(text, r'TID \d+ "spinner": running\n#0  0x[0-9a-f]{16} in spin at ')
        self.assertRegex(text, r"#\d+ +0x[0-9a-f]{16} in read_byte \(inlined\) at \S+dumped.c:" +
                         str(line_of("reads here")))
        self.assertNotIn("the stack goes on", text)

    def test_does_not_wake_sleepers(self):
        with Program(self.compiled("replaceable")) as program:
            def switches():
                counts = {}
                for task in pathlib.Path(f"/proc/{program.pid}/task").iterdir():
                    status = (task / "status").read_text()
                    name = re.search(r"Name:\t(.*)", status)[1]
                    counts[name] = int(re.search(r"\nvoluntary_ctxt_switches:\t(\d+)", status)[1])
                del counts["spinner"]
                return counts

            before = None
            while before != (before := switches()):  # until all are idle
                time.sleep(0.1)
            for _ in range(20):
                dump(program.pid)
            self.assertEqual(switches(), before)

    def test_an_ordinary_user_and_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become other users")
        program_file = self.compiled("replaceable")
        os.chmod(self.path, 0o755)
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        with Program(program_file, **user) as program:
            own = dump("--json", program.pid, check=False, **user)
            self.assertEqual(own.returncode, 0, own.stderr)
            self.assert_truth(json.loads(own.stdout))
        with Program(program_file) as program:
            other = dump(program.pid, check=False, **user)
            self.assertEqual((other.returncode, other.stdout), (1, ""))
            self.assertRegex(other.stderr, "^sampan: ")

    def test_no_such_process(self):
        for word in ("no_such_program_name", "999999999"):
            wrong = dump(word, check=False)
            self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
            self.assertIn(word, wrong.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
