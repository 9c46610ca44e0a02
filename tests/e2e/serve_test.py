#!/usr/bin/env python3
"""sampan serve of recordings: what it answers, to whom, and that hostile clients do no harm."""
import json
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import unittest
from unittest import mock

import sampan
from served import ENDPOINTS, Served

TOKEN = "a secret of the tests"
CROWD = 1000


def parse_gperftools(profile):
    """A binary CPU profile: [(count, pcs)], the period in us, and the text behind the samples."""
    words = struct.unpack(f"={len(profile) // 8}Q", profile[:len(profile) // 8 * 8])
    assert words[:3] == (0, 3, 0) and words[4] == 0, words[:5]
    samples, place = [], 5
    while words[place:place + 3] != (0, 1, 0):
        count, depth = words[place:place + 2]
        samples.append((count, words[place + 2:place + 2 + depth]))
        place += 2 + depth
    return samples, words[3], profile[(place + 3) * 8:].decode()


class Answers(sampan.Case):
    """Answers about a recording, compared with its report."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recorded = sampan.run([sampan.TARGETS / "target_shares", "2"])

    def setUp(self):
        self.served = Served(self, self.recorded.directory)

    def test_the_report_is_that_of_the_recording(self):
        self.assertEqual(self.served.json("/report.json"), self.recorded.report)

    def test_the_recording_can_be_read_elsewhere_and_has_names(self):
        copy = self.path / "copy.sampan"
        copy.write_bytes(self.served.get("/recording"))
        report = sampan.report(copy)
        for key in ("samples", "sampled_cpu_s", "threads", "functions"):
            self.assertEqual(report[key], self.recorded.report[key], key)

    def test_last_is_the_end_of_the_recording(self):
        from_s = self.recorded.report["duration_s"] - 0.5
        last = self.served.json("/report.json?last=0.5")
        cut = sampan.report(self.recorded.recording, "--from", str(from_s))
        self.assertGreater(cut["samples"], 10)
        self.assertAlmostEqual(last["samples"], cut["samples"], delta=1)  # at the boundary

    def test_pprof_has_all_of_the_cpu(self):
        self.need("go")
        profile = self.path / "profile.pb.gz"
        profile.write_bytes(self.served.get("/debug/pprof/profile"))
        raw = subprocess.run(["go", "tool", "pprof", "-raw", str(profile)], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             env={**os.environ, "PPROF_TMPDIR": str(self.path)}).stdout
        rows = raw.partition("Samples:\n")[2].partition("\nLocations")[0].splitlines()[1:]
        values = [row.split(":")[0].split() for row in rows if row[:1] == " " and row.split(":")[0].split()[0].isdigit()]
        self.assertEqual(sum(int(count) for count, _ in values), self.recorded.report["samples"])
        self.assertAlmostEqual(sum(int(ns) for _, ns in values) / 1e9, self.recorded.report["sampled_cpu_s"], 6)

    def test_gperftools_profile_has_all_of_the_cpu_and_its_addresses_have_names(self):
        samples, period_us, maps = parse_gperftools(self.served.get("/pprof/profile"))
        self.assertEqual(period_us, 1000)
        sampled_ms = self.recorded.report["sampled_cpu_s"] * 1000
        self.assertAlmostEqual(sum(count for count, _ in samples), sampled_ms, delta=1)
        self.assertIn("target_shares", maps)
        leaves = {}
        for count, pcs in samples:
            leaves[pcs[0]] = leaves.get(pcs[0], 0) + count
        names = self.served.ask("/pprof/symbol", "POST", body="+".join(map(hex, leaves)))[1].decode()
        by_name = {}
        for line in names.splitlines():
            address, name = line.split("\t")
            name = name.split("--")[-1]
            by_name[name] = by_name.get(name, 0) + leaves[int(address, 16)]
        heavy = [function for function in self.recorded.report["functions"] if function["self_s"] > 0.1]
        self.assertTrue(heavy)
        for function in heavy:
            # Each address has whole milliseconds; the rest counts for another address.
            self.assertAlmostEqual(by_name[function["name"]], function["self_s"] * 1000,
                                   delta=len(leaves) + 1, msg=function["name"])
        self.assertRegex(self.served.get("/pprof/symbol").decode(), r"^num_symbols: [1-9]\d*\n$")

    def test_the_trace_the_page_and_the_command_line(self):
        trace = json.loads(self.served.get("/debug/pprof/trace"))
        self.assertIn("target_shares", json.dumps(trace))
        self.assertTrue(self.served.get("/").startswith(b"<!DOCTYPE html>"))
        self.assertEqual(sorted(self.served.json("/page-data")), ["columns", "header"])
        words = self.recorded.report["command"]
        self.assertEqual(self.served.get("/debug/pprof/cmdline").decode().split("\0"), words)
        self.assertEqual(self.served.get("/pprof/cmdline").decode().splitlines(), words)
        index = self.served.get("/debug/pprof/").decode()
        for path in ENDPOINTS:
            if path not in ("/debug/pprof/", "/dump.json") and not path.endswith("/symbol"):
                self.assertIn(f'href="{path}"', index)

    def test_metrics_are_those_of_the_report(self):
        metrics = self.served.metrics()
        report = self.recorded.report
        self.assertEqual(metrics['sampan_samples_total{state="cpu"}'], report["samples"])
        self.assertAlmostEqual(metrics["sampan_sampled_cpu_seconds_total"], report["sampled_cpu_s"], 5)
        self.assertEqual(metrics, {**self.served.metrics(), 'sampan_overhead_cpu_seconds_total{process="server"}':
                                   metrics['sampan_overhead_cpu_seconds_total{process="server"}']})

    def test_what_a_recording_does_not_have_is_refused_with_a_sentence(self):
        for path, words in (("/debug/pprof/profile?seconds=1", b"recording"), ("/dump.json", b"recording"),
                            ("/report.json?last=never", b"number of seconds"), ("/report.json?last=-1", b"number")):
            status, body, _ = self.served.ask(path)
            self.assertEqual(status, 400, path)
            self.assertIn(words, body)
        self.assertEqual(self.served.ask("/etc/passwd")[0], 404)

    def test_only_reading(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            for path in ("/", "/report.json", "/nowhere"):
                self.assertEqual(self.served.ask(path, method)[0], 405, f"{method} {path}")
        status, body, _ = self.served.ask("/debug/pprof/profile", "HEAD")
        self.assertEqual((status, body), (200, b""))

    def test_requests_for_other_host_names_are_refused(self):
        for host, status in (("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("evil.example", 403),
                             ("127.evil.example", 403), ("localhost.evil.example", 403), ("", 403)):
            self.assertEqual(self.served.ask("/metrics", headers={"Host": host})[0], status, host)


class Secret(sampan.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recorded = sampan.run(["true"])
        cls.token = cls.path / "token"
        cls.token.write_text(TOKEN + "\n")
        cls.token.chmod(0o600)

    def test_without_the_token_nothing_is_answered(self):
        served = Served(self, "--token-file", self.token, self.recorded.directory)
        wrong = [{}, {"Authorization": "Bearer "}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN},
                 {"Authorization": f"Basic {TOKEN}"}, {"Authorization": f"Bearer {TOKEN[:-1]}"},
                 {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": f"Bearer {TOKEN * 2}"}]
        seen = set()
        for path in [*ENDPOINTS, "/nowhere", "/debug", "//", "/%00", "/../etc/passwd"]:
            for headers in wrong:
                for method in ("GET", "POST", "HEAD", "DELETE"):
                    status, body, answer = served.ask(path, method, headers)
                    if (path, status) == ("/%00", 400):  # libmicrohttpd 1.0 itself refuses such a path
                        continue
                    self.assertEqual((status, body), (401, b""), f"{method} {path} {headers}")
                    seen.add(tuple(sorted(name for name in answer if name != "Connection")))
            self.assertIn(served.ask(f"{path}?token=wrong")[0], (401, 400) if path == "/%00" else (401,), path)
        self.assertEqual(len(seen), 1, "answers differ")
        for path, headers in (("/metrics", {"Authorization": f"bearer {TOKEN}"}),
                              ("/metrics?token=" + TOKEN.replace(" ", "%20"), {})):
            self.assertEqual(served.ask(path, headers=headers)[0], 200)
        # With the token any host name is accepted.
        self.assertEqual(served.ask("/metrics", headers={"Authorization": f"Bearer {TOKEN}", "Host": "a.example"})[0], 200)

    def test_what_it_says_can_be_pasted(self):
        token = self.path / "token-without-blanks"
        token.write_text("0123456789abcdef\n")
        token.chmod(0o600)
        for options in ([], ["--token-file", token]):
            with self.subTest(options=options):
                served = Served(self, *options, self.recorded.directory)
                said = [served.server.stderr.readline()]
                while not said[-1].startswith("  the terminal"):  # the last one
                    said.append(served.server.stderr.readline())
                    self.assertTrue(said[-1], said)
                commands = {name: command for name, command in re.findall(r"(?m)^  (\w+(?: \w+)*)  +(.*)$", "".join(said))}
                self.assertEqual(list(commands), ["the page", "pprof", "Prometheus", "the terminal"])
                self.assertIn("sampan_samples_total", self.pasted(commands["Prometheus"]))
                self.assertIn("<html", self.pasted(commands["the page"].replace("xdg-open", "curl -f")))
                self.assertIn("Showing nodes", self.pasted(commands["pprof"].replace("-http=:", "-top")))
                self.assertIn("Functions", self.pasted(
                    commands["the terminal"].replace("sampan", str(sampan.PROGRAM), 1) + " --once --delay 0.1"))

    def pasted(self, command):
        return subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace").stdout

    def refused(self, *words):
        done = subprocess.run([sampan.PROGRAM, "serve", *map(str, words)], text=True, timeout=60, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.stdout, "")
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_other_addresses_need_a_token(self):
        self.assertIn("--token-file", self.refused("--bind", "0.0.0.0", self.recorded.directory))
        self.assertIn("--token-file", self.refused("--bind", "::", self.recorded.directory))
        served = Served(self, "--bind", "0.0.0.0", "--token-file", self.token, self.recorded.directory)
        self.assertEqual(served.ask("/metrics")[0], 401)

    def test_invalid_arguments_are_refused_with_a_sentence(self):
        open_token = self.path / "open"
        open_token.write_text(TOKEN)
        open_token.chmod(0o644)
        directory = self.recorded.directory
        for words, said in ((["--token-file", open_token, directory], "chmod 600"),
                            (["--token-file", self.path / "no", directory], "--token-file"),
                            (["--cert", self.token, directory], "--key"),
                            (["--cert", self.token, "--key", self.token, directory], "PEM"),
                            (["--bind", "nowhere.example", directory], "nowhere.example"),
                            ([], "-- COMMAND"), ([directory, "--", "true"], "either"),
                            (["no-such-process-or-file"], "no-such-process-or-file")):
            self.assertIn(said, self.refused(*words), words)

    def test_tls(self):
        self.need("openssl")
        certificate, key = self.path / "cert.pem", self.path / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, stderr=subprocess.DEVNULL)
        served = Served(self, "--cert", certificate, "--key", key, self.recorded.directory)
        self.assertTrue(served.url.startswith("https://127.0.0.1:"), served.url)
        context = ssl.create_default_context(cafile=str(certificate))
        with socket.create_connection((served.host, served.port), timeout=30) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as client:
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = b"".join(iter(lambda: client.recv(65536), b""))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200"), answer[:100])
        self.assertIn(b"sampan_samples_total", answer)


class Hostile(sampan.Case):
    """Whatever clients do, the server answers the next one."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recorded = sampan.run(["true"])

    def setUp(self):
        self.served = Served(self, self.recorded.directory)

    def connect(self):
        client = socket.create_connection((self.served.host, self.served.port), timeout=30)
        self.addCleanup(client.close)
        return client

    def test_a_thousand_connections_at_once(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2 * CROWD:
            self.skipTest(f"no more than {hard} descriptors here")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * CROWD), hard))
        silent = [self.connect() for _ in range(CROWD // 2)]
        half = [self.connect() for _ in range(CROWD // 2)]
        for client in half:
            client.sendall(b"GET /report.json HTTP/1.1\r\nHost: local")
        self.served.get("/report.json")
        for client in half:
            client.sendall(b"host\r\nConnection: close\r\n\r\n")
        for client in half:
            self.assertEqual(client.recv(12), b"HTTP/1.1 200")
        for client in silent:
            client.close()
        self.served.get("/report.json")

    def test_slow_readers(self):
        readers = [self.connect() for _ in range(50)]
        for client in readers:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        for client in readers:
            client.recv(1)
        before = time.monotonic()
        self.served.get("/report.json")
        self.assertLess(time.monotonic() - before, 20)  # the time limit of a request

    def test_malformed_and_endless_requests(self):
        requests = [b"\r\n\r\n", b"\0\xff\r\n\r\n", b"GET " + b"/" * 100_000, b"GET / HTTP/9.9\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000, b"GET /%zz%%% HTTP/1.1\r\nHost: localhost\r\n\r\n",
                    b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                    b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n0x1",
                    b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                    b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + b"100000\r\n" + b"0" * 0x100000 + b"\r\n"]
        for request in requests:
            client = self.connect()
            client.settimeout(0.5)
            try:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            except OSError:
                pass  # the server closes early, or waits for the rest
            self.served.get("/metrics")
        # The server waits for the rest of a request, but not for ever.
        client = self.connect()
        client.sendall(b"GET / HT")
        self.assertEqual(client.recv(1), b"")
        # The server stops reading chunks at 4 MB.
        client = self.connect()
        client.sendall(b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        with self.assertRaises(OSError):
            for _ in range(64):
                client.sendall(b"100000\r\n" + b"0" * 0x100000 + b"\r\n")
            client.recv(1) or client.sendall(b"x")
            raise AssertionError("64 MB were taken")
        self.served.get("/metrics")

    def test_requests_that_can_be_understood_in_several_ways_are_refused(self):
        """A proxy in front may take such a request for another server's, or see its end elsewhere."""
        port = self.served.port
        body = "\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for head in (f"Host: 127.0.0.1:{port}, evil.example", "Host: 127.0.0.1:80:80", "Host: localhost\r\nHost: evil.example",
                     "Host: user@localhost", "Host: localhost\r\nContent-Length: 3\r\nContent-Length: 3",
                     "Host: localhost\r\nContent-Length: 3, 3", "Host: localhost\r\nContent-Length: +3",
                     "Host: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked",
                     "Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3"):
            client = self.connect()
            client.sendall(f"POST /pprof/symbol HTTP/1.1\r\n{head}\r\n{body}".encode())
            answer = b""
            try:
                while part := client.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass  # it does not read what follows
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), (head, answer[:200]))
            self.assertNotIn(b" 200 OK", answer, head)
        self.served.get("/metrics")

    def test_ctrl_c_ends_it_while_clients_wait(self):
        self.connect()
        self.connect().sendall(b"GET / HT")
        self.assertEqual(self.served.stop(), 0)


class Command(sampan.Case):
    """`serve -- COMMAND` runs the command like `run`."""

    def test_its_output_and_its_status_pass_through(self):
        done = subprocess.run([sampan.PROGRAM, "serve", "--", "sh", "-c", "echo out; echo err >&2; exit 7"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual((done.stdout.splitlines()[1:], done.stderr.splitlines()[-1], done.returncode), (["out"], "err", 7))

    def test_it_is_served_while_it_runs_and_ends_with_the_server(self):
        served = Served(self, "--", sampan.TARGETS / "target_shares", "600")
        while not (report := served.json("/report.json"))["samples"]:
            time.sleep(0.1)
        dump = served.json("/dump.json")
        self.assertEqual(pathlib.Path(dump["executable"]).name, "target_shares")
        self.assertEqual(dump["pid"], report["processes"][0]["pid"])
        served.stop(signal.SIGTERM)
        with self.assertRaises(ProcessLookupError):
            os.kill(dump["pid"], 0)

    def test_it_lives_on_when_sampan_is_killed(self):
        served = Served(self, "--", "sh", "-c", "echo $$; read -r go; echo went $go; exit 3",
                        stdin=subprocess.PIPE)
        pid = int(served.server.stdout.readline())
        recorder = int(pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").partition("PPid:\t")[2].split()[0])
        directories = set(self.captures())
        served.server.kill()
        served.server.wait()
        while os.path.exists(f"/proc/{recorder}"):  # it ends with its owner
            time.sleep(0.01)
        os.kill(pid, 0)
        served.server.stdin.write("on\n")
        served.server.stdin.close()
        self.assertEqual(served.server.stdout.readline(), "went on\n")
        # What it has left is removed by the next one.
        self.assertEqual(set(self.captures()), directories)
        Served(self, "--", "true").server.wait()
        self.assertEqual(self.captures(), [])

    def captures(self):
        return list(pathlib.Path(self.temporary).glob("sampan-live-*"))

    def setUp(self):
        self.temporary = tempfile.mkdtemp(dir=self.path)
        variables = mock.patch.dict(os.environ, {"TMPDIR": self.temporary})
        variables.start()
        self.addCleanup(variables.stop)

    def test_it_stays_when_asked_to(self):
        served = Served(self, "--stay", "--", sampan.TARGETS / "target_shares", "1")
        while "has ended" not in (line := served.server.stderr.readline()):
            self.assertTrue(line, "it does not say that the process has ended")
        self.assertGreater(served.json("/report.json")["samples"], 10)
        self.assertEqual(served.stop(), 0)


if __name__ == "__main__":
    unittest.main()
