#!/usr/bin/env python3
"""Checks who includes whom, and how long files are: layering.py SOURCE_ROOT.

A folder of the pipeline includes only the folders that the table below lists for it; a folder inside another may have
an entry of its own. base, wire, unwind and preload are linked into the target, so they include only headers of the C++
library that need no runtime, and no file of base whose first comment says "Hosted only".
"""
import pathlib
import re
import sys
import tempfile

USES = {
    "base": set(),
    "wire": {"base"},
    "unwind": {"base", "wire"},
    # The rooms of the shim, lowest first. Those above threads know the thread table; those below work
    # on the state that they are given.
    "preload/support": {"base"},
    "preload/process": {"base", "wire", "preload/support"},
    "preload/clocks": {"base", "wire", "preload/support", "preload/process"},
    "preload/python": {"base", "wire", "unwind", "preload/support", "preload/process"},
    "preload/tracing": {"base", "wire", "unwind", "preload/support", "preload/process"},
    "preload/samples": {"base", "wire", "unwind", "preload/support", "preload/process",
                        "preload/python", "preload/tracing"},
    "preload/signals": {"base", "preload/support", "preload/process", "preload/clocks"},
    "preload/markers": {"base", "wire", "preload/support", "preload/process", "preload/tracing",
                        "preload/samples"},
    "preload/threads": {"base", "wire", "unwind", "preload/support", "preload/process",
                        "preload/clocks", "preload/python", "preload/samples", "preload/signals", "preload/markers"},
    "preload/modules": {"base", "wire", "preload/support", "preload/process", "preload/python",
                        "preload/tracing", "preload/samples",
                        "preload/markers", "preload/threads"},
    "preload/interposers": {"base", "wire", "preload/support", "preload/process", "preload/python",
                            "preload/samples",
                            "preload/signals", "preload/markers", "preload/threads",
                            "preload/modules"},
    "preload/wrappers": {"base", "wire", "unwind", "preload/support", "preload/process", "preload/samples",
                         "preload/signals", "preload/markers", "preload/threads", "preload/interposers"},
    "preload": {"base", "wire", "unwind", "preload/support", "preload/process", "preload/clocks",
                "preload/python", "preload/tracing", "preload/samples", "preload/signals", "preload/markers", "preload/threads",
                "preload/modules", "preload/interposers"},
    "recording": {"base", "wire"},
    "profile": {"base", "wire", "recording"},
    "symbolizer/dwarf": {"base"},
    "symbolizer": {"base", "unwind", "recording", "profile", "symbolizer/dwarf"},
    "reports": {"base", "wire", "profile"},
    "reports/query": {"base", "profile", "reports"},
    "reports/gate": {"base", "profile", "reports"},
    "exporters": {"base", "wire", "profile", "reports"},
    "sampler/process": {"base", "unwind", "recording"},
    "sampler/control": {"base"},
    "sampler/launch": {"base", "wire", "sampler/process"},
    "sampler/recorder": {"base", "wire", "unwind", "recording", "sampler/process",
                         "sampler/control"},
    "sampler/rings": {"base", "wire", "recording", "sampler/process", "sampler/recorder"},
    "sampler/perf": {"base", "unwind", "sampler/process", "sampler/recorder"},
    "sampler/ptrace": {"base", "unwind", "sampler/process", "sampler/recorder"},
    "sampler/waits": {"base", "wire", "recording", "sampler/process", "sampler/recorder"},
    "sampler/inspect": {"base", "wire", "sampler/process", "sampler/launch", "sampler/recorder", "sampler/ptrace",
                        "sampler/waits"},
    "sampler/tasks": {"base", "wire", "unwind", "sampler/process", "sampler/recorder", "sampler/ptrace",
                      "sampler/inspect"},
    "sampler": {"base", "recording", "sampler/process", "sampler/recorder", "sampler/rings",
                "sampler/perf", "sampler/ptrace", "sampler/waits", "sampler/inspect"},
    "importers": {"base", "wire", "unwind", "recording", "profile", "sampler/process"},
    "remote/live": {"base", "wire", "recording", "profile", "symbolizer",
                    "sampler/process", "sampler/control", "sampler/recorder", "sampler/inspect",
                    "sampler/tasks"},
    "remote/http": {"base"},
    "remote/serve": {"base", "wire", "recording", "profile", "symbolizer", "exporters", "reports",
                     "remote/live", "remote/http"},
    "remote/push": {"base", "recording", "profile", "symbolizer", "exporters", "remote/http"},
    "remote/top": {"base", "wire", "recording", "profile", "remote/live", "remote/http"},
    "remote/mcp": {"base"},
    "cli": {"base", "wire", "recording", "profile", "symbolizer", "exporters", "importers", "reports", "reports/query",
            "reports/gate",
            "sampler",
            "sampler/control", "sampler/inspect", "sampler/launch", "sampler/process",
            "sampler/recorder",
            "remote/live", "remote/http", "remote/serve", "remote/top", "remote/push", "remote/mcp"},
}
# Not even through headers of other folders: viewers see the model, never the file.
HIDDEN = {"reports": "recording", "reports/query": "recording", "reports/gate": "recording",
          "exporters": "recording"}
FREESTANDING = {"base", "wire", "unwind", "preload"}
# No exceptions, no allocation, nothing that needs libstdc++.so.
FREESTANDING_HEADERS = {
    "algorithm", "array", "atomic", "bit", "cerrno", "climits", "compare", "concepts", "csignal",
    "cstdarg", "cstddef", "cstdint", "cstring", "initializer_list", "limits", "new", "optional",
    "span", "string_view", "type_traits", "utility",
}
# Only the symbolizer reads DWARF.
DWARF_HEADER = re.compile(r"elfutils/|dwarf\.h$|libelf\.h$|gelf\.h$")
LONGEST_FILE = 500

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def is_hosted(text):
    comment = text.split("\n\n", 1)[0].split("#pragma once")[0]
    return "Hosted only" in comment


