"""Reading perf.data, compared with perf script: rows of bench/run.py.

Both print or write all samples of the same file, with names, lines and inlined functions; wall time. perf looks up inlined
functions for each frame of a copied stack, which takes it 40 ms a sample, so that file is of few samples.
"""
import shutil
import subprocess

import pairs
import workloads

BOUND = 0.1
KINDS = {"chains": ["-F", "4000", "-g"], "copied stacks": ["-F", "100", "--call-graph", "dwarf,16384"]}


def rows(bench):
    if shutil.which("perf") is None:
        bench.table.note("import: perf is not installed")
        return
    target = workloads.compile_heavy(bench.folder, 24)
    for kind, options in KINDS.items():
        file = bench.folder / f"{kind.split()[0]}.data"
        record = ["perf", "record", "-q", "-e", "cpu-clock", *options, "-o", str(file), "--", *map(str, target)]
        bench.table.note(pairs.shown(record))
        if subprocess.run(record, cwd=bench.folder, capture_output=True, check=False).returncode != 0:
            bench.table.note("import: perf record is refused here")
            return
        ours = [bench.sampan, "import", "-o", str(bench.folder / "imported"), str(file)]
        theirs = ["perf", "script", "-i", str(file)]
        measured = pairs.pairs(lambda: pairs.Cost(ours), lambda: pairs.Cost(theirs), 3, measure=lambda run: run().wall)
        bench.table.note(pairs.shown(ours))
        bench.table.note(pairs.shown(theirs))
        bench.judge(f"import of perf.data, {kind}, to perf script", measured["ratio"], BOUND,
                    f"{measured['ratio']:.3f} ({measured['a']:.2f}/{measured['b']:.2f} s)")


ROWS = {"import": rows}
