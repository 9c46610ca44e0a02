"""Real programs under sampan: the same output and exit status as without it, complete stacks, and the CPU of each
thread agrees with the kernel's account. CI runs two of them; `./dev test --long real` all, with SAMPAN_TEST_SCALE=2."""
import hashlib
import pathlib
import random
import subprocess
import sys
import unittest

import sampan
import stalls
from tolerances import share_noise

SQL = """
create table t(a integer, b text);
insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
  select i, hex(i * 7919 % 104729) from n;
create index t_b on t(b);
select count(*), sum(x.a), max(y.b) from t x join t y on x.b = y.b;
"""

# Not sha256: OpenSSL's code for CPUs without SHA instructions keeps its return address below the stack pointer, which
# the perf engine does not copy (docs/attaching.md).
PYTHON = """
import hashlib
total = 0
for i in range({rounds}):
    total += sum(int(c, 16) for c in hashlib.blake2b(str(i).encode(), digest_size=32).hexdigest())
print(total)
"""

NODE = """
function fib(n) {{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }}
const words = {{}};
for (let i = 0; i < {rounds}; ++i) {{ const k = 'k' + (i * 7919 % 1000); words[k] = (words[k] || 0) + 1; }}
console.log(fib({depth}), JSON.stringify(words).length);
"""

# LLVM's JIT tells debuggers what it makes, without being asked.
LLVM = """
#include <stdio.h>
#define SPIN(name, times) __attribute__((noinline)) unsigned name(unsigned n) {{ \\
    unsigned x = 1; for (unsigned i = 0; i < times * n; ++i) x = x * 31 + (x >> 7) + i; return x; }}
SPIN(quarter, 1)
SPIN(rest, 3)
__attribute__((noinline)) unsigned deep(unsigned depth, unsigned n) {{
  return depth == 0 ? quarter(n) + rest(n) : deep(depth - 1, n) * 3 + depth;
}}
int main() {{
  unsigned sum = 0;
  for (int i = 0; i < {rounds}; ++i) sum += deep(10, 1000000 + (sum & 7));
  printf("%u\\n", sum);
}}
"""

CPP = "#include <regex>\n#include <map>\n#include <iostream>\n" + "\n".join(
    f"std::map<int, std::regex> m{i}; int f{i}(const std::string& s)"
    f" {{ return std::regex_match(s, m{i}[{i}]); }}" for i in range(6)) + "\nint main() {}\n"


def corpus(path, megabytes):
    """Text with the repetition of a log file: compressors find work in it."""
    random.seed(4711)
    words = ["%x" % random.getrandbits(random.randint(8, 40)) for _ in range(5000)]
    with open(path, "w") as out:
        for _ in range(int(megabytes * 1_000_000 / 54)):
            out.write(" ".join(random.choices(words, k=6)) + "\n")


