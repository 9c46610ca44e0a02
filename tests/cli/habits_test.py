"""What hands of perf, py-spy and samply type works, or says what to type here.

usage: habits_test.py SAMPAN SHIM_FOLDER
"""
import subprocess
import unittest

import cli_test


class Habits(cli_test.Case):
    def sleeper(self):
        process = subprocess.Popen(["sleep", "60"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def test_the_letters_of_perf(self):
        result = self.sampan("run", "--quiet", "-gF", "99", "-fnone", "-o", self.output, "true")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.report_of(self.only_run())["rate_hz"], 99)

    def test_a_pid_with_its_letter_or_alone(self):
        sleeper = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        for number, words in enumerate((["record", "-F", "99", "-g", "-p", sleeper.pid], ["attach", "-F99", sleeper.pid],
                                        ["attach", "-F", "99", "--pid", sleeper.pid])):
            with self.subTest(words=words):
                output = self.path / str(number)
                result = self.sampan(*words, "-d", "0.1", "-f", "none", "-o", output, "--quiet")
                if "permi" in result.stderr:
                    self.skipTest(result.stderr)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                report = self.report_of(self.only_run(output))
                self.assertEqual((report["rate_hz"], report["processes"][0]["pid"]), (99, sleeper.pid))
        alone, lettered = (self.sampan("dump", *words) for words in ([sleeper.pid], ["-p", sleeper.pid]))
        self.assertEqual((alone.returncode, lettered.returncode), (0, 0), lettered.stderr)
        self.assertIn(str(sleeper.pid), lettered.stdout)
        for words in (["attach"], ["dump"], ["attach", sleeper.pid, "-p", sleeper.pid]):
            self.assertEqual(self.sampan(*words).returncode, 2)
        self.assertIn("attach: which process? sampan attach PID", self.sampan("attach").stderr)

    def test_perf_ends_a_recording_by_sleep(self):
        pid = self.sleeper()
        result = self.sampan("record", "-F", "99", "-p", pid, "-g", "-f", "none", "-o", self.output, "--quiet", "--", "sleep", "0.4")
        if "permi" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        report = self.report_of(self.only_run())
        self.assertEqual(report["processes"][0]["pid"], pid)
        self.assertGreater(report["duration_s"], 0.4)
        self.assertLess(report["duration_s"], 50, "the process goes on, the recording does not")
        for command, sentence in ((["make"], "record: either -p PID or a command; -d 10s"),
                                  (["sleep", "soon"], "sleep takes a time such as 10, 500ms or 2m, not 'soon'")):
            result = self.sampan("record", "-p", pid, "--", *command)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(sentence, result.stderr)

    def test_a_file_is_no_directory_for_recordings(self):
        marker = self.path / "ran"
        for words in (["run", "-o", "out.svg", "--", "touch", marker], ["record", "-fspeedscope", "-o", "x/profile.json", "touch", marker],
                      ["attach", "-o", "out.svg", self.sleeper()]):
            with self.subTest(words=words):
                result = self.sampan(*words)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertRegex(result.stderr, r"^sampan: -o takes a directory for recordings, not a file such as (out.svg|x/profile.json)\n"
                                 r"\(after the run, sampan export -f FORMAT -o \1 writes it\)\n$")
        self.assertEqual(list(self.path.iterdir()), [])
        (self.path / "there.svg").mkdir()
        self.assertEqual(self.sampan("run", "--quiet", "-o", "there.svg", "-f", "none", "true").returncode, 0)

    def test_commands_of_others_are_known(self):
        for word, here in (("script", "sampan export -f perf-script -o -"), ("load", "sampan view")):
            result = self.sampan(word, "-i", "x")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(result.stderr, f"sampan: unknown command {word}: here it is {here}\n")


if __name__ == "__main__":
    unittest.main()
