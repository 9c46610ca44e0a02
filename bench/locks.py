"""What recorded locks cost in the program: rows of bench/run.py."""
import subprocess

import pairs


def cost(bench):
    """Getting a free lock and releasing it: alone, and when waits for locks are recorded."""
    program = str(bench.build / "bench" / "lock_pairs")

    def ns(prefix):
        command = [*prefix, program]
        bench.table.note(pairs.shown(command))
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        return {kind: float(value) for kind, value in map(str.split, lines.splitlines())}

    runs = [(ns(bench.capture("--locks")), ns([])) for _ in range(3)]
    for kind in runs[0][1]:
        ours, bare = (min(run[side][kind] for run in runs) for side in (0, 1))
        bench.judge(f"{kind.replace('_', ' ')}, free, more with --locks, ns", ours - bare, 3,
                    f"{ours - bare:.1f} ({ours:.1f}/{bare:.1f})")


ROWS = {"locks": cost}
