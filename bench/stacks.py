"""How many stacks are whole through code without unwind information, as perf's are counted: rows of bench/run.py.

A stack is true when it ends where a thread begins: in `_start`, which a stripped program has at its entry point, or in
`clone3`. What sampan calls complete and does not end there would be a doubtful stack. Programs that are not installed
have no row; the share of each is judged where its code has no tables, or no others' code is called.
"""
import collections
import pathlib
import re
import shutil
import subprocess

import pairs

RATE = 250
MOVIE = ["ffmpeg", "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30", "-t"]
GMP = """
#include <gmp.h>
int main() {
  mpz_t f, p;
  mpz_init(f), mpz_init(p);
  for (int k = 0; k < 12; k++) mpz_fac_ui(f, 300000);
  mpz_ui_pow_ui(p, 3, 2000000);
  mpz_mul(p, p, f), mpz_mod(p, p, f);
  return mpz_get_str(0, 10, f) == 0;
}
"""
OWN = """
#include <stdlib.h>
__attribute__((noinline)) static long leaf(long n) { long s = n; for (int i = 0; i < 50; i++) s = s * 31 + i; return s; }
__attribute__((noinline)) static long sorted(long n) {
  long data[64];
  for (int i = 0; i < 64; i++) data[i] = leaf(n + i) % 1000;
  for (int i = 1; i < 64; i++) for (int k = i; k > 0 && data[k] < data[k - 1]; k--) { long t = data[k]; data[k] = data[k - 1]; data[k - 1] = t; }
  return data[n & 63];
}
__attribute__((noinline)) static long deep(long n) { return n == 0 ? sorted(n) : deep(n - 1) + sorted(n); }
int main() { long s = 0; for (int i = 0; i < 4000; i++) s += deep(40); return s == 1; }
"""
BLAS = "import numpy as np; a = np.random.rand(1200, 1200); [a @ a for _ in range(8)]; np.linalg.inv(a)"
LUA = """
local t = {}
for i = 1, 30000000 do t[i % 1000 + 1] = (t[(i * 7) % 1000 + 1] or 0) + i % 13 end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(32))
"""
SCHEME = "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 33))"
JAVA = """
class Fib {
  static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  public static void main(String[] words) { long s = 0; for (int i = 0; i < 12; i++) s += fib(38); System.out.println(s); }
}
"""


def programs(folder):
    """(name, command, per cent of true stacks that are promised; None: none) of what is installed."""
    def write(name, text):
        (folder / name).write_text(text)
        return str(folder / name)

    def compiled(name, text, *flags):
        binary = str(folder / name)
        made = subprocess.run(["gcc", "-w", "-O2", write(name + ".c", text), "-o", binary, *flags], stderr=subprocess.DEVNULL)
        return [binary] if made.returncode == 0 else []

    movie, coded = str(folder / "movie.y4m"), str(folder / "movie.mkv")
    if shutil.which("ffmpeg"):
        subprocess.run([*MOVIE, "8", movie], check=True)
        subprocess.run([*MOVIE, "20", "-c:v", "libx264", "-preset", "ultrafast", coded], check=True)
    sums = folder / "sums"
    sums.write_bytes(bytes(1 << 28))
    yield "x264, encode", ["x264", "--quiet", "-o", "/dev/null", movie], 99
    yield ("ffmpeg, decode and scale",
           ["ffmpeg", "-v", "error", "-stream_loop", "3", "-i", coded, "-vf", "scale=1280:720", "-f", "null", "-"], 99)
    yield "GMP, factorials", compiled("factorials", GMP, "-lgmp"), 99
    for algorithm in ("sha3_256", "sha512"):
        yield f"nettle, {algorithm}", ["nettle-hash", "-a", algorithm, str(sums)], 99
    yield "numpy with OpenBLAS", ["/usr/bin/python3", "-c", BLAS], 99
    yield ("own, no tables and no frame pointers",
           compiled("own", OWN, "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"), 99)
    yield "luajit, interpreter", ["luajit", "-joff", write("fib.lua", LUA)], 95
    yield "luajit, traces", ["luajit", str(folder / "fib.lua")], None
    yield "guile", ["guile", "--no-auto-compile", "-c", SCHEME], None
    for sign in "+-":
        yield f"java -XX:{sign}PreserveFramePointer", ["java", f"-XX:{sign}PreserveFramePointer", write("Fib.java", JAVA)], None


def entry_point(program):
    header = subprocess.run(["readelf", "-hW", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(r"Entry point address: +0x(\w+)", header).group(1), 16)


def true_share(script, program):
    """How many per cent of the samples in the output of `perf script`, or in sampan's export in that form, have an outermost
    function in which a thread begins, and the other ones' commonest ends."""
    entry = entry_point(program)
    true, others = 0, collections.Counter()
    for sample in script.split("\n\n"):
        frames = re.findall(r"^\s+([0-9a-f]+) (.*) \((.*)\)$", sample, re.M)
        if not frames:
            continue
        address, function, module = frames[-1]
        # _start has 47 bytes at most; pages of a program lie at any address.
        at_entry = module == program and (int(address, 16) - entry) % 4096 < 48
        if at_entry or re.search(r"^(_start|(__GI_)?(__)?clone3?)\b", function):
            true += 1
        else:
            others[function] += 1
    return 100 * true / max(true + others.total(), 1), others


def stacks(bench):
    folder = bench.folder / "stacks"
    folder.mkdir()
    for name, command, least in programs(folder):
        if not command or not shutil.which(command[0]):
            bench.table.row(f"stacks, {name}", "not installed")
            continue
        program = str(pathlib.Path(shutil.which(command[0])).resolve())
        ours = [*bench.capture("--rate", str(RATE)), *command]
        bench.table.note(pairs.shown(ours)[:160])
        subprocess.run(ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        recording, report = bench.recording()
        script = subprocess.run([bench.sampan, "export", "-f", "perf-script", "-o", "-", str(recording)],
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        share, others = true_share(script, program)
        complete = 100 * report["complete_stacks"]
        text = f"{share:.1f} % true, {complete:.1f} % complete of {report['samples']:,}"
        if least is None:
            bench.table.row(f"stacks, {name}", text)
        else:
            bench.judge(f"stacks, {name}", share, least, text, ">=")
        if others:
            bench.table.row("  others end in", ", ".join(f"{end} {count}" for end, count in others.most_common(3)))
        if shutil.which("perf"):
            data = str(folder / "perf.data")
            perf = ["perf", "record", "-q", "-F", str(RATE), "-e", "task-clock:u", "--call-graph", "dwarf,65528", "-o", data,
                    "--", *command]
            bench.table.note(pairs.shown(perf)[:160])
            subprocess.run(perf, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            script = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "ip,sym,dso"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True).stdout
            bench.table.row("  perf, 64 KB of each stack", f"{true_share(script, program)[0]:.1f} % true")


ROWS = {"stacks": stacks}
