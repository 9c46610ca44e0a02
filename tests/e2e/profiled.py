"""Runs a target program (tests/targets) without and under sampan, and returns what a test compares. Targets print
what they know as lines "WORD [TEXT] NUMBER"."""
import re
import subprocess

import sampan

LIBRARY = str(sampan.TARGETS / "libtarget_library.so")


class Outcome:
    """A finished target: its status as a shell reports it, its output, and the run if it was sampled."""

    def __init__(self, status, out, err, run=None):
        self.status = 128 - status if status < 0 else status
        self.out, self.err, self.run = out, err, run

    @property
    def report(self):
        return self.run.report

    def numbers(self, word):
        """The lines that begin with `word`, as {TEXT: NUMBER}; the last line of a text counts."""
        lines = [line.split() for line in self.out.splitlines()]
        return {" ".join(line[1:-1]): float(line[-1]) for line in lines if line and line[0] == word}

    def threads(self, name):
        return self.run.threads(name)

    def sampled_cpu(self, name=None):
        threads = self.report["threads"] if name is None else self.threads(name)
        return sum(thread["sampled_cpu_s"] for thread in threads)

    def seconds_in(self, name):
        """Seconds in all functions whose name contains `name`, with what they call and what is inlined."""
        return sum(f["total_s"] for f in self.report["functions"] if name in f["name"])

    def folded_stacks(self):
        """[(frames root first, count)] of the whole run."""
        subprocess.run([sampan.PROGRAM, "export", "--format", "folded", str(self.run.recording)],
                       check=True, stdout=subprocess.DEVNULL)
        stacks = []
        for path in self.run.directory.glob("profile_overall*folded*"):
            for line in path.read_text(encoding="utf-8").splitlines():
                match = re.fullmatch(r"(.*) (\d+)", line)
                stacks.append((match.group(1).split(";"), int(match.group(2))))
        assert stacks, f"no stacks in {self.run.directory}"
        return stacks


def command(name, *arguments):
    return [str(sampan.TARGETS / ("target_" + name)), *map(str, arguments)]


def bare(name, *arguments):
    done = subprocess.run(command(name, *arguments), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def profiled(name, *arguments, rate=None, env=None, timeout=180, options=()):
    rates = [] if rate is None else ["--rate", str(rate), "--max-overhead", "none"]
    run = sampan.run(command(name, *arguments), [*rates, *options], env, timeout, text=True)
    return Outcome(run.returncode, run.stdout, run.stderr, run)
