#!/usr/bin/env python3
"""Checks that no function of an anonymous namespace hides another one of its folder: hiding.py SOURCE_ROOT.

Several files of a folder are compiled as one (unity builds). A function in the anonymous namespace of a .cpp then
hides, or clashes with, a function of the surrounding namespace that has the same name: one that a header of the folder
declares, or that another .cpp of the folder defines. Which files are compiled together may change, so the names must
differ in the whole folder.

The files are formatted by clang-format: what a namespace contains begins in the first column.
"""
import collections
import pathlib
import re
import sys
import tempfile

from layering import sources

NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{$")
END = re.compile(r"^\}  // namespace")
# "Type name(" or "Type Class::name(" in the first column; only the plain names count.
FUNCTION = re.compile(r"^(?!using |typedef |return |static_assert|class |struct |enum |#|//|\}|extern )"
                      r"(?:\[\[[^]]*\]\] |__attribute__\(\(\w+\)\) )*"
                      r"[A-Za-z_][\w:<>,&* ]*?[ *&](?<!::)(\w+)\(")


def functions(text):
    """Yields (namespace, whether it is in an anonymous namespace, name) of the functions of a file."""
    scopes = []
    for line in text.splitlines():
        if match := NAMESPACE.match(line):
            scopes.append(match[1])
        elif END.match(line) and scopes:
            scopes.pop()
        elif match := FUNCTION.match(line):
            named = "::".join(scope for scope in scopes if scope)
            yield named, None in scopes, match[1]


def check(root):
    """Yields a sentence for each function that hides another."""
    named = collections.defaultdict(set)  # (folder, namespace, name): the files that declare or define it
    hidden = collections.defaultdict(set)
    for path in sources(root):
        for namespace, anonymous, name in functions(path.read_text()):
            if namespace:
                table = hidden if anonymous and path.suffix == ".cpp" else named
                table[str(path.parent.relative_to(root)), namespace, name].add(path.name)
    for key, files in sorted(hidden.items()):
        for file in sorted(files):
            if others := ", ".join(sorted(named[key])):
                yield f"{key[0]}/{file}: {key[2]} hides {key[1]}::{key[2]} of {others}"


def self_test():
    """Fails unless the check finds each kind, and nothing else."""
    def source(anonymous, named):
        return f"namespace s {{\nnamespace {{\n\n{anonymous}\n}}  // namespace\n\n{named}\n}}  // namespace s\n"
    files = {
        "wire/a.h": "namespace s {\n\nint declared(int);\nstd::vector<int>* list(\n    int);\n\n}  // namespace s\n",
        "wire/b.cpp": source("int declared(int) {\n  return other(1);\n}\n", ""),
        "wire/c.cpp": source("const char* list() {\n}\n", "void defined() {\n}\nvoid Class::method() {\n}\n"),
        "wire/d.cpp": source("template <typename T>\nvoid defined(T t) {\n}\nvoid method() {\n}\nint own() {\n}\n", ""),
        "unwind/e.cpp": source("int declared(int) {\n}\nint own() {\n}\n", "int fine() {\n}\n"),
    }
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in files.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        found = sorted(line.split(" hides")[0] for line in check(root))
    assert found == ["wire/b.cpp: declared", "wire/c.cpp: list", "wire/d.cpp: defined"], found


def main():
    self_test()
    found = list(check(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "hiding: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
