#!/usr/bin/env python3
"""Debian's packages, built, examined by lintian, installed and used on one of its suites (chroots.py): packages_test.py SUITE"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import chroots

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SUITE = "bookworm"
TIMEOUT_S = 3600
MARKED = """
#include <sampan/markers.h>
int main() { sampan::Span span{"marked"}; }
"""


class Packages(unittest.TestCase):
    def test_packages(self):
        # Not in /tmp, which may be in memory: what the build needs takes 2 GB.
        with tempfile.TemporaryDirectory(prefix="sampan-packages-", dir="/var/tmp") as folder:
            root = chroots.unpacked(SUITE, folder)
            subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", SOURCE, root / "root/sampan"], check=True)
            with chroots.mounted(root, ["/proc", "/sys", "/dev"]):
                self.check(root)

    def check(self, root):
        def output_of(*words, cwd="/root/sampan"):
            """What the command printed, which also goes to this test's log."""
            environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                           "TERM": "dumb", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
            done = subprocess.run(["chroot", root, "/usr/bin/env", "-C", cwd, *words], env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=TIMEOUT_S, check=False)
            print(f"{SUITE}: {' '.join(words)}: {done.returncode}\n{done.stdout}", file=sys.stderr)
            self.assertEqual(done.returncode, 0, done.stdout)
            return done.stdout

        def installed(*words):
            output_of("apt-get", "install", "--yes", "--no-install-recommends", *words)

        output_of("apt-get", "update")
        installed("build-essential", "lintian")
        output_of("apt-get", "build-dep", "--yes", "--no-install-recommends", "./")
        output_of("dpkg-buildpackage", "-us", "-uc")
        output_of("sh", "-c", "lintian --fail-on error,warning --allow-root ../*.changes")
        output_of("apt-get", "purge", "--yes", "--autoremove", "lintian", "meson", "libdw-dev")
        output_of("sh", "-c", "apt-get install --yes --no-install-recommends ../*.deb xz-utils zsh pkgconf")

        test = re.search(r"^Test-Command: (.*)", (SOURCE / "debian/tests/control").read_text(), re.M)[1]
        output_of("sh", "-c", f"AUTOPKGTEST_TMP=$(mktemp -d); {test}")
        attached = output_of("sh", "-c", "python3 -c 'while True: pass' & sampan attach --duration 1 $!; kill $!", cwd="/root")
        self.assertRegex(attached, r"samples +[1-9]")
        # The source package has no commit, and a package that is built from a clone must not differ.
        self.assertRegex(output_of("sampan", "--version"), r"^sampan \d+\.\d+\.\d+\nfeatures: ")
        output_of("test", "-s", "/usr/share/man/man1/sampan.1.gz")
        self.assertIn("_sampan", output_of("zsh", "-c", "autoload -U compinit; compinit -D -u; echo $_comps[sampan]"))
        (root / "root/marked.cpp").write_text(MARKED)
        output_of("sh", "-c", "g++ -std=c++20 $(pkg-config --cflags sampan) marked.cpp -o marked && "
                              "sampan run -- ./marked && sampan spans", cwd="/root")


if __name__ == "__main__":
    SUITE = sys.argv.pop(1)
    unittest.main()
