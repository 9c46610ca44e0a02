#!/usr/bin/env python3
"""The guide's commands, one after another, on the program that they speak of."""
import json
import os
import shutil
import unittest

import fleet

FORMATS = {"pprof": "profile_overall.pb.gz", "speedscope": "profile_overall.speedscope.json", "firefox": "profile_overall.firefox.json.gz",
           "flamegraph": "profile_overall.svg", "folded": "profile_overall.folded", "callgrind": "profile_overall.callgrind",
           "dot": "profile_overall.dot", "pstats": "profile_overall.prof"}


class Guide(fleet.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ.pop("DISPLAY", None)
        case = cls()
        case.shell(f"g++ -std=c++20 -g -O1 -pthread -I {fleet.INCLUDE} -o program {fleet.SOURCES}/program.cpp")
        case.follow("guide.md", "sampan run -- ./program its arguments", {"its arguments": "60"})
        case.follow("guide.md", "sampan run --clock wall -- ./program")
        cls.directory, cls.wall = sorted((cls.path / "sampan-profiles").iterdir())
        case.environment["DIR"] = str(cls.directory)

    def follow(self, page, begin, replaced=None, **options):
        text = self.text(page, begin)
        replaced = dict(replaced or {})
        if "DIR" in text and not any("DIR" in old for old in replaced):
            replaced.setdefault("DIR", self.__class__.directory)
        return super().follow(page, begin, replaced, **options).stdout

    def test_attach(self):
        service = self.service()
        self.follow("guide.md", "sampan attach --duration 10s PID", {"10s": "1s", "PID": service.pid})
        self.follow("guide.md", "sampan attach --duration 10 PID", {"10": "1", "PID": service.pid})
        self.remove_newer()

    def remove_newer(self):
        for entry in (self.path / "sampan-profiles").iterdir():
            if entry not in (self.directory, self.wall):
                shutil.rmtree(entry)

    def test_reports(self):
        self.assertIn("compress_block", self.follow("guide.md", "sampan report DIR"))
        self.assertIn("compress_block", self.follow("guide.md", "sampan report --tree DIR"))
        self.follow("guide.md", "sampan report --callers malloc DIR", {"malloc": "compress_block"})
        self.assertIn("program.cpp:", self.follow("guide.md", "sampan report --by line DIR"))
        only = self.follow("guide.md", "sampan report --thread worker-1 --from 2 --to 5 DIR", {"--from 2 --to 5": "--from 0.2 --to 1"})
        self.assertIn("worker-1", only)
        self.assertNotIn("worker-2", only)
        self.assertIn("compress_block", self.follow("guide.md", "sampan report"))
        self.follow("guide.md", "sampan diff -2 -1")

    def test_python(self):
        for name, begin, expected in (("thumbs.py", "sampan report --python python DIR", "brightness"), ("gateway.py", "sampan report --tasks DIR", "")):
            script = fleet.SOURCES.parents[1] / "examples" / "python" / name
            self.shell(f"timeout -s INT 20 sampan run --quiet --format none --output {name} -- python3 {script}", check=False)
            [directory] = (self.path / name).iterdir()
            self.assertIn(expected, self.follow("guide.md", begin, {"DIR": directory}))

    def test_exports(self):
        for begin, more in (("sampan export --format FORMAT DIR", ""), ("sampan export --format FORMAT --per-thread DIR", ""),
                            ("sampan export --format FORMAT --merge-by pool DIR", "")):
            self.follow("guide.md", begin, {"FORMAT": "folded"})
        self.follow("guide.md", "sampan export --format FORMAT --thread NAME",
                    {"FORMAT": "folded", "NAME": "worker-1", "--from 2 --to 5": "--from 0.2 --to 1", "FILE": "part.folded"})
        self.assertIn("compress_block", (self.path / "part.folded").read_text())
        self.follow("guide.md", "sampan export --format FORMAT --section NAME DIR", {"FORMAT": "folded", "NAME": "infer_17"})
        self.follow("guide.md", "sampan export --format FORMAT --trace ID DIR", {"FORMAT": "folded", "ID": "17"})
        self.follow("guide.md", "sampan export --section infer_17 --format firefox DIR")

    def test_formats_and_their_viewers(self):
        for begin in ("sampan export --format pprof DIR", "sampan export --format speedscope DIR", "sampan export --format firefox DIR",
                      "sampan export --format flamegraph DIR", "sampan export --format folded DIR", "sampan export --format callgrind DIR",
                      "sampan export --format dot DIR", "sampan export --format pstats DIR"):
            self.follow("guide.md", begin)
            self.assertTrue((self.directory / FORMATS[begin.split()[3]]).stat().st_size)
        self.assertIn("compress_block", self.follow("guide.md", "callgrind_annotate DIR"))
        statistics = self.follow("guide.md", "python3 -m pstats DIR", {"DIR/profile_overall.prof": f"{self.directory}/profile_overall.prof <<< 'stats 20'"})
        self.assertIn("compress_block", statistics)
        self.follow("guide.md", "sampan view DIR")

    def test_pprof(self):
        self.need("go")
        self.shell("sampan export --format pprof $DIR")
        self.assertIn("compress_block", self.follow("guide.md", "go tool pprof -top DIR"))
        self.assertIn("compress_block", self.follow("guide.md", "go tool pprof -tagfocus thread=worker-1 -top DIR"))

    def test_graphviz(self):
        self.need("dot")
        self.shell("sampan export --format dot $DIR")
        self.follow("guide.md", "dot -Tsvg DIR")
        self.assertIn("<svg", (self.path / "graph.svg").read_text())

    def test_lines_and_instructions(self):
        self.assertIn("1664525", self.follow("guide.md", "sampan annotate compress_block DIR"))
        self.follow("guide.md", "sampan annotate --asm compress_block DIR")
        self.follow("guide.md", "sampan annotate --source-path", {"/build/app=$HOME/src/app": f"{fleet.SOURCES}={fleet.SOURCES}"})

    def test_markers(self):
        self.assertIn("answer", self.follow("guide.md", "sampan spans DIR"))
        self.follow("guide.md", "sampan spans --explain answer DIR")
        self.follow("guide.md", "sampan metrics DIR --output metrics")
        self.assertTrue(list((self.path / "metrics").iterdir()))
        self.assertIn("infer_17", self.follow("guide.md", "sampan report --section infer_17 DIR"))

    def test_two_runs(self):
        pair = {"BEFORE": self.directory, "AFTER": self.wall}
        self.follow("guide.md", "sampan diff BEFORE AFTER", pair)
        self.follow("guide.md", "sampan diff --of total BEFORE AFTER", pair)
        self.follow("guide.md", "sampan diff --html diff.html BEFORE AFTER", pair)
        self.assertIn("<html", (self.path / "diff.html").read_text()[:2000])

    def test_heap_and_locks(self):
        self.follow("guide.md", "sampan run --heap --locks -- ./service", {"./service": "./program 10", "run --heap": "run --quiet --output heap --heap=1K"})
        [directory] = (self.path / "heap").iterdir()
        latest = {"SAMPAN_OUTPUT": str(self.path / "heap")}
        self.follow("guide.md", "sampan report --heap", **latest)
        self.follow("guide.md", "sampan report --locks", **latest)
        self.follow("guide.md", "sampan report --heap --callers parse", {"--callers parse": "--callers main"}, **latest)
        self.follow("guide.md", "sampan view --heap", **latest)
        self.follow("guide.md", "sampan export --heap -f pprof,flamegraph,speedscope", **latest)
        self.follow("guide.md", "sampan diff --heap BEFORE AFTER", {"BEFORE": directory, "AFTER": directory})

    def test_many_runs(self):
        self.follow("guide.md", "sampan merge DIR DIR DIR -o all", {"DIR DIR DIR": f"{self.directory} {self.wall}"})
        self.follow("guide.md", "sampan merge web=DIR db=DIR -o both", {"web=DIR db=DIR": f"web={self.directory} db={self.wall}"})
        labels = [origin["label"] for origin in json.loads(self.shell("sampan report --json both").stdout)["origins"]]
        self.assertEqual(labels, ["web", "db"])
        self.follow("guide.md", "sampan merge --sample 16 runs/* -o some", {"--sample 16": "--sample 50%", "runs": self.path / "sampan-profiles"})

    def test_labels(self):
        self.follow("guide.md", "sampan run --label team=search", {"./solver input": "./program 5", "sampan run": "sampan run --quiet --output labelled"}, MY_RANK="3")
        [directory] = (self.path / "labelled").iterdir()
        self.assertEqual(json.loads(self.shell(f"sampan report --json {directory}").stdout)["labels"], {"team": "search", "rank": "3"})

    def test_other_roots(self):
        self.need("chroot", "unshare", "bwrap")
        if os.geteuid() != 0:
            self.skip("changing the root needs root")
        import chroots
        root = self.path / "root"
        chroots.add_program(root, self.path / "program", "/usr/bin/program")
        options = "sampan run --quiet --format none --output roots"
        recipes = [("sampan run -- chroot /srv/debian /usr/bin/program", {"/srv/debian": root}), ("sampan run -- unshare --pid --fork --net ./program", {})]
        bwrap = self.shell("bwrap --ro-bind / / --unshare-all true", check=False)
        if bwrap.returncode == 0:
            recipes.append(("sampan run -- bwrap", {"/srv/debian": root}))
        for begin, more in recipes:
            self.assertIn("done", self.follow("guide.md", begin, {"sampan run": options, **more}))
        for directory in (self.path / "roots").iterdir():
            self.assertGreater(json.loads(self.shell(f"sampan report --json {directory}").stdout)["samples"], 0)
        [profile, *_] = (self.path / "roots").iterdir()
        self.follow("guide.md", "sampan report --sysroot /srv/image profiles/DIRECTORY", {"/srv/image": root, "profiles/DIRECTORY": profile})
        if bwrap.returncode != 0:
            self.skip(f"bwrap is refused here, the others were tried: {bwrap.stderr.strip()}")

    def test_for_days(self):
        self.need("redis-server")
        # A name of its own: this test kills it, and other servers may run here.
        server_name = "fleetredis"
        shutil.copy(shutil.which("redis-server"), self.path / server_name)
        port = fleet.free_port()
        text = self.text("guide.md", "sampan run --continuous", {"redis-server": f"{self.path}/{server_name} --port {port} --save ''", "sampan run": "sampan run --quiet --format none --output days"})
        server = self.start(["bash", "-c", f"exec {text}"], "redis.log")
        pid = fleet.wait_for(lambda: int(self.shell(f"pidof -s {server_name}", check=False).stdout), "redis")
        fleet.wait_for(lambda: list((self.path / "days").glob("*/segments/*")), "a file of the recording")
        black_box = self.text("guide.md", "sampan attach --black-box 30s", {"pidof -s server": f"pidof -s {server_name}", "sampan attach": "sampan attach --quiet --output box"})
        self.start(["bash", "-c", f"exec {black_box}"], "box.log")
        fleet.wait_for(lambda: list((self.path / "box").glob("*")), "the black box")
        self.shell(f"kill -SEGV {pid}")
        fleet.wait_for(lambda: list((self.path / "box").glob("*/recording.sampan")), "what the black box has written")
        self.assertIsNotNone(server)


if __name__ == "__main__":
    unittest.main()
