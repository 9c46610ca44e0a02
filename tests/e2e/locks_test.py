#!/usr/bin/env python3
"""sampan run --locks of programs whose waits, holders and wakers are known; sampan dump of deadlocked ones."""
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import time
import unittest

import sampan
from tolerances import stolen_s

PRINT_LOCKS = os.environ.get("PRINT_LOCKS", "build/tests/recording/print_locks")
KINDS = {"mutex": 0, "read_lock": 1, "write_lock": 2, "condition": 3, "semaphore": 4, "barrier": 5, "spin_lock": 6}
# By what tests/targets/locks.cpp waits: the kind, and whether somebody holds it, so that the row has a holder.
WAITS = {"mutex": ("mutex", True), "made_mutex": ("mutex", True), "timed_mutex": ("mutex", True),
         "mutex_by_condition": ("mutex", True), "c11_mutex": ("mutex", True), "write_lock": ("write_lock", True),
         "read_lock": ("read_lock", True), "spin_lock": ("spin_lock", True), "condition": ("condition", False),
         "c11_condition": ("condition", False), "semaphore": ("semaphore", False), "timed_semaphore": ("semaphore", False),
         "barrier": ("barrier", False)}
ROUNDS = 100
PAUSE_US = 4000
MILLISECOND = 1_000_000

Truth = collections.namedtuple("Truth", "waiter other waited_ns queued_ns")


def target(name):
    return sampan.TARGETS / f"target_{name}"


def rows(run):
    printed = subprocess.run([PRINT_LOCKS, run.recording], check=True, capture_output=True, text=True).stdout
    return json.loads(printed)


