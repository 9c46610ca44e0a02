#!/usr/bin/env python3
"""sampan for AArch64: built in a chroot of Debian 12 (chroots.py) by the cross compiler, and run by qemu-user. Its own
tests; stacks of Debian's arm64 programs compared with libunwind's; and Debian's package and the tarball of `./dev dist` with a
Python program.

qemu-user gives no perf_event_open, no ptrace and no other process's memory, and its addresses are lower than those of a
kernel: tests that need them run in a virtual machine (guest.py)."""
import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import chroots
from guest import Guest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BINFMT = pathlib.Path("/proc/sys/fs/binfmt_misc")
# ELF files of 64 bits, little-endian, executable or shared, for EM_AARCH64. F: qemu is opened now, so chroots need none.
RULE = (r":sampan-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:"
        r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:OCF")
CROSS_TOOLS = """ccache esbuild g++-aarch64-linux-gnu git libcli11-dev meson ninja-build nodejs pkgconf python3 qemu-user-static
    rapidjson-dev xz-utils""".split()
LIBRARIES = """libarchive-dev libcapstone-dev libcurl4-openssl-dev libdebuginfod-dev libdeflate-dev libdw-dev libelf-dev
    libfmt-dev libiberty-dev liblzma-dev libmicrohttpd-dev libncurses-dev libprotozero-dev libsqlite3-dev libtomlplusplus-dev
    libxxhash-dev libzstd-dev zlib1g-dev libbz2-dev libgtest-dev libgmock-dev libunwind-dev libc6-dbg libstdc++-12-dev libgcc-12-dev""".split()
# Programs of the other architecture cannot be installed beside our own: they are unpacked.
PROGRAMS = "xz-utils zstd sqlite3 libexpat1 libreadline8 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib".split()
# Unit tests, without those for which qemu is no kernel: its raw fork copies memory that is to be empty in the child, and it
# has no seccomp, no openat2, no process_vm_readv and no vDSO. The others compare with programs of this machine's processor.
UNIT_TESTS = {
    "base/base_test": "-StartProgram.SaysThatThereIsNoSuchProgram:OtherRoot.*", "wire/wire_test": "*", "unwind/unwind_test": "*",
    "unwind/unwind_oracle_test": "*", "preload/handler_test": "*", "preload/layout_check_test": "*", "preload/loop_step_test": "*",
    "preload/own_libc_test": "*", "preload/seccomp_filter_test": "-SeccompFilter.AnswersAsTheKernelDoes",
    "preload/markers_test": "-Markers.AForkedChildBeginsWithNothingOpen:Markers.NothingIsRecordedInStrictMode",
    "recording/recording_test": "*", "profile/profile_test": "*", "exporters/exporters_test": "*", "reports/reports_test": "*",
    "importers/importers_test": "-PerfData.CopiesOfStacksAreWalked"}
END_TO_END = {"shares_test.py": [], "ends_test.py": [], "uncovered_test.py": ["Uncovered.test_in_the_handler"]}
FOREIGN = "/foreign"
PKG_CONFIG = """#!/bin/sh
export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig
exec pkg-config "$@"
"""
# In the virtual machine, which has neither a compiler nor a counter of instructions. Left out are tests that need one, a program
# of musl, or a jump out of a handler at a moment that the machine is too slow for.
GUEST_TESTS = {
    "base/base_test": "*", "wire/wire_test": "*", "unwind/unwind_test": "-ReturnPathTables.*", "preload/handler_test": "*",
    "preload/layout_check_test": "*", "preload/loop_step_test": "*", "preload/own_libc_test": "*", "preload/seccomp_filter_test": "*",
    "preload/markers_test": "*", "preload/preload_test": "-*Musl*:Shim.SamplesByTimerWhenPerfCannotBeArmedAgain",
    "preload/signals_test": "*", "sampler/sampler_test": "*", "remote/live/live_test": "*",
    "symbolizer/symbolizer_test": "-ForeignFiles.*:MissingSplits.*:SplitFunctions.*"}
GUEST_PACKAGES = """binutils libarchive13 libcapstone4 libcurl4 libdebuginfod1 libdeflate0 libdw1 libelf1 libfmt9 libmicrohttpd12
    libncurses6 libsqlite3-0 libunwind8 libxxhash0 libzstd1 procps xz-utils""".split()
STOPS, BUILD_S, GUEST_S = 5000, 5400, 1800
SPIN = """
import time
def spin():
    while time.process_time() < 2:
        sum(range(1000))
spin()
"""


@contextlib.contextmanager
def qemu():
    """Programs for AArch64 run. Raises SkipTest where the kernel does not permit it."""
    if not (BINFMT / "register").exists():
        chroots.run("mount", "-t", "binfmt_misc", "none", BINFMT)
    rule = BINFMT / "sampan-aarch64"
    if rule.exists() or not pathlib.Path("/usr/bin/qemu-aarch64-static").exists():
        raise unittest.SkipTest("NOT TESTED: another test runs, or there is no qemu-aarch64-static")
    try:
        (BINFMT / "register").write_text(RULE)
    except OSError as error:
        raise unittest.SkipTest(f"NOT TESTED: the kernel runs no programs of other processors: {error}") from error
    try:
        yield
    finally:
        rule.write_text("-1")


class Aarch64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        context = cls.context = contextlib.ExitStack()
        cls.addClassCleanup(context.close)
        # Not in /tmp, which may be in memory: the packages and the build take 4 GB.
        folder = context.enter_context(tempfile.TemporaryDirectory(prefix="sampan-aarch64-", dir="/var/tmp"))
        cls.root = chroots.unpacked("bookworm", folder)
        context.enter_context(qemu())
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", SOURCE, cls.root / "root/sampan"], check=True)
        context.enter_context(chroots.mounted(cls.root, ["/proc", "/sys", "/dev"]))
        cls.install()
        cls.output_of("meson", "setup", "build", "--cross-file", "tests/aarch64-cross.ini", "-Dtests=true")
        cls.output_of("ninja", "-C", "build")

    @classmethod
    def output_of(cls, *words, cwd="/root/sampan", path="", status=0, **variables):
        """What the command printed, which also goes to this test's log."""
        environment = {"PATH": path + "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "TERM": "dumb", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **variables}
        done = subprocess.run(["chroot", cls.root, "/usr/bin/env", "-C", cwd, *words], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=BUILD_S, check=False)
        print(f"{' '.join(words[:6])}: {done.returncode}\n{done.stdout[-20_000:]}", file=sys.stderr)
        assert done.returncode == status, done.stdout[-4000:]
        return done.stdout

    @classmethod
    def install(cls):
        cls.output_of("dpkg", "--add-architecture", "arm64", cwd="/")
        cls.output_of("apt-get", "update", "--quiet", cwd="/")
        cls.output_of("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *CROSS_TOOLS,
                      *(f"{library}:arm64" for library in LIBRARIES), cwd="/")
        pkg_config = cls.root / "usr/local/bin/aarch64-linux-gnu-pkg-config"
        pkg_config.write_text(PKG_CONFIG)
        pkg_config.chmod(0o755)
        (cls.root / "foreign").mkdir()
        cls.output_of("apt-get", "download", *(f"{program}:arm64" for program in PROGRAMS), cwd=FOREIGN)
        cls.output_of("sh", "-c", "for each in *.deb; do dpkg -x $each .; done; ln -s python3.11 usr/bin/python3", cwd=FOREIGN)

    def test_units(self):
        folder = "/root/sampan/build/tests"
        for program, chosen in UNIT_TESTS.items():
            with self.subTest(program):
                output = self.output_of(f"{folder}/{program}", f"--gtest_filter={chosen}", cwd="/root/sampan/build",
                                        LD_LIBRARY_PATH=f"/root/sampan/build:{folder}/preload")
                self.assertRegex(output, r"\[  PASSED  \] [1-9]")

    def test_end_to_end(self):
        for script, chosen in END_TO_END.items():
            with self.subTest(script):
                self.output_of("python3", "-W", "ignore::ResourceWarning", f"tests/e2e/{script}", *chosen,
                               SAMPAN_PROGRAM="/root/sampan/build/sampan", SAMPAN_TARGETS="/root/sampan/build/tests/targets",
                               LD_LIBRARY_PATH="/root/sampan/build", SAMPAN_TEST_SCALE="0.4")

    def test_stacks_are_those_of_libunwind(self):
        output = self.output_of("tests/unwind/oracle.sh", "build/tests/unwind/libunwind_oracle_preload.so", str(STOPS),
                                path=f"{FOREIGN}/usr/bin:", PYTHONHOME=f"{FOREIGN}/usr", ORACLE_HZ="1000",
                                ORACLE_PYTHON=f"{FOREIGN}/usr/bin/python3",
                                LD_LIBRARY_PATH=f"{FOREIGN}/usr/lib/aarch64-linux-gnu:{FOREIGN}/lib/aarch64-linux-gnu")
        row = re.search(r"(?m)^all +(.*)", output)[1].split()
        self.assertGreaterEqual(int(row[0]), STOPS)

    def check_python(self, program):
        """The program at that path samples Debian's Python."""
        self.output_of(program, "run", "--", f"{FOREIGN}/usr/bin/python3", "-c", SPIN, cwd="/root",
                       PYTHONHOME=f"{FOREIGN}/usr", LD_LIBRARY_PATH=f"{FOREIGN}/lib/aarch64-linux-gnu:{FOREIGN}/usr/lib/aarch64-linux-gnu")
        report = self.output_of(program, "report", cwd="/root")
        self.assertRegex(report, r"(?m)^ .* spin\b")
        complete = float(re.search(r"stacks +([\d.]+) % complete", report)[1])
        self.assertGreaterEqual(complete, 99)

    def test_tarball(self):
        self.output_of("./dev", "dist", "--cross-file", "tests/aarch64-cross.ini")
        [tarball] = (self.root / "root/sampan/build-dist").glob("sampan-*-linux-aarch64.tar.xz")
        self.assertLess(tarball.stat().st_size, 5_000_000)
        self.output_of("tar", "-xf", f"/root/sampan/build-dist/{tarball.name}", cwd="/opt")
        program = f"/opt/{tarball.name.removesuffix('.tar.xz')}/bin/sampan"
        self.check_python(program)
        for file in (program, program.replace("bin/sampan", "lib/sampan/libsampan_preload.so")):
            versions = re.findall(r"GLIBC_2\.(\d+)", self.output_of("aarch64-linux-gnu-objdump", "-T", file))
            self.assertLessEqual(max(map(int, versions)), 17)

    def test_package(self):
        self.output_of("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "debhelper", "dpkg-dev", cwd="/")
        self.output_of("git", "clone", "--quiet", ".", "/packages/sampan")
        # Its tools come from this architecture and its libraries from the other, which Build-Depends do not tell apart.
        self.output_of("dpkg-buildpackage", "--host-arch", "arm64", "--build=any", "--no-check-builddeps", "--no-sign",
                       cwd="/packages/sampan")
        [package] = (self.root / "packages").glob("sampan_*_arm64.deb")
        self.output_of("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", f"/packages/{package.name}", cwd="/")
        self.check_python("/usr/bin/sampan")

    @classmethod
    def guest(cls):
        """The virtual machine, with a Debian for AArch64 that has this build at the same place."""
        folder = pathlib.Path(cls.context.enter_context(tempfile.TemporaryDirectory(prefix="sampan-guest-", dir="/var/tmp")))
        root = chroots.unpacked("bookworm", folder, "arm64")
        for words in (["update", "--quiet"], ["install", "--yes", "--quiet", "--no-install-recommends", *GUEST_PACKAGES]):
            subprocess.run(["chroot", root, "/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *words], check=True)
        dependencies = cls.output_of("apt-cache", "depends", "linux-image-arm64:arm64", cwd="/")
        kernel = re.search(r"linux-image-\d\S*", dependencies)[0]
        cls.output_of("mkdir", "/kernel", cwd="/")
        cls.output_of("apt-get", "download", kernel, "busybox-static:arm64", cwd="/kernel")
        cls.output_of("sh", "-c", "for each in *.deb; do dpkg -x $each .; done", cwd="/kernel")
        shutil.copytree(cls.root / "root/sampan", root / "root/sampan", symlinks=True,
                        ignore=shutil.ignore_patterns(".git", "*.p", "build-dist"))
        return Guest(root, cls.root / "kernel", folder)

    def test_on_a_kernel(self):
        guest = self.guest()
        guest.run("uname -a", 120)
        build = "/root/sampan/build"
        variables = (f"LD_LIBRARY_PATH={build}:{build}/tests/preload:{build}/tests/symbolizer SAMPAN_PROGRAM={build}/sampan "
                     f"SAMPAN_TARGETS={build}/tests/targets")
        for program, chosen in GUEST_TESTS.items():
            with self.subTest(program):
                said = guest.run(f"cd {build} && {variables} tests/{program} '--gtest_filter={chosen}'", GUEST_S)
                self.assertRegex(said, r"\[  PASSED  \] [1-9]")
        with self.subTest("from outside"):
            self.check_from_outside(guest)

    def check_from_outside(self, guest):
        """By perf, and what a thread that waits is called by."""
        (guest.root / "spin.py").write_text(SPIN.replace("< 2", "< 1000"))
        sampan = "LD_LIBRARY_PATH=/root/sampan/build /root/sampan/build/sampan"
        said = guest.run(f"""cd /tmp
            python3 /spin.py & spin=$!
            sh -c 'sleep 1; sleep 1000 > /dev/null' & waits=$!
            sleep 3
            {sampan} attach --engine perf --no-python -d 2 $spin
            {sampan} dump $spin
            {sampan} dump $waits
            kill $spin
            {sampan} run --clock wall -- sleep 1""", GUEST_S)
        attached, spin, waits, wall = re.split(r"(?m)^process \d+:|^sleep 1 ", said)
        self.assertGreaterEqual(float(re.search(r"stacks +([\d.]+) % complete", attached)[1]), 99)
        self.assertRegex(spin, r"(?m)^#\d+ +Python +in spin at /spin.py:[45]$")
        self.assertRegex(spin, r"in _start from /usr/bin/python3.11\n")
        self.assertRegex(waits, r"(?m)^#\d+ .* in __libc_start_main ")
        self.assertRegex(wall, r"(?m)^ +(0\.9|1\.)\d+ .* clock_nanosleep$")


if __name__ == "__main__":
    unittest.main()
