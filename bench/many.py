"""Many threads and long runs: what the collector and the target need does not grow from the beginning of a session to its end."""
import json
import pathlib
import statistics
import subprocess
import time

import pairs

GROWTH = 1.05
COVERAGE = 0.95


def cpu_s(pid):
    """The CPU of all threads, to the nanosecond: a collector that runs for moments is not met by the kernel's tick."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def resident_kb(pid):
    words = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().split()
    return int(words[words.index("Pss:") + 1])


def day(bench):
    """24 hours at 100 Hz, with stacks like clang's, as fast as the collector can write them."""
    command = [str(bench.build / "bench" / "long_session"), str(24 * 3600 * 100), "100", str(bench.folder / "day.sampan")]
    bench.table.note(pairs.shown(command))
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    tenths = [tuple(map(float, line.split())) for line in lines]
    for what, unit, column in (("memory", "MB", 0), ("CPU a sample", "ns", 1), ("recording's growth", "bytes a sample", 2)):
        first, last = tenths[0][column], tenths[-1][column]
        scale = 1024 if unit == "MB" else 1
        bench.judge(f"24 h at 100 Hz: {what}, last tenth to first", last / first, GROWTH,
                    f"{last / first:.3f} ({last / scale:.0f}/{first / scale:.0f} {unit})")


def live(bench, threads, busy, seconds):
    """`threads`, of which `busy` compute, the last ones to start. What is summed leaves out the first tenth, which has the start."""
    command = [str(bench.build / "bench" / "idlers"), str(threads), str(busy), str(seconds)]
    recording = bench.folder / f"many-{threads}"
    words = [bench.sampan, "run", "--quiet", "--format", "none", "--output", str(recording), "--rate", "100", "--"]
    bench.table.note(pairs.shown([*words, *command]))
    collector = subprocess.Popen([*words, *command], stdout=subprocess.DEVNULL)
    start, looks = time.monotonic(), []
    for tenth in range(1, 10):
        time.sleep(max(0, start + tenth * seconds / 10 - time.monotonic()))
        [target] = pathlib.Path(f"/proc/{collector.pid}/task/{collector.pid}/children").read_text().split()
        [file] = recording.glob("*/recording.sampan")
        looks.append((cpu_s(collector.pid), resident_kb(collector.pid), resident_kb(target), file.stat().st_size))
    collector.wait()
    name = f"{threads:,} threads, {busy} run"
    report = json.loads(subprocess.run([bench.sampan, "report", "--json", file], check=True, stdout=subprocess.PIPE).stdout)
    bench.judge(f"{name}: coverage", report["coverage"], COVERAGE, f"{report['coverage']:.3f} {report['lost'] or ''}", ">=")
    steps = [[b - a for a, b in zip(before, after)] for before, after in zip(looks, looks[1:])]
    cpu = [step[0] for step in steps]
    bytes_each = [step[3] for step in steps]
    half = len(steps) // 2
    # A tenth has too few samples to compare alone.
    for what, values, unit in (("collector's CPU", [1000 * used for used in cpu], "ms a tenth"),
                               ("recording's growth", bytes_each, "bytes a tenth")):
        last, first = statistics.mean(values[-half:]), statistics.mean(values[:half])
        bench.judge(f"{name}: {what}, last half to first", last / first, GROWTH, f"{last / first:.3f} ({last:.0f}/{first:.0f} {unit})")
    for what, column in (("collector's memory", 1), ("target's memory", 2)):
        ratio = looks[-1][column] / looks[0][column]
        bench.judge(f"{name}: {what}, last tenth to first", ratio, GROWTH, f"{ratio:.3f} ({looks[-1][column] / 1024:.0f} MB)")
    bare = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(seconds / 2)
    added_kb = (looks[-1][2] - resident_kb(bare.pid)) / threads
    bare.kill()
    bare.wait()
    bench.table.row(f"{name}: target's memory, each", f"{added_kb:.1f} KB more")
    bench.table.row(f"{name}: collector", f"{100 * sum(cpu) / (seconds * 0.8):.1f} % of a core")


def many(bench):
    day(bench)
    live(bench, 10_000, 4, 60)
    live(bench, 64, 64, 60)


ROWS = {"many": many}
