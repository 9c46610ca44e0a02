"""Compares the answers of sampan and other tools about the same addresses.

    agreement.py SAMPAN FILE COUNT      prints the differences by kind

Compares linkage names, normalized files, lines and inline chains with llvm-symbolizer, and where
that differs, with addr2line.
"""
import collections
import os
import random
import re
import subprocess
import sys


def addresses_in_text(path, count, seed=1):
    """`count` addresses, or all, of the sections .text and .text.*."""
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    every = []
    for line in sections.stdout.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and re.fullmatch(r"\.text(\..*)?", words[1]):
            begin, size = int(words[3], 16), int(words[5], 16)
            every += range(begin, begin + size)
    if not every:
        raise SystemExit(f"{path}: no .text")
    return random.Random(seed).sample(every, min(count, len(every)))


def answers(command, addresses):
    """One list of (function, file, line) for each address, innermost first."""
    text = subprocess.run(command, input="\n".join(map(hex, addresses)) + "\n", text=True,
                          capture_output=True, check=True, errors="replace").stdout
    result = []
    for block in text.split("\n\n")[:len(addresses)]:
        lines = block.strip("\n").split("\n")
        chain = []
        for function, place in zip(lines[::2], lines[1::2]):
            file, line, _ = place.rsplit(":", 2)
            chain.append((function, os.path.normpath(file), int(line)))
        result.append(chain)
    return result


def answers_of_sampan(sampan, path, addresses):
    return answers([sampan, "addr2line", "--output-style=LLVM", "--no-demangle", "-e", path], addresses)


def answers_of_llvm(path, addresses):
    return answers(["llvm-symbolizer", "--no-demangle", "-e", path], addresses)


def answers_of_addr2line(path, addresses, tool="addr2line"):
    """The same from addr2line, which may append a discriminator to a line's number, or eu-addr2line, which appends the
    column, and says more about an inlined function."""
    text = subprocess.run([tool, "-afi", "-e", path], input="\n".join(map(hex, addresses)) + "\n",
                          text=True, capture_output=True, check=True, errors="replace").stdout
    result = []
    function = None
    for line in text.splitlines():
        if function is None and re.fullmatch(r"0x[0-9a-f]{16}", line):
            result.append([])
        elif function is None:
            function = line.split(" inlined at ")[0]
        else:
            file, number = re.fullmatch(r"(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?", line).groups()
            result[-1].append((function, os.path.normpath(file), int(number) if number.isdigit() else 0))
            function = None
    return result


def answers_of_elfutils(path, addresses):
    return answers_of_addr2line(path, addresses, "eu-addr2line")


TOOLS = {"llvm-symbolizer": answers_of_llvm, "addr2line": answers_of_addr2line, "eu-addr2line": answers_of_elfutils}


def same_function(mine, other):
    """llvm-symbolizer takes the outermost name from the symbol table: a part of a function has its own
    name there ("_Z1fv.cold"), and merged constructors have any of theirs. It also takes symbols of debug sections, which
    link-time optimization leaves ("unit.c.0074a232"), for those of functions. addr2line and eu-addr2line take it from
    debug information, which has no linkage names of local functions."""
    if mine == other or {mine, other[:4]} == {"__tls_init", "_ZTH"}:  # the latter is an alias of the former
        return True
    if re.fullmatch(r".+\.[a-z0-9]+\.[0-9a-f]{8}", other):
        return True
    for mangled, full_name in (mine, other), (other, mine):
        name = full_name.split("<")[0].removeprefix("~")
        if mangled.startswith("_Z") and f"{len(name)}{name}" in mangled:
            return True
    part = re.compile(r"(\.(isra|part|__part|eh|constprop|cold|lto_priv|llvm|localalias)(\.?\d+)*)+$")
    variant = re.compile(r"([CD])(I?)[0-9]([A-Z])")
    return variant.sub(r"\1\2?\3", part.sub("", mine)) == variant.sub(r"\1\2?\3", part.sub("", other))


def same_file(mine, other):
    """llvm-symbolizer prepends a relative compilation directory twice."""
    return mine == other or any(other == f"{part}/{mine}" and mine.startswith(f"{part}/")
                                for part in (other[:len(other) - len(mine) - 1],))


def difference(ours, theirs):
    """The kind of the first difference between two chains; None if they agree."""
    if len(ours) != len(theirs):
        return "chain"
    for mine, other in zip(ours, theirs):
        if not same_function(mine[0], other[0]):
            return "function"
        # Without debug information llvm-symbolizer prints the object file as source file.
        if not same_file(mine[1], other[1]) and other[2]:
            return "file"
        if mine[2] != other[2]:
            return "line"
    return None


def compare(sampan, path, count, same=None):
    """`same`: a file with the same code, for the other tools. Returns the number of compared addresses, and
    by kind those for which neither of the other tools agrees with sampan, each with
    llvm-symbolizer's answer."""
    addresses = addresses_in_text(path, count)
    ours = answers_of_sampan(sampan, path, addresses)
    theirs = answers_of_llvm(same or path, addresses)
    assert len(ours) == len(theirs) == len(addresses), (len(ours), len(theirs), len(addresses))
    unlike = [case for case in zip(addresses, ours, theirs) if difference(case[1], case[2])]
    seconds = answers_of_addr2line(same or path, [address for address, _, _ in unlike]) if unlike else []
    assert len(seconds) == len(unlike), (len(seconds), len(unlike))
    kinds = collections.defaultdict(list)
    for case, second in zip(unlike, seconds):
        if difference(case[1], second):
            kinds[difference(case[1], case[2])].append(case)
    return len(addresses), kinds


def main():
    sampan, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    compared, kinds = compare(sampan, path, count)
    differing = sum(map(len, kinds.values()))
    print(f"{path}: {compared} addresses, {100 * (1 - differing / compared):.3f} % agree")
    for kind, cases in kinds.items():
        print(f"  {kind}: {len(cases)}")
        for address, mine, other in cases[:6]:
            unlike = [(a, b) for a, b in zip(mine, other) if difference([a], [b])][:1]
            print(f"    {address:#x} {len(mine)} {len(other)} {unlike}")


if __name__ == "__main__":
    main()
