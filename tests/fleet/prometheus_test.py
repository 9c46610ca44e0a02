#!/usr/bin/env python3
"""Prometheus scrapes `sampan serve` with its token, and answers what came."""
import json
import unittest
import urllib.parse

import fleet


class Prometheus(fleet.Case):
    def setUp(self):
        self.need("prometheus", "promtool")
        self.token = self.path / "token"
        self.token.write_text("a secret of this test\n")
        self.token.chmod(0o600)

    def query(self, text):
        answer = json.loads(fleet.get(f"{self.prometheus}/api/v1/query?{urllib.parse.urlencode({'query': text})}"))
        self.assertEqual(answer["status"], "success")
        return {row["metric"].get("state", ""): float(row["value"][1]) for row in answer["data"]["result"]}

    def test_what_it_scrapes_with_the_token(self):
        url = self.serve(self.service().pid, "--token-file", self.token).removeprefix("http://").rstrip("/")
        text = self.text("fleet.md", "scrape_configs:\n  - job_name: sampan",
                         {"/etc/sampan/token": self.token, "127.0.0.1:6061": url, "/etc/prometheus/sampan.rules.yml": self.path / "rules.yml"})
        (self.path / "rules.yml").write_text(self.text("fleet.md", "groups:\n  - name: sampan"))
        (self.path / "prometheus.yml").write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\n" + text)
        print(self.shell("promtool check config prometheus.yml").stdout)
        port = fleet.free_port()
        self.prometheus = f"http://127.0.0.1:{port}"
        self.start(["prometheus", "--config.file=prometheus.yml", f"--storage.tsdb.path={self.path}/data", f"--web.listen-address=127.0.0.1:{port}"],
                   "prometheus.log")
        up = fleet.wait_for(lambda: self.query("up{job=\"sampan\"}"), "a scrape")
        self.assertEqual(list(up.values()), [1.0])
        # The service computes for 25 ms and rests for 10 ms, so it has CPU; the counter grows from scrape to scrape.
        fleet.wait_for(lambda: sum(self.query("increase(sampan_samples_total[1m])").values()) > 0, "samples")
        self.assertGreater(sum(self.query("sampan_thread_seconds_total{state=\"cpu\"}").values()), 0)
        self.assertEqual(set(self.query("sampan_lost_total > 0")), set())
        self.query(self.text("fleet.md", "sum by (instance)"))  # valid, and names metrics that exist
        for name in ("sampan_overhead_cpu_seconds_total", "sampan_target_cpu_seconds_total"):
            self.assertTrue(self.query(name), name)

        def health():
            [group] = json.loads(fleet.get(f"{self.prometheus}/api/v1/rules"))["data"]["groups"]
            return [rule["health"] for rule in group["rules"] if rule["health"] != "unknown"]
        self.assertEqual(fleet.wait_for(lambda: len(health()) == 2 and health(), "the rules"), ["ok", "ok"])

    def test_without_the_token_nothing_is_scraped(self):
        url = self.serve(self.service().pid, "--token-file", self.token)
        with self.assertRaisesRegex(Exception, "401"):
            fleet.get(f"{url}metrics")
        self.assertIn(b"sampan_samples_total", fleet.get(f"{url}metrics", self.token.read_text().strip()))


if __name__ == "__main__":
    unittest.main()
