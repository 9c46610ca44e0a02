"""Functions have names, wherever their code lies and whatever has become of its file."""
import pathlib
import platform
import subprocess
import tempfile
import unittest

import sampan
from profiled import LIBRARY, command, profiled
from tolerances import unsampled_s

SECONDS = 0.5  # of CPU: of targets/other_loads.cpp


class Loaded(sampan.Case):
    def check(self, kind):
        run = profiled("other_loads", kind, LIBRARY)
        self.assertEqual((run.status, run.out, run.err), (0, "", ""))
        self.assertGreater(run.seconds_in("burn_in_library") + unsampled_s(), 0.95 * SECONDS)
        self.assertEqual(run.seconds_in("[jit]"), 0)
        self.assert_whole(run.run)

    def test_into_another_namespace(self):
        self.check("dlmopen")

    def test_from_memory(self):
        self.check("memfd")


class Deleted(sampan.Case):
    def test_after_it_ran(self):
        """A program that is made, runs, and is gone before the recording ends."""
        with tempfile.TemporaryDirectory(prefix="sampan-e2e-") as folder:
            program = pathlib.Path(folder) / "program"
            script = 'cp "$1" "$2" && "$2" dlmopen "$3"; rm "$2"; sleep 0.1'
            run = sampan.run(["sh", "-c", script, "sh", *command("other_loads"), program, LIBRARY], text=True)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            names = {row["name"] for row in run.report["functions"] if row["module"] == str(program)}
        self.assertIn("main", names)
        self.assertFalse([name for name in names if name.startswith("[program+")], names)


class Moved(sampan.Case):
    def check(self, engine):
        with sampan.Piped(*command("moved_code")) as target:
            self.assertEqual(target.line(), "moved\n")
            report = sampan.Attached(target.pid, engine, ["--duration", "1s"]).finish().report
        hot = sum(row["total_s"] for row in report["functions"] if row["name"].endswith("moved_function"))
        self.assertGreater(hot + unsampled_s(), 0.9 * report["sampled_cpu_s"])
        self.assertGreaterEqual(report["complete_stacks"], 0.99)

    def test_a_dump(self):
        with sampan.Piped(*command("moved_code")) as target:
            self.assertEqual(target.line(), "moved\n")
            done = subprocess.run([sampan.PROGRAM, "dump", str(target.pid)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(" in main at ", done.stdout)
        self.assertNotIn("[jit]", done.stdout)


for each in ("perf", "ptrace", "poll"):
    setattr(Moved, "test_by_" + each, lambda self, engine=each: self.check(engine))


# Code that is made at run time, and the map of it.
GENERATED = r"""
import ctypes, mmap, os, time
room = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
room.write(b"\x48\xff\xcf\x75\xfb\xc3")  # dec %rdi; jnz to the first; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(room))
with open(f"/tmp/perf-{os.getpid()}.map", "w") as file:
    file.write(f"{address:x} 6 generated_loop\n")
loop = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(address)
while time.process_time() < 0.5:
    loop(1_000_000)
print(os.getpid())
"""


@unittest.skipUnless(platform.machine() == "x86_64", "the code is of x86-64")
class Generated(sampan.Case):
    """Code of a process in another PID namespace: the runtime's map has its number there."""

    def run_in(self, *words):
        run = sampan.run([*words, "/usr/bin/python3", "-c", GENERATED], text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        functions = run.report["functions"]
        pathlib.Path(f"/tmp/perf-{int(run.stdout)}.map").unlink()
        [loop] = [row for row in functions if row["name"] == "generated_loop"]
        self.assertGreater(loop["self_s"] + unsampled_s(), 0.4)
        return int(run.stdout)

    def test_the_number_here(self):
        self.assertGreater(self.run_in(), 1)

    def test_the_number_there(self):
        words = ["unshare", "--pid", "--fork", "--mount-proc"]
        done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(f"NOT TESTED: {done.stderr.strip()}")
        self.assertEqual(self.run_in(*words), 1)


if __name__ == "__main__":
    unittest.main()
