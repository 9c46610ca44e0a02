#!/usr/bin/env python3
"""sampan serve under requests that are almost right, from several clients at once for SERVE_FUZZ_SECONDS (4). It must
go on answering, and end normally; a build with sanitizers finds more.

SERVE_FUZZ_SEED repeats the random numbers of a run that failed."""
import os
import random
import socket
import subprocess
import threading
import time
import unittest

import sampan
from served import ENDPOINTS, Served

SECONDS = float(os.environ.get("SERVE_FUZZ_SECONDS", "4"))
SEED = int(os.environ.get("SERVE_FUZZ_SEED", str(time.time_ns())))
CLIENTS = 4
METHODS = [b"GET", b"GET", b"GET", b"HEAD", b"POST", b"PUT", b"OPTIONS", b"CONNECT", b"TRACE", b"get", b"", b"G" * 300]
VALUES = [b"1", b"0.01", b"0", b"-1", b"1e9", b"nan", b"99999999999999999999", b"%00", b"%", b"%zz", b"0x1", b"", b"a" * 5000]
HEADERS = [b"Host: localhost", b"Host: evil.example", b"Host:", b"Host: [", b"Connection: close", b"Connection: keep-alive",
           b"Expect: 100-continue", b"Transfer-Encoding: chunked", b"Content-Length: 5", b"Content-Length: 18446744073709551616",
           b"Content-Length: -1", b"Authorization: Bearer", b"Authorization: Bearer " + b"x" * 3000, b"Range: bytes=0-",
           b"Cookie: a=b; c", b": empty", b"no colon", b" folded: x", b"X: " + b"\xff\0\x7f", b"Upgrade: websocket"]


def request(rng):
    path = rng.choice(ENDPOINTS + ["/nowhere", "*", "http://localhost/", "//", "/../.."]).encode()
    query = b"&".join(rng.choice([b"seconds", b"last", b"token", b"every", b""]) + rng.choice([b"=", b"", b"=="])
                      + rng.choice(VALUES) for _ in range(rng.randrange(3)))
    head = rng.choice(METHODS) + b" " + path + rng.choice([b"?", b"", b"#"]) + query + b" "
    head += rng.choice([b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.", b""])
    lines = [head, *rng.sample(HEADERS, rng.randrange(6))]
    if rng.random() < 0.7:
        lines.insert(1, b"Host: localhost")
    body = rng.choice([b"", b"0x1000000000001+0x2", b"+" * 5000, b"5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffffff\r\n",
                       rng.randbytes(rng.randrange(2000))])
    text = bytearray(rng.choice([b"\r\n", b"\r\n", b"\n"]).join(lines) + b"\r\n\r\n" + body)
    for _ in range(rng.choice([0, 0, 1, 3, 20])):
        place = rng.randrange(len(text))
        kind = rng.randrange(3)
        if kind == 0:
            text[place] = rng.randrange(256)
        elif kind == 1:
            del text[place:place + rng.randrange(1, 10)]
        else:
            text[place:place] = text[place:place + rng.randrange(1, 50)]
        if not text:
            break
    return bytes(text[:rng.randrange(len(text) + 1)] if rng.random() < 0.1 else text)


class Fuzz(sampan.Case):
    def torment(self, served, seed, end, sent):
        rng = random.Random(seed)
        while time.monotonic() < end:
            try:
                with socket.create_connection((served.host, served.port), timeout=10) as client:
                    client.settimeout(0.05)
                    for _ in range(rng.choice([1, 1, 1, 5])):
                        client.sendall(request(rng))
                        sent.append(1)
                    if rng.random() < 0.5:
                        client.recv(rng.choice([1, 100, 100_000]))
            except OSError:
                pass  # refused, closed, or not answered yet

    def served_under_torment(self, *words):
        served = Served(self, *words)
        sent = []
        end = time.monotonic() + SECONDS / 2
        clients = [threading.Thread(target=self.torment, args=(served, SEED + i, end, sent)) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertGreater(len(sent), 20)
        self.assertIsNone(served.server.poll(), f"sampan has ended; SERVE_FUZZ_SEED={SEED}")
        status, body, _ = served.ask("/metrics", timeout=120)
        self.assertEqual(status, 200, f"SERVE_FUZZ_SEED={SEED}")
        self.assertIn(b"sampan_samples_total", body)
        self.assertEqual(served.stop(), 0, f"SERVE_FUZZ_SEED={SEED}")
        print(f"{len(sent)} requests, SERVE_FUZZ_SEED={SEED}")

    def test_a_recording(self):
        recorded = sampan.run(["true"])
        self.served_under_torment(recorded.directory)

    def test_a_process(self):
        target = subprocess.Popen([str(sampan.TARGETS / "target_shares"), "100000"], stdout=subprocess.DEVNULL)
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        self.served_under_torment(target.pid)


if __name__ == "__main__":
    unittest.main()
