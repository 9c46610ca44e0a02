// Files as other compilers and other people's tools write them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support.h"

namespace sampan::symbolizer::test {
namespace {

class ForeignFiles : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }
  // Runs a command in the directory. ccache would name the directory of another run.
  std::string here(const std::string& command) {
    return run("cd " + directory_.path() + " && export CCACHE_DISABLE=1 && " + command);
  }
  bool has(const std::string& program) {
    return std::system(("command -v " + program + " > /dev/null").c_str()) == 0;
  }
  uint64_t svma_of(const std::string& symbol) {
    return std::strtoull(here("nm program.so | grep ' " + symbol + "$'").c_str(), nullptr, 16);
  }
  // The functions at an address, innermost first, each with the file's line.
  std::string functions_at(uint64_t svma) {
    profile::Profile profile = profile_of(directory_ / "program.so", {svma});
    symbolize(profile);
    std::string functions;
    for (const Line& line : lines_of(profile, 0)) {
      functions += line.function + (line.line != 0 ? " " : "! ");
    }
    return functions;
  }
  // Those at each address of the symbol's first 48 bytes.
  std::string functions_in(const std::string& symbol) {
    std::string functions;
    const uint64_t begin = svma_of(symbol);
    for (uint64_t svma = begin; svma < begin + 48; ++svma) functions += functions_at(svma);
    return functions;
  }
  // Each unit has several ranges, and so have the calls that are inlined: one part is seldom needed.
  void write_two_units() {
    for (const std::string name : {"one", "two"}) {
      write(
          name + ".c",
          fmt::format("void seldom(int);\n"
                      "static inline __attribute__((always_inline)) int inner_{0}(int x) {{ "
                      "if (__builtin_expect(x == 7, 0)) seldom(x); return x * x; }}\n"
                      "__attribute__((section(\".text.far\"))) int far_{0}(int x) {{ return x; }}\n"
                      "int {0}(int x) {{ return inner_{0}(x) + inner_{0}(x + 1); }}\n",
                      name));
    }
  }
  void expect_both_units() {
    for (const std::string name : {"one", "two"}) {
      const std::string functions = functions_in(name);
      EXPECT_NE(functions.find(fmt::format("inner_{0} {0} ", name)), std::string::npos)
          << functions;
    }
  }

  TemporaryDirectory directory_;
};

// Its skeletons say where their ranges are from the beginning of the section; only those of the split
// units count from DW_AT_GNU_ranges_base.
TEST_F(ForeignFiles, EachSplitUnitOfDwarf4HasItsLines) {
  write_two_units();
  for (const std::string compiler : {"gcc", "clang"}) {
    if (!has(compiler)) GTEST_SKIP() << "no " << compiler;
    SCOPED_TRACE(compiler);
    here("for unit in one two; do " + compiler +
         " -gdwarf-4 -gsplit-dwarf -O1 -fPIC -c $unit.c; done && gcc -shared one.o two.o -o "
         "program.so");
    expect_both_units();
  }
}

TEST_F(ForeignFiles, SkeletonsAndSplitUnitsMayBeInOneFile) {
  if (!has("dwp")) GTEST_SKIP() << "no dwp";
  write_two_units();
  here(
      "for unit in one two; do gcc -gdwarf-4 -gsplit-dwarf -O1 -fPIC -c $unit.c; done"
      " && gcc -shared one.o two.o -o program.so && dwp -e program.so -o package && rm *.dwo");
  EXPECT_EQ(functions_at(svma_of("one")), "one ") << "without them";
  here(
      "for name in $(readelf -SW package | grep -o '[.]debug_[a-z_.]*'); do"
      " objcopy --dump-section $name=part package /dev/null"
      " && objcopy --add-section $name=part program.so; done");
  expect_both_units();
}

TEST_F(ForeignFiles, AFunctionIsPreferredToALabelAtItsAddress) {
  write(
      "program.s",
      ".text\n"
      ".globl l\nl:\n$x:\n.annobin_program:\n"
      ".type the_function, @function\nthe_function: nop; ret\n.size the_function, .-the_function\n"
      ".annobin_end:\n$d.1: nop\n"
      ".globl label\nlabel: nop\n");
  here("gcc -shared -nostdlib program.s -o program.so");
  const uint64_t function = svma_of("the_function");
  EXPECT_EQ(name_at(directory_ / "program.so", function), "the_function");
  EXPECT_TRUE(name_at(directory_ / "program.so", function + 2).starts_with("[program.so+"));
  EXPECT_EQ(name_at(directory_ / "program.so", svma_of("label")), "label");
}

// The linker sets the address of a discarded function to 0. If its size is 0, too, its pair in
// .debug_aranges looks like the end of the list.
TEST_F(ForeignFiles, AnEmptyFunctionThatIsDiscardedHidesNoOther) {
  write("program.c",
        "int first(int x) { return x; }\n"
        "__attribute__((visibility(\"hidden\"))) void never(void) { __builtin_unreachable(); }\n"
        "static inline __attribute__((always_inline)) int inner(int x) { return x * x; }\n"
        "int shown(int x) { return inner(x) + 1; }\n");
  here("gcc -shared -fPIC -g -O1 -ffunction-sections -Wl,--gc-sections program.c -o program.so");
  EXPECT_EQ(functions_at(svma_of("shown")), "inner shown ");
}

