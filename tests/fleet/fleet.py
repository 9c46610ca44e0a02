"""What the scripts of the fleet share: recipes of the pages as commands, real services on the loopback, and a program that
has something to show.

SAMPAN_PROGRAM names the program under test; it is what recipes find as `sampan`. Packages are Debian's: a script whose
programs are missing is skipped, and says so.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import recipes
import sampan

SOURCES = pathlib.Path(__file__).resolve().parent
INCLUDE = SOURCES.parents[1] / "include"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, what, seconds=120):
    """The first true value of condition(). What it throws because the other side is not there yet counts as false."""
    end = time.monotonic() + seconds
    error = None
    while time.monotonic() < end:
        try:
            value = condition()
            if value:
                return value
        except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as failure:
            error = failure
        time.sleep(0.2)
    raise AssertionError(f"{what}: not after {seconds} s: {error}")


class Case(sampan.Case):
    """Its tests share `path`, in which recipes run; `sampan` is the one under test."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.chmod(cls.path, 0o755)
        cls.bin = cls.path / "bin"
        cls.bin.mkdir()
        (cls.bin / "sampan").symlink_to(pathlib.Path(sampan.PROGRAM).resolve())
        cls.environment = {**{name: value for name, value in os.environ.items() if not name.startswith(("SAMPAN_", "SLURM_", "OMPI_", "PMI_"))},
                           "PATH": f"{cls.bin}:{os.environ['PATH']}:/usr/sbin:/sbin", "HOME": str(cls.path),
                           "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}

    def need(self, *programs):
        missing = [program for program in programs if shutil.which(program, path=self.environment["PATH"]) is None]
        if missing:
            self.skip(f"not installed: {', '.join(missing)}")

    def skip(self, why):
        print(f"SKIPPED {self.id()}: {why}", file=sys.stderr, flush=True)
        self.skipTest(why)

    def text(self, page, begin, replaced=None):
        """A recipe, with placeholders replaced."""
        text = recipes.recipe(page, begin)
        for old, new in (replaced or {}).items():
            self.assertIn(old, text, f"docs/{page}: {begin}")
            text = text.replace(old, str(new))
        return text

    def shell(self, command, timeout=300, check=True, **variables):
        result = subprocess.run(["bash", "-c", command], cwd=self.path, env={**self.environment, **variables}, capture_output=True, text=True,
                                timeout=timeout)
        if check:
            self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}{result.stderr}")
        return result

    def follow(self, page, begin, replaced=None, **options):
        """Runs a recipe. Its output is printed as the page would show it."""
        command = self.text(page, begin, replaced)
        result = self.shell(command, **options)
        print(f"$ {command}\n{result.stdout}{result.stderr}", flush=True)
        return result

    def start(self, words, log, **variables):
        """A service, until the test ends. Its output is in path/log."""
        with open(self.path / log, "ab") as output:
            process = subprocess.Popen([*map(str, words)], cwd=self.path, env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(self.stop, process)
        return process

    def stop(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it left

    def log(self, name):
        return (self.path / name).read_text(errors="replace")

    def service(self):
        """A program that computes until the test ends."""
        if not (self.path / "service.py").exists():
            shutil.copy(SOURCES / "service.py", self.path)
        return self.start(["/usr/bin/python3", "service.py"], "service.log")

    def serve(self, pid, *options, **variables):
        """The address of a `sampan serve PID`."""
        log = f"serve-{pid}.log"
        self.start([self.bin / "sampan", "serve", *options, pid], log, **variables)
        return wait_for(lambda: next((line for line in self.log(log).splitlines() if line.startswith("http")), None), "sampan serve")


def get(url, token="", timeout=60):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.read()
