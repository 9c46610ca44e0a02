#!/usr/bin/env python3
"""Checks that the C++ files are formatted as .clang-format says: format.py SOURCE_ROOT [--fix].

The version of clang-format is fixed, because each version formats a little differently.
"""
import pathlib
import shutil
import subprocess
import sys

VERSION = "version 14."
SKIPPED = 77  # meson's exit status for a test that could not run


def main():
    root = pathlib.Path(sys.argv[1])
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not program:
        print("clang-format is not installed")
        return SKIPPED
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if VERSION not in version:
        print(f"needs clang-format {VERSION}, found {version.strip()}")
        return SKIPPED
    folders = [f for f in root.glob("[a-z]*/") if not (f / "build.ninja").exists()]
    files = sorted(str(p) for folder in folders for p in folder.rglob("*") if p.suffix in (".h", ".cpp"))
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror"]
    return subprocess.run([program, *mode, *files], cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main())
