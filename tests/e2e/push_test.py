#!/usr/bin/env python3
"""`sampan push`: the store has what the report says. Nothing is lost and nothing arrives twice, whatever happens to
the store, the network and sampan itself."""
import collections
import gzip
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import unittest

import sampan
import stalls
from store import PATHS, TOLD, Content, Message, Store
from tcp_proxy import Proxy

CLOCKWORK = sampan.TARGETS / "target_clockwork"
NANOSECOND = 1e-9
ROUNDED = 2e-6  # error of the report's sums


def environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if not re.match(r"SAMPAN_|OTEL_|K8S_|KUBERNETES_|SSL_CERT|CURL_CA|\w+_proxy$", name, re.IGNORECASE)}
    return {**kept, **more}


def record(folder, *options, seconds):
    output = tempfile.mkdtemp(dir=folder)
    subprocess.run([sampan.PROGRAM, "run", "--quiet", "--format", "none", "--output", output, *options, "--",
                    CLOCKWORK, "1", "2", "0.5", "exit", str(seconds)], check=True, stdout=subprocess.DEVNULL,
                   env=environment())
    return next(pathlib.Path(output).iterdir())


def setUpModule():
    """A recording of some segments, for all tests."""
    folder = tempfile.TemporaryDirectory(prefix="sampan-e2e-")
    unittest.addModuleCleanup(folder.cleanup)
    PushCase.recording = record(folder.name, "--continuous", "--rotate", "1s", "--rate", "250", seconds=2.6)
    PushCase.segments = sorted((PushCase.recording / "segments").iterdir())
    PushCase.reports = [report for report in map(sampan.report, PushCase.segments) if report["samples"]]
    assert len(PushCase.reports) >= 3, PushCase.segments


class PushCase(sampan.Case):
    def setUp(self):
        self.need("go")
        self.need("protoc")
        self.spool = pathlib.Path(tempfile.mkdtemp(dir=self.path))

    def command(self, url, *words, form="ingest"):
        return [sampan.PROGRAM, "push", "--to", url, "--format", form, "--spool", str(self.spool),
                *map(str, words)]

    def push(self, url, *words, form="ingest", expected=0, **variables):
        done = subprocess.run(self.command(url, *words, form=form), text=True, capture_output=True, timeout=60,
                              env=environment(**variables))
        self.assertEqual(done.returncode, expected, done.stderr)
        return done.stderr

    def fill_spool(self, url):
        """Pushes the recording to a store that is down until all pieces are in the spool: a busy machine may make
        few of them before --timeout. Returns the last message."""
        said = self.push(url, "--timeout", "1s", self.recording, expected=1)
        while len(self.files(".piece")) < len(self.reports):
            said = self.push(url, "--timeout", "1s", expected=1)
        return said

    def assert_is_report(self, content, report, waiting=False):
        expected = {(t["name"], t["tid"]): t["sampled_cpu_s"] for t in report["threads"] if t["sampled_cpu_s"]}
        found = {thread: ns * NANOSECOND for thread, ns in content.threads.items() if ns}
        self.assertEqual(found.keys(), expected.keys())
        for thread, seconds in expected.items():
            self.assertAlmostEqual(found[thread], seconds, delta=ROUNDED)
        own = collections.Counter()
        for function in report["functions"]:
            own[function["name"]] += function["self_s"]
        for name, seconds in own.most_common(5):
            self.assertAlmostEqual(content.self[name] * NANOSECOND, seconds, delta=ROUNDED, msg=name)

    def assert_whole(self, kept, reports=None):
        """Each segment once, in their order."""
        reports = self.reports if reports is None else reports
        self.assertEqual(len(kept), len(reports))
        for push, report in zip(kept, reports):
            self.assert_is_report(Content(push), report)

    def files(self, suffix):
        return sorted(self.spool.glob(f"*/*{suffix}"))


