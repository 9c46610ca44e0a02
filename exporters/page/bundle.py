#!/usr/bin/env python3
"""Makes one text of the page's sources: bundle.py ESBUILD INDEX_HTML OUTPUT_CPP DEPFILE.

Beside index.html are style.css and main.js, the script's first module. They go to where index.html
has the words STYLE and SCRIPT; at DATA the page is cut in two, for exporters/html.cpp to write
the profile's data in between. What became part of the page is listed in DEPFILE, for ninja.
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def bundle(esbuild, entry):
    """The script or style sheet that `entry` begins, as one text, and the files it is made of."""
    with tempfile.TemporaryDirectory() as directory:
        output = pathlib.Path(directory, "bundle" + entry.suffix)
        meta = pathlib.Path(directory, "meta.json")
        subprocess.run([esbuild, str(entry), "--bundle", "--minify", "--format=esm",
                        "--target=chrome111,firefox115,safari16.4", "--charset=utf8",
                        "--log-level=warning", f"--outfile={output}", f"--metafile={meta}"],
                       check=True, cwd=entry.parent)
        inputs = json.loads(meta.read_text())["inputs"]
        return output.read_text(), [entry.parent / name for name in inputs]


def insert(page, mark, text):
    before, found, after = page.partition(mark)
    if not found or mark in after:
        sys.exit(f"index.html must have {mark} once")
    return before + text + after


def array(name, text):
    numbers = ",".join(str(byte) for byte in text.encode())
    return (f"static const unsigned char k{name}Bytes[] = {{{numbers}}};\n"
            f"const std::string_view kPage{name}(\n"
            f"    reinterpret_cast<const char*>(k{name}Bytes), sizeof k{name}Bytes);\n")


def main(esbuild, index, output, depfile):
    index = pathlib.Path(index).resolve()
    style, style_files = bundle(esbuild, index.with_name("style.css"))
    script, script_files = bundle(esbuild, index.with_name("main.js"))
    if "</script" in script or "</style" in style:
        sys.exit("a script or a style sheet ends its own element")
    page = insert(index.read_text(), "/*STYLE*/", style)
    before, found, after = insert(page, "/*SCRIPT*/", script).partition("<!--DATA-->")
    if not found:
        sys.exit("index.html must have <!--DATA-->")
    pathlib.Path(output).write_text(
        '#include "exporters/page_data.h"\n\nnamespace sampan::exporters {\n\n'
        + array("BeforeData", before) + array("AfterData", after)
        + "\n}  // namespace sampan::exporters\n")
    files = [str(path) for path in (index, *style_files, *script_files)]
    pathlib.Path(depfile).write_text(f"{output}: {' '.join(files)}\n")


main(*sys.argv[1:])
