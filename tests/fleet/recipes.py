"""The recipes of the pages: their indented blocks. A line that begins with a program is a recipe of its own, with the
lines that it continues on; a block that begins with anything else, such as a unit file, is one as a whole."""
import ast
import collections
import pathlib
import re
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent
DOCS = FOLDER.parents[1] / "docs"
PAGES = ("guide.md", "fleet.md")
PROGRAMS = {"callgrind_annotate", "clickhouse-client", "curl", "docker", "dot", "flamegraph.pl", "go", "kcachegrind", "mpicc", "mpirun", "podman", "python3",
            "sampan", "sbatch", "snakeviz", "srun", "sudo"}
# What no script can run, and why: a recipe that begins so.
NOT_RUN = {
    "guide.md": {
        "$ sampan run -- xz": "an example of the output",
        "void answer(": "code; examples/service.cpp has it, and is compiled",
        "ncalls": "an example of the output",
        "Locks, most waited": "an example of the output",
        "Functions, most live": "an example of the output",
        "$ profiler-cli load": "the tool needs a network",
        "snakeviz DIR": "Debian does not have it; the line below it reads the same file",
        "kcachegrind DIR": "a desktop's program; tests/exporters opens it",
        "flamegraph.pl DIR": "Debian does not have it; tests/exporters reads the same file",
        "go tool pprof -http=: DIR": "serves until it is stopped; the lines below it read the same file",
    },
    "fleet.md": {},
}
# Sections that are lists of commands, not recipes.
REFERENCE = {"guide.md": {"All commands"}, "fleet.md": set()}

Recipe = collections.namedtuple("Recipe", "page line section text")


def blocks(text):
    """(line, section, lines) of each indented block."""
    section, block, begin = "", [], 0
    for number, line in enumerate(text.splitlines() + ["end"], 1):
        if line.startswith("    ") or (block and not line.strip()):
            begin = begin if block else number
            block.append(line)
            continue
        if block:
            yield begin, section, textwrap.dedent("\n".join(block)).rstrip().splitlines()
            block = []
        if line.startswith("#"):
            section = line.strip("# ")


def recipes(page):
    found = []
    for begin, section, lines in blocks((DOCS / page).read_text()):
        if section in REFERENCE[page]:
            continue
        if lines[0].split()[0] not in PROGRAMS:
            found.append(Recipe(page, begin, section, "\n".join(lines)))
            continue
        command, at = "", begin
        for number, line in enumerate(lines, begin):
            line = re.sub(r"\s{2,}# .*$|(?<=\w)\s+# .*$", "", line).rstrip()
            at = at if command else number
            command += line.lstrip() if command else line
            if command.endswith("\\"):
                command = command[:-1].rstrip() + " "
            elif command.strip():
                found.append(Recipe(page, at, section, command))
                command = ""
    return found


def named(page, begin):
    """The recipes that are `begin`; if there is none, those that begin so."""
    all_recipes = recipes(page)
    return [each for each in all_recipes if each.text == begin] or [each for each in all_recipes if each.text.startswith(begin)]


def recipe(page, begin):
    """The text of the one recipe of the page that begins so."""
    found = named(page, begin)
    assert len({each.text for each in found}) == 1, f"docs/{page}: {len(found)} recipes begin with {begin!r}: {[each.line for each in found]}"
    return found[0].text


def texts_of(script):
    """All strings in a script."""
    return {node.value for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def forgotten():
    """Recipes that no script here names."""
    texts = {text for script in FOLDER.glob("*_test.py") for text in texts_of(script) if len(text) >= 8}
    left = []
    for page in PAGES:
        claimed = [named(page, text) for text in texts]
        lines = {each.line for found in claimed if len({one.text for one in found}) == 1 for each in found}
        left += [each for each in recipes(page) if each.line not in lines and not any(each.text.startswith(begin) for begin in NOT_RUN[page])]
    return left
