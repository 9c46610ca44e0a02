"""Programs whose allocations are sampled: the report has what they have allocated, and they do what they do without."""
import hashlib
import math
import os
import re
import shutil
import signal
import subprocess
import unittest

import sampan

SQL = """
create table t(a integer, b text);
insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
  select i, hex(i * 7919 % 104729) from n;
create index t_b on t(b);
select count(*), sum(x.a), max(y.b) from t x join t y on x.b = y.b;
"""

PYTHON = """
import threading
words = {}
def count(number):
    for i in range(%d):
        words.setdefault('k%%d' %% (i * 7919 %% 1000 + number), []).append(str(i) * 20)
threads = [threading.Thread(target=count, args=(1000 * n,)) for n in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(words), sum(len(v) for v in words.values()))
"""

CRASH = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_for_debugger(int number) {
  if (write(1, "crashed\\n", 8) == 8) for (;;) pause();
  _exit(number);
}
__attribute__((noinline)) void break_heap(void) {
  char* block = calloc(1, 100);  /* what free() takes for the size and its flags is 0 */
  free(block + 8);
  puts("not reached");
}
int main(void) {
  signal(SIGABRT, wait_for_debugger);
  printf("%d\\n", getpid());
  fflush(stdout);
  for (int i = 0; i < 100; ++i) free(malloc(100));
  break_heap();
  return 0;
}
"""

# Opened with RTLD_DEEPBIND, it frees by the C library, past whatever is preloaded.
DEEP_LIBRARY = "#include <stdlib.h>\nvoid let_go(void* block) { free(block); }\n"
DEEP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
enum { COUNT = 40000, SIZE = 4096 };
__attribute__((noinline)) static void* take(void) { return malloc(SIZE); }
int main(int c, char** words) {
  void (*let_go)(void*) = (void (*)(void*))dlsym(dlopen(words[c - 1], RTLD_NOW | RTLD_DEEPBIND), "let_go");
  for (int i = 0; i < COUNT; ++i) let_go(take());
  return 0;
}
"""
DEEP_BYTES = 40000 * 4096

CPP = """
#include <map>
#include <regex>
#include <string>
std::map<int, std::regex> m;
int f(const std::string& s) { return std::regex_match(s, m[0]); }
int main() {}
"""

ALLOCATORS = [f"/usr/lib/x86_64-linux-gnu/{name}"
              for name in ("libjemalloc.so.2", "libmimalloc.so.2.0", "libtcmalloc_minimal.so.4")]


def lost(run, key):
    return run.report["lost"].get(key, 0)


def heap_of(run, *options):
    return sampan.report(run.recording, "--heap=allocated", *options)["heap"]


def sums(heap, part, name):
    """The sum over the functions with that in their names: bytes, blocks, draws, and the deviations of the first two."""
    rows = [row[part] for row in heap["functions"] if name in row["name"]]

    def deviation(key):
        return math.sqrt(sum((row[key] / 1.96) ** 2 for row in rows))

    return {"bytes": sum(row["bytes"] for row in rows), "blocks": sum(row["blocks"] for row in rows),
            "draws": sum(row["draws"] for row in rows),
            "bytes_deviation": deviation("bytes_error"), "blocks_deviation": deviation("blocks_error")}


