#!/usr/bin/env python3
"""The storms, the steps, the shares, the GIL, the tasks, some shapes and what is read from outside, with the interpreters of
Debian's other suites, in chroots (chroots.py)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import chroots  # before sampan, which takes the user's cache away
import interpreters
import sampan

HERE = pathlib.Path(__file__).resolve().parent
COMMAND_S = 1200
SAMPLES = "150000"  # of each interpreter
# By script; all tests if none is named.
TESTS = {
    "python_storm_test.py": ["PythonStorm.test_no_stack_has_a_call_that_the_program_does_not_make"],
    "python_step_test.py": [],
    "python_test.py": ["Python.test_shares_callers_and_lines"],
    "gil_test.py": [],
    "tasks_test.py": ["Tasks.test_each_interpreter", "Tasks.test_eager_tasks_are_not_taken_for_those_that_made_them",
                      "Tasks.test_tasks_that_are_written_in_python_are_not_known", "Tasks.test_the_interpreters_own_word"],
    "task_dump_test.py": ["TaskDump.test_each_interpreter", "TaskDump.test_eager_tasks",
                          "TaskDump.test_tasks_that_are_written_in_python", "TaskDump.test_tasks_that_come_and_go"],
    "python_shapes_test.py": ["Shapes.test_subinterpreters", "Shapes.test_subinterpreters_of_subinterpreters",
                              "Shapes.test_children_of_all_kinds", "Shapes.test_threads_that_outlive_the_interpreter"],
    "python_outside_test.py": ["Dump.test_each_interpreter", "Dump.test_a_thread_in_two_interpreters", "Attach.test_shares",
                               "Attach.test_shares_by_perf", "Attach.test_a_storm_of_calls", "Attach.test_forked_children",
                               "Attach.test_a_subinterpreter_that_begins_later", "Attach.test_waiting_threads"],
}


class Chroots(sampan.Case):
    def check(self, suite):
        root = chroots.unpacked(suite, self.path)
        build = pathlib.Path(sampan.PROGRAM).resolve().parent
        markers = pathlib.Path(os.environ.get("SAMPAN_EXAMPLE_SOURCES", "examples")).resolve()
        with tempfile.TemporaryDirectory(prefix="sampan-chroot-", dir="/var/tmp") as shared, \
                chroots.mounted(root, ["/proc", "/dev", build, markers, pathlib.Path(shared)]):
            program = pathlib.Path(shared) / "python3"
            program.write_text(f'#!/bin/sh\nexec chroot {root} /usr/bin/python3 "$@"\n')
            program.chmod(0o755)
            version = interpreters.version_of(program)
            self.assertIn(version, interpreters.KNOWN)
            # The scripts and the programs under test, where the chroot has them, too.
            shutil.copytree(sampan.TARGETS, pathlib.Path(shared) / "targets", ignore=shutil.ignore_patterns("*.p"))
            env = {**os.environ, "SAMPAN_TEST_PYTHONS": f"{version}={program}", "TMPDIR": shared,
                   "PYTHON_STORM_SAMPLES": SAMPLES, "SAMPAN_TEST_EVERY_PYTHON": "1",
                   "SAMPAN_EXAMPLE_SOURCES": str(markers), "SAMPAN_PROGRAM": sampan.PROGRAM, "SAMPAN_TARGETS": f"{shared}/targets"}
            for test, chosen in TESTS.items():
                done = subprocess.run([sys.executable, HERE / test, *chosen], env=env, capture_output=True, text=True,
                                      timeout=COMMAND_S, check=False)
                print(f"{suite}, {test}:\n{done.stderr}", file=sys.stderr)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_bullseye(self):
        self.check("bullseye")

    def test_trixie(self):
        self.check("trixie")

    def test_sid(self):
        self.check("sid")


if __name__ == "__main__":
    unittest.main()
