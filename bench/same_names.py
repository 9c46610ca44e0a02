"""How often sampan's names equal those of llvm-symbolizer or addr2line: rows of bench/run.py.

Compares 100,000 random addresses (SAMPAN_BENCH_ADDRESSES) of one file for each form of debug
information: sampan's own C++ sources compiled in several ways, a Rust program, a Go program, and the
debug file of libjvm if openjdk-17-dbg is installed. tests/symbolizer/agreement.py defines what is
compared.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import symbols

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "symbolizer"))
import agreement  # noqa: E402

ADDRESSES = int(os.environ.get("SAMPAN_BENCH_ADDRESSES", "100000"))
LEAST = 99.9  # per cent


def run(*command, **options):
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, **options)


def shared_by_dwz(folder):
    """Two libraries whose common parts dwz moves to a third file. The other symbolizers do not read
    that file, so they get a copy made before dwz ran."""
    copies = [folder / name for name in ("one.so", "two.so")]
    symbols.compiled(copies[0], "-O2", "-gdwarf-4")
    for copy in (copies[1], folder / "before.so"):
        shutil.copy(copies[0], copy)
    run("dwz", "--multifile=shared.debug", *copies, cwd=folder)
    return copies[0], folder / "before.so"


def rust(folder):
    path = folder / "words"
    run("rustc", "-O", "-g", ROOT / "bench" / "words.rs", "-o", path, cwd=folder)
    return path


def go(folder):
    path = folder / "gofmt"
    run("go", "build", "-o", path, "cmd/gofmt", cwd=folder)
    return path


# For each form, the program that it needs, and how the file is made.
FORMS = {
    "C++ -O2, DWARF 5": ("g++", lambda folder: symbols.compiled(folder / "five.so", "-O2", "-g")),
    "C++ -O2, DWARF 4": ("g++", lambda folder: symbols.compiled(folder / "four.so", "-O2", "-gdwarf-4")),
    "C++ -O3 -flto": ("g++", lambda folder: symbols.compiled(folder / "lto.so", "-O3", "-flto", "-g")),
    "C++ -O2, split DWARF": ("g++", lambda folder: symbols.compiled(folder / "split.so", "-O2", "-g",
                                                                    "-gsplit-dwarf")),
    "C++ -O2, dwz": ("dwz", shared_by_dwz),
    "C++ -O2, clang": ("clang++", lambda folder: symbols.compiled(folder / "clang.so", "-O2", "-g",
                                                                  compiler="clang++")),
    "Rust": ("rustc", rust),
    "Go": ("go", go),
}


def agree(bench):
    files = []
    for form, (program, make) in FORMS.items():
        if shutil.which(program):
            folder = bench.folder / f"agreement{len(files)}"
            folder.mkdir()
            made = make(folder)
            files.append((form, *(made if isinstance(made, tuple) else (made, made))))
        else:
            bench.table.row(f"{form}", f"{program} is missing")
    if symbols.LIBJVM.exists() and symbols.debug_file_of(symbols.LIBJVM).exists():
        files.append(("libjvm, compressed", *[symbols.debug_file_of(symbols.LIBJVM)] * 2))
    for form, path, same in files:
        compared, kinds = agreement.compare(bench.sampan, str(path), ADDRESSES, same=str(same))
        differing = sum(map(len, kinds.values()))
        share = 100 * (1 - differing / compared)
        found = ", ".join(f"{kind} {len(cases)}" for kind, cases in kinds.items())
        bench.judge(f"agreement, {form}, {path.stat().st_size / 1e6:.0f} MB", share, LEAST,
                    f"{share:.3f} % of {compared:,}", ">=")
        if found:
            bench.table.row("  others", found)


ROWS = {"agreement": agree}
