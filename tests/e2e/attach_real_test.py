"""Real programs, sampled from outside: attach_real_test.py ENGINE [TEST...]

Each program ends with the output and the exit status that it has without sampan. Each test says how many stacks
must be complete: code has unwind information, or frame pointers. CI runs two programs; `./dev test --long real` all.
"""
import os
import pathlib
import subprocess
import sys
import time
import unittest

import sampan
import stalls
from tolerances import TICK_S, in_turns, share_noise, unsampled_s
from real_programs_test import CPP, NODE, PYTHON, corpus

ENGINE = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "perf"
RATE = 997 if ENGINE == "perf" else 250
EXACT = ENGINE != "poll"

# Two threads that use CPU as 1:3, each in two functions as 1:2. Exit status 7.
C = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
volatile unsigned long sink;
// In a register: how long additions to memory take depends on what the processor predicts.
__attribute__((noinline)) void work(unsigned long n) {
  unsigned long x = n;
  while (n-- > 0) x = x * 3 + n;
  sink = x;
}
__attribute__((noinline)) void a_third(unsigned long n) { work(n); sink++; }
__attribute__((noinline)) void two_thirds(unsigned long n) { work(2 * n); sink++; }
static void* run(void* p) {
  const double seconds = *(double*)p;
  prctl(PR_SET_NAME, seconds < 0.5 ? "small" : "large");
  while (cpu() < seconds) { a_third(100000); two_thirds(100000); }
  return 0;
}
int main(void) {
  double small = 0.4, large = 1.2;
  pthread_t a, b;
  pthread_create(&a, 0, run, &small);
  pthread_create(&b, 0, run, &large);
  pthread_join(a, 0);
  pthread_join(b, 0);
  puts("done");
  return 7;
}
"""

GO = r"""
package main

import ("fmt"; "os"; "sync"; "time")

//go:noinline
func work(n int) int { x := n; for i := 0; i < n; i++ { x = x*1103515245 + 12345 }; return x }
//go:noinline
func aThird(n int) int { return work(n) + 1 }
//go:noinline
func twoThirds(n int) int { return work(2 * n) + 1 }

func main() {
  var group sync.WaitGroup
  for i := 0; i < 2; i++ {
    group.Add(1)
    go func() {
      defer group.Done()
      x := 0
      for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); { x += aThird(100000) + twoThirds(100000) }
      if x == 42 { fmt.Println(x) }
    }()
  }
  group.Wait()
  fmt.Println("done")
  os.Exit(7)
}
"""


# The kernel's account of a thread includes the switches to and from it, the clock of its events does not.
# Measured: 0.3 to 0.8 us a turn on a quiet machine, 7 us if the CPU is idle between two.
SWITCH_S = 1e-6


def turns_of(pid):
    """How often the process's first thread got a CPU."""
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[2])


