"""Debug files above 4 GB have the same names as the small ones that they were made from: large_test.py SAMPAN

The files are sparse: only for a checksum all of one is read.
"""
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import agreement
import builds
import c_sources

SAMPAN = sys.argv.pop(1)
FAR = (1 << 32) + (1 << 20)
COUNT = 3000
MOST_MEMORY = 1 << 20  # KB: what lies between is not read
HEADER = struct.Struct("<IIQQQQIIQQ")  # of a section: name, type, flags, address, offset, size, link, info, …
OFFSET, SIZE = 4, 5  # in it


class Elf:
    """The sections of a file, and their bytes, which may be changed."""

    def __init__(self, path):
        self.bytes = bytearray(path.read_bytes())
        self.place, = struct.unpack_from("<Q", self.bytes, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 0x3a)
        assert size == HEADER.size
        self.headers = [list(HEADER.unpack_from(self.bytes, self.place + i * size)) for i in range(count)]
        self.names = [self.text(self.headers[names][OFFSET] + header[0]) for header in self.headers]

    def text(self, offset):
        return self.bytes[offset:self.bytes.index(0, offset)].decode()

    def section(self, header):
        return self.bytes[header[OFFSET]:header[OFFSET] + header[SIZE]]

    def write_far(self, path, gap_of):
        """Debug sections begin behind FAR bytes, gap_of(name) bytes before their content; their headers follow."""
        place = FAR
        with path.open("wb") as file:
            file.write(self.bytes)
            for header, name in zip(self.headers, self.names):
                if name.startswith(".debug_"):
                    content, gap = self.section(header), gap_of(name)
                    file.seek(place)
                    file.write(first_unit(gap) if name == ".debug_info" and gap else b"")
                    file.seek(place + gap)
                    file.write(content)
                    header[OFFSET:SIZE + 1] = place, gap + len(content)
                    place = (place + gap + len(content) + 15) & ~15
            file.seek(place)
            file.write(b"".join(HEADER.pack(*header) for header in self.headers))
            file.seek(0x28)
            file.write(struct.pack("<Q", place))

    def move_references(self, moved):
        """Adds FAR to all references into the sections `moved`, which the linker's relocations show."""
        symbols = self.headers[self.names.index(".symtab")][OFFSET]
        for header, name in zip(self.headers, self.names):
            if not name.startswith(".rela.debug_"):
                continue
            target = self.headers[header[7]][OFFSET]
            for offset, info, _ in struct.iter_unpack("<QQq", self.section(header)):
                section, = struct.unpack_from("<H", self.bytes, symbols + (info >> 32) * 24 + 6)
                if section < len(self.names) and self.names[section] in moved:
                    assert info & 0xffffffff == 1, "R_X86_64_64"
                    value, = struct.unpack_from("<Q", self.bytes, target + offset)
                    struct.pack_into("<Q", self.bytes, target + offset, value + FAR)


def first_unit(size):
    """The begin of a unit of this many bytes, without DIEs."""
    return struct.pack("<IQHBBQ", 0xffffffff, size - 12, 5, 3, 8, 0)  # DW_UT_partial


class Large(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sampan-large-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def built(self, *flags):
        sources = c_sources.Sources(random.Random("large"), cplusplus=True)
        units = [unit for unit in sources.units if unit.endswith(".cpp")]  # as has no -gdwarf64
        build = builds.Build("g++", ["-O2", *flags], sources.files, ["-w", *units])
        path, _ = build.make(self.folder)
        return path

    def answers(self, path, addresses):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        answers = agreement.answers_of_sampan(SAMPAN, path, addresses)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, max(before, MOST_MEMORY))
        return answers

    def check(self, small, large, debug=None):
        self.assertGreater((debug or large).stat().st_size, FAR)
        addresses = agreement.addresses_in_text(small, COUNT)
        expected = self.answers(small, addresses)
        self.assertGreater(sum(len(chain) > 1 for chain in expected), COUNT / 10)
        unlike = [case for case in zip(addresses, expected, self.answers(large, addresses)) if case[1] != case[2]]
        self.assertEqual(unlike[:3], [])

    def test_sections_begin_behind_4_gb(self):
        for version in "-gdwarf-4", "-gdwarf-5":
            with self.subTest(version):
                small, large = self.built(version), self.folder / "large"
                Elf(small).write_far(large, lambda name: 0)
                self.check(small, large)

    def test_sections_are_larger_than_4_gb(self):
        # Not .debug_line_str: the line tables of as refer to it in 32 bits.
        moved = {".debug_str", ".debug_line", ".debug_abbrev", ".debug_rnglists", ".debug_ranges",
                 ".debug_info"}
        for version in "-gdwarf-4", "-gdwarf-5":
            with self.subTest(version):
                small, large = self.built(version, "-gdwarf64", "-Wl,--emit-relocs"), self.folder / "large"
                elf = Elf(small)
                elf.move_references(moved)
                elf.write_far(large, lambda name: FAR if name in moved else 0)
                self.check(small, large)

    def test_a_separate_file_is_checked_by_its_build_id_or_its_checksum(self):
        for build_id in "sha1", "none":
            with self.subTest(build_id):
                small, debug = self.built("-g", f"-Wl,--build-id={build_id}"), self.folder / "large.debug"
                Elf(small).write_far(debug, lambda name: 0)
                crc = 0
                with debug.open("rb") as file:
                    while build_id == "none" and (chunk := file.read(1 << 22)):
                        crc = zlib.crc32(chunk, crc)
                (self.folder / "link").write_bytes(b"large.debug\0" + struct.pack("<I", crc))
                stripped = self.folder / "stripped"
                builds.run(self.folder, "objcopy", "--strip-all", "--add-section", ".gnu_debuglink=link", small, stripped)
                self.check(small, stripped, debug)


if __name__ == "__main__":
    if shutil.which("g++") is None:
        sys.exit(77)
    unittest.main()
