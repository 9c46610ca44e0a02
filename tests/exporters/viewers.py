"""Opens exports with the programs that people open them with, and returns what those understood.

Every function returns a Table, in seconds, or raises Unavailable with the reason. Functions are
known by name: where several have one, their self times are added.
"""
import collections
import dataclasses
import json
import os
import pathlib
import pstats
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import otlp_reader

AT_SPI = "/usr/lib/x86_64-linux-gnu/girepository-1.0/Atspi-2.0.typelib"


class Unavailable(unittest.SkipTest):
    """The viewer is not there and cannot be installed."""


@dataclasses.dataclass
class Table:
    all: float = 0.0                                               # of all samples
    self: dict = dataclasses.field(default_factory=collections.Counter)
    total: dict = dataclasses.field(default_factory=collections.Counter)
    threads: dict = dataclasses.field(default_factory=collections.Counter)


def together(tables):
    """The sum of the tables of all threads."""
    whole = Table()
    for table in tables:
        whole.all += table.all
        whole.self.update(table.self)
        whole.total.update(table.total)
    return whole


def run(*command, **keywords):
    if not shutil.which(command[0]):
        raise Unavailable(f"{command[0]} is not installed")
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE, **keywords).stdout


def pprof(path, *options):
    """go tool pprof. Threads by (name, tid)."""
    table = Table()
    top = run("go", "tool", "pprof", "-top", "-unit=ns", "-nodecount=1000000", "-nodefraction=0",
              "-edgefraction=0", *options, path, stderr=subprocess.STDOUT)
    table.all = float(re.search(r"of (\d+)ns total", top)[1]) / 1e9
    row = re.compile(r"^ *(\d+)(?:ns)? +[\d.]+% +[\d.]+% +(\d+)(?:ns)? +[\d.]+%  (.*)$", re.MULTILINE)
    for own, total, name in row.findall(top):
        name = re.sub(r" \((partial-)?inline\)$", "", name)
        table.self[name] += int(own) / 1e9
        table.total[name] += int(total) / 1e9
    raw = run("go", "tool", "pprof", "-raw", path)
    sample = re.compile(r"^ +\d+ +(\d+): [\d ]+\n +process:\[(?:.*)\] thread:\[(.*)\]\n"
                        r" +pid:\[\d+\] tid:\[(\d+)\]$", re.MULTILINE)
    for cpu, thread, tid in sample.findall(raw):
        table.threads[thread, int(tid)] += int(cpu) / 1e9
    return table


def otlp(path):
    """OpenTelemetry's profiles, on CPU. Threads by (name, tid)."""
    table = Table()
    for sample in otlp_reader.Message(pathlib.Path(path).read_bytes()).samples:
        seconds = sample.nanoseconds / 1e9
        if sample.kind != "cpu":
            continue
        table.all += seconds
        table.threads[sample.thread["thread.name"], sample.thread["thread.id"]] += seconds
        table.self[sample.frames[0][0]] += seconds
        for name in {name for name, _, _ in sample.frames}:
            table.total[name] += seconds
    return table


# Threads are functions in callgrind, "<worker>". Python has names of that kind, too.
THREAD = re.compile("<(?!module|lambda|listcomp|setcomp|dictcomp|genexpr).*>")


def without_built_in(name):
    """pstats' names of C functions beside those of Python: "deflate" of "<built-in deflate of libz.so.1>"."""
    match = re.fullmatch(r"<built-in (.*?)( of [^ ]+)?>", name)
    return match[1] if match else name


def python_pstats(path):
    """Python's pstats, and its browser. Threads by label."""
    table = Table()
    stats = pstats.Stats(str(path)).stats
    assert stats.pop(("~", 0, "<calls are counts of samples>")) == (0, 0, 0, 0, {}), stats
    for (file, line, name), (cc, nc, tt, ct, callers) in stats.items():
        assert 0 < cc <= nc, (name, cc, nc)
        assert tt <= ct, (name, tt, ct)
        assert callers.keys() <= stats.keys(), (name, callers)
        table.all += tt
        if file == "~" and name.startswith("<") and not name.startswith("<built-in "):
            if name != "<all threads>":
                table.threads[name[1:-1]] += ct
            continue
        assert callers, name
        # What the callers account for is the whole: calls once each, and no time is left over.
        assert sum(c[0] for c in callers.values()) == nc, name
        assert abs(sum(c[2] for c in callers.values()) - tt) < 1e-9, name
        assert all(c[1] <= c[0] and c[2] <= c[3] <= ct + 1e-9 for c in callers.values()), name
        name = without_built_in(name)
        table.self[name] += tt
        table.total[name] += ct
    browser = run("python3", "-m", "pstats", path, input="sort time\nstats\ncallers\n")
    shown = re.search(r"in ([\d.]+) seconds", browser)
    assert abs(float(shown[1]) - table.all) < 0.001, (shown[0], table.all)
    return table


