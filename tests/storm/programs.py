"""Programs of the storm. Each does work that its seed decides, and returns what must be the same bare and sampled.

A program starts its processes by `side.start(COMMAND)`, which returns a Popen: bare, or with sampan. `side.path` is a
folder of its own, which any user may write to.
"""
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 900


def finish(process):
    """(status, stdout, stderr) of a process that ends by itself."""
    out, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


class Program:
    """`needs`: the commands without which it is left out."""
    needs = []

    def missing(self):
        return [name for name in self.needs if shutil.which(name) is None]

    def prepare(self, folder):
        """Once for all rounds, in a folder that stays."""


class Target(Program):
    """The storms, and the programs that forbid themselves what a sample needs, of tests/targets."""
    name = "targets"
    KINDS = [*(("storm", kind) for kind in ("load", "throw", "malloc", "threads", "fork", "spawn", "fibers", "signals", "all")),
             ("raw_signals",), ("confined",), ("signal_views",)]

    def __init__(self, targets):
        self.targets = targets

    def outcome(self, side, seed):
        random.seed(seed)
        name, *kind = random.choice(self.KINDS)
        command = [self.targets / f"target_{name}", *kind]
        if kind:
            command += [random.choice([2, 5, 10]), self.targets / "libtarget_library.so"]
        return command[0].name, kind, finish(side.start(command))


class Python(Program):
    """One module of CPython's own tests: the outcome of each test."""
    name = "cpython"
    PYTHON = "/usr/bin/python3.11"
    TESTS = pathlib.Path("/usr/lib/python3.11/test")
    MODULES = """test_threading test_threadsignals test_thread test_signal test_gc test_generators test_exceptions
        test_coroutines test_asyncgen test_contextlib test_fork1 test_wait3 test_wait4 test_posix test_select
        test_faulthandler test_sys test_sys_setprofile test_sys_settrace test_frame test_weakref test_queue test_time
        test_eintr test_atexit test_yield_from test_ctypes test_zlib test_traceback test_subprocess test_os
        test_concurrent_futures test_socket test_selectors test_json test_re test_sort test_tempfile test_mmap
        test_resource test_pty test_popen test_sqlite3 test_bz2 test_lzma test_hashlib test_struct""".split()

    def missing(self):
        return [] if self.TESTS.exists() else ["libpython3.11-testsuite"]

    def outcome(self, side, seed):
        module = random.Random(seed).choice(self.MODULES)
        file = side.path / "results.xml"
        status, _, err = finish(side.start([self.PYTHON, "-m", "test", "--timeout", "600", "--junit-xml", file, module],
                                           env={"LANG": "C.UTF-8"}))
        if not file.exists():
            return module, status, err[-2000:]
        found = []
        for case in xml.parse(file).getroot().iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            found.append(f"{case.get('name')} {kinds[0] if kinds else case.get('result', 'passed')}")
        return module, status, tuple(sorted(found))


class StressNg(Program):
    """One stressor with its own verification, as an ordinary user."""
    name = "stress-ng"
    needs = ["stress-ng"]
    # They take the memory, the disk or the time of the whole machine, on which others work.
    LEFT_OUT = set("""bigheap brk fork-heavy forkheavy hdd iomix memhotplug mlockmany oom-pipe physpage quota ramfs resources revio
        shm shm-sysv softlockup stack swap sysbadaddr sysinval vm vm-addr vm-rw vm-segv vm-splice watchdog cpu-online
        reboot clock memthrash tmpfs pageswap mmapmany msyncmany bad-ioctl dirmany dev""".split())

    def prepare(self, folder):
        words = subprocess.run(["stress-ng", "--stressors"], capture_output=True, text=True, check=True).stdout.split()
        self.stressors = [word for word in words if word not in self.LEFT_OUT]

    def outcome(self, side, seed):
        stressor = random.Random(seed).choice(self.stressors)
        status, out, err = finish(side.start(
            ["stress-ng", f"--{stressor}", "2", "--timeout", "3", "--verify", "--seed", seed, "--temp-path", side.path],
            user=True))
        # A bare run fails in the same words; numbers differ.
        failures = {re.sub(r"0x[0-9a-f]+|\d+", "N", line) for line in (out + err).splitlines() if " fail: " in line or " error: " in line}
        return stressor, status, tuple(sorted(failures))


