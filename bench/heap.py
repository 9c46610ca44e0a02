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


# A program that allocates: lists of pieces of text.
PERL = ["perl", "-e", r"""
for my $round (1 .. $ARGV[0]) {
  my %words;
  push @{$words{$_ % 997}}, "word $_" for 1 .. 50_000;
  my $length = 0;
  $length += length join(",", sort @{$words{$_}}) for keys %words;
}"""]


def gperftools(bench):
    """The variables under which a program starts with gperftools' heap profiler, which then unwinds at each allocation;
    without files before the end."""
    return {"LD_PRELOAD": str(TCMALLOC), "HEAPPROFILE": str(bench.folder / "heap"),
            "HEAP_PROFILE_ALLOCATION_INTERVAL": "0"}


def cost(bench):
    """What sampled allocations cost: a pair of malloc and free, a recorded one, and a whole program."""
    program = str(bench.build / "bench" / "allocation_pairs")
    others = {}
    if shutil.which("heaptrack"):
        others["heaptrack"] = ["heaptrack", "-o", str(bench.folder / "heaptrack")], {}
    if TCMALLOC:
        others["gperftools"] = [], gperftools(bench)

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

    def pair_of_others(*words):
        for name, (prefix, env) in others.items():
            theirs = compare(prefix, *words, env=env, count=1)
            bench.table.row(f"  {name}", f"{theirs['least']:.0f}")

    for threads in ("1", "4"):
        ours = compare(bench.capture("--heap"), threads)
        bench.judge(f"malloc and free more with --heap, {threads} threads, ns", ours["least"], 5,
                    f"{ours['least']:.1f} ({ours['a']:.1f}/{ours['b']:.1f})")
        pair_of_others(threads, "200000")
    # Two records a pair, that of the allocation and that of the free.
    ours = compare(bench.capture("--heap=1"), "sampled")
    bench.judge("recorded allocation or free, depth 30, us", ours["difference"] / 2000, 2,
                f"{ours['difference'] / 2000:.2f}")
    pair_of_others("sampled")

    def added(prefix, rounds, env=None, count=bench.pairs):
        """CPU in ms that a round costs more than it does alone. A profiler that unwinds at each allocation gets fewer."""
        command = [*PERL, str(rounds)]
        bench.table.note(pairs.shown([*prefix, *command], env).replace("\n", " "))
        measured = pairs.pairs(lambda: pairs.Cost([*prefix, *command], env), lambda: pairs.Cost(command), count)
        return measured["least"] / rounds * 1000, measured["a"] / measured["b"]

    ours, ratio = added(bench.capture("--heap"), 100)
    bench.table.row("perl, a round: CPU more with --heap, ms", f"{ours:.2f} ({ratio:.2f} of bare)")
    for name, (prefix, env) in others.items():
        theirs, ratio = added(prefix, 10, env, 1)
        ahead = theirs / max(ours, 1e-3)
        bench.judge(f"  {name}, to ours", ahead, 5, f"{ahead:.0f} ({theirs:.1f} ms, {ratio:.2f} of bare)", ">=")


ROWS = {"heap": cost}