class Known(sampan.Case):
    """Programs whose allocations are known. Sums of draws are compared within 5 deviations, which the draws give
    (docs/heap.md): 1 of 1.7 million comparisons fails by chance."""

    def assert_near(self, measured, deviation, truth, what):
        self.assertLess(abs(measured - truth), 5 * deviation + 1, f"{what}: {measured} +- {deviation}, in truth {truth}")

    def known(self, rounds, mean):
        """A run of which no record is lost: beside much other work sampan may read the rings too late."""
        for pause_ms in (20, 80, 320):
            run = sampan.run([sampan.TARGETS / "target_allocations", "known", rounds, pause_ms], [f"--heap={mean}"])
            self.assertEqual(run.returncode, 0)
            if lost(run, "allocation_lost") + lost(run, "free_lost") == 0:
                return run
        self.skipTest("sampan was too late in each run: the machine has too much to do")

    def test_five_functions_in_four_threads(self):
        run = self.known(int(600 * sampan.SCALE), "16K")
        heap = heap_of(run)
        total = {"truth": 0, "measured": 0, "variance": 0, "draws": 0}
        for line in run.stdout.decode().splitlines():
            name, *numbers = line.split()
            truth = dict(zip(("bytes", "count", "live_bytes", "live_count"), map(int, numbers)))
            made, live = sums(heap, "allocated", name), sums(heap, "live", name)
            self.assert_near(made["bytes"], made["bytes_deviation"], truth["bytes"], f"bytes of {name}")
            self.assert_near(made["blocks"], made["blocks_deviation"], truth["count"], f"blocks of {name}")
            self.assert_near(live["bytes"], live["bytes_deviation"], truth["live_bytes"], f"live bytes of {name}")
            self.assert_near(live["blocks"], live["blocks_deviation"], truth["live_count"], f"live blocks of {name}")
            total["truth"] += truth["bytes"]
            total["measured"] += made["bytes"]
            total["variance"] += made["bytes_deviation"] ** 2
            total["draws"] += made["draws"]
        # Beside much other work, draws thin out.
        self.assertGreater(total["draws"], 20_000 * sampan.SCALE)
        self.assert_near(total["measured"], math.sqrt(total["variance"]), total["truth"], "all bytes")
        # 1 % at 100,000 draws.
        bound = 0.01 * math.sqrt(100_000 / total["draws"])
        self.assertLess(abs(total["measured"] / total["truth"] - 1), bound)

    def test_threads_that_free_what_others_have_allocated(self):
        pairs = int(5_000_000 * sampan.SCALE)
        run = sampan.run([sampan.TARGETS / "target_allocations", "pairs", pairs], ["--heap"])
        self.assertEqual(run.returncode, 0)
        heap = heap_of(run)
        made, live = sums(heap, "allocated", "exchange_blocks"), sums(heap, "live", "exchange_blocks")
        if lost(run, "allocation_lost") == 0:
            # The generator of the sizes is the same in each run, but which thread frees what is not.
            self.assert_near(made["bytes"], made["bytes_deviation"], 8 * pairs * 2015.5, "bytes")
        self.assertLessEqual(live["draws"], lost(run, "free_lost"))
        self.assertEqual(heap["unknown_frees"], 0)