def room_of(name):
    """The entry of USES that a path lies in, or None: "symbolizer/dwarf/unit.h" is in "symbolizer/dwarf"."""
    folders = name.split("/")[:-1]
    prefixes = ("/".join(folders[:length]) for length in range(len(folders), 0, -1))
    return next((prefix for prefix in prefixes if prefix in USES), None)


def picture():
    """Who includes whom among the folders at the root, as docs/design.md shows it."""
    uses = {}
    for room, used in USES.items():
        folder = room.split("/")[0]
        uses.setdefault(folder, set()).update(name.split("/")[0] for name in used)
    rows = ["    " + " " * 15 + "".join(f"{column:3}" for column in range(1, len(uses) + 1))]
    for number, folder in enumerate(uses, 1):
        marks = ["·" if name == folder else "●" if name in uses[folder] else " " for name in uses]
        rows.append(f"    {number:2} {folder:12}" + "".join(f"  {mark}" for mark in marks).rstrip())
    return "\n".join(rows) + "\n"


def sources(root):
    """The C++ files of the pipeline's folders."""
    others = {"include", "tests", "bench", "examples", "docs", "man"}
    for folder in sorted(root.iterdir()):
        built = folder.name.startswith((".", "build")) or (folder / "build.ninja").exists()
        if folder.is_dir() and folder.name not in others and not built:
            yield from sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cpp", ".S"))


def reached(root, name, known):
    """The headers that a file includes, directly or not: {header: the chain of includes to it}."""
    if name not in known:
        known[name] = {}  # includes in a circle end here
        path = root / name
        for ours, _ in INCLUDE.findall(path.read_text()) if path.exists() else ():
            if ours:
                known[name].setdefault(ours, [ours])
                for further, chain in reached(root, ours, known).items():
                    known[name].setdefault(further, [ours, *chain])
    return known[name]


def check(root):
    """Yields a sentence for each violation."""
    hosted_base = {str(p.relative_to(root)) for p in (root / "base").rglob("*.h")
                   if is_hosted(p.read_text())}
    rooms = list(USES)
    for room, used in USES.items():
        for name in used & set(rooms[rooms.index(room):]):
            yield f"tests/layering.py: {room} stands before {name}, which it includes"
    known = {}
    for path in sources(root):
        name = str(path.relative_to(root))
        room = room_of(name)
        text = path.read_text()
        if room is None:
            yield f"{name}: is not in a folder that tests/layering.py knows"
            continue
        freestanding = room.split("/")[0] in FREESTANDING and not (room == "base" and (
            name in hosted_base or path.suffix == ".cpp"))
        for ours, other in INCLUDE.findall(text):
            target = room_of(ours)
            if target and target != room and target not in USES[room]:
                yield f"{name}: {room} may not include {ours}"
            if freestanding and ours in hosted_base:
                yield f"{name}: {ours} is not for code that is linked into the target"
            if freestanding and other and "." not in other and other not in FREESTANDING_HEADERS:
                yield f"{name}: <{other}> needs the C++ runtime"
            if other and DWARF_HEADER.search(other) and not room.startswith("symbolizer"):
                yield f"{name}: only the symbolizer includes <{other}>"
            if ours and not (root / ours).exists() and not (root / f"{ours}.in").exists():
                yield f"{name}: no such file: {ours}"  # .in: made by meson
        for header, chain in reached(root, name, known).items():
            if room in HIDDEN and room_of(header) == HIDDEN[room] and len(chain) > 1:
                yield f"{name}: {room} may not see {header}, not by way of {', '.join(chain[:-1])}"
                break
    folders = {name.split("/")[0] for name in USES} | {"tests", "bench", "include"}
    for folder in sorted(folders):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".py", ".S"):
                lines = path.read_text().count("\n")
                if lines > LONGEST_FILE:
                    yield f"{path.relative_to(root)}: {lines} lines, the limit is {LONGEST_FILE}"


def self_test():
    """Fails unless the check finds each kind of violation."""
    violations = {
        "wire/a.h": '#include <string>\n',
        "wire/b.h": '#include "base/error.h"\n',
        "reports/c.cpp": '#include "recording/reader.h"\n',
        "exporters/h.cpp": '#include "profile/i.h"\n',
        "symbolizer/dwarf/c.cpp": '#include "recording/reader.h"\n',
        "cli/d.cpp": '#include <elfutils/libdw.h>\n',
        "profile/e.cpp": "\n" * (LONGEST_FILE + 1),
        "odd/f.h": "",
    }
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        fine = {"base/error.h": "// Hosted only.\n#pragma once\n#include <string>\n",
                "recording/reader.h": "#include <vector>\n",
                "profile/i.h": '#include "profile/j.h"\n',
                "profile/j.h": '#include "recording/reader.h"\n', "wire/g.h": "#include <span>\n"}
        for name, text in (fine | violations).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = list(check(root))
    missed = [name for name in violations if not any(line.startswith(f"{name}:") for line in found)]
    assert not missed, f"not found: {missed}"
    assert len(found) == len(violations), found


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    violations = list(check(root))
    if picture() not in (root / "docs/design.md").read_text():
        violations.append("docs/design.md: who includes whom has changed, it is now\n" + picture())
    print("\n".join(violations) or "layering: ok")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
