"""All forms of debug information that compilers and tools produce give the same names and lines.

usage: agreement_test.py SAMPAN SOURCE INCLUDE

The output of compilers is compared with llvm-symbolizer's answers; files changed by tools are compared
with the answers before the change.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import agreement

SAMPAN, SOURCE, INCLUDE = sys.argv[1:4]
del sys.argv[1:4]
FLAGS = ["-std=c++20", "-O2", "-shared", "-fPIC", "-Wl,--build-id", f"-I{INCLUDE}"]
COUNT = 1500


def run(*command, **options):
    subprocess.run(list(map(str, command)), check=True, stderr=subprocess.PIPE, **options)


def answers_of(path, addresses):
    return agreement.answers([SAMPAN, "addr2line", "--output-style=LLVM", "-e", str(path)], addresses)


class Forms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compiled(self, *flags, compiler="g++", name="target.so"):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not installed")
        path = self.folder / name
        run(compiler, *FLAGS, *flags, SOURCE, "-o", path, cwd=self.folder)
        return path


class WhatCompilersWrite(Forms):
    def check(self, *flags, compiler="g++"):
        if shutil.which("llvm-symbolizer") is None:
            self.skipTest("llvm-symbolizer is not installed")
        compared, kinds = agreement.compare(SAMPAN, str(self.compiled(*flags, compiler=compiler)), COUNT)
        self.assertGreater(compared, COUNT / 2)
        # The target contains cases where sampan differs on purpose.
        unlike = [case for cases in kinds.values() for case in cases
                  if not any("target_" in name for name, _, _ in case[1] + case[2])]
        self.assertEqual(unlike, [])

    def test_dwarf_2(self):
        self.check("-gdwarf-2")

    def test_dwarf_3(self):
        self.check("-gdwarf-3")

    def test_dwarf_4(self):
        self.check("-gdwarf-4")

    def test_dwarf_5(self):
        self.check("-gdwarf-5")

    def test_dwarf_of_64_bits(self):
        self.check("-g", "-gdwarf64")

    def test_clang_dwarf_4(self):
        self.check("-gdwarf-4", compiler="clang++")

    def test_clang_dwarf_5(self):
        self.check("-gdwarf-5", compiler="clang++")

    def test_link_time_optimization(self):
        self.check("-g", "-O3", "-flto")


class WhatToolsMake(Forms):
    def compare(self, plain, *, change):
        """The answers about a file before and after a change to it."""
        addresses = agreement.addresses_in_text(str(plain), COUNT)
        before = answers_of(plain, addresses)
        self.assertGreater(sum(len(chain) > 1 for chain in before), COUNT / 10)
        after = answers_of(change(plain), addresses)
        self.assertEqual([case for case in zip(addresses, before, after) if case[1] != case[2]], [])

    def objcopy(self, *flags):
        def change(plain):
            run("objcopy", *flags, plain, self.folder / "changed.so")
            return self.folder / "changed.so"
        return change

    def test_compressed_sections(self):
        for how in "zlib", "zlib-gnu":
            with self.subTest(how):
                self.compare(self.compiled("-g"), change=self.objcopy(f"--compress-debug-sections={how}"))

    def test_split_files(self):
        for version in 4, 5:
            for compiler in "g++", "clang++":
                with self.subTest(f"{compiler}, DWARF {version}"):
                    flags = f"-gdwarf-{version}", "-O1"
                    whole = self.compiled(*flags, compiler=compiler)
                    split = self.compiled(*flags, "-gsplit-dwarf", compiler=compiler, name="split.so")
                    self.assertTrue(list(self.folder.glob("*.dwo")))
                    self.compare(whole, change=lambda _: split)
                    for file in self.folder.glob("*.dwo"):
                        file.unlink()

    def test_package_of_split_files(self):
        if shutil.which("llvm-dwp") is None:
            self.skipTest("llvm-dwp is not installed")
        for version in 4, 5:
            with self.subTest(f"DWARF {version}"):
                flags = f"-gdwarf-{version}", "-O1"
                whole = self.compiled(*flags, compiler="clang++")
                split = self.compiled(*flags, "-gsplit-dwarf", compiler="clang++", name="split.so")
                (dwo,) = self.folder.glob("*.dwo")
                run("llvm-dwp", dwo, "-o", f"{split}.dwp")
                dwo.unlink()
                self.compare(whole, change=lambda _: split)

    def test_parts_shared_by_dwz(self):
        if shutil.which("dwz") is None:
            self.skipTest("dwz is not installed")

        def change(plain):
            copies = [self.folder / name for name in ("one.so", "two.so")]
            for copy in copies:
                shutil.copy(plain, copy)
            run("dwz", "--multifile=shared.debug", *copies, cwd=self.folder)
            sections = subprocess.run(["readelf", "-SW", copies[0]], capture_output=True, text=True)
            self.assertIn(".gnu_debugaltlink", sections.stdout)
            return copies[0]
        self.compare(self.compiled("-gdwarf-4"), change=change)

    def test_separate_file(self):
        def change(plain):
            stripped = self.folder / "stripped.so"
            run("objcopy", "--only-keep-debug", plain, self.folder / "names.debug")
            run("objcopy", "--strip-all", "--add-gnu-debuglink=names.debug", plain, stripped, cwd=self.folder)
            return stripped
        self.compare(self.compiled("-g"), change=change)


if __name__ == "__main__":
    unittest.main()
