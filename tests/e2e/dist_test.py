#!/usr/bin/env python3
"""The tarball of `./dev dist`: what it needs of a system, that it can be made again, and that it works on Debian's suites
(chroots.py), of which bullseye has glibc 2.31."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import chroots

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SUITES = ("bullseye", "bookworm", "trixie", "sid")
OLDEST_GLIBC = (2, 17)
LARGEST = 5_000_000  # bytes
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
DIST_S, COMMAND_S = 3000, 120
# Says that it runs, and spins until its input ends, or at the first argument's second of CPU.
PROGRAM = """
import sys, threading, time
def spin(seconds):
    while time.process_time() < seconds and not ended:
        sum(range(1000))
ended = []
print("spinning", flush=True)
threading.Thread(target=lambda: ended.append(sys.stdin.read()), daemon=True).start()
spin(float(sys.argv[1]))
"""


def made():
    done = subprocess.run(["./dev", "dist"], cwd=SOURCE, capture_output=True, text=True, timeout=DIST_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return SOURCE / done.stdout.splitlines()[-1]


class Dist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os_release = pathlib.Path("/etc/os-release").read_text()
        if 'VERSION_ID="12"' not in os_release:
            raise unittest.SkipTest("NOT TESTED: `./dev dist` is for Debian 12")
        cls.tarball = made()

    def test_the_same_tree_makes_the_same_file(self):
        before = hashlib.sha256(self.tarball.read_bytes()).hexdigest()
        shutil.rmtree(SOURCE / "build-dist")
        self.assertEqual(hashlib.sha256(made().read_bytes()).hexdigest(), before)

    def test_what_it_needs(self):
        self.assertLessEqual(self.tarball.stat().st_size, LARGEST)
        folder = self.tarball.with_suffix("").with_suffix("")
        for file in ("bin/sampan", "lib/sampan/libsampan_preload.so"):
            read = subprocess.run(["readelf", "-dVW", folder / file], check=True, capture_output=True, text=True).stdout
            versions = {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", read)}
            self.assertTrue(versions)
            self.assertLessEqual(max(versions), OLDEST_GLIBC, file)
            self.assertLessEqual(set(re.findall(r"Shared library: \[(.*)\]", read)), LIBRARIES)
            self.assertNotIn("GLIBC_ABI", read)  # nor features of newer loaders

    def test_a_container_with_nothing_else(self):
        """The guide's recipe, in a root with the C library, a program, and what the tarball has."""
        if os.geteuid() != 0:
            self.skipTest("NOT TESTED: only root makes roots and namespaces")
        with tempfile.TemporaryDirectory(prefix="sampan-dist-", dir="/var/tmp") as folder:
            root = pathlib.Path(folder)
            for file in ("/bin/sh", "/usr/bin/env"):
                chroots.add_program(root, file, file)
            for part in sorted(LIBRARIES):
                file = subprocess.run(["gcc", f"-print-file-name={part}"], check=True, capture_output=True, text=True).stdout.strip()
                chroots.add_program(root, file, f"/lib/x86_64-linux-gnu/{part}")
            (root / "opt/sampan").mkdir(parents=True)
            (root / "profiles").mkdir()
            subprocess.run(["tar", "-xf", self.tarball, "-C", root / "opt/sampan", "--strip-components=1"], check=True)

            def output_of(*words):
                done = subprocess.run(chroots.in_namespaces(root, *words), capture_output=True, text=True, timeout=COMMAND_S, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), words)
                return done.stdout

            output_of("/usr/bin/env", "LD_PRELOAD=/opt/sampan/lib/sampan/libsampan_preload.so", "SAMPAN=1",
                      "SAMPAN_OUTPUT=/profiles", "SAMPAN_QUIET=1", "SAMPAN_FORMAT=none", "/bin/sh", "-c",
                      "i=0; while [ $i -lt 2000000 ]; do i=$((i + 1)); done")
            [directory] = (root / "profiles").iterdir()
            report = json.loads(output_of("/opt/sampan/bin/sampan", "report", "--json", f"/profiles/{directory.name}"))
            self.assertGreater(report["samples"], 50)
            self.assertEqual(report["lost"], {})
            self.assertNotIn("ends early", " ".join(report["notes"]))
            self.assertIn("addresses", output_of("/opt/sampan/bin/sampan", "symbolize", f"/profiles/{directory.name}"))
            self.assertIn("profile_overall", output_of("/opt/sampan/bin/sampan", "export", "--format", "folded",
                                                       f"/profiles/{directory.name}"))

    def test_suites(self):
        for suite in SUITES:
            with self.subTest(suite), tempfile.TemporaryDirectory(prefix="sampan-dist-", dir="/var/tmp") as folder:
                root = chroots.unpacked(suite, folder)
                subprocess.run(["tar", "-xf", self.tarball, "-C", root / "opt"], check=True)
                # A folder of its own for what is recorded.
                (root / "root/work").mkdir()
                with chroots.mounted(root, ["/proc", "/dev"]):
                    self.check(suite, root)

    def check(self, suite, root):
        program = next((root / "opt").iterdir()).relative_to(root) / "bin/sampan"
        chroot = ["chroot", root, "/usr/bin/env", "-C", "/root/work"]
        sampan = [*chroot, f"/{program}"]

        def output_of(*words):
            done = subprocess.run(words, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=COMMAND_S, check=False)
            self.assertEqual(done.returncode, 0, f"{suite}: {words}: {done.stdout}{done.stderr}")
            return done.stdout + done.stderr

        def check_recording(name):
            words = (root / "root/work" / name).iterdir()
            recording = next(words).relative_to(root)
            report = json.loads(output_of(*sampan, "report", "--json", f"/{recording}"))
            self.assertGreater(report["samples"], 50, suite)
            # Python's frames may be read too late from outside, when others use the CPUs.
            self.assertGreater(report["complete_stacks"], 0.99 if name == "run" else 0.9, suite)
            self.assertEqual(report["lost"], {}, suite)
            spin = [row for row in report["functions"] if row["name"] == "spin"]
            self.assertEqual(len(spin), 1, f"{suite}: {report['functions'][:5]}")
            self.assertGreater(spin[0]["total_s"], 0.8 * report["sampled_cpu_s"], suite)
            print(f"{suite}: {name}: {report['samples']} samples, complete {report['complete_stacks']:.1%}, "
                  f"spin {spin[0]['total_s'] / report['sampled_cpu_s']:.1%}", file=sys.stderr)

        with subprocess.Popen([*sampan, "run", "--output", "run", "--", "python3", "-c", PROGRAM, "1"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
            self.assertEqual(run.stdout.readline(), "spinning\n")
            said = run.stdout.read()  # its end: the input is still open
            self.assertEqual(run.wait(COMMAND_S), 0, said)
        self.assertIn("stacks    ", said)
        check_recording("run")

        with subprocess.Popen([*chroot, "python3", "-c", PROGRAM, "100"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as target:
            self.assertEqual(target.stdout.readline(), "spinning\n")
            output_of(*sampan, "attach", "--output", "attach", "--duration", "2", str(target.pid))
            target.stdin.close()
        check_recording("attach")
        self.assertRegex(output_of(*sampan, "--version"), r"^sampan .* \(commit [0-9a-f]{12}(-dirty)?\)\nfeatures: .* portable\n")


if __name__ == "__main__":
    unittest.main()
