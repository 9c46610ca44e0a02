"""A terminal whose screen a test can read: a shell in a tmux of its own."""
import re
import shutil
import subprocess
import tempfile
import time
import unittest


class Terminal:
    """80 columns and 24 lines with a shell in them."""

    def __init__(self, case, columns=80, lines=24, environment=()):
        if shutil.which("tmux") is None:
            raise unittest.SkipTest("tmux is not installed")
        self.folder = tempfile.TemporaryDirectory(prefix="sampan-tmux-")
        self.commands = 0
        case.addCleanup(self.folder.cleanup)
        case.addCleanup(self.close)
        shell = ["env", *environment, "PS1=$ ", "sh"]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), *shell,
                  ";", "set-option", "-g", "status", "off", ";", "set-option", "-g", "escape-time", "0")
        self.wait_for(r"^\$")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", "-S", f"{self.folder.name}/socket", *words], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout

    def close(self):
        subprocess.run(["tmux", "-S", f"{self.folder.name}/socket", "kill-server"], check=False,
                       stderr=subprocess.DEVNULL)

    def press(self, *keys):
        """Presses keys by tmux's names: "Down", "F1", "C-c"; types other words."""
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def picture(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, pattern, seconds=40, absent=False):
        """Waits until the picture matches, or no longer does; returns it."""
        end = time.monotonic() + seconds
        while True:
            picture = self.picture()
            if bool(re.search(pattern, picture, re.MULTILINE)) != absent:
                return picture
            if time.monotonic() > end:
                raise AssertionError(f"{'still' if absent else 'no'} {pattern!r} in\n{picture}")
            time.sleep(0.05)

    def state(self):
        """What programs change of a terminal: modes, alternate screen, cursor. The shell must wait for a command."""
        self.run("stty -a > " + self.folder.name + "/stty")
        with open(f"{self.folder.name}/stty") as file:
            modes = file.read()
        flags = self.tmux("display-message", "-p",
                          "#{alternate_on} #{cursor_flag} #{keypad_flag} #{keypad_cursor_flag}")
        return re.sub(r"rows \d+; columns \d+", "", modes), flags

    def run(self, command, seconds=40):
        """Runs a shell command that ends by itself; returns its exit status."""
        self.start(command)
        return self.status(seconds)

    def start(self, command):
        self.tmux("clear-history")
        self.commands += 1  # the status of the command before may still be shown
        self.type(f"clear; {command}; echo status {self.commands}=$?=")
        self.press("Enter")

    def status(self, seconds=40):
        pattern = rf"^status {self.commands}=(\d+)="
        return int(re.search(pattern, self.wait_for(pattern, seconds), re.MULTILINE)[1])