def pyprof2calltree(path):
    """pstats made into callgrind, as for kcachegrind. Without threads."""
    table = Table()
    with tempfile.NamedTemporaryFile() as output:
        run("pyprof2calltree", "-i", path, "-o", output.name, stderr=subprocess.DEVNULL)
        text = pathlib.Path(output.name).read_text()
    table.all = int(re.search(r"^summary: (\d+)$", text, re.MULTILINE)[1]) / 1e9
    inclusive = False
    for line in text.splitlines():
        if line.startswith("fn="):
            name = without_built_in(line[3:])
        elif line.startswith("calls="):
            inclusive = True
        elif match := re.fullmatch(r"\d+ (\d+)", line):
            if not inclusive and name != "<calls are counts of samples>":
                table.self[name] += int(match[1]) / 1e9
            inclusive = False
    return table


def callgrind_annotate(path):
    """callgrind_annotate. Threads by label: they are functions there, "<worker>"."""
    table = Table()
    own, total = (run("callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no",
                      f"--inclusive={inclusive}", path) for inclusive in ("no", "yes"))
    table.all = float(re.search(r"^ *([\d,]+).* PROGRAM TOTALS$", own, re.MULTILINE)[1]
                      .replace(",", "")) / 1e9
    # Costs, then file:function [object], which two have none of.
    row = re.compile(r"^ *([\d,]+) +[\d,]+ {2}[^:\n]*:(.*?)"
                     r"(?: \[(?:[^\[\]]|\[vdso\])*\])?$", re.MULTILINE)
    for text, column in ((own, table.self), (total, table.total)):
        for cost, name in row.findall(text):
            column[name] += int(cost.replace(",", "")) / 1e9
    for name in [name for name in table.total if THREAD.fullmatch(name)]:
        table.threads[name[1:-1]] = table.total.pop(name)
    return table


def graphviz(path):
    """dot, as it reads the graph and lays it out. Threads by label, as in callgrind_annotate."""
    graph = json.loads(run("dot", "-Tjson", path))
    table = Table()
    for node in graph["objects"]:
        name = node["label"].replace("\\\\", "\\").rsplit("\\n", 1)[0]
        table.self[name] += int(node["self_ns"]) / 1e9
        table.total[name] += int(node["total_ns"]) / 1e9
    for name in [name for name in table.total if THREAD.fullmatch(name)]:
        table.threads[name[1:-1]] = table.total.pop(name)
        table.self.pop(name)
    table.all = sum(table.threads.values())
    return table


