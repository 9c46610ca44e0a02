#!/usr/bin/env python3
"""The blocks of configuration in the documents, each checked by the program that reads it:

    configurations.py SOURCE_ROOT DIRECTORY

systemd's units by systemd-analyze, Prometheus' expressions and scrape configurations by promtool, other YAML by a YAML
parser. DIRECTORY keeps promtool: Debian 12 has it only in the package of a server, which is unpacked there. Alloy's and
Kubernetes' own programs are not in Debian. Exit status 77, a skipped test, if a program cannot be had.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

import yaml

SKIPPED = 77
UNITS = "/lib/systemd/system"


def blocks(document):
    """The indented blocks of a document, with the lines they begin on."""
    lines, begin = document.read_text(encoding="utf-8").splitlines(), None
    for number, line in enumerate([*lines, "end"]):
        if line.startswith("    ") and begin is None and not lines[number - 1].strip():
            begin = number
        elif line.strip() and not line.startswith("    ") and begin is not None:
            yield f"{document.name}:{begin + 1}", textwrap.dedent("\n".join(lines[begin:number])).strip() + "\n"
            begin = None


def promtool(directory):
    """Raises OSError or CalledProcessError."""
    if found := shutil.which("promtool"):
        return found
    tool = directory / "prometheus/usr/bin/promtool"
    if not tool.exists():
        directory.mkdir(parents=True, exist_ok=True)
        known = subprocess.run(["apt-cache", "show", "promtool"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        name = "promtool" if known.stdout else "prometheus"
        subprocess.run(["apt-get", "download", "-qq", name], cwd=directory, check=True)
        package, = directory.glob(f"{name}_*.deb")
        subprocess.run(["dpkg", "-x", package, directory / "prometheus"], check=True)
        package.unlink()
    return str(tool)


def said_by(*command, **more):
    """What is wrong, or nothing."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **more)
    return done.stdout if done.returncode else ""


def wrong_in_unit(text, folder):
    # A block without a command adds to a service that is there.
    whole = text if "ExecStart=" in text else text.replace("[Service]\n", "[Service]\nExecStart=/bin/true\n", 1)
    (folder / "sampan@.service").write_text(whole)
    (folder / "redis.service").write_text("[Service]\nExecStart=/bin/true\n")
    # It warns of what it does not know, and says "ok" with its exit status.
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "sampan@redis.service"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:{UNITS}"})
    return "\n".join(line for line in done.stdout.splitlines() if "sampan@" in line) or (done.stdout if done.returncode else "")


def wrong_in_expression(text, folder, tool):
    rules = folder / "rules.yml"
    rules.write_text(json.dumps({"groups": [{"name": "docs", "rules": [{"alert": "Sampan", "expr": text}]}]}))
    return said_by(tool, "check", "rules", rules)


def wrong_in_scrape(text, folder, tool):
    config = folder / "prometheus.yml"
    config.write_text(json.dumps({"scrape_configs": [{"job_name": "sampan", **yaml.safe_load(text)}]}))
    return said_by(tool, "check", "config", config)


def wrong_in_yaml(text):
    try:
        list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        return str(error)
    return ""


def main():
    root, directory = map(pathlib.Path, sys.argv[1:])
    try:
        tool = promtool(directory)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"NOT TESTED: there is no promtool: {error}")
        return SKIPPED
    if shutil.which("systemd-analyze") is None:
        print("NOT TESTED: there is no systemd-analyze")
        return SKIPPED
    counts, wrong = {"unit": 0, "expression": 0, "scrape": 0, "YAML": 0}, []

    def check(kind, place, said):
        counts[kind] += 1
        if said:
            wrong.append(f"{place}: {kind}: {said.strip()}")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for document in sorted((root / "docs").glob("*.md")):
            for place, text in blocks(document):
                if re.match(r"\[(Unit|Service)\]\n", text):
                    check("unit", place, wrong_in_unit(text, folder))
                elif re.match(r"(sum|rate|histogram_quantile)\b.*\(", text):
                    check("expression", place, wrong_in_expression(text, folder, tool))
                elif re.match(r"[\w-]+:( |\n)", text):
                    check("YAML", place, wrong_in_yaml(text))
            for text in re.findall(r"^Prometheus: `(.*)`\.$", document.read_text(encoding="utf-8"), re.MULTILINE):
                check("scrape", document.name, wrong_in_scrape(text, folder, tool))
    print(", ".join(f"{count} of kind {kind}" for kind, count in counts.items()), *wrong, sep="\n")
    return 1 if wrong or 0 in counts.values() else 0


sys.exit(main())