def place_of(symbol):
    """The SVMA and size of a symbol of the target."""
    lines = subprocess.run(["nm", "-SC", target("locks")], check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        words = line.split(maxsplit=3)
        if len(words) == 4 and re.search(symbol, words[3]):
            return int(words[0], 16), int(words[1], 16)
    raise AssertionError(f"no {symbol}")


def is_in(frame, place):
    path, svma = frame.rsplit("+", 1)
    return path.endswith("target_locks") and place[0] <= int(svma, 16) < place[0] + place[1]


class Locks(sampan.Case):
    def known(self, kind, rounds=ROUNDS, pause_us=PAUSE_US, options=("--locks",)):
        run = sampan.run([target("locks"), kind, rounds, pause_us], options)
        self.assertEqual(run.returncode, 0, run.stderr)
        truths = [Truth(*map(int, line.split())) for line in run.stdout.decode().splitlines()]
        self.assertEqual(len(truths), rounds)
        return rows(run), truths

    def assert_truth(self, kind):
        name, has_holder = WAITS[kind]
        before_s = stolen_s()
        recorded, truths = self.known(kind)
        stolen_ns = (stolen_s() - before_s) * 1e9
        waits = sorted((wait for wait in recorded["waits"] if wait["thread"] == truths[0].waiter and
                        wait["kind"] == KINDS[name] and wait["duration_ns"] > MILLISECOND),
                       key=lambda wait: wait["begin_ns"])
        self.assertEqual(recorded["lost"], 0)
        # A condition may wake up by itself, which makes two waits of one.
        if name == "condition":
            self.assertGreaterEqual(len(waits), ROUNDS)
        else:
            self.assertEqual(len(waits), ROUNDS)
        # By its own clock the waiter has also waited for a CPU before and after, and for the host of this machine.
        total, true_total = sum(wait["duration_ns"] for wait in waits), sum(truth.waited_ns for truth in truths)
        self.assertLessEqual(total, true_total)
        self.assertGreaterEqual(total, 0.98 * true_total - sum(truth.queued_ns for truth in truths) - stolen_ns)
        self.assertEqual({wait["lock"] for wait in waits}, {waits[0]["lock"]})
        if len(waits) != ROUNDS:
            return
        releases = {other: place_of(rf"release_in<{number}>") for number, other in self.others(waits, truths)}
        waiting = place_of(r"wait_here")
        right = collections.Counter()
        for wait, truth in zip(waits, truths):
            right["waker"] += wait["waker"] == truth.other
            right["holder"] += wait["holder"] == (truth.other if has_holder else 0)
            right["stack"] += any(is_in(frame, waiting) for frame in wait["stack"])
            right["waker's stack"] += any(is_in(frame, releases[truth.other]) for frame in wait["waker_stack"])
            right["time"] += wait["begin_ns"] < wait["woken_ns"] <= wait["begin_ns"] + wait["duration_ns"]
            if has_holder:
                right["holder's stack"] += any(is_in(frame, releases[truth.other]) for frame in wait["holder_stack"])
        for what, count in right.items():
            self.assertGreaterEqual(count, math.ceil(0.99 * ROUNDS), f"{kind}: {what}: {right}")

    def others(self, waits, truths):
        """Numbers and tids of the two that hold the lock in turn: the second one has every third round, the first ones
        first."""
        second = truths[0].other
        first = next(truth.other for truth in truths if truth.other != second)
        return [(0, first), (1, second)]

    def test_mutex(self):
        self.assert_truth("mutex")

    def test_timed_mutex(self):
        self.assert_truth("timed_mutex")

    def test_a_mutex_that_is_handed_on_by_waiting(self):
        self.assert_truth("mutex_by_condition")

    def test_c11_mutex(self):
        self.assert_truth("c11_mutex")

    def test_write_lock(self):
        self.assert_truth("write_lock")

    def test_read_lock(self):
        self.assert_truth("read_lock")

    def test_spin_lock(self):
        self.assert_truth("spin_lock")

    def test_condition(self):
        self.assert_truth("condition")

    def test_c11_condition(self):
        self.assert_truth("c11_condition")

    def test_semaphore(self):
        self.assert_truth("semaphore")

    def test_timed_semaphore(self):
        self.assert_truth("timed_semaphore")

    def test_barrier(self):
        self.assert_truth("barrier")

    def test_where_locks_are_and_were_made(self):
        recorded, _ = self.known("made_mutex", rounds=3)
        made = place_of("make_mutex")
        waits = [wait for wait in recorded["waits"] if wait["kind"] == KINDS["mutex"] and wait["duration_ns"] > MILLISECOND]
        self.assertEqual(len(waits), 3)
        for wait in waits:
            self.assertIsNone(wait["lock_frame"])
            self.assertTrue(is_in(wait["origin"], made), wait)
        recorded, _ = self.known("mutex", rounds=3)
        variable = place_of(r"::mutex$")
        for wait in recorded["waits"]:
            if wait["duration_ns"] > MILLISECOND:
                self.assertTrue(is_in(wait["lock_frame"], variable), wait)
                self.assertIsNone(wait["origin"])

    def test_short_waits_are_drawn(self):
        """A wait of d is recorded with probability d / limit and stands for the limit. The bound: five times what the
        number of waits makes the sum vary, sqrt(sum(d * (limit - d)))."""
        limit_ns = 16 * MILLISECOND
        recorded, truths = self.known("semaphore", rounds=200, pause_us=1000, options=("--locks=16ms",))
        waits = [wait for wait in recorded["waits"] if wait["thread"] == truths[0].waiter]
        self.assertEqual({wait["limit_ns"] for wait in waits}, {limit_ns})
        estimate = sum(max(wait["duration_ns"], limit_ns) for wait in waits)
        true_total = sum(truth.waited_ns for truth in truths)
        spread = math.sqrt(sum(truth.waited_ns * max(limit_ns - truth.waited_ns, 0) for truth in truths))
        self.assertLessEqual(abs(estimate - true_total), 5 * spread + 0.02 * true_total + sum(truth.queued_ns for truth in truths))
        self.assertLess(len(waits), 200)
        self.assertGreater(len(waits), 0)

    def test_nothing_is_recorded_that_was_not_asked_for(self):
        run = sampan.run([target("locks"), "mutex", 3, PAUSE_US], ("--heap",))
        self.assertEqual(rows(run)["waits"], [])

    def test_the_functions_return_what_they_return_alone(self):
        alone = subprocess.run([target("lock_calls")], check=True, capture_output=True, text=True).stdout
        for options in (("--locks",), ("--locks=1us",), ("--locks=1us", "--rate", "4000")):
            with self.subTest(options=options):
                run = sampan.run([target("lock_calls")], options)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertEqual(run.stdout.decode(), alone)


class Deadlocks(sampan.Case):
    def dump(self, kind, size, *options):
        """The deadlocks of the dump as JSON, the lines of the truth, and the text."""
        with sampan.Piped(target("deadlocked"), kind, size) as program:
            truth = []
            for line in iter(program.line, "ready\n"):
                tid, mutex, holder = line.split()
                truth.append({"tid": int(tid), "mutex": mutex, "holder": int(holder)})
            tids = {wait["tid"] for wait in truth}
            self.wait_until(lambda: all("futex" in self.call(program.pid, tid) for tid in tids), kind)
            text = subprocess.run([sampan.PROGRAM, "dump", *options, str(program.pid)], check=True, capture_output=True, text=True)
            found = subprocess.run([sampan.PROGRAM, "dump", "--json", str(program.pid)], check=True, capture_output=True, text=True)
            return json.loads(found.stdout)["deadlocks"], truth, text.stdout

    def call(self, pid, tid):
        """Where a thread waits: "futex" or something else."""
        number = pathlib.Path(f"/proc/{pid}/task/{tid}/syscall").read_text().split()[0]
        return "futex" if number == FUTEX else number

    def wait_until(self, holds, kind):
        if kind == "chain":
            return time.sleep(0.5)
        for _ in range(3000):
            if holds():
                return
            time.sleep(0.01)
        raise AssertionError("they do not wait")

    def assert_cycle(self, kind, size):
        found, truth, text = self.dump(kind, size)
        self.assertEqual(len(found), 1)
        first = min(range(size), key=lambda number: truth[number]["tid"])
        self.assertEqual(found[0]["waits"], truth[first:] + truth[:first])
        for wait in truth:
            held_by = "itself" if wait["holder"] == wait["tid"] else f"TID {wait['holder']} "
            self.assertRegex(text, f"TID {wait['tid']} \"target_deadlock\" waits for the mutex at {wait['mutex']}, held by {held_by}")

    def test_two(self):
        self.assert_cycle("cycle", 2)

    def test_seven(self):
        self.assert_cycle("cycle", 7)

    def test_one_with_itself(self):
        self.assert_cycle("cycle", 1)

    def test_robust_mutexes(self):
        self.assert_cycle("robust", 2)

    def test_a_chain_is_none(self):
        found, _, text = self.dump("chain", 4)
        self.assertEqual(found, [])
        self.assertNotIn("Deadlock", text)

    def test_waits_that_end_are_none(self):
        self.assertEqual(self.dump("timed", 2)[0], [])


class Same(sampan.Case):
    """Real programs with threads: the same output and exit status."""

    def compare(self, *command, env=None, options=("--locks=1us",)):
        bare = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **(env or {})})
        run = sampan.run(command, options, env=env)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (bare.returncode, bare.stdout, bare.stderr))
        self.assertEqual(run.report["lost"].get("ring_corrupt", 0), 0)
        return rows(run)["waits"]

    def test_python3(self):
        for options in (("--locks=1us",), ("--locks=1us", "--heap=4K")):
            with self.subTest(options=options):
                self.assertGreater(len(self.compare("/usr/bin/python3", "-c", PYTHON, options=options)), 0)

    def test_xz(self):
        self.need("xz")
        text = self.path / "text"
        text.write_text("".join(str(number * 7919 % 104729) for number in range(400_000)))
        self.assertGreater(len(self.compare("xz", "-T3", "-1", "--block-size=200KiB", "-k", "-c", str(text))), 0)

    def test_node(self):
        self.need("node")
        self.compare("node", "-e", NODE)

    def test_java(self):
        self.need("javac")
        (self.path / "Queue.java").write_text(JAVA)
        subprocess.run(["javac", "-d", self.path, self.path / "Queue.java"], check=True, capture_output=True)
        self.compare("java", "-XX:-UsePerfData", "-cp", str(self.path), "Queue")

    def test_redis_whose_threads_wait_for_each_other(self):
        self.need("redis-server")
        socket = self.path / "redis.socket"
        # Its threads spin for work: three on two CPUs take minutes.
        threads, requests = (2, 5_000) if sampan.SCALE <= 1 else (3, 20_000)
        script = (f"redis-server --port 0 --unixsocket {socket} --save '' --io-threads {threads} --io-threads-do-reads yes > /dev/null & "
                  f"until redis-cli -s {socket} ping > /dev/null 2>&1; do sleep 0.05; done; "
                  f"redis-benchmark -s {socket} -n {requests} -c 20 -t set,lpush,incr -q > /dev/null; "
                  f"redis-cli -s {socket} llen mylist; redis-cli -s {socket} get counter:__rand_int__; "
                  f"redis-cli -s {socket} shutdown nosave; wait")
        self.compare("/bin/sh", "-c", script)


