#!/usr/bin/env python3
"""Profile stores. ClickHouse is Debian's. Pyroscope, Parca and OpenTelemetry's collector cannot be had from Debian: requests
to them are read by the published definitions, with protoc, and compared with recorded exchanges (exchanges/)."""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import fleet

sys.path.insert(0, str(fleet.SOURCES.parent / "exporters"))
from store import PATHS, TOLD, Content, Store

EXCHANGES = fleet.SOURCES / "exchanges"
CLICKHOUSE = """<yandex>
  <logger><level>warning</level><log>{path}/clickhouse.log</log><errorlog>{path}/clickhouse.err</errorlog></logger>
  <listen_host>127.0.0.1</listen_host><tcp_port>{port}</tcp_port><interserver_http_port>{other}</interserver_http_port>
  <path>{path}/clickhouse/</path><tmp_path>{path}/clickhouse/tmp/</tmp_path>
  <mark_cache_size>5368709120</mark_cache_size><users_config>{path}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
</yandex>
"""
USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas>
<users><default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
"""


class Recorded(fleet.Case):
    """A recording of some segments, for all tests."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls()
        case.shell(f"g++ -std=c++20 -g -O1 -pthread -I {fleet.INCLUDE} -o program {fleet.SOURCES}/program.cpp")
        case.shell("sampan run --quiet --format none --output runs --continuous --rotate 1s --rate 250 -- ./program 150", OMPI_COMM_WORLD_RANK="7")
        [cls.directory] = (cls.path / "runs").iterdir()
        cls.segments = sorted((cls.directory / "segments").iterdir())


class ClickHouse(Recorded):
    def test_rows_of_stacks(self):
        self.need("clickhouse-server", "clickhouse-client")
        port = fleet.free_port()
        (self.path / "config.xml").write_text(CLICKHOUSE.format(path=self.path, port=port, other=fleet.free_port()))
        (self.path / "users.xml").write_text(USERS)
        self.start(["clickhouse-server", f"--config-file={self.path}/config.xml"], "clickhouse.out")
        client = {"clickhouse-client": f"clickhouse-client --host 127.0.0.1 --port {port}"}
        fleet.wait_for(lambda: self.shell(f"{client['clickhouse-client']} --query 'SELECT 1'", check=False).stdout == "1\n", "ClickHouse")
        (self.path / "table.sql").write_text(self.text("fleet.md", "CREATE TABLE profiles ("))
        (self.path / "rows.sql").write_text(self.text("fleet.md", "SELECT session.program"))
        self.follow("fleet.md", "clickhouse-client < table.sql", client)
        self.follow("fleet.md", "sampan query --csv DIRECTORY", {**client, "DIRECTORY": self.directory})
        rows = [line.split("\t") for line in self.follow("fleet.md", "clickhouse-client --query \"SELECT function", client).stdout.splitlines()]
        report = json.loads(self.shell(f"sampan report --json {self.directory}").stdout)
        [expected] = [row["self_s"] for row in report["functions"] if row["name"] == "compress_block"]
        self.assertAlmostEqual(sum(float(s) for name, s in rows if name == "compress_block"), expected, delta=1e-6 * report["samples"])
        total = self.shell(f"{client['clickhouse-client']} --query 'SELECT sum(samples) FROM profiles'").stdout
        self.assertEqual(int(total), report["samples"])
        day = self.shell(f"{client['clickhouse-client']} --query 'SELECT toYYYYMMDD(min(start)) FROM profiles'").stdout.strip()
        self.follow("fleet.md", "clickhouse-client --query \"ALTER TABLE profiles", {**client, "20261127": day})
        self.assertEqual(self.shell(f"{client['clickhouse-client']} --query 'SELECT count() FROM profiles'").stdout.strip(), "0")


def decoded(schema, kind, message):
    """protoc's text of a message. A field that the definition does not have is a number in it, and a failure."""
    text = subprocess.run(["protoc", f"--proto_path={schema.parent}", f"--decode={kind}", schema], input=message, capture_output=True,
                          check=True).stdout.decode(errors="replace")
    unknown = re.search(r"^\s*\d+[:{ ].*", text, re.MULTILINE)
    assert unknown is None, f"{schema.name} has no such field: {unknown.group()}"
    return text


def fields(text):
    """The paths of fields in protoc's text: "series.samples.ID"."""
    path, found = [], set()
    for line in text.splitlines():
        name = re.match(r"\s*(\w+)( \{|: )", line)
        if name and name.group(2) == " {":
            path.append(name.group(1))
        elif name:
            found.add(".".join([*path, name.group(1)]))
        elif line.strip() == "}":
            path.pop()
    return sorted(found)


