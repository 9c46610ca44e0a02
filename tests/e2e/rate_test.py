"""Rates that change while a recording runs: by `sampan ctl`, and by the governor of --max-overhead. The programs
compute for a known time in functions that the test names."""
import json
import re
import subprocess
import time
import unittest
import urllib.request

import ctl_test
import sampan
import stalls
from tolerances import DEVIATIONS, LOADER_S, unsampled_s

BEFORE_HZ, AFTER_HZ = 50, 200
STEPS = 2  # of ctl_test.STEP_S, in each function
WATCHED = sampan.TARGETS / "target_watched"
SHARES = {"ten_percent": 0.1, "twenty_percent": 0.2, "thirty_percent": 0.3, "forty_percent": 0.4}


def samples_in(report, name):
    return sum(function["total_samples"] for function in report["functions"] if function["name"] == name)


def assert_sampled(case, report, delayed_s=0):
    """All CPU is sampled except 1 %, the loader's, and the last period of each of the two threads that compute."""
    lowest = min(rate["rate_hz"] for rate in report["rates"])
    missing = report["cpu_s"] - report["sampled_cpu_s"] - 2 / lowest - unsampled_s(2) - LOADER_S - delayed_s
    case.assertLessEqual(missing, 0.01 * report["cpu_s"], report)


@stalls.measures_time("counts samples of a known time")
class Rate(sampan.Case):
    def changed(self, program):
        """The program computes at one rate in `first`, at another in `second`."""
        program.say(*["first"] * STEPS)
        done = program.ctl(f"rate {AFTER_HZ}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"^sampling at {AFTER_HZ} Hz")
        program.say(*["second"] * STEPS)
        status = program.ctl("status").stdout
        self.assertRegex(status, rf"sampling at {AFTER_HZ} Hz; it costs [\d.]+ % of the program's CPU so far")
        return program.finish()

    def check(self, run):
        report = run.report
        cpu_s = ctl_test.STEP_S * STEPS
        for name, rate_hz in (("first", BEFORE_HZ), ("second", AFTER_HZ)):
            # One sample for each period of the clock, and one when it is set. It is never early; when it is late,
            # or the sampler waits for a CPU, one sample stands for several periods.
            samples, due = samples_in(report, name), cpu_s * rate_hz
            self.assertLessEqual(samples, 1.05 * due + 2, (name, report["functions"]))
            self.assertGreaterEqual(samples, 0.7 * due - 2 - rate_hz * (unsampled_s() + run.delayed_s),
                                    (name, report["functions"]))
            # The weight of the samples is right at both rates: off by a period at each end of the step.
            seconds = ctl_test.seconds_in(report)[name]
            self.assertLess(abs(seconds - cpu_s), 1 / BEFORE_HZ + 1 / AFTER_HZ + unsampled_s(2) + run.delayed_s)
        # Only the loader's part and the end have no samples.
        missing = report["cpu_s"] - report["sampled_cpu_s"] - LOADER_S - unsampled_s() - run.delayed_s
        self.assertLessEqual(missing, 0.01 * report["cpu_s"], report)
        self.assertEqual(report["lost"], {})
        self.assertEqual([rate["rate_hz"] for rate in report["rates"]], [AFTER_HZ])
        self.assertEqual(report["rate_hz"], BEFORE_HZ)
        self.assertGreater(report["cost"]["in_target_s"], 0)
        self.assertLess(report["cost"]["share"], 0.5)
        page = subprocess.run([sampan.PROGRAM, "report", run.recording], stdout=subprocess.PIPE, check=True,
                              text=True).stdout
        self.assertIn(f"{BEFORE_HZ} Hz asked, {BEFORE_HZ} to {AFTER_HZ} Hz held, {AFTER_HZ} Hz last", page)
        self.assertRegex(page, r"\n  cost      0\.\d+ s of CPU")

    def test_cpu_in_the_kernel_alone(self):
        """No period of a fast clock ends in user space; the timer beside it sees that, and takes its place. A call of 64 MB takes
        some ms, and has one sample."""
        for clock in ("perf", "drum"):
            with self.subTest(clock):
                run = sampan.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=80"],
                                 ["--rate", "1000", "--sampling-clock", clock], delays=True)
                self.assertEqual((run.returncode, run.report["lost"]), (0, {}))
                self.assertGreater(run.report["samples"], 5)
                missing = run.report["cpu_s"] - run.report["sampled_cpu_s"] - 2 * unsampled_s() - LOADER_S - run.delayed_s
                self.assertLessEqual(missing, 0.05 * run.report["cpu_s"], run.report)

    def test_preloaded(self):
        self.check(self.changed(ctl_test.Switched(["--rate", str(BEFORE_HZ)])))

    def test_attached_by_perf(self):
        self.check(self.changed(ctl_test.Switched(["--rate", BEFORE_HZ], attach="perf")))

    def test_attached_by_ptrace(self):
        self.check(self.changed(ctl_test.Switched(["--rate", BEFORE_HZ], attach="ptrace")))

    def test_attached_by_poll(self):
        self.check(self.changed(ctl_test.Switched(["--rate", BEFORE_HZ], attach="poll")))


