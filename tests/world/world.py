#!/usr/bin/env python3
"""The world's programs, each bare and sampled in every setting: what they do must not differ, and they must be seen.

    world.py BUILD [NAME…] [--setting NAME]… [--quick] [--installed] [--results FILE]
    world.py BUILD --table --results FILE

The catalogue is tests/world/*.toml; catalogue.py says what an entry has. A program whose bare runs differ from each
other by its own doing is compared by its status alone, and called unsteady. Any other difference is run three times
more, bare too; it is none if a bare run shows it as well. FILE has a line of JSON for each program and setting; what
stands there is not run again, unless it is named.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import catalogue
import table

REPEATS = 3
# sampan run's options; `attach` names the engine, `inert` has the shim in the program without a recording.
SETTINGS = {
    "250 Hz": ["--rate", "250"],
    "perf 1 kHz": ["--rate", "1000", "--sampling-clock", "perf"],
    "drum 1 kHz": ["--rate", "1000", "--sampling-clock", "drum"],
    "attach perf": None,
    "attach ptrace": None,
    "heap, locks": ["--heap", "--locks"],
    "wall": ["--clock", "wall"],
    "inert": None,
}
SAID_BY_SAMPAN = b"sampan: "


class Bench:
    """Where programs run: each in a copy of its prepared folder, always at the same path."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.sampan = build / "sampan"

    def environment(self, program):
        home = self.folder / program.name / "work"
        kept = {key: os.environ[key] for key in ("XDG_RUNTIME_DIR",) if key in os.environ}
        return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games", "HOME": str(home), "LC_ALL": "C.UTF-8",
                "TZ": "UTC", "TMPDIR": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "GOCACHE": str(home / ".go"),
                "GOFLAGS": "-mod=mod", "GOPATH": str(home / "go"), **kept, **program.env}

    def prepare(self, program):
        """None, or why it cannot be run here."""
        prepared = self.folder / program.name / "prepared"
        prepared.mkdir(parents=True)
        for name, text in program.files.items():
            (prepared / name).parent.mkdir(parents=True, exist_ok=True)
            (prepared / name).write_text(text)
        if not program.setup:
            return None
        work = self.enter(program)
        done = subprocess.run(["sh", "-ec", program.setup], cwd=work, env=self.environment(program), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
        if done.returncode != 0:
            return f"set-up ended with {done.returncode}: {done.stdout.decode(errors='replace')[-400:]}"
        shutil.rmtree(prepared)
        work.rename(prepared)
        return None

    def enter(self, program):
        work = self.folder / program.name / "work"
        shutil.rmtree(work, ignore_errors=True)
        subprocess.run(["cp", "-a", work.with_name("prepared"), work], check=True)
        return work

    def once(self, program, setting=None):
        """What it did, and the report of its recordings (None of a bare run)."""
        work = self.enter(program)
        output = pathlib.Path(tempfile.mkdtemp(dir=self.folder, prefix="recordings-"))
        words = ["sh", "-c", program.command]
        env = self.environment(program)
        attach = None
        if setting == "inert":
            env["LD_PRELOAD"] = str(self.build / "libsampan_preload.so")
        elif setting and setting.startswith("attach"):
            attach = setting.split()[1]
        elif setting:
            words = [str(self.sampan), "run", "--quiet", "--format", "none", "--output", str(output), "--max-overhead", "none",
                     *SETTINGS[setting], "--", *words]
        try:
            did = self.outcome(program, words, work, env, attach, output)
            return did, self.report(output) if setting and setting != "inert" else None
        finally:
            shutil.rmtree(output, ignore_errors=True)

    def outcome(self, program, words, work, env, attach, output):
        sampler = None
        if attach:  # a shell waits until sampan is attached, and becomes the program
            words = ["sh", "-c", 'read -r go < go; exec "$@"', "sh", *words]
            os.mkfifo(work / "go")
        target = subprocess.Popen(words, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, start_new_session=True)
        try:
            if attach:
                sampler = subprocess.Popen(
                    [self.sampan, "attach", "--engine", attach, "--follow", "--rate", "250", "--format", "none", "--output", output,
                     str(target.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
                sampler.stderr.readline()
                (work / "go").write_text("\n")
                (work / "go").unlink()
            out, err = target.communicate(timeout=program.timeout * (5 if program.slow else 3))
            status = target.returncode
        except subprocess.TimeoutExpired:
            os.killpg(target.pid, signal.SIGKILL)
            out, err = target.communicate()
            status = "no end"
        finally:
            if sampler:
                try:
                    sampler.communicate(timeout=60)
                except subprocess.TimeoutExpired:
                    sampler.kill()
                    sampler.communicate()
                    status = "sampan attach does not end"
        try:
            os.killpg(target.pid, signal.SIGKILL)  # what it has left behind
        except ProcessLookupError:
            pass
        err = b"".join(line for line in err.splitlines(keepends=True) if not line.startswith(SAID_BY_SAMPAN))
        after = b""
        if program.after:
            after = subprocess.run(["sh", "-c", program.after], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, timeout=120, check=False).stdout
        return {"status": status, **{key: program.steady(text.decode(errors="replace"))
                                     for key, text in (("stdout", out), ("stderr", err), ("after", after))}}

    def report(self, output):
        found = [json.loads(subprocess.run([self.sampan, "report", "--json", recording], check=True, capture_output=True).stdout)
                 for recording in output.glob("*/recording.sampan")]
        return found[0] if found else None


def compared(program, setting, bench, bare):
    """The row of a program in a setting."""
    did, report = bench.once(program, setting)
    row = {"program": program.name, "kind": program.kind, "setting": setting, **table.judged(program, report, setting == "wall")}
    steady = all(run == bare[0] for run in bare)
    keys = did.keys() if steady else ["status"]

    def equal(run):
        return any(all(run[key] == other[key] for key in keys) for other in bare)

    if equal(did):
        return {**row, "verdict": "equal" if steady else "unsteady"}
    again = [bench.once(program, setting)[0] for _ in range(REPEATS)]
    bare += [bench.once(program)[0] for _ in range(REPEATS)]
    if equal(did) or not all(all(run[key] == bare[0][key] for key in keys) for run in bare):
        return {**row, "verdict": "unsteady"}
    verdict = "known" if setting in program.known else "DIFFERENT"
    return {**row, "verdict": verdict, "times": f"{1 + sum(not equal(run) for run in again)} of {1 + REPEATS}",
            "bare": {key: bare[0][key][-800:] if isinstance(bare[0][key], str) else bare[0][key] for key in keys if did[key] != bare[0][key]},
            "sampled": {key: did[key][-800:] if isinstance(did[key], str) else did[key] for key in keys if did[key] != bare[0][key]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--setting", action="append", choices=SETTINGS, help="one of them; all if none is named")
    parser.add_argument("--quick", action="store_true", help="the programs of CI")
    parser.add_argument("--installed", action="store_true", help="install nothing")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--table", action="store_true", help="print FILE as a table")
    chosen = parser.parse_args()
    rows = []
    if chosen.results and chosen.results.exists():
        rows = [json.loads(line) for line in chosen.results.read_text().splitlines()]
    if chosen.table:
        print(table.markdown(rows, SETTINGS))
        return
    programs = [program for program in catalogue.programs() if (not chosen.names or program.name in chosen.names) and
                (not chosen.quick or program.quick)]
    if unknown := set(chosen.names) - {program.name for program in programs}:
        sys.exit(f"world: no program is called {' '.join(sorted(unknown))}")
    if chosen.names:  # again
        rows = [row for row in rows if row["program"] not in chosen.names]
        if chosen.results:
            chosen.results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = {(row["program"], row["setting"]) for row in rows}
    if not chosen.installed:
        catalogue.install(programs)
    with tempfile.TemporaryDirectory(prefix="sampan-world-") as folder:
        build = pathlib.Path(folder) / "build"
        build.mkdir()
        os.chmod(folder, 0o755)
        for file in ("sampan", "libsampan_preload.so", "libsampan_wrappers.so"):
            shutil.copy(chosen.build / file, build)
        bench = Bench(build, pathlib.Path(folder))
        for program in programs:
            settings = [setting for setting in chosen.setting or SETTINGS if (program.name, setting) not in done]
            if not settings:
                continue
            missing = program.missing() or bench.prepare(program)
            if missing:
                print(f"{program.name}: NOT TESTED: {missing}", flush=True)
                continue
            bare = [bench.once(program)[0] for _ in range(2)]
            if bare[0]["status"] != program.status:
                print(f"{program.name}: NOT TESTED: bare it ends with {bare[0]}", flush=True)
                continue
            for setting in settings:
                row = compared(program, setting, bench, bare)
                rows.append(row)
                print(table.line(row), flush=True)
                if chosen.results:
                    with chosen.results.open("a") as file:
                        file.write(json.dumps(row) + "\n")
            shutil.rmtree(bench.folder / program.name, ignore_errors=True)
    different = [row for row in rows if row["verdict"] == "DIFFERENT"]
    print(f"{len({row['program'] for row in rows})} programs, {len(rows)} runs compared, {len(different)} differences")
    sys.exit(1 if different or not rows else 0)


if __name__ == "__main__":
    main()
