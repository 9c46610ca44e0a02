#!/usr/bin/env python3
"""What the documents refer to is there, files and sections, and so are the documents that the code names: links.py SOURCE_ROOT"""
import pathlib
import re
import sys

CODE = {".h", ".cpp", ".py", ".js"}


def sections(document):
    """The names of its headings, as GitHub and GitLab make them."""
    names, is_code = set(), False
    for line in document.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and (heading := re.match(r"#+ (.*)", line)):
            names.add(re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-"))
    return names


def broken_links(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        path, _, section = link.partition("#")
        target = document.parent / path if path else document
        if not re.match(r"\w+:", link) and (not target.exists() or section and section not in sections(target)):
            yield f"{document}: there is no {link}"


def missing_documents(root, file):
    for name in set(re.findall(r"\bdocs/[\w-]+\.md", file.read_text(encoding="utf-8"))):
        if not (root / name).exists():
            yield f"{file}: there is no {name}"


def main():
    root = pathlib.Path(sys.argv[1])
    folders = [folder for folder in root.glob("[a-z]*/") if not (folder / "build.ninja").exists()]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in CODE]
    documents = [root / "README.md", *(path for folder in folders for path in folder.rglob("*.md"))]
    broken = [text for document in documents for text in broken_links(document)]
    broken += [text for file in files for text in missing_documents(root, file)]
    print("\n".join(sorted(broken)))
    print(f"{len(documents)} documents, {len(files)} files of code: {len(broken)} references to what is not there")
    return len(broken) != 0


if __name__ == "__main__":
    sys.exit(main())
