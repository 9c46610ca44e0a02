#!/usr/bin/env python3
"""Names of code that was made at run time, and of files that have changed or gone since."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import sampan
from tolerances import share_noise

HOT = """
function hot(n) { let x = 1; for (let i = 0; i < n; ++i) x = (x * 31 + i) | 0; return x; }
let sum = 0;
for (let i = 0; i < 1500; ++i) sum += hot(300000);
console.log(sum);
"""

# Runs the same function from a part of its own file that it has mapped once more, and from a copy beside that. The turns
# are of different lengths: ten equal ones were as long as a tick of the kernel, and samples met the same one each time.
MAPPED = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
__attribute__((noinline, aligned(4096))) unsigned hot(unsigned n) {
  unsigned x = 1;
  while (n--) __asm__ volatile("imul $31, %0, %0" : "+r"(x));
  return x;
}
__attribute__((noinline, aligned(4096))) int main(void) {
  char line[512];
  uintptr_t start, end, offset, at = (uintptr_t)hot;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) && sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && end <= at);
  fclose(maps);
  char* room = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mmap(room, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, open("/proc/self/exe", O_RDONLY), (long)(offset + at - start));
  mmap(room + 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  memcpy(room + 4096, (void*)hot, 512);
  unsigned (*again)(unsigned) = (unsigned (*)(unsigned))room;
  unsigned (*copy)(unsigned) = (unsigned (*)(unsigned))(room + 4096);
  unsigned sum = 0, random = 1;
  while (clock() < 2 * CLOCKS_PER_SEC) {
    random = random * 1103515245 + 12345;
    const unsigned n = 50000 + (random >> 16) % 100000;
    sum += again(3 * n) + copy(n);
  }
  return sum == 1;
}
"""

OLD = "__attribute__((noinline)) double work(long n) { volatile double x = 0; while (n--) x += n; return x; }"
NEW = """
__attribute__((noinline)) double padded(long n) { volatile double x = 1; while (n--) x *= n; return x; }
__attribute__((noinline)) double unlike(long n) { volatile double x = 0; while (n--) x += n * x; return x; }
double work(long n) { return unlike(n) + padded(n); }
"""
# Puts the new library in the place of the old one, then works in the old one.
PROGRAM = """
#include <stdio.h>
double work(long n);
int main(int argc, char** argv) { return rename(argv[1], argv[2]) != 0 || work(100000000) < 0; }
"""


def shares(run):
    """Shares of the CPU by function, and the number of samples. Samples alone do not say how long: on a busy machine
    those of a function that met other programs stand for more CPU each."""
    functions = run.report["functions"]
    cpu_s = sum(row["self_s"] for row in functions)
    return {row["name"]: row["self_s"] / cpu_s for row in functions}, sum(row["self_samples"] for row in functions)


