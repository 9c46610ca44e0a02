"""Recordings side by side: `diff` finds what was planted and nothing else, `merge` keeps everything,
`annotate` agrees with the report.

usage: compare_test.py [PAIRS]    pairs of equal runs in which nothing may be found (3; by hand 20)
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import stalls
from sampan import PROGRAM, TARGETS, Case, report, run

PAIRS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 3
RATE = 4000  # of perf_event_open: a change of some percent takes some ten thousand samples
SECONDS = 5
SHARES = {"half": 50, "slower": 30, "small": 10, **{f"one_{i}": 1 for i in range(10)}}


def planted(percent=0, seconds=SECONDS):
    result = run([TARGETS / "target_planted", seconds, percent], ["--rate", str(RATE)],
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
    return json.loads(sampan("diff", "--json", *options, a.recording, b.recording).stdout)


def bare(name):
    return re.sub(r"^\(anonymous namespace\)::|\(.*$", "", name)


def true_change(name, percent):
    """Of a function's share, when `slower` takes so much longer."""
    longer = 1 + SHARES["slower"] / 100 * percent / 100
    grown = SHARES[name] / 100 * (1 + percent / 100 if name == "slower" else 1)
    return grown / longer - SHARES[name] / 100


@stalls.cache
def usual(number):
    """The runs that several tests look at."""
    return planted()


LONGER = 5 / (SHARES["slower"] / 100)  # %: then the run takes 5 % longer


@stalls.cache
def longer_pair():
    """Two runs, the second of which takes 5 % longer: the first of three pairs whose noise is less than
    half of that. Where others want the CPU, shares go to and fro in each run, and `diff` says so."""
    for _ in range(3):
        a, b = planted(0, 2 * SECONDS), planted(LONGER, 2 * SECONDS)
        [slower] = [row for row in diff(a, b)["functions"] if bare(row["function"]) == "slower"]
        if slower["high"] - slower["low"] < true_change("slower", LONGER):
            break
    return a, b


class Diff(Case):
    def check_planted(self, a, b, percent):
        found = diff(a, b)
        ranked = [row for row in found["functions"] if row["beyond_noise"]]
        self.assertEqual(bare(ranked[0]["function"]), "slower", found["functions"][:3])
        self.assertEqual(len(ranked), found["beyond_noise"])
        for row in found["functions"]:
            name = bare(row["function"])
            if name not in SHARES:
                self.assertFalse(row["beyond_noise"], row)
                continue
            # At the stated confidence, the truth is within the interval of every function.
            self.assertLessEqual(row["low"], true_change(name, percent), row)
            self.assertGreaterEqual(row["high"], true_change(name, percent), row)

    def test_a_run_that_takes_5_percent_longer(self):
        self.check_planted(*longer_pair(), LONGER)

    @unittest.skipIf(PAIRS < 20, "a change of 5 % of one function takes 80 s: by hand")
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

    def test_the_table(self):
        a, b = longer_pair()
        result = sampan("diff", f"before={a.directory}", f"after={b.directory}")
        self.assertRegex(result.stdout, r"A  before +\d")
        self.assertRegex(result.stdout, r"(?m)^ +(?:29|30)\.\d\d +3\d\.\d\d +\+\d\.\d\d +\d\.\d\d .*slower")
        self.assertIn("without a change beyond noise", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)


class Merge(Case):
    def test_a_merged_recording_is_read_as_any(self):
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
            folded = sampan("export", "--format", "folded", "--output", "-", output).stdout
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()),
                             whole["samples"])

            again = sampan("merge", *(r.directory for r in runs), "-o", output, status=1)
            self.assertIn("exists", again.stderr)
            sampan("merge", *(r.directory for r in runs), "-o", f"{directory}/two.sampan",
                   "--subsample", 2)
            self.assertEqual(len(report(f"{directory}/two.sampan")["origins"]), 2)
            self.assertIn("rank-1", sampan("report", output, "--label", "rank1", status=1).stderr)


class Annotate(Case):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run([TARGETS / "target_shares", 2])

    def annotate(self, function, *options):
        return json.loads(
            sampan("annotate", "--json", function, self.run_.directory, *options).stdout)

    def test_lines_add_up_and_are_the_reports(self):
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

    def test_sources_that_are_elsewhere(self):
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
            self.assertRegex(sampan("annotate", "gone", result.directory, "--asm").stdout,
                             r"(?m)^> .* cmpl ")
            program.unlink()
            self.assertIn("file not found",
                          sampan("annotate", "--asm", "gone", result.directory).stdout)

    def test_the_nearest_name_is_suggested(self):
        result = sampan("annotate", "spni", self.run_.directory, status=1)
        self.assertIn("did you mean 'spin'?", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
