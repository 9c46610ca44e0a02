#!/usr/bin/env python3
"""cron takes a profile of a service now and then, and removes old ones."""
import os
import pathlib
import unittest

import fleet


class Cron(fleet.Case):
    def test_profiles_come_and_old_ones_go(self):
        self.need("cron")
        if os.geteuid() != 0:
            self.skip("cron reads its table as root")
        service = self.service()
        output = self.path / "profiles"
        old = output / "2020-01-01_00-00-00_service"
        old.mkdir(parents=True)
        os.utime(old, (0, 0))
        text = self.text("fleet.md", "*/15 * * * * root", {"*/15": "*", "/usr/bin/sampan": self.bin / "sampan", "30s": "2s", "/var/lib/sampan/profiles": output,
                                                            "$(pidof -s redis-server)": service.pid})
        self.assertNotIn("%", text)  # a line feed, in a crontab
        table = pathlib.Path("/etc/cron.d/sampan-fleet-test")
        self.addCleanup(table.unlink)
        table.write_text(text + "\n")
        table.chmod(0o644)
        if not pathlib.Path("/run/crond.pid").exists() or self.shell("pidof cron", check=False).returncode != 0:
            self.start(["cron", "-f"], "cron.log")
        fleet.wait_for(lambda: list(output.glob("*/recording.sampan")) and not old.exists(), "cron", seconds=180)
        [recording] = output.glob("*/recording.sampan")
        self.assertIn("answer", self.shell(f"sampan report --python python {recording}").stdout)


if __name__ == "__main__":
    unittest.main()