class Same(sampan.Case):
    """The same output and exit status, often sampled."""

    def compare(self, command, env=None, mean="4K", **keywords):
        bare = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**os.environ, **(env or {})}, **keywords)
        run = sampan.run(command, [f"--heap={mean}"], env=env, **keywords)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (bare.returncode, bare.stdout, bare.stderr))
        self.assertEqual(lost(run, "ring_corrupt"), 0)
        return run

    def need(self, program):
        path = shutil.which(program)
        if path is None:
            self.skipTest(f"{program} is not installed")
        return path

    def test_python3(self):
        run = self.compare(["/usr/bin/python3", "-c", PYTHON % int(100_000 * sampan.SCALE)])
        self.assertEqual(lost(run, "allocator_unseen"), 0)

    def test_python3_with_other_allocators(self):
        for allocator in filter(os.path.exists, ALLOCATORS):
            with self.subTest(allocator):
                run = self.compare(["/usr/bin/python3", "-c", PYTHON % int(30_000 * sampan.SCALE)], {"LD_PRELOAD": allocator})
                self.assertEqual(lost(run, "allocator_unseen"), 0)

    def test_sqlite3(self):
        self.compare([self.need("sqlite3"), ":memory:"], input=SQL.format(rows=int(100_000 * sampan.SCALE)).encode())

    def test_compilers(self):
        source = self.path / "source.cpp"
        source.write_text(CPP)
        for compiler in ("clang++", "g++"):
            if shutil.which(compiler) is None:
                continue
            with self.subTest(compiler):
                made = self.path / "made.o"
                command = [compiler, "-c", "-O1", str(source), "-o", str(made)]
                subprocess.run(command, check=True)
                bare = hashlib.sha256(made.read_bytes()).digest()
                self.compare(command)
                self.assertEqual(hashlib.sha256(made.read_bytes()).digest(), bare)

    def test_redis(self):
        server = self.need("redis-server")
        client = self.need("redis-cli")
        socket = self.path / "redis.socket"
        script = (f"{server} --port 0 --unixsocket {socket} --save '' --daemonize no > /dev/null & "
                  f"until {client} -s {socket} ping > /dev/null 2>&1; do sleep 0.05; done; "
                  f"{client} -s {socket} debug populate {int(50_000 * sampan.SCALE)} > /dev/null; "
                  f"for i in $(seq 100); do {client} -s {socket} append text {'x' * 1000} > /dev/null; done; "
                  f"{client} -s {socket} strlen text; {client} -s {socket} dbsize; "
                  f"{client} -s {socket} shutdown nosave; wait")
        self.compare(["/bin/sh", "-c", script])

    def test_a_program_with_an_allocator_of_its_own(self):
        run = self.compare([sampan.TARGETS / "target_own_malloc"])
        self.assertEqual(lost(run, "allocator_unseen"), 1)

    def test_frees_that_pass_by(self):
        """What lives is not known then, and no figure of it is shown; what was allocated is right."""
        for name, text, options in (("deep.so", DEEP_LIBRARY, ["-shared", "-fPIC"]), ("deep", DEEP, ["-ldl"])):
            source = self.path / f"{name}.c"
            source.write_text(text)
            subprocess.run(["cc", "-O1", source, "-o", self.path / name, *options], check=True)
        run = sampan.run([self.path / "deep", self.path / "deep.so"], ["--heap"])
        self.assertEqual(run.returncode, 0)
        report = sampan.report(run.recording, "--heap=allocated")
        self.assertGreater(lost(run, "free_unseen"), 0)
        heap = report["heap"]
        self.assertFalse(heap["live_known"])
        self.assertEqual([heap["live"]["bytes"], heap["peak_bytes"], heap["median_life_s"], heap["growth"], heap["possible_leaks"]],
                         [0, 0, None, [], []])
        [taken] = [row["allocated"] for row in heap["functions"] if row["name"] == "take"]
        self.assertLess(abs(taken["bytes"] - DEEP_BYTES), 5.2 / 1.96 * taken["bytes_error"])
        text = subprocess.run([sampan.PROGRAM, "report", "--heap", run.recording], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("live      not known", text)

    def test_forks_and_vforks(self):
        self.compare(["/bin/sh", "-c", "for i in 1 2 3 4 5; do echo $i | cat | (read x; echo $((x * 2))); done"])

    def test_limited_address_space(self):
        self.compare(["/bin/sh", "-c", "ulimit -v 2000000; exec /usr/bin/python3 -c 'print(len([str(i) for i in range(100000)]))'"])

    def test_a_crash_in_free_has_the_programs_own_frames_in_a_debugger(self):
        debugger = self.need("gdb")
        (self.path / "crash.c").write_text(CRASH)
        program = self.path / "crash"
        subprocess.run(["gcc", "-g", "-O1", "-w", "-o", program, self.path / "crash.c"], check=True)
        with subprocess.Popen([sampan.PROGRAM, "run", "--quiet", "--format", "none", "--heap=1", "--output", self.path, "--", program],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            pid = run.stdout.readline().decode().strip()
            self.assertEqual(run.stdout.readline(), b"crashed\n")
            shown = subprocess.run([debugger, "-batch", "-nx", "-p", pid, "-ex", "backtrace"], capture_output=True, text=True,
                                   check=False, timeout=120)
            os.kill(int(pid), signal.SIGKILL)
        if "ptrace" in shown.stderr and "permitted" in shown.stderr:
            self.skipTest("no debugger may attach here")
        frames = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+)", shown.stdout, re.MULTILINE)
        self.assertNotIn("??", frames, shown.stdout)
        own = [frame for frame in frames if frame in ("wait_for_debugger", "abort", "__GI_abort", "break_heap", "main")]
        self.assertEqual([frame.removeprefix("__GI_") for frame in own], ["wait_for_debugger", "abort", "break_heap", "main"], shown.stdout)


if __name__ == "__main__":
    unittest.main()
