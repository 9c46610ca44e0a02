#!/usr/bin/env python3
"""`sampan export` when it cannot go on: a sentence, no partial file, and a status that is not 0."""
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sampan

FORMATS = [line.split()[0] for line in subprocess.run(
    [sampan.PROGRAM, "formats"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()]


class Failures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_of_sampan = sampan.run([sampan.TARGETS / "target_shares", "1"])
        cls.recording = cls.run_of_sampan.recording
        os.chmod(cls.run_of_sampan.keep.name, 0o755)
        cls.run_with_spans = sampan.run([sampan.TARGETS / "target_markers", "thread_ends"])

    def setUp(self):
        keep = tempfile.TemporaryDirectory(prefix="sampan-failures-")
        self.addCleanup(keep.cleanup)
        self.directory = pathlib.Path(keep.name)

    def export(self, *options, formats=FORMATS, prefix=(), **keywords):
        keywords.setdefault("stdout", subprocess.PIPE)
        # The other recording has no spans to write.
        recording = self.run_with_spans.recording if formats == ["spans"] else self.recording
        return subprocess.Popen(
            [*prefix, sampan.PROGRAM, "export", "--format", ",".join(formats), *map(str, options),
             str(recording)], stderr=subprocess.PIPE, text=True, **keywords)

    def assert_fails(self, process, why, what):
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, (what, errors))
        self.assertRegex(errors, rf"sampan: [^\n]*{why}[^\n]*\n$", what)

    def files(self):
        return sorted(path.name for path in self.directory.iterdir())

    def test_a_full_device(self):
        for name in FORMATS:
            self.assert_fails(self.export("--output", "/dev/full", formats=[name]),
                              "writing /dev/full: No space left on device", name)
        self.assert_fails(self.export("--output", "/dev/full", "--bundle"),
                          "writing /dev/full: No space left on device", "bundle")

    def test_a_full_disk(self):
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", self.directory],
                                 capture_output=True)
        if mounted.returncode:
            self.skipTest(f"no tmpfs may be mounted here: {mounted.stderr.decode()}")
        try:
            for options in ((), ("--bundle",)):
                self.assert_fails(self.export("--output", self.directory, *options),
                                  "No space left on device", options)
                for path in self.directory.iterdir():  # files that were complete before
                    self.assertRegex(path.name, r"^profile_.*(?<!\.tmp)$")
                    path.unlink()
        finally:
            subprocess.run(["umount", self.directory], check=True)

    def test_a_reader_that_closes_its_end(self):
        for name in FORMATS:
            reading, writing = os.pipe()
            os.close(reading)  # before: a small file fits into the pipe
            process = self.export("--output", "-", formats=[name], stdout=writing)
            os.close(writing)
            self.assert_fails(process, "writing standard output: Broken pipe", name)

    def test_ctrl_c(self):
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for _ in range(300):
                process = self.export("--output", self.directory, "--per-thread")
                while not self.files() and process.poll() is None:
                    time.sleep(0.0005)
                process.send_signal(name)
                _, errors = process.communicate(timeout=60)
                self.assertFalse([file for file in self.files() if file.endswith(".tmp")], name)
                for path in self.directory.iterdir():
                    path.unlink()
                if process.returncode != 0:  # otherwise it ended before the signal came
                    break
            self.assertEqual(process.returncode, 1, (name, errors))
            self.assertIn("interrupted", errors)

    def test_ctrl_c_while_a_bundle_waits_for_its_reader(self):
        fifo = self.directory / "bundle"
        os.mkfifo(fifo)
        passing = self.directory / "tmp"
        passing.mkdir()
        process = self.export("--output", fifo, "--bundle", env={**os.environ, "TMPDIR": str(passing)})
        reader = os.open(fifo, os.O_RDONLY)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        os.read(reader, 1)  # the rest does not fit into the pipe
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assert_fails(process, "interrupted", "bundle")
        self.assertEqual(list(passing.iterdir()), [])

    def test_without_permission_to_write(self):
        ordinary = sampan.ORDINARY_USER if os.geteuid() == 0 else []
        (self.directory / "profile_overall.folded").write_text("as it was")
        os.chmod(self.directory, 0o555)
        for options in ((), ("--bundle",)):
            self.assert_fails(self.export("--output", self.directory, *options, prefix=ordinary,
                                          formats=["folded"]), "Permission denied", options)
            below = self.directory / "not" / "there"
            self.assert_fails(self.export("--output", f"{below}/", *options, prefix=ordinary,
                                          formats=["folded"]), "Permission denied", options)
        os.chmod(self.directory, 0o755)
        self.assertEqual(self.files(), ["profile_overall.folded"])
        self.assertEqual((self.directory / "profile_overall.folded").read_text(), "as it was")

    def test_a_file_where_a_directory_should_be(self):
        file = self.directory / "file"
        file.write_text("as it was")
        self.assert_fails(self.export("--output", file / "x", formats=["pprof"]),
                          "Not a directory", "below a file")
        self.assert_fails(self.export("--output", file, formats=["pprof", "folded"]),
                          f"{file}", "several formats into a file")
        self.assertEqual(file.read_text(), "as it was")


if __name__ == "__main__":
    unittest.main(verbosity=2)
