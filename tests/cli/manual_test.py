"""The man page and the completions are valid, and contain every option.

usage: manual_test.py SAMPAN
"""
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SAMPAN = os.path.abspath(sys.argv.pop(1))


@functools.cache
def output_of(*words):
    return subprocess.run([SAMPAN, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def commands():
    """The options in --help, by command."""
    names = re.findall(r"(?m)^  ([a-z0-9]+) ", output_of("help").split("\nCommands:")[1])
    return {name: set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", output_of("help", name)))
            for name in names}


class Manual(unittest.TestCase):
    def check(self, program, *arguments, text):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")
        with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
            file.write(text)
            file.flush()
            result = subprocess.run([program, *arguments, file.name], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
        # It has no date, so that builds are reproducible.
        said = [line for line in result.stdout.splitlines() if "missing date" not in line]
        self.assertEqual(said, [])

    def test_the_page_is_well_formed(self):
        self.check("mandoc", "-Tlint", "-Wwarning", text=output_of("help", "--man"))

    def test_it_has_every_option_and_variable(self):
        page = output_of("help", "--man").replace("\\-", "-")
        for command, options in commands().items():
            self.assertIn(f"sampan {command}", page)
            for option in options - {"--help"}:
                self.assertIn(f"\\fB{option}\\fR", page)
            for variable in re.findall(r"Env:(\w+)", output_of("help", command)):
                self.assertIn(f"\\fB{variable}\\fR", page)


class Help(unittest.TestCase):
    def test_every_one_begins_with_what_to_type(self):
        page = output_of("help", "--man").replace("\\-", "-")
        for command in commands():
            with self.subTest(command=command):
                text = output_of("help", command)
                [usage] = re.findall("(?m)^Usage: (.*)$", text)
                self.assertTrue(usage.startswith(f"sampan {command} "), usage)
                self.assertEqual(text.count(usage + "\n"), 1)
                self.assertIn(f'.SS "{usage}"\n', page)
                self.assertNotIn("{", text)

    def test_the_ways_to_serve_are_where_one_looks(self):
        for command in "view", "top":
            self.assertIn("HOST:PORT of a sampan serve", " ".join(output_of("help", command).split()))

    def test_what_only_a_launched_program_has_is_not_offered_to_others(self):
        for option in "--strict", "--sections-only", "--max-sections":
            self.assertIn(option, commands()["run"])
            self.assertNotIn(option, commands()["attach"])


class Examples(unittest.TestCase):
    def test_every_command_has_three_that_are_right(self):
        page, known = output_of("help", "--man"), commands()
        for command in known:
            examples = re.findall("(?m)^  (sampan .*)$", output_of("help", command).split("Examples:")[1])
            with self.subTest(command=command):
                self.assertEqual(len(examples), 3)
            for example in examples:
                with self.subTest(example=example):
                    self.assertIn("\n" + example.replace("-", "\\-") + "\n", page)
                    self.check(shlex.split(re.split(r" -- | \| ", example)[0])[1:], known)

    def test_all_are_accepted(self):
        """With a process, a program, and recordings that do not exist, each fails, but none because of its words."""
        pid = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text()) + 1
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SAMPAN", "XDG_"))}
        with tempfile.TemporaryDirectory(prefix="sampan-manual-") as directory:
            for command in commands():
                for example in re.findall("(?m)^  (sampan .*)$", output_of("help", command).split("Examples:")[1]):
                    words = re.sub(r"\bPID\b", str(pid), example).replace("redis-server", "no-such-program").split(" | ")[0]
                    words = re.sub(r"^(sampan top)", r"\1 --once", words)  # this is no terminal
                    words = [SAMPAN, *shlex.split(re.sub(r" -- (?!sleep).*", " -- no-such-program", words))[1:]]
                    with self.subTest(example=example):
                        result = subprocess.run(words, cwd=directory, env={**environment, "HOME": directory}, timeout=60, text=True,
                                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                        if command == "ci":  # 2: it could not judge
                            self.assertRegex(result.stderr, "^sampan: (sampan-ci.toml: cannot be read|ci: .* failed)")
                        else:
                            self.assertIn(result.returncode, (0, 1, 127), result.stderr)

    def check(self, words, known):
        if words[0] in ("-V", "--version"):
            return
        self.assertIn(words[0], known)
        for word in words[1:]:
            if word.startswith("--"):
                self.assertIn(word, known[words[0]])
            elif re.match("-[A-Za-z]", word):
                for letter in word[1:]:
                    self.assertRegex(output_of("help", words[0]), rf"(?m)^  -{letter}\b")


class Letters(unittest.TestCase):
    MEANINGS = {"F": "--rate", "V": "--version", "d": "--duration", "f": "--format", "g": "", "h": "--help",
                "o": "--output", "p": "--pid", "s": "--delay", "t": "--thread"}

    def test_each_has_one_meaning_in_all_commands(self):
        helps = {name: output_of("help", name) for name in commands()} | {"sampan": output_of("help")}
        del helps["addr2line"]  # it has the letters of its model
        for command, text in helps.items():
            for letter, option in re.findall(r"(?m)^  (?:-(\w))?,?(--[\w-]+)?", text.split("Options:")[1]):
                with self.subTest(command=command, letter=letter, option=option):
                    if letter:
                        self.assertEqual(option, self.MEANINGS.get(letter))
                    else:
                        self.assertNotIn(option, set(self.MEANINGS.values()) - {""})

    def test_those_of_perf_and_py_spy_are_there(self):
        for command, letters in {"run": "Ffgo", "record": "Fdfgop", "attach": "Fdfgop", "top": "Fop", "dump": "pt",
                                 "report": "t", "export": "fot"}.items():
            for letter in letters:
                self.assertRegex(output_of("help", command), rf"(?m)^  -{letter}\b", command)


class Completion(unittest.TestCase):
    check = Manual.check

    def test_shells_accept_them(self):
        for shell in "bash", "zsh", "fish":
            with self.subTest(shell=shell):
                self.check(shell, "-n", text=output_of("help", "--completion", shell))

    def test_an_unknown_shell_is_a_mistake(self):
        result = subprocess.run([SAMPAN, "help", "--completion", "csh"], stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"bash", result.stderr)

    def test_they_know_every_option(self):
        scripts = {shell: output_of("help", "--completion", shell) for shell in ("zsh", "fish")}
        for command, options in commands().items():
            self.assertLessEqual(options, set(self.bash("sampan", command, "-")), command)
            for option in options:
                self.assertIn(f"'*{option}[", scripts["zsh"])
                self.assertRegex(scripts["fish"],
                                 rf"from {command}'.* -l {option.removeprefix('--')} ")

    def bash(self, *words):
        """The completions that bash offers for the last word."""
        line = " ".join(f"'{word}'" for word in words)
        script = (f"{output_of('help', '--completion', 'bash')}\n"
                  f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n"
                  '_sampan 2> /dev/null; printf "%s\\n" "${COMPREPLY[@]}"')
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "recording.sampan").touch()
            return subprocess.run(["bash", "-c", script], check=True, stdout=subprocess.PIPE,
                                  text=True, cwd=directory).stdout.split()

    def test_bash_completes(self):
        for words, offered in [(["rep"], ["report"]), (["ru"], ["run"]), (["run", "--ra"], ["--rate"]),
                               (["run", "--clock", "w"], ["wall"]),
                               (["export", "--format", "pp"], ["pprof"]),
                               (["help", "anno"], ["annotate"]),
                               (["diff", "--html", "rec"], ["recording.sampan"]),
                               (["report", "--by", "mod"], ["module"])]:
            with self.subTest(words=words):
                self.assertEqual(self.bash("sampan", *words), offered)
        self.assertIn("bash", self.bash("sampan", "run", "--", "bas"))

    def test_fish_completes(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        script = output_of("help", "--completion", "fish")
        result = subprocess.run(["fish", "-c", script + "\ncomplete -C 'sampan run --clo'"],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertRegex(result, r"(?m)^--clock\s")


if __name__ == "__main__":
    unittest.main(verbosity=2)
