"""Reads OTLP profiles by protoc and a schema, as an OpenTelemetry collector would, and checks what the
protocol demands of the tables: their first rows are empty, no row is there twice, and none for
nothing."""
import collections
import pathlib
import re
import shutil
import subprocess
import unittest

SCHEMAS = pathlib.Path(__file__).parent / "schemas"

# kind: "cpu" or "off_cpu"; frames: (function, file, line), leaf first; link: (trace id, span id), or None.
Sample = collections.namedtuple("Sample", "kind thread nanoseconds frames link")


def parse_text(lines):
    """protobuf's text format as protoc prints it: {field: [values]}."""
    message = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            return message
        if line.endswith(" {"):
            message[line[:-2]].append(parse_text(lines))
            continue
        name, _, value = line.partition(": ")
        if value.startswith('"'):
            value = value[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1")
        message[name].append(value if isinstance(value, bytes) else int(value))
    return message


def decode(schema, kind, body):
    if shutil.which("protoc") is None:
        raise unittest.SkipTest("protoc is not installed")
    done = subprocess.run(["protoc", f"--proto_path={SCHEMAS}", f"--decode={kind}", schema], input=body,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode("latin-1")
    assert not re.search(r"(?m)^ *\d+(: | \{)", text), "fields that the schema does not have"
    return parse_text(iter(text.splitlines()))


def value_of(row):
    [value] = row["value"]
    return value["string_value"][0].decode() if value["string_value"] else value["int_value"][0]


class Message:
    """`resources`: their attributes; `samples` of all profiles."""

    def __init__(self, body):
        message = decode("otlp_profiles.proto", "otlp.ExportProfilesServiceRequest", body)
        [self.tables] = message["dictionary"]
        self.used = collections.defaultdict(set)
        self.resources, self.samples, self.ids = [], [], []
        for resource in message["resource_profiles"]:
            pairs = [(pair["key"][0].decode(), value_of(pair)) for pair in resource["resource"][0]["attributes"]]
            self.resources.append(dict(pairs))
            assert len(self.resources[-1]) == len(pairs), "a name twice"
            for scope in resource["scope_profiles"]:
                for profile in scope["profiles"]:
                    self.read_profile(profile)
        self.check_tables()

    def row(self, table, index):
        self.used[table].add(index)
        return self.tables[table][index]

    def text(self, index):
        return self.row("string_table", index[0] if index else 0).decode()

    def attributes(self, row):
        rows = [self.row("attribute_table", i) for i in row["attribute_indices"]]
        return {self.text(row["key_strindex"]): value_of(row) for row in rows}

    def type_of(self, row):
        return self.text(row["type_strindex"]), self.text(row["unit_strindex"])

    def read_profile(self, profile):
        kind, unit = self.type_of(profile["sample_type"][0])
        assert unit == "nanoseconds"
        for period_type in profile["period_type"]:
            assert self.type_of(period_type) == (kind, unit)
        [profile_id] = profile["profile_id"]
        assert len(profile_id) == 16 and any(profile_id)
        self.ids.append(profile_id)
        for sample in profile["samples"]:
            [nanoseconds] = sample["values"]
            stack = self.row("stack_table", sample["stack_index"][0])
            frames = [frame for i in stack["location_indices"] for frame in self.frames_of(i)]
            self.samples.append(Sample(kind, self.attributes(sample), nanoseconds, frames, self.link_of(sample)))

    def link_of(self, sample):
        if not sample["link_index"]:
            return None
        link = self.row("link_table", sample["link_index"][0])
        return link["trace_id"][0].hex(), link["span_id"][0].hex()

    def frames_of(self, index):
        location = self.row("location_table", index)
        if location["mapping_index"]:
            mapping = self.row("mapping_table", location["mapping_index"][0])
            self.text(mapping["filename_strindex"])
            self.attributes(mapping)
            assert mapping["memory_start"][0] <= location["address"][0] < mapping["memory_limit"][0]
        self.attributes(location)
        for line in location["lines"]:
            function = self.row("function_table", line["function_index"][0])
            yield (self.text(function["name_strindex"]), self.text(function["filename_strindex"]),
                   (line["line"] or [0])[0])

    def mappings(self):
        return {self.text(row["filename_strindex"]): self.attributes(row) for row in self.tables["mapping_table"][1:]}

    def check_tables(self):
        assert self.tables["string_table"][0] == b""
        link = self.tables["link_table"][0]
        assert (link["trace_id"], link["span_id"]) == ([bytes(16)], [bytes(8)])
        for name, rows in self.tables.items():
            if name not in ("string_table", "link_table"):
                assert not rows[0], f"{name} has no empty row"
            assert len({repr(row) for row in rows}) == len(rows), f"{name} has a row twice"
            unused = set(range(1, len(rows))) - self.used[name]
            assert not unused, f"{name} has rows for nothing: {[rows[i] for i in unused]}"
        assert len(set(self.ids)) == len(self.ids)
