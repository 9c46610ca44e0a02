#!/usr/bin/env python3
"""What `sampan doctor -- COMMAND` says before the run is what the run does."""
import json
import os
import pathlib
import resource
import shutil
import subprocess

import sampan
import seccomp

RETURN_FROM_SIGNAL = 15  # SYS_rt_sigreturn


def forbid_the_return_from_signals():
    seccomp.refuse(RETURN_FROM_SIGNAL, action=seccomp.KILL_PROCESS)


class Command(sampan.Case):
    def examined(self, *command, status=0, prefix=(), before=None):
        """{subject: finding} of a command; `before` runs in the process that becomes sampan."""
        done = subprocess.run([*prefix, sampan.PROGRAM, "doctor", "--json", "--", *map(str, command)], check=False,
                              capture_output=True, text=True, preexec_fn=before)
        self.assertEqual(done.returncode, status, done.stderr or done.stdout)
        return {finding["subject"]: finding for finding in json.loads(done.stdout)["command"]}

    def compiled(self, compiler, name, *flags):
        self.need(compiler)
        source = self.path / "spin.c"
        source.write_text("int main(void) { volatile long i = 0; while (++i < 100000000) {} return 0; }\n")
        subprocess.run([compiler, "-O1", source, "-o", self.path / name, *flags], check=True)
        return self.path / name

    def samples(self, *command, **keywords):
        return sampan.run(command, ["--rate", "1000"], **keywords).report["samples"]

    def test_nothing_is_in_the_way(self):
        found = self.examined("python3", "-c", "pass")
        self.assertTrue(all(finding["good"] for finding in found.values()), found)
        self.assertIn(os.path.basename(os.path.realpath(shutil.which("bash"))),
                      self.examined(self.script("#!/usr/bin/env bash"))["shim"]["verdict"])

    def script(self, first_line):
        path = self.path / "script"
        path.write_text(first_line + "\nexit 0\n")
        path.chmod(0o755)
        return path

    def test_what_cannot_be_executed(self):
        self.assertIn("not found", self.examined("no-such-program", status=1)["program"]["verdict"])
        missing = self.examined(self.script("#!/usr/bin/env no-such-interpreter"), status=1)
        self.assertIn("no-such-interpreter", missing["program"]["verdict"])

    def test_a_static_program(self):
        found = self.examined(self.compiled("gcc", "static", "-static"))["shim"]
        self.assertFalse(found["good"])
        self.assertIn("statically linked", found["verdict"])
        self.assertIn("from outside", found["advice"])

    def test_a_program_with_other_rights(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program with other rights")
        program = self.compiled("gcc", "setuid")
        program.chmod(0o4755)
        os.chmod(self.path, 0o755)
        self.assertTrue(self.examined(program)["shim"]["good"])  # root's own rights
        found = self.examined(program, prefix=sampan.ORDINARY_USER)["shim"]
        self.assertFalse(found["good"])
        self.assertIn("other rights", found["verdict"])

    def test_a_sanitizer_runtime(self):
        program = self.compiled("gcc", "sanitized", "-fsanitize=address")
        self.assertIn("libasan.so", self.examined(program)["sanitizer"]["verdict"])
        self.assertGreater(self.samples(program), 0)

    def test_a_seccomp_filter_that_is_handed_down(self):
        program = self.compiled("gcc", "spin")
        found = self.examined(program, status=1, before=forbid_the_return_from_signals)
        self.assertFalse(found["seccomp filter"]["good"], found)
        run = sampan.run([program], ["--rate", "1000"], preexec_fn=forbid_the_return_from_signals)
        self.assertEqual((run.returncode, run.report["samples"]), (0, 0), run.stderr)
        self.assertEqual(run.report["lost"], {"thread_seccomp": 1})

    def test_limits(self):
        def limited(which, size):
            return lambda: resource.setrlimit(which, (size, size))
        found = self.examined("true", before=limited(resource.RLIMIT_FSIZE, 64 << 20))["RLIMIT_FSIZE"]
        self.assertTrue(found["good"])
        self.assertRegex(found["verdict"], r"64 MB: \d+ threads can be sampled at a time")
        for which, name in ((resource.RLIMIT_FSIZE, "RLIMIT_FSIZE"), (resource.RLIMIT_AS, "RLIMIT_AS")):
            size = 1 << 12 if which == resource.RLIMIT_FSIZE else 400 << 20
            self.assertFalse(self.examined("true", status=1, before=limited(which, size))[name]["good"])

    def test_the_page(self):
        done = subprocess.run([sampan.PROGRAM, "doctor", "--", "xz", "-9"], check=True, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^xz\n  ok shim +can be preloaded into \S+/xz\n")
        self.assertIn("\nThis machine\n", done.stdout)
        both = subprocess.run([sampan.PROGRAM, "doctor", str(os.getpid()), "--", "xz"], check=False, capture_output=True,
                              text=True)
        self.assertEqual(both.returncode, 2, both.stderr)
        self.assertFalse(pathlib.Path("sampan-profiles").exists())


if __name__ == "__main__":
    sampan.unittest.main()
