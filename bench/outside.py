"""What sampling from outside costs: rows of bench/run.py about attach, the wall clock and dump."""
import os
import shutil
import statistics
import subprocess
import time

import pairs
import workloads


class Job:
    """A process that runs beside others; its CPU is counted by itself."""

    def __init__(self, command, **keywords):
        keywords.setdefault("stdout", subprocess.DEVNULL)
        keywords.setdefault("stderr", subprocess.DEVNULL)
        self.begin = time.monotonic()
        self.process = subprocess.Popen(list(map(str, command)), **keywords)
        self.pid = self.process.pid

    def wait(self):
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.monotonic() - self.begin
        self.cpu = usage.ru_utime + usage.ru_stime
        return self


def attached(bench, target, *options):
    """Runs `target` to its end under sampan attach. Returns both jobs, and the report."""
    job = Job(target, stdout=subprocess.PIPE)
    command = [bench.sampan, "attach", "--quiet", "--format", "none", "--output", bench.folder / "out",
               *options, job.pid]
    bench.table.note(pairs.shown([*map(str, command[:-1]), "PID"]))
    sampler = Job(command)
    output = job.process.stdout.read().decode()
    job.wait(), sampler.wait()
    job.output = output
    return job, sampler, bench.recording()[1]


def perf_engine(bench):
    """The perf engine at 1000 Hz on clang, compared with perf record -g."""
    target = workloads.compile_heavy(bench.folder, 12)
    complete, lost, share = [], [], []

    def ours():
        job, sampler, report = attached(bench, target, "--engine", "perf", "--rate", "1000")
        complete.append(report["complete_stacks"])
        lost.append(sum(report["lost"].values()))
        share.append(sampler.cpu / job.wall)
        return job

    def theirs():
        job = Job(target)
        perf = Job(["perf", "record", "-q", "-F", "999", "-g", "-o", bench.folder / "perf.data",
                    "-p", job.pid])
        job.wait(), perf.wait()
        return job

    if not shutil.which("perf"):
        bench.table.row("target's CPU, perf engine to perf record -g", "perf is missing")
        for _ in range(3):
            ours()
    else:
        measured = pairs.pairs(ours, theirs, bench.pairs)
        bench.judge("target's CPU, perf engine to perf record -g", measured["ratio"], 1.0,
                    f"{measured['ratio']:.3f} [{measured['low']:.3f} {measured['high']:.3f}]")
    bench.judge("perf engine, 1000 Hz: complete stacks, clang", min(complete), 0.99,
                f"{min(complete):.4f}", ">=")
    bench.judge("perf engine, 1000 Hz: lost", max(lost), 0, f"{max(lost)}")
    middle = statistics.median(share)
    bench.judge("perf engine, 1000 Hz: sampan, share of a core", middle, 0.08, f"{middle:.3f}")


def ptrace_engine(bench):
    """How long the ptrace engine stops a thread, as the thread itself observes it."""
    gaps = [bench.build / "bench" / "gaps", "4"]

    def absences(*options):
        job = attached(bench, gaps, *options)[0] if options else Job(gaps, stdout=subprocess.PIPE)
        text = job.output if options else job.process.stdout.read().decode()
        count, median, total, _ = map(float, text.split())
        return count, median, total

    # At the rate of the tick each absence contains a stop; the rest of it is the tick's own.
    stops, shares = [], []
    for _ in range(bench.pairs):
        bare = absences()
        stops.append(absences("--engine", "ptrace", "--rate", "250")[1] - bare[1])
        shares.append((absences("--engine", "ptrace", "--rate", "100")[2] - bare[2]) / 4e6)
    middle = statistics.median(stops)
    bench.judge("ptrace engine: stop, median, us", middle, 25, f"{middle:.1f}")
    middle = statistics.median(shares)
    bench.judge("ptrace engine, 100 Hz: share of the target's time", middle, 0.01, f"{middle:.4f}")


def wall_clock(bench):
    """512 threads, of which 510 wait."""
    target = [bench.build / "bench" / "idlers", "512", "2", "5"]
    shares, turns, bare_turns = [], [], []
    for _ in range(3):
        bare = Job(target, stdout=subprocess.PIPE)
        bare_turns.append(int(bare.process.stdout.read()))
        bare.wait()
        job, sampler, _ = attached(bench, target, "--clock", "wall", "--rate", "100")
        shares.append(sampler.cpu / job.wall)
        turns.append(int(job.output))
    middle = statistics.median(shares)
    bench.judge("wall clock, 512 threads: share of a core", middle, 0.05, f"{middle:.3f}")
    bench.judge("  times that 510 idle threads got a CPU", min(turns), max(bare_turns),
                f"{min(turns)} to {max(turns)}")


def dump(bench):
    """A snapshot with names, compared with the same by other programs."""
    def seconds(command, count=5):
        times = []
        for _ in range(count):
            begin = time.monotonic()
            subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=True)
            times.append(time.monotonic() - begin)
        return statistics.median(times)

    compile_heavy = workloads.compile_heavy(bench.folder, 40)
    targets = {  # the bound, and the time of eu-stack on the machine where it was set
        "4 threads, 50 deep": ([bench.build / "bench" / "deep_threads", "4", "50"], 0.060, 0.058),
        "clang": (["clang++", "-cc1", *cc1_arguments(compile_heavy)], 0.200, 0.191),
    }
    for name, (command, bound, eu_stack) in targets.items():
        job = Job(command)
        time.sleep(0.5)
        bench.table.note(pairs.shown([bench.sampan, "dump", "PID"]))
        measured = seconds([bench.sampan, "dump", job.pid])
        bench.judge(f"dump, {name}, ms", measured * 1e3, bound * 1e3, f"{measured * 1e3:.0f}")
        if shutil.which("eu-stack"):
            theirs = seconds(["eu-stack", "-i", "-p", job.pid])
            bench.judge("  to eu-stack", measured / theirs, round(bound / eu_stack, 2),
                        f"{measured / theirs:.2f} ({theirs * 1e3:.0f} ms)")
        if shutil.which("gdb"):
            theirs = seconds(["gdb", "-batch", "-ex", "thread apply all bt", "-p", job.pid], 1)
            bench.table.row("  gdb", f"{theirs * 1e3:.0f}")
        job.process.kill()
        job.wait()


def cc1_arguments(command):
    """The arguments of the compiler proper, which the driver would run."""
    shown = subprocess.run([*command, "-###"], stderr=subprocess.PIPE, check=True).stderr.decode()
    line = next(line for line in shown.splitlines() if '"-cc1"' in line)
    words = [word.strip('"') for word in line.split()]
    return words[words.index("-cc1") + 1:]


ROWS = {"perf_engine": perf_engine, "ptrace_engine": ptrace_engine, "wall_clock": wall_clock,
        "dump": dump}
