"""Sampling that is switched off and on: by the program, by its sections, and from outside by `sampan ctl`. The
program computes for 0.3 s in functions that the test names."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import sampan
import stalls
from tolerances import LOADER_S, unsampled_s

PROGRAM = sampan.TARGETS / "target_switched"
STEP_S = 0.3
NEAR_S = unsampled_s(2)  # what is missing at both ends of a step, or belongs to it from before


class Switched:
    """The program, under `sampan run` or attached to; it does what say() tells it."""

    def __init__(self, options=(), env=None, attach=None):
        self.directory = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
        self.env = {**os.environ, **(env or {})}
        prefix = [] if attach else [
            sampan.PROGRAM, "run", "--quiet", "--format", "none", "--output", self.directory.name,
            *options, "--"]
        self.process = subprocess.Popen([*prefix, PROGRAM], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=self.env)
        self.say("ready")
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.pid = self.process.pid if attach else int(children.read_text().split()[0])
        self.attached = sampan.Attached(self.pid, attach, options) if attach else None

    def say(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            self.answer = self.process.stdout.readline()
            assert self.answer.endswith("ok\n"), self.process.stderr.read()

    def ctl(self, command, pid=None, env=None, prefix=()):
        return subprocess.run([*prefix, sampan.PROGRAM, "ctl", str(pid or self.pid), *command.split()],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**self.env, **(env or {})})

    @property
    def recording(self):
        folder = self.attached.directory if self.attached else self.directory
        return next(pathlib.Path(folder.name).glob("*/recording.sampan"))

    def finish(self):
        stdout, stderr = self.process.communicate()
        if self.attached:
            return self.attached.finish()
        return sampan.Run(subprocess.CompletedProcess([], self.process.returncode, stdout, stderr),
                          self.directory)


def seconds_in(report):
    """CPU of the functions that compute."""
    return {function["name"]: function["total_s"] for function in report["functions"]
            if function["name"] in ("first", "second", "third")}


@stalls.measures_time("compares sampled CPU with what the program uses by its clock")
class Ctl(sampan.Case):
    def check(self, run, *names, near_s=NEAR_S):
        """Samples and totals belong to the steps `names` and to nothing else."""
        sampled = seconds_in(run.report)
        self.assertEqual(set(sampled), set(names))
        for name in names:
            self.assertLess(abs(sampled[name] - STEP_S), near_s + run.delayed_s, sampled)
        cpu_s = sum(process["cpu_s"] for process in run.report["processes"])
        self.assertLess(abs(cpu_s - STEP_S * len(names)), (near_s + run.delayed_s) * len(names) + LOADER_S)
        self.assertEqual(run.report["lost"], {})
        page = subprocess.run([sampan.PROGRAM, "report", run.recording], stdout=subprocess.PIPE,
                              check=True, text=True).stdout
        self.assertRegex(page, r"\n  paused    [0-9.]+ s of [0-9.]+ s")

    def done(self, result, text):
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(text, result.stdout)

    def test_by_the_program(self):
        program = Switched()
        program.say("first", "pause", "second", "resume", "third")
        self.check(program.finish(), "first", "third")

    def test_from_the_beginning_on(self):
        program = Switched(env={"SAMPAN_START": "paused"})
        program.say("first", "resume", "second")
        self.check(program.finish(), "second")

    def test_from_outside(self):
        program = Switched(["--start-paused"])
        program.say("first")
        self.done(program.ctl("resume"), "sampling goes on")
        program.say("second")
        self.done(program.ctl("pause", pid=program.process.pid), "sampling is paused")
        program.say("third")
        self.check(program.finish(), "second")

    def test_only_in_sections(self):
        program = Switched(["--sections-only"])
        program.say("first", "start a", "second", "stop a", "third")
        self.check(program.finish(), "second")

    def test_only_in_sections_of_the_thread(self):
        program = Switched(["--sections-only"])
        program.say("first", "begin a", "begin b", "end a", "second", "end b", "end b", "third")
        run = program.finish()
        self.assertEqual(run.report["lost"].pop("marker_unmatched"), 1)
        self.check(run, "second")

    def test_what_was_recorded_is_there_after_a_flush(self):
        program = Switched()
        program.say("start a", "first", "stop a")
        self.done(program.ctl("flush"), str(program.recording))
        report = sampan.report(program.recording)
        self.assertLess(abs(seconds_in(report)["first"] - STEP_S), NEAR_S)
        report = sampan.report(program.recording, "--section", "a")
        self.assertLess(abs(seconds_in(report)["first"] - STEP_S), NEAR_S)
        program.say("second")
        self.assertEqual(set(seconds_in(program.finish().report)), {"first", "second"})

    def attached(self, engine):
        program = Switched(attach=engine)
        program.say("first")
        self.done(program.ctl("pause"), "sampling is paused")
        program.say("second")
        self.done(program.ctl("resume", pid=program.attached.sampan.pid), "sampling goes on")
        program.say("third")
        self.done(program.ctl("flush"), str(program.recording))
        self.check(program.finish(), "first", "third")

    def test_attached_by_perf(self):
        self.attached("perf")

    def test_attached_by_ptrace(self):
        self.attached("ptrace")


class Asking(sampan.Case):
    """Who may ask, and what is refused."""

    def done(self, result, text):
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(text, result.stdout)

    def refused(self, result, text):
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(text, result.stderr)

    def test_a_token_is_asked_for(self):
        token = self.path / "token"
        token.touch(mode=0o600)
        token.write_text("right\n")
        program = Switched(env={"SAMPAN_TOKEN_FILE": str(token)})
        self.done(program.ctl("pause"), "sampling is paused")
        self.refused(program.ctl("resume", env={"SAMPAN_TOKEN_FILE": ""}), "asks for a token")
        for wrong in "righ", "right2", "wrong":
            token.write_text(wrong)
            self.refused(program.ctl("resume"), "the token is not that of the recording")
        os.chmod(token, 0o640)
        self.refused(program.ctl("resume"), "others may use")
        program.finish()
        result = subprocess.run([sampan.PROGRAM, "run", "--strict", "--", "true"], cwd=self.path,
                                env={**os.environ, "SAMPAN_TOKEN_FILE": str(token)},
                                stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 125)
        self.assertIn("chmod 600", result.stderr)

    def test_a_process_that_is_not_recorded_and_a_user_who_may_not_ask(self):
        program = Switched()
        self.refused(program.ctl("pause", pid=os.getpid()), "is not being recorded")
        self.refused(program.ctl("pause", pid=2 ** 22 + 1), f"there is no process {2 ** 22 + 1}")
        if os.geteuid() == 0:
            self.refused(program.ctl("pause", prefix=sampan.ORDINARY_USER), "is not being recorded")
        self.assertEqual(program.ctl("stop").returncode, 2)
        program.finish()


if __name__ == "__main__":
    unittest.main()
