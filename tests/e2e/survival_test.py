#!/usr/bin/env python3
"""Programs that sampan has harmed before end as they do without it: at every rate, with both clocks, by run, by run with the
wrappers of allocators and locks, and by each engine. `forbidden_test.py` does the same for programs that forbid themselves what a sample needs.

    survival_test.py [RUNS] [TEST...]    how often each is run
"""
import functools
import re
import subprocess
import sys
import unittest

import limits_test
import sampan
import sanitizers_test

RUNS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1
RATES, CLOCKS, ENGINES = (250, 1000, 4000), ("cpu", "wall"), ("run", "wrappers", "perf", "ptrace", "poll")
MIB = 1 << 20
# Workers that recurse until V8 ends them: deep stacks of code that no table covers.
WORKERS = """
const { Worker, isMainThread } = require('worker_threads');
function deep(n) { return n + deep(n + 1); }
if (isMainThread) {
  let left = 3;
  for (let i = 0; i < 3; ++i) new Worker(__filename).on('exit', () => { if (--left === 0) console.log('all ended'); });
} else {
  for (let i = 0; i < 20; ++i) try { deep(0); } catch (error) { if (!(error instanceof RangeError)) throw error; }
}
"""
COUNTING = ["python3", "-c", "import sys; print(sum(range(3_000_000))); sys.exit(7)"]
LIMITS = {
    "file_size": {"FSIZE": (2 * MIB, 2 * MIB)},
    "address_space": {"AS": (600 * MIB, 600 * MIB)},
    "descriptors": {"NOFILE": (10, 1000)},
    "no_descriptors": {"NOFILE": (10, 10)},
    "locked_memory": {"MEMLOCK": (0, 0)},
}


class Survival(sanitizers_test.Sanitized):
    @functools.cache
    def program_of(self, name):
        """The command, and what runs in the process that becomes it."""
        if name == "node_workers":
            self.need("node")
            script = self.path / "workers.js"
            script.write_text(WORKERS)
            return ["node", "--stack-size=400", script], None
        if name in LIMITS:
            return COUNTING, limits_test.limited(**LIMITS[name])
        compiler, _, options = name.partition(" ")
        return [self.build(compiler, options), "nothing"], None

    def outcome(self, done):
        return done.returncode, done.stdout, sanitizers_test.plain(done.stderr.decode())

    def check_survival(self, name, engine, rate, clock):
        if engine in ("ptrace", "poll") and name in BUILDS and re.search("address|leak", name):
            self.skipTest("LeakSanitizer is a tracer itself: docs/harmless.md, not promised")
        command, before = self.program_of(name)
        bare = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before, timeout=120, check=False)
        options = ["--rate", str(rate), "--clock", clock]
        if engine == "wrappers":
            options += ["--heap=4K", "--locks=1us"]
        for _ in range(RUNS):
            is_run = engine in ("run", "wrappers")
            if is_run and name == "no_descriptors":  # there is no recording, and the program runs
                done = subprocess.run([sampan.PROGRAM, "run", "--quiet", *options, "--", *command], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, preexec_fn=before, timeout=120, check=False)
                self.assertIn(b"nothing is recorded", done.stderr)
            elif is_run:
                done = sampan.run(command, options, preexec_fn=before)
            else:
                done, run = sampan.run_attached(command, engine, [*options, "--follow"], preexec_fn=before)
                self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(self.outcome(done), self.outcome(bare), done.stderr.decode())


def add(name, engine, rate, clock):
    test = f"test_{re.sub(r'[^a-z]+', '_', name)}_by_{engine}_at_{rate}_{clock}"
    setattr(Survival, test, lambda self: self.check_survival(name, engine, rate, clock))


BUILDS = [f"{compiler} {options}" for compiler, builds in sanitizers_test.BUILDS.items() for options in builds]
for program in ["node_workers", *LIMITS, *BUILDS]:
    for its_engine in ENGINES:
        for hertz in RATES:
            for its_clock in CLOCKS:
                add(program, its_engine, hertz, its_clock)

if __name__ == "__main__":
    unittest.main(verbosity=1)
