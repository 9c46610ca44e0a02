"""Programs in other roots and namespaces: after chroot, in a container. Their functions have the names of the files that
ran, and never those of other files with the same paths; what ends together with its PID namespace is recorded."""
import datetime
import math
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import chroots  # before sampan, which takes the user's cache away
import sampan
import seccomp
import stalls
from tolerances import share_noise, unsampled_s

FUNCTIONS = {"ten_percent": 0.1, "twenty_percent": 0.2, "thirty_percent": 0.3, "forty_percent": 0.4}
SECONDS = 2
SHIM = pathlib.Path(sampan.PROGRAM).parent / "libsampan_preload.so"
PERF_EVENT_OPEN, PTRACE = 298, 101
# Where sampan may be killed at any moment, this part of the recording is not written yet, and this long at least and at most.
UNSAVED_PART, UNSAVED_S = 1 / 16, (0.05, 1)


def libraries_of(program):
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [word for word in listed.split() if word.startswith("/")]


def known(row):
    """The name of a row of functions, if it is one of FUNCTIONS."""
    name = row["name"].removeprefix("(anonymous namespace)::")
    return name if name in FUNCTIONS else None


def refused(*words):
    """Why this machine does not permit the words; None: it does."""
    if shutil.which(words[0]) is None:
        return f"{words[0]} is not installed"
    done = subprocess.run([*map(str, words), "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip() or f"{words[0]} is refused")


class InRoots(sampan.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.geteuid() != 0:
            raise unittest.SkipTest("NOT TESTED: only root changes the root")
        os.chmod(cls.path, 0o755)
        # The root has this program at its path here, and its libraries behind a link that begins at the root; nothing
        # else: no /proc, no /tmp, no /dev.
        cls.program = cls.path / "program"
        cls.root = cls.path / "root"
        target = sampan.TARGETS / "target_shares"
        cls.inner = cls.root / str(cls.program).lstrip("/")
        cls.inner.parent.mkdir(parents=True)
        shutil.copy(target, cls.inner)
        (cls.root / "real").mkdir()
        for library in map(pathlib.Path, libraries_of(target)):
            shutil.copy(os.path.realpath(library), cls.root / "real" / library.name)
            link = cls.root / str(library).lstrip("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"/real/{library.name}")
        # Here, the same path is that of another program.
        shutil.copy(sampan.TARGETS / "target_steady", cls.program)

    def setUp(self):
        # No name is known from an earlier test.
        folder = tempfile.TemporaryDirectory(prefix="sampan-e2e-cache-")
        self.addCleanup(folder.cleanup)
        before = os.environ["XDG_CACHE_HOME"]
        self.addCleanup(os.environ.__setitem__, "XDG_CACHE_HOME", before)
        os.environ["XDG_CACHE_HOME"] = folder.name

    said = ""

    def need_permission(self, *words):
        why = refused(*words)
        if why is not None:
            self.skipTest(f"NOT TESTED: {why}")

    def check_shares(self, report, least_s=0.9 * SECONDS):
        seconds = {known(row): row["total_s"] for row in report["functions"] if known(row)}
        self.assertEqual(set(seconds), set(FUNCTIONS), report["functions"][:8])
        self.assertGreater(sum(seconds.values()), least_s - unsampled_s(5))
        samples = sum(thread["samples"] for thread in report["threads"])
        for name, wanted in FUNCTIONS.items():
            share = seconds[name] / sum(seconds.values())
            self.assertLess(abs(share - wanted), share_noise(wanted, samples), f"{name}: {share}")

    def run_in(self, *words, options=(), **keywords):
        """Runs the program by the words: the Run."""
        run = sampan.run([*words, self.program, SECONDS], options, text=True, **keywords)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("thread share-8", run.stdout)
        return run

    def modules(self, report):
        return {row["module"] for row in report["functions"] if known(row)}


@stalls.measures_time("compares the shares of functions")
class Roots(InRoots):
    def test_chroot(self):
        run = self.run_in("chroot", self.root)
        self.assertEqual(run.report["lost"], {})
        self.check_shares(run.report)
        self.assertEqual(self.modules(run.report), {str(self.inner)})
        self.assertIn("sampled from outside", " ".join(run.report["notes"]))

    def test_a_root_that_is_read_only(self):
        self.need_permission("unshare", "--mount")
        script = ('mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && ! touch "$1/written" 2> /dev/null && '
                  'shift && exec chroot "$@"')
        run = self.run_in("unshare", "--mount", "sh", "-c", script, "sh", self.root, self.root)
        self.assertEqual(run.report["lost"], {})
        self.check_shares(run.report)

    def test_a_root_with_the_shim(self):
        place = self.root / str(SHIM).lstrip("/")
        place.parent.mkdir(parents=True)
        shutil.copy(SHIM, place)
        self.addCleanup(place.unlink, missing_ok=True)  # a repeated test has another root
        run = self.run_in("chroot", self.root)
        self.assertEqual((run.report["lost"], run.report["notes"]), ({}, []))
        self.check_shares(run.report)
        self.assertEqual(self.modules(run.report), {str(self.inner)})

    def test_without_any_engine(self):
        run = self.run_in("chroot", self.root, preexec_fn=lambda: seccomp.refuse(PERF_EVENT_OPEN, PTRACE))
        self.assertEqual(run.report["lost"], {"process_no_shim": 1})

    def test_without_perf(self):
        run = self.run_in("chroot", self.root, preexec_fn=lambda: seccomp.refuse(PERF_EVENT_OPEN))
        self.assertEqual(run.report["lost"], {})
        self.check_shares(run.report)

    # The shim is there, and the program by a path that has another file here.
    def in_a_mount_namespace(self, *options, mode=()):
        self.need_permission("unshare", "--mount")
        script = 'mount --bind "$1" "$2" && shift && exec "$@"'
        return self.run_in("unshare", "--mount", *mode, "sh", "-c", script, "sh", self.inner, options=options)

    def test_a_mount_namespace(self):
        run = self.in_a_mount_namespace()
        self.assertEqual((run.report["lost"], run.report["notes"]), ({}, []))
        self.check_shares(run.report)
        self.assertEqual(self.modules(run.report), {str(self.program)})

    def test_looking_at_one_that_runs(self):
        self.need_permission("unshare", "--mount")
        script = 'mount --bind "$1" "$2" && shift && exec "$@"'
        with subprocess.Popen(["unshare", "--mount", "sh", "-c", script, "sh", self.inner, self.program, "60"],
                              stdout=subprocess.DEVNULL) as target:
            try:
                while not os.path.samefile(f"/proc/{target.pid}/exe", self.inner):
                    time.sleep(0.01)
                if os.readlink(f"/proc/{target.pid}/exe") != str(self.program):
                    self.skipTest("NOT TESTED: this root is a chroot: the kernel gives paths of other mounts from its own root")
                words = {"top": ["top", "--once", "--json", "--delay", "1"],
                         "attach": ["attach", "--duration", "1", "--format", "folded", "--output", self.path / "attached"]}
                said = {name: subprocess.run([sampan.PROGRAM, *map(str, command), str(target.pid)], capture_output=True, text=True,
                                             check=True) for name, command in words.items()}
            finally:
                target.kill()
        self.assertIn("forty_percent", said["top"].stdout)
        self.assertIn("forty_percent", said["attach"].stderr)

    def test_an_ordinary_users_namespaces(self):
        prefix = [*sampan.ORDINARY_USER, "unshare", "--user", "--map-root-user", "--mount"]
        self.need_permission(*prefix)
        output = pathlib.Path(tempfile.mkdtemp(dir=self.path))
        os.chmod(output, 0o777)
        script = 'mount --bind "$1" "$2" && shift && exec "$@"'
        done = subprocess.run([*sampan.ORDINARY_USER, sampan.PROGRAM, "run", "--quiet", "--format", "none", "--output", output, "--",
                               *prefix[len(sampan.ORDINARY_USER):], "sh", "-c", script, "sh", self.inner, self.program,
                               str(SECONDS)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = sampan.report(next(output.iterdir()))
        self.assertNotIn("process_no_shim", report["lost"])  # `mount` is setuid, which is counted
        self.check_shares(report)

    def test_a_network_namespace(self):
        self.need_permission("unshare", "--net")
        run = self.run_in("unshare", "--net", "chroot", self.root)
        self.assertEqual(run.report["lost"], {})
        self.check_shares(run.report)

    def test_a_pid_namespace(self):
        self.need_permission("unshare", "--pid", "--fork")
        run = self.run_in("unshare", "--pid", "--fork", "chroot", self.root)
        self.assertEqual(run.report["lost"], {})
        self.check_shares(run.report)

    def test_bubblewrap(self):
        sandbox = ["bwrap", "--bind", self.root, "/", "--proc", "/proc", "--dev", "/dev"]
        self.need_permission("bwrap", "--ro-bind", "/", "/", "--unshare-all")
        for options in ([], ["--unshare-all"], ["--unshare-pid", "--unshare-user"]):
            with self.subTest(options):
                run = self.run_in(*sandbox, *options)
                self.assertEqual(run.report["lost"], {})
                self.check_shares(run.report)

    # Names that were not written into the recording, because it was made elsewhere.
    def test_sysroot(self):
        run = self.in_a_mount_namespace("--no-symbolize")
        report = sampan.report(run.recording)
        self.assertEqual(self.modules(report), set())
        mine = {row["name"] for row in report["functions"] if row["module"] == str(self.program)}
        self.assertTrue(mine)
        self.assertTrue(all(name.startswith("[program+0x") for name in mine), f"of another file: {mine}")
        self.assertIn("another file than the one that ran", " ".join(report["notes"]))
        self.check_shares(sampan.report(run.recording, "--sysroot", self.root))
        folded = self.path / "folded"
        subprocess.run([sampan.PROGRAM, "export", "--format", "folded", "--sysroot", self.root, "--output", folded, run.recording],
                       stdout=subprocess.DEVNULL, check=True)
        self.assertIn("forty_percent", folded.read_text())
        said = subprocess.run([sampan.PROGRAM, "doctor", "--sysroot", self.root, run.recording], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        self.assertNotIn("another file", said)
        subprocess.run([sampan.PROGRAM, "symbolize", "--sysroot", self.root, run.recording], stdout=subprocess.DEVNULL, check=True)
        self.check_shares(sampan.report(run.recording))

    def test_a_sysroot_that_is_none(self):
        done = subprocess.run([sampan.PROGRAM, "report", "--sysroot", self.program, "-1"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"--sysroot {self.program}: must be a directory", done.stderr)


@stalls.measures_time("compares the shares of functions")
class Container(InRoots):
    """The guide's recipe for containers, in a root that has the C library, the program, /opt/sampan, and nothing else."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for file in (sampan.PROGRAM, SHIM, shutil.which("env")):
            chroots.add_program(cls.root, file, f"/opt/sampan/{pathlib.Path(file).name}")
        (cls.root / "profiles").mkdir()

    def inside(self, *words):
        self.need_permission("unshare", "--pid", "--fork", "--mount")
        done = subprocess.run(chroots.in_namespaces(self.root, *words), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_recipe(self):
        self.inside("/opt/sampan/env", "LD_PRELOAD=/opt/sampan/libsampan_preload.so", "SAMPAN=1", "SAMPAN_OUTPUT=/profiles",
                    "SAMPAN_QUIET=1", "SAMPAN_FORMAT=none", self.program, SECONDS)
        [directory] = (self.root / "profiles").iterdir()
        recording = directory / "recording.sampan"
        report = sampan.report(recording)
        self.assertEqual(report["lost"], {})
        mine = {row["name"] for row in report["functions"] if row["module"] == str(self.program)}
        self.assertTrue(mine and all(name.startswith("[program+0x") for name in mine), f"of another file: {mine}")
        self.check_shares(sampan.report(recording, "--sysroot", self.root))
        self.assertIn(" new\n", self.inside("/opt/sampan/sampan", "symbolize", f"/profiles/{directory.name}"))
        self.check_shares(sampan.report(recording))

    def test_run_inside(self):
        self.inside("/opt/sampan/sampan", "run", "--quiet", "--format", "none", "--output", "/profiles/run", "--",
                    self.program, SECONDS)
        [directory] = (self.root / "profiles/run").iterdir()
        self.check_shares(sampan.report(directory, "--sysroot", self.root))
        shutil.rmtree(self.root / "profiles/run")


@stalls.measures_time("compares sampled CPU with the threads' clocks")
class EndsWithItsNamespace(InRoots):
    """The recorder is in the PID namespace, as in a container that is profiled by LD_PRELOAD, and killed with it."""

    blocks = 0

    def record(self, script, status=0, kill=False):
        """The report of what the script does as the first process of its namespace; with `kill` also when it was killed."""
        self.need_permission("unshare", "--pid", "--fork", "--mount-proc")
        output = pathlib.Path(tempfile.mkdtemp(dir=self.path))
        variables = [f"LD_PRELOAD={SHIM}", "SAMPAN=1", f"SAMPAN_OUTPUT={output}", "SAMPAN_QUIET=1", "SAMPAN_FORMAT=none"]
        words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                 script.replace("PROFILED", "env " + " ".join(variables))]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as first:
            if kill:
                time.sleep(SECONDS)
                killed_s = time.time()
                first.kill()
            self.said, complaints = first.communicate(timeout=60)
        self.assertEqual(first.returncode, -signal.SIGKILL if kill else status, complaints)
        deadline = time.monotonic() + 20
        recordings = []
        while not recordings and time.monotonic() < deadline:
            recordings = list(output.glob("*/recording.sampan"))
        self.assertEqual(len(recordings), 1)
        self.blocks = recordings[0].read_bytes().count(b"SBLK")  # each writing appends one or a few
        report = sampan.report(recordings[0])
        return (report, killed_s) if kill else report

    def check_end(self, report):
        """All of its CPU is accounted for, and all but what comes after the last sample of a thread is sampled."""
        self.assertNotIn("ends early", " ".join(report["notes"]))
        self.assertEqual(report["lost"], {})
        [program] = [process for process in report["processes"] if process["exit_status"] is not None]
        self.assertEqual(program["exit_status"], 0)
        used_s = sum(float(line.split()[-1]) for line in self.said.splitlines())  # by the threads' own clocks
        self.assertGreater(used_s, 0)
        self.assertGreaterEqual(program["cpu_s"], used_s)
        self.assert_whole(type("Result", (), {"report": report}), coverage=1)

    def test_the_first_process_ends(self):
        target = sampan.TARGETS / "target_shares"
        self.check_end(self.record(f"exec PROFILED {target} {SECONDS}"))

    def test_the_first_process_waits_for_it(self):
        target = sampan.TARGETS / "target_shares"
        self.check_end(self.record(f"PROFILED {target} {SECONDS}; exit 3", status=3))

    def test_others_still_run(self):
        target = sampan.TARGETS / "target_shares"
        report = self.record(f"exec PROFILED sh -c '{target} 60 & sleep {SECONDS}; cat /proc/$!/stat'")
        self.assertNotIn("ends early", " ".join(report["notes"]))
        user, system = self.said.rpartition(")")[2].split()[11:13]
        used_s = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        workers = [thread for thread in report["threads"] if thread["name"].startswith("share-")]
        self.assertEqual(len(workers), 4)
        sampled_s = sum(worker["sampled_cpu_s"] for worker in workers)
        self.assertGreater(used_s, 0.1 * SECONDS)
        self.assertGreater(sampled_s, used_s - unsampled_s(5))

    def test_what_is_saved_often_costs_little(self):
        """Blocks grow with the logarithm of the time, until there is one for each second."""
        target = sampan.TARGETS / "target_shares"
        duration_s = self.record(f"exec PROFILED {target} {3 * SECONDS}")["duration_s"]
        shortest_s, longest_s = UNSAVED_S
        first_s = min(shortest_s / UNSAVED_PART, duration_s)
        writings = first_s / shortest_s + math.log(duration_s / first_s) / UNSAVED_PART + duration_s / longest_s
        self.assertLess(writings, duration_s / shortest_s)
        self.assertLess(self.blocks, 1.2 * writings + 10)

    def test_it_is_killed(self):
        """What was sampled since the last writing is lost, and no more."""
        target = sampan.TARGETS / "target_shares"
        report, killed_s = self.record(f"exec PROFILED {target} 60", kill=True)
        self.assertIn("ends early", " ".join(report["notes"]))
        begun_s = datetime.datetime.fromisoformat(report["start_time"]).timestamp()
        missing_s = killed_s - begun_s - report["duration_s"]
        unsaved_s = min(max(UNSAVED_PART * report["duration_s"], UNSAVED_S[0]), UNSAVED_S[1])
        self.assertLess(missing_s, unsaved_s + UNSAVED_S[0])  # the last was not read yet


if __name__ == "__main__":
    unittest.main(verbosity=2)