class Formats(PushCase):
    def test_each_says_what_the_report_says(self):
        for form, path in PATHS.items():
            with self.subTest(form):
                store = Store(self)
                said = self.push(store.url, "--label", "team=a b", self.recording, form=form)
                self.assertIn(f"{len(self.reports)} pieces sent", said)
                self.assertEqual({push.path for push in store.requests}, {path})
                self.assert_whole(store.kept())
                self.assertEqual(len(store.requests), len(self.reports))
        # By the address alone, and after another path.
        store = Store(self)
        done = subprocess.run([sampan.PROGRAM, "push", "--to", store.url + "/tenant/ingest", "--spool", self.spool,
                               self.recording], capture_output=True, env=environment())
        self.assertEqual((done.returncode, store.requests[0].path), (0, "/tenant/ingest"), done.stderr)

    @stalls.measures_time("samples of a segment are 0.2 s late at most")
    def test_times_are_those_of_the_segments(self):
        store = Store(self)
        self.push(store.url, self.recording)
        times = [(content.begin, content.end) for content in map(Content, store.requests)]
        for (_, end), (begin, _) in zip(times, times[1:]):
            self.assertLessEqual(end, begin + 200_000_000)  # samples may be that late
        self.assertGreater(times[1][0] - times[0][0], 500_000_000)

    def test_waiting_is_a_profile_of_its_own(self):
        recording = record(self.path, "--clock", "wall", seconds=0.9)
        report = sampan.report(recording)
        store = Store(self)
        self.push(store.url, recording, form="otlp")
        content = Content(store.requests[0])
        self.assert_is_report(content, report)
        self.assertAlmostEqual(sum(content.waiting.values()) * NANOSECOND, report["waiting_s"] + report["runnable_s"],
                               delta=ROUNDED)
        self.assertGreater(report["waiting_s"], 0.1)

    def test_the_export_is_the_same_message(self):
        done = subprocess.run([sampan.PROGRAM, "export", "--format", "otlp", "--output", "-", self.segments[1]],
                              check=True, stdout=subprocess.PIPE)
        store = Store(self)
        self.push(store.url, self.segments[1], form="otlp")
        exported, pushed = Message(done.stdout), Message(gzip.decompress(store.requests[0].body))
        self.assertEqual(exported.samples, pushed.samples)
        [resource] = exported.resources
        self.assertEqual((resource["service.name"], resource["process.executable.path"]),
                         ("target_clockwork", str(CLOCKWORK)))
        for path, attributes in exported.mappings().items():
            self.assertRegex(attributes["process.executable.build_id.gnu"], "^[0-9a-f]{40}$", path)

    def test_labels_of_all_sources(self):
        variables = {"SAMPAN_LABELS": "team=search,zone=a", "OTEL_SERVICE_NAME": "shop",
                     "OTEL_RESOURCE_ATTRIBUTES": "service.name=no,service.version=1%2C2",
                     "KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAME": "shop-1", "NODE_NAME": "n7"}
        store = Store(self)
        said = self.push(store.url, "--label", "team=web", "--label", "bad name=x}y", self.segments[0], form="otlp",
                         **variables)
        expected = {"team": "web", "zone": "a", "service.name": "shop", "service.version": "1,2",
                    "k8s.pod.name": "shop-1", "k8s.node.name": "n7", "bad name": "x}y"}
        labels = Content(store.requests[0]).labels
        self.assertEqual({name: labels[name] for name in expected}, expected)
        said = self.push(store.url, "--label", "bad name=x}y", self.segments[0], **variables)
        labels = Content(store.requests[1]).labels
        self.assertEqual((labels["bad_name"], labels["k8s_pod_name"], labels["service_name"]),
                         ("x_y", "shop-1", "shop"))
        self.assertIn("bad name is called bad_name", said)
        self.assertIn('no way to say "x}y"', said)


