"""What profile.html costs at the size that is promised: rows of bench/run.py.

A million samples of 2,000 threads with 200,000 distinct stacks. Larger profiles are merged to fit.
"""
import os
import pathlib
import subprocess
import sys

SIZE = ("1000000", "2000", "200000")
HERE = pathlib.Path(__file__).resolve().parent
BOUNDS_MS = {"open": 3000, "zoom": 100,
             "tracks-picture": 1000 / 30, "stacks-picture": 1000 / 30}  # 30 pictures a second while one zooms and moves


def page(bench):
    html = bench.folder / "large.html"
    command = [bench.build / "bench" / "large_page", html, *SIZE]
    bench.table.note(" ".join(map(str, command)))
    seconds = float(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout)
    bench.judge("page of 1 M samples, writing it, s", seconds, 2, f"{seconds:.2f}")
    megabytes = html.stat().st_size / 1e6
    bench.judge("page of 1 M samples, MB", megabytes, 20, f"{megabytes:.1f}")
    npm = HERE.parent / "tests" / "support" / "npm_packages.py"
    clock = [sys.executable, npm, "node", HERE / "page_clock.js", html]
    bench.table.note(" ".join(map(str, clock)))
    environment = {**os.environ, "NPM_PACKAGES": str(bench.build / "tests" / "npm")}
    lines = subprocess.run(clock, check=True, text=True, stdout=subprocess.PIPE, env=environment).stdout
    for line in lines.splitlines():
        name, taken = line.split()
        what = f"page of 1 M samples, {name}, ms"
        if name in BOUNDS_MS:
            bench.judge(what, float(taken), BOUNDS_MS[name], taken)
        else:
            bench.table.row(what, taken)


ROWS = {"page": page}
