#!/usr/bin/env python3
"""Checks who includes whom, and how long files are: layering.py SOURCE_ROOT [--self-test].

A folder of src/ includes only the folders that the table below gives it. base, wire, unwind and
preload are linked into the target: of the C++ library they include only headers that need no
runtime. A file of base that says "Hosted only" in its first comment is closed to them.
"""
import pathlib
import re
import sys
import tempfile

USES = {
    "base": set(),
    "wire": {"base"},
    "unwind": {"base", "wire"},
    "preload": {"base", "wire", "unwind"},
    "recording": {"base", "wire"},
    "profile": {"base", "wire", "recording"},
    "dwarf": {"base"},
    "symbolizer": {"base", "unwind", "recording", "profile", "dwarf"},
    "reports": {"base", "wire", "profile"},
    "exporters": {"base", "wire", "profile", "reports"},
    "sampler": {"base", "wire", "unwind", "recording"},
    "attach": {"base", "wire", "unwind", "recording", "sampler"},
    "live": {"base", "recording", "sampler"},
    "http": {"base", "sampler"},
    "serve": {"base", "wire", "recording", "profile", "symbolizer", "exporters", "reports", "live",
              "sampler", "http"},
    "push": {"base", "recording", "profile", "symbolizer", "exporters", "sampler", "http"},
    "top": {"base", "wire", "recording", "profile", "reports", "live", "http"},
    "cli": {"base", "wire", "recording", "profile", "symbolizer", "exporters", "reports", "live",
            "sampler", "attach", "http", "serve", "top", "push"},
}
FREESTANDING = {"base", "wire", "unwind", "preload"}
# No exceptions, no allocation, nothing out of libstdc++.so.
FREESTANDING_HEADERS = {
    "algorithm", "array", "atomic", "bit", "cerrno", "climits", "compare", "concepts", "csignal",
    "cstdarg", "cstddef", "cstdint", "cstring", "initializer_list", "limits", "new", "optional",
    "span", "string_view", "type_traits", "utility",
}
# Only the symbolizer, and what reads DWARF for it, look at DWARF.
DWARF_HEADER = re.compile(r"elfutils/|dwarf\.h$|libelf\.h$|gelf\.h$")
LONGEST_FILE = 600

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def is_hosted(text):
    comment = text.split("\n\n", 1)[0].split("#pragma once")[0]
    return "Hosted only" in comment


def check(root):
    """Yields one sentence for each breach."""
    source = root / "src"
    files = sorted(p for p in source.rglob("*") if p.suffix in (".h", ".cpp", ".S"))
    hosted_base = {f"base/{p.name}" for p in (source / "base").glob("*.h")
                   if is_hosted(p.read_text())}
    for path in files:
        name = path.relative_to(source)
        folder = name.parts[0]
        text = path.read_text()
        if folder not in USES:
            yield f"src/{name}: {folder}/ has no place among the layers of tests/layering.py"
            continue
        freestanding = folder in FREESTANDING and not (folder == "base" and is_hosted(text))
        for ours, other in INCLUDE.findall(text):
            target = ours.split("/")[0]
            if target in USES and target != folder and target not in USES[folder]:
                yield f"src/{name}: {folder} may not include {ours}"
            if freestanding and ours in hosted_base:
                yield f"src/{name}: {ours} is not for code that is linked into the target"
            if freestanding and other and "." not in other and other not in FREESTANDING_HEADERS:
                yield f"src/{name}: <{other}> needs the C++ runtime"
            if other and DWARF_HEADER.search(other) and folder not in ("symbolizer", "dwarf"):
                yield f"src/{name}: only the symbolizer includes <{other}>"
            places = (source / ours, path.parent / ours, source / f"{ours}.in")  # made by meson
            if ours and not any(place.exists() for place in places):
                yield f"src/{name}: no such file: {ours}"
    for folder in ("src", "tests", "bench", "include"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".py", ".S"):
                lines = path.read_text().count("\n")
                if lines > LONGEST_FILE:
                    yield f"{path.relative_to(root)}: {lines} lines, the limit is {LONGEST_FILE}"


def self_test():
    """The check finds what it is there to find."""
    breaches = {
        "wire/a.h": '#include <string>\n',
        "wire/b.h": '#include "base/error.h"\n',
        "reports/c.cpp": '#include "recording/reader.h"\n',
        "cli/d.cpp": '#include <elfutils/libdw.h>\n',
        "profile/e.cpp": "\n" * (LONGEST_FILE + 1),
        "odd/f.h": "",
    }
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "src"
        fine = {"base/error.h": "// Hosted only.\n#pragma once\n#include <string>\n",
                "recording/reader.h": "#include <vector>\n", "wire/g.h": "#include <span>\n"}
        for name, text in (fine | breaches).items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        found = list(check(pathlib.Path(directory)))
    missed = [name for name in breaches if not any(f"src/{name}:" in line for line in found)]
    assert not missed, f"not found: {missed}"
    assert len(found) == len(breaches), found


def main():
    self_test()
    breaches = list(check(pathlib.Path(sys.argv[1])))
    print("\n".join(breaches) or "layering: ok")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