class Refused(sampan.Case):
    def test_an_invalid_rate(self):
        program = ctl_test.Switched()
        for command in ("rate", "rate 0", "rate 10001", "rate fast", "pause 100"):
            self.assertEqual(program.ctl(command).returncode, 2, command)
        self.assertIn("sampling at 250 Hz", program.ctl("status").stdout)
        program.finish()


@stalls.measures_time("measures what sampling costs")
class Governor(sampan.Case):
    """Two threads compute all the time; 4,000 Hz are asked for."""

    def governed(self, command, *options):
        run = sampan.run(command, ["--rate", "4000", *options], text=True)
        return run, run.report

    def check_totals(self, report, delayed_s=0):
        assert_sampled(self, report, delayed_s)
        lowest = min(rate["rate_hz"] for rate in report["rates"])
        functions = {function["name"]: function for function in report["functions"]}
        samples = functions["compute"]["total_samples"]
        for name, share in SHARES.items():
            # Samples of several rates have different weights. Their variance is at most that of the samples that
            # the lowest rate would have taken in the same time.
            few = min(samples, lowest * report["sampled_cpu_s"])
            margin = DEVIATIONS * (share * (1 - share) / few) ** 0.5
            self.assertLess(abs(functions[name]["self_s"] / report["sampled_cpu_s"] - share), margin, report)

    def test_it_lowers_the_rate_and_totals_stay_right(self):
        run, report = self.governed([WATCHED, "4", "0"], "--max-overhead", "0.5%")
        self.check_totals(report)
        self.assertEqual(report["rate_hz"], 4000)
        self.assertEqual(report["rates"][0], {"from_s": 0, "rate_hz": 100, "governed": True})
        self.assertGreater(len(report["rates"]), 1)
        # Half a percent of a thousandth of a second is 5 us: no sample is so cheap that 4,000 Hz have room.
        self.assertLess(report["rates"][-1]["rate_hz"], 4000)
        self.assertTrue(report["rates"][-1]["governed"])
        self.assertGreaterEqual(min(rate["rate_hz"] for rate in report["rates"]), 10)
        # One or two of a few seconds went by with a rate that was too much; 4,000 Hz cost ten times that.
        self.assertLess(report["cost"]["share"], 4 * 0.005)
        page = subprocess.run([sampan.PROGRAM, "report", run.recording], stdout=subprocess.PIPE, check=True,
                              text=True).stdout
        self.assertIn("(--max-overhead)", page)
        doctor = subprocess.run([sampan.PROGRAM, "doctor", "--json", run.recording], stdout=subprocess.PIPE,
                                check=True).stdout
        self.assertIn("--max-overhead", json.loads(doctor)["rate"])
        self.assertIn("% of the program's", json.loads(doctor)["cost"])

    def test_it_keeps_the_asked_rate_if_that_is_cheap_enough(self):
        run = sampan.run([WATCHED, "2", "0"], ["--rate", "200", "--max-overhead", "50%"], text=True)
        self.assertEqual(run.report["rates"][-1], {"from_s": run.report["rates"][-1]["from_s"], "rate_hz": 200,
                                                   "governed": False})
        self.assertEqual(run.stderr, "")
        self.check_totals(run.report)

    def test_without_the_option_samples_take_a_tenth_at_most(self):
        def in_target(run):
            cost = run.report["cost"]
            return cost["in_target_s"] / (cost["target_cpu_s"] - cost["in_target_s"])

        command, rate = [sampan.TARGETS / "target_depths", "3"], ["--rate", "10000"]
        free = sampan.run(command, [*rate, "--max-overhead", "none"])
        self.assertEqual(free.report["rates"], [])
        if in_target(free) < 0.15:
            raise unittest.SkipTest(f"10,000 Hz take only {in_target(free):.1%} of a program here")
        run = sampan.run(command, rate)
        self.assertTrue(run.report["rates"][-1]["governed"])
        self.assertLess(run.report["rates"][-1]["rate_hz"], 10000)
        # The first quarter of a second, and another if it has to be lowered twice, are as expensive as they are.
        self.assertLess(in_target(run), 0.1 + in_target(free) * 0.6 / 3)

    def test_the_cpu_of_short_children_counts_for_the_cost(self):
        """Nobody can read their clocks when they have ended, but they have said what they used. What the kernel uses to take
        them apart, they have not: how much that is, the machine says."""
        run = sampan.run(["sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"], ["--rate", "1000"])
        cost = run.report["cost"]
        said_s = [process["cpu_s"] for process in run.report["processes"]]
        self.assertGreater(len(said_s), 200)
        self.assertGreater(cost["target_cpu_s"], 0.99 * sum(said_s), cost)
        self.assertLess(cost["in_target_s"], cost["target_cpu_s"])

    def test_from_outside_and_by_the_environment(self):
        for engine in "perf", "ptrace":
            with self.subTest(engine):
                done, run = sampan.run_attached([WATCHED, "2", "0"], engine,
                                                ["--rate", "4000", "--max-overhead", "0.5%"])
                self.assertLess(run.report["rates"][-1]["rate_hz"], 4000)
                self.check_totals(run.report, run.delayed_s)
        run = sampan.run([WATCHED, "1", "0"], env={"SAMPAN_MAX_OVERHEAD": "1%"})
        self.assertEqual(run.report["rates"][0]["rate_hz"], 100)

    def test_an_invalid_share_is_refused(self):
        for text in ("1", "0%", "101%", "-1%", "much", "1 %"):
            for command in (["run"], ["serve"]):
                done = subprocess.run([sampan.PROGRAM, *command, "--max-overhead", text, "--", "true"],
                                      stderr=subprocess.PIPE, text=True, cwd=self.path)
                self.assertEqual(done.returncode, 2, (text, done.stderr))
                self.assertIn("--max-overhead", done.stderr)


