"""What Python's frames cost: rows of bench/run.py. The interpreter is the system's."""
import statistics
import subprocess

import pairs
import portions

PYTHON = "/usr/bin/python3"
SHALLOW, DEEP = 10, 110

# Signals that a C function sends itself, below so many Python functions.
SIGNALS = """
import ctypes, sys
library, mode, depth, samples = sys.argv[1:]
cost = ctypes.CDLL(library).signal_cost
cost.restype = ctypes.c_double
def below(depth): return below(depth - 1) if depth else cost(mode.encode(), 0, int(samples))
print(below(int(depth)))
"""

# Ten functions that call each other, and a leaf that reads more memory than the caches hold, so that all that a walk
# reads is cold.
COLD = """
import random, sys
sys.setrecursionlimit(10000)
block = bytearray(64 << 20)
chosen = random.Random(7)
places = [chosen.randrange(len(block)) for _ in range(200000)]
def leaf():
    total = 0
    for place in places: total += block[place]
    return total
for number in range(9):
    exec(f"def level_{number}(): return {'leaf' if number == 0 else f'level_{number - 1}'}()")
for _ in sys.stdin: print(level_8(), flush=True)
"""

# Every thread has the same work, in short turns with a sleep between. It runs so long that the start of sampan is a small
# part, and that a thread has more samples than the one of its end.
THREADS = """
import threading, time
def part(number): return sum(number * i for i in range(3000))
def work():
    for number in range(300):
        part(number)
        time.sleep(0.001)
threads = [threading.Thread(target=work) for _ in range(160)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def frame(bench):
    """A warm Python frame: what a sample costs more below a hundred more of them, beside as many native frames."""
    library = str(bench.build / "bench" / "libself_signal.so")
    native = str(bench.build / "bench" / "self_signal")

    def run(command):
        bench.table.note(pairs.shown(command)[:160])
        return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.split()[-1])

    def python(mode, depth):
        prefix = bench.capture() if mode == "sampan" else []
        return run([*prefix, PYTHON, "-c", SIGNALS, library, mode, str(depth), "15000"])

    rounds = []
    for _ in range(3):
        each = {"empty": python("empty", SHALLOW), "shallow": python("sampan", SHALLOW), "deep": python("sampan", DEEP)}
        each["frame"] = (each["deep"] - each["shallow"]) / (DEEP - SHALLOW)
        each["native"] = (run([*bench.capture(), native, "sampan", str(DEEP), "15000"]) -
                          run([*bench.capture(), native, "sampan", str(SHALLOW), "15000"])) / (DEEP - SHALLOW)
        rounds.append(each)
    of = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    bench.judge("a Python frame, warm, ns", of["frame"], 100, f"{of['frame']:.0f}")
    bench.table.row("  a native frame", f"{of['native']:.0f}")
    bench.table.row(f"  a sample with {SHALLOW} Python frames", f"{of['shallow']:.0f} ns")
    bench.table.row("  an empty handler", f"{of['empty']:.0f} ns")


def account(bench):
    """What sampan itself says that the last run has cost: more exact than the difference of two runs, but without what the
    program loses in the caches."""
    cost = bench.recording()[1]["cost"]
    bench.table.row("  by its own account: in the target, recorder",
                    ", ".join(f"{cost[part] / cost['target_cpu_s']:.4f}" for part in ("in_target_s", "recorder_s")))


class Cold(portions.Side):
    """A program with ten Python functions on its stack whose data are never in a cache."""

    portions = 20
    COMMAND = [PYTHON, "-c", COLD]

    def __init__(self, prefix, _folder, _side, cpu):
        super().__init__(prefix, self.COMMAND, cpu, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def work(self):
        for _ in range(10):
            self.job.process.stdin.write(b"\n")
            self.job.process.stdin.flush()
            self.job.process.stdout.readline()
        return 0

    def end(self):
        self.job.process.stdin.close()
        self.job.wait()


def cpu(bench):
    """What a sample costs whose data are never in a cache, target and recorder together."""
    def of(what, prefix, bound=None):
        bench.table.note(pairs.shown([*prefix, *Cold.COMMAND])[:160])
        mean, text = portions.measured(Cold, prefix, bench.folder, 2 * bench.pairs)
        if bound:
            bench.judge(what, mean, bound, text)
            account(bench)
        else:
            bench.table.row(what, text)

    of("Python, 10 cold frames: CPU of two bare programs", ())
    for rate, bound in ((250, 1.005), (1000, 1.01)):
        of(f"Python, 10 cold frames: CPU at {rate} Hz", bench.capture("--rate", str(rate)), bound)
    library = bench.build / "bench" / "libempty_clock.so"
    of("  an empty handler at 1000 Hz", ["env", f"LD_PRELOAD={library}", "EMPTY_CLOCK_HZ=1000"])


def threads(bench):
    """A program of 160 Python threads."""
    command = [PYTHON, "-c", THREADS]
    for rate in (100, 200):
        ours = [*bench.capture("--rate", str(rate)), *command]
        bench.table.note(pairs.shown(ours)[:160])
        measured = pairs.pairs(lambda: pairs.Cost(ours), lambda: pairs.Cost(command), bench.pairs,
                               measure=lambda run: run().wall)
        bench.judge(f"160 Python threads: wall at {rate} Hz", measured["ratio"], 1.02,
                    f"{measured['ratio']:.3f} [{measured['low']:.3f} {measured['high']:.3f}]")
        account(bench)


ROWS = {"python_frame": frame, "python_cpu": cpu, "python_threads": threads}
