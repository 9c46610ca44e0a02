"""Chroots of Debian's suites. A tarball of each, as debootstrap made it, is kept in the folder that SAMPAN_CHROOTS names,
or else in sampan/chroots of the user's cache; delete it to have it made anew. Needs root, and a network the first time.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

MIRROR = "http://deb.debian.org/debian"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
KEPT = pathlib.Path(os.environ.get("SAMPAN_CHROOTS") or CACHE / "sampan/chroots")
MAKING_S = 1200


def run(*command, cwd="/"):
    """Raises SkipTest if it fails: then there is no chroot."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=MAKING_S, check=False)
    if done.returncode != 0:
        raise unittest.SkipTest(f"no chroot: {command[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")


def make_tarball(suite, architecture, file):
    with tempfile.TemporaryDirectory(prefix=f"{suite}-", dir=KEPT) as folder:
        root = pathlib.Path(folder) / "root"
        run("debootstrap", f"--arch={architecture}", "--variant=minbase", "--include=python3", suite, root, MIRROR)
        # A mirror that was frozen is good enough.
        (root / "etc/apt/apt.conf.d/99-frozen").write_text('Acquire::Check-Valid-Until "false";\n')
        run("tar", "-cf", f"{folder}/tar", ".", cwd=root)
        pathlib.Path(folder, "tar").rename(file)


def unpacked(suite, folder, architecture="amd64"):
    """The root of a new chroot in this folder: the minimal suite, with its python3. Raises SkipTest if there is none."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise unittest.SkipTest("NOT TESTED: chroots need root and debootstrap")
    KEPT.mkdir(parents=True, exist_ok=True)
    name = suite if architecture == "amd64" else f"{suite}-{architecture}"
    file = KEPT / f"{name}.tar"
    if not file.exists():
        make_tarball(suite, architecture, file)
    root = pathlib.Path(folder) / name
    root.mkdir()
    run("tar", "-xf", file, cwd=root)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    return root


def add_program(root, file, place):
    """The program, at this place of a root, with the libraries that it needs."""
    listed = subprocess.run(["ldd", file], stdout=subprocess.PIPE, text=True, check=False).stdout
    places = {place: file, **{word: word for word in listed.split() if word.startswith("/")}}
    for there, here in places.items():
        copy = root / str(there).lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() and not copy.is_symlink():
            shutil.copy(os.path.realpath(here), copy)


def in_namespaces(root, *words):
    """What is to be run so that the words run in the root as the first process of a PID namespace, with a /proc."""
    (root / "proc").mkdir(exist_ok=True)
    script = 'mount -t proc proc "$1/proc" && exec chroot "$@"'
    return ["unshare", "--pid", "--fork", "--mount", "sh", "-c", script, "sh", root, *map(str, words)]


@contextlib.contextmanager
def mounted(root, folders):
    """The folders at the same place in the chroot, whose root is a mount itself, as a root usually is."""
    places = []
    try:
        for folder in [root, *folders]:
            place = root if folder == root else root / str(folder).lstrip("/")
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--rbind" if str(folder) in ("/dev", "/sys") else "--bind", folder, place], check=True)
            places.append(place)
            subprocess.run(["mount", "--make-rprivate", place], check=True)
        yield
    finally:
        for place in reversed(places):
            subprocess.run(["umount", "--recursive", "--lazy", place], check=False)