@stalls.measures_time("asks for figures of a program that goes on")
class Served(sampan.Case):
    def test_metrics_have_the_rate_and_the_recording_stays(self):
        output = self.path / "served"
        server = subprocess.Popen([sampan.PROGRAM, "serve", "--rate", "4000", "--max-overhead", "0.5%", "--continuous",
                                   "--rotate", "1s", "--output", output, "--", WATCHED, "4", "0"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        url = server.stdout.readline().strip()

        def figures():
            with urllib.request.urlopen(url + "metrics") as answer:
                return dict(re.findall(r"^(\S+) ([\d.e+-]+)$", answer.read().decode(), re.MULTILINE))
        for _ in range(3):
            time.sleep(1)
            now = figures()
        self.assertEqual(float(now["sampan_asked_rate_hertz"]), 4000)
        self.assertLess(float(now["sampan_rate_hertz"]), 4000)
        self.assertGreater(float(now['sampan_overhead_cpu_seconds_total{process="target"}']), 0)
        # The two threads go on between the look at the samples and the look at the clocks.
        cpu_s = float(now["sampan_target_cpu_seconds_total"])
        self.assertAlmostEqual(float(now["sampan_sampled_cpu_seconds_total"]), cpu_s, delta=0.05 * cpu_s + 0.1)
        stderr = server.communicate(timeout=60)[1]
        directory = next(output.iterdir())
        self.assertIn(str(directory), stderr)
        self.assertGreaterEqual(len(list((directory / "segments").iterdir())), 3)
        report = sampan.report(directory)
        assert_sampled(self, report)
        self.assertEqual(report["damage"], [])

    def test_rotate_and_keep_need_continuous(self):
        done = subprocess.run([sampan.PROGRAM, "serve", "--rotate", "10m", "--", "true"], stderr=subprocess.PIPE,
                              text=True, cwd=self.path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--continuous", done.stderr)


if __name__ == "__main__":
    unittest.main()