class Trouble(PushCase):
    def test_refused_for_now_and_for_good_and_answers_that_get_lost(self):
        store = Store(self, told=[TOLD(503, {"Retry-After": "1"}), TOLD(200, drop=True), TOLD(200),
                                  TOLD(400, body=b"too\nbig \x1b[31m")])
        said = self.push(store.url, self.recording, expected=1)
        ids = [push.id for push in store.requests]
        self.assertEqual([ids[0]] * 3, ids[:3])
        self.assertEqual(len(set(ids)), len(ids) - 2)
        self.assertGreaterEqual(store.requests[1].time - store.requests[0].time, 1)  # longer than it waits if nothing is asked
        self.assert_whole(store.kept(), self.reports[:1] + self.reports[2:])
        self.assertIn("status 400: too big  [31m; set aside", said)
        self.assertIn("1 refused", said)
        self.assertIn("it answers again", said)
        self.assertEqual(len(self.files(".piece")), 0)
        self.assertEqual(len(list(self.spool.glob("*/refused/*.piece"))), 1)
        self.push(store.url, "--again")
        self.assertEqual(store.requests[-1].id, ids[3])
        self.assertEqual(len(store.kept()), len(self.reports))

    def test_down_for_the_time_being(self):
        store = Store()
        store.stop()
        process = subprocess.Popen(self.command(store.url, self.recording), stderr=subprocess.PIPE, text=True,
                                   env=environment())
        first = process.stderr.readline()
        self.assertIn("it is tried again", first)
        store = Store(self, store.port)
        self.assertEqual(process.wait(30), 0, process.stderr.read())
        process.stderr.close()
        self.assert_whole(store.kept())

    def test_restarting_between_pieces(self):
        store = Store(told=[TOLD(200), TOLD(502, delay=0.2)])
        process = subprocess.Popen(self.command(store.url, self.recording), stderr=subprocess.DEVNULL,
                                   env=environment())
        store.wait(2)
        store.stop()
        second = Store(self, store.port)
        self.assertEqual(process.wait(30), 0)
        self.assert_whole(store.kept() + second.kept())

    def test_what_does_not_arrive_stays_for_the_next(self):
        store = Store()
        store.stop()
        said = self.fill_spool(store.url)
        self.assertIn(f"{len(self.reports)} left", said)
        self.assertEqual(len(self.files(".piece")), len(self.reports))
        store = Store(self, store.port)
        self.push(store.url)
        self.assert_whole(store.kept())
        self.assertEqual(len(store.requests), len(self.reports))
        self.assertEqual(self.files(".piece"), [])

    def test_killed_while_it_pushes(self):
        store = Store(self, told=[TOLD(200), TOLD(200, delay=20, drop=True)])
        process = subprocess.Popen(self.command(store.url, self.recording), stderr=subprocess.DEVNULL,
                                   env=environment())
        store.wait(2)
        process.kill()
        process.wait()
        self.push(store.url)
        self.assert_whole(store.kept())
        # The second had arrived but not its answer, so it is sent again with the same id.
        counts = collections.Counter(push.id for push in store.requests)
        self.assertEqual(counts.pop(store.requests[1].id), 2)
        self.assertEqual(set(counts.values()), {1})

    def test_the_spool_is_bounded_and_reports_what_it_drops(self):
        store = Store()
        store.stop()
        self.fill_spool(store.url)
        sizes = [file.stat().st_size for file in self.files(".piece")]
        limit = sum(sizes[1:]) - 1  # too small even without the first
        said = self.push(store.url, "--timeout", "1s", "--spool-size", f"{limit / 1024:.6f}K", expected=1)
        dropped = sum(map(int, re.findall(r"; (\d+) dropped", said)))
        self.assertEqual(dropped, 2)
        self.assertIn("is full", said)
        store = Store(self, store.port)
        self.push(store.url)
        self.assert_whole(store.kept(), self.reports[2:])

    def test_a_damaged_piece_is_set_aside(self):
        store = Store()
        store.stop()
        self.fill_spool(store.url)
        damaged = self.files(".piece")[0]
        damaged.write_bytes(damaged.read_bytes()[:-1])
        (damaged.parent / "00000000000000000001-1-000001.piece").write_bytes(b"\0" * 100)
        store = Store(self, store.port)
        said = self.push(store.url, expected=1)
        self.assertIn("2 refused", said)
        self.assert_whole(store.kept(), self.reports[1:])


