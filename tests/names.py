#!/usr/bin/env python3
"""Checks that names, lines and inline chains in large files are those of llvm-symbolizer: names.py SAMPAN COUNT FILE...

COUNT addresses of each FILE. Fails when fewer than LEAST of them agree: compilers leave a few of which tools disagree.
"""
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "symbolizer"))
import agreement

LEAST = 0.995
SKIPPED = 77  # meson's exit status for a test that could not run


def main():
    sampan, count, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    if shutil.which("llvm-symbolizer") is None:
        print("llvm-symbolizer is not installed")
        return SKIPPED
    failed = False
    for file in files:
        compared, kinds = agreement.compare(sampan, file, count)
        differing = sum(map(len, kinds.values()))
        print(f"{file}: {compared} addresses, {differing} differ: {({kind: len(cases) for kind, cases in kinds.items()})}")
        failed |= compared < count / 2 or differing > (1 - LEAST) * compared
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
