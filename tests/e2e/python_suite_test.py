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
test_concurrent_futures test_interpreters test_ctypes test_zlib test_tracemalloc test_traceback""").split()
LONGEST_S = 2400
AT_ONCE = 3  # modules; most of them wait


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
        """How many tests the module has, and those whose outcomes differ."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            bare, sampled = pool.map(lambda sampled: self.outcomes_of(module, sampled), (False, True))
        differ = sorted(set(bare.items()) ^ set(sampled.items()))
        print(f"  {module}: {len(bare)} tests, differ: {differ}", file=sys.stderr)
        return len(bare), differ

    def outcomes_of(self, module, sampled):
        file = self.path / f"{module}-{'sampled' if sampled else 'bare'}.xml"
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
        modules = [name for name in MODULES if (TESTS / name).exists() or (TESTS / f"{name}.py").exists()]
        if not modules:
            self.skipTest("libpython3.11-testsuite is not installed")
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            compared = dict(zip(modules, pool.map(self.compare, modules)))
        # A test that depends on the time may fail by chance, with sampan and without: those run once more.
        differ = {module: difference for module, (_, difference) in compared.items() if difference}
        print(f"  once more: {differ}", file=sys.stderr)
        differ = {module: difference for module in differ if (difference := self.compare(module)[1])}
        tests = sum(count for count, _ in compared.values())
        print(f"  {len(modules)} modules, {tests} tests, {len(differ)} modules differ", file=sys.stderr)
        self.assertEqual(differ, {})


if __name__ == "__main__":
    unittest.main()
