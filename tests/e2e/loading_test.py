#!/usr/bin/env python3
"""Libraries that programs load: the same ones as without sampan, and their functions have names. Sampan loads its own."""
import os
import pathlib
import subprocess
import unittest

import sampan

LOOKED_FOR = "const char* whose(void) { return WHOSE; }\n"
SEEKER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static void say(const char* how, void* handle) {
  const char* (*whose)(void) = handle != NULL ? (const char* (*)(void))dlsym(handle, "whose") : NULL;
  printf("%s: %s\n", how, whose != NULL ? whose() : dlerror());
}
void look(const char* who) {
  printf("%s\n", who);
  say("name", dlopen("liblooked.so", RTLD_NOW));
  say("origin", dlopen("$ORIGIN/second/liblooked.so", RTLD_NOW));
  say("namespace", dlmopen(LM_ID_NEWLM, "liblooked.so", RTLD_NOW));
  say("missing", dlopen("libmissing.so", RTLD_NOW));
}
"""
PROGRAM = r"""
#include <dlfcn.h>
void look(const char* who);
int main(int count, char** words) {
  look("program");
  void* plugin = dlopen(words[1], RTLD_NOW);
  if (plugin == 0) return 1;
  ((void (*)(const char*))dlsym(plugin, "look"))("plugin");
  return 0;
}
"""
# Nothing asks for its symbols: it makes itself known.
PLUGIN = r"""
#include <time.h>
extern void (*registered)(double);
static volatile unsigned long sink;
__attribute__((noinline)) static void use_cpu(double seconds) {
  struct timespec now;
  do {
    for (int i = 0; i < 100000; ++i) sink += i;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (now.tv_sec + now.tv_nsec * 1e-9 < seconds);
}
__attribute__((noinline)) void work_of_plugin(double until) { use_cpu(until); sink++; }
__attribute__((constructor, noinline)) void begin_plugin(void) { use_cpu(0.3); sink++; registered = work_of_plugin; }
"""
HOST = r"""
#include <dlfcn.h>
#include <signal.h>
void (*registered)(double);
int main(int count, char** words) {
  if (dlopen(words[1], RTLD_NOW) == 0) return 1;
  registered(0.6);
  raise(SIGKILL);
}
"""


class Loading(sampan.Case):
    def compile(self, name, source, *options):
        self.need("cc")
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O1", "-g", "-x", "c", "-", "-o", file, *options], input=source, text=True, check=True)
        return file

    def library(self, name, source, *options):
        return self.compile(name, source, "-shared", "-fPIC", *options)

    def test_the_loader_finds_what_it_finds_alone(self):
        """The caller's RUNPATH with the loader's own rules: what is for another processor is passed over, the best for
        this one is taken; $ORIGIN is the caller's; a namespace has its own copy."""
        runpath = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/first:$ORIGIN/second"
        for folder in (pathlib.Path(), pathlib.Path("plugins")):
            other = self.library(folder / "first/liblooked.so", LOOKED_FOR, '-DWHOSE="none"')
            content = bytearray(other.read_bytes())
            content[4] = 1  # ELFCLASS32
            other.write_bytes(content)
            self.library(folder / "second/liblooked.so", LOOKED_FOR, f'-DWHOSE="{folder} second"')
            self.library(folder / "second/glibc-hwcaps/x86-64-v2/liblooked.so", LOOKED_FOR, f'-DWHOSE="{folder} v2"')
        plugin = self.library("plugins/libplugin.so", SEEKER, runpath)
        program = self.compile("seeker", SEEKER + PROGRAM, runpath)
        alone = subprocess.run([program, plugin], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(alone.count(b" second"), 2 + 4 * (b" v2" not in alone), alone)
        for options in ([], ["--heap", "--locks"]):
            run = sampan.run([program, plugin], options)
            self.assertEqual((run.returncode, run.stdout.decode()), (0, alone.decode()), options)

    def test_a_library_has_names_from_its_constructors_on(self):
        plugin = self.library("libworker.so", PLUGIN)
        host = self.compile("host", HOST, "-rdynamic")
        run = sampan.run([host, plugin])
        self.assertEqual(run.returncode, -9)
        seconds = {f["name"]: f["total_s"] for f in run.report["functions"]}
        self.assertGreater(seconds.get("begin_plugin", 0), 0.2, seconds)
        self.assertGreater(seconds.get("work_of_plugin", 0), 0.2, seconds)

    def test_libraries_of_the_program_are_not_sampans(self):
        """LD_LIBRARY_PATH leads to other versions of what sampan needs."""
        for name in ("libz.so.1", "libzstd.so.1", "libfmt.so.9", "libstdc++.so.6"):
            self.library("other/" + name, "int nothing;")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.path / "other")}
        command = ["sh", "-c", "echo $LD_LIBRARY_PATH"]
        expected = (0, str(self.path / "other") + "\n", "")
        run = sampan.run(command, env=environment, text=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr), expected)
        self.assertIn("sh", [process["name"] for process in run.report["processes"]])
        # The collector that the shim starts. It goes on when the program has ended.
        shim = pathlib.Path(sampan.PROGRAM).parent / "libsampan_preload.so"
        alone = subprocess.run(command, cwd=self.path, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**environment, "LD_PRELOAD": str(shim), "SAMPAN": "1"})
        self.assertEqual((alone.returncode, alone.stdout), expected[:2])
        self.assertNotIn("error while loading", alone.stderr)
        self.assertNotIn("symbol lookup error", alone.stderr)
        self.assertEqual(len(list(self.path.glob("sampan-profiles/*/recording.sampan"))), 1)


if __name__ == "__main__":
    unittest.main()
