"""Sources of C and C++ programs, made up at random: units that share a header, with everything that compilers describe
in a way of its own. A function calls only functions before it, so every program ends.

The same random.Random makes the same program.
"""
import dataclasses

UNITS = 3
HEADER_FUNCTIONS = 12
UNIT_FUNCTIONS = 9
MOST_LEVELS = 6  # of calls
INLINED_LEVELS = 3  # always: each level may double the code
ATTRIBUTES = ["", "", "", *(f"__attribute__(({name})) " for name in ("noinline", "cold", "hot"))]
ALWAYS, FAR = "__attribute__((always_inline)) ", '__attribute__((section(".text.far"))) '

PRELUDE = """#pragma once
#define TWICE(...) ((__VA_ARGS__) + (__VA_ARGS__))
extern volatile int sink;
int fail(int x) __attribute__((cold, noinline));
"""
BASE = """struct Base {
  explicit Base(int value) : value_(value) {}
  virtual ~Base() { sink = value_; }
  virtual int run(int x) { return x + value_; }
  int value_;
};
"""
# never() is empty once the compiler has seen that nothing can reach its end.
MAIN = """#include "shared.h"
volatile int sink;
int fail(int x) { sink = x; return x - 1; }
void never(void) { __builtin_unreachable(); }
int main(int argc, char** argv) {
  int sum = argc;
  (void)argv;
"""
ASSEMBLY = """.text
.globl from_assembly
.type from_assembly, @function
from_assembly:
  lea 1(%rdi), %eax
  call local_in_assembly
  ret
.size from_assembly, .-from_assembly
local_in_assembly:
  add %eax, %eax
  ret
"""
STATEMENTS = [
    "y += {call};\n",
    "y += {call} -\n    {other};\n",
    "y += TWICE({call});\n",
    "for (int i = 0; i < (x & 7); ++i) y = y * 31 + {call};\n",
    "if (__builtin_expect(y == 4711, 0)) y = fail({call});\n",
    "switch (y & 3) {{\n  case 0: y += {call}; break;\n  case 1: y ^= x; break;\n  case 2: y *= {other};\n"
    "  default: sink = y;\n  }}\n",
    '{{ int z = {call}; __asm__ volatile("" : "+r"(z)); y ^= z; }}\n',
    '\n#line 77 "../grammar/parse.y"\ny -= {call};\n#line 901 "spliced.inc"\n',
]
CPLUSPLUS_STATEMENTS = [
    "{{ auto lambda = [&](int v) {{ return v + {call} + y; }};\n    y += lambda(x); }}\n",
    "{{ auto generic = [=](auto v) {{\n      return v + {call} + y; }};\n    y += generic(x) + (int)generic(2L); }}\n",
    "try {{\n    if (y == 99) throw y;\n    y += {call};\n  }} catch (int thrown) {{ y = fail(thrown); }}\n",
    "{{ struct Local {{ int v; int get() const {{ int x = v, y = v; return {call} + x + y; }} }} local{{y}};\n"
    "    y += local.get(); }}\n",
]
NESTED_STATEMENT = "{{ int nested(int v) {{ return v + x + {call}; }}\n    y += nested(y) + nested(x); }}\n"
LIBRARY = """#include <algorithm>
#include <map>
#include <string>
#include <vector>
static int use_library(int x) {
  std::map<std::string, std::vector<int>> table;
  for (int i = 0; i < x; ++i) table[std::to_string(i % 7)].push_back(i * x);
  int y = 0;
  for (auto& [key, values] : table) {
    std::sort(values.begin(), values.end(), [](int a, int b) { return a % 5 < b % 5; });
    y += (int)key.size() + values.front();
  }
  return y;
}
"""


@dataclasses.dataclass
class Function:
    call: str  # an expression; {} stands for the argument
    level: int  # above the functions that it calls


