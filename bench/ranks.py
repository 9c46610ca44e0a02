"""A thousand recordings of a minute at 100 Hz, eight threads each, merged: time, memory and size."""
import os
import shutil
import subprocess
import time

import exports

RANKS, SAMPLES = 1000, 60 * 100 * 8
SECONDS, MEMORY_MB = 10, 1024


def ranks(bench):
    folder = bench.folder / "ranks"
    folder.mkdir()
    first = folder / "rank-0.sampan"
    subprocess.run([bench.build / "bench" / "large_recording", exports.real_recording(bench), first, str(SAMPLES)], check=True)
    for rank in range(1, RANKS):
        shutil.copy(first, folder / f"rank-{rank}.sampan")
    merged = folder / "merged.sampan"
    command = [bench.sampan, "merge", *(f"{rank}={folder}/rank-{rank}.sampan" for rank in range(RANKS)), "-o", merged]
    bench.table.note(f"{bench.sampan} merge 0={first} ... -o {merged}")
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    assert status == 0, status
    bench.judge(f"merge of {RANKS:,} recordings, s", seconds, SECONDS, f"{seconds:.1f} ({usage.ru_utime + usage.ru_stime:.1f} of CPU)")
    bench.judge("  MB of memory", usage.ru_maxrss / 1024, MEMORY_MB, f"{usage.ru_maxrss / 1024:.0f}")
    bench.table.row("  size", f"{merged.stat().st_size / 1e6:.0f} MB of {RANKS * first.stat().st_size / 1e6:.0f}")


ROWS = {"ranks": ranks}
