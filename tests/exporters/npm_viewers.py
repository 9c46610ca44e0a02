"""Opens exports with viewers of npm, as viewers.py does with those of Debian."""
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))
import npm_packages
import viewers


def pprof_format(path):
    """The library pprof-format. Threads by (name, tid)."""
    table = viewers.Table()
    opened = json.loads(viewers.run("node", HERE / "pprof_format.js", path,
                                    env=npm_packages.environment()))
    table.all = opened["all"] / 1e9
    for name, (own, total) in opened["functions"].items():
        table.self[name] += own / 1e9
        table.total[name] += total / 1e9
    for thread, tid, ns in opened["threads"]:
        table.threads[thread, tid] += ns / 1e9
    return table


UNITS = {"none": 1, "nanoseconds": 1e-9, "microseconds": 1e-6}


def speedscope(path):
    """speedscope's importer. The tables of its profiles by name: one per thread of a trace."""
    package = npm_packages.install() / "speedscope"
    [opened] = json.loads(viewers.run("node", HERE / "speedscope_import.js", package, path))
    tables = {}
    for profile in opened["profiles"]:
        unit = UNITS[profile["unit"]]
        table = tables[profile["name"]] = viewers.Table(all=profile["weight"] * unit)
        for name, frame in profile["frames"].items():
            table.self[name] += frame["self"] * unit
            table.total[name] += frame["total"] * unit
    return tables


@contextlib.contextmanager
def firefox_client(path):
    """The Firefox Profiler's client with a profile: ask(*words) is what it says."""
    environment = npm_packages.environment()
    client = npm_packages.install() / "@firefox-devtools/profiler-cli/dist/profiler-cli.js"
    # A daemon holds the profile. `load` would start one, too, and wait for it for half a second only.
    with tempfile.TemporaryDirectory(prefix="profiler-cli-") as session:
        environment["PROFILER_CLI_SESSION_DIR"] = session

        def ask(*words):
            return viewers.run("node", client, *words, env=environment, stderr=subprocess.STDOUT)

        daemon = subprocess.Popen(["node", client, "--daemon", pathlib.Path(path).resolve(), "--session", "test"],
                                  env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while True:
                try:
                    ask("status")
                    break
                except subprocess.CalledProcessError:
                    if daemon.poll() is not None:
                        raise
            yield ask
        finally:
            daemon.terminate()
            daemon.wait()


def firefox(path, tables=None):
    """The threads as the client lists them, busiest first, each with its `table`; or the first
    `tables` of them."""
    with firefox_client(path) as ask:
        threads = json.loads(ask("thread", "list", "--limit", "0", "--json"))["threads"]
        for thread in threads[:tables]:
            thread["table"] = firefox_thread(ask, thread["threadHandle"])
        return threads


def firefox_thread(ask, handle):
    table = viewers.Table()
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
        raise viewers.Unavailable(result.stdout)
    assert result.returncode == 0, result.stdout
    return result.stdout


def speedscope_in_chromium(*paths):
    """Each file opened by hand, so to say: {"title", "thread", "rows": [[total, self, name]]}."""
    return json.loads(in_chromium(HERE / "speedscope_in_chromium.js", *paths))