class Jit(sampan.Case):
    def run_here(self, command, *options):
        return sampan.run(command, options, cwd=self.path)

    def test_code_that_takes_the_place_of_other_code(self):
        run = self.run_here([sampan.TARGETS / "target_jit", "2"], "--no-symbolize")
        subprocess.run([sampan.PROGRAM, "symbolize", run.recording], cwd=self.path, check=True,
                       stdout=subprocess.DEVNULL)
        for dump in self.path.glob("jit-*.dump"):
            dump.unlink()  # the names are in the recording
        share, samples = shares(run)
        # At the border between the two a sample may stand for what ran before it.
        margin = share_noise(0.25, samples)
        self.assertAlmostEqual(share.get("first", 0), 0.25, delta=margin, msg=share)
        self.assertAlmostEqual(share.get("second", 0), 0.75, delta=margin, msg=share)

    def test_a_part_of_a_file_that_the_program_has_mapped_again(self):
        (self.path / "mapped.c").write_text(MAPPED)
        subprocess.run(["gcc", "-O1", "-o", self.path / "mapped", self.path / "mapped.c"], check=True)
        for run in (self.run_here([self.path / "mapped"]), sampan.run_attached([self.path / "mapped"], "ptrace")[1]):
            share, samples = shares(run)
            margin = share_noise(0.25, samples)
            self.assertAlmostEqual(share.get("hot", 0), 0.75, delta=margin, msg=share)
            self.assertAlmostEqual(share.get("[jit]", 0), 0.25, delta=margin, msg=share)

    def both_ways(self, *words):
        """A program of registered code, with the shim and from outside."""
        command = [sampan.TARGETS / "target_gdb_jit", *words]
        return self.run_here(command), sampan.run_attached(command, "ptrace")[1]

    def assert_together(self, run):
        share, samples = shares(run)
        margin = share_noise(0.25, samples)
        self.assertAlmostEqual(share.get("first", 0), 0.25, delta=margin, msg=share)
        self.assertAlmostEqual(share.get("jit::second(int)", 0), 0.75, delta=margin, msg=share)
        self.assertGreaterEqual(run.report["complete_stacks"], 0.99, run.report["lost"])
        caller = next(row for row in run.report["functions"] if row["name"] == "caller")
        cpu_s = sum(row["self_s"] for row in run.report["functions"])
        self.assertGreater(caller["total_s"] / cpu_s, 0.95 - share_noise(0.05, samples))

    def test_code_that_is_registered_with_debuggers(self):
        for run in self.both_ways("2", "together"):
            self.assert_together(run)

    def test_registered_code_in_a_list_that_makes_no_sense(self):
        for run in self.both_ways("2", "hostile"):
            self.assert_together(run)

    def test_registered_code_that_takes_the_place_of_other_code(self):
        for run in self.both_ways("3", "replaced"):
            share, samples = shares(run)
            margin = share_noise(0.25, samples)
            either = share.get("[jit]", 0)  # between two looks
            for name, true in (("first", 0.25), ("other", 0.75)):
                self.assertLessEqual(share.get(name, 0), true + margin, share)
                self.assertGreaterEqual(share.get(name, 0), true - margin - either, share)
            self.assertLess(either, 0.2, share)

    def test_registered_code_that_is_gone(self):
        for run in self.both_ways("3", "gone"):
            share, samples = shares(run)
            margin = share_noise(0.25, samples)
            self.assertGreaterEqual(share.get("first", 0), 0.25 - margin, share)
            self.assertLessEqual(share.get("first", 0), 0.25 + margin + 0.1, share)  # until the next look
            self.assertGreaterEqual(share.get("[jit]", 0), 0.75 - margin - 0.1, share)

    def test_dump_of_registered_code(self):
        target = subprocess.Popen([sampan.TARGETS / "target_gdb_jit", "60"])
        try:
            text = ""
            while not re.search(r" in (first|jit::second\(int\))\n.* in caller\n", text):
                self.assertIsNone(target.poll(), text)
                text = subprocess.run([sampan.PROGRAM, "dump", str(target.pid)], check=True, text=True,
                                      stdout=subprocess.PIPE).stdout
        finally:
            target.kill()
            target.wait()

    def hot_of_node(self, option):
        self.need("node")
        script = self.path / "hot.js"
        script.write_text(HOT)
        run = self.run_here(["node", option, script])
        report = subprocess.run([sampan.PROGRAM, "report", "--json", run.recording], cwd=self.path, check=True,
                                stdout=subprocess.PIPE).stdout
        functions = sampan.json.loads(report)["functions"]
        hot = [row for row in functions if re.search(r"\bhot\b", row["name"])]
        samples = sum(row["self_samples"] for row in functions)
        self.assertGreater(sum(row["self_samples"] for row in hot) / samples, 0.5, functions[:5])

    def test_node_with_a_map(self):
        self.hot_of_node("--perf-basic-prof")

    def test_node_with_a_dump(self):
        self.hot_of_node("--perf-prof")


class Replaced(sampan.Case):
    def replaced(self, *linker, options=("--no-symbolize",)):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.path))
        for name, source in (("work", OLD), ("new", NEW)):
            (folder / f"{name}.c").write_text(source)
            subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", *linker, f"-o{folder}/lib{name}.so",
                            folder / f"{name}.c"], check=True)
        (folder / "main.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-O1", f"-o{folder}/main", folder / "main.c", f"-L{folder}", "-lwork",
                        f"-Wl,-rpath,{folder}"], check=True)
        run = sampan.run([folder / "main", folder / "libnew.so", folder / "libwork.so"],
                         options, env={"XDG_CACHE_HOME": str(folder)})
        self.assertEqual(run.returncode, 0)
        page = subprocess.run([sampan.PROGRAM, "report", run.recording], check=True, text=True,
                              env={**os.environ, "XDG_CACHE_HOME": str(folder)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        return run.report["functions"], " ".join(page.split())

    def assert_not_named(self, functions):
        of_library = [row["name"] for row in functions if pathlib.Path(row["module"] or "").name == "libwork.so"]
        self.assertTrue(of_library)
        for name in of_library:
            self.assertTrue(name.startswith("[libwork.so+"), of_library)

    def test_names_are_those_of_the_file_that_ran(self):
        """It is kept open until its functions have names."""
        for linker in ((), ("-Wl,--build-id=none",)):
            functions, _ = self.replaced(*linker, options=())
            of_library = {row["name"] for row in functions if pathlib.Path(row["module"] or "").name == "libwork.so"}
            self.assertEqual(of_library, {"work"})

    def test_by_a_file_with_another_build_id(self):
        functions, said = self.replaced()
        self.assert_not_named(functions)
        self.assertIn("another file than the one that ran", said)

    def test_by_a_file_where_none_has_a_build_id(self):
        functions, said = self.replaced("-Wl,--build-id=none")
        self.assert_not_named(functions)
        self.assertIn("changed since the recording began", said)


if __name__ == "__main__":
    unittest.main()
