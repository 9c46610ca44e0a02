"""The catalogue of the world's programs. An entry of tests/world/*.toml:

    [name]
    packages = ["golang-go"]  # Debian's
    files = { "main.go" = "…" }
    setup = "go build main.go"  # a shell's words, once, bare
    command = "./main"  # a shell's words, in a copy of the folder
    status = 0  # what it ends with
    after = "sha256sum out"  # its output counts, too
    varies = ['\\d+ ms']  # regular expressions of what differs from run to run
    hot = "main\\.work"; share = 0.8  # the function that takes at least this share of the samples, callees with it
    env = { KEY = "value" }
    timeout = 60  # seconds that a bare run may take
    slow = true  # under ptrace it may take five times that
    quick = true  # also in CI
    known = { "attach ptrace" = "why it differs" }
"""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tomllib


@dataclasses.dataclass
class Program:
    name: str
    kind: str
    command: str
    packages: list = dataclasses.field(default_factory=list)
    files: dict = dataclasses.field(default_factory=dict)
    setup: str = ""
    status: int = 0
    after: str = ""
    varies: list = dataclasses.field(default_factory=list)
    hot: str = ""
    share: float = 0.5
    env: dict = dataclasses.field(default_factory=dict)
    needs: str = ""  # a command that is not Debian's, such as node
    timeout: int = 60
    slow: bool = False
    quick: bool = False
    known: dict = dataclasses.field(default_factory=dict)

    def steady(self, text):
        """Without what differs from run to run."""
        for pattern in self.varies:
            text = re.sub(pattern, "…", text)
        return text

    def missing(self):
        """What is not installed, or None."""
        if self.needs and shutil.which(self.needs) is None:
            return f"{self.needs} is not installed"
        missing = [package for package in self.packages if not installed(package)]
        return f"not installed: {' '.join(missing)}" if missing else None


def programs():
    found = []
    for path in sorted(pathlib.Path(__file__).parent.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text()).items():
            found.append(Program(name, path.stem, **entry))
    return found


def installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True, check=False)
    return done.stdout == "installed"


def install(wanted):
    """As many as there are; programs without theirs are said to be not tested. Services stay off."""
    packages = sorted({package for program in wanted for package in program.packages if not installed(package)})
    if not packages:
        return
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    apt = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL, "check": False}
    subprocess.run(["apt-get", "update", "-qq"], **quiet)
    if subprocess.run([*apt, *packages], env=env, **quiet).returncode != 0:
        for package in packages:
            subprocess.run([*apt, package], env=env, **quiet)
