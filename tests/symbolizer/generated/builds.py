"""Which programs are made: compilers x flags x what tools do to the result, chosen at random.

Of each compiler's choices (optimization, debug information, layout, linker, tool) every value is used equally often; which
ones meet is random. What compilers refuse together is left out.
"""
import dataclasses
import random
import shutil
import subprocess

import c_sources
import other_sources

LLVM, GNU, ELFUTILS = "llvm-symbolizer", "addr2line", "eu-addr2line"

OPTIMIZATION = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Og"]
DEBUG = ["-g1", "-g", "-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -fdebug-types-section", "-gdwarf-5 -fdebug-types-section",
         "-gdwarf-5 -gdwarf64"]
GCC_DEBUG = [*DEBUG, "-gdwarf-2", "-gdwarf-3", "-g3 -gno-column-info", "-g -gno-as-loc-support",
             "-g -gno-statement-frontiers"]
CLANG_DEBUG = [*DEBUG, "-gline-tables-only", "-g -fdebug-info-for-profiling",
               "-gdwarf-4 -gsplit-dwarf -fsplit-dwarf-inlining"]
SPLIT = ["-gdwarf-4 -gsplit-dwarf", "-gdwarf-5 -gsplit-dwarf", "-gdwarf-5 -gsplit-dwarf -fdebug-types-section"]
LAYOUT = ["-fPIE -pie", "-ffunction-sections", "-flto", "-gz"]
C_LAYOUT = [*LAYOUT, "-fno-pie -no-pie", "-shared -fPIC", "-ffunction-sections -Wl,--gc-sections"]
GCC_LAYOUT = [*C_LAYOUT, "-fprofile-generate", "-fno-inline"]
CLANG_LAYOUT = [*C_LAYOUT, "-flto=thin", "-fbasic-block-sections=all",
                "-fprofile-instr-generate -fcoverage-mapping", "-ffunction-sections -Wl,--icf=all",
                "-ffunction-sections -Wl,-z,keep-text-section-prefix"]
LINKERS = ["bfd", "lld", "gold"]
RUST = {"opt-level": list("0123sz"), "debuginfo": ["1", "2", "line-tables-only"], "dwarf-version": ["4", "5"],
        "split-debuginfo": ["off", "off", "packed", "unpacked"], "lto": ["off", "off", "thin", "fat"],
        "codegen-units": ["1", "16"]}
GO = [[], ["-gcflags=-l"], ["-gcflags=-N -l"], ["-ldflags=-compressdwarf=false"], ["-buildmode=pie"]]
AFTERWARDS = ["", "", "zlib", "zstd", "dwz", "dwz -m", "objcopy", "llvm-objcopy", "eu-strip", "strip -g"]
SPLIT_AFTERWARDS = ["", "package", "rm *.dwo"]
COUNTS = {"gcc": 12, "g++": 20, "clang": 12, "clang++": 20, "gfortran": 8, "gnatmake": 6, "rustc": 8, "go": 5}


@dataclasses.dataclass
class Build:
    compiler: str
    flags: list
    files: dict  # text by name
    sources: list = dataclasses.field(default_factory=list)
    afterwards: str = ""
    blind: tuple = ()  # tools that do not read this form

    @property
    def label(self):
        return " ".join([self.compiler, *self.flags, *([f"| {self.afterwards}"] if self.afterwards else [])])

    def make(self, folder):
        """Returns the file for sampan, and one with the same code for the tools that do not read such files."""
        for name, text in self.files.items():
            (folder / name).write_text(text)
        run(folder, *self.compiler.split(), *self.flags, "-o", "program", *self.sources)
        changed = AFTER[self.afterwards](folder) if self.afterwards else folder / "program"
        return changed, folder / "program"


def run(folder, *command):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stderr[-2000:]}")


def objcopy(*flags):
    def change(folder):
        run(folder, "objcopy", *flags, "program", "changed")
        return folder / "changed"
    return change


def dwz(folder):
    run(folder, "dwz", "program", "-o", "changed")
    return folder / "changed"


def dwz_multifile(folder):
    for copy in "changed", "copy":
        shutil.copy(folder / "program", folder / copy)
    run(folder, "dwz", "--multifile=shared.debug", "changed", "copy")
    return folder / "changed"


def separate(tool):
    def change(folder):
        run(folder, tool, "--only-keep-debug", "program", "names.debug")
        run(folder, tool, "--strip-all", "--add-gnu-debuglink=names.debug", "program", "changed")
        return folder / "changed"
    return change


def separate_by_elfutils(folder):
    run(folder, "eu-strip", "-f", "names.debug", "-o", "changed", "program")
    return folder / "changed"


def package(tool):
    def change(folder):
        run(folder, tool, "-e", "program", "-o", "program.dwp")
        return without_splits(folder)
    return change


