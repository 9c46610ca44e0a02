#!/usr/bin/env python3
"""Names in the recording, which is read after the program's file has gone."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest


SOURCE = """
__attribute__((noinline)) static double spin_here(long turns) {
  volatile double sum = 0;
  for (long i = 0; i < turns; ++i) sum += i;
  return sum;
}
int main(void) { return spin_here(300000000) < 0; }
"""


class Symbolize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # Names that other tests have looked up must not matter here.
        self.env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        source = self.folder / "spin.c"
        source.write_text(SOURCE)
        self.program = self.folder / "spin"
        subprocess.run(["gcc", "-O1", "-g", source, "-o", self.program], check=True)

    def sampan(self, *words):
        return subprocess.run([os.environ["SAMPAN_PROGRAM"], *map(str, words)], check=True, env=self.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def profiled(self, *options):
        self.sampan("run", "--format", "html", "--output", self.folder / "runs", *options, "--", self.program)
        return next((self.folder / "runs").iterdir())

    def functions(self, directory):
        """{name: line} of the functions, without the program's file and the cache of names."""
        self.program.rename(self.folder / "elsewhere")
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        functions = json.loads(self.sampan("report", "--json", directory).stdout)["functions"]
        (self.folder / "elsewhere").rename(self.program)
        return {row["name"]: row["line"] for row in functions}

    def test_a_run_has_names_after_its_program_has_gone(self):
        self.assertEqual(self.functions(self.profiled()).get("spin_here"), 2)

    def test_a_run_without_names_gets_them_later(self):
        directory = self.profiled("--no-symbolize")
        self.assertNotIn("spin_here", self.functions(directory))
        first = self.sampan("symbolize", directory)
        self.assertIn("of them new", first.stdout)
        self.assertEqual(self.functions(directory).get("spin_here"), 2)
        recording = directory / "recording.sampan"
        size = recording.stat().st_size
        self.assertIn(" 0 of them new", self.sampan("symbolize", directory).stdout)
        self.assertEqual(recording.stat().st_size, size)

    def test_names_are_kept_for_the_next_run(self):
        directory = self.profiled("--no-symbolize")
        self.program.unlink()
        functions = json.loads(self.sampan("report", "--json", directory).stdout)["functions"]
        self.assertIn("spin_here", {row["name"] for row in functions})


if __name__ == "__main__":
    unittest.main()
