#!/usr/bin/env python3
"""The units of the pages: what systemd makes of them, and whether their commands do what they are there for. Where systemd is
the first process, they run; elsewhere systemd-analyze verifies them, and their commands run alone."""
import pathlib
import re
import unittest

import fleet

SERVICE = "[Service]\nExecStart=/usr/bin/python3 /dev/null\n"


class Systemd(fleet.Case):
    def setUp(self):
        self.need("systemd-analyze")
        self.units = self.path / "units"
        self.units.mkdir(exist_ok=True)
        (self.units / "redis-server.service").write_text(SERVICE)

    def verify(self, name, text):
        (self.units / name).write_text(text + "\n")
        result = self.shell(f"systemd-analyze verify --man=no {self.units}/{name.replace('@', '@redis-server')}", SYSTEMD_UNIT_PATH=f"{self.units}:")
        self.assertEqual([line for line in (result.stdout + result.stderr).splitlines() if "sampan" in line], [])

    def command_of(self, text):
        """What ExecStart= does, with a systemctl that knows one service."""
        pid = self.service().pid
        systemctl = self.bin / "systemctl"
        systemctl.write_text(f"#!/bin/sh\n[ \"$*\" = 'show -p MainPID --value redis-server' ] && echo {pid}\n")
        systemctl.chmod(0o755)
        return re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1).replace("%i", "redis-server")

    def test_the_unit_beside_a_service(self):
        text = self.text("fleet.md", "[Unit]\nDescription=Profiles of %i")
        self.verify("sampan@.service", text)
        port = fleet.free_port()
        command = self.command_of(text).replace("0.0.0.0", "127.0.0.1").replace("6061", str(port))
        self.start(["bash", "-c", f"exec {command}"], "unit.log", SAMPAN_RATE="100")
        self.assertIn(b"sampan_samples_total", fleet.wait_for(lambda: fleet.get(f"http://127.0.0.1:{port}/metrics"), "the unit's server"))

    def test_the_unit_that_pushes(self):
        unit = self.text("fleet.md", "[Unit]\nDescription=Profiles of %i")
        lines = self.text("fleet.md", "ExecStart=/bin/sh -c 'exec sampan attach --continuous")
        text = re.sub(r"^ExecStart=.*$", lambda _: lines, unit, flags=re.MULTILINE)
        self.verify("sampan-push@.service", text)
        command = self.command_of(lines).replace("1m", "1s")
        self.start(["bash", "-c", f"exec {command}"], "push.log", SAMPAN_OUTPUT=str(self.path / "runs"))
        fleet.wait_for(lambda: len(list((self.path / "runs").glob("*/segments/*"))) > 2, "segments")

    def test_a_profile_of_a_service_file(self):
        text = self.text("guide.md", "[Service]\nEnvironment=LD_PRELOAD", {"/var/tmp/profiles": self.path / "profiles"})
        library = pathlib.Path(fleet.sampan.PROGRAM).resolve().parent / "libsampan_preload.so"
        if not library.exists():
            self.skip(f"{library} is not there")
        text = text.replace("/usr/local/lib/x86_64-linux-gnu/sampan/libsampan_preload.so", str(library))
        self.verify("profiled.service", f"{text}\nExecStart=/usr/bin/python3 {fleet.SOURCES}/worker.py")
        variables = dict(word.split("=", 1) for line in text.splitlines()[1:] for word in line.removeprefix("Environment=").split())
        self.shell(f"exec /usr/bin/python3 {fleet.SOURCES}/worker.py", **variables)
        fleet.wait_for(lambda: list((self.path / "profiles").glob("*/recording.sampan")), "the recording")

    def test_a_service_that_runs(self):
        text = self.text("guide.md", "sudo sampan attach --duration 30", {"sudo ": "", "--duration 30": "--quiet --output looked --duration 1", "NAME": "redis-server"})
        self.command_of("ExecStart=true")
        self.shell(text)
        self.assertTrue(list((self.path / "looked").glob("*/recording.sampan")))

    def test_units_run(self):
        self.need("systemd-run")
        if not pathlib.Path("/run/systemd/system").exists():
            self.skip("systemd is not the first process here, so no unit runs: they are verified, and their commands run alone")
        for command in ("systemd-run --wait --collect --pipe -p CapabilityBoundingSet='CAP_SYS_PTRACE CAP_PERFMON CAP_DAC_READ_SEARCH' "
                        f"-p ProtectSystem=strict -p PrivateTmp=yes {self.bin}/sampan doctor {self.service().pid}",):
            self.assertIn("sampan", self.shell(command).stdout)


if __name__ == "__main__":
    unittest.main()
