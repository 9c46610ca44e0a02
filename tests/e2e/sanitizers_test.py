"""Programs that are built with sanitizers, by gcc and by clang: they say under sampan what they say without it. A call of
the signal handler that reached a sanitizer's runtime would be reported as a call or an access of the program's."""
import os
import re
import signal
import subprocess
import unittest

import sampan

SOURCE = r"""
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared;
static int turn;

static void on_signal(int number) { (void)number; ++handled; }

// What the runtimes replace: memory, strings, locks, clocks.
static void* work(void* unused) {
  char text[256];
  struct timespec now;
  for (int i = 0; i < 20000; ++i) {
    char* memory = malloc(64 + i % 100);
    memset(memory, 'a', 64);
    memory[63] = 0;
    memcpy(text, memory, 64);
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&lock);
    shared += (long)strlen(text) + (now.tv_nsec < 0);
    pthread_mutex_unlock(&lock);
    free(memory);
  }
  return unused;
}

// In turns, but the turns are no order that counts.
static void write_in_turn(int own) {
  while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != own) {
  }
  ++shared;
  __atomic_store_n(&turn, own + 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != 2) {
  }
}
static void* second(void* unused) {
  write_in_turn(1);
  return unused;
}
static void race(void) {
  pthread_t thread;
  pthread_create(&thread, 0, second, 0);
  write_in_turn(0);
  pthread_join(thread, 0);
}

static void compute(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
}

__attribute__((noinline)) static void leak(void) {
  char* volatile lost = malloc(12345);
  lost[0] = 1;
  lost = 0;
}
// What the shim keeps for a thread must not count as a use of it.
__attribute__((noinline)) static void leak_stack(void) {
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  stack.ss_size = 65536;
  stack.ss_sp = malloc(stack.ss_size);
  sigaltstack(&stack, 0);
}
static void* write_to(void* memory) { return memset(memory, 1, 777); }
__attribute__((noinline)) static void leak_argument(void) {
  pthread_t thread;
  pthread_create(&thread, 0, write_to, malloc(777));
  pthread_join(thread, 0);
}
// As long as LeakSanitizer looks at a large program.
__attribute__((noinline)) static int look(struct dl_phdr_info* module, size_t size, void* unused) {
  (void)module, (void)size, (void)unused;
  while (clock() < CLOCKS_PER_SEC) {
  }
  return 1;
}
__attribute__((noinline)) static void clear_stack(void) {
  volatile char room[4096];
  for (unsigned i = 0; i < sizeof room; ++i) room[i] = 0;
}

extern char** environ;

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  compute();
  if (!strcmp(what, "stay")) {
    printf("%d\n", getpid());
    fflush(stdout);
    for (;;) work(0);
  }
  if (!strcmp(what, "race")) race();
  if (!strcmp(what, "leak")) leak();
  if (!strcmp(what, "stack")) leak_stack();
  if (!strcmp(what, "argument")) leak_argument();
  if (!strcmp(what, "look")) dl_iterate_phdr(look, 0);
  clear_stack();
  compute();
  if (!strcmp(what, "overflow")) { char* volatile memory = malloc(10); memory[10] = 1; }
  if (!strcmp(what, "children")) {
    char* words[] = {argv[0], "child", 0};
    pid_t child;
    int status = -1;
    posix_spawn(&child, argv[0], 0, 0, words, environ);
    waitpid(child, &status, 0);
    printf("spawned %d\n", status);
    char command[4096];
    snprintf(command, sizeof command, "%s child; exec %s child", argv[0], argv[0]);
    printf("system %d\n", system(command));
    fflush(stdout);
    execv(argv[0], words);
  }
  printf("%ld\n", shared);
  printf("%s %d\n", what, (int)handled);
  return 5;
}
"""

# Options, and the kinds of fault that a program built with them reports.
BUILDS = {
    "gcc": {"address": ["leak", "stack", "overflow"], "address -static-libasan": ["leak", "overflow"], "undefined": [],
            "leak": ["leak", "stack", "argument"], "thread": ["race"]},
    "clang": {"address": ["leak", "stack", "overflow"], "address -shared-libasan": ["leak", "overflow"], "undefined": [],
              "leak": ["leak", "stack", "argument"],
              "thread": ["race"], "memory": []},
}


def plain(text):
    """What a sanitizer prints, without what differs from run to run: numbers, and how often a race was seen."""
    kinds = re.findall(r"(?:ERROR|WARNING|SUMMARY): (\w+Sanitizer: [\w -]+?)(?= \(| on |:| /|$)", text, re.MULTILINE)
    return sorted(set(re.sub(r"\d+", "N", kind) for kind in kinds))


