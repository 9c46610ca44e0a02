"""The command line program: its messages, exit statuses, and files.

usage: cli_test.py SAMPAN
"""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import termios
import time
import unittest

SAMPAN = os.path.abspath(sys.argv.pop(1))
SHIM_FOLDER = sys.argv.pop(1)  # from the program's, where it is installed
SHIM = os.path.join(os.path.dirname(SAMPAN), "libsampan_preload.so")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sampan-cli-")
        self.path = pathlib.Path(self.folder.name)
        self.output = self.path / "out"

    def tearDown(self):
        self.folder.cleanup()

    def sampan(self, *words, env=None, program=SAMPAN, **keywords):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SAMPAN")}
        environment.update(env or {})
        keywords.setdefault("cwd", self.path)
        return subprocess.run([program, *map(str, words)], env=environment, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keywords)

    def run_quietly(self, *words, options=(), **keywords):
        return self.sampan("run", "--quiet", "--format", "none", "--output", self.output, *options,
                           "--", *words, **keywords)

    def report_of(self, directory, *options):
        result = self.sampan("report", "--json", directory, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def only_run(self, output=None):
        runs = list((output or self.output).iterdir())
        self.assertEqual(len(runs), 1, runs)
        return runs[0]


class Installed(Case):
    """A program and its shim in folders of an installation, which may be anywhere."""

    def install(self, prefix):
        for file, folder in ((SAMPAN, "."), (SHIM, SHIM_FOLDER)):
            place = pathlib.Path(os.path.normpath(prefix / "bin" / folder))
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        return prefix / "bin" / "sampan"

    def check(self, prefix, **environment):
        program = self.install(self.path / prefix)
        result = self.sampan("run", "--format", "none", "--output", self.output, "--", "sh", "-c", "sh -c :",
                             program=program, env={"XDG_CACHE_HOME": str(self.path / "my cache"), **environment})
        self.assertEqual((result.returncode, "cannot be preloaded" in result.stderr), (0, False), result.stderr)
        return result

    def test_a_moved_installation(self):
        self.check("opt/sampan")
        self.assertEqual(len(self.report_of(self.only_run())["processes"]), 2)

    def test_blanks_in_its_path(self):
        # A cache without them has the link.
        with tempfile.TemporaryDirectory(prefix="sampan-cache-") as cache:
            self.check("my programs/sampan: a profiler", XDG_CACHE_HOME=cache)
        self.assertEqual(len(self.report_of(self.only_run())["processes"]), 2)

    def test_blanks_everywhere(self):
        self.assertIn("install sampan elsewhere", self.check("my programs").stderr)


class Usage(Case):
    def test_the_nearest_word_is_suggested(self):
        for words, suggestion in [(["rnu"], "run"), (["run", "--rat", "5", "true"], "--rate"),
                                  (["run", "--format", "pproff", "true"], "pprof"),
                                  (["run", "--colck=cpu", "true"], "--clock")]:
            with self.subTest(words=words):
                result = self.sampan(*words)
                self.assertEqual(result.returncode, 2)
                self.assertIn(f"did you mean '{suggestion}'?", result.stderr)
                self.assertEqual(result.stdout, "")
        self.assertEqual(list(self.path.iterdir()), [])

    def test_no_word_is_suggested_that_is_another(self):
        for words in ["run", "--pid", "5"], ["serve", "--pid", "5"], ["view", "--pid", "5"], ["report", "--pid", "5"], ["top", "--duration", "1"]:
            with self.subTest(words=words):
                result = self.sampan(*words)
                self.assertEqual(result.returncode, 2)
                self.assertIn(f"{words[0]}: unknown option {words[1]}\n", result.stderr)

    def test_values_are_checked(self):
        for words in [["--rate", "0"], ["--rate", "fast"], ["--clock", "moon"], ["--rate"]]:
            with self.subTest(words=words):
                self.assertEqual(self.sampan("run", *words, "--", "true").returncode, 2)
        self.assertEqual(self.sampan("run", "--", "true", env={"SAMPAN_RATE": "0"}).returncode, 2)
        self.assertEqual(self.sampan("run").returncode, 2)
        self.assertEqual(self.sampan().returncode, 2)

    def test_a_refusal_says_what_is_allowed(self):
        for words, sentence in (
                (["attach", "--duration", "abc", "1"], "--duration takes a time such as 10, 500ms or 2m, not 'abc'"),
                (["attach", "-d", "0", "1"], "--duration takes a time such as 10, 500ms or 2m, not '0'"),
                (["run", "-F", "fast", "true"], "--rate takes samples per second, such as 99 or 1k, up to 10k, not 'fast'"),
                (["run", "-F", "20k", "true"], "--rate takes samples per second, such as 99 or 1k, up to 10k, not '20k'"),
                (["ctl", "1", "rate", "1.5"], "rate takes samples per second, such as 99 or 1k, up to 10k, not '1.5'"),
                (["top", "-s", "2h", "1"], "--delay takes a time from 100ms to 1h, such as 2 or 500ms, not '2h'"),
                (["report", "--from", "soon", "x"], "--from takes a time such as 10, 500ms or 2m, not 'soon'"),
                (["report", "--blocking", "x", "x"], "--blocking takes milliseconds, or a time such as 500ms or 2s, not 'x'"),
                (["run", "--black-box", "2d", "true"], "--black-box takes a time from 1s to 1h, such as 30s or 5m, not '2d'"),
                (["run", "--continuous", "--keep", "9", "true"],
                 "--keep takes a time such as 30s, 10m, 24h or 7d, or a size such as 100M or 2G, not '9'"),
                (["push", "--to", "http://x/ingest", "--timeout", "x"],
                 "--timeout takes a time such as 10, 500ms or 2m, not 'x'"),
                (["push", "--to", "http://x/ingest", "--spool-size", "1m"],
                 "--spool-size takes a size such as 256M or 2G, not '1m'"),
                (["export", "-f", "csv", "--max-size", "big", "x"], "--max-size takes a size such as 50MB, or 0, not 'big'"),
                (["diff", "--confidence", "5", "x", "y"], "--confidence takes a percentage from 50 to 99.9999, not 5")):
            with self.subTest(words=words):
                result = self.sampan(*words)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("sampan: " + sentence + "\n", result.stderr)

    def test_values_have_units(self):
        for options, env, rate in ((["-F", "1k"], {}, 1000), (["--rate", "0.5k"], {}, 500), ([], {"SAMPAN_RATE": "2k"}, 2000)):
            with self.subTest(options=options, env=env):
                output = self.path / str(rate)
                result = self.sampan("run", "--quiet", "--format", "none", "--output", output, *options, "--", "true", env=env)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertEqual(self.report_of(self.only_run(output))["rate_hz"], rate)
        whole = self.only_run(self.path / "1000")
        for first, second in (("--from=1500ms", "--from=1.5"), ("--to=1m", "--to=60")):
            self.assertEqual(self.report_of(whole, first), self.report_of(whole, second))

    def test_help_and_version_go_to_stdout(self):
        for word in "version", "--version", "-V":
            result = self.sampan(word)
            self.assertEqual((result.returncode, result.stderr), (0, ""), word)
            self.assertRegex(result.stdout, r"^sampan \d+\.\d+\.\d+( \(commit [0-9a-f]{12}(-dirty)?\))?\nfeatures: [a-z0-9 ]+\n$")
        for words in [["--help"], ["help"], ["run", "--help"], ["help", "run"]]:
            result = self.sampan(*words)
            self.assertEqual(result.returncode, 0)
            self.assertNotIn("collect", result.stdout)
        self.assertIn("SAMPAN_FOLLOW", self.sampan("help", "run").stdout)
        self.assertNotIn("REQUIRED", self.sampan("help", "attach").stdout)  # PID, or -p PID

    def test_there_is_no_help_for_what_is_no_command(self):
        for words in (["help", "rnu"], ["rnu", "--help"]):
            with self.subTest(words=words):
                result = self.sampan(*words)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("unknown command rnu, did you mean 'run'?", result.stderr)

    def test_without_a_command_there_are_those_that_one_needs_first(self):
        result = self.sampan()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(re.findall(r"(?m)^  sampan (\w+) +\w.*$", result.stderr),
                         ["run", "attach", "top", "report", "view"])
        self.assertIn("sampan help", result.stderr)


class Command(Case):
    def test_the_program_keeps_its_streams_and_arguments(self):
        result = self.run_quietly("sh", "-c", 'cat; echo "$1" >&2; exit 3', "--", "--rate",
                                  input="in")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (3, "in", "--rate\n"))

    def test_the_double_dash_may_be_left_out(self):
        result = self.sampan("run", "--quiet", "--format=none", "--output", self.output, "echo",
                             "--rate", "--", "x")
        self.assertEqual((result.returncode, result.stdout), (0, "--rate -- x\n"), result.stderr)

    def test_record_is_run(self):
        result = self.sampan("record", "--quiet", "--output", self.output, "--", "sh", "-c",
                             "exit 4")
        self.assertEqual(result.returncode, 4)
        self.assertTrue((self.only_run() / "recording.sampan").exists())

    def test_a_process_is_called_what_it_was_started_as(self):
        shutil.copy(shutil.which("sleep"), self.path / "program")
        (self.path / "server").symlink_to("program")
        process = subprocess.Popen([self.path / "server", "60"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn(f"Process {process.pid} ({self.path}/server)\n", self.sampan("doctor", process.pid).stdout)
        dump = self.sampan("dump", "--json", process.pid)
        if "permi" not in dump.stderr:
            self.assertEqual(json.loads(dump.stdout)["executable"], f"{self.path}/server")

    def test_what_cannot_be_executed(self):
        plain = self.path / "plain"
        plain.write_text("text")
        script = self.path / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        for command, status, text in [("no-such-command", 127, "not found"),
                                      (self.path / "absent", 127, "not found"),
                                      (plain, 126, "Permission denied"),
                                      (self.path, 126, "Permission denied"),
                                      (script, 127, "/no/such/interpreter")]:
            with self.subTest(command=command):
                result = self.run_quietly(command)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)
                self.assertFalse(self.output.exists(), "nothing ran, so nothing is left")

    def test_the_programs_signal_is_ours(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            with self.subTest(signal=number):
                result = self.run_quietly("sh", "-c", f"kill -{int(number)} $$")
                self.assertEqual(result.returncode, -number)
        self.assertEqual(list(self.path.glob("core*")), [])

    def test_signals_sent_to_sampan_reach_the_program(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT):
            with self.subTest(signal=number):
                process = subprocess.Popen(
                    [SAMPAN, "run", "--quiet", "--format", "none", "--output", self.output, "--",
                     sys.executable, "-c",
                     # Not pause(): the interpreter may have looked for signals just before one comes.
                     "import signal, sys, time\n"
                     f"signal.signal({int(number)}, lambda *_: sys.exit(42))\n"
                     "print('ready', flush=True)\n"
                     "while True: time.sleep(0.1)"], stdout=subprocess.PIPE, text=True)
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(number)
                self.assertEqual(process.wait(60), 42)
                process.stdout.close()

    def test_sampan_waits_for_no_descendants(self):
        began = time.monotonic()
        result = self.run_quietly("sh", "-c", "sleep 50 > /dev/null 2>&1 & echo $!")
        os.kill(int(result.stdout), signal.SIGKILL)
        self.assertEqual(result.returncode, 0)
        self.assertLess(time.monotonic() - began, 45)


class Output(Case):
    def test_the_directory_is_named_after_time_and_program(self):
        self.run_quietly("/bin/true")
        self.run_quietly("/bin/true", options=["--name", "my run/x"])
        self.run_quietly("/bin/true", options=["--name", "nginx: worker *\t$1 (ä)"])
        names = sorted(entry.name for entry in self.output.iterdir())
        self.assertTrue(any(re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_true", n)
                            for n in names), names)
        self.assertTrue(any(n.endswith("_my_run_x") for n in names), names)
        self.assertTrue(any(n.endswith("_nginx__worker____1__ä_") for n in names), names)

    def test_runs_of_the_same_second_do_not_share_one(self):
        processes = [subprocess.Popen([SAMPAN, "run", "--quiet", "--format", "none", "--output",
                                       self.output, "--", "true"]) for _ in range(4)]
        self.assertEqual([process.wait(60) for process in processes], [0] * 4)
        self.assertEqual(len(list(self.output.glob("*/recording.sampan"))), 4)

    def test_by_default_it_is_in_the_working_directory(self):
        self.assertEqual(self.sampan("run", "--quiet", "--", "true").returncode, 0)
        names = {entry.name for entry in self.only_run(self.path / "sampan-profiles").iterdir()}
        self.assertLessEqual({"recording.sampan", "profile.html", "profile_trace.json", "profile_overall.pb.gz"},
                             names)

    def test_options_come_from_the_environment_too(self):
        result = self.sampan("run", "--", "true", env={
            "SAMPAN_OUTPUT": str(self.output), "SAMPAN_FORMAT": "folded,pstats",
            "SAMPAN_QUIET": "1", "SAMPAN_NAME": "named"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        run = self.only_run()
        self.assertTrue(run.name.endswith("_named"))
        # A thread that the first tick has met has files of both formats, too.
        names = {re.sub(r"^profile_thread_\d+_true", "profile_overall", entry.name) for entry in run.iterdir()}
        self.assertEqual(names, {"recording.sampan", "profile_overall.folded", "profile_overall.prof"})

    def test_a_directory_that_cannot_be_written_ends_it_before_the_program_if_strict(self):
        blocker = self.path / "file"
        blocker.write_text("")
        marker = self.path / "ran"
        for output in (blocker, blocker / "below", "/proc/nowhere"):
            with self.subTest(output=output):
                result = self.sampan("run", "--strict", "--output", output, "--", "touch", marker)
                self.assertEqual(result.returncode, 125)
                self.assertIn(str(output), result.stderr)
                self.assertFalse(marker.exists())
        if os.geteuid() != 0:
            readonly = self.path / "readonly"
            readonly.mkdir(stat.S_IRUSR | stat.S_IXUSR)
            result = self.sampan("run", "--strict", "--output", readonly, "--", "touch", marker)
            self.assertEqual(result.returncode, 125)

    def test_the_recording_survives_sigkill_of_sampan(self):
        process = subprocess.Popen(
            [SAMPAN, "run", "--quiet", "--output", self.output, "--", sys.executable, "-c",
             "import os, time\nprint(os.getpid(), flush=True)\n"
             "end = time.process_time() + 2.5\n"
             "while time.process_time() < end: pass\nprint('done', flush=True)"],
            stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        deadline = time.monotonic() + 50
        while not self.output.exists() or self.recorded() < 1000:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.kill()
        process.wait(60)
        self.assertGreaterEqual(self.recorded(), 1000)
        self.assertEqual(process.stdout.readline(), "done\n", "the program goes on")
        process.stdout.close()

    def recorded(self):
        return sum(file.stat().st_size for file in self.output.glob("*/recording.sampan"))


class Latest(Case):
    """Recordings that are not named: of one program, at two times, among what is none."""
    ONE, TWO = "2026-01-01_10-00-00_b", "2026-01-01_10-00-01_a"

    def setUp(self):
        super().setUp()
        self.run_quietly(sys.executable, "-c", "sum(range(5_000_000))")
        for name in self.ONE, self.TWO, "renamed":
            shutil.copytree(self.only_run(), self.path / "sampan-profiles" / name)
        (self.path / "sampan-profiles" / "2027-01-01_00-00-00_empty").mkdir()

    def test_is_taken_without_a_path(self):
        for words in (["report"], ["view", "--no-open"], ["export", "-f", "folded"], ["spans"], ["metrics"], ["symbolize"],
                      ["annotate", "main"]):
            with self.subTest(words=words):
                result = self.sampan(*words)
                self.assertIn(f"sampan: the latest recording is sampan-profiles/{self.TWO}\n", result.stderr)
                if words[0] != "annotate":  # the interpreter may have no lines
                    self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.path / "sampan-profiles" / self.TWO / "profile_overall.folded").exists())

    def test_has_a_number(self):
        for words, places in ((["report", "-2"], [2]), (["doctor", "-1"], [1]), (["diff", "-1", "-2"], [1, 2]),
                              (["diff"], [2, 1]), (["diff", "-1"], [1, 1]), (["diff", f"sampan-profiles/{self.ONE}"], [1]),
                              (["merge", "-1", "old=-2", "-o", "merged"], [1, 2])):
            with self.subTest(words=words):
                result = self.sampan(*words)
                self.assertEqual(result.returncode, 0, result.stderr)
                said = re.findall("sampan: (.*) is sampan-profiles/(.*)\n", result.stderr)
                self.assertEqual(said, [("the latest recording", self.TWO) if place == 1 else (f"-{place}", self.ONE)
                                        for place in places])

    def test_is_meant_where_the_directory_of_all_is_named(self):
        shutil.move(self.path / "sampan-profiles", self.path / "kept")
        for words in ["report", "kept"], ["diff", f"kept/{self.ONE}", "kept"]:
            with self.subTest(words=words):
                result = self.sampan(*words)
                self.assertEqual((result.returncode, result.stderr), (0, f"sampan: the latest recording is kept/{self.TWO}\n"))

    def test_is_where_run_leaves_it(self):
        result = self.sampan("report", env={"SAMPAN_OUTPUT": str(self.output)})
        self.assertEqual((result.returncode, result.stderr),
                         (0, f"sampan: the latest recording is {self.only_run()}\n"))

    def test_of_runs_of_one_second_is_the_one_that_ended_last(self):
        for name in "c", "b":
            shutil.copytree(self.only_run(), self.path / "sampan-profiles" / f"2026-02-02_10-00-00_{name}")
        os.utime(self.path / "sampan-profiles/2026-02-02_10-00-00_b/recording.sampan")
        self.assertIn("2026-02-02_10-00-00_b\n", self.sampan("report").stderr)

    def test_that_does_not_exist_is_a_sentence(self):
        for words, env, sentence in (
                (["report", "-3"], {}, "-3: there are only 2 recordings below sampan-profiles"),
                (["diff", "-2", "-4"], {}, "-4: there are only 2 recordings below sampan-profiles"),
                (["view"], {"SAMPAN_OUTPUT": "nowhere"},
                 "there is no recording below nowhere: name one, or make one by sampan run")):
            with self.subTest(words=words):
                result = self.sampan(*words, env=env)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertTrue(result.stderr.endswith(f"sampan: {sentence}\n"), result.stderr)


class Tables(Case):
    """Tables of a function with a name of 300 letters, in terminals and elsewhere."""
    NAME = "f" + "o" * 298 + "t"

    @classmethod
    def setUpClass(cls):
        cls.program = tempfile.TemporaryDirectory(prefix="sampan-cli-")
        cls.recording = pathlib.Path(cls.program.name) / "recorded"
        script = pathlib.Path(cls.program.name) / "script.py"
        script.write_text(f"def {cls.NAME}():\n    sum(range(20_000_000))\n{cls.NAME}()\n")
        subprocess.run([SAMPAN, "run", "--quiet", "-f", "none", "-o", cls.recording, "--", sys.executable, script],
                       check=True)
        [cls.recording] = cls.recording.iterdir()

    @classmethod
    def tearDownClass(cls):
        cls.program.cleanup()

    def in_terminal(self, *words, columns=100, **variables):
        """What sampan writes to a terminal, as lines."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "PAGER", "SAMPAN_PAGER", "LESS")}
        environment.update(TERM="xterm", NO_COLOR="1", **variables)
        process = subprocess.Popen([SAMPAN, *map(str, words)], env=environment, stdout=theirs, stdin=theirs)
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # the end of a terminal
            pass
        os.close(ours)
        self.assertEqual(process.wait(60), 0)
        return text.decode().splitlines()

    def widest(self, lines):
        return max(map(len, lines))

    def test_are_not_cut_where_there_is_no_terminal(self):
        for words in (["report", "--python", "python"], ["report", "--python", "python", "--tree"], ["annotate", self.NAME]):
            self.assertIn(self.NAME, self.sampan(*words, self.recording, env={"COLUMNS": "70"}).stdout, words)
        narrow = self.sampan("report", "--python", "python", "--width", "90", self.recording).stdout
        self.assertNotIn(self.NAME, narrow)
        self.assertLessEqual(self.widest(narrow.splitlines()), 90)
        refused = self.sampan("report", "--width", "10", self.recording)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("--width takes a number of columns from 60 to 10000, not 10\n", refused.stderr)

    def test_are_as_wide_as_the_terminal(self):
        for words, variables, width in (([], {}, 100), ([], {"COLUMNS": "120"}, 120), (["--width", "140"], {"COLUMNS": "120"}, 140)):
            lines = self.in_terminal("report", "--no-pager", *words, self.recording, **variables)
            self.assertEqual(self.widest(lines), width, lines)

    def test_go_through_a_pager_in_a_terminal(self):
        pager = {"SAMPAN_PAGER": "sed s/^/paged:$LESS:/"}
        for variables in pager, {"PAGER": pager["SAMPAN_PAGER"]}, {**pager, "PAGER": "false"}:
            lines = self.in_terminal("report", self.recording, **variables)
            self.assertEqual({line[:10] for line in lines}, {"paged:FRX:"}, lines)
        for words, variables in ((["--no-pager"], pager), ([], {"PAGER": "cat"}), ([], {"PAGER": ""}), ([], {"PAGER": "no-such-pager"})):
            lines = self.in_terminal("report", *words, self.recording, **variables)
            self.assertTrue(any(line.startswith("Threads") for line in lines), lines)
        self.assertNotIn("paged", self.sampan("report", self.recording, env=pager).stdout)
        self.assertEqual(self.in_terminal("report", "--top", "0", self.recording, PAGER="head -n 1")[1:], [])


class WithoutTheLauncher(Case):
    def preload(self, *words, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SAMPAN")}
        environment.update(LD_PRELOAD=SHIM, SAMPAN="1", SAMPAN_OUTPUT=str(self.output), **variables)
        return subprocess.run([*map(str, words)], env=environment, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_for(self, pattern):
        deadline = time.monotonic() + 30
        while not list(self.output.glob(pattern)):
            self.assertLess(time.monotonic(), deadline, f"no {pattern}")
            time.sleep(0.02)

    def test_the_shim_starts_a_collector(self):
        result = self.preload(sys.executable, "-c", "sum(range(10_000_000)); print('out')",
                              SAMPAN_QUIET="1", SAMPAN_FORMAT="folded", SAMPAN_NAME="alone")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "out\n", ""))
        self.wait_for("*_alone/profile_overall.folded")
        text = next(self.output.glob("*_alone/profile_overall.folded")).read_text()
        self.assertGreater(len(text.splitlines()), 0)

    def test_a_program_that_ends_badly(self):
        result = self.preload("sh", "-c", "kill -9 $$", SAMPAN_QUIET="1", SAMPAN_FORMAT="trace")
        self.assertEqual(result.returncode, -9)
        self.wait_for("*_sh/profile_trace.json")


if __name__ == "__main__":
    unittest.main()
