"""Runs a target program bare and under `sampan run`, and gives back what there is to compare.

The paths come from Meson: SAMPAN_BINARY is build/sampan, SAMPAN_TARGETS the folder of the targets.
"""
import glob
import json
import os
import re
import subprocess
import tempfile

SAMPAN = os.environ.get("SAMPAN_BINARY", "build/sampan")
TARGETS = os.environ.get("SAMPAN_TARGETS", "build/tests/targets")
LIBRARY = os.path.join(TARGETS, "libtarget_library.so")
# Long enough for a loaded machine; what hangs is killed with everything it started.
TIMEOUT = 120


class Result:
    """One finished run: status (negative: the signal), out, err, and for sampan the report."""

    def __init__(self, status, out, err, report=None, directory=None):
        self.status, self.out, self.err = status, out, err
        self.report, self.directory = report, directory

    def numbers(self, word):
        """All lines "WORD [TEXT] NUMBER" of the target's output as {TEXT: NUMBER}."""
        found = {}
        for line in self.out.splitlines():
            parts = line.split()
            if parts and parts[0] == word:
                found[" ".join(parts[1:-1])] = float(parts[-1])
        return found

    def threads(self, name):
        return [t for t in self.report["threads"] if t["name"] == name]

    def sampled_cpu(self, name=None):
        threads = self.report["threads"] if name is None else self.threads(name)
        return sum(t["sampled_cpu_s"] for t in threads)

    def function(self, name):
        """Self and total seconds of the functions whose name contains `name`."""
        rows = [f for f in self.report["functions"] if name in f["name"]]
        return sum(f["self_s"] for f in rows), sum(f["total_s"] for f in rows)


def target(name, *arguments):
    return [os.path.join(TARGETS, "target_" + name), *map(str, arguments)]


def execute(command, env=None, timeout=TIMEOUT):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=env, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        raise AssertionError(f"{command} did not end in {timeout} s: {out}{err}")
    return Result(process.returncode, out, err)


def bare(name, *arguments, timeout=TIMEOUT):
    return execute(target(name, *arguments), timeout=timeout)


def profiled(name, *arguments, rate=None, env=None, timeout=TIMEOUT):
    """The target under `sampan run`, with the report on its recording."""
    directory = tempfile.mkdtemp(prefix="sampan-e2e-")
    options = [] if rate is None else ["--rate", str(rate)]
    environment = dict(os.environ, **(env or {}))
    result = execute([SAMPAN, "run", "--quiet", "--output", directory, *options, "--",
                      *target(name, *arguments)], env=environment, timeout=timeout)
    recordings = glob.glob(os.path.join(directory, "*", "recording.sampan"))
    assert len(recordings) == 1, f"recordings: {recordings}; {result.err}"
    shown = execute([SAMPAN, "report", "--json", recordings[0]])
    assert shown.status == 0, shown.err
    return Result(shell_status(result.status), result.out, result.err, json.loads(shown.out),
                  os.path.dirname(recordings[0]))


def shell_status(status):
    """A status as a shell gives it and as sampan passes it on: 128 + the signal."""
    return 128 - status if status < 0 else status


def folded_stacks(result):
    """[(frames root first, count)] of the merged profile of a run."""
    recording = os.path.join(result.directory, "recording.sampan")
    made = execute([SAMPAN, "export", "--format", "folded", recording])
    assert made.status == 0, made.err
    stacks = []
    for path in glob.glob(os.path.join(result.directory, "profile_overall*folded*")):
        with open(path, encoding="utf-8") as file:
            for line in file:
                match = re.fullmatch(r"(.*) (\d+)", line.rstrip("\n"))
                stacks.append((match.group(1).split(";"), int(match.group(2))))
    assert stacks, f"no stacks in {result.directory}"
    return stacks
