"""Names for addresses, compared with other symbolizers: rows of bench/run.py.

Each program reads 20,000 distinct addresses from a file and prints names with inlines. The result is
addresses per CPU second (user and system). The small binary is compiled from sampan's own sources. The
large debug file is that of libjvm if openjdk-17-dbg is installed, otherwise that of libc. "Cold" means
without the cache of names. eu-addr2line gets fewer addresses, because it needs minutes.

Machines differ in speed. So each bound is also judged as a ratio to llvm-symbolizer 14, in pairs: its
speed on the machine where the bounds were set is known.
"""
import os
import pathlib
import random
import re
import resource
import shutil
import statistics
import subprocess
import time

import workloads

ADDRESSES = 20_000
FEW = 100
OTHERS = (("llvm-symbolizer", [], ADDRESSES), ("addr2line", ["-fi"], ADDRESSES), ("eu-addr2line", ["-fi"], 200))
SYMBOLIZER = {"small": 52_405, "large": 4_789}  # its addresses/s where the bounds were set
CLANG_SAMPLES = 10_000
ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBJVM = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so")


def addresses_of(path, count):
    """Random distinct addresses in .text."""
    sections = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    begin, size = re.search(r" \.text +\S+ +(\w+) +\w+ +(\w+)", sections).groups()
    begin, size = int(begin, 16), int(size, 16)
    return random.Random(1).sample(range(begin, begin + size), min(count, size))


def debug_file_of(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes).group(1)
    return pathlib.Path(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")


def compiled(path, *flags, compiler="g++", sources="[a-f]*.cpp"):
    """Compiles some of sampan's own sources to the library `path`."""
    files = sorted((ROOT / "profile").glob(sources))
    subprocess.run([compiler, "-std=c++20", *flags, "-shared", "-fPIC", "-Wl,--build-id",
                    f"-I{ROOT}", *map(str, files), "-o", str(path)], check=True, cwd=path.parent)
    return path


def small_binary(folder):
    return compiled(folder / "small.so", "-O2", "-g")


def large_file():
    if LIBJVM.exists() and debug_file_of(LIBJVM).exists():
        return debug_file_of(LIBJVM)
    libc = debug_file_of("/lib/x86_64-linux-gnu/libc.so.6")
    return libc if libc.exists() else None


def measure(bench, command, addresses):
    """Runs `command` once. Returns CPU seconds, MB of memory, seconds of wall time."""
    asked = bench.folder / "addresses"
    asked.write_text("\n".join(map(hex, addresses)) + "\n")
    bench.table.note(" ".join(map(str, command)) + f" < {len(addresses)} addresses")
    with asked.open() as questions:
        begin = time.monotonic()
        process = subprocess.Popen(list(map(str, command)), stdin=questions, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
    process.returncode = status
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, wall


def best(bench, command, addresses, runs=5):
    return min(measure(bench, command, addresses) for _ in range(runs))


def times_as_fast(bench, ours, addresses, path):
    """How many times as fast as llvm-symbolizer: the median of three pairs."""
    theirs = ["llvm-symbolizer", "-e", path]
    return statistics.median(measure(bench, theirs, addresses)[0] / measure(bench, ours, addresses)[0]
                             for _ in range(3))


def symbols(bench):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["XDG_CACHE_HOME"] = str(bench.folder / "cache")
    files = [("small", small_binary(bench.folder), 300_000, 80), ("large", large_file(), 20_000, 500)]
    for name, path, bound, memory_bound in files:
        if path is None:
            continue
        addresses = addresses_of(path, ADDRESSES)
        cached = [bench.sampan, "addr2line", "-fi", "-e", path]
        cold = [*cached, "--no-cache"]

        def judge_rate(what, measured, least):
            rate = len(addresses) / measured[0]
            bench.judge(what, rate, least, f"{rate:,.0f} ({measured[1]:.0f} MB)", ">=")

        measured = best(bench, cold, addresses)
        judge_rate(f"{name} file, {path.stat().st_size / 1e6:.0f} MB: addresses/CPU s, cold", measured, bound)
        bench.judge("  MB of memory", measured[1], memory_bound, f"{measured[1]:.0f}")
        measure(bench, cached, addresses)
        judge_rate("  from the cache", best(bench, cached, addresses, runs=15), 2_000_000)
        if shutil.which("llvm-symbolizer"):
            for what, command, rate in (("cold", cold, bound), ("cached", cached, 2_000_000)):
                ratio = times_as_fast(bench, command, addresses, path)
                bench.judge(f"  to llvm-symbolizer, {what}", ratio, round(rate / SYMBOLIZER[name], 2), f"{ratio:.2f}", ">=")
        cpu, _, wall = best(bench, cold, addresses[:FEW])
        bench.judge(f"  {FEW} addresses, s of CPU, cold", cpu, 0.3, f"{cpu:.3f} ({wall:.3f} wall)")
        for other, options, count in OTHERS:
            if shutil.which(other) is None:
                bench.table.row(f"  {other}", "is missing")
                continue
            some = addresses[:count]
            cpu, megabytes, _ = measure(bench, [other, *options, "-e", path], some)
            bench.table.row(f"  {other}, {len(some):,} addresses",
                            f"{len(some) / cpu:,.0f} ({megabytes:.0f} MB)")


def symbol_tables(bench):
    """A library without debug information."""
    path = next(iter(sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libLLVM-*.so*"))), None)
    if path is None or not shutil.which("llvm-symbolizer"):
        return bench.table.row("symbol tables: libLLVM is not installed", "skipped")
    addresses = addresses_of(path, ADDRESSES)
    ratio = times_as_fast(bench, [bench.sampan, "addr2line", "-fi", "-e", path, "--no-cache"], addresses, path)
    bench.judge(f"symbol tables of {path.name}, to llvm-symbolizer", ratio, 6, f"{ratio:.2f}", ">=")


def recording(bench):
    """All names of a recording, with an empty cache."""
    if "clang" not in bench.workloads:
        return
    command = workloads.compile_heavy(bench.folder, 20)
    rate = ["--rate", "1000", "--no-symbolize"]
    workloads.run("clang", command, bench.folder, bench.capture(*rate))
    path, report = bench.recording()
    seconds = []
    for number in range(3):
        copy = shutil.copy(path, bench.folder / "copy.sampan")
        os.environ["XDG_CACHE_HOME"] = str(bench.folder / f"none{number}")
        names = [bench.sampan, "symbolize", str(copy)]
        bench.table.note(" ".join(names))
        begin = time.monotonic()
        process = subprocess.Popen(names, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        seconds.append((time.monotonic() - begin, usage.ru_utime + usage.ru_stime))
    wall, cpu = min(seconds)
    addresses = re.search(r"of (\d+) addresses", said).group(1)
    scaled = wall * CLANG_SAMPLES / report["samples"]
    bench.judge(f"clang, {CLANG_SAMPLES:,} samples: names, s", scaled, 0.5,
                f"{scaled:.2f} ({report['samples']:,} samples, {addresses} addresses, "
                f"{wall:.2f} s, {cpu:.2f} of CPU)")


ROWS = {"symbols": symbols, "symbol tables": symbol_tables, "symbols of a recording": recording}
