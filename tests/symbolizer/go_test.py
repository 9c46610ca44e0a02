#!/usr/bin/env python3
"""A stripped Go program has names, files, lines and inlined functions from Go's own table: the same
that llvm-symbolizer finds in the program's debug information.

    go_test.py SAMPAN
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import agreement

SAMPAN = sys.argv.pop(1)
SOURCE = """
package main

import (
	"fmt"
	"sort"
)

type shape struct{ sides, size int }

func (s shape) area() int { return s.sides * s.size }

func main() {
	shapes := []shape{}
	for i := 0; i < 100; i++ {
		shapes = append(shapes, shape{i % 7, i})
	}
	sort.Slice(shapes, func(a, b int) bool { return shapes[a].area() < shapes[b].area() })
	fmt.Println(shapes)
}
"""


class Go(unittest.TestCase):
    def test_a_stripped_program_has_all_but_columns(self):
        if shutil.which("go") is None or shutil.which("llvm-symbolizer") is None:
            self.skipTest("go or llvm-symbolizer is not installed")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "shapes.go").write_text(SOURCE)
            subprocess.run(["go", "build", "-o", folder / "shapes", folder / "shapes.go"], check=True,
                           env={**os.environ, "GO111MODULE": "off"})
            stripped = folder / "stripped"
            subprocess.run(["strip", "-o", stripped, folder / "shapes"], check=True)
            addresses = agreement.addresses_in_text(folder / "shapes", 4000)
            ours = agreement.answers([SAMPAN, "addr2line", "--output-style=LLVM", "-e", stripped], addresses)
            theirs = agreement.answers(["llvm-symbolizer", "-e", folder / "shapes"], addresses)
        # Only the symbol table distinguishes calling conventions.
        theirs = [[(function.removesuffix(".abi0"), file, line) for function, file, line in chain]
                  for chain in theirs]
        inlined = sum(len(chain) > 1 for chain in theirs)
        self.assertGreater(inlined, 100)  # else the test would be void
        unlike = [(hex(address), mine, other) for address, mine, other in zip(addresses, ours, theirs)
                  if agreement.difference(mine, other)]
        self.assertLess(len(unlike), 0.01 * len(addresses), unlike[:5])


if __name__ == "__main__":
    unittest.main()
