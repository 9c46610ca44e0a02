"""A profile store: takes what is pushed to it, answers as told, and reads bodies by public schemas: protoc for OTLP
and for Pyroscope's push API, go's pprof for profiles."""
import collections
import gzip
import http.server
import pathlib
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "exporters"))
import viewers
from otlp_reader import Message, decode

PATHS = {"pyroscope": "/push.v1.PusherService/Push", "ingest": "/ingest", "otlp": "/v1development/profiles"}
TOLD = collections.namedtuple("TOLD", "status headers body delay drop", defaults=({}, b"", 0, False))

Push = collections.namedtuple("Push", "id path query headers body status time")


class Store:
    """Listens while it lives. `told`: how it answers the next requests; after them it answers 200."""

    def __init__(self, case=None, port=0, tls=None, told=()):
        self.requests = []  # complete ones, in order of arrival, with the status of the answer
        self.told = collections.deque(told)
        self.changed = threading.Condition()
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if len(body) < int(self.headers["Content-Length"]):
                    return  # the client has gone
                url = urllib.parse.urlsplit(self.path)
                store.answer(self, url, body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # the tests kill clients

        self.server = Server(("127.0.0.1", port), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        if case:
            case.addCleanup(self.stop)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, url, body):
        with self.changed:
            told = self.told.popleft() if self.told else TOLD(200)
            self.requests.append(Push(handler.headers["Idempotency-Key"].strip('"'), url.path,
                                      dict(urllib.parse.parse_qsl(url.query)), handler.headers, body,
                                      told.status, time.monotonic()))
            self.changed.notify_all()
        time.sleep(told.delay)
        if told.drop:
            handler.close_connection = True
            return
        handler.send_response(told.status)
        for name, value in told.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(told.body)))
        handler.end_headers()
        handler.wfile.write(told.body)

    def wait(self, count, timeout=30):
        """Waits until so many requests have come."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.requests) >= count, timeout):
                raise AssertionError(f"{len(self.requests)} requests, not {count}")

    def kept(self):
        """What a store keeps that knows requests by their ids: each accepted one once."""
        by_id = {}
        for push in self.requests:
            if push.status == 200:
                known = by_id.setdefault(push.id, push)
                assert (known.query, known.body) == (push.query, push.body), "different content with the same id"
        return list(by_id.values())


def pprof_table(profile):
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as file:
        file.write(profile)
        file.flush()
        return viewers.pprof(file.name)


class Content:
    """The content of one push: labels, nanoseconds of CPU and of waiting by (thread, tid), self time by function."""

    def __init__(self, push):
        self.labels = {}
        self.threads = collections.Counter()
        self.waiting = collections.Counter()
        self.self = collections.Counter()
        kind = next(name for name, path in PATHS.items() if push.path.endswith(path))
        getattr(self, kind)(push)

    def of_profile(self, profile):
        table = pprof_table(profile)
        self.threads.update({thread: round(s * 1e9) for thread, s in table.threads.items()})
        self.self.update({name: round(s * 1e9) for name, s in table.self.items()})

    def pyroscope(self, push):
        assert push.headers["Content-Type"] == "application/proto"
        [series] = decode("pyroscope_push.proto", "pyroscope.PushRequest", push.body)["series"]
        self.labels = {pair["name"][0].decode(): pair["value"][0].decode() for pair in series["labels"]}
        [sample] = series["samples"]
        assert sample["ID"] == [push.id.encode()]
        self.of_profile(sample["raw_profile"][0])

    def ingest(self, push):
        name, _, labels = push.query["name"].rstrip("}").partition("{")
        self.labels = dict(pair.split("=", 1) for pair in labels.split(",") if pair)
        self.labels["service_name"] = name
        assert push.query["format"] == "pprof" and push.query["spyName"] == "sampan", push.query
        self.begin, self.end = int(push.query["from"]), int(push.query["until"])
        self.of_profile(push.body)

    def otlp(self, push):
        assert push.headers["Content-Type"] == "application/x-protobuf"
        message = Message(gzip.decompress(push.body))
        for labels in message.resources:
            self.labels.update(labels)
        for sample in message.samples:
            self.self[sample.frames[0][0]] += sample.nanoseconds
            of_kind = {"cpu": self.threads, "off_cpu": self.waiting}[sample.kind]
            of_kind[sample.thread["thread.name"], sample.thread["thread.id"]] += sample.nanoseconds