@stalls.measures_time("compares sampled CPU with the kernel's account")
class AttachReal(sampan.Case):
    def judge(self, run, complete, switching_s=0):
        report = run.report
        lost = report["lost"]
        print(f"  {ENGINE}: {report['samples']} samples, coverage {report['coverage']:.4f}, "
              f"complete {report['complete_stacks']:.4f}, lost {lost}", file=sys.stderr)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(report["samples"], 100)
        self.assertGreaterEqual(report["complete_stacks"], complete)
        self.assertEqual(lost, {})
        if EXACT:
            for thread in report["threads"]:
                if thread["cpu_s"] >= 0.8:
                    self.assert_cpu_agrees(thread, beyond_s=switching_s + run.delayed_s)

    def check(self, command, complete=0.99, options=(), **keywords):
        plain = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, **keywords)
        done, run = sampan.run_attached(command, ENGINE, ["--rate", RATE, *options], **keywords)
        self.assertEqual((done.returncode, done.stderr), (plain.returncode, plain.stderr))
        self.assertTrue(done.stdout == plain.stdout, "the output differs")
        self.judge(run, complete)
        return run

    def test_zstd(self):
        self.need("zstd")
        corpus(self.path / "corpus.txt", 12)
        run = self.check(["zstd", "-T2", "-15", "-B2MiB", "-q", "-c", self.path / "corpus.txt"])
        self.assertGreaterEqual(sum(1 for t in run.report["threads"] if t["cpu_s"] > 0.2), 2)

    def test_python3(self):
        # On a busy machine, perf's samples may come too late for Python's frames: native stacks are judged.
        options = ["--no-python"] if ENGINE == "perf" else []
        self.check([os.path.realpath(sys.executable), "-c", PYTHON.format(rounds=250_000)], options=options)

    def test_node(self):
        self.need("node")
        # JIT code has no unwind information: V8 keeps frame pointers in it.
        run = self.check(["node", "-e", NODE.format(rounds=2_000_000, depth=38)])
        self.assertTrue({"node", "MainThread"} & {thread["name"] for thread in run.report["threads"]})  # Node.js 24: the latter

    def test_clang(self):
        self.need("clang++")
        source = self.path / "heavy.cpp"
        source.write_text(CPP)
        command = ["clang++", "-O2", "-g0", "-c", source, "-o"]
        subprocess.run([*map(str, command), str(self.path / "bare.o")], check=True)
        # clang's driver runs the compiler in a child.
        done, run = sampan.run_attached([*command, self.path / "sampled.o"], ENGINE,
                                        ["--rate", RATE, "--follow"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.path / "bare.o").read_bytes(), (self.path / "sampled.o").read_bytes())
        self.judge(run, 0.99)

    def test_redis_under_load(self):
        self.need("redis-server")
        self.need("redis-benchmark")
        redis = self.path / "redis.sock"
        server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", str(redis), "--save", "", "--dir",
             str(self.path), "--logfile", str(self.path / "log")], stdout=subprocess.DEVNULL)
        self.addCleanup(server.kill)
        while subprocess.run(["redis-cli", "-s", redis, "ping"], stderr=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL).returncode != 0:
            time.sleep(0.05)
        attached = sampan.Attached(server.pid, ENGINE, ["--rate", RATE])
        turns = turns_of(server.pid)
        subprocess.run(["redis-benchmark", "-s", redis, "-q", "-n", "600000", "-P", "16", "-r",
                        "10000", "-t", "set,lpush,zadd"], stdout=subprocess.DEVNULL, check=True)
        turns = turns_of(server.pid) - turns
        size = int(subprocess.check_output(["redis-cli", "-s", redis, "dbsize"]))
        self.assertGreater(size, 5000)
        run = attached.stop()
        self.judge(run, 0.99, turns * SWITCH_S)
        names = {thread["name"] for thread in run.report["threads"]}
        self.assertIn("redis-server", names)
        self.assertTrue(any(name.startswith("bio_") for name in names), names)
        subprocess.run(["redis-cli", "-s", redis, "shutdown", "nosave"], check=True)
        self.assertEqual(server.wait(timeout=30), 0)

    def check_shares(self, program, complete, third="a_third", two_thirds="two_thirds"):
        run = self.check([program], complete)
        seconds = {name: sum(f["total_s"] for f in run.report["functions"] if name in f["name"])
                   for name in (third, two_thirds)}
        share = seconds[third] / sum(seconds.values())
        self.assertLess(abs(share - 1 / 3), share_noise(1 / 3, in_turns(run.report["samples"])), seconds)
        return run

    def check_c(self, compiler, options, complete):
        self.need(compiler)
        (self.path / "known.c").write_text(C)
        program = self.path / "known"
        subprocess.run([compiler, "-O2", *options, str(self.path / "known.c"), "-o", str(program),
                        "-pthread"], check=True)
        run = self.check_shares(program, complete)
        for name, cpu in (("small", 0.4), ("large", 1.2)):
            threads = run.threads(name)
            self.assertEqual(len(threads), 1)
            if EXACT:
                self.assertLess(abs(threads[0]["sampled_cpu_s"] - cpu),
                                0.01 * cpu + TICK_S + unsampled_s() + run.delayed_s)
        # The same without attach: `sampan run` launches the program under an engine.
        launched = sampan.run([program])
        self.assertEqual((launched.returncode, launched.stdout), (7, b"done\n"))
        self.assertGreaterEqual(launched.report["complete_stacks"], complete)
        self.assertEqual(len(launched.report["processes"]), 1)

    def test_static_glibc(self):
        self.check_c("cc", ["-static"], 0.99)

    # musl itself has neither: samples in musl, or in what it calls, are lost. There are few of them here on a quiet
    # machine. On a busy one ptrace stops threads at the end of system calls: 6 to 8 % are lost.
    def test_static_musl(self):
        self.check_c("musl-gcc", ["-static"], 0.98)

    def test_musl_with_frame_pointers_alone(self):
        self.check_c("musl-gcc", ["-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables",
                                  "-fno-unwind-tables"], 0.98)

    def test_go(self):
        self.need("go")
        (self.path / "known.go").write_text(GO)
        program = self.path / "known-go"
        subprocess.run(["go", "build", "-o", str(program), str(self.path / "known.go")], check=True,
                       env={**os.environ, "GOFLAGS": "-mod=mod"}, cwd=self.path)
        # The assembly of Go's runtime has neither: 0.4 to 1.2 % of a few hundred samples.
        run = self.check_shares(program, 0.98, "aThird", "twoThirds")
        self.assertTrue(any("main.main" in f["name"] for f in run.report["functions"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
