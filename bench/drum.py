"""The drummer at 1000 Hz: samples for each second of CPU, and what it adds to a program."""
import pairs
import workloads

RATE = 1000


def capture(bench):
    return bench.capture("--rate", str(RATE), "--sampling-clock", "drum", "--max-overhead", "none")


def rate(bench, name, command):
    """Samples for each second of CPU of the thread that used most."""
    workloads.run(name, command, bench.folder, capture(bench))
    _, report = bench.recording()
    thread = max(report["threads"], key=lambda row: row["cpu_s"])
    each = thread["samples"] / thread["cpu_s"]
    bench.judge(f"samples a CPU-second at {RATE} Hz, {name}", each, 0.95 * RATE, f"{each:.0f}", ">=")


def added(bench, name, command):
    """CPU that it adds, the collector's too, to what perf record adds at the same rate."""
    bare = lambda: workloads.run(name, command, bench.folder)
    perf = ["perf", "record", "-q", "-F", str(RATE), "-e", "task-clock:u", "-g", "-o", str(bench.folder / "perf.data"), "--"]
    bench.table.note(pairs.shown([*capture(bench), *command])[:160])
    bench.table.note(pairs.shown(perf))
    ours = pairs.pairs(lambda: workloads.run(name, command, bench.folder, capture(bench)), bare, bench.pairs)["ratio"]
    theirs = pairs.pairs(lambda: workloads.run(name, command, bench.folder, perf), bare, bench.pairs)["ratio"]
    bench.judge(f"CPU added by the drummer at {RATE} Hz to perf record's, {name}", (ours - 1) / (theirs - 1), 0.7,
                f"{(ours - 1) / (theirs - 1):.2f} ({ours:.3f}/{theirs:.3f})")


def drum(bench):
    for name, command in bench.workloads.items():
        rate(bench, name, command)
        if name != "redis":
            added(bench, name, command)


ROWS = {"drum": drum}
