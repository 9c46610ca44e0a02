#!/usr/bin/env python3
"""Runs clang-tidy over the code with the settings in .clang-tidy: tidy.py BUILD_DIRECTORY [--changed COMMITS] [FILE...].

FILE limits it to sources with that in their path, --changed to those that the last COMMITS commits have changed, at most
MOST of them, the latest first. Fails when there is a finding.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import alone

ROOT = alone.ROOT
MOST = 24  # a source takes 4 to 10 s of CPU, and CI has a minute for it


def changed(commits):
    """Sources that the last commits have changed, the latest first."""
    log = subprocess.run(["git", "log", f"-{commits}", "--format=", "--name-only", "--diff-filter=AM", "-M", "--", "*.cpp"],
                         cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in dict.fromkeys(log.stdout.split())]


def check(build, file, flags):
    # clang does not know all of gcc's warnings.
    command = ["clang-tidy", "--quiet", str(file), "--", *flags[1:], "-Wno-unknown-warning-option"]
    run = subprocess.run(command, cwd=build, capture_output=True, text=True)
    return file, run.returncode, run.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--changed", type=int, metavar="COMMITS")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    flags = alone.flags_by_source(options.build)
    files = sorted(flags)
    if options.files:
        files = [file for file in files if any(part in str(file) for part in options.files)]
    if options.changed is not None:
        files = [file for file in changed(options.changed) if file in flags][:MOST]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, status, output in pool.map(lambda f: check(options.build, f, flags[f]), files):
            if status != 0:
                failed += 1
                print(output.strip(), flush=True)
    print(f"clang-tidy: {len(files)} files, {failed} with findings")
    return 1 if failed or not (files or options.changed is not None) else 0


if __name__ == "__main__":
    sys.exit(main())
