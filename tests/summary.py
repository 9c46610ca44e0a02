#!/usr/bin/env python3
"""Adds up the results of `meson test` in build directories: summary.py BUILD_DIRECTORY...

Prints every test that failed, was skipped or was repeated, with the reason, then which interpreters of Python were run
and how many tests were repeated; the last line is "N passed, N failed, N skipped". Fails when a test failed or
when nothing passed.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as xml


def cases(directory):
    """Yields (name, "passed" | "failed" | "skipped", reason)."""
    logs = directory / "meson-logs"
    programs = [json.loads(line) for line in (logs / "testlog.json").read_text().splitlines()]
    suites = list(xml.parse(logs / "testlog.junit.xml").getroot().iter("testsuite"))
    broken = {p["name"] for p in programs if p["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")}
    for suite in suites:
        for case in suite.findall("testcase"):
            name = f"{directory.name}: {short(suite.get('name'))}.{short(case.get('name'))}"
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                broken -= {b for b in broken if matches(b, suite, case)}
                yield name, "failed", ""
            elif skipped is not None or case.get("result") == "skipped":
                yield name, "skipped", reason(skipped, case, programs)
            else:
                yield name, "passed", ""
    # A program that died has no list of its cases.
    for name in sorted(broken):
        yield f"{directory.name}: {name}", "failed", ""


def repeated(directory):
    """Yields a line for each test that measures time and was repeated (e2e/stalls.py)."""
    for program in map(json.loads, (directory / "meson-logs/testlog.json").read_text().splitlines()):
        for line in program.get("stderr", "").splitlines():
            if line.startswith("repeated: "):
                yield f"repeated: {directory.name}: {short(program['name'])}: {line.removeprefix('repeated: ')}"


def interpreters(directory):
    """Yields the versions of Python that tests judged by (e2e/interpreters.py)."""
    for program in map(json.loads, (directory / "meson-logs/testlog.json").read_text().splitlines()):
        for line in program.get("stderr", "").splitlines():
            if line.startswith("interpreters: "):
                yield from line.split()[1:]


def short(name):
    """Without the project and the suite that meson puts in front: "sampan.sampan / wire.Ring" is "wire.Ring"."""
    return name.split(" / ")[-1]


def matches(program, suite, case):
    """A gtest program has suites "program.Suite"; any other program is a case itself."""
    return short(program) in (short(suite.get("name")).split(".")[0], short(case.get("name")))


def reason(skipped, case, programs):
    said = (skipped.get("message") or skipped.text or "").strip() if skipped is not None else ""
    if not said:
        output = [p.get("stdout", "") for p in programs if p["name"] == case.get("name")]
        said = output[0].strip().splitlines()[-1] if output and output[0].strip() else "no reason"
    return said.splitlines()[-1]


def main():
    count = {"passed": 0, "failed": 0, "skipped": 0}
    repetitions, pythons = 0, set()
    for directory in map(pathlib.Path, sys.argv[1:]):
        if not (directory / "meson-logs/testlog.json").exists():
            print(f"failed: {directory.name} has no test log")
            count["failed"] += 1
            continue
        for name, outcome, why in cases(directory):
            count[outcome] += 1
            if outcome != "passed":
                print(f"{outcome}: {name}" + (f": {why}" if why else ""))
        for line in repeated(directory):
            print(line)
            repetitions += 1
        pythons.update(interpreters(directory))
    if pythons:
        print("Python", ", ".join(sorted(pythons, key=lambda version: int(version.split(".")[1]))))
    print(f"{repetitions} repeated")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
