#!/usr/bin/env python3
"""The two commands of README.md in a fresh clone, on one of Debian's suites (chroots.py): suites_test.py SUITE"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import chroots

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SUITE = "bookworm"
RUN_S, TEST_S = 3600, 7000
# What npm trusts here beside its own, as where a proxy has a certificate of its own.
CERTIFICATES = os.environ.get("NODE_EXTRA_CA_CERTS")
# Its lines are those of Python's function `spin`.
PROGRAM = """
import time
def spin():
    while time.process_time() < 1:
        sum(range(1000))
spin()
"""


class Suites(unittest.TestCase):
    def in_chroot(self, root, timeout, *words):
        """The status and the output, which also goes to this test's log."""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "TERM": "dumb", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        if CERTIFICATES:
            environment["NODE_EXTRA_CA_CERTS"] = "/root/certificates.crt"
        done = subprocess.run(["chroot", root, "/usr/bin/env", "-C", "/root/sampan", *words], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=timeout, check=False)
        print(f"{SUITE}: {' '.join(words[:3])}: {done.returncode}\n{done.stdout}", file=sys.stderr)
        return done.returncode, done.stdout

    def test_both_commands(self):
        # Not in /tmp, which may be in memory: the packages and the build take 6 GB.
        with tempfile.TemporaryDirectory(prefix="sampan-suite-", dir="/var/tmp") as folder:
            root = chroots.unpacked(SUITE, folder)
            subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", SOURCE, root / "root/sampan"], check=True)
            if CERTIFICATES:
                shutil.copy(CERTIFICATES, root / "root/certificates.crt")
            with chroots.mounted(root, ["/proc", "/sys", "/dev"]):
                status, output = self.in_chroot(root, RUN_S, "./dev", "run", "--", "python3", "-c", PROGRAM)
                self.assertEqual(status, 0, output)
                self.assertRegex(output, r"(?m)^ .* spin\b", output)
                status, output = self.in_chroot(root, TEST_S, "./dev", "test")
                self.assertEqual(status, 0, output)
                self.assertRegex(output, r"\d+ passed, 0 failed")


if __name__ == "__main__":
    SUITE = sys.argv.pop(1)
    unittest.main()