// With -g1 no namespace is written, nor the linkage name of a local function.
// (gcc 16 has an L in the symbols of functions in unnamed namespaces.)
TEST_F(ForeignFiles, LocalFunctionsKeepTheirScopeWithLeastDebugInformation) {
  write("program.cpp",
        "namespace { struct Parser { __attribute__((noinline)) int next(int x) { asm(\"\"); return "
        "x; } };\n"
        "__attribute__((noinline)) int hidden(int x) { asm(\"\"); return x; }\n"
        "template <typename T> __attribute__((noinline)) T templated(T x) { asm(\"\"); return x; } "
        "}\n"
        "static __attribute__((noinline)) int local(int x) { asm(\"\"); return x; }\n"
        "int shown(int x) { return hidden(x) + local(x) + Parser().next(x) + templated(x); }\n");
  for (const std::string level : {"-g1", "-g"}) {
    SCOPED_TRACE(level);
    here("g++ -shared -fPIC -O1 " + level + " program.cpp -o program.so");
    EXPECT_EQ(functions_at(svma_of("_ZN12_GLOBAL__N_1L\\?6hiddenEi")),
              "(anonymous namespace)::hidden ");
    EXPECT_EQ(functions_at(svma_of("_ZN12_GLOBAL__N_16Parser4nextEi")),
              "(anonymous namespace)::Parser::next ");
    EXPECT_EQ(functions_at(svma_of("_ZN12_GLOBAL__N_1L\\?9templatedIiEET_S1_")),
              "(anonymous namespace)::templated<int> ");
    EXPECT_EQ(functions_at(svma_of("_ZL5locali")), "local ");
  }
}

// gcc writes a function without a linkage name in two places: the DIE that the class is in refers to
// the one that has the name and the scope.
TEST_F(ForeignFiles, LocalClassesOfLocalFunctionsHaveTheirScope) {
  write("program.cpp",
        "namespace { template <typename T> T around(T x) {\n"
        "  struct Local { T v; T get() const { asm(\"\"); return v; } } local{x};\n"
        "  return local.get() + [&](T v) { asm(\"\"); return v + x; }(x);\n} }\n"
        "int shown(int x) { return around(x); }\n");
  here("g++ -shared -fPIC -O0 -g program.cpp -o program.so");
  EXPECT_EQ(functions_at(svma_of("_ZZN12_GLOBAL__N_1L\\?6aroundIiEET_S1_ENK5Local3getEv")),
            "(anonymous namespace)::around<int>::Local::get ");
  EXPECT_EQ(functions_at(svma_of("_ZZN12_GLOBAL__N_1L\\?6aroundIiEET_S1_ENKUliE_clEi")),
            "(anonymous namespace)::around<int>::{lambda}::operator() ");
}

// rustc describes the methods of an enumeration within it.
TEST_F(ForeignFiles, MethodsOfARustEnumerationHaveTheirInlinedFunctions) {
  if (!has("rustc")) GTEST_SKIP() << "no rustc";
  write("program.rs",
        "pub enum Kind { A, B }\n"
        "#[inline(always)] fn helper(n: u64) -> u64 { std::hint::black_box(n) * 31 }\n"
        "impl Kind {\n"
        "  #[no_mangle] #[inline(never)] pub fn kind_work(self, n: u64) -> u64 {\n"
        "    helper(n) + self as u64\n  }\n}\n");
  here("rustc --crate-type cdylib -g -O program.rs -o program.so");
  const std::string all = functions_in("kind_work");
  EXPECT_NE(all.find("program::helper program::Kind::kind_work "), std::string::npos) << all;
}

// rustc 1.63 does not only declare them there. So it looks, in assembly language:
TEST_F(ForeignFiles, FunctionsWithinAnEnumerationHaveTheirInlinedFunctions) {
  write("program.s", R"(
.file 1 "program.rs"
.text
.globl kind_work
.type kind_work, @function
kind_work:
.loc 1 5
  nop
.Linlined:
.loc 1 2
  nop
.Linlined_end:
.loc 1 6
  ret
.Lend:
.size kind_work, .-kind_work
.section .debug_line
.Lline:
.section .debug_abbrev
.Labbrev:  # each: tag, children, and pairs of attribute and form
.uleb128 1, 0x11, 1, 0x13, 5, 3, 8, 0x10, 0x17, 0x11, 1, 0x12, 7, 0, 0  # unit
.uleb128 2, 0x39, 1, 3, 8, 0, 0                                         # namespace
.uleb128 3, 4, 1, 3, 8, 0, 0                                            # enumeration
.uleb128 4, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 7, 0, 0                       # function with code
.uleb128 5, 0x1d, 0, 0x31, 0x13, 0x11, 1, 0x12, 7, 0x58, 0xb, 0x59, 0xb, 0, 0  # inlined call
.uleb128 6, 0x2e, 0, 3, 8, 0x20, 0xb, 0, 0                              # function without code
.byte 0
.section .debug_info
.Lunit:
.long .Lunit_end - .Lversion
.Lversion:
.value 4
.long .Labbrev
.byte 8
.uleb128 1
.value 0x1c  # Rust
.string "program.rs"
.long .Lline
.quad kind_work, .Lend - kind_work
.uleb128 2
.string "program"
.Lhelper:
.uleb128 6
.string "helper"
.byte 1
.uleb128 3
.string "Kind"
.uleb128 4
.string "kind_work"
.quad kind_work, .Lend - kind_work
.uleb128 5
.long .Lhelper - .Lunit
.quad .Linlined, .Linlined_end - .Linlined
.byte 1, 5
.byte 0, 0, 0, 0
.Lunit_end:
)");
  here("gcc -shared -nostdlib program.s -o program.so");
  const uint64_t begin = svma_of("kind_work");
  EXPECT_EQ(functions_at(begin), "program::Kind::kind_work ");
  EXPECT_EQ(functions_at(begin + 1), "program::helper program::Kind::kind_work ");
}

}  // namespace
}  // namespace sampan::symbolizer::test