@stalls.measures_time("compares sampled CPU with the kernel's account")
class RealPrograms(sampan.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = cls.path / "corpus.txt"
        corpus(cls.text, 24 * sampan.SCALE)

    def check(self, command, same_output=True, complete=0.99, busy_s=0.8, **keywords):
        bare = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **keywords)
        result = sampan.run(command, **keywords)
        self.assertEqual(result.returncode, bare.returncode, result.stderr)
        if same_output:
            self.assertEqual(hashlib.sha256(result.stdout).hexdigest(),
                             hashlib.sha256(bare.stdout).hexdigest())
            self.assertEqual(result.stderr, bare.stderr)
        report = result.report
        print(f"  {pathlib.Path(str(command[0])).name}: {report['samples']} samples, coverage "
              f"{report['coverage']:.4f}, complete {report['complete_stacks']:.4f}, lost "
              f"{report['lost']}", file=sys.stderr)
        self.assertGreater(report["samples"], 100)
        self.assertGreaterEqual(report["complete_stacks"], complete)
        for thread in report["threads"]:
            if thread["cpu_s"] >= busy_s:
                self.assert_cpu_agrees(thread)
        return result

    def test_zstd(self):
        self.need("zstd")
        result = self.check(["zstd", "-T2", "-15", "-B2MiB", "-q", "-c", self.text])
        self.assertGreaterEqual(
            sum(1 for thread in result.report["threads"] if thread["cpu_s"] > 0.2), 2)

    def test_xz_whose_workers_block_all_signals(self):
        self.need("xz")
        result = self.check(["xz", "-T2", "-4", "--block-size=3MiB", "-k", "-c", self.text])
        self.assertGreaterEqual(
            sum(1 for thread in result.report["threads"] if thread["cpu_s"] > 0.2), 2)

    def test_sqlite3(self):
        self.need("sqlite3")
        self.check(["sqlite3", ":memory:", SQL.format(rows=int(400_000 * sampan.SCALE))])

    def test_python3(self):
        self.check(["python3", "-c", PYTHON.format(rounds=int(400_000 * sampan.SCALE))])

    def test_node(self):
        self.need("node")
        # JIT code has no unwind information: V8 keeps frame pointers in it.
        self.check(["node", "-e", NODE.format(rounds=int(3_000_000 * sampan.SCALE), depth=37)])

    def test_lli(self):
        self.need("lli")
        (self.path / "hot.c").write_text(LLVM.format(rounds=int(500 * sampan.SCALE)))
        code = self.path / "hot.ll"
        subprocess.run(["clang", "-O1", "-S", "-emit-llvm", "-o", code, self.path / "hot.c"], check=True)
        for kind in ("mcjit", "orc"):
            result = self.check(["lli", f"--jit-kind={kind}", code])
            functions = {row["name"]: row for row in result.report["functions"]}
            quarter, rest, deep = (functions[name] for name in ("quarter", "rest", "deep"))
            spun = quarter["self_samples"] + rest["self_samples"]
            self.assertAlmostEqual(quarter["self_samples"] / spun, 0.25, delta=share_noise(0.25, spun))
            self.assertGreater(deep["total_samples"], 0.98 * spun)

    def test_openssl_speed_in_two_processes(self):
        self.need("openssl")
        result = self.check(["openssl", "speed", "-multi", "2", "-seconds", "1", "sha256"],
                            same_output=False)
        self.assertGreaterEqual(len(result.report["processes"]), 3)

    def compile_with(self, compiler):
        self.need(compiler)
        source = self.path / "heavy.cpp"
        source.write_text(CPP)
        objects = []
        for name in ("bare.o", "sampled.o"):
            command = [compiler, "-O2", "-g0", "-c", str(source), "-o", str(self.path / name)]
            if name == "bare.o":
                subprocess.run(command, check=True)
            else:
                result = sampan.run(command)
                self.assertEqual(result.returncode, 0, result.stderr)
            objects.append((self.path / name).read_bytes())
        self.assertEqual(objects[0], objects[1])
        self.assert_whole(result, coverage=0.98)
        return result

    def test_gxx(self):
        result = self.compile_with("g++")
        self.assertIn("cc1plus", {process["name"] for process in result.report["processes"]})

    def test_clang(self):
        self.compile_with("clang++")

    def test_stress_ng(self):
        self.need("stress-ng")
        self.check(["stress-ng", "--cpu", "2", "--timeout", "3s", "--quiet"], same_output=False)

    def test_redis_under_benchmark(self):
        self.need("redis-server")
        self.need("redis-benchmark")
        socket = self.path / "redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "",
                   "--daemonize", "no", "--dir", str(self.path), "--logfile", str(self.path / "log")]
        client = f"""
        while ! redis-cli -s {socket} ping >/dev/null 2>&1; do sleep 0.05; done
        redis-benchmark -s {socket} -q -n {int(150_000 * sampan.SCALE)} -r 10000 -t set,lpush,zadd >/dev/null
        redis-cli -s {socket} dbsize > {self.path}/size
        redis-cli -s {socket} shutdown nosave
        """
        load = subprocess.Popen(["sh", "-c", client])
        try:
            result = sampan.run(command, timeout=120)
        finally:
            load.wait(timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(int((self.path / "size").read_text()), 5000)
        self.assert_whole(result, coverage=0.98)
        names = {thread["name"] for thread in result.report["threads"]}
        self.assertIn("redis-server", names)
        self.assertTrue(any(name.startswith("bio_") for name in names), names)


if __name__ == "__main__":
    unittest.main(verbosity=2)
