"""Recordings side by side: `diff` finds the change that was planted and nothing else, `merge` keeps everything,
`annotate` agrees with the report.

usage: compare_test.py [PAIRS]    pairs of equal runs in which nothing may be found (none in CI; 20 in --long)
"""
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from sampan import PROGRAM, TARGETS, Case, report, run

PAIRS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 0
RATE = 4000  # of perf_event_open: to see a change of a few percent takes ten thousand samples
SECONDS = 5
CONFIDENCE = 99.9999  # %
SHARES = {"half": 50, "slower": 30, "small": 10, **{f"one_{i}": 1 for i in range(10)}}


def planted(percent=0, seconds=SECONDS):
    result = run([TARGETS / "target_planted", seconds, percent], ["--rate", str(RATE), "--max-overhead", "none"],
                 timeout=300 + 60 * seconds)
    if result.report["achieved_rate_hz"] < RATE / 2:
        raise unittest.SkipTest("perf_event_open is refused here: samples are too few to compare")
    return result


def sampan(*words, status=0):
    result = subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    assert result.returncode == status, result.stderr
    return result


def diff(a, b, *options):
    """At a confidence that fails less than once in 10,000 runs of the suite."""
    return json.loads(sampan("diff", "--json", "--confidence", CONFIDENCE, *options, a.recording, b.recording).stdout)


def bare(name):
    return re.sub(r"^\(anonymous namespace\)::|\(.*$", "", name)


def true_change(name, percent):
    """The change of a function's share when `slower` takes so much longer."""
    longer = 1 + SHARES["slower"] / 100 * percent / 100
    grown = SHARES[name] / 100 * (1 + percent / 100 if name == "slower" else 1)
    return grown / longer - SHARES[name] / 100


@functools.cache
def usual(number):
    """Runs that are equal."""
    return planted()


class Diff(Case):
    def check_planted(self, a, b, percent):
        found = diff(a, b)
        ranked = [row for row in found["functions"] if row["beyond_noise"]]
        self.assertEqual(bare(ranked[0]["name"]), "slower", found["functions"][:3])
        self.assertEqual(len(ranked), found["beyond_noise"])
        for row in found["functions"]:
            name = bare(row["name"])
            if name not in SHARES:
                self.assertFalse(row["beyond_noise"], row)
                continue
            # At that confidence the true change is within the interval of every function.
            self.assertLessEqual(row["low"], true_change(name, percent), row)
            self.assertGreaterEqual(row["high"], true_change(name, percent), row)

    def test_a_function_that_takes_twice_as_long(self):
        # At the usual confidence: runs beside a busy neighbour do not bear a higher one. Where short ones have too wide an
        # interval to tell, whatever it says, longer ones follow.
        for seconds in (2, 4, 8):
            a, b = planted(0, seconds), planted(100, seconds)
            functions = json.loads(sampan("diff", "--json", a.recording, b.recording).stdout)["functions"]
            [slower] = [row for row in functions if bare(row["name"]) == "slower"]
            if slower["high"] - slower["low"] < true_change("slower", 100) / 2:
                break
        first = functions[0]
        self.assertEqual((bare(first["name"]), first["beyond_noise"]), ("slower", True), first)
        result = sampan("diff", f"before={a.directory}", f"after={b.directory}")
        self.assertRegex(result.stdout, r"A  before +\d")
        self.assertRegex(result.stdout, r"(?m)^ +[23]\d\.\d\d +4\d\.\d\d +\+1\d\.\d\d +\d\.\d\d .*slower")
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)


@unittest.skipUnless(PAIRS, "takes minutes: ./dev test --long diff")
class Sensitivity(Diff):
    def test_a_function_that_takes_5_percent_longer(self):
        self.check_planted(planted(0, 40), planted(5, 40), 5)

    def test_equal_runs(self):
        for pair in range(PAIRS):
            with self.subTest(pair=pair):
                a, b = usual(pair), usual(pair + 1)
                for options in [], ["--by", "samples"]:
                    found = diff(a, b, *options)
                    self.assertEqual(found["beyond_noise"], 0, found["functions"][0])
                    self.assertGreaterEqual(len(found["functions"]), len(SHARES))