PPROF = (fleet.SOURCES / "profile.proto", "perftools.profiles.Profile")
SCHEMAS = fleet.SOURCES.parent / "exporters" / "schemas"
MESSAGES = {"ingest": PPROF, "otlp": (SCHEMAS / "otlp_profiles.proto", "otlp.ExportProfilesServiceRequest"),
            "pyroscope": (SCHEMAS / "pyroscope_push.proto", "pyroscope.PushRequest")}


class Exchanges(Recorded):
    """What is sent today is what was recorded: path, names of the query, headers, and fields of the message. A store of that
    version takes it as before."""

    def exchange(self, form, push):
        headers = sorted((name.lower(), "" if name.lower() in ("content-length", "host", "idempotency-key", "user-agent") else value)
                         for name, value in push.headers.items())
        body = push.body if form == "pyroscope" else gzip.decompress(push.body)
        return {"request": f"POST {push.path}", "query": sorted(push.query), "headers": [list(pair) for pair in headers],
                "fields": fields(decoded(*MESSAGES[form], body)), "answer": push.status}

    def test_requests_are_as_recorded(self):
        self.need("protoc")
        for form in PATHS:
            with self.subTest(form=form):
                store = Store(self)
                self.shell(f"sampan push --to {store.url} --format {form} --spool spool-{form} --label team=search {self.segments[0]}",
                           **{"http_proxy": "", "no_proxy": "127.0.0.1"})
                [push] = store.requests
                said = self.exchange(form, push)
                if os.environ.get("SAMPAN_RECORD_EXCHANGES"):
                    EXCHANGES.mkdir(exist_ok=True)
                    (EXCHANGES / f"{form}.json").write_text(json.dumps(said, indent=1) + "\n")
                recorded = json.loads((EXCHANGES / f"{form}.json").read_text())
                # A recording may lack something, such as inlined functions; what it has is what the store knows.
                self.assertEqual(set(said.pop("fields")) - set(recorded.pop("fields")), set())
                self.assertEqual(said, recorded)
                labels = Content(push).labels
                self.assertEqual(labels["rank"], "7")
                self.assertEqual(labels["team"], "search")

    def test_what_parca_scrapes(self):
        """A pprof by its published definition, as a scraper asks for it."""
        self.need("protoc")
        url = self.serve(self.service().pid)
        profile = gzip.decompress(fleet.get(f"{url}debug/pprof/profile?seconds=1"))
        text = decoded(*PPROF, profile)
        for name in ("sample_type {", "sample {", "mapping {", "location {", "function {", "string_table:", "time_nanos:", "duration_nanos:", "period_type {", "period:"):
            self.assertIn(f"\n{name}", "\n" + text)


class ADayWithoutTheStore(Recorded):
    def test_the_spool_is_bounded_the_oldest_are_dropped_and_counted(self):
        store = Store(self)
        url = store.url
        store.stop()
        port = store.port
        many = self.path / "many"
        many.mkdir()
        for number in range(40):  # a piece for each, in the order of their names
            (many / f"{number:03}.sampan").write_bytes(self.segments[number % 2].read_bytes())
        piece = pathlib.Path(self.segments[0]).stat().st_size
        size = 10 * piece
        push = f"sampan push --format ingest --spool day --spool-size {size / 1024:.3f}K --to http://127.0.0.1:{port}"
        variables = {"http_proxy": "", "no_proxy": "127.0.0.1"}
        away = self.shell(f"{push} --timeout 3s {many}/*.sampan", check=False, **variables)
        self.assertEqual(away.returncode, 1)
        self.assertRegex(away.stderr, r"the spool .* is full")
        kept = sum(file.stat().st_size for file in (self.path / "day").rglob("*") if file.is_file())
        self.assertLessEqual(kept, size + 4096)
        dropped, left = (int(re.search(rf"; (\d+) {word}", away.stderr).group(1)) for word in ("dropped", "left"))
        self.assertEqual(dropped + left, 40)
        self.assertGreater(dropped, 0)
        self.assertGreater(left, 0)
        again = Store(self, port=port)
        back = self.shell(push, **variables)
        self.assertRegex(back.stderr, rf"{left} pieces? sent")
        self.assertEqual([answer.status for answer in again.requests], [200] * left)
        self.assertEqual(url, again.url)

    def test_what_is_too_old_for_the_store_is_kept_and_counted(self):
        store = Store(self, told=[TOLD(400, body=b"profile is outside the ingestion window")])
        push = f"sampan push --format ingest --spool old --to {store.url}"
        variables = {"http_proxy": "", "no_proxy": "127.0.0.1"}
        refused = self.shell(f"{push} {self.segments[0]}", check=False, **variables)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("1 refused", refused.stderr)
        self.assertIn("1 piece sent", self.shell(f"{push} --again", **variables).stderr)


if __name__ == "__main__":
    unittest.main()
