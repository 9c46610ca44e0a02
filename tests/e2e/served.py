"""A running `sampan serve`, and requests to it."""
import http.client
import json
import os
import signal
import subprocess
import urllib.parse

import sampan

# Those that docs/serving.md lists.
ENDPOINTS = ["/", "/page-data", "/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/heap",
             "/debug/pprof/allocs", "/debug/pprof/block", "/debug/pprof/mutex", "/debug/pprof/trace", "/debug/pprof/cmdline",
             "/debug/pprof/symbol", "/pprof/profile", "/pprof/symbol", "/pprof/cmdline", "/recording", "/report.json", "/dump.json", "/metrics"]


class Served:
    """`words`: options, and what is served."""

    def __init__(self, case, *words, env=None, **keywords):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("SAMPAN_")}
        self.server = subprocess.Popen([sampan.PROGRAM, "serve", *map(str, words)], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env={**variables, **(env or {})}, **keywords)
        case.addCleanup(self.stop)
        self.url = self.server.stdout.readline().strip()
        if not self.url:
            raise AssertionError(self.server.communicate()[1])
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port

    def stop(self, number=signal.SIGINT):
        """Ends it, by default as Ctrl-C does; returns its exit status."""
        if self.server.poll() is None:
            self.server.send_signal(number)
        status = self.server.wait(timeout=60)
        for stream in (self.server.stdout, self.server.stderr):
            stream.close()
        return status

    def ask(self, path, method="GET", headers=None, body=None, timeout=60):
        """(status, body, headers)"""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def get(self, path, **keywords):
        status, body, _ = self.ask(path, **keywords)
        if status != 200:
            raise AssertionError(f"{path}: {status} {body[:200]}")
        return body

    def json(self, path):
        return json.loads(self.get(path))

    def metrics(self):
        """{name with labels: value}"""
        lines = self.get("/metrics").decode().splitlines()
        return {name: float(value) for name, _, value in
                (line.rpartition(" ") for line in lines if not line.startswith("#"))}