class Merge(Case):
    def test_a_merged_recording_is_read_like_any_other(self):
        runs = [run([TARGETS / "target_steady", 0.3]) for _ in range(3)]
        with tempfile.TemporaryDirectory() as directory:
            output = pathlib.Path(directory) / "all"
            sampan("merge", *(f"rank-{i}={r.directory}" for i, r in enumerate(runs)), "-o", output)
            whole = report(output)
            self.assertEqual([o["label"] for o in whole["origins"]], ["rank-0", "rank-1", "rank-2"])
            self.assertEqual({o["host"] for o in whole["origins"]}, {whole["origins"][0]["host"]})
            for key in ("samples", "sampled_cpu_s", "cpu_s"):
                self.assertAlmostEqual(whole[key], sum(r.report[key] for r in runs), places=4)
            self.assertEqual(whole["damage"], [])
            one = report(output, "--label", "rank-1")
            self.assertEqual(one["samples"], runs[1].report["samples"])
            self.assertEqual({p["label"] for p in one["processes"] if p["samples"]}, {"rank-1"})
            rows = sampan("export", "--format", "csv-samples", "--output", "-", output).stdout
            self.assertEqual(len(rows.splitlines()), 1 + whole["samples"])

            again = sampan("merge", *(r.directory for r in runs), "-o", output, status=1)
            self.assertIn("exists", again.stderr)
            chosen = []
            for name, words in (("two", ["--seed", 7]), ("again", ["--seed", 7]), ("any", [])):
                said = sampan("merge", *(r.directory for r in runs), f"gone={directory}/gone", "-o", f"{directory}/{name}.sampan",
                              "--sample", "75%", *words).stderr
                self.assertRegex(said, r"sampan: 3 of 4 recordings at random; --seed \d+ takes the same again\n")
                chosen.append([o["label"] for o in report(f"{directory}/{name}.sampan")["origins"]])
                self.assertEqual(len(chosen[-1]) + said.count("sampan: gone: left out: "), 3)
            self.assertEqual(chosen[0], chosen[1])
            self.assertIn("rank-1", sampan("report", output, "--label", "rank1", status=1).stderr)


class Annotate(Case):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run([TARGETS / "target_shares", 2])

    def annotate(self, function, *options):
        return json.loads(
            sampan("annotate", "--json", function, self.run_.directory, *options).stdout)

    def test_lines_add_up_and_are_those_of_the_report(self):
        whole = self.annotate("spin")
        lines = [line for file in whole["files"] for line in file["lines"]]
        function = next(f for f in self.run_.report["functions"] if bare(f["name"]) == "work::spin")
        self.assertGreater(whole["self_samples"], 100)
        self.assertGreater(len(lines), 2)
        self.assertAlmostEqual(sum(line["self_s"] for line in lines), function["self_s"])
        self.assertEqual(sum(line["self_samples"] for line in lines), function["self_samples"])
        table = sampan("report", "--by", "line", "--top", "0", self.run_.directory).stdout
        for line in lines:
            pattern = rf"(?m)^ +{line['self_samples']:,} .*spin.*work\.h:{line['line']}\b"
            self.assertRegex(table, pattern)

    def test_instructions_add_up(self):
        whole = self.annotate("spin", "--asm")
        code = whole["instructions"]
        self.assertEqual(sum(row["self_samples"] for row in code), whole["self_samples"])
        self.assertGreater(len([row for row in code if row["self_samples"]]), 1)
        self.assertTrue(any("xor" in row["text"] for row in code), code)
        self.assertTrue(any(row["line"] for row in code), code)

    def test_sources_in_another_folder(self):
        built_in = self.annotate("spin")["files"][0]["file"]
        folder = str(pathlib.Path(built_in).parent)
        with tempfile.TemporaryDirectory() as directory:
            moved = pathlib.Path(directory) / "work.h"
            moved.write_text("".join(f"line {i}\n" for i in range(1, 200)))
            file = self.annotate("spin", "--source-path", f"{folder}={directory}")["files"][0]
            self.assertEqual(file["found"], str(moved))
            for line in file["lines"]:
                self.assertEqual(line["text"], f"line {line['line']}")

    def test_without_source(self):
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory) / "gone.cpp"
            source.write_text("#include <ctime>\n"
                              "__attribute__((noinline)) void gone() {\n"
                              "  for (volatile int i = 0; i < 1000; i = i + 1) {}\n}\n"
                              "int main() { while (clock() < CLOCKS_PER_SEC / 2) gone(); }\n")
            program = pathlib.Path(directory) / "gone"
            subprocess.run(["g++", "-O1", "-g", source, "-o", program], check=True)
            result = run([program])
            source.unlink()
            page = sampan("annotate", "gone", result.directory).stdout
            self.assertIn("--source-path", page)
            self.assertRegex(page, r"(?m)^> .* 3$")
            # Which instruction of the loop the processor is interrupted at is its own affair.
            self.assertRegex(sampan("annotate", "gone", result.directory, "--asm").stdout,
                             r"(?m)^> .* (movl|addl|cmpl|jle|jg) ")
            program.unlink()
            self.assertIn("file not found",
                          sampan("annotate", "--asm", "gone", result.directory).stdout)

    def test_the_nearest_name_is_suggested(self):
        result = sampan("annotate", "spni", self.run_.directory, status=1)
        self.assertIn("did you mean 'spin'?", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
