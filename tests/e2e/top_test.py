#!/usr/bin/env python3
"""sampan top in a terminal: keys, sizes, every kind of end, and that it agrees with a recording of the same seconds.
The target computes in four functions as 10:20:30:40."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import sampan
import stalls
import tmux
from tolerances import DEVIATIONS

WATCHED = sampan.TARGETS / "target_watched"
SHARES = {"ten_percent": 0.1, "twenty_percent": 0.2, "thirty_percent": 0.3, "forty_percent": 0.4}


def tolerance(share, *counts):
    """The noise of a share of so many samples, or of the difference of two shares, and the tenth of a percent that
    top rounds to."""
    return DEVIATIONS * sum(share * (1 - share) / max(count, 1) for count in counts) ** 0.5 + 0.001


def children_of(pid):
    return [int(word) for word in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Top(sampan.Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sampan-top-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def terminal(self, **keywords):
        return tmux.Terminal(self, environment=("-u", "NO_COLOR", "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY",
                                                f"XDG_CACHE_HOME={self.folder}/cache"), **keywords)

    def watched(self, seconds=300, status=0):
        process = subprocess.Popen([WATCHED, str(seconds), str(status)], stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start(self, terminal, *options, command=(WATCHED, 300, 0)):
        """Starts top on the watched program; returns its first picture with samples."""
        words = [sampan.PROGRAM, "top", "--output", self.folder / "out", *options, "--", *command]
        terminal.start(f"cd {self.folder} && " + " ".join(map(str, words)))
        return terminal.wait_for(r"worker-1 +[1-9]")

    def functions(self, picture):
        """{name: (self %, total %)} of the functions of the target."""
        rows = re.findall(r"^ *([\d.]+) +([\d.]+) .*? ([a-z]+_percent)\b", picture, re.MULTILINE)
        return {name: (float(own) / 100, float(total) / 100) for own, total, name in rows}

    def threads(self, picture):
        """[(CPU %, name)], top row first."""
        rows = re.findall(r"^ *\d\d+ (\S+) +([\d.]+)", picture, re.MULTILINE)
        return [(float(cpu), name) for name, cpu in rows]

    def samples(self, picture):
        return int(re.search(r"([\d,]+) samples", picture)[1].replace(",", ""))

    def status(self, pid):
        return subprocess.run([sampan.PROGRAM, "ctl", str(pid)], check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def test_keys(self):
        terminal = self.terminal()
        before = terminal.state()
        picture = self.start(terminal, "--window", "60")
        self.assertRegex(picture, r"sampan top  target_watched  0:00:\d\d  100 Hz")
        self.assertIn("its output goes to /dev/null", picture)
        self.assertNotIn("not for the terminal", picture)
        terminal.wait_for(r"sleeper .* S .*\[poll")

        terminal.press("p")
        terminal.wait_for(r"worker x2")
        terminal.press("p")
        terminal.wait_for(r"worker-2")
        terminal.press("N")
        terminal.wait_for(r"THREADv")
        terminal.press("R")
        terminal.wait_for(r"THREAD\^")
        terminal.press("<")
        terminal.wait_for(r"vTID")
        terminal.press(">", ">")
        terminal.wait_for(r"vCPU%")
        terminal.press("T")
        terminal.wait_for(r"vWAIT%")
        terminal.press("P")
        terminal.wait_for(r"vCPU%")
        terminal.press("S")
        terminal.wait_for(r"since start")
        terminal.press("c")
        terminal.wait_for(r"since start, wall$")
        terminal.press("c")
        terminal.wait_for(r"since start, CPU$")
        terminal.press("F1")
        terminal.wait_for(r"freeze what is shown")
        terminal.press("x")
        terminal.wait_for(r"freeze what is shown", absent=True)

        terminal.press("/")
        terminal.wait_for(r"^Search:")
        terminal.type("worker")
        terminal.press("Enter")
        terminal.press("n", "Enter")
        terminal.wait_for(r"thread \d+ worker-[12]")
        terminal.wait_for(r"forty_percent")
        terminal.press("Escape")
        terminal.wait_for(r"all threads")
        terminal.type("/forty")
        terminal.press("Enter", "Enter")
        terminal.wait_for(r"- compute\n.*> forty_percent")
        terminal.press("3")
        terminal.wait_for(r"- compute(.|\n)*  forty_percent")
        terminal.press("i")
        terminal.wait_for(r"CALLERS BELOW(.|\n)*- forty_percent\n.*- compute")
        terminal.type("/forty")
        terminal.press("Enter", "Left")
        terminal.wait_for(r"\+ forty_percent")
        terminal.press("Right")
        terminal.wait_for(r"- forty_percent")
        terminal.press("Tab")
        terminal.wait_for(r"> forty_percent")
        terminal.press("1", "Space")
        terminal.wait_for(r"\[frozen\]")
        frozen = self.samples(terminal.picture())
        time.sleep(1.2)
        self.assertEqual(self.samples(terminal.picture()), frozen)
        terminal.press("Space")
        terminal.wait_for(r"\[frozen\]", absent=True)
        terminal.press("z")
        terminal.wait_for(r"\[paused\]")
        terminal.press("z")
        terminal.wait_for(r"\[paused\]", absent=True)
        terminal.press("+")
        terminal.wait_for(r"^sampan top .* 200 Hz")
        terminal.wait_for(r"^sampling at 200 Hz")
        recorder = children_of(children_of(int(terminal.tmux("display-message", "-p", "#{pane_pid}")))[0])[0]
        self.assertIn("sampling at 200 Hz", self.status(recorder))
        terminal.press("-", "-")
        terminal.wait_for(r"^sampan top .* 50 Hz")
        self.assertIn("sampling at 50 Hz", self.status(recorder))
        time.sleep(1.2)  # a later picture, from the recording
        terminal.wait_for(r"^sampan top .* 50 Hz")
        terminal.press("o")
        terminal.wait_for(r"The page: ")
        self.assertEqual(len(list(self.folder.glob("out/*/profile.html"))), 1)

        terminal.resize(40, 10)
        terminal.wait_for(r"TID THREAD +vCPU%  WAIT% S$")
        terminal.resize(10, 3)
        terminal.wait_for(r"^sampan")
        terminal.resize(120, 40)
        terminal.wait_for(r"TID THREAD +PROCESS +vCPU%")
        terminal.resize(80, 24)
        terminal.press("q")
        self.assertEqual(terminal.status(), 0)
        self.assertEqual(terminal.state(), before)

    def test_every_way_to_move(self):
        terminal = self.terminal()
        self.start(terminal)
        terminal.wait_for(r"sleeper")  # the last thread to begin
        terminal.press("N")
        names = [name for _, name in self.threads(terminal.wait_for(r"THREADv"))]
        self.assertEqual(names, sorted(names))
        self.assertGreaterEqual(len(names), 4)

        def chosen(*keys):
            terminal.press("1", *keys, "Enter")
            heading = r"thread \d+ ([\w-]+)"  # it may be drawn in parts
            name = re.search(heading, terminal.wait_for(heading))[1]
            terminal.press("a")
            terminal.wait_for(r"all threads")
            return name

        for keys, place in ((["End"], -1), (["Home"], 0), (["G"], -1), (["g"], 0), (["g", "Down"], 1), (["g", "j", "j"], 2),
                            (["G", "Up"], -2), (["G", "k"], -2), (["g", "NPage"], -1), (["G", "PPage"], 0)):
            self.assertEqual(chosen(*keys), names[place], keys)
        terminal.press("2")
        terminal.wait_for(r"forty_percent")
        terminal.type("/fortyx")
        terminal.press("BSpace", "Enter", "4")
        terminal.wait_for(r"> forty_percent")
        for key in ("h", "?"):
            terminal.press(key)
            terminal.wait_for(r"freeze what is shown")
            terminal.press("x")
            terminal.wait_for(r"freeze what is shown", absent=True)
        terminal.press("F10")
        self.assertEqual(terminal.status(), 0)

    @stalls.measures_time("some kernels count a stall as CPU of one function")
    def test_it_agrees_with_the_truth_and_with_a_recording_of_the_same_seconds(self):
        terminal = self.terminal()
        words = [sampan.PROGRAM, "top", "--window", "300", "--look", "functions", "--clock", "cpu", "--",
                 WATCHED, 300, 0]
        terminal.start(f"cd {self.folder} && " + " ".join(map(str, words)))
        terminal.press("w")
        terminal.wait_for(r"Save to: top.sampan")
        terminal.press("Enter")
        terminal.wait_for(r"\[saving\]")
        terminal.wait_for(r"  [4-9]\d\d samples|\d,\d+ samples")
        terminal.press("Space")
        picture = terminal.wait_for(r"\[frozen\]")
        terminal.press("1")
        shown_threads = self.threads(terminal.wait_for(r"^ +TID THREAD"))
        terminal.press("w")
        terminal.wait_for(r"Written: top.sampan")
        terminal.press("q")
        self.assertEqual(terminal.status(), 0)

        report = sampan.report(self.folder / "top.sampan")
        recorded = {row["name"]: row for row in report["functions"]}
        shown, shown_count = self.functions(picture), self.samples(picture)
        self.assertEqual(set(shown), set(SHARES), picture)
        for name, share in SHARES.items():
            recorded_share = recorded[name]["self_s"] / report["sampled_cpu_s"]
            self.assertLess(abs(shown[name][0] - share), tolerance(share, shown_count), picture)
            self.assertLess(abs(shown[name][0] - recorded_share),
                            tolerance(share, shown_count, report["samples"]), (picture, report["functions"]))
        recorded = {thread["name"]: thread["sampled_cpu_s"] for thread in report["threads"]}
        all_shown = sum(cpu for cpu, _ in shown_threads)
        self.assertEqual({name for _, name in shown_threads}, set(recorded))
        for cpu, name in shown_threads:
            share = recorded[name] / report["sampled_cpu_s"]
            self.assertLess(abs(cpu / all_shown - share), tolerance(share, shown_count, report["samples"]), name)

    def test_the_end_of_the_target(self):
        terminal = self.terminal()
        before = terminal.state()
        self.start(terminal, command=(WATCHED, 3, 7))
        picture = terminal.wait_for(r"Ended: exit status 7 \(q quits\)")
        self.assertIn("worker-1", picture)
        terminal.press("F10")
        self.assertEqual(terminal.status(), 7)
        self.assertEqual(terminal.state(), before)

    def test_every_end_leaves_the_terminal_as_it_was(self):
        terminal = self.terminal()
        before = terminal.state()
        for number, status in [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGHUP, 0),
                               (signal.SIGSEGV, 128 + signal.SIGSEGV),
                               (signal.SIGABRT, 128 + signal.SIGABRT)]:
            with self.subTest(signal=number):
                target = self.watched()
                terminal.start(f"{sampan.PROGRAM} top {target.pid}")
                terminal.wait_for(r"worker-1 +[1-9]")
                shell = int(terminal.tmux("display-message", "-p", "#{pane_pid}"))
                if number == signal.SIGINT:
                    terminal.press("C-c")
                else:
                    os.kill(children_of(shell)[0], number)
                self.assertEqual(terminal.status(), status)
                self.assertEqual(terminal.state(), before)
                self.assertIsNone(target.poll())  # top did not start it
                target.kill()

    def test_quitting_ends_what_was_started(self):
        terminal = self.terminal()
        self.start(terminal)
        shell = int(terminal.tmux("display-message", "-p", "#{pane_pid}"))
        recorder = children_of(children_of(shell)[0])[0]
        target = children_of(recorder)[0]
        terminal.press("C-c")
        self.assertEqual(terminal.status(), 0)
        self.assertTrue(gone(target))
        self.assertTrue(gone(recorder))

    def test_ctrl_z_and_fg(self):
        terminal = self.terminal()
        before = terminal.state()
        target = self.watched()
        terminal.start(f"bash --norc -i")
        terminal.type(f"{sampan.PROGRAM} top {target.pid}")
        terminal.press("Enter")
        terminal.wait_for(r"worker-1 +[1-9]")
        terminal.press("C-z")
        terminal.wait_for(r"Stopped")
        terminal.type("fg")
        terminal.press("Enter")
        terminal.wait_for(r"worker-1 +[1-9]")
        terminal.press("2")
        terminal.wait_for(r"forty_percent")
        terminal.press("q")
        terminal.wait_for(r"vSELF", absent=True)
        terminal.type("exit")
        terminal.press("Enter")
        terminal.status()
        self.assertEqual(terminal.state(), before)

    def check_stopped(self, stopped, ask):
        """top is in a shell with jobs. It is asked to end when one of its processes has been stopped."""
        terminal = self.terminal()
        terminal.start("bash --norc -i")
        terminal.type(f"{sampan.PROGRAM} top -- {WATCHED} 300 0")
        terminal.press("Enter")
        terminal.wait_for(r"worker-1 +[1-9]")
        shell = int(terminal.tmux("display-message", "-p", "#{pane_pid}"))
        top = children_of(children_of(shell)[0])[0]
        recorder = children_of(top)[0]
        command = children_of(recorder)[0]
        os.kill({"top": top, "recorder": recorder, "command": command}[stopped], signal.SIGSTOP)
        ask(terminal, top)
        for pid in (top, recorder, command):
            self.wait_until_gone(pid)

    def continue_in_the_background(self, terminal, top):
        terminal.wait_for("Stopped")
        os.kill(top, signal.SIGCONT)
        terminal.type("echo ty''ped")  # for the shell
        terminal.press("Enter")
        terminal.wait_for("^typed")

    def test_it_ends_when_asked_in_the_background(self):
        def ask(terminal, top):
            self.continue_in_the_background(terminal, top)
            os.kill(top, signal.SIGTERM)
        self.check_stopped("top", ask)

    def test_it_ends_when_asked_after_fg(self):
        def ask(terminal, top):
            self.continue_in_the_background(terminal, top)
            terminal.type("fg")
            terminal.press("Enter")
            terminal.wait_for(r"worker-1 +[1-9]")
            terminal.press("q")
        self.check_stopped("top", ask)

    def test_it_ends_when_asked_though_its_recorder_is_stopped(self):
        self.check_stopped("recorder", lambda terminal, top: os.kill(top, signal.SIGTERM))

    def test_it_ends_when_asked_though_its_command_is_stopped(self):
        self.check_stopped("command", lambda terminal, top: os.kill(top, signal.SIGTERM))

    def wait_until_gone(self, pid, seconds=40):
        end = time.monotonic() + seconds
        while not gone(pid):
            self.assertLess(time.monotonic(), end, f"{pid} lives")
            time.sleep(0.02)

    def test_the_command_lives_on_when_top_is_killed(self):
        terminal = self.terminal()
        self.start(terminal)
        shell = int(terminal.tmux("display-message", "-p", "#{pane_pid}"))
        top = children_of(shell)[0]
        recorder = children_of(top)[0]
        target = children_of(recorder)[0]
        self.addCleanup(os.kill, target, signal.SIGKILL)
        os.kill(top, signal.SIGKILL)
        self.wait_until_gone(recorder)
        before_s = self.cpu_s(target)
        while self.cpu_s(target) == before_s:
            time.sleep(0.01)

    def cpu_s(self, pid):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")

    @stalls.measures_time("some kernels count a stall as CPU of one function")
    def test_once_and_json(self):
        target = self.watched()
        environment = {**os.environ, "COLUMNS": "100", "LINES": "30",
                       "XDG_CACHE_HOME": str(self.folder)}
        done = subprocess.run([sampan.PROGRAM, "top", "--once", "--delay", "2", str(target.pid)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        if done.returncode != 0 and "permi" in done.stderr:
            self.skipTest(f"the kernel refuses: {done.stderr}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"worker-2 .* [RQ] ")
        self.assertNotIn("\x1b", done.stdout)
        done = subprocess.run([sampan.PROGRAM, "top", "--json", "--delay", "2", str(target.pid)],
                              stdout=subprocess.PIPE, check=True, env=environment)
        data = json.loads(done.stdout)
        functions = {row["name"]: row for row in data["functions"]}
        for name, share in SHARES.items():
            self.assertLess(abs(functions[name]["self_share"] - share),
                            tolerance(share, functions["compute"]["samples"]), data["functions"])
        sleeper = [row for row in data["threads"] if row["name"] == "sleeper"][0]
        self.assertEqual(sleeper["state"], "S")
        self.assertIn("poll", sleeper["doing"])
        self.assertIsNone(target.poll())

    def test_a_served_capture_can_be_watched(self):
        token = self.folder / "token"
        token.write_text("secret of this test\n")
        token.chmod(0o600)
        server = subprocess.Popen([sampan.PROGRAM, "serve", "--clock", "wall", "--token-file", token, "--",
                                   WATCHED, "300", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        self.addCleanup(server.stdout.close)
        url = re.search(r"http://[\d.]+:\d+", server.stdout.readline() + server.stdout.readline())[0]
        terminal = self.terminal()
        terminal.start(f"{sampan.PROGRAM} top --token-file {token} {url.removeprefix('http://')}")
        picture = terminal.wait_for(r"worker-1 +[1-9]")
        self.assertIn(url, picture)
        terminal.wait_for(r"sleeper .* S .*\[poll")
        terminal.press("2")
        terminal.wait_for(r"forty_percent")
        terminal.press("z")
        terminal.wait_for(r"can only be watched from here")
        terminal.press("q")
        self.assertEqual(terminal.status(), 0)
        done = subprocess.run([sampan.PROGRAM, "top", "--once", url + "/"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("--token-file", done.stderr)

    def test_no_server(self):
        done = subprocess.run([sampan.PROGRAM, "top", "--once", "http://127.0.0.1:1"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("http://127.0.0.1:1/recording: ", done.stderr)

    def test_without_a_terminal_it_says_so(self):
        for environment in ({}, {"TERM": "dumb"}, {"TERM": "no-such"}):
            done = subprocess.run([sampan.PROGRAM, "top", "--", "true"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, **environment})
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("--once", done.stderr)
        terminal = self.terminal()
        for name in ("dumb", "no-such"):
            self.assertEqual(terminal.run(f"TERM={name} {sampan.PROGRAM} top -- sleep 5"), 1)
            self.assertIn("--once", terminal.picture())


if __name__ == "__main__":
    unittest.main()
