"""--black-box: after a death by a signal there are the last seconds of every thread, and nothing older; otherwise
there is nothing. It is known what a thread does at each time: clockwork computes in step<0>, step<1>, … for half a
second each."""
import os
import pathlib
import resource
import signal
import subprocess
import time
import unittest

import sampan
import stalls
from continuous_test import Clockwork, STEP_S, samples_of_steps
from tolerances import unseen

BOX_S = 3
DEATH_S = 4.2
OPTIONS = ["--black-box", f"{BOX_S}s", "--format", "none"]


class BlackBox(sampan.Case):
    def samples_of_box(self, box, tid, first):
        """{step: samples}, where the box begins in the step `first`. A thread that others pushed off its CPU is
        met once more in the step that is over, when it comes back: that sample is left out."""
        samples = samples_of_steps(box, tid)
        self.assertLessEqual(samples.pop(first - 1, 0), 1, (samples, tid, first))
        return samples

    def check(self, box, program, death, dead):
        """The box has the steps of each thread in the last BOX_S seconds before its end, which was not before `death`
        nor after `dead`, and no others. The first step may be cut by the beginning of the box, and the last may have
        begun too late for a sample: both may be there or not."""
        def step(time_s):
            return int((time_s - program.begin) / STEP_S)

        first = step(death - BOX_S)
        must = set(range(step(dead - BOX_S) + 1, step(death)))
        may = set(range(first, step(dead) + 1))
        self.assertGreaterEqual(len(must), BOX_S / STEP_S - 2 - (dead - death) / STEP_S)
        report = sampan.report(box)
        for pid, tid, _ in program.threads:
            samples = self.samples_of_box(box, tid, first)
            # 30 samples a step; few on a busy machine.
            allowed = unseen(len(must), sum(samples.values()) * STEP_S / BOX_S)
            self.assertLessEqual(len(must - set(samples)), allowed, (samples, pid, tid, must))
            self.assertLessEqual(set(samples), may, (pid, tid))
        # Up to the death, and until sampan notices it.
        self.assertGreater(report["duration_s"], BOX_S - STEP_S)
        self.assertLess(report["duration_s"], BOX_S + 2)
        self.assertEqual(report["damage"], [])
        return report

    def only(self, program, *names):
        self.assertEqual(sorted(path.name for path in program.directory.iterdir()), sorted(names))

    @stalls.measures_time("knows by the clock which step the program is in")
    def test_kill(self):
        program = Clockwork(OPTIONS, [2, 3, STEP_S, "wait"])
        time.sleep(max(0, program.begin + DEATH_S - time.monotonic()))
        death = time.monotonic()
        for pid in program.pids:
            os.kill(pid, signal.SIGKILL)
        dead = time.monotonic()
        self.assertEqual(program.finish(), -signal.SIGKILL)
        self.only(program, "recording.sampan")
        report = self.check(program.directory, program, death, dead)
        self.assertEqual({process.get("exit_signal") for process in report["processes"]} - {None}, {9})
        self.assertIn("recording.sampan", program.stderr)

    @stalls.measures_time("knows by the clock which step the program is in")
    def test_abort_of_one_process_while_another_goes_on(self):
        program = Clockwork([*OPTIONS, "--quiet"], [2, 2, STEP_S, "abort", DEATH_S])
        self.assertEqual(program.finish(), -signal.SIGABRT)
        # It waits for a CPU before it aborts.
        self.check(program.directory / "recording.sampan", program, program.begin + DEATH_S, time.monotonic())

    def limited(self):
        """A cgroup of 200 MB, of either version; None if none can be made."""
        for parent, limit in ("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"):
            if not (pathlib.Path(parent) / "cgroup.procs").exists():
                continue
            group = pathlib.Path(parent) / f"sampan-test-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            self.addCleanup(group.rmdir)
            try:
                (group / limit).write_text(str(200 << 20))
                return group
            except OSError:
                continue
        return None

    @stalls.measures_time("knows by the clock which step the program is in")
    def test_out_of_memory(self):
        group = self.limited()
        arguments = [1, 3, STEP_S, "memory", DEATH_S]
        if group:
            program = Clockwork(OPTIONS, arguments)
            (group / "cgroup.procs").write_text(str(program.pids[0]))
            expected = -signal.SIGKILL
        else:
            program = Clockwork(OPTIONS, arguments)
            # A limit a little above what it has mapped: malloc fails, and the program aborts.
            mapped = int(pathlib.Path(f"/proc/{program.pids[0]}/statm").read_text().split()[0]) * 4096
            most = mapped + (200 << 20)
            resource.prlimit(program.pids[0], resource.RLIMIT_AS, (most, most))
            expected = -signal.SIGABRT
        print(f"memory ends by {'a cgroup' if group else 'RLIMIT_AS: no cgroup of memory is writable here'}")
        self.assertEqual(program.finish(), expected)
        report = sampan.report(program.directory)
        death = program.begin + DEATH_S
        # It takes memory for some time before it dies.
        for pid, tid, _ in program.threads:
            first = int((death - BOX_S - program.begin) / STEP_S)
            samples = self.samples_of_box(program.directory, tid, first)
            self.assertGreaterEqual(min(samples), first, samples)
            self.assertGreaterEqual(max(samples), int(DEATH_S / STEP_S) - 1, samples)
        self.assertTrue(any("take_memory" in function["name"] for function in report["functions"]),
                        [function["name"] for function in report["functions"]])

    def test_nothing_is_kept_of_a_program_that_ends_by_itself(self):
        program = Clockwork(OPTIONS, [1, 2, STEP_S, "exit", 2.5])
        self.assertEqual(program.finish(), 0)
        self.assertEqual(list(pathlib.Path(program.folder.name).rglob("*.sampan")), [])
        self.assertIn("no process died by a signal, nothing was written", program.stderr)

    @stalls.measures_time("knows by the clock which step the program is in")
    def test_on_request(self):
        program = Clockwork([*OPTIONS, "--quiet"], [1, 2, STEP_S, "exit", 4.5])
        program.sleep_until_step(7.5)
        asked = time.monotonic()
        done = subprocess.run([sampan.PROGRAM, "ctl", str(program.pids[0]), "flush"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        flushed = time.monotonic()
        box = next(program.directory.glob("recording-*.sampan"))
        self.assertIn(str(box), done)
        self.check(box, program, asked, flushed)
        self.assertEqual(program.finish(), 0)
        self.only(program, box.name)


if __name__ == "__main__":
    unittest.main()