def without_splits(folder):
    for split in folder.glob("*.dwo"):
        split.unlink()
    return folder / "program"


def only_symbols(folder):
    run(folder, "objcopy", "--strip-debug", "program")
    return folder / "program"


AFTER = {"zlib": objcopy("--compress-debug-sections=zlib"), "zstd": objcopy("--compress-debug-sections=zstd"),
         "dwz": dwz, "dwz -m": dwz_multifile, "objcopy": separate("objcopy"),
         "llvm-objcopy": separate("llvm-objcopy"), "eu-strip": separate_by_elfutils, "strip -g": only_symbols,
         "dwp": package("dwp"), "llvm-dwp": package("llvm-dwp"), "rm *.dwo": without_splits}


class Decks:
    """Deals the values of lists, each value of a list equally often."""

    def __init__(self, chance):
        self.chance = chance
        self.left = {}

    def next(self, name, values):
        left = self.left.setdefault(name, [])
        if not left:
            left += self.chance.sample(values, len(values))
        return left.pop()


def of_c_family(chance, compiler, count):
    decks = Decks(chance)
    is_clang, cplusplus = compiler.startswith("clang"), compiler.endswith("++")
    for number in range(count):
        debug = decks.next("debug", (CLANG_DEBUG if is_clang else GCC_DEBUG) + SPLIT)
        layout = decks.next("layout", CLANG_LAYOUT if is_clang else GCC_LAYOUT)
        linker = decks.next("linker", LINKERS)
        afterwards = decks.next("afterwards", AFTERWARDS)
        is_split = "split" in debug
        if is_split:
            layout = "" if "lto" in layout else layout
            afterwards = decks.next("split", SPLIT_AFTERWARDS)
            if afterwards == "package":
                # dwp 2.40 knows only DWARF 4; llvm-dwp 14 does not end with gcc's files.
                afterwards = "llvm-dwp" if is_clang else "dwp"
                debug = debug if is_clang else SPLIT[0]
        if afterwards.startswith("dwz") and (layout == "-gz" or "dwarf64" in debug or
                                             (is_clang and "dwarf-4" not in debug)):
            afterwards = ""
        if "lto" in layout:
            linker = "lld" if is_clang else "bfd"
        if "icf" in layout or "prefix" in layout:
            linker = "lld"
        sources = c_sources.Sources(chance, cplusplus=cplusplus, has_nested=compiler == "gcc",
                                    uses_library=cplusplus and number % 4 == 0)
        flags = f"{decks.next('optimization', OPTIMIZATION)} {debug} {layout} -fuse-ld={linker}".split()
        yield Build(compiler, flags, sources.files, ["-w", *sources.units], afterwards,
                    (GNU, ELFUTILS) if is_split else ())


def of_gcc(chance, compiler, count, language, sources):
    decks = Decks(chance)
    for _ in range(count):
        debug, layout = decks.next("debug", GCC_DEBUG), decks.next("layout", LAYOUT)
        afterwards = decks.next("afterwards", AFTERWARDS)
        if afterwards.startswith("dwz") and (layout == "-gz" or "dwarf64" in debug):
            afterwards = ""
        flags = f"{decks.next('optimization', OPTIMIZATION)} {debug} {layout}".split()
        yield Build(compiler, flags, other_sources.write(chance, language), sources, afterwards)


def of_rust(chance, count):
    decks = Decks(chance)
    known = subprocess.run(["rustc", "-C", "help"], capture_output=True, text=True).stdout
    for _ in range(count):
        options = {name: decks.next(name, values) for name, values in RUST.items() if f" {name}=" in known}
        if options["split-debuginfo"] == "unpacked" and options["lto"] == "thin":
            options["lto"] = "off"  # no other tool finds the split units of the standard library then
        flags = [f"-C{name}={value}" for name, value in options.items()]
        files = other_sources.write(chance, other_sources.RUST)
        yield Build("rustc", ["--edition=2021", *flags], files, ["program.rs"])


def of_go(chance, count):
    decks = Decks(chance)
    for _ in range(count):
        yield Build("go build", decks.next("flags", GO), other_sources.write(chance, other_sources.GO), ["program.go"])


def all_builds(seed):
    """Yields (compiler, its builds)."""
    for compiler, count in COUNTS.items():
        chance = random.Random(f"{seed} {compiler}")
        if compiler == "rustc":
            yield compiler, of_rust(chance, count)
        elif compiler == "go":
            yield compiler, of_go(chance, count)
        elif compiler == "gfortran":
            yield compiler, of_gcc(chance, compiler, count, other_sources.FORTRAN,
                                   ["-ffree-line-length-none", "program.f90"])
        elif compiler == "gnatmake":
            yield compiler, of_gcc(chance, compiler, count, other_sources.ADA, ["-gnat2012", "program.adb"])
        else:
            yield compiler, of_c_family(chance, compiler, count)
