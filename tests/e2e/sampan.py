"""What the end-to-end tests share: running sampan, reading its report, and judging sampled CPU.

The environment names the program under test: SAMPAN_PROGRAM (build/sampan) and SAMPAN_TARGETS (the folder of the
compiled tests/targets).
"""
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import tolerances

# How much work some programs get: at 1, few seconds of CPU; `./dev test --long` gives more.
SCALE = float(os.environ.get("SAMPAN_TEST_SCALE", "1"))

# A shell ignores the first two in what it runs in the background, nohup the last; the programs here would inherit that.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def within_reach(program, targets):
    """Paths of both that any user may execute, because root becomes an ordinary user in some tests: copies if
    only root may enter the checkout's folder (/root)."""
    program, targets = pathlib.Path(program), pathlib.Path(targets)
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in program.resolve().parents):
        return str(program), targets
    copies = pathlib.Path(tempfile.mkdtemp(prefix="sampan-e2e-"))
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    os.chmod(copies, 0o755)
    for file in (program, program.parent / "libsampan_preload.so", program.parent / "libsampan_wrappers.so"):
        shutil.copy(file, copies)
    shutil.copytree(targets, copies / "targets", ignore=shutil.ignore_patterns("*.p"))
    return str(copies / program.name), copies / "targets"


def own_cache():
    """A new folder for the names that sampan keeps, so that other runs do not matter here. The go command, which
    keeps what it has built below the same variable, keeps its place."""
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    os.environ.setdefault("GOCACHE", str(caches / "go-build"))
    folder = tempfile.mkdtemp(prefix="sampan-e2e-cache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


os.environ["XDG_CACHE_HOME"] = own_cache()
PROGRAM, TARGETS = within_reach(os.environ.get("SAMPAN_PROGRAM", "build/sampan"),
                                os.environ.get("SAMPAN_TARGETS", "build/tests/targets"))


class Run:
    """One finished `sampan run`: the command's result, and the report of its recording."""

    def __init__(self, completed, keep):
        directory = keep.name
        self.keep = keep
        self.returncode = completed.returncode
        self.delayed_s = 0  # that sampan waited for a CPU, where it was measured
        self.stdout = completed.stdout
        self.stderr = completed.stderr
        recordings = list(pathlib.Path(directory).glob("*/recording.sampan"))
        assert len(recordings) == 1, f"{recordings} in {directory}: {completed.stderr!r}"
        self.recording = recordings[0]
        self.directory = self.recording.parent
        self._report = None

    def __del__(self):
        self.keep.cleanup()

    @property
    def report(self):
        if self._report is None:
            self._report = report(self.recording)
        return self._report

    def threads(self, name):
        return [thread for thread in self.report["threads"] if thread["name"] == name]


def report(recording, *options):
    output = subprocess.run([PROGRAM, "report", "--json", *options, str(recording)], check=True,
                            stdout=subprocess.PIPE).stdout
    return json.loads(output)


def run(command, options=(), env=None, timeout=300, delays=False, **keywords):
    """Runs `command` under sampan without exports; its directory lives as long as the result. `delays`: also measures
    Run.delayed_s."""
    directory = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
    keywords.setdefault("stdout", subprocess.PIPE)
    keywords.setdefault("stderr", subprocess.PIPE)
    text = keywords.pop("input", None)
    if text is not None:
        keywords["stdin"] = subprocess.PIPE
    words = [PROGRAM, "run", "--quiet", "--format", "none", "--output", directory.name, *options, "--", *map(str, command)]
    with subprocess.Popen(words, env={**os.environ, **(env or {})}, **keywords) as process:
        measured = tolerances.Delays(process.pid) if delays else None
        try:
            stdout, stderr = process.communicate(text, timeout)
        except BaseException:
            process.kill()
            raise
        finally:
            delayed_s = measured.finish() if delays else 0
    run = Run(subprocess.CompletedProcess(words, process.returncode, stdout, stderr), directory)
    run.delayed_s = delayed_s
    return run


ORDINARY_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Attached:
    """A running process with `sampan attach` on it; sampling has begun."""

    def __init__(self, pid, engine, options=(), prefix=()):
        self.directory = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
        os.chmod(self.directory.name, 0o777)
        self.sampan = subprocess.Popen(
            [*prefix, PROGRAM, "attach", "--engine", engine, "--format", "none", "--output",
             self.directory.name, *map(str, options), str(pid)],
            # What follows the first line is communicate()'s, which knows nothing of a buffer.
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.delays = tolerances.Delays(self.sampan.pid)
        self.first_line = self.sampan.stderr.readline().decode()
        if "sampling process" not in self.first_line:
            self.delays.finish()
            self.first_line += self.sampan.stderr.read().decode()
            if "permi" in self.first_line or "not part of" in self.first_line:
                raise unittest.SkipTest(f"the kernel refuses: {self.first_line}")
            raise AssertionError(self.first_line)

    def stop(self):
        """As Ctrl-C does."""
        self.sampan.send_signal(signal.SIGINT)
        return self.finish()

    def finish(self, timeout=60):
        """Waits until it has ended by itself: the Run."""
        stdout, stderr = self.sampan.communicate(timeout=timeout)
        run = Run(subprocess.CompletedProcess([], self.sampan.returncode, stdout, stderr), self.directory)
        run.delayed_s = self.delays.finish()
        return run


def run_attached(command, engine, options=(), prefix=(), timeout=120, **keywords):
    """Runs `command` to its end with sampan attached before its first instruction: a shell waits until then, and
    becomes it. Returns what subprocess.run() would, and the Run."""
    keywords.setdefault("stdout", subprocess.PIPE)
    keywords.setdefault("stderr", subprocess.PIPE)
    target = subprocess.Popen([*prefix, "sh", "-c", 'read -r go; exec "$@"', "sh",
                               *map(str, command)], stdin=subprocess.PIPE, **keywords)
    try:
        while prefix and os.readlink(f"/proc/{target.pid}/exe").endswith(f"/{prefix[0]}"):
            time.sleep(0.001)  # it is still changing its user
        attached = Attached(target.pid, engine, options, prefix)
        stdout, stderr = target.communicate(b"go\n", timeout=timeout)
    except BaseException:
        target.kill()
        target.wait()
        raise
    run = attached.finish()
    return subprocess.CompletedProcess(command, target.returncode, stdout, stderr), run


class Piped:
    """A program, until its standard input ends, or the `with` block."""

    def __init__(self, *command, **keywords):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        **keywords)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def line(self):
        return self.process.stdout.readline()

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()


class Case(unittest.TestCase):
    """Its tests share a folder, `path`."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)

    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def assert_cpu_agrees(self, thread, share=0.01, beyond_s=0):
        """A thread's sampled CPU is its true CPU within `share`, or what has no sample before it ends, and
        `beyond_s` for reasons of the test's own."""
        off = abs(thread["sampled_cpu_s"] - thread["cpu_s"])
        bound = max(share * thread["cpu_s"], tolerances.unsampled_s()) + beyond_s
        self.assertLessEqual(off, bound, thread)

    def assert_whole(self, result, coverage=0.90, complete=0.99):
        """`coverage` of the CPU is sampled, except for the end of each thread and for the loader's work before a
        process's first instruction of ours."""
        report = result.report
        missing = (tolerances.unsampled_s(len(report["threads"])) +
                   tolerances.LOADER_S * len(report["processes"]))
        self.assertGreaterEqual(report["sampled_cpu_s"] + missing, coverage * report["cpu_s"], report)
        self.assertGreaterEqual(report["complete_stacks"], complete, report["lost"])
