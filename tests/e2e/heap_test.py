"""Programs whose allocations are sampled: what they do is what they do without."""
import hashlib
import os
import shutil
import subprocess
import unittest

import sampan

SCALE = float(os.environ.get("SAMPAN_TEST_SCALE", "1"))

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
        run = self.compare(["/usr/bin/python3", "-c", PYTHON % int(100_000 * SCALE)])
        self.assertEqual(lost(run, "allocator_unseen"), 0)

    def test_python3_with_other_allocators(self):
        for allocator in filter(os.path.exists, ALLOCATORS):
            with self.subTest(allocator):
                run = self.compare(["/usr/bin/python3", "-c", PYTHON % int(30_000 * SCALE)], {"LD_PRELOAD": allocator})
                self.assertEqual(lost(run, "allocator_unseen"), 0)

    def test_sqlite3(self):
        self.compare([self.need("sqlite3"), ":memory:"], input=SQL.format(rows=int(100_000 * SCALE)).encode())

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
                  f"{client} -s {socket} debug populate {int(50_000 * SCALE)} > /dev/null; "
                  f"for i in $(seq 100); do {client} -s {socket} append text {'x' * 1000} > /dev/null; done; "
                  f"{client} -s {socket} strlen text; {client} -s {socket} dbsize; "
                  f"{client} -s {socket} shutdown nosave; wait")
        self.compare(["/bin/sh", "-c", script])

    def test_a_program_with_an_allocator_of_its_own(self):
        run = self.compare([sampan.TARGETS / "target_own_malloc"])
        self.assertEqual(lost(run, "allocator_unseen"), 1)

    def test_forks_and_vforks(self):
        self.compare(["/bin/sh", "-c", "for i in 1 2 3 4 5; do echo $i | cat | (read x; echo $((x * 2))); done"])

    def test_limited_address_space(self):
        self.compare(["/bin/sh", "-c", "ulimit -v 2000000; exec /usr/bin/python3 -c 'print(len([str(i) for i in range(100000)]))'"])


if __name__ == "__main__":
    unittest.main()
