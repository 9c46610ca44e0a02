"""What a report about ten million spans costs: rows of bench/run.py."""
import os
import subprocess
import time

SPANS = 10_000_000
SECONDS, MEGABYTES = 5, 1000


def spans(bench):
    recording = bench.folder / "spans.sampan"
    made = [bench.build / "bench" / "large_spans", recording, str(SPANS)]
    bench.table.note(" ".join(map(str, made)))
    subprocess.run(made, check=True)
    for options in ([], ["--tree"], ["--cpu"]):
        command = [bench.sampan, "spans", *options, str(recording)]
        bench.table.note(" ".join(command))
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds, megabytes = time.monotonic() - begin, usage.ru_maxrss / 1e3
        assert status == 0, command
        what = " ".join(["spans", *options])
        bench.judge(f"{what} of 10 M, s", seconds, SECONDS, f"{seconds:.2f}")
        bench.judge(f"{what} of 10 M, MB", megabytes, MEGABYTES, f"{megabytes:.0f}")


ROWS = {"spans": spans}
