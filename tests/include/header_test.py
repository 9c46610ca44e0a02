#!/usr/bin/env python3
"""sampan/markers.h with the compilers, linkers and options that programs are built with: no warning,
and the shim finds every module. A program that cannot be preloaded into runs as it would."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ.get("SAMPAN_PROGRAM", "build/sampan")
INCLUDE = os.environ.get("SAMPAN_INCLUDE", "include")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wconversion", "-Wundef"]
STRICT_C = ["-std=c11", "-Wstrict-prototypes", "-Wmissing-prototypes"]
STRICT_CPP = ["-std=c++17", "-Wold-style-cast", "-Wzero-as-null-pointer-constant"]
# Exits with 0 when all its translation units have found the shim, else with 1.
MAIN = """#include <sampan/markers.h>
#ifdef __cplusplus
extern "C"
#endif
int other(void);
int main(void) {
  sampan_span_begin("main");
  sampan_span_end();
  return sampan_profiled() + other() == 2 ? 0 : 1;
}
"""
OTHER = """#include <sampan/markers.h>
#ifdef __cplusplus
extern "C"
#endif
int other(void);
int other(void) { return sampan_profiled(); }
"""
LINKERS = {"gcc": ("bfd", "gold", "lld"), "g++": ("bfd", "gold", "lld"), "clang": ("bfd", "lld"),
           "clang++": ("bfd", "lld")}
SECTIONS = ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]


class HeaderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sampan-header-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def compile(self, compiler, options, text, name, *inputs):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        cpp = compiler.endswith("++")
        source = self.path / f"{name}.{'cpp' if cpp else 'c'}"
        source.write_text(text)
        output = self.path / name
        command = [compiler, *(STRICT_CPP if cpp else STRICT_C), *STRICT, "-I", INCLUDE, *options,
                   str(source), *map(str, inputs), "-o", str(output)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), " ".join(command))
        return output

    def build(self, compiler, *options):
        # Two translation units. Linkers' options are of no use to the first.
        unused = ["-Qunused-arguments"] if compiler.startswith("clang") else []
        other = self.compile(compiler, [*options, *unused, "-c"], OTHER, "other.o")
        return self.compile(compiler, options, MAIN, "main", other)

    def exit_status(self, *command):
        done = subprocess.run([PROGRAM, "run", "--quiet", "--format", "none", "--output",
                               str(self.path / "out"), "--", *map(str, command)],
                              stderr=subprocess.DEVNULL)
        return done.returncode

    def assert_found(self, program):
        self.assertEqual(self.exit_status(program), 0)
        self.assertEqual(subprocess.run([program]).returncode, 1)

    def test_every_compiler_and_linker(self):
        for compiler, linkers in LINKERS.items():
            for linker in linkers:
                if shutil.which(f"ld.{linker}") is None:
                    continue
                with self.subTest(compiler=compiler, linker=linker):
                    self.assert_found(self.build(compiler, f"-fuse-ld={linker}", "-O2", *SECTIONS))

    def test_options(self):
        for options in (["-O0"], ["-O2", "-no-pie", "-fno-pie"], ["-O2", "-flto"], ["-O3", "-flto",
                        "-fno-pie", "-no-pie"], ["-Os", "-fPIE", "-pie", "-Wl,-z,relro,-z,now"]):
            for compiler in ("gcc", "clang"):
                if compiler == "clang" and "-flto" in options:
                    if shutil.which("ld.lld") is None:
                        continue
                    options = [*options, "-fuse-ld=lld"]
                with self.subTest(compiler=compiler, options=options):
                    self.assert_found(self.build(compiler, *options))

    def test_later_standards(self):
        for compiler, standards in {"gcc": ("c17", "c2x"), "g++": ("c++20", "c++23")}.items():
            for standard in standards:
                with self.subTest(standard=standard):
                    self.assert_found(self.build(compiler, f"-std={standard}"))

    def test_each_module_has_its_own(self):
        library = self.compile("gcc", ["-shared", "-fPIC", "-O2", *SECTIONS], OTHER, "libother.so")
        self.assert_found(self.compile("g++", ["-O2"], MAIN, "main", library,
                                       f"-Wl,-rpath,{self.path}"))

    def test_static_programs_run_as_ever(self):
        for compiler in ("gcc", "musl-gcc"):
            with self.subTest(compiler=compiler):
                program = self.build(compiler, "-static")
                self.assertEqual(subprocess.run([program]).returncode, 1)
                self.assertEqual(self.exit_status(program), 1)

    def test_can_be_compiled_out(self):
        for compiler in LINKERS:
            with self.subTest(compiler=compiler):
                program = self.build(compiler, "-DSAMPAN_NO_MARKERS", "-O2")
                self.assertEqual(self.exit_status(program), 1)
                self.assertNotIn(b"sampan_markers", program.read_bytes())

    def test_switched_off(self):
        program = self.build("gcc", "-O2")
        self.assertEqual(self.exit_status("env", "SAMPAN_MARKERS=0", program), 1)


if __name__ == "__main__":
    unittest.main()