class WhileItRecords(PushCase):
    def run_words(self, store, *words, seconds="2.3"):
        return [sampan.PROGRAM, "run", "--continuous", "--rotate", "1s", "--output", str(self.spool / "runs"),
                "--push", store.url, "--push-format", "ingest", "--spool", str(self.spool), *words, "--", CLOCKWORK,
                "1", "2", "0.5", "exit", seconds]

    def of_run(self):
        [run] = (self.spool / "runs").iterdir()
        reports = [sampan.report(segment) for segment in sorted((run / "segments").iterdir())]
        return run, [report for report in reports if report["samples"]]

    def test_each_segment_arrives_and_a_slow_store_delays_nothing(self):
        store = Store(self, told=[TOLD(200, delay=1.5)])
        done = subprocess.run(self.run_words(store, "--label", "team=web"), capture_output=True, text=True,
                              env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        run, reports = self.of_run()
        self.assert_whole(store.kept(), reports)
        self.assertEqual(len(store.requests), len(reports))
        self.assertIn(f"{len(reports)} pieces sent", done.stderr)
        # If the recorder had to wait, the second segment would have everything that came meanwhile.
        self.assertGreaterEqual(len(reports), 3)
        whole = sampan.report(run)
        self.assertEqual(whole["lost"], {})
        self.assertEqual({Content(push).labels["team"] for push in store.requests}, {"web"})

    def test_what_is_served_is_pushed_too(self):
        store = Store(self)
        words = ["--continuous", "--rotate", "1s", "--output", self.spool / "runs", "--push", store.url,
                 "--push-format", "ingest", "--spool", self.spool, "--label", "team=web"]
        done = subprocess.run([sampan.PROGRAM, "serve", *words, "--", CLOCKWORK, "1", "2", "0.5", "exit", "2.3"],
                              capture_output=True, text=True,
                              env=environment(SAMPAN_PUSH_HEADER="X-Scope-OrgID: secret"))
        self.assertEqual(done.returncode, 0, done.stderr)
        _, reports = self.of_run()
        self.assertGreaterEqual(len(reports), 3)
        self.assert_whole(store.kept(), reports)
        self.assertEqual({Content(push).labels["team"] for push in store.requests}, {"web"})
        self.assertEqual({push.headers["X-Scope-OrgID"] for push in store.requests}, {"secret"})
        alone = subprocess.run([sampan.PROGRAM, "serve", "--push", store.url, "--push-format", "ingest", "--", "true"],
                               stderr=subprocess.PIPE, text=True, env=environment())
        self.assertEqual(alone.returncode, 2)
        self.assertIn("--continuous", alone.stderr)

    def test_killed_while_it_records(self):
        store = Store(self, told=[TOLD(503, delay=30)])
        process = subprocess.Popen(self.run_words(store, seconds="60"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=environment(), start_new_session=True)
        store.wait(1)
        deadline = 200
        while len(self.files(".segment")) < 1 and deadline:  # the second one is complete
            deadline -= 1
            signal.sigtimedwait([], 0.05)
        complete = len(self.files(".segment")) + len(self.files(".piece"))
        process.kill()
        process.wait()
        os.killpg(process.pid, signal.SIGKILL)
        self.assertGreaterEqual(complete, 2)
        self.push(store.url)
        _, reports = self.of_run()
        self.assert_whole(store.kept(), reports[:complete])

    def test_names_of_files_that_are_gone(self):
        """Like those of a process in another container: its path is another file here, or none."""
        program = self.path / "moved"
        shutil.copy(CLOCKWORK, program)
        target = subprocess.Popen([program, "1", "1", "0.5", "exit", "1.6"], stdout=subprocess.PIPE)
        self.addCleanup(target.communicate)
        target.stdout.readline()
        program.unlink()
        store = Store(self)
        attached = subprocess.run([sampan.PROGRAM, "attach", "--continuous", "--rotate", "1s", "--quiet", "--output",
                                   self.spool / "runs", "--push", store.url + "/ingest", "--spool", self.spool,
                                   str(target.pid)], stderr=subprocess.PIPE, text=True,
                                  env=environment(XDG_CACHE_HOME=tempfile.mkdtemp(dir=self.path)))
        if "cannot be sampled" in attached.stderr:
            self.skipTest(f"the kernel refuses: {attached.stderr}")
        self.assertEqual(attached.returncode, 0, attached.stderr)
        self.assertGreaterEqual(len(store.kept()), 2)
        for push in store.kept():
            self.assertRegex(" ".join(Content(push).self), r"step<\d>")

    def test_the_spool_may_be_on_another_file_system(self):
        elsewhere = pathlib.Path("/dev/shm")
        if not os.access(elsewhere, os.W_OK) or elsewhere.stat().st_dev == self.path.stat().st_dev:
            self.skipTest("there is no other file system")
        folder = tempfile.TemporaryDirectory(dir=elsewhere, prefix="sampan-e2e-")
        self.addCleanup(folder.cleanup)
        self.spool = pathlib.Path(folder.name)
        store = Store(self)
        self.push(store.url, self.recording)
        self.assert_whole(store.kept())

    def test_several_share_a_spool(self):
        store = Store(self, told=[TOLD(200, delay=0.5)])
        both = [subprocess.Popen(self.command(store.url, self.recording, "--label", f"of={one}"),
                                 stderr=subprocess.DEVNULL, env=environment()) for one in "ab"]
        self.assertEqual([process.wait(30) for process in both], [0, 0])
        self.assertEqual(len(store.requests), 2 * len(self.reports))
        for one in "ab":
            self.assert_whole([push for push in store.kept() if f"of={one}" in push.query["name"]])

    def test_a_short_run_is_one_piece(self):
        store = Store(self)
        done = subprocess.run([sampan.PROGRAM, "run", "--quiet", "--format", "none", "--output", self.spool / "runs",
                               "--", CLOCKWORK, "1", "1", "0.5", "exit", "0.6"], stdout=subprocess.DEVNULL,
                              env=environment(SAMPAN_PUSH=store.url + "/ingest", SAMPAN_SPOOL=str(self.spool)))
        self.assertEqual(done.returncode, 0)
        [run] = (self.spool / "runs").iterdir()
        self.assert_whole(store.kept(), [sampan.report(run)])


class Access(PushCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.certificate, key = cls.path / "cert.pem", cls.path / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                        "-out", cls.certificate], check=True, stderr=subprocess.DEVNULL)
        cls.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.tls.load_cert_chain(cls.certificate, key)

    def test_tls_and_who_is_trusted(self):
        store = Store(self, tls=self.tls)
        process = subprocess.Popen(self.command(store.url, self.segments[0]), stderr=subprocess.PIPE, text=True,
                                   env=environment())
        self.assertIn("certificate", process.stderr.readline())
        process.kill()
        process.wait()
        process.stderr.close()
        self.assertEqual(store.requests, [])
        self.push(store.url, "--cacert", self.certificate)
        self.push(store.url, self.segments[0], SSL_CERT_FILE=str(self.certificate))
        self.push(store.url, self.segments[0], CURL_CA_BUNDLE=str(self.certificate))
        self.assertEqual(len(store.requests), 3)

    def test_proxies(self):
        proxy = Proxy(self)
        through = f"http://127.0.0.1:{proxy.port}"
        store = Store(self, tls=self.tls)
        self.push(store.url, "--cacert", self.certificate, self.segments[0], HTTPS_PROXY=through)
        self.assertEqual((proxy.asked, len(store.requests)), ([f"CONNECT 127.0.0.1:{store.port} HTTP/1.1"], 1))
        self.push(store.url, "--cacert", self.certificate, self.segments[0], HTTPS_PROXY=through, NO_PROXY="127.0.0.1")
        self.assertEqual((len(proxy.asked), len(store.requests)), (1, 2))

    def test_secrets_are_sent_and_nowhere_else(self):
        token = self.path / "token"
        token.write_text("s3cret-token\n")
        token.chmod(0o600)
        store = Store(self, told=[TOLD(401), TOLD(200), TOLD(403)])
        said = self.push(store.url, "--token-file", token, "--header", "X-Scope-OrgID: web", self.segments[0],
                         expected=1)
        self.assertEqual(store.requests[0].headers["Authorization"], "Bearer s3cret-token")
        self.assertEqual(store.requests[0].headers["X-Scope-OrgID"], "web")
        with_user = store.url.replace("//", "//me:s3cret-word@")
        said += self.push(with_user, self.segments[0])
        self.assertEqual(store.requests[1].headers["Authorization"], "Basic bWU6czNjcmV0LXdvcmQ=")
        said += self.push(with_user, self.segments[0], expected=1)
        self.assertIn("status 403", said)
        store.stop()
        said += self.push(with_user, "--timeout", "1s", self.segments[0], expected=1)
        self.assertNotIn("s3cret", said)
        kept = [file for file in self.spool.rglob("*") if file.is_file()]
        self.assertTrue(kept)
        for file in kept:
            self.assertNotIn(b"s3cret", file.read_bytes() + str(file).encode())

    def test_what_makes_no_sense_is_refused(self):
        for words, text in ((["--to", "ftp://x"], "--to ftp://x"), (["--to", "http://x"], "which format"),
                            (["--to", "http://x/ingest", "--label", "team"], "--label team"),
                            (["--to", "http://x/ingest?a=b"], "without a query"),
                            (["--to", "http://x/ingest", "--spool-size", "10m"], "--spool-size"),
                            (["--to", "http://x/ingest", "--header", "a"], "--header"), ([], "--to")):
            done = subprocess.run([sampan.PROGRAM, "push", *words], capture_output=True, text=True, env=environment())
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