class Sanitized(sampan.Case):
    """Builds the program."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.path / "program.c").write_text(SOURCE)

    def build(self, compiler, options):
        self.need(compiler)
        program = self.path / f"{compiler}-{options.replace(' ', '')}"
        first, *rest = options.split()
        words = [compiler, "-g", "-O1", f"-fsanitize={first}", *rest, "-pthread", self.path / "program.c", "-o", program]
        if "-shared-libasan" in rest:
            folder = subprocess.run([compiler, "-print-runtime-dir"], stdout=subprocess.PIPE, text=True, check=True).stdout
            old = subprocess.run([compiler, "-print-file-name=libclang_rt.asan-x86_64.so"], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
            for where in (folder.strip(), os.path.dirname(old.strip())):
                words.append(f"-Wl,-rpath,{where}")
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, "CCACHE_DISABLE": "1"})
        if done.returncode != 0:
            self.skipTest(f"{compiler} has no -fsanitize={options}: {done.stderr[:200]}")
        return program


class Sanitizers(Sanitized):
    def check_program(self, program, what, rate, env=None):
        words = [str(program), what]
        bare = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
                              env={**os.environ, **(env or {})})
        result = sampan.run(words, options=["--rate", rate], text=True, env=env)
        message = f"{program.name} {what} {rate}:\n{bare.stderr}\n--- sampled\n{result.stderr}"
        self.assertEqual((result.returncode, result.stdout), (bare.returncode, bare.stdout), message)
        self.assertEqual(plain(result.stderr), plain(bare.stderr), message)
        self.assertGreater(result.report["samples"], 0, message)
        self.assertEqual(result.report["lost"], {}, message)
        return bare, result

    def check(self, compiler, options, faults):
        program = self.build(compiler, options)
        for what, rates in (("nothing", (250, 1000, 4000)), *((fault, (4000,)) for fault in faults)):
            for rate in rates:
                with self.subTest(what=what, rate=rate):
                    bare, _ = self.check_program(program, what, str(rate))
                    self.assertEqual(bool(plain(bare.stderr)), what != "nothing", bare.stderr)
        _, result = self.check_program(program, "children", "1000")
        # The program, four others of it, and the shell of system(), which itself is not built so.
        self.assertEqual(len([row for row in result.report["processes"] if row["name"] == program.name]), 5,
                         result.report["processes"])

    def check_steps(self, compiler, options):
        """Every instruction of the handler is the shim's own, or that of a function which no runtime replaces."""
        program = self.build(compiler, options)
        for clock in ("auto", "timer"):
            with subprocess.Popen([sampan.PROGRAM, "run", "--quiet", "--max-overhead", "none", "--format", "none",
                                   "--output", self.path / "steps", "--", program, "stay"], env={**os.environ, "SAMPAN_SAMPLING_CLOCK": clock},
                                  stdout=subprocess.PIPE) as run:
                pid = int(run.stdout.readline())
                done = subprocess.run([sampan.TARGETS / "target_handler_steps", str(pid), "10"], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, timeout=120, check=False)
                os.kill(pid, signal.SIGKILL)
                run.wait(timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            steps = {os.path.basename(file): int(count) for file, count in map(str.split, done.stdout.splitlines())}
            self.assertGreater(steps.pop("libsampan_preload.so"), 10000, steps)
            # _dl_find_object, and the clock.
            self.assertLessEqual(set(steps), {"libc.so.6", "ld-linux-x86-64.so.2", "[vdso]"})
            self.assertIn("[vdso]", steps)

    def test_a_runtime_that_the_user_preloads(self):
        program = self.build("gcc", "address")
        runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for list_of_user in (runtime.strip(), f"{runtime.strip()}:/lib/x86_64-linux-gnu/libm.so.6"):
            bare = subprocess.run([program, "nothing"], env={**os.environ, "LD_PRELOAD": list_of_user}, stderr=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, check=False)
            done = subprocess.run([sampan.PROGRAM, "run", "--quiet", "--format", "none", "--output", self.path / "preloaded", "--",
                                   "env", f"LD_PRELOAD={list_of_user}", program, "nothing"], stderr=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (bare.returncode, bare.stdout, bare.stderr))

    def test_engines_that_trace_refuse_who_looks_for_leaks(self):
        for compiler, options in (("gcc", "address"), ("clang", "address"), ("clang", "leak"), ("gcc", "thread")):
            program = self.build(compiler, options)
            for engine, settings, status in (("ptrace", {}, int(options != "thread")), ("poll", {}, int(options != "thread")),
                                             ("ptrace", {"ASAN_OPTIONS": "detect_leaks=0"}, 0)):
                with self.subTest(program=program.name, engine=engine, settings=settings):
                    with subprocess.Popen([program, "stay"], env={**os.environ, **settings}, stdout=subprocess.PIPE) as target:
                        target.stdout.readline()
                        done = subprocess.run([sampan.PROGRAM, "attach", "--engine", engine, "--duration", "0.2", "--format", "none",
                                               "--output", self.path / "attached", str(target.pid)], stderr=subprocess.PIPE,
                                              text=True, check=False)
                        target.kill()
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.assertEqual("LeakSanitizer" in done.stderr, status == 1, done.stderr)

    def test_a_thread_that_looks_for_leaks_is_not_interrupted(self):
        """LeakSanitizer looks within a callback of dl_iterate_phdr. The callback here takes most of a second."""
        for options, looks in (("address", True), ("leak", True), ("undefined", False)):
            with self.subTest(options):
                result = sampan.run([str(self.build("gcc", options)), "look"], options=["--rate", "1000"], text=True)
                inside = [row["total_samples"] for row in result.report["functions"] if row["name"] == "look"]
                (self.assertFalse if looks else self.assertTrue)(inside, result.report["functions"])
                self.assert_whole(result, complete=0)  # the next sample stands for that time

    def test_a_shell_in_between(self):
        program = self.build("gcc", "address")
        for script in ('exec "$0" nothing', '"$0" nothing', 'env -i "$0" nothing'):
            self.assertEqual(sampan.run(["sh", "-c", script, program]).returncode, 5, script)


def add(compiler, options, faults):
    name = re.sub(r"\W+", "_", options)
    setattr(Sanitizers, f"test_{compiler}_{name}", lambda self: self.check(compiler, options, faults))
    setattr(Sanitizers, f"test_steps_of_the_handler_{compiler}_{name}", lambda self: self.check_steps(compiler, options))


for compiler, builds in BUILDS.items():
    for options, faults in builds.items():
        add(compiler, options, faults)


if __name__ == "__main__":
    unittest.main(verbosity=2)
