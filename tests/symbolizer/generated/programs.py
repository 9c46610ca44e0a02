#!/usr/bin/env python3
"""Checks names, lines and inline chains in programs that are made up and built in many ways: programs.py SAMPAN [SEED]

sampan, llvm-symbolizer, addr2line and eu-addr2line are asked about the addresses of each program. The table says how often
they do not all agree, and how often each is alone: none of the others has its answer. Those of sampan are listed by kind,
with examples.
"""
import collections
import concurrent.futures
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import agreement
import builds

MOST_ADDRESSES = 2000  # of one program; most have fewer
MOST_SCOPES = 500
# Measured: 0.01 % of all, at most 0.5 % of one program: code that belongs to two functions (--icf=all, Rust), where each
# tool takes one of them. How much of that there is depends on the program. Among the others, llvm-symbolizer is alone least
# often, with 1 %.
MOST_ALONE, MOST_ALONE_IN_ONE = 0.001, 0.03
SKIPPED = 77  # meson's exit status for a test that could not run


@dataclasses.dataclass
class Row:
    label: str
    compared: int
    inlined: int  # addresses in inlined functions
    unlike: int  # addresses about which not all agree
    alone: dict  # addresses by tool; without tools that do not read this form
    kinds: dict  # of those of sampan: (address, its answer, llvm-symbolizer's)


def compared(sampan, build):
    with tempfile.TemporaryDirectory(prefix="sampan-names-") as name:
        path, same = build.make(pathlib.Path(name))
        addresses = agreement.addresses_in_text(same, MOST_ADDRESSES)
        answers = {"sampan": agreement.answers_of_sampan(sampan, path, addresses)}
        for tool, ask in agreement.TOOLS.items():
            if tool not in build.blind:
                with contextlib.suppress(subprocess.CalledProcessError):  # eu-addr2line refuses some files
                    answers[tool] = ask(same, addresses)
        kinds = collections.defaultdict(list)
        # llvm-symbolizer names Rust's functions in another way.
        mangled = [] if build.compiler == "rustc" else [
            address for address, chain in zip(addresses, answers["llvm-symbolizer"]) if chain[-1][0].startswith("_Z")]
        kinds["scope"] += scopes_unlike(sampan, path, same, mangled[:MOST_SCOPES])
    alone, unlike = dict.fromkeys(answers, 0), 0
    for address, *chains in zip(addresses, *answers.values(), strict=True):
        differences = [[agreement.difference(one, other) for other in chains if other is not one] for one in chains]
        unlike += any(map(any, differences))
        for tool, those in zip(answers, differences):
            alone[tool] += all(those)
        if all(differences[0]):
            kinds[differences[0][0]].append((address, *chains[:2]))
    return Row(build.label, len(addresses), sum(len(chain) > 1 for chain in answers["sampan"]), unlike, alone, kinds)


def scopes_unlike(sampan, path, same, addresses):
    """Where the demangled names of the outermost functions differ: debug information says them in its own way, symbols
    all at once. Lambdas have no name that all agree upon."""
    ours = agreement.answers([sampan, "addr2line", "--output-style=LLVM", "-e", path], addresses)
    theirs = agreement.answers(["llvm-symbolizer", "-e", same], addresses)
    names = [(address, mine[-1][0], other[-1][0])
             for address, mine, other in zip(addresses, ours, theirs, strict=True)]
    incomparable = re.compile(r"lambda|[$]| for |^_Z", re.MULTILINE)  # and names that llvm-symbolizer cannot demangle
    return [case for case in names if bare(case[1]) != bare(case[2]) and not incomparable.search("\n".join(case[1:]))]


def bare(name):
    """A demangled name without its parameters, template arguments, return type and what compilers append."""
    depth, kept = 0, []
    for character in name.replace("(anonymous namespace)", "{anonymous}"):
        depth += character in "(<"
        if depth == 0:
            kept.append(character)
        depth -= character in ")>"
    words = re.sub(r"\[.*?\]", "", "".join(kept)).strip().removesuffix(" const").split(" ")
    return re.sub(r"(\.[a-z_]+(\.?\d+)*)+$", "", words[-1])


def show(row):
    counts = [row.compared, row.inlined, row.unlike, *(row.alone.get(tool, "-") for tool in ("sampan", *agreement.TOOLS))]
    print(" ".join(f"{count:>9}" for count in counts), row.label)
    for kind, cases in row.kinds.items():
        for address, mine, other in cases[:2]:
            print(f"    {kind} ({len(cases)}) at {address:#x}:\n      sampan          {mine}\n      llvm-symbolizer {other}")


def main():
    sampan, seed = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "1"
    missing = [tool for tool in agreement.TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        return SKIPPED
    every = []
    for compiler, those in builds.all_builds(seed):
        if shutil.which(compiler):
            every += those
        else:
            print(f"not compared: {compiler} is not installed")
    print("addresses   inlined  not alike; alone: sampan, llvm-symbolizer, addr2line, eu-addr2line")
    failed, rows = False, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for build, row in zip(every, [pool.submit(compared, sampan, build) for build in every]):
            try:
                rows.append(row.result())
                show(rows[-1])
            except RuntimeError as error:
                print(f"cannot build {build.label}: {error}")
                failed = True
    for tool in "sampan", *agreement.TOOLS:
        asked = sum(row.compared for row in rows if tool in row.alone)
        print(f"{tool} was alone with {sum(row.alone.get(tool, 0) for row in rows)} of {asked} answers")
    alone = [sum(map(len, row.kinds.values())) / row.compared for row in rows]
    print(f"sampan differs: {sum(alone) / len(alone):.3%} of all, at most {max(alone):.3%} of one program")
    return failed or sum(alone) > MOST_ALONE * len(alone) or max(alone) > MOST_ALONE_IN_ONE


if __name__ == "__main__":
    sys.exit(main())
