#!/usr/bin/env python3
"""--clock wall: what Python threads wait for the GIL, apart from other locks, as the kernel's accounts of each thread
say; by every interpreter that is there."""
import os
import pathlib
import subprocess
import unittest

import interpreters
import sampan
from stalls import measures_time

POINTS = 0.01  # error of a share of a thread's life
# Two delays of an exponential distribution with mean 1 last longer with a probability of tolerances.CHANCE:
# (1 + x) * exp(-x).
TWO_DELAYS = 18.5
SECONDS = 1.5
SOURCES = pathlib.Path(os.environ.get("SAMPAN_EXAMPLE_SOURCES", "examples"))

# Two threads compute with the GIL and one without it; one sleeps and waits for a lock. Each prints how long its section
# was, its CPU, its time in the queue for a CPU and its turns there meanwhile. Nothing between the accounts and the
# section's ends lets go of the GIL.
TURNS = """
import ctypes, os, sys, threading, time, zlib
import sampan_markers as markers

pread = ctypes.PyDLL(None).pread
seconds = float(sys.argv[1])
lock = threading.Lock()
lines = []

def accounts(file, text):
    pread(file, text, 100, 0)
    return time.monotonic(), text.raw

def spinning():
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(2000):
            pass

def compressing():
    end = time.monotonic() + seconds
    data = bytes(range(256)) * 65536
    while time.monotonic() < end:
        zlib.compress(data)

def locked():
    with lock:
        pass
    time.sleep(seconds / 2)

def live(name, work):
    file, texts = os.open("/proc/thread-self/schedstat", os.O_RDONLY), [ctypes.create_string_buffer(100) for _ in "ab"]
    markers.section_start(name, True)
    begin, before = accounts(file, texts[0])
    work()
    end, after = accounts(file, texts[1])
    markers.section_stop(name, True)
    before, after = (text.split(b"\\n")[0].split() for text in (before, after))
    cpu, queued, turns = (int(b) - int(a) for a, b in zip(before, after))
    lines.append((name, threading.get_native_id(), end - begin, cpu / 1e9, queued / 1e9, turns))

threads = [threading.Thread(target=live, args=work) for work in (("spin-1", spinning), ("spin-2", spinning),
                                                                 ("compress", compressing), ("locked", locked))]
lock.acquire()
for thread in threads:
    thread.start()
time.sleep(seconds / 2)
lock.release()
for thread in threads:
    thread.join()
for line in lines:
    print(*line)
"""


