#!/usr/bin/env python3
"""Checks that every C++ file compiles alone, without its unity batch and precompiled headers:
alone.py BUILD_DIRECTORY [FILE...].

FILE limits it to files with that in their path. A header is compiled as the only one that an empty source includes,
with the flags of a source in its folder. Fails when a file needs an include that it does not have.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a command line has beside flags: outputs, dependencies, the precompiled header.
WITH_VALUE = {"-o", "-MQ", "-MF", "-include"}
WITHOUT_VALUE = {"ccache", "-c", "-MD", "-Winvalid-pch", "-fpch-preprocess"}


def flags_of(command):
    words = iter(shlex.split(command))
    for word in words:
        if word in WITH_VALUE:
            next(words)
        elif word not in WITHOUT_VALUE:
            yield word


def sources_of(file):
    """The files that a command compiles: one, or those that meson's unity file includes."""
    if "-unity" not in file.name:
        return [file]
    return [(file.parent / name).resolve() for name in re.findall(r'^#include\s*[<"](.+)[>"]', file.read_text(), re.M)]


def flags_by_source(build):
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if file.suffix == ".cpp" and file.exists():
            words = [word for word in flags_of(entry["command"]) if word != entry["file"]]
            for source in sources_of(file):
                if source.is_relative_to(ROOT) and not source.is_relative_to(build.resolve()):
                    found.setdefault(source, words)
    return found


def flags_of_header(header, by_source):
    """Those of a source in the nearest folder: of the one that includes most, for targets of the tests include little."""
    for folder in header.parents:
        if flags := [by_source[source] for source in by_source if source.is_relative_to(folder)]:
            return max(flags, key=lambda words: sum(word.startswith("-I") for word in words))
    return next(iter(by_source.values()))


def check(build, file, flags):
    what = [str(file)] if file.suffix == ".cpp" else ["-include", str(file), "-x", "c++", os.devnull]
    run = subprocess.run([*flags, "-w", "-fsyntax-only", *what], cwd=build, capture_output=True, text=True)
    return file, run.returncode, run.stderr


def main():
    build, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:]
    by_source = flags_by_source(build)
    listed = subprocess.run(["git", "ls-files", "*.cpp", "*.h"], cwd=ROOT, check=True, capture_output=True, text=True)
    files = {}
    for name in listed.stdout.split():
        file = ROOT / name
        if wanted and not any(part in name for part in wanted):
            continue
        if file.suffix == ".h":
            files[file] = flags_of_header(file, by_source)
        elif file in by_source:  # others are not built here: fuzz targets, sources of fixtures
            files[file] = by_source[file]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, status, output in pool.map(lambda item: check(build, *item), files.items()):
            if status != 0:
                failed += 1
                print(f"{file.relative_to(ROOT)}:\n{output.strip()}", flush=True)
    print(f"alone: {len(files)} files, {failed} do not compile")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
