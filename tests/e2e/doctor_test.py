#!/usr/bin/env python3
"""What `sampan doctor RECORDING` says about code whose names are not known, and how to get them."""
import json
import os
import pathlib
import re
import subprocess

import sampan

SOURCE = """
__attribute__((noinline)) static double spin_here(long turns) {
  volatile double sum = 0;
  for (long i = 0; i < turns; ++i) sum += i;
  return sum;
}
int main(void) { return spin_here(300000000) < 0; }
"""


RUN_TIME_CODE = """
#include <string.h>
#include <sys/mman.h>
int main(void) {
  static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};  /* again: dec rdi; jnz again; ret */
  void* memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(memory, code, sizeof code);
  ((void (*)(long))memory)(1000000000);
}
"""


class Doctor(sampan.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.path / "spin.c").write_text(SOURCE)

    def compiled(self, name, *flags):
        program = self.path / name
        subprocess.run(["gcc", "-O1", *flags, self.path / "spin.c", "-o", program], check=True)
        return program

    def recorded(self, *command):
        return sampan.run([str(word) for word in command], options=["--no-symbolize"])

    def doctor(self, recording, *options):
        return subprocess.run([sampan.PROGRAM, "doctor", *options, str(recording)], check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def modules(self, recording):
        """{file name: row}"""
        found = json.loads(self.doctor(recording, "--json"))
        self.assertGreaterEqual(found["sampled_cpu_s"], found["unnamed_cpu_s"])
        return found, {pathlib.Path(row["module"]).name: row for row in found["modules"]}

    def test_most_code_without_names_is_the_stripped_program(self):
        result = self.recorded(self.compiled("stripped", "-s"))
        found, modules = self.modules(result.recording)
        # Everything except the loader's work is in spin_here.
        self.assertGreater(found["unnamed_cpu_s"], 0.8 * found["sampled_cpu_s"])
        row = modules["stripped"]
        self.assertEqual(found["modules"][0], row)
        self.assertAlmostEqual(row["unnamed_cpu_s"], found["unnamed_cpu_s"], delta=0.05 * found["sampled_cpu_s"])
        self.assertIn("stripped", row["verdict"])
        self.assertIn("-g", row["advice"])
        self.assertEqual(row["package"], "")
        build_id = row["build_id"]
        self.assertIn(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug", row["advice"])
        page = self.doctor(result.directory)
        self.assertRegex(page, r"s of CPU \((9|8)\d\.\d %\) in functions without a name|\(100")
        self.assertIn(str(self.path / "stripped"), page)

    def assert_lacks_nothing(self, recording, module):
        """A sample can meet the compiler's start files, which have no lines; more than a few cannot."""
        found, modules = self.modules(recording)
        row = modules.get(module, {"unnamed_cpu_s": 0, "without_lines_cpu_s": 0, "verdict": ""})
        self.assertLess(row["unnamed_cpu_s"] + row["without_lines_cpu_s"], 0.1 * found["sampled_cpu_s"])
        self.assertNotIn(".dwo", row["verdict"])

    def test_names_without_lines_differ_from_no_names(self):
        result = self.recorded(self.compiled("plain"))
        found, modules = self.modules(result.recording)
        self.assertLess(found["unnamed_cpu_s"], 0.2 * found["sampled_cpu_s"])
        self.assertEqual(modules["plain"]["unnamed_cpu_s"], 0)
        self.assertGreater(modules["plain"]["without_lines_cpu_s"], 0.8 * found["sampled_cpu_s"])
        self.assertIn("function names only", modules["plain"]["verdict"])

    def test_a_program_with_debug_information_lacks_nothing(self):
        result = self.recorded(self.compiled("whole", "-g"))
        self.assert_lacks_nothing(result.recording, "whole")

    def test_missing_dwo_files(self):
        # ccache would name the directory of another compilation.
        subprocess.run(["gcc", "-O1", "-g", "-gsplit-dwarf", "-c", "spin.c"], check=True, cwd=self.path,
                       env={**os.environ, "CCACHE_DISABLE": "1"})
        program = self.path / "split"
        subprocess.run(["gcc", self.path / "spin.o", "-o", program], check=True)
        result = self.recorded(program)
        dwo = self.path / "spin.dwo"
        dwo.rename(self.path / "away")
        _, modules = self.modules(result.recording)
        self.assertIn(f"1 .dwo file is missing ({dwo})", modules["split"]["verdict"])
        self.assertIn(f"dwp -e {program}", modules["split"]["advice"])
        self.assertIn(dwo.name, self.doctor(result.directory))
        report = subprocess.run([sampan.PROGRAM, "report", str(result.directory)], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("1 .dwo file is missing", " ".join(report.split()))
        (self.path / "away").rename(dwo)
        self.assert_lacks_nothing(result.recording, "split")

    def test_a_program_that_is_gone(self):
        program = self.compiled("gone", "-s")
        result = self.recorded(program)
        program.unlink()
        _, modules = self.modules(result.recording)
        self.assertIn("file not found", modules["gone"]["verdict"])
        self.assertIn("sampan symbolize", modules["gone"]["advice"])

    def test_the_package_that_has_the_names_of_a_library(self):
        self.need("dpkg-query")
        self.need("xz")
        data = self.path / "data"
        data.write_bytes(pathlib.Path(sampan.PROGRAM).read_bytes()[:6 << 20])
        result = self.recorded("xz", "-k", "-6", "-f", data)
        found, modules = self.modules(result.recording)
        library = next((row for name, row in modules.items() if name.startswith("liblzma.so")), None)
        if library is None:
            self.skipTest("liblzma has its names here")
        self.assertGreater(library["unnamed_cpu_s"], 0.5 * found["sampled_cpu_s"])
        self.assertEqual(library["package"], "liblzma5-dbgsym")
        self.assertIn("install liblzma5-dbgsym", library["advice"])

    def test_code_that_was_made_at_run_time(self):
        source = self.path / "made.c"
        source.write_text(RUN_TIME_CODE)
        program = self.path / "made"
        subprocess.run(["gcc", source, "-o", program], check=True)
        for options, advised in (([], True), (["--perf-basic-prof"], False)):
            with self.subTest(options=options):
                result = self.recorded(program, *options)
                _, modules = self.modules(result.recording)
                self.assertGreater(modules[""]["unnamed_cpu_s"], 0)
                self.assertEqual("--perf-basic-prof" in modules[""]["advice"], advised)

    def test_a_process(self):
        with subprocess.Popen(["sleep", "30"]) as sleeper:
            out = subprocess.run([sampan.PROGRAM, "doctor", str(sleeper.pid)], stdout=subprocess.PIPE,
                                 text=True).stdout
            sleeper.kill()
        self.assertIn("sleep", out)
        self.assertTrue(re.search(r"^Names$", out, re.MULTILINE), out)


if __name__ == "__main__":
    sampan.unittest.main()
