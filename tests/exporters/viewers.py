"""Opens exports with the programs that people open them with, and returns what those understood.

Every function returns a Table, in seconds, or raises Unavailable with the reason. Functions are
known by name: where several have one, their self times are added.
"""
import collections
import dataclasses
import json
import pathlib
import pstats
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))
import npm_packages
from npm_packages import Unavailable


@dataclasses.dataclass
class Table:
    all: float = 0.0                                               # of all samples
    self: dict = dataclasses.field(default_factory=collections.Counter)
    total: dict = dataclasses.field(default_factory=collections.Counter)
    threads: dict = dataclasses.field(default_factory=collections.Counter)


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


def python_pstats(path):
    """Python's pstats, and its browser. Threads by label."""
    table = Table()
    stats = pstats.Stats(str(path)).stats
    for (file, line, name), (cc, nc, tt, ct, callers) in stats.items():
        assert 0 < cc <= nc, (name, cc, nc)
        assert tt <= ct, (name, tt, ct)
        assert callers.keys() <= stats.keys(), (name, callers)
        table.all += tt
        if file == "~" and name.startswith("<"):
            if name != "<all threads>":
                table.threads[name[1:-1]] += ct
            continue
        assert callers, name
        # What the callers account for is the whole: calls once each, and no time is left over.
        assert sum(c[0] for c in callers.values()) == nc, name
        assert abs(sum(c[2] for c in callers.values()) - tt) < 1e-9, name
        assert all(c[1] <= c[0] and c[2] <= c[3] <= ct + 1e-9 for c in callers.values()), name
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
            name = line[3:]
        elif line.startswith("calls="):
            inclusive = True
        elif match := re.fullmatch(r"\d+ (\d+)", line):
            if not inclusive:
                table.self[name] += int(match[1]) / 1e9
            inclusive = False
    return table


def trace(path):
    """The rules that chrome://tracing and Perfetto need and do not check. Threads by (name, tid)."""
    table = Table()
    events = json.loads(pathlib.Path(path).read_text())
    names, slices = {}, collections.defaultdict(list)
    for event in events:
        thread = event["pid"], event["tid"]
        if event["ph"] == "M":
            names.setdefault(event["name"], {})[thread] = event["args"]
        else:
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


UNITS = {"none": 1, "nanoseconds": 1e-9, "microseconds": 1e-6}


def speedscope(path):
    """speedscope's importer. The tables of its profiles by name: one per thread of a trace."""
    package = npm_packages.install() / "speedscope"
    [opened] = json.loads(run("node", HERE / "speedscope_import.js", package, path))
    tables = {}
    for profile in opened["profiles"]:
        unit = UNITS[profile["unit"]]
        table = tables[profile["name"]] = Table(all=profile["weight"] * unit)
        for name, frame in profile["frames"].items():
            table.self[name] += frame["self"] * unit
            table.total[name] += frame["total"] * unit
    return tables


def flamegraph(path, period):
    """An SVG, a sample standing for `period` seconds. Threads by label."""
    table = Table()
    above = []  # (y, name) of the frames that the next one may be called by
    svg = "{http://www.w3.org/2000/svg}"
    for frame in xml.etree.ElementTree.parse(path).iter(svg + "g"):
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


def firefox(path):
    """The Firefox Profiler's client. The threads as it lists them, each with its `table`."""
    environment = npm_packages.environment()
    client = npm_packages.install() / "@firefox-devtools/profiler-cli/dist/profiler-cli.js"
    # A daemon holds the profile, until it is told to stop.
    with tempfile.TemporaryDirectory(prefix="profiler-cli-") as session:
        environment["PROFILER_CLI_SESSION_DIR"] = session

        def ask(*words):
            return run("node", client, *words, env=environment, stderr=subprocess.STDOUT)

        ask("load", pathlib.Path(path).resolve())
        try:
            threads = json.loads(ask("thread", "list", "--limit", "0", "--json"))["threads"]
            for thread in threads:
                thread["table"] = firefox_thread(ask, thread["threadHandle"])
            return threads
        finally:
            ask("stop", "--all")


def firefox_thread(ask, handle):
    table = Table()
    functions = json.loads(ask("thread", "functions", "--thread", handle, "--include-idle",
                               "--limit", "0", "--json"))
    for function in functions["functions"]:
        table.self[function["name"]] += function["selfSamples"] / 1e3
        table.total[function["name"]] += function["totalSamples"] / 1e3
    table.all = sum(table.self.values())
    return table


def in_chromium(script, *arguments):
    """Runs a script of node that drives Chromium."""
    result = subprocess.run(["node", script, *map(str, arguments)], env=npm_packages.environment(),
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode == npm_packages.SKIPPED:
        raise Unavailable(result.stdout)
    assert result.returncode == 0, result.stdout
    return result.stdout
