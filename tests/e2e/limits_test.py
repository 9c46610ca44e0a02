"""The program runs, and ends with its own status, however little sampan gets: limits, full disks, streams that are
closed or full."""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import sampan
import seccomp

PERF_EVENT_OPEN, PTRACE = 298, 101
# Two threads, some CPU, and a status of its own; says what it sees of its limits and streams.
PROGRAM = ["python3", "-c", """
import os, resource, signal, sys, threading
def spin():
    total = 0
    for number in range(int(sys.argv[2])): total += number
thread = threading.Thread(target=spin)
thread.start()
spin()
thread.join()
try: seen = [resource.getrlimit(limit) for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_AS)]
except ValueError: seen = []
os.write(int(sys.argv[1]), repr([seen, str(signal.getsignal(signal.SIGXFSZ)), str(signal.getsignal(signal.SIGPIPE)),
                                 [os.path.exists(f"/proc/self/fd/{fd}") for fd in range(3)]]).encode())
sys.exit(7)
"""]
# As many threads at once as asked for, each with 10 ms of CPU.
THREADS = """
import sys, threading, time
count = int(sys.argv[1])
all_there = threading.Barrier(count)
def work():
    all_there.wait()
    end = time.thread_time() + 0.01
    while time.thread_time() < end: pass
threads = [threading.Thread(target=work) for _ in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
MIB = 1 << 20


def limited(**limits):
    """To be called in the child: RLIMIT_<name> = (soft, hard)."""
    def apply():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), value)
    return apply


class Bare(sampan.Case):
    """Compares a run with one without sampan."""
    turns = 1_500_000  # of each thread: enough for some samples

    def setUp(self):
        self.output = pathlib.Path(tempfile.mkdtemp(dir=self.path))

    def seen(self, *before, **keywords):
        """What the program says, and its CompletedProcess."""
        reader, writer = os.pipe()
        try:
            done = subprocess.run([*map(str, before), *PROGRAM, str(writer), str(self.turns)], pass_fds=[writer],
                                  timeout=120, **keywords)
        finally:
            os.close(writer)
        with open(reader, encoding="utf-8") as said:
            return said.read(), done

    def compare(self, *options, before=(), **keywords):
        """The program runs as without sampan. Returns what `sampan run` has printed, and its directories."""
        keywords.setdefault("stdout", subprocess.PIPE)
        keywords.setdefault("stderr", subprocess.PIPE)
        bare, bare_done = self.seen(*before, **keywords)
        said, done = self.seen(*before, sampan.PROGRAM, "run", "--format", "none", "--output", self.output, *options, "--",
                               **keywords)
        self.assertEqual((bare_done.returncode, done.returncode), (7, 7), done.stderr)
        self.assertEqual(said, bare)
        runs = list(self.output.iterdir()) if self.output.is_dir() else []
        return (done.stderr or b"").decode(), runs

    def report(self, runs):
        self.assertEqual(len(runs), 1)
        return sampan.report(runs[0])


class Limits(Bare):
    def test_file_size(self):
        """The memory that both share is a file, too: it becomes smaller. The recording has what fits."""
        for limit in (2 * MIB, 600_000):
            for soft, hard in ((limit, limit), (limit, resource.RLIM_INFINITY)):
                with self.subTest(soft=soft, hard=hard):
                    shutil.rmtree(self.output)
                    text, runs = self.compare(preexec_fn=limited(FSIZE=(soft, hard)))
                    report = self.report(runs)
                    self.assertGreater(report["samples"], 10)
                    words = "The limit on file sizes (ulimit -f) left room for"
                    if hard == limit:
                        self.assertIn(words, " ".join(text.split()))
                    else:  # sampan raises its own
                        self.assertNotIn(words, " ".join(text.split()))

    def test_file_size_without_room(self):
        for limit in (0, 100):
            text, runs = self.compare(preexec_fn=limited(FSIZE=(limit, limit)), stderr=subprocess.PIPE)
            self.assertIn("nothing is recorded, and the program runs without it", text)
            self.assertEqual(runs, [])
        text, _ = self.compare(preexec_fn=limited(FSIZE=(100_000, 100_000)))
        self.assertIn("the limit on file sizes (ulimit -f) has no room", text)

    def test_files_beyond_the_limit(self):
        """The memory fits, the trace does not: it is six times as large, at whatever rate the machine reaches."""
        self.turns = 12_000_000
        text, runs = self.compare("--format", "trace", "--rate", "10000", preexec_fn=limited(FSIZE=(174_000, 174_000)),
                                  env={**os.environ, "SAMPAN_SAMPLING_CLOCK": "perf", "SAMPAN_FAST_CLOCK": "always"})
        self.assertIn("profile_trace.json: File too large", text)
        self.assertGreater(self.report(runs)["samples"], 10)

    def test_address_space(self):
        for limit, enough in ((700 * MIB, True), (500 * MIB, False), (150 * MIB, False)):
            with self.subTest(limit=limit):
                text, runs = self.compare(preexec_fn=limited(AS=(limit, limit)))
                if enough:
                    self.assertEqual(self.report(runs)["lost"], {})
                elif runs:
                    self.assertIn("The limit on the program's address space (ulimit -v)", " ".join(text.split()))
                else:
                    self.assertIn("nothing is recorded", text)
                shutil.rmtree(self.output, ignore_errors=True)

    def test_descriptors(self):
        self.turns = 1000  # whether it runs is the question
        for limit in range(6, 24):
            with self.subTest(limit=limit):
                text, runs = self.compare(preexec_fn=limited(NOFILE=(limit, limit)))
                if not runs:
                    self.assertIn("nothing is recorded", text)
                shutil.rmtree(self.output, ignore_errors=True)
        self.turns = Bare.turns
        self.compare(preexec_fn=limited(NOFILE=(10, 1000)))
        self.assertGreater(self.report(list(self.output.iterdir()))["samples"], 10)

    def pages_without_limit(self):
        """Pages of perf events that an ordinary user may lock whatever the limit."""
        kib = int(pathlib.Path("/proc/sys/kernel/perf_event_mlock_kb").read_text(encoding="utf-8"))
        return kib * 1024 // os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_NPROCESSORS_ONLN")

    def test_locked_memory(self):
        """The perf event of each thread takes a page. There are more threads than pages: the others have timers."""
        count = self.pages_without_limit() + 50
        if count > 1000:
            self.skipTest(f"{count} threads would be needed")
        run = sampan.run([*self.ordinary, "/usr/bin/python3", "-c", THREADS, count], ["--rate", "1000", "--max-overhead", "none", "--no-python"],
                         preexec_fn=limited(MEMLOCK=(0, 0)))
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        # Python 3.14 names its threads. Another row is of the command that became an ordinary user.
        threads = [row for row in run.report["threads"] if row["name"].startswith(("python3", "Thread-"))]
        self.assertEqual(len(threads), count + 1)
        self.assertIn("perf_refused", run.report["lost"])
        self.assertNotIn("thread_no_timer", run.report["lost"])
        # A tick may miss one.
        self.assertLess(len([row for row in threads if row["samples"] == 0]), 25)

    def test_a_program_that_locks_its_memory(self):
        """All of the process counts for the limit: what is mapped for it is not to be more than it uses."""
        command = [*self.ordinary, sampan.TARGETS / "target_locked"]
        memlock = limited(MEMLOCK=(8 * MIB, 8 * MIB))
        alone = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=False, preexec_fn=memlock)
        self.assertEqual(alone.stdout, "mlockall: done\nthreads: done\nmmap: done\n")
        for options in ([], ["--heap", "--locks"]):
            run = sampan.run(command, options, preexec_fn=memlock, text=True)
            self.assertEqual((run.returncode, run.stdout), (alone.returncode, alone.stdout), options)
            self.assertEqual({loss for loss in run.report["lost"] if loss.startswith("thread")}, set())
            threads = [row for row in run.report["threads"] if row["name"] == "target_locked"]
            self.assertGreater(sum(row["sampled_cpu_s"] for row in threads), 0.5)

    def test_locked_memory_of_sampan(self):
        """The rings of `attach` would be larger at this rate."""
        target = subprocess.Popen([*self.ordinary, "/usr/bin/python3", "-c", "while True: pass"])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        os.chmod(self.path, 0o777)
        for limit, rate in ([], "49"), (["prlimit", "--memlock=0"], "4000"):
            output = self.path / rate
            words = ["attach", "--engine", "perf", "--rate", rate, "--no-python", "-d", "0.5", "-f", "none", "-o", output]
            done = subprocess.run([*limit, *self.ordinary, sampan.PROGRAM, *words, str(target.pid)],
                                  stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            if not limit and done.returncode != 0:
                self.skipTest(f"the kernel refuses: {done.stderr}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(self.report(list(output.iterdir()))["samples"], 0)

    @property
    def ordinary(self):
        return sampan.ORDINARY_USER if os.geteuid() == 0 else []

    def test_processes(self):
        if os.geteuid() == 0:
            self.skipTest("no limit for root")
        text, runs = self.compare(preexec_fn=limited(NPROC=(1, 1)))
        self.assertIn("nothing is recorded", text)
        self.assertEqual(runs, [])

    def full_disk(self, size):
        """A file system with `size` bytes of room, in a mount namespace of its own: words to run a program there."""
        script = f'mount -t tmpfs -o size={size} tmpfs "$0" && exec "$@"'
        words = ["unshare", "-m", *(["-r"] if os.geteuid() != 0 else []), "sh", "-c", script, str(self.output)]
        if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no mount namespace here")
        return words

    def test_a_full_disk(self):
        words = self.full_disk(4096)
        script = 'dd if=/dev/zero of="$0/full" bs=4096 2>/dev/null; exec "$@"'
        text, _ = self.compare(before=[*words, "sh", "-c", script, self.output])
        self.assertIn("No space left on device", text)

    def test_a_disk_that_fills_up(self):
        """The recording begins, and its modules alone take more than the page that there is."""
        self.turns = 6_000_000
        text, _ = self.compare("--rate", "10000", "--max-overhead", "none", "--no-symbolize", before=self.full_disk(4096))
        self.assertIn("No space left on device", text)

    def test_strict_refuses(self):
        blocker = self.path / "file"
        blocker.touch()
        for options, status in ((["--strict"], 125), ([], 7)):
            done = subprocess.run([sampan.PROGRAM, "run", "--output", blocker, *options, "--", "sh", "-c", "echo ran; exit 7"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (status, "ran\n" if status == 7 else ""))
            self.assertIn(str(blocker), done.stderr)
        done = subprocess.run([sampan.PROGRAM, "run", "--output", blocker, "--", "no-such-program"], stderr=subprocess.PIPE,
                              check=False)
        self.assertEqual(done.returncode, 127)


class Streams(Bare):
    """Messages that cannot be written."""

    def compare_streams(self, redirections):
        """The report is printed, too."""
        script = f'exec "$@" {redirections}'
        text, runs = self.compare("--format", "html", before=["sh", "-c", script, "sh"])
        self.assertEqual(text, "")
        self.assertGreater(self.report(runs)["samples"], 10)
        damage = subprocess.run([sampan.PROGRAM, "report", str(runs[0])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                check=True).stderr
        self.assertEqual(damage, b"")

    def test_closed(self):
        self.compare_streams("2>&-")

    def test_all_closed(self):
        self.compare_streams("<&- >&- 2>&-")

    def test_full(self):
        self.compare_streams("2>/dev/full")

    def test_a_pipe_without_a_reader(self):
        reader, writer = os.pipe()
        os.close(reader)
        _, runs = self.compare("--format", "html", stderr=writer)
        os.close(writer)
        self.assertGreater(self.report(runs)["samples"], 10)

    def test_a_signal_is_a_status_too(self):
        for stderr in ("2>&-", "2>/dev/full"):
            done = subprocess.run(["sh", "-c", f'exec "$@" {stderr}', "sh", sampan.PROGRAM, "run", "--output", self.output,
                                   "--", "sh", "-c", "kill -USR1 $$"], check=False)
            self.assertEqual(done.returncode, -signal.SIGUSR1)
            done = subprocess.run(["sh", "-c", f'exec "$@" {stderr}', "sh", sampan.PROGRAM, "run", "--output", self.output,
                                   "--", "no-such-program"], check=False)
            self.assertEqual(done.returncode, 127)

    def test_what_is_printed_has_arrived_or_it_is_an_error(self):
        run = sampan.run(["true"])
        for words in (["report", run.directory], ["report", "--json", run.directory], ["version"], ["formats"], ["doctor"],
                      ["help"], ["export", "--format", "pprof", "--output", "-", run.directory]):
            for where in (">/dev/full", ">&-"):
                done = subprocess.run(["sh", "-c", f'exec "$@" {where}', "sh", sampan.PROGRAM, *map(str, words)],
                                      stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 1, (words, where, done.stderr))
                self.assertRegex(done.stderr, "No space left on device|Bad file descriptor", words)

    def test_the_status_of_a_served_program(self):
        for stderr in ("2>&-", "2>/dev/full"):
            done = subprocess.run(["sh", "-c", f'exec "$@" {stderr}', "sh", sampan.PROGRAM, "serve", "--", "sh", "-c", "exit 7"],
                                  stdout=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 7)


class Files(sampan.Case):
    """Who may read what a run leaves, and programs that cannot read what sampan needs."""

    def modes(self, *options, umask=0o022):
        output = pathlib.Path(tempfile.mkdtemp(dir=self.path))
        done = subprocess.run([sampan.PROGRAM, "run", "--quiet", "--format", "none", "--output", output, *options, "--", "sh", "-c",
                               "umask"], preexec_fn=lambda: os.umask(umask), stdout=subprocess.PIPE, check=True)
        self.assertEqual(int(done.stdout, 8), umask)
        [run] = output.iterdir()
        return {oct(path.stat().st_mode & 0o777)[2:] for path in (run, *run.rglob("*.sampan"))}

    def test_recordings_are_the_owners(self):
        self.assertEqual(self.modes(), {"700", "600"})
        self.assertEqual(self.modes(umask=0), {"700", "600"})
        self.assertEqual(self.modes("--mode", "640"), {"750", "640"})
        self.assertEqual(self.modes("--mode", "644", "--continuous", umask=0o077), {"755", "644"})
        for wrong in ("8", "0", "rw", "444", "4600", "755"):
            done = subprocess.run([sampan.PROGRAM, "run", "--mode", wrong, "--", "true"], stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn(b"--mode", done.stderr)

    def test_a_new_root_without_the_shim(self):
        if os.geteuid() != 0:
            self.skipTest("only root changes the root")
        root = self.path / "root"
        listed = subprocess.run(["ldd", "/bin/dash"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for file in ["/bin/dash", *(word for word in listed.split() if word.startswith("/"))]:
            place = root / file.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(file), place)
        for calls, lost in (((), {}), ((PERF_EVENT_OPEN, PTRACE), {"process_no_shim": 1})):
            result = sampan.run(["chroot", root, "/bin/dash", "-c", "echo here; exit 4"],
                                preexec_fn=lambda calls=calls: seccomp.refuse(*calls) if calls else None)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (4, b"here\n", b""))
            self.assertEqual(result.report["lost"], lost)


if __name__ == "__main__":
    unittest.main(verbosity=2)
