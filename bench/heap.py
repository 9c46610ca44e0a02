"""What sampled allocations cost in the program: rows of bench/run.py."""
import os
import pathlib
import re
import shutil
import subprocess

import pairs

# gperftools' heap profiler is in libtcmalloc, not in the minimal one.
TCMALLOC = next((path for path in (pathlib.Path(folder) / "libtcmalloc.so.4" for folder in (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")) if path.exists()), None)


def cost(bench):
    """A pair of malloc and free: alone, sampled at the usual mean, and when every one is recorded."""
    program = str(bench.build / "bench" / "allocation_pairs")

    def ns(prefix, *words, env=None):
        command = [*prefix, program, *words]
        bench.table.note(pairs.shown(command, env))
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env={**os.environ, **(env or {})}).stdout
        # heaptrack writes to the same output.
        return float(next(line for line in text.splitlines() if re.fullmatch(r"\d+\.\d\d", line)))

    def compare(prefix, *words, env=None, count=5):
        return pairs.pairs(lambda: ns(prefix, *words, env=env), lambda: ns([], *words), count,
                           measure=lambda run: run())

    def others(*words):
        if shutil.which("heaptrack"):
            theirs = compare(["heaptrack", "-o", str(bench.folder / "heaptrack")], *words, count=1)
            bench.table.row("  heaptrack", f"{theirs['difference']:.0f}")
        if TCMALLOC:
            env = {"LD_PRELOAD": str(TCMALLOC), "HEAPPROFILE": str(bench.folder / "heap"),
                   "HEAP_PROFILE_ALLOCATION_INTERVAL": "0"}
            theirs = compare([], *words, env=env, count=1)
            bench.table.row("  gperftools, with its own malloc", f"{theirs['difference']:.0f}")

    for threads in ("1", "4"):
        ours = compare(bench.capture("--heap"), threads)
        bench.judge(f"malloc and free more with --heap, {threads} threads, ns", ours["difference"], 5,
                    f"{ours['difference']:.1f} ({ours['a']:.1f}/{ours['b']:.1f})")
        others(threads)
    # Two records a pair, that of the allocation and that of the free.
    ours = compare(bench.capture("--heap=1"), "sampled")
    bench.judge("recorded allocation or free, depth 30, us", ours["difference"] / 2000, 2,
                f"{ours['difference'] / 2000:.2f}")
    others("sampled")


ROWS = {"heap": cost}
