"""The memory of a recorder that runs for days: rows of bench/run.py.

Ten minutes of redis-server under load at 100 Hz, in files of ten seconds, so that the state of a file is
created and discarded sixty times. SAMPAN_BENCH_SECONDS makes it shorter. The memory is what the kernel
counts for sampan alone: private pages, without the rings that it shares with the target.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

SECONDS = float(os.environ.get("SAMPAN_BENCH_SECONDS", "600"))
EVERY_S = 5
PORT = "7399"
# During the first files, the tables grow to the size of a file's stacks, and the allocator settles.
WARM_UP_S = 60
FLAT_KB_PER_MINUTE = 20


def private_kb(pid):
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kb) for kb in re.findall(r"^Private_(?:Clean|Dirty): +(\d+) kB", rollup, re.MULTILINE))


def slope(points):
    """The growth in kilobytes a minute, by least squares."""
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return above / sum((x - mean_x) ** 2 for x, _ in points) * 60


def continuous(bench):
    if not shutil.which("redis-server"):
        bench.table.row("continuous: redis-server is not installed", "skipped")
        return
    output = bench.folder / "continuous"
    command = [bench.sampan, "run", "--continuous", "--rotate", "10s", "--keep", "60s", "--rate", "100", "--quiet",
               "--output", str(output), "--", "redis-server", "--port", PORT, "--save", "", "--appendonly", "no"]
    bench.table.note(" ".join(command))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    sampan = subprocess.Popen(command, cwd=bench.folder, **quiet)
    time.sleep(1)
    load = subprocess.Popen(["redis-benchmark", "-p", PORT, "-q", "-n", "2000000000", "-c", "20"], **quiet)
    begin = time.monotonic()
    points, disk = [], 0
    try:
        while time.monotonic() < begin + SECONDS and sampan.poll() is None:
            time.sleep(EVERY_S)
            points.append((time.monotonic() - begin, private_kb(sampan.pid)))
            files = list(output.glob("*/segments/*"))
            disk = max(disk, sum(file.stat().st_size for file in files if file.exists()))
    finally:
        load.kill()
        load.wait()
        sampan.send_signal(signal.SIGTERM)
        sampan.wait()
    minutes = {}
    for seconds, kb in points:
        minutes.setdefault(int(seconds // 60), []).append(kb)
    for minute, values in sorted(minutes.items()):
        bench.table.row(f"  memory of sampan in minute {minute + 1}, MB", f"{max(values) / 1024:.2f}")
    settled = [point for point in points if point[0] >= min(WARM_UP_S, SECONDS / 3)]
    growth = slope(settled)
    bench.judge("growth of sampan's memory, KB a minute", growth, FLAT_KB_PER_MINUTE, f"{growth:.1f}")
    bench.table.row("  segments kept, MB at most", f"{disk / 1e6:.2f}")


ROWS = {"continuous": continuous}
