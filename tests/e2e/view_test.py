#!/usr/bin/env python3
"""sampan view: it makes the page, opens it if there is a display, and serves it to clients that know its address."""
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

import sampan
import served


class View(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recorded = sampan.run(["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"])
        cls.directory = cls.recorded.directory

    def view(self, *options, environment=None, check=True):
        variables = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        return subprocess.run([sampan.PROGRAM, "view", str(self.directory), *options], check=check,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              env={**variables, **(environment or {})})

    def test_the_page_is_beside_the_recording_and_its_path_is_printed(self):
        page = self.directory / "profile.html"
        page.unlink(missing_ok=True)
        self.assertEqual(self.view().stdout, f"{page}\n")
        self.assertTrue(page.read_text().startswith("<!DOCTYPE html>"))

    def test_the_page_is_written_to_output(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "a.html")
            self.assertEqual(self.view("--output", str(path)).stdout, f"{path}\n")
            self.assertTrue(path.is_file())

    def test_a_browser_is_opened_if_there_is_a_display(self):
        with tempfile.TemporaryDirectory() as directory:
            opened = pathlib.Path(directory, "opened")
            opener = pathlib.Path(directory, "xdg-open")
            opener.write_text(f'#!/bin/sh\necho "$1" > {opened}.new && mv {opened}.new {opened}\n')
            opener.chmod(0o755)
            display = {"DISPLAY": ":7", "PATH": f"{directory}:{os.environ['PATH']}"}
            self.view("--no-open", environment=display)
            self.assertFalse(opened.exists())
            self.view(environment=display)
            for _ in range(200):  # it goes on after sampan has ended
                if opened.exists():
                    break
                time.sleep(0.05)
            self.assertEqual(opened.read_text().strip(),
                             str((self.directory / "profile.html").resolve()))

    def test_an_unwritable_page_is_a_sentence(self):
        done = self.view("--output", "/nowhere/page.html", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/page.html", done.stderr)


class Served(unittest.TestCase):
    """What `sampan serve` serves is found by its address."""

    def setUp(self):
        self.recorded = sampan.run(["true"])

    def view(self, *words):
        return subprocess.run([sampan.PROGRAM, "view", "--no-open", *words], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60)

    def test_its_page_is_opened(self):
        server = served.Served(self, self.recorded.directory)
        done = self.view(f"127.0.0.1:{server.port}")
        self.assertEqual((done.stdout, done.stderr, done.returncode), (f"http://127.0.0.1:{server.port}\n", "", 0))
        self.assertEqual(self.view(server.url, "--output", "page.html").returncode, 2)
        server.stop()
        gone = self.view(f"127.0.0.1:{server.port}")
        self.assertEqual((gone.stdout, gone.returncode), ("", 1))
        self.assertIn(f"127.0.0.1:{server.port}", gone.stderr)

    def test_a_token_is_asked_for(self):
        with tempfile.NamedTemporaryFile("w") as token:
            token.write("secret\n")
            token.flush()
            server = served.Served(self, "--token-file", token.name, self.recorded.directory)
            address = f"http://127.0.0.1:{server.port}"
            self.assertIn(f"give it as {address}/?token=TOKEN", self.view(address).stderr)
            self.assertEqual(self.view(f"{address}/?token=secret").stdout, f"{address}/?token=secret\n")


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recorded = sampan.run(["true"])

    def setUp(self):
        self.server = subprocess.Popen(
            [sampan.PROGRAM, "view", "--serve", "--no-open", str(self.recorded.directory)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.stop)
        self.url = self.server.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", self.url)
        self.assertTrue(match, self.url)
        self.port, self.token = int(match[1]), match[2]

    def stop(self):
        if self.server.poll() is None:
            self.server.kill()
        self.server.wait()
        self.server.stdout.close()

    def status(self, path, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_a_client_that_knows_the_address_gets_the_page(self):
        page = (self.recorded.directory / "profile.html").read_bytes()
        with urllib.request.urlopen(self.url, timeout=10) as answer:
            self.assertEqual(answer.headers["Content-Type"], "text/html; charset=utf-8")
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
            self.assertEqual(answer.read(), page)
        self.assertEqual(self.status(f"/{self.token}/", "HEAD"), (200, b""))

    def test_nothing_else_is_there(self):
        for path in ("/", "/profile.html", f"/{self.token}", f"/{self.token}/../../etc/passwd",
                     f"/{'0' * 32}/", f"/{self.token}/x"):
            self.assertEqual(self.status(path)[0], 404, path)
        self.assertEqual(self.status(f"/{self.token}/", "POST")[0], 405)

    def test_it_listens_on_one_address_only(self):
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.2", self.port), timeout=5).close()

    def test_the_page_is_served_after_hostile_requests(self):
        for request in (b"", b"\r\n\r\n", b"GET", b"\0\xff\r\n\r\n", b"GET " + b"/" * 100_000,
                        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000):
            with socket.create_connection(("127.0.0.1", self.port), timeout=0.5) as client:
                try:
                    client.sendall(request)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(4096):
                        pass
                except OSError:
                    pass  # the server closes early, or waits for the rest
            self.assertEqual(self.status(f"/{self.token}/")[0], 200, request[:20])

    def test_ctrl_c_ends_it_while_a_client_is_silent(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10):
            self.server.send_signal(signal.SIGINT)
            self.assertEqual(self.server.wait(timeout=30), 0)

    def test_a_port_in_use_is_a_sentence(self):
        done = subprocess.run([sampan.PROGRAM, "view", "--serve", "--no-open", "--port", str(self.port),
                               str(self.recorded.directory)], stderr=subprocess.PIPE, text=True,
                              stdout=subprocess.DEVNULL, timeout=30, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"port {self.port}", done.stderr)


if __name__ == "__main__":
    unittest.main()
