#!/usr/bin/env python3
"""CPython's own tests have the results that they have without sampan (Debian's package libpython3.11-testsuite)."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

import sampan

PYTHON = "/usr/bin/python3.11"
TESTS = pathlib.Path("/usr/lib/python3.11/test")
# What comes near to signals, stacks, threads and processes; PYTHON_SUITE names others.
MODULES = os.environ.get("PYTHON_SUITE", """test_threading test_threadsignals test_thread test_asyncio test_signal test_subprocess test_gc test_generators
test_exceptions test_coroutines test_asyncgen test_contextlib test_fork1 test_wait3 test_wait4 test_os test_posix
test_select test_faulthandler test_sys test_sys_setprofile test_sys_settrace test_frame test_weakref test_queue test_time
test_eintr test_capi test_embed test_atexit test_yield_from test_multiprocessing_fork test_multiprocessing_spawn
test_multiprocessing_forkserver test_concurrent_futures test_interpreters test_ctypes
test_zlib test_tracemalloc test_traceback""").split()
LONGEST_S = 2400
AT_ONCE = 3  # modules; most of them wait


def parts(name):
    """A package is run file by file: what hangs, with sampan or without, then takes nothing else with it."""
    files = sorted(file.stem for file in (TESTS / name).glob("test_*.py"))
    return [f"{name}.{file}" for file in files] or [name] * (TESTS / f"{name}.py").exists()


def outcomes(file):
    """{(class, test): outcome} of a regrtest's JUnit file."""
    found = {}
    for case in xml.parse(file).getroot().iter("testcase"):
        name = case.get("name")
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[name] = found.get(name, ()) + (kinds[0] if kinds else case.get("result", "passed"),)
    return found


class Suite(sampan.Case):
    def compare(self, module):
        """The outcomes of the module's tests, without sampan and with it."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            bare, sampled = pool.map(lambda sampled: self.outcomes_of(module, sampled), (False, True))
        return bare, sampled

    def judge(self, module):
        """How many tests the module has, those that end otherwise with sampan, and those that end in different ways
        without it, too. A test that depends on the time may fail by chance: where something differs, both run again,
        and a test differs if it never ended as it does without sampan."""
        runs = [self.compare(module)]
        if runs[0][0] != runs[0][1]:
            runs.append(self.compare(module))
        tests = set().union(*(outcome for run in runs for outcome in run))
        ends = {test: tuple({outcome[which].get(test) for outcome in runs} for which in (0, 1)) for test in tests}
        differ = {test: end for test, end in ends.items() if not end[0] & end[1]}
        by_chance = {test: end for test, end in ends.items() if test not in differ and len(end[0] | end[1]) > 1}
        print(f"  {module}: {len(tests)} tests, differ: {differ}, by chance (without, with): {by_chance}", file=sys.stderr)
        return len(tests), differ

    def outcomes_of(self, module, sampled):
        file = self.path / f"{module}-{'sampled' if sampled else 'bare'}.xml"
        file.unlink(missing_ok=True)
        command = [PYTHON, "-m", "test", "--junit-xml", file, "--timeout", "900", module]
        env = {"LANG": "C.UTF-8"}
        if sampled:
            run = sampan.run(command, ["--rate", "1000"], env=env, timeout=LONGEST_S, text=True)
            report = run.report
            print(f"  {module}: {report['samples']} samples, complete {report['complete_stacks']:.4f}, lost {report['lost']}, "
                  f"{len(report['processes'])} processes", file=sys.stderr)
        else:
            run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LONGEST_S,
                                 env={**os.environ, **env}, check=False)
        # Without the file, regrtest has ended the module because it took too long, or it has died.
        return outcomes(file) if file.exists() else {module: (f"no results, status {run.returncode}",)}

    def test_modules(self):
        modules = [part for name in MODULES for part in parts(name)]
        if not modules:
            self.skipTest("libpython3.11-testsuite is not installed")
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            judged = dict(zip(modules, pool.map(self.judge, modules)))
        differ = {module: difference for module, (_, difference) in judged.items() if difference}
        tests = sum(count for count, _ in judged.values())
        print(f"  {len(modules)} modules, {tests} tests, {len(differ)} modules differ", file=sys.stderr)
        self.assertEqual(differ, {})


if __name__ == "__main__":
    unittest.main()
