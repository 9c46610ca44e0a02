"""What the end-to-end tests share: running sampan, reading its report, and judging shares.

The program under test is named by the environment: SAMPAN_PROGRAM (build/sampan) and SAMPAN_TARGETS
(the folder of the compiled tests/targets).
"""
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import stalls

# A shell ignores these for what it runs in the background, and nohup the last: that would be inherited.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def within_reach(program, targets):
    """Both where any user may execute them: copies, when root's checkout lies where only root may
    go (/root), because root becomes an ordinary user in some tests."""
    program, targets = pathlib.Path(program), pathlib.Path(targets)
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in program.resolve().parents):
        return str(program), targets
    copies = pathlib.Path(tempfile.mkdtemp(prefix="sampan-e2e-"))
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    os.chmod(copies, 0o755)
    for file in (program, program.parent / "libsampan_preload.so"):
        shutil.copy(file, copies)
    shutil.copytree(targets, copies / "targets", ignore=shutil.ignore_patterns("*.p"))
    return str(copies / program.name), copies / "targets"


def own_cache():
    """A folder for the names that sampan keeps: what other runs found out must not matter here. The
    go command, which keeps what it has built below the same variable, keeps its place."""
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    os.environ.setdefault("GOCACHE", str(caches / "go-build"))
    folder = tempfile.mkdtemp(prefix="sampan-e2e-cache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


os.environ["XDG_CACHE_HOME"] = own_cache()
PROGRAM, TARGETS = within_reach(os.environ.get("SAMPAN_PROGRAM", "build/sampan"),
                                os.environ.get("SAMPAN_TARGETS", "build/tests/targets"))
LOADER_S = 0.03  # relocating the largest program here, clang, on a busy machine
KERNEL_TICK_S = 0.004  # of HZ=250, the coarsest common one; sampling ends within two of them


class Run:
    """One finished `sampan run`: the command's result, and the report of its recording."""

    def __init__(self, completed, keep):
        directory = keep.name
        self.keep = keep
        self.returncode = completed.returncode
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


def run(command, options=(), env=None, timeout=300, **keywords):
    """Runs `command` under sampan without exports; the directory lives as long as the result."""
    directory = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
    keywords.setdefault("stdout", subprocess.PIPE)
    keywords.setdefault("stderr", subprocess.PIPE)
    completed = subprocess.run(
        [PROGRAM, "run", "--quiet", "--format", "none", "--output", directory.name, *options, "--",
         *map(str, command)], env={**os.environ, **(env or {})}, timeout=timeout, **keywords)
    return Run(completed, directory)


ORDINARY_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Attached:
    """A running process with `sampan attach` on it; sampling has begun."""

    def __init__(self, pid, engine, options=(), prefix=()):
        self.directory = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
        os.chmod(self.directory.name, 0o777)
        self.sampan = subprocess.Popen(
            [*prefix, PROGRAM, "attach", "--engine", engine, "--format", "none", "--output",
             self.directory.name, *map(str, options), str(pid)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.first_line = self.sampan.stderr.readline().decode()
        if "sampling process" not in self.first_line:
            self.first_line += self.sampan.communicate()[1].decode()
            if "permi" in self.first_line or "not part of" in self.first_line:
                raise unittest.SkipTest(f"the kernel refuses: {self.first_line}")
            raise AssertionError(self.first_line)

    def stop(self):
        """As Ctrl-C does."""
        self.sampan.send_signal(signal.SIGINT)
        return self.finish()

    def finish(self, timeout=60):
        """When it has ended by itself: the Run."""
        stdout, stderr = self.sampan.communicate(timeout=timeout)
        return Run(subprocess.CompletedProcess([], self.sampan.returncode, stdout, stderr),
                   self.directory)


def run_attached(command, engine, options=(), prefix=(), timeout=120, **keywords):
    """Runs `command` to its end, attached from before its first instruction: a shell waits for us,
    then becomes it. Returns what subprocess.run() would, and the Run."""
    keywords.setdefault("stdout", subprocess.PIPE)
    keywords.setdefault("stderr", subprocess.PIPE)
    target = subprocess.Popen([*prefix, "sh", "-c", 'read -r go; exec "$@"', "sh",
                               *map(str, command)], stdin=subprocess.PIPE, **keywords)
    try:
        attached = Attached(target.pid, engine, options, prefix)
        stdout, stderr = target.communicate(b"go\n", timeout=timeout)
    except BaseException:
        target.kill()
        target.wait()
        raise
    run = attached.finish()
    return subprocess.CompletedProcess(command, target.returncode, stdout, stderr), run


class Case(stalls.TestCase):
    """Its tests share a folder, `path`."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)

    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def assert_cpu_agrees(self, thread, share=0.01, switching_s=0):
        """The sampled CPU of a thread is its true CPU within 1 %, or within the two ticks that a
        thread may run before its first and after its last sample; `switching_s` of it may be of
        the kernel, between threads."""
        off = abs(thread["sampled_cpu_s"] - thread["cpu_s"])
        bound = max(share * thread["cpu_s"], 2 * KERNEL_TICK_S) + switching_s
        self.assertLessEqual(off, bound, thread)

    def assert_whole(self, result, coverage=0.90, complete=0.99):
        """`coverage` of the CPU is sampled, but for two ticks of each thread, and for what the
        loader works before a process's first instruction of ours (LOADER_S)."""
        report = result.report
        ends = 2 * KERNEL_TICK_S * len(report["threads"]) + LOADER_S * len(report["processes"])
        self.assertGreaterEqual(report["sampled_cpu_s"] + ends, coverage * report["cpu_s"], report)
        self.assertGreaterEqual(result.report["complete_stacks"], complete, result.report["lost"])
