#!/usr/bin/env python3
"""A storm for hours: programs that nobody here wrote, and our own storms, in turn at random rates, clocks and engines,
each beside a bare run of the same seed. What they do must not differ.

    storm.py BUILD --hours HOURS [--seed SEED] [--program NAME]... [--way NAME] [--jobs N] [--log FILE]
    storm.py BUILD --rounds 1 --seed SEED --program NAME    one round again, as a failure says

A round that differs is run twice more. Where the bare runs differ from each other, it counts as *unsteady*: the program
does so by itself. Any other is a difference, also when it does not come again. The last lines are a table.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import programs

WAY_WEIGHTS = {"perf events": 4, "timers": 2, "drummer": 2, "wrappers": 2, "attach perf": 1, "attach ptrace": 1, "attach poll": 1}


@dataclasses.dataclass
class Setting:
    """How sampan is told to sample."""
    way: str
    rate: int
    clock: str
    ceiling: bool

    @classmethod
    def of(cls, chosen, way):
        """With another `way` than the one that is chosen, unless that is None."""
        way = chosen.choices(list(WAY_WEIGHTS), WAY_WEIGHTS.values())[0] if way is None else way
        # From outside, each sample is a stop: 1 kHz is much there.
        highest = 1000 if way.startswith("attach") else 8000
        return cls(way, round(math.exp(chosen.uniform(math.log(50), math.log(highest)))), chosen.choice(["cpu", "wall"]),
                   chosen.random() < 0.5)

    def __str__(self):
        return f"{self.way}, {self.rate} Hz, {self.clock}{'' if self.ceiling else ', no ceiling'}"

    def options(self, output):
        words = ["--rate", self.rate, "--clock", self.clock, "--format", "none", "--no-symbolize", "--output", output]
        if self.way == "wrappers":
            words += ["--heap=16K", "--locks"]
        return words if self.ceiling else [*words, "--max-overhead", "none"]


class Side:
    """A bare run of a program."""

    def __init__(self, folder):
        self.path = folder
        self.started = []
        folder.mkdir()
        os.chmod(folder, 0o777)

    def start(self, command, **keywords):
        return self.start_bare(command, **keywords)

    def start_bare(self, command, user=False, env=None, **keywords):
        prefix = programs.ORDINARY_USER if user and os.geteuid() == 0 else []
        process = subprocess.Popen([str(word) for word in [*prefix, *command]], env={**os.environ, **(env or {})},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, **keywords)
        self.started.append(process)
        return process

    def end(self):
        """Whatever was not waited for."""
        for process in self.started:
            if process.returncode is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()


class SampledSide(Side):
    """A run with sampan, by `sampan run` or with `sampan attach` before the program's first instruction."""

    def __init__(self, folder, sampan, setting):
        super().__init__(folder)
        self.sampan, self.setting = sampan, setting
        self.output = folder / "recordings"
        self.output.mkdir()
        os.chmod(self.output, 0o777)
        self.attached = []

    def start(self, command, user=False, env=None, **keywords):
        options = self.setting.options(self.output)
        if self.setting.way.startswith("attach"):
            return self.start_attached(command, options, user=user, env=env, **keywords)
        clock = {"timers": "timer", "drummer": "drum"}.get(self.setting.way, "auto")
        clocks = {"SAMPAN_SAMPLING_CLOCK": clock, "SAMPAN_FAST_CLOCK": "always"}
        return self.start_bare([self.sampan, "run", "--quiet", *options, "--", *command], user=user,
                               env={**(env or {}), **clocks}, **keywords)

    def start_attached(self, command, options, **keywords):
        read, write = os.pipe()
        waiting = f'read -r go <&{read}; exec {read}<&-; exec "$@"'
        process = self.start_bare(["bash", "-c", waiting, "bash", *command], pass_fds=[read], **keywords)
        os.close(read)
        while keywords.get("user") and os.readlink(f"/proc/{process.pid}/exe").endswith("setpriv"):
            time.sleep(0.001)
        sampan = subprocess.Popen(
            [str(word) for word in [self.sampan, "attach", "--engine", self.setting.way.split()[1], "--follow", *options, process.pid]],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = sampan.stderr.readline().decode()
        self.attached.append(sampan)
        os.write(write, b"go\n")
        os.close(write)
        if "sampling process" not in said:
            raise RuntimeError(said + sampan.stderr.read().decode())
        threading.Thread(target=sampan.stderr.read, daemon=True).start()
        return process

    def end(self):
        super().end()
        for sampan in self.attached:
            try:
                sampan.wait(timeout=120)
            except subprocess.TimeoutExpired:
                sampan.kill()
                sampan.wait()
                raise RuntimeError("sampan attach did not end with its target") from None

    def report(self):
        """Sums over the recordings of this run."""
        sums = {"samples": 0, "cpu_s": 0.0, "lost": {}}
        for recording in self.output.glob("*/recording.sampan"):
            done = subprocess.run([self.sampan, "report", "--json", recording], check=False, capture_output=True)
            if done.returncode != 0:
                raise RuntimeError(f"the recording cannot be read: {done.stderr.decode()}")
            found = json.loads(done.stdout)
            sums["samples"] += found["samples"]
            sums["cpu_s"] += found["cpu_s"]
            for why, count in found["lost"].items():
                sums["lost"][why] = sums["lost"].get(why, 0) + count
        return sums


@dataclasses.dataclass
class Row:
    """What the table says of a program."""
    rounds: int = 0
    samples: int = 0
    cpu_s: float = 0
    rates: list = dataclasses.field(default_factory=list)
    ways: dict = dataclasses.field(default_factory=dict)
    unsteady: int = 0
    differences: int = 0


class Storm:
    def __init__(self, build, chosen, way, keep, log):
        # Copies that an ordinary user can reach, and that a new build does not change.
        for file in ("sampan", "libsampan_preload.so", "libsampan_wrappers.so"):
            shutil.copy(build / file, keep)
        shutil.copytree(build / "tests" / "targets", keep / "targets", ignore=shutil.ignore_patterns("*.p"))
        self.sampan = keep / "sampan"
        self.way, self.keep, self.log = way, keep, log
        self.rows, self.lock = {}, threading.Lock()
        self.programs = []
        for program in programs.all_programs(keep / "targets"):
            if chosen and program.name not in chosen:
                continue
            if missing := program.missing():
                print(f"left out: {program.name}, which needs {' '.join(missing)}")
                continue
            folder = keep / "prepared" / program.name
            folder.mkdir(parents=True)
            program.prepare(folder)
            self.programs.append(program)

    def once(self, program, seed, setting=None):
        """(what the program did, what sampan says of it)"""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.keep))
        os.chmod(folder, 0o755)
        # Both sides have a path of the same length and the same name.
        side = SampledSide(folder / "work", self.sampan, setting) if setting else Side(folder / "work")
        try:
            try:
                did = program.outcome(side, seed)
            except subprocess.TimeoutExpired as error:
                did = f"no end: {error}"
            finally:
                side.end()
            did = json.dumps(did).replace(str(folder), "FOLDER")
            return did, side.report() if setting else {}
        except (RuntimeError, OSError, ValueError) as error:
            return f"failed: {error!r}", {"samples": 0, "cpu_s": 0, "lost": {}}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def round(self, seed):
        program = random.Random(seed).choice(self.programs)
        setting = Setting.of(random.Random(-seed), self.way)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            bare, sampled = (future.result() for future in (pool.submit(self.once, program, seed),
                                                            pool.submit(self.once, program, seed, setting)))
        verdict = "equal"
        if bare[0] != sampled[0]:
            again = [self.once(program, seed)[0] for _ in range(2)]
            twice = [self.once(program, seed, setting)[0] for _ in range(2)]
            verdict = "unsteady" if set(again) != {bare[0]} else "DIFFERENT"
            runs = [("bare", bare[0]), ("sampled", sampled[0]), *(("bare again", did) for did in again),
                    *(("sampled again", did) for did in twice)]
            way = f" --way {shlex.quote(self.way)}" if self.way else ""
            self.say("\n".join([f"again: tests/storm/storm.py build --rounds 1 --seed {seed} --program {program.name}{way}",
                                *(f"  {which:13}  {did}" for which, did in runs)]))
        with self.lock:
            row = self.rows.setdefault(program.name, Row())
            row.rounds += 1
            row.samples += sampled[1]["samples"]
            row.cpu_s += sampled[1]["cpu_s"]
            row.rates.append(setting.rate)
            row.ways[setting.way] = row.ways.get(setting.way, 0) + 1
            row.unsteady += verdict == "unsteady"
            row.differences += verdict == "DIFFERENT"
        lost = ", ".join(f"{why} {count}" for why, count in sampled[1]["lost"].items())
        self.say(f"{time.monotonic() - began:6.1f} s  seed {seed}  {program.name}  {setting}  {sampled[1]['samples']} samples"
                 f"{', lost: ' + lost if lost else ''}  {verdict}")

    def say(self, line):
        with self.lock:
            print(line, file=self.log, flush=True)

    def table(self):
        print(f"| {'program':<10} | rounds | {'rates, Hz':<9} | {'samples':>10} | {'CPU, s':>7} | unsteady | differences |")
        print("|---|---|---|---|---|---|---|")
        rows = sorted(self.rows.items())
        for name, row in [*rows, ("all", self.total())]:
            rates = f"{min(row.rates)}-{max(row.rates)}" if row.rates else ""
            print(f"| {name:<10} | {row.rounds:>6} | {rates:<9} | {row.samples:>10,} | {row.cpu_s:>7.0f} | {row.unsteady:>8} | {row.differences:>11} |")
        print("by " + ", ".join(f"{way}: {count}" for way, count in sorted(self.total().ways.items())))

    def total(self):
        total = Row()
        for row in self.rows.values():
            total.rounds += row.rounds
            total.samples += row.samples
            total.cpu_s += row.cpu_s
            total.rates += row.rates
            total.unsteady += row.unsteady
            total.differences += row.differences
            for way, count in row.ways.items():
                total.ways[way] = total.ways.get(way, 0) + count
        return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--hours", type=float, default=math.inf)
    parser.add_argument("--rounds", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--way", choices=list(WAY_WEIGHTS), help="always this one")
    parser.add_argument("--jobs", type=int, default=1, help="rounds beside each other")
    parser.add_argument("--log", type=argparse.FileType("w"), default=sys.stdout)
    options = parser.parse_args()
    keep = pathlib.Path(tempfile.mkdtemp(prefix="sampan-storm-"))
    os.chmod(keep, 0o755)
    os.environ["XDG_CACHE_HOME"] = str(keep / "cache")
    try:
        storm = Storm(options.build.resolve(), options.program, options.way, keep, options.log)
        end = time.monotonic() + options.hours * 3600
        seeds = iter(range(options.seed, 2 ** 63))
        rounds = iter(range(int(min(options.rounds, 2 ** 62))))
        lock, interrupted = threading.Lock(), threading.Event()

        def go_on():
            while time.monotonic() < end and not interrupted.is_set():
                with lock:
                    if next(rounds, None) is None:
                        return
                    seed = next(seeds)
                storm.round(seed)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            jobs = [pool.submit(go_on) for _ in range(options.jobs)]
            try:
                concurrent.futures.wait(jobs)
            except KeyboardInterrupt:
                interrupted.set()  # the rounds under way come to their end
        for job in jobs:
            job.result()
        storm.table()
        return 1 if storm.total().differences else 0
    finally:
        shutil.rmtree(keep, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
