"""What opening and exporting a large recording costs: rows of bench/run.py.

The recording has a million samples, with the stacks of a real compile. Names are looked up before the
clock starts: that time depends on the program, not on its samples.
"""
import pathlib
import shutil
import statistics
import subprocess
import time

import pairs
import workloads

SAMPLES = 1_000_000
MEMORY_MB = 500
SECONDS = {"open": 1, "pprof": 1, "folded": 1}
OTHERS_SECONDS = 2


def real_recording(bench):
    """A recording of a compile by clang, at 1000 Hz."""
    command = workloads.compile_heavy(bench.folder, 12)
    workloads.run("clang", command, bench.folder, bench.capture("--rate", "1000"))
    return bench.recording()[0]


def clock(bench, *command):
    bench.table.note(" ".join(map(str, command)))
    begin = time.monotonic()
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def exports(bench):
    large = bench.folder / "large.sampan"
    made = bench.folder / "exports"
    made.mkdir()
    tools = bench.build / "bench"
    subprocess.run([tools / "large_recording", real_recording(bench), large, str(SAMPLES)], check=True)
    report(bench, large)
    bench.table.note(f"{tools / 'export_clock'} {large} {made}")
    rows = subprocess.run([tools / "export_clock", large, made], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    for row in rows.splitlines():
        name, seconds, cpu_seconds, memory = row.split()
        files = list(made.glob(f"{name}.*"))
        size = f", {files[0].stat().st_size / 1e6:.1f} MB" if files else ""
        bench.judge(f"1 M samples, {name}, s", float(seconds), SECONDS.get(name, OTHERS_SECONDS),
                    f"{float(seconds):.2f} ({float(cpu_seconds):.2f} of CPU{size})")
        bench.judge(f"1 M samples, {name}, MB of memory", float(memory), MEMORY_MB, memory)
    others(bench, made)


def report(bench, large):
    """From the start of `sampan report` to its first line, with the names in the recording."""
    subprocess.run([bench.sampan, "symbolize", large], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    command = [bench.sampan, "report", str(large)]
    bench.table.note(pairs.shown(command))
    def first_line():
        begin = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            process.stdout.readline()
            seconds = time.monotonic() - begin
            process.stdout.read()
        return seconds
    ms = 1000 * statistics.median(first_line() for _ in range(bench.pairs))
    bench.judge("1 M samples, report's first line, ms", ms, 50, f"{ms:.0f}")


def others(bench, made):
    """Other programs that read as many samples, or write them in the same formats."""
    if shutil.which("go"):
        seconds = clock(bench, "go", "tool", "pprof", "-proto", "-output", bench.folder / "again.pb.gz",
                        made / "pprof.pb.gz")
        bench.table.row("  go tool pprof, reading and writing pprof, s", f"{seconds:.2f}")
    command = workloads.compile_heavy(bench.folder, 2)
    if shutil.which("perf"):
        data = bench.folder / "perf.data"
        workloads.run("clang", command, bench.folder,
                      ["perf", "record", "-q", "-F", "999", "-g", "-o", str(data), "--"])
        text = subprocess.run(["perf", "script", "-i", str(data), "-F", "comm"], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        samples = max(1, len(text.splitlines()))
        seconds = clock(bench, "perf", "script", "-i", data)
        bench.table.row("  perf script, s per 1 M samples, with names",
                        f"{seconds * SAMPLES / samples:.1f} ({samples} samples)")
    profiler = next(iter(sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libprofiler.so.0*"))),
                    None)
    if profiler and shutil.which("google-pprof"):
        data = bench.folder / "gperf.prof"
        subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(profiler),
                                                 "CPUPROFILE": str(data), "CPUPROFILE_FREQUENCY": "1000"},
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        files = sorted(bench.folder.glob("gperf.prof*"), key=lambda path: path.stat().st_size)
        if files:
            seconds = clock(bench, "google-pprof", "--collapsed", shutil.which(command[0]), files[-1])
            bench.table.row("  google-pprof --collapsed, s for 2 s of clang", f"{seconds:.1f}")


ROWS = {"exports": exports}
