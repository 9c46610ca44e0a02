"""What profile.html costs at the size that is promised: rows of bench/run.py.

A million samples of 2,000 threads with 200,000 distinct stacks. Larger profiles are merged to fit.
"""
import os
import pathlib
import statistics
import subprocess
import sys

SIZE = ("1000000", "2000", "200000")
HERE = pathlib.Path(__file__).resolve().parent
MOST_TO_INERT = 3  # of a page of as many bytes that does nothing with them
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
    inert = bench.folder / "inert.html"
    inert.write_text('<!doctype html><meta charset="utf-8"><script type="application/octet-stream">' + "A" * html.stat().st_size +
                     '</script><div id="view"><canvas></canvas></div>', "utf-8")
    clock = [sys.executable, npm, "node", HERE / "page_clock.js", html, inert]
    bench.table.note(" ".join(map(str, clock)))
    environment = {**os.environ, "NPM_PACKAGES": str(bench.build / "tests" / "npm")}
    lines = subprocess.run(clock, check=True, text=True, stdout=subprocess.PIPE, env=environment).stdout
    taken = {name: [float(each) for each in values] for name, *values in map(str.split, lines.splitlines())}
    ratio = statistics.median(ours / theirs for ours, theirs in zip(taken["open"], taken["inert"]))
    bench.judge("page of 1 M samples, open, to a page of its size that does nothing", ratio, MOST_TO_INERT, f"{ratio:.2f}")
    for name, values in taken.items():
        what, median = f"page of 1 M samples, {name}, ms", statistics.median(values)
        if name in BOUNDS_MS:
            bench.judge(what, median, BOUNDS_MS[name], f"{median:.0f}")
        else:
            bench.table.row(what, f"{median:.0f}")


ROWS = {"page": page}