class Node(Program):
    """Workers that compute, recurse until the stack is full, compress, hash and start processes."""
    name = "node"
    needs = ["node"]

    def outcome(self, side, seed):
        return finish(side.start(["node", HERE / "workers.js", seed]))


class Java(Program):
    """Threads, exceptions, stack overflows, much garbage; by a random collector and compiler."""
    name = "java"
    needs = ["java", "javac"]

    def prepare(self, folder):
        subprocess.run(["javac", "-d", folder, HERE / "Work.java"], check=True)
        self.classes = folder

    def outcome(self, side, seed):
        chosen = random.Random(seed)
        options = [chosen.choice(["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"]),
                   *chosen.choice([[], ["-XX:+PreserveFramePointer"], ["-Xint"], ["-XX:TieredStopAtLevel=1"]])]
        return options, finish(side.start(["java", *options, "-cp", self.classes, "Work", seed]))


class Chromium(Program):
    """A page, as an ordinary user, with the sandbox."""
    name = "chromium"
    needs = ["chromium"]
    PAGE = """<html><body><p id="result"></p><script>
        let sum = 0, text = "";
        for (let i = 0; i < 5000000 + {seed} % 15000000; ++i) sum = (sum + i * {seed}) % 1000003;
        for (let i = 0; i < 20000; ++i) text += String.fromCharCode(97 + (i * sum) % 26);
        document.getElementById("result").textContent = sum + " " + text.match(/[aeiou]+/g).length;
        </script></body></html>"""

    def missing(self):
        limit = pathlib.Path("/proc/sys/user/max_user_namespaces")
        return super().missing() + ([] if limit.exists() and int(limit.read_text()) else ["user namespaces"])

    def outcome(self, side, seed):
        page = side.path / "page.html"
        page.write_text(self.PAGE.replace("{seed}", str(seed)))
        home = {name: str(side.path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR")}
        status, out, _ = finish(side.start(["chromium", "--headless", "--disable-gpu", "--dump-dom", page.as_uri()],
                                           user=True, env=home))
        return status, out


class Postgres(Program):
    """A server, and pgbench which makes a connection for each transaction: the sums of its tables."""
    name = "postgres"
    TABLES = {"pgbench_accounts": "abalance", "pgbench_branches": "bbalance", "pgbench_history": "delta"}

    def __init__(self):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        self.bin = found[-1] if found else None

    def missing(self):
        return [] if self.bin else ["postgresql"]

    def client(self, side, *words):
        return finish(side.start_bare([self.bin / words[0], "-h", side.path, *words[1:], "postgres"], user=True))

    def prepare(self, folder):
        self.data = folder / "data"
        os.chmod(folder, 0o777)
        subprocess.run([*ORDINARY_USER, self.bin / "initdb", "-D", self.data, "--no-sync", "-A", "trust"], check=True,
                       stdout=subprocess.DEVNULL)

    def outcome(self, side, seed):
        chosen = random.Random(seed)
        data = side.path / "data"
        subprocess.run(["cp", "-a", self.data, data], check=True)
        server = side.start([self.bin / "postgres", "-D", data, "-k", side.path, "-c", "listen_addresses=",
                             "-c", f"max_parallel_workers_per_gather={chosen.choice([0, 2])}"], user=True)
        deadline = time.monotonic() + 60
        while self.client(side, "pg_isready", "-d")[0] != 0:
            if time.monotonic() > deadline or server.poll() is not None:
                server.kill()
                return "the server did not start", finish(server)
            time.sleep(0.1)
        clients = chosen.choice([2, 4, 8])
        made = self.client(side, "pgbench", "-i", "-q", "-s", "1")[0]
        status, out, err = self.client(side, "pgbench", "-C", "-c", clients, "-j", "2", "-t", 400 // clients,
                                       "--random-seed", seed)
        counts = re.findall(r"(?:actually processed|failed transactions): (\S+)", out)
        sums = [self.client(side, "psql", "-Atc", f"select count(*), sum({column}) from {table}")[1]
                for table, column in self.TABLES.items()]
        finish(side.start_bare([self.bin / "pg_ctl", "stop", "-D", data, "-m", "fast", "-s"], user=True))
        return made, status, err.count("ERROR"), counts, sums, finish(server)[0]


class Redis(Program):
    """A server with four clients that write, and a copy of its memory by fork: the digest of its data."""
    name = "redis"
    needs = ["redis-server", "redis-cli"]

    def outcome(self, side, seed):
        socket = side.path / "redis.sock"
        server = side.start(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", side.path,
                             "--logfile", side.path / "log", "--enable-debug-command", "yes", "--io-threads", "2"])

        def client(*words, stdin=None):
            return subprocess.run(["redis-cli", "-s", socket, *words], stdin=stdin, capture_output=True, text=True,
                                  check=False, timeout=TIMEOUT_S)

        deadline = time.monotonic() + 60
        while client("ping").stdout != "PONG\n" and time.monotonic() < deadline and server.poll() is None:
            time.sleep(0.05)
        writers = []
        for number in range(4):
            chosen = random.Random(seed * 4 + number)
            commands = side.path / f"commands{number}"
            with open(commands, "w", encoding="ascii") as out:
                for _ in range(30000):
                    key = f"{number}:{chosen.randrange(2000)}"
                    out.write(chosen.choice([f"SET s{key} {chosen.random()}\r\n", f"LPUSH l{key} {chosen.random()}\r\n",
                                             f"ZADD z{key} {chosen.randrange(1000)} m{chosen.randrange(50)}\r\n",
                                             f"LTRIM l{key} 0 20\r\n"]))
            with open(commands, "rb") as stdin:
                writers.append(subprocess.Popen(["redis-cli", "-s", str(socket), "--pipe"], stdin=stdin,
                                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        client("bgsave")
        replies = [re.findall(r"errors: \d+, replies: \d+", writer.communicate(timeout=TIMEOUT_S)[0].decode()) for writer in writers]
        digest = client("debug", "digest").stdout, client("dbsize").stdout
        client("shutdown", "nosave")
        return replies, digest, finish(server)[0]


class Compilers(Program):
    """The object file that g++ and clang++ make."""
    name = "compilers"
    needs = ["g++", "clang++"]

    def outcome(self, side, seed):
        chosen = random.Random(seed)
        compiler = chosen.choice(self.needs)
        source = side.path / "source.cpp"
        source.write_text("#include <map>\n#include <regex>\n#include <string>\n" + "".join(
            f"std::map<std::string, std::regex> m{i};\n"
            f"bool f{i}(const std::string& s) {{ return std::regex_search(s, m{i}[s + \"{chosen.random()}\"]); }}\n"
            for i in range(chosen.randrange(1, 6))))
        done = finish(side.start([compiler, chosen.choice(["-O0", "-O1", "-O2"]), "-c", "source.cpp", "-o", "object.o"],
                                 cwd=side.path))
        made = side.path / "object.o"
        return compiler, done, hashlib.sha256(made.read_bytes()).hexdigest() if made.exists() else None


class Shell(Program):
    """Scripts that start hundreds of short processes, in pipes and in the background, by dash and by bash."""
    name = "shells"
    needs = ["bash", "dash", "awk", "sort", "xz"]
    SCRIPT = """
        set -e
        for i in $(seq 60); do
          (seq {seed} $(({seed} + i)) | awk '{s += $1} END {print s}') &
        done
        wait
        seq {seed} $(({seed} + 20000)) | sort -R --random-source=/bin/ls | xz -T2 -1 | xz -d | sort -n | cksum
        trap 'echo got it' USR1; kill -USR1 $$
        (exit 7) || echo $?
        sh -c 'kill -TERM $$' || echo $?
        """

    def outcome(self, side, seed):
        shell = random.Random(seed).choice(["bash", "dash"])
        status, out, err = finish(side.start([shell, "-c", self.SCRIPT.replace("{seed}", str(seed))], cwd=side.path))
        return shell, status, tuple(sorted(out.splitlines())), err


ORDINARY_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def all_programs(targets):
    return [Target(targets), Python(), StressNg(), Node(), Java(), Chromium(), Postgres(), Redis(), Compilers(), Shell()]
