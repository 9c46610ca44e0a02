#!/usr/bin/env python3
"""Programs that run others inside themselves, and loaders that are called by their name: as bare, and named."""
import os
import pathlib
import re
import subprocess
import unittest

import sampan

LOADER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
BURN = r"""
#include <time.h>
#include <stdio.h>
static volatile unsigned long sink;
__attribute__((noinline)) void burn(double seconds) {
  struct timespec now;
  do {
    for (int i = 0; i < 100000; ++i) sink += i;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (now.tv_sec + now.tv_nsec * 1e-9 < seconds);
}
int main(void) { burn(0.3); sink++; puts("burnt"); return 7; }
"""
# Hands its environment on, as an emulator does: the program that it runs would see what is printed here.
EMULATOR = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern char** environ;
int main(int count, char** words) {
  for (char** variable = environ; *variable; ++variable)
    if (!strncmp(*variable, "LD_PRELOAD", 10) || !strncmp(*variable, "SAMPAN=", 7) ||
        !strncmp(*variable, "SAMPAN_SESSION", 14) || !strncmp(*variable, "SAMPAN_FOLLOW", 13))
      puts(*variable);
  puts("emulated");
  return 0;
}
"""
LAUNCHER = r"""
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  setenv("VALGRIND_LAUNCHER", words[0], 1);
  execv(words[1], words + 1);
  return 1;
}
"""


class Guests(sampan.Case):
    def compile(self, name, source, *options):
        self.need("cc")
        file = self.path / name
        if not file.exists():
            subprocess.run(["cc", "-O1", "-g", "-x", "c", "-", "-o", file, *options], input=source, text=True, check=True)
        return file

    def compare(self, command, env=None):
        """Runs it bare and sampled; the Run."""
        alone = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                               env={**os.environ, **(env or {})})
        run = sampan.run(command, env=env)
        # Addresses are random.
        plain = [re.sub(rb"0x[0-9a-f]+", b"0x", text) for text in (alone.stdout, alone.stderr, run.stdout, run.stderr)]
        self.assertEqual((run.returncode, *plain[2:]), (alone.returncode, *plain[:2]))
        return run

    def test_an_emulator_does_not_hand_the_shim_on(self):
        for name, *options in [("qemu-here",), ("qemu-here-static", "-static")]:
            with self.subTest(name):
                self.compare([self.compile(name, EMULATOR, *options)])
                # The same by a program that executes it.
                self.compare(["sh", "-c", '"$0"; true', self.compile(name, EMULATOR, *options)])
                self.compare(["env", "MORE=1", self.compile(name, EMULATOR, *options)])

    def test_an_emulator_is_sampled(self):
        emulator = self.compile("qemu-burner", BURN)
        run = self.compare([emulator])
        self.assertGreater(sum(thread["sampled_cpu_s"] for thread in run.report["threads"]), 0.2)

    def test_the_tool_of_valgrind_does_not_hand_the_shim_on(self):
        launcher = self.compile("launcher", LAUNCHER)
        run = self.compare([launcher, self.compile("tool", EMULATOR, "-static")])
        # Perf samples it from outside, where that is permitted.
        self.assertIn(run.report["lost"], ({}, {"process_static": 1}))

    def test_valgrind(self):
        self.need("valgrind")
        program = self.compile("burner", BURN)
        for tool in ("memcheck", "helgrind"):
            self.compare(["valgrind", "-q", f"--tool={tool}", "--error-exitcode=9", program])

    def test_qemu(self):
        self.need("qemu-x86_64")
        self.compare(["qemu-x86_64", self.compile("burner", BURN)])

    def test_a_loader_lists_what_it_lists_alone(self):
        self.need("ldd")
        program = self.compile("burner", BURN)
        self.compare(["ldd", program])
        self.compare(["env", "LD_TRACE_LOADED_OBJECTS=1", program])
        if LOADER.exists():
            self.compare([LOADER, "--list", program])
            self.compare(["env", LOADER, "--library-path", "/nowhere", "--list", program])

    def test_a_program_that_the_loader_is_told_to_run_has_names(self):
        if not LOADER.exists():
            self.skipTest(f"no {LOADER}")
        program = self.compile("burner", BURN)
        for command in ([LOADER, program], ["env", LOADER, program]):
            run = self.compare(command)
            seconds = {(f["name"], pathlib.Path(f["module"]).name): f["self_s"] for f in run.report["functions"]}
            self.assertGreater(seconds.get(("burn", "burner"), 0), 0.2, seconds)
            self.assertEqual(run.report["lost"], {})

    def test_sampan_under_sampan(self):
        inner = self.path / "inner"
        outer = sampan.run([sampan.PROGRAM, "run", "--quiet", "--format", "none", "--output", inner, "--",
                            self.compile("burner", BURN)])
        self.assertEqual((outer.returncode, outer.stdout, outer.stderr), (7, b"burnt\n", b""))
        report = sampan.report(next(inner.glob("*/recording.sampan")))
        self.assertGreater(sum(thread["sampled_cpu_s"] for thread in report["threads"]), 0.2)
        # The outer one knows of its CPU by the kernel's account.
        lost = dict(outer.report["lost"])
        lost.pop("unseen_cpu_ms", None)
        self.assertEqual(lost, {"process_not_joined": 1})


if __name__ == "__main__":
    unittest.main()
