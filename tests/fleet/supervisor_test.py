#!/usr/bin/env python3
"""supervisor keeps a `sampan serve` beside a service, and starts it again with the service."""
import os
import signal
import unittest

import fleet

DAEMON = """
[unix_http_server]
file={path}/supervisor.sock
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://{path}/supervisor.sock
[supervisord]
logfile={path}/supervisord.log
pidfile={path}/supervisord.pid
childlogdir={path}
[program:fleetd]
command=/usr/bin/python3 {path}/fleetd
"""


class Supervisor(fleet.Case):
    def pids(self, program):
        """0 while it does not run, or supervisor does not listen yet."""
        done = self.shell(f"supervisorctl -c {self.path}/supervisord.conf pid {program}", check=False)
        return int(done.stdout) if done.returncode == 0 else 0

    def test_it_is_started_again_with_its_service(self):
        self.need("supervisord", "supervisorctl")
        (self.path / "fleetd").write_text((fleet.SOURCES / "service.py").read_text())
        token = self.path / "token"
        token.write_text("a secret of this test\n")
        token.chmod(0o600)
        port = fleet.free_port()
        pid_file = self.path / "redis.pid"
        text = self.text("fleet.md", "[program:sampan-redis]", {"6061": port, "/etc/sampan/token": token, "/run/redis/redis-server.pid": pid_file,
                                                                "/var/cache/sampan": self.path / "cache", "sampan serve": f"{self.bin}/sampan serve"})
        (self.path / "supervisord.conf").write_text(DAEMON.format(path=self.path) + text + "\n")
        self.start(["supervisord", "-n", "-c", self.path / "supervisord.conf"], "supervisord.out")
        first = fleet.wait_for(lambda: self.pids("fleetd"), "the service")
        pid_file.write_text(f"{first}\n")

        def command():
            return fleet.get(f"http://127.0.0.1:{port}/debug/pprof/cmdline", "a secret of this test").split(b"\0")
        self.assertIn(str(self.path / "fleetd").encode(), fleet.wait_for(command, "sampan serve"))
        served = self.pids("sampan-redis")
        os.kill(first, signal.SIGKILL)
        second = fleet.wait_for(lambda: (lambda pid: pid not in (0, first) and pid)(self.pids("fleetd")), "the service again")
        pid_file.write_text(f"{second}\n")
        fleet.wait_for(lambda: self.pids("sampan-redis") not in (0, served), "sampan again")
        self.assertIn(str(self.path / "fleetd").encode(), fleet.wait_for(command, "sampan serve again"))


if __name__ == "__main__":
    unittest.main()
