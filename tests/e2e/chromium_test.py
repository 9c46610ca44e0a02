"""Chromium, headless, with its sandbox, as an ordinary user, at 4 kHz: every page has the text that it has without
sampan. Its zygote resets signals by system calls between fork and exec, and its renderers put in seccomp filters.

    chromium_test.py [PAGES] [TEST...]    40 pages in `./dev test --long chromium`
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import sampan

PAGES = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 40
TIMEOUT_S = 120
PAGE = """<html><body><p id="result"></p><script>
let sum = 0;
for (let i = 0; i < 20000000; ++i) sum = (sum + i * {number}) % 1000003;
document.getElementById("result").textContent = "page {number} sum " + sum;
</script></body></html>
"""


def without_namespaces():
    limit = pathlib.Path("/proc/sys/user/max_user_namespaces")
    return not limit.exists() or int(limit.read_text()) == 0


@unittest.skipIf(shutil.which("chromium") is None, "chromium is not installed")
@unittest.skipIf(without_namespaces(), "the sandbox needs user namespaces")
class Chromium(sampan.Case):
    def show(self, page, *prefix):
        """(exit status, the page's text as rendered, stderr)"""
        home = tempfile.mkdtemp(dir=self.path)
        os.chmod(home, 0o777)
        user = sampan.ORDINARY_USER if os.geteuid() == 0 else []
        process = subprocess.Popen(
            [*user, *prefix, "chromium", "--headless", "--disable-gpu", "--dump-dom", page.as_uri()],
            env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": home},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=home)
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            err += "\nno end"
        shutil.rmtree(home, ignore_errors=True)
        return process.returncode, out, err

    def check(self, *options):
        os.chmod(self.path, 0o755)
        for number in range(1, PAGES + 1):
            page = self.path / f"page{number}.html"
            page.write_text(PAGE.format(number=number))
            plain = self.show(page)
            self.assertEqual(plain[0], 0, plain[2])
            self.assertIn(f"page {number} sum", plain[1])
            output = tempfile.mkdtemp(dir=self.path)
            os.chmod(output, 0o777)
            status, out, err = self.show(page, os.path.abspath(sampan.PROGRAM), "run", "--quiet", "--format", "none",
                                         "--output", output, *options, "--")
            self.assertEqual((status, out), plain[:2], err)
            recording = next(pathlib.Path(output).glob("*/recording.sampan"))
            sampled = [process for process in sampan.report(recording)["processes"] if process["samples"] > 0]
            self.assertGreaterEqual(len(sampled), 3)
            shutil.rmtree(output)

    def test_at_4000_hz(self):
        self.check("--rate", "4000")

    def test_at_4000_hz_with_waits(self):
        self.check("--rate", "4000", "--clock", "wall")

    def test_with_allocations_and_locks(self):
        self.check("--rate", "1000", "--heap=16K", "--locks=1us")


if __name__ == "__main__":
    unittest.main(verbosity=2)
