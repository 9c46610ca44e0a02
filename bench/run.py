#!/usr/bin/env python3
"""Measures what sampan costs, compared with the bare program, gperftools and perf.

    ./dev bench [WORD...]        all rows, or those whose name contains one of the words

Every figure is a ratio or a difference of pairs measured in turn (pairs.py), or a size. The bounds
are the project's own promises. A row that misses its bound says so, and the exit status is then 1.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import continuous
import drum
import exports
import governor
import heap
import imports
import locks
import many
import markers
import outside
import page
import pairs
import python_frames
import ranks
import same_names
import serve
import spans
import stacks
import symbols
import top
import workloads

BUILD = pathlib.Path(os.environ.get("SAMPAN_BUILD", "build")).resolve()
SAMPAN = str(BUILD / "sampan")
SELF_SIGNAL = str(BUILD / "bench" / "self_signal")
SELF_SIGNAL_UNCOVERED = SELF_SIGNAL + "_uncovered"
WALK_CLOCK = str(BUILD / "bench" / "libwalk_clock.so")
EMPTY_CLOCK = str(BUILD / "bench" / "libempty_clock.so")
PROFILER = next(iter(sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libprofiler.so.0*"))), None)
PAIRS = int(os.environ.get("SAMPAN_BENCH_PAIRS", "7"))


class Bench:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.table = pairs.Table()
        self.workloads = workloads.build(folder)
        self.build, self.sampan, self.pairs = BUILD, SAMPAN, PAIRS
        self.missed = 0

    def judge(self, what, value, bound, text, compare="<="):
        met = value <= bound if compare == "<=" else value >= bound
        self.missed += not met
        self.table.row(what, text, f"{compare} {bound:g}", met)

    def capture(self, *options):
        """The words before a command that record it and write no other files."""
        return [SAMPAN, "run", "--quiet", "--format", "none", "--output", str(self.folder / "out"),
                *options, "--"]

    def recording(self):
        newest = max((self.folder / "out").glob("*/recording.sampan"), key=os.path.getmtime)
        report = json.loads(subprocess.run([SAMPAN, "report", "--json", str(newest)],
                                           stdout=subprocess.PIPE, check=True).stdout)
        return newest, report

    # --- rows -------------------------------------------------------------------------------

    def sample(self):
        """One complete sample, as a ratio to an empty handler."""
        def signal(prefix, mode, depth, env=None, program=SELF_SIGNAL):
            command = [*prefix, program, mode, str(depth), "15000"]
            self.table.note(pairs.shown(command, env))
            out = subprocess.run(command, env={**os.environ, **(env or {})}, check=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            return float(out.split()[-1])

        # No sample is without this system call, which takes from 0.1 to 1.5 us, by the machine.
        clock = pairs.pairs(lambda: signal([], "clock", 10), lambda: signal([], "empty", 10), PAIRS,
                            measure=lambda run: run())
        self.table.row("a handler that reads the CPU clock, to an empty", f"{clock['ratio']:.2f} ({clock['a']:.0f} ns)")
        for depth, bound in ((10, 1.3), (30, 1.35), (100, 1.5)):
            empty = lambda: signal([], "empty", depth)
            ours = pairs.pairs(lambda: signal(self.capture(), "sampan", depth), empty, PAIRS,
                               measure=lambda run: run())
            self.judge(f"sample, depth {depth}, to an empty handler", ours["ratio"], bound,
                       f"{ours['ratio']:.2f} ({ours['a']:.0f}/{ours['b']:.0f} ns)")
            if PROFILER:
                env = {"LD_PRELOAD": str(PROFILER), "CPUPROFILE": str(self.folder / "gperf"),
                       "CPUPROFILE_FREQUENCY": "1"}
                theirs = pairs.pairs(lambda: signal([], "raise", depth, env), empty, 3,
                                     measure=lambda run: run())
                self.table.row("  gperftools", f"{theirs['ratio']:.2f} ({theirs['a']:.0f} ns)")
        for depth in (10, 100):
            ours = pairs.pairs(lambda: signal(self.capture(), "sampan", depth, program=SELF_SIGNAL_UNCOVERED),
                               lambda: signal(self.capture(), "sampan", depth), PAIRS, measure=lambda run: run())
            self.judge(f"sample without unwind tables, depth {depth}, to one with", ours["ratio"], 2,
                       f"{ours['ratio']:.2f} ({ours['a']:.0f}/{ours['b']:.0f} ns)")

    def walk(self):
        """One walk inside clang, with the caches as clang leaves them. The compile is so long that the
        first visits to each page of unwind information do not dominate the mean."""
        output = self.folder / "walks"
        compile_heavy = workloads.compile_heavy(self.folder, 24)

        def mean_us(walker):
            env = {"LD_PRELOAD": WALK_CLOCK, "WALK_WITH": walker, "WALK_OUTPUT": str(output)}
            self.table.note(pairs.shown(compile_heavy, env))
            output.unlink(missing_ok=True)
            workloads.run("clang", compile_heavy, self.folder, env=env)
            seconds, walks, frames = (sum(column) for column in zip(
                *(map(float, line.split()) for line in output.read_text().splitlines())))
            return seconds / walks * 1e6, frames / walks

        rounds = [{walker: mean_us(walker) for walker in ("sampan", "unw_backtrace", "backtrace")}
                  for _ in range(3)]
        ours, depth = sorted(measured["sampan"] for measured in rounds)[1]
        self.table.row(f"walk inside clang, {depth:.0f} frames, us", f"{ours:.1f}")
        for other, bound in (("unw_backtrace", 0.11), ("backtrace", 0.15)):
            ratio = sorted(measured["sampan"][0] / measured[other][0] for measured in rounds)[1]
            theirs = sorted(measured[other][0] for measured in rounds)[1]
            self.judge(f"  to {other}", ratio, bound, f"{ratio:.2f} ({theirs:.1f} us)")

    def overhead(self):
        """CPU of target and collector together, compared with the bare program."""
        for name, command in self.workloads.items():
            bare = lambda: workloads.run(name, command, self.folder)
            ours = pairs.pairs(
                lambda: workloads.run(name, command, self.folder, self.capture("--rate", "250")), bare,
                PAIRS)
            self.table.note(pairs.shown([*self.capture("--rate", "250"), *command])[:160])
            self.judge(f"CPU at 250 Hz, {name}", ours["ratio"], 1.01,
                       f"{ours['ratio']:.3f} [{ours['low']:.3f} {ours['high']:.3f}]")
            if PROFILER and name != "redis":
                env = {"LD_PRELOAD": str(PROFILER), "CPUPROFILE": str(self.folder / "gperf"),
                       "CPUPROFILE_FREQUENCY": "250"}
                theirs = pairs.pairs(lambda: workloads.run(name, command, self.folder, env=env), bare, 3)
                self.table.row("  gperftools", f"{theirs['ratio']:.3f}")
            if shutil.which("perf") and name != "redis":
                perf = ["perf", "record", "-q", "-F", "250", "-e", "task-clock:u", "--call-graph", "dwarf",
                        "-o", str(self.folder / "perf.data"), "--"]
                self.table.note(pairs.shown(perf))
                theirs = pairs.pairs(lambda: workloads.run(name, command, self.folder, perf), bare, 1)
                self.table.row("  perf record --call-graph dwarf", f"{theirs['ratio']:.3f}")

    def kilohertz(self):
        """At 1000 Hz on the perf clock, compared with an empty handler on the same clock."""
        for name, command in self.workloads.items():
            env = {"LD_PRELOAD": EMPTY_CLOCK, "EMPTY_CLOCK_HZ": "1000"}
            self.table.note(pairs.shown(command, env)[:160])
            ours = pairs.pairs(
                lambda: workloads.run(name, command, self.folder, self.capture("--rate", "1000")),
                lambda: workloads.run(name, command, self.folder, env=env), PAIRS)
            self.judge(f"CPU at 1000 Hz to an empty handler, {name}", ours["ratio"], 1.04,
                       f"{ours['ratio']:.3f} [{ours['low']:.3f} {ours['high']:.3f}]")

    def recursion(self):
        """Stacks of unlimited depth without unwind entries, at 4000 Hz."""
        if not shutil.which("node"):
            return self.table.row("recursion: node is not installed", "skipped")
        script = self.folder / "overflows.js"
        script.write_text(workloads.OVERFLOWS)
        command = ["node", str(script)]
        ours = [*self.capture("--rate", "4000"), *command]
        self.table.note(pairs.shown(ours))
        measured = pairs.pairs(lambda: pairs.Cost(ours), lambda: pairs.Cost(command), PAIRS,
                               measure=lambda run: run().wall)
        self.judge("node: workers that overflow, wall at 4000 Hz", measured["ratio"], 1.3,
                   f"{measured['ratio']:.2f} [{measured['low']:.2f} {measured['high']:.2f}]")

    def start(self):
        """A run of /bin/true, with exports and report."""
        ours = [SAMPAN, "run", "--output", str(self.folder / "true"), "--", "/bin/true"]
        self.table.note(pairs.shown(ours))
        for unit, bound in (("wall", 8), ("cpu", 8)):
            measured = pairs.pairs(lambda: pairs.Cost(ours), lambda: pairs.Cost(["/bin/true"]), 3 * PAIRS,
                                   measure=lambda run: getattr(run(), unit))
            added = measured["difference"] * 1000
            self.judge(f"/bin/true: added {unit}, ms", added, bound, f"{added:.1f}")

    def size(self):
        """Bytes per sample in the recording."""
        bounds = {"clang": 60, "sqlite3": 12, "zstd": 12, "redis": 12}
        for name, bound in bounds.items():
            if name in self.workloads:
                workloads.run(name, self.workloads[name], self.folder, self.capture())
                path, report = self.recording()
                each = path.stat().st_size / max(1, report["samples"])
                self.judge(f"bytes per sample, {name}", each, bound,
                           f"{each:.1f} ({report['samples']} samples)")

    def finish(self):
        """From the end of a compile to the finished report and files."""
        end = self.folder / "end"
        command = ["sh", "-c", f"{' '.join(map(str, self.workloads['clang']))}; date +%s.%N > {end}"]
        ours = [SAMPAN, "run", "--output", str(self.folder / "finish"), "--", *command]
        self.table.note(pairs.shown(ours))
        seconds = []
        for _ in range(3):
            subprocess.run(ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            now = float(subprocess.run(["date", "+%s.%N"], stdout=subprocess.PIPE).stdout)
            seconds.append(now - float(end.read_text()))
        self.judge("clang: end to report and files, s", sorted(seconds)[1], 2.0, f"{sorted(seconds)[1]:.2f}")

    def memory(self):
        """The memory that the shim adds to a target, as the kernel accounts it; and the collector's."""
        program = ("import threading,time\nstop=threading.Event()\n"
                   "def spin():\n  while not stop.is_set(): sum(range(1000))\n"
                   "ts=[threading.Thread(target=spin) for _ in range({n})]\n[t.start() for t in ts]\n"
                   "time.sleep(2)\n"
                   "f=open('/proc/self/smaps_rollup').read().split()\n"
                   "print(f[f.index('Pss:')+1])\nstop.set()\n")
        def pss(prefix, threads):
            out = subprocess.run([*prefix, "python3", "-c", program.format(n=threads)], check=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            return float(out.split()[-1])
        def added(threads):
            return pairs.pairs(lambda: pss(self.capture(), threads), lambda: pss([], threads), 3,
                               measure=lambda run: run())["difference"]
        hour = [str(BUILD / "bench" / "long_session"), str(3600 * 250), "250", str(self.folder / "hour.sampan")]
        self.table.note(pairs.shown(hour))
        lines = subprocess.run(hour, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        most_kb, _, size = map(max, zip(*(map(float, line.split()) for line in lines)))
        self.judge("collector after an hour of clang, MB", most_kb / 1024, 200,
                   f"{most_kb / 1024:.0f} (at most {size:.0f} bytes per sample)")
        few, many = added(1), added(33)
        self.judge("target memory added, 1 thread, KB", few, 1024, f"{few:.0f}")
        self.judge("target memory added, each thread, KB", (many - few) / 32, 64, f"{(many - few) / 32:.1f}")


ROWS = ("sample", "walk", "start", "size", "finish", "memory", "overhead", "kilohertz", "recursion",
        *outside.ROWS, *exports.ROWS, *page.ROWS, *markers.ROWS, *locks.ROWS, *spans.ROWS,
        *symbols.ROWS, *same_names.ROWS, *serve.ROWS, *top.ROWS, *continuous.ROWS, *governor.ROWS,
        *python_frames.ROWS, *stacks.ROWS, *imports.ROWS, *drum.ROWS, *many.ROWS, *ranks.ROWS, *heap.ROWS)


def main():
    wanted = [row for row in ROWS if not sys.argv[1:] or any(word in row for word in sys.argv[1:])]
    with tempfile.TemporaryDirectory(prefix="sampan-bench-") as folder:
        bench = Bench(folder)
        for row in wanted:
            elsewhere = {**outside.ROWS, **exports.ROWS, **page.ROWS, **markers.ROWS, **locks.ROWS, **spans.ROWS,
                         **symbols.ROWS, **same_names.ROWS, **serve.ROWS, **top.ROWS,
                         **continuous.ROWS, **governor.ROWS, **python_frames.ROWS,
                         **stacks.ROWS, **imports.ROWS, **drum.ROWS, **many.ROWS, **ranks.ROWS, **heap.ROWS}
            elsewhere[row](bench) if row in elsewhere else getattr(bench, row)()
        bench.table.finish()
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