# Two threads hold the GIL, each in a function of its own, one of them in what that calls; a third only asks for it.
HOLDERS = """
import sys, threading, time

def first(end):
    while time.monotonic() < end:
        for _ in range(2000):
            pass

def second(end):
    while time.monotonic() < end:
        sum(range(2000))

def outer(end):
    second(end)

def asking(end):
    while time.monotonic() < end:
        time.sleep(0.0001)

end = time.monotonic() + float(sys.argv[1])
threads = [threading.Thread(target=target, args=(end,), name=target.__name__) for target in (first, outer, asking)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


class Holders(sampan.Case):
    """Which function the holder was in: each thread has one, so no other may be named for it."""

    def check(self, program):
        path = self.path / "holders.py"
        path.write_text(HOLDERS)
        run = sampan.run([program, path, SECONDS], ["--clock", "wall", "--rate", "250"], text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        tids = {thread["name"]: thread["tid"] for thread in run.report["threads"]}
        in_function, all_s = {}, {}
        for wait in run.report["waits"]:
            if wait["call"] != "GIL" or wait["tid"] not in (tids["first"], tids["outer"], tids["asking"]):
                continue
            if not wait["object"]:
                continue  # its holder was not seen
            tid = int(wait["object"].split()[3])
            all_s[tid] = all_s.get(tid, 0) + wait["waiting_s"]
            if not wait["held_in"]:
                continue
            self.assertEqual(wait["object"].split()[4:], [name for name in tids if tids[name] == tid])
            in_function.setdefault(tid, {}).setdefault(wait["held_in"], 0)
            in_function[tid][wait["held_in"]] += wait["waiting_s"]
        # Each is in its function but for the thread's start and end: less than a period of 5 ms in turns of three threads.
        for name, function in (("first", "first"), ("outer", "second")):
            held = in_function.get(tids[name], {})
            # It has samples at 250 Hz, so in some of its turns of 5 ms; fewer where others push it off its CPU.
            self.assertGreater(held.get(function, 0), 0, (in_function, all_s))
            self.assertLess(sum(held.values()) - held[function], POINTS * SECONDS * 3, in_function)
            self.assertNotIn("second" if function == "first" else "first", held)
        text = subprocess.run([sampan.PROGRAM, "report", "--idle", run.recording], check=True, capture_output=True,
                              text=True).stdout
        table = text[text.index("The GIL: "):].split("\n\n")[0]
        self.assertRegex(table, rf"{tids['outer']} outer +second")
        trace = subprocess.run([sampan.PROGRAM, "export", "--format", "trace", "--output", "-", run.recording], check=True,
                               capture_output=True, text=True).stdout
        self.assertIn(f"[GIL held by thread {tids['first']} first in first]", trace)

    def test_each_interpreter_that_names_the_holder(self):
        for version, program in interpreters.installed().items():
            if version in interpreters.KNOWN and version not in ("3.9", "3.10"):
                with self.subTest(version):
                    self.check(program)


@measures_time("compares waits with the threads' own clocks")
class Gil(sampan.Case):
    def check(self, program):
        path = self.path / "turns.py"
        path.write_text(TURNS)
        run = sampan.run([program, path, SECONDS], ["--clock", "wall", "--rate", "250"], text=True,
                         env={"PYTHONPATH": str(SOURCES)}, delays=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        truths, waits, objects = {}, {}, set()
        for line in run.stdout.splitlines():
            name, tid, life, cpu, queued, turns = line.split()
            life, cpu, queued = float(life), float(cpu), float(queued)
            # A wait at an end of the section is seen when sampan gets a CPU, as late as the thread does; and what a thread
            # did while sampan waited for a CPU is told from what it did before and afterwards.
            bound = POINTS * life + TWO_DELAYS * queued / max(int(turns), 1) + run.delayed_s
            truths[name] = (int(tid), life, cpu, life - cpu - queued, bound)
            for wait in sampan.report(run.recording, "--section", name)["waits"]:
                key = wait["tid"], wait["call"]
                waits[key] = waits.get(key, 0) + wait["waiting_s"]
                if wait["call"] == "GIL":
                    objects.add(wait["object"])
        for name in ("spin-1", "spin-2"):
            tid, life, cpu, waited, bound = truths[name]
            self.assertGreater(waited, 0.1 * (waited + cpu))  # one spins at a time
            self.assertLessEqual(abs(waits.get((tid, "GIL"), 0) - waited), bound, (name, waits))
            self.assertLessEqual(waits.get((tid, "futex"), 0), POINTS * life)
        # It takes the GIL between two calls, and allocates memory, for which it may wait, too.
        tid, life, cpu, waited, bound = truths["compress"]
        self.assertLessEqual(waits.get((tid, "GIL"), 0), waited + bound, waits)
        # Where sampan gets no CPU, it takes that wait for one for a CPU.
        unseen = max(0, waits.get((tid, "runnable"), 0) - (life - cpu - waited))
        self.assertGreater(waits.get((tid, "GIL"), 0) + unseen, 0.5 * waited, waits)
        # The lock and the sleep are what they are. The lock is released when the main thread has got the GIL.
        tid, _, _, waited, bound = truths["locked"]
        of_locked = {}
        for wait in run.report["waits"]:
            if wait["tid"] == tid:
                of_locked[wait["call"]] = of_locked.get(wait["call"], 0) + wait["waiting_s"]
        of_sleep = max(of_locked.get(call, 0) for call in ("clock_nanosleep", "pselect6", "select"))
        self.assertGreater(min(of_locked["futex"], of_sleep), 0.4 * SECONDS, of_locked)
        self.assertLessEqual(of_locked["futex"] + of_sleep + of_locked.get("GIL", 0), waited + bound, of_locked)
        # The thread that holds it is named from 3.11 on.
        tids = {tid for tid, *_ in truths.values()}
        for held in objects - {""}:
            self.assertRegex(held, r"^held by thread \d+ ")
        if objects - {""}:
            # The other waits for one that spins, but for the error of its waits.
            spins = [truths[name] for name in ("spin-1", "spin-2")]
            spinners = {tid for tid, _, cpu, _, bound in spins if cpu > bound}
            by = {int(held.split()[3]) for held in objects - {""}}
            self.assertLessEqual(spinners, by)
            self.assertLessEqual(by - {run.report["processes"][0]["pid"]}, tids)

    def test_each_interpreter(self):
        for version, program in interpreters.installed().items():
            if version in interpreters.KNOWN:
                with self.subTest(version):
                    self.check(program)


if __name__ == "__main__":
    unittest.main()
