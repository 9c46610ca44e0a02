#!/usr/bin/env python3
"""Runs clang-tidy over src/ with the settings in .clang-tidy: tidy.py BUILD_DIRECTORY [FILE...].

FILE limits it to files with that in their path. Fails when there is a finding.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def sources(build, wanted):
    commands = json.loads((build / "compile_commands.json").read_text())
    files = {(pathlib.Path(c["directory"]) / c["file"]).resolve() for c in commands}
    ours = sorted(f for f in files if f.is_relative_to(ROOT / "src"))
    return [f for f in ours if not wanted or any(w in str(f) for w in wanted)]


def check(build, file):
    # clang does not know all of gcc's warnings, nor where gcc keeps the precompiled header.
    command = ["clang-tidy", "--quiet", "-p", build, "--extra-arg=-Wno-unknown-warning-option",
               f"--extra-arg=-I{ROOT}/src/cli/pch", file]
    run = subprocess.run(command, capture_output=True, text=True)
    return file, run.returncode, run.stdout


def main():
    build = pathlib.Path(sys.argv[1])
    files = sources(build, sys.argv[2:])
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, status, output in pool.map(lambda f: check(build, f), files):
            if status != 0:
                failed += 1
                print(output.strip())
    print(f"clang-tidy: {len(files)} files, {failed} with findings")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
