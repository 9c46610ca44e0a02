"""What `sampan serve` costs a process, and how soon answers come: rows of bench/run.py."""
import re
import statistics
import subprocess
import threading
import time
import urllib.request

import outside
import pairs

CLIENTS = ("debug/pprof/profile?seconds=1", "page-data?last=60", "metrics", "report.json?last=10",
           "recording?last=10")
EVERY_S = 1.0  # between the requests of a client; a page sends one every 5 s, Prometheus every 15
SECONDS = 5
LOAD = 300_000  # requests to redis


class Served:
    """A redis-server that sampan serves, and HTTP clients."""

    def __init__(self, bench, clients):
        self.socket = bench.folder / "served.sock"
        self.redis = outside.Job(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                                  "--dir", bench.folder, "--logfile", "/dev/null"])
        while subprocess.run(["redis-cli", "-s", self.socket, "ping"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             check=False).stdout != b"PONG\n":
            time.sleep(0.05)
        command = [bench.sampan, "serve", str(self.redis.pid)]
        bench.table.note(pairs.shown([*command[:-1], "PID"]))
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.server.stdout.readline().strip()
        self.stopping = threading.Event()
        self.clients = [threading.Thread(target=self.ask, args=(path,)) for path in CLIENTS[:clients]]
        for client in self.clients:
            client.start()

    def ask(self, path):
        while not self.stopping.is_set():
            urllib.request.urlopen(self.url + path, timeout=60).read()
            self.stopping.wait(EVERY_S)

    def load(self):
        """Runs the load. Returns requests a second."""
        text = subprocess.run(["redis-benchmark", "-s", self.socket, "-q", "-n", str(LOAD), "-r", "10000", "-t",
                               "set,lpush"], stdout=subprocess.PIPE, check=True, text=True).stdout
        return statistics.mean(float(rate) for rate in re.findall(r"([\d.]+) requests per second", text))

    def end(self):
        """Ends all of them. Returns the CPU seconds of the redis-server."""
        self.stopping.set()
        for client in self.clients:
            client.join()
        subprocess.run(["redis-cli", "-s", self.socket, "shutdown", "nosave"], check=False)
        self.redis.wait()
        self.server.wait()
        self.server.stdout.close()
        return self.redis.cpu


def serve_clients(bench):
    """Five clients compared with none: the CPU of redis for the same load, and its throughput."""
    def measured(clients):
        served = Served(bench, clients)
        rate = served.load()
        return served.end(), rate

    both = [(measured(len(CLIENTS)), measured(0)) for _ in range(bench.pairs)]
    cpu = sorted(asked[0] / alone[0] for asked, alone in both)
    rate = sorted(asked[1] / alone[1] for asked, alone in both)
    def quartiles(ratios):
        return f"{statistics.median(ratios):.3f} [{ratios[len(ratios) // 4]:.3f} {ratios[-1 - len(ratios) // 4]:.3f}]"
    bench.judge("served redis: CPU, five clients to none", statistics.median(cpu), 1.01, quartiles(cpu))
    # Not judged: the clients, the recorder and the server share the cores with redis.
    bench.table.row("  requests a second, five clients to none", quartiles(rate))


def serve_late(bench):
    """How late a profile of N seconds of a process under load arrives, after those seconds."""
    for clients in (0, len(CLIENTS)):
        served = Served(bench, clients)
        load = threading.Thread(target=lambda: [served.load() for _ in range(4)])
        load.start()
        late = []
        for _ in range(5):
            begin = time.monotonic()
            urllib.request.urlopen(f"{served.url}debug/pprof/profile?seconds={SECONDS}", timeout=60).read()
            late.append((time.monotonic() - begin - SECONDS) * 1000)
        load.join()
        served.end()
        bench.judge(f"profile?seconds=5, ms late, {clients} other clients", max(late), 200,
                    f"{max(late):.0f} (median {statistics.median(late):.0f})")


ROWS = {"serve_clients": serve_clients, "serve_late": serve_late}
