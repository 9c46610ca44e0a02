#!/usr/bin/env python3
"""Python functions in the stacks: names, callers, lines and shares, by every interpreter that is there."""
import re
import subprocess
import unittest

import interpreters
import sampan
from stalls import measures_time
from tolerances import unsampled_s


def has_columns(version):
    return version not in ("3.9", "3.10")


def chain_start(chain):
    """Where the program's own functions begin: the threads' have names like theirs (`run`)."""
    return next(i for i, frame in enumerate(chain) if frame.startswith("work:"))


class Python(interpreters.Case):
    def check_shares(self, version, run, stacks):
        self.assertEqual(run.report["lost"], {})
        self.assertGreaterEqual(run.report["complete_stacks"], 0.99)
        self.assertGreater(sum(weight for _, weight in stacks), 2 - unsampled_s(2))
        # What is used outside of the loops, as the start of the interpreter, is some hundredths of a second of two.
        self.assert_shares(version, stacks, 0.06 + unsampled_s(2))
        # zlib is below the function that calls it, and no eval loop is left where the functions are known.
        self.assertTrue(any("compress" in frames and "libz" not in frames[-1] and
                            any(re.search("deflate|libz", frame) for frame in frames[frames.index("compress"):])
                            for frames, _ in stacks), stacks)

    def check_lines(self, version, run):
        """The callers' lines are those that the interpreter itself tells."""
        told = {tuple(line.split(" ", 1)[1].split(";")): line.split(" ")[0] for line in run.stdout.splitlines()}
        truth = {chain for chain, kind in told.items() if kind == "stack"}
        # `frequent` calls twice in one line.
        self.assertEqual(len(truth), 3 if has_columns(version) else 2, run.stdout)
        self.check_columns(version, run, truth, told.keys())
        lines = subprocess.run([sampan.PROGRAM, "report", "--by", "line", "--top", "0", run.recording], check=True,
                               capture_output=True, text=True).stdout
        for name, number, _ in (frame.split(":") for chain in truth for frame in chain[chain_start(chain):]):
            if name in [interpreters.name_in(version, name) for name in (
                    "frequent", "rare", "Service.parts", "Service.run", "Service.__init__", "work")]:
                self.assertRegex(lines, rf" {name[:19]}.* .*\.py:{number}\b", f"{name} of {truth}")

    def check_columns(self, version, run, truth, told):
        """So are their columns: those of `co_positions()`. `truth`: those of `told` that use CPU."""
        seen = set()
        for stack in interpreters.places(run):
            names = [name for name, _, _ in stack]
            if "work" in names and "spin" in names:
                callers = stack[names.index("work"):names.index("leaf")]
                seen.add(tuple(f"{name}:{line}:{column}" for name, line, column in callers))
        self.assertLessEqual({chain[chain_start(chain):] for chain in truth}, seen)
        self.assertLessEqual(seen, {chain[chain_start(chain):] for chain in told})
        self.assertEqual(has_columns(version), all(not frame.endswith(":0") for chain in seen for frame in chain))

    def test_the_system_interpreter_is_known(self):
        self.assertIn(interpreters.version_of("/usr/bin/python3"), interpreters.KNOWN)

    @measures_time("an interpreter that waits for a CPU starts late")
    def test_shares_callers_and_lines(self):
        for version, program in interpreters.judged():
            with self.subTest(version):
                run, stacks = self.stacks_of(program)
                self.check_lines(version, run)
                self.check_shares(version, run, stacks)

    def test_an_unknown_version_has_native_stacks_and_says_so(self):
        run = sampan.run([sampan.TARGETS / "target_unknown_python"], ["--rate", "250"])
        self.assertEqual(run.report["lost"], {"python_unknown": 1})
        self.assertGreater(run.report["complete_stacks"], 0.9)
        names = [row["name"] for row in run.report["functions"]]
        self.assertIn("spin", names)

    def test_trampolines_for_perf(self):
        """`-X perf` and `-X perf_jit` (3.13) put code without unwind information between the eval loops."""
        tried = [(version, program, option) for version, program in interpreters.installed().items()
                 for option, versions in (("perf", ("3.12", "3.13")), ("perf_jit", ("3.13",)))
                 if version in versions]
        if not tried:
            self.skipTest("no interpreter with -X perf is installed")
        for version, program, option in tried:
            with self.subTest(version, option=option):
                self.check_trampolines(program, option)

    def check_trampolines(self, program, option):
        path = self.path / "trampolines.py"
        path.write_text(interpreters.SHARES)
        run = sampan.run([program, "-X", option, path, "0.5"], text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.report["lost"], {})
        self.assertGreaterEqual(run.report["complete_stacks"], 0.99)
        functions = {function["name"] for function in run.report["functions"]}
        self.assertLessEqual({"Service.run", "frequent", "rare", "leaf", "spin", "compress"}, functions)
        # Without the option these functions call each other in one eval loop, with no C frame in between.
        stacks, chains = interpreters.exported(run), 0
        for frames, _ in stacks:
            known = frames[:frames.index("spin")] if "spin" in frames else []
            self.assertFalse([frame for frame in known if "py::" in frame or "trampoline" in frame], frames)
            for outer in ("frequent", "rare"):
                if outer in frames and "spin" in frames:
                    chains += 1
                    self.assertEqual(frames[frames.index(outer):frames.index("spin") + 1], [outer, "leaf", "spin"])
        self.assertGreater(chains, 50)
        native = {frame for frames, _ in interpreters.exported(run, "--python", "native") for frame in frames}
        self.assertTrue(any("py::spin:" in frame for frame in native), native)

    def test_off(self):
        _, stacks = self.stacks_of("/usr/bin/python3", "--no-python", seconds="0.2")
        self.assertFalse(any("leaf" in frames for frames, _ in stacks))


if __name__ == "__main__":
    unittest.main()