PYTHON = """
import concurrent.futures, hashlib, queue, threading
numbers, sums = queue.Queue(10), []
def take():
    total = 0
    while (number := numbers.get()) is not None: total += number
    sums.append(total)
takers = [threading.Thread(target=take) for _ in range(3)]
for taker in takers: taker.start()
for number in range(3000): numbers.put(number)
for _ in takers: numbers.put(None)
for taker in takers: taker.join()
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    digests = list(pool.map(lambda number: hashlib.sha256(bytes([number]) * 100_000).hexdigest(), range(100)))
print(sum(sums), hashlib.sha256("".join(digests).encode()).hexdigest())
"""

NODE = """
const zlib = require('zlib');
Promise.all([...Array(40).keys()].map(n => new Promise(done =>
  zlib.deflate(Buffer.alloc(100000, n), (error, made) => done(made.length))))).then(all => console.log(all.join()));
"""

JAVA = """
import java.util.concurrent.*;
public class Queue {
  public static void main(String[] words) throws Exception {
    BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(10);
    Thread putter = new Thread(() -> {
      try { for (int i = 0; i <= 5000; ++i) queue.put(i); } catch (InterruptedException e) { }
    });
    putter.start();
    long sum = 0;
    for (int taken = 0; taken != 5000; sum += taken) taken = queue.take();
    putter.join();
    ExecutorService pool = Executors.newFixedThreadPool(3);
    Object monitor = new Object();
    long[] total = {0};
    for (int i = 0; i < 1000; ++i) { final int n = i; pool.submit(() -> { synchronized (monitor) { total[0] += n; } }); }
    pool.shutdown();
    pool.awaitTermination(60, TimeUnit.SECONDS);
    System.out.println(sum + " " + total[0]);
  }
}
"""

FUTEX = "98" if os.uname().machine == "aarch64" else "202"

if __name__ == "__main__":
    unittest.main()