class Sources:
    """`files`: text by name. `units`: those that are compiled."""

    def __init__(self, random, *, cplusplus, has_nested=False, uses_library=False):
        self.random = random
        self.cplusplus = cplusplus
        self.statements = [*STATEMENTS, *(CPLUSPLUS_STATEMENTS if cplusplus else []),
                           *([NESTED_STATEMENT] if has_nested else [])]
        self.count = 0
        suffix = ".cpp" if cplusplus else ".c"
        header, shared, calls = [PRELUDE, BASE if cplusplus else ""], [], []
        header += [self.function(shared, "header") for _ in range(HEADER_FUNCTIONS)]
        self.files = {}
        for unit in range(UNITS):
            known = list(shared)
            text = ['#include "shared.h"\n']
            if uses_library and unit == 0:
                text.append(LIBRARY)
                known.append(Function("use_library({})", 1))
            for number in range(UNIT_FUNCTIONS):
                home = "extern" if number % 3 == 0 else random.choice(["static", "anonymous"])
                text.append(self.function(known, home))
                if home == "extern":
                    shared.append(known[-1])
                    header.append(self.declaration(known[-1]))
                    calls.append(f"  sum += {known[-1].call.format('sum')};\n")
            text.append(self.initialiser(known[-1], unit))
            self.files[f"unit{unit}{suffix}"] = "".join(text)
        self.files[f"main{suffix}"] = MAIN + "".join(calls) + "  return sum == 42;\n}\n"
        self.files["assembly.s"] = ASSEMBLY
        self.units = list(self.files)
        self.files["shared.h"] = "".join(header)

    def declaration(self, function):
        scope, _, name = function.call.removesuffix("({})").rpartition("::")
        return self.scoped(scope + "::" * bool(scope), f"int {name}(int x);\n")

    def function(self, known, home):
        """The text of a new function, which is added to `known`."""
        lower = [function for function in known if function.level < MOST_LEVELS]
        used = self.random.sample(lower, min(len(lower), self.random.randint(0, 3)))
        level = 1 + max((function.level for function in used), default=0)
        scope = self.random.choice(["", "", "outer::", "outer::inner::"]) if self.cplusplus else ""
        kinds = [self.plain]
        if self.cplusplus and home != "extern":
            kinds += [self.template, self.class_of]
        self.count += 1
        name = f"function{self.count}"
        text, call = self.random.choice(kinds)(name, used, self.specifiers(home, level))
        known.append(Function(call.replace("{name}", scope + name), level))
        if home == "anonymous" and self.cplusplus:
            text = f"namespace {{\n{text}}}\n"
        return self.scoped(scope, text)

    def scoped(self, scope, text):
        names = scope.split("::")[:-1]
        return "".join(f"namespace {name} {{\n" for name in names) + text + "}\n" * len(names)

    def specifiers(self, home, level):
        if home == "extern":
            return self.random.choice([*ATTRIBUTES, FAR])
        is_inline = home == "header" or self.random.random() < 0.3
        may_double = is_inline and level <= INLINED_LEVELS
        hidden = home == "static" or not self.cplusplus
        return (self.random.choice(ATTRIBUTES + [ALWAYS] * 4 * may_double) + "static " * hidden +
                "inline " * is_inline)

    def plain(self, name, used, specifiers):
        return f"{specifiers}int {name}(int x) {{\n{self.body(used)}}}\n", "{name}({})"

    def template(self, name, used, specifiers):
        arguments = self.random.choice(["int, 3", "long, 5", "unsigned char, 7"])
        return (f"template <typename T, int N>\n{specifiers}T {name}(T t) {{\n  const int x = (int)t + N;\n"
                f"{self.body(used)}}}\n", f"{{name}}<{arguments}>({{}})")

    def class_of(self, name, used, _):
        """A class with methods of every kind; some are defined outside of it."""
        call = self.random.choice(["{name}(3).simple({})", "{name}::fixed({})", "{name}(5)({})",
                                   "{name}(7).run({})", "static_cast<Base&&>({name}(11)).run({})"])
        simple = f" {{\n{self.body(used)}  }}\n"
        is_outside = self.random.random() < 0.5
        return (f"struct {name} : Base {{\n"
                f"  explicit {name}(int x) : Base(x) {{\n{self.body(used[:1], result='sink = y')}  }}\n"
                f"  ~{name}() override {{ sink = value_ + 1; }}\n"
                f"  {self.random.choice(ATTRIBUTES)}int simple(int x){';' if is_outside else simple}\n"
                f"  static int fixed(int x) {{\n{self.body(used[1:])}  }}\n"
                f"  int operator()(int x) const {{ return x + value_; }}\n"
                f"  int run(int x) override {{\n{self.body(used[-1:])}  }}\n"
                f"}};\n" + (f"inline int {name}::simple(int x){simple}" if is_outside else ""), call)

    def body(self, used, result="return y"):
        calls = [function.call for function in used] or ["(sink + {})"]
        lines = ["  int y = x;\n"]
        for call in calls + [self.random.choice(calls)]:
            argument = self.random.choice(["x", "x + 1", "x ^ 3"])
            lines.append("  " + self.random.choice(self.statements).format(
                call=call.format(argument), other=self.random.choice(calls).format("y")))
        return "".join(lines) + f"  {result};\n"

    def initialiser(self, function, unit):
        call = function.call.format("sink")
        if self.cplusplus:
            return f"int initialised{unit} = {call};\nthread_local int own{unit} = {call};\nint use{unit}() {{ return own{unit}; }}\n"
        return f"__attribute__((constructor)) static void begin{unit}(void) {{ sink = {call}; }}\n"
