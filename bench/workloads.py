"""The real programs that are measured, and their input files."""
import pathlib
import random
import shutil
import subprocess

import pairs

SQL = """
create table t(a integer, b text);
insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000)
  select i, hex(i * 7919 % 104729) from n;
create index t_b on t(b);
select count(*), sum(x.a), max(y.b) from t x join t y on x.b = y.b;
"""
PYTHON = """
import hashlib
total = 0
for i in range(600000):
    total += sum(int(c, 16) for c in hashlib.sha256(str(i).encode()).hexdigest())
print(total)
"""
# V8's builtins have no unwind entries, and each of these stacks is as deep as its thread permits.
OVERFLOWS = """
const { Worker, isMainThread } = require('worker_threads');
const overflow = depth => overflow(depth + 1) + 1;
if (isMainThread) for (let i = 0; i < 2; ++i) new Worker(process.argv[1]);
else for (let i = 0; i < 200; ++i) try { overflow(0); } catch {}
"""


def heavy_source(functions):
    """C++ that takes a compiler about a second, plus half a second for each function."""
    return "#include <algorithm>\n#include <iostream>\n#include <map>\n#include <regex>\n" + "\n".join(
        f"struct K{i} {{ int x; bool operator<(K{i} o) const {{ return x < o.x; }} }};"
        f"std::map<K{i}, std::regex> m{i}; int f{i}(const std::string& s)"
        f" {{ return std::regex_match(s, m{i}[K{i}{{1}}]); }}"
        f"void g{i}(std::vector<K{i}>& v) {{ std::stable_sort(v.begin(), v.end()); }}"
        for i in range(functions)) + "\n"


class Redis:
    """A server under a fixed load. Its cost is the server's, without the client's."""

    def __init__(self, folder, requests=600_000):
        self.socket = folder / "redis.sock"
        self.server = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "",
                       "--daemonize", "no", "--dir", str(folder), "--logfile", "/dev/null"]
        self.load = (f"while ! redis-cli -s {self.socket} ping >/dev/null 2>&1; do sleep 0.05; done;"
                     f"redis-benchmark -s {self.socket} -q -n {requests} -r 10000 -t set,lpush,zadd;"
                     f"redis-cli -s {self.socket} shutdown nosave")

    def accepts(self, *words):
        """Sends a command; whether the server accepted it."""
        return subprocess.run(["redis-cli", "-s", self.socket, *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0


def compile_heavy(folder, functions):
    """A compile with clang: its stacks are deep and rarely repeat."""
    source = pathlib.Path(folder) / f"heavy{functions}.cpp"
    source.write_text(heavy_source(functions))
    return ["clang++", "-std=c++20", "-O2", "-c", str(source), "-o", f"{source}.o"]


def build(folder):
    """{name: command} of the programs that are installed; writes their input files to `folder`."""
    folder = pathlib.Path(folder)
    random.seed(4711)
    words = ["%x" % random.getrandbits(random.randint(8, 40)) for _ in range(5000)]
    text = folder / "corpus.txt"
    with open(text, "w") as out:
        for _ in range(500_000):
            out.write(" ".join(random.choices(words, k=6)) + "\n")
    commands = {
        "clang": compile_heavy(folder, 1),
        "sqlite3": ["sqlite3", ":memory:", SQL],
        "redis": Redis(folder).server,
        "python3": ["python3", "-c", PYTHON],
        "zstd": ["zstd", "-T2", "-15", "-B4MiB", "-q", "-c", str(text)],
    }
    return {name: command for name, command in commands.items() if shutil.which(command[0])}


def run(name, command, folder, prefix=(), env=None):
    """Runs a workload to its end, under `prefix`, and returns its Cost."""
    command = [*prefix, *command]
    if name != "redis":
        return pairs.Cost(command, env)
    redis = Redis(pathlib.Path(folder))
    # The client is a process of its own, so that its CPU is not counted.
    client = subprocess.Popen(["sh", "-c", redis.load], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    cost = pairs.Cost(command, env)
    client.wait()
    return cost