def kcachegrind(path):
    """kcachegrind on a display of its own: what it complains about, its window's title, and the
    table that it shows: of the hundred functions with the highest totals. Threads by label, as in
    callgrind_annotate."""
    for program in ("xvfb-run", "dbus-run-session", "kcachegrind"):
        if not shutil.which(program):
            raise Unavailable(f"{program} is not installed")
    if not pathlib.Path(AT_SPI).exists():
        raise Unavailable("the accessibility bindings of GObject are not installed")
    with tempfile.TemporaryDirectory(prefix="kcachegrind-") as home:
        settings = pathlib.Path(home) / ".config"
        settings.mkdir()
        (settings / "kcachegrindrc").write_text(
            "[TipOfDay]\nRunOnStart=false\n[GeneralSettings]\nShowPercentage=false\nShowCycles=false\nMaxListCount=100\n")
        environment = {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": home,
                       "XDG_CONFIG_HOME": str(settings), "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
        # Who asks before kcachegrind has joined the accessibility bus keeps it from there for good:
        # then it is started again, and given more time.
        script = r"""
            for seconds in 1.5 3 6 12 24; do
                kcachegrind "$1" 2> "$HOME/said" & viewer=$!
                sleep $seconds
                for attempt in 1 2 3 4 5 6 7 8; do
                    before=$now
                    if now=$("$2") && [ "$now" = "$before" ]; then  # it is filled in steps
                        echo "$now"
                        kill $viewer
                        exit
                    fi
                done
                kill $viewer
            done
            exit 1"""
        reader = pathlib.Path(__file__).parent / "kcachegrind_window.py"
        shown = json.loads(run("xvfb-run", "-a", "dbus-run-session", "--", "bash", "-c", script,
                               "bash", path, reader, env=environment,
                               stderr=subprocess.DEVNULL).splitlines()[-1])
        said = (pathlib.Path(home) / "said").read_text()
    table = Table()
    table.all = cost(re.search(r" Cost: ([\d ]+)$", shown["status"])[1])
    for total, own, _, name, _ in shown["rows"]:
        if not own:
            continue  # "(23 functions skipped)"
        if THREAD.fullmatch(name):
            table.threads[name[1:-1]] += cost(total)
        else:
            table.self[name] += cost(own)
            table.total[name] += cost(total)
    return re.findall(r"^(?:Loading|Error).*", said, re.MULTILINE), shown["title"], table


def cost(text):
    """Nanoseconds as kcachegrind writes them, "12 000 000", in seconds."""
    return int(text.replace(" ", "")) / 1e9


def trace(path):
    """The rules that chrome://tracing and Perfetto need and do not check. Threads by (name, tid)."""
    table = Table()
    events = json.loads(pathlib.Path(path).read_text())
    names, slices = {}, collections.defaultdict(list)
    for event in events:
        thread = event["pid"], event.get("tid")
        if event["ph"] == "M":
            names.setdefault(event["name"], {})[thread] = event["args"]
        elif event["ph"] != "C":
            assert event["ph"] == "X" and event["dur"] > 0 and "args" not in event, event
            slices[thread].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    for kind in ("process_sort_index", "thread_sort_index"):
        indexes = [args["sort_index"] for args in names[kind].values()]
        assert len(set(indexes)) == len(indexes), (kind, indexes)
    for thread, rows in slices.items():
        label = names["thread_name"][thread]["name"], thread[1]
        open_slices, last_begin = [], 0
        for begin, end, name in rows:
            assert begin >= last_begin, f"{name} begins before the one above it"
            last_begin = begin
            while open_slices and open_slices[-1][1] <= begin:
                open_slices.pop()
            duration = (end - begin) / 1e6
            if open_slices:
                assert end <= open_slices[-1][1], f"{name} outlasts {open_slices[-1]}"
                table.self[open_slices[-1][2]] -= duration
            else:
                table.all += duration
                table.threads[label] += duration
            if name not in (row[2] for row in open_slices):
                table.total[name] += duration
            table.self[name] += duration
            open_slices.append((begin, end, name))
    return table


def folded(path, period):
    """Folded stacks, a sample standing for `period` seconds. Threads by label."""
    table = Table()
    for line in pathlib.Path(path).read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        thread, *frames = stack.split(";")
        seconds = int(count) * period
        table.all += seconds
        table.threads[thread] += seconds
        table.self[frames[-1]] += seconds
        for name in set(frames):
            table.total[name] += seconds
    return table


def flamegraph(path, period):
    """An SVG, a sample standing for `period` seconds. Threads by label."""
    table = Table()
    above = []  # (y, name) of the frames that the next one may be called by
    svg = "{http://www.w3.org/2000/svg}"
    for frame in xml.etree.ElementTree.parse(path).iterfind(f".//{svg}g[@class='frame']"):
        name, *_, figures = frame.find(svg + "title").text.split("\n")
        seconds = int(re.search(r" (\d+) samples;", figures)[1]) * period
        y = int(frame.find(svg + "rect").get("y"))
        while above and above[-1][0] <= y:
            above.pop()
        depth = len(above)
        if depth == 0:
            table.all += seconds
        elif depth == 1:
            table.threads[name] += seconds
        else:
            table.self[name] += seconds
            if depth > 2:
                table.self[above[-1][1]] -= seconds
            if name not in (caller for _, caller in above[2:]):
                table.total[name] += seconds
        above.append((y, name))
    return table
