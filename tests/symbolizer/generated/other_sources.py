"""Sources of programs in Rust, Go, Fortran and Ada, made up at random from each language's own constructs.

The same random.Random makes the same program. See c_sources.py for C and C++, which have several units.
"""
import dataclasses

FUNCTIONS = 24
MOST_LEVELS = 5  # of calls


@dataclasses.dataclass
class Language:
    """In `functions`, {name} and {body} stand for those; in `calls` and `statements`, {call} stands for an expression."""
    files: dict  # text by name; {functions} and {calls}, the sum of all calls
    functions: list  # (text, call)
    statements: list
    constant: str = "{}"  # an expression that calls nothing


RUST = Language(
    {"program.rs": """#![allow(warnings)]
use std::hint::black_box;
trait Shape { fn area(&self, x: i64) -> i64; }
macro_rules! twice { ($call:expr) => { $call + $call }; }
{functions}
fn main() {
    let x = std::env::args().count() as i64;
    println!("{}", {calls});
}
"""},
    [("#[inline(always)]\nfn {name}(x: i64) -> i64 {\n    let mut y = x;\n{body}    y\n}\n", "{name}({})"),
     ("#[inline(never)]\nfn {name}(x: i64) -> i64 {\n    let mut y = x;\n{body}    y\n}\n", "{name}({})"),
     ("fn {name}<T: Into<i64> + Copy>(t: T) -> i64 {\n    let x: i64 = t.into();\n    let mut y = x;\n{body}    y\n}\n",
      "{name}::<i64>({})"),
     ("mod {name} {\n    use super::*;\n    pub fn inner(x: i64) -> i64 {\n        let mut y = x;\n{body}        y\n    }\n}\n",
      "{name}::inner({})"),
     ("struct {name}(i64);\nimpl {name} {\n    fn method(&self, x: i64) -> i64 {\n        let mut y = x;\n{body}        y\n    }\n}\n",
      "{name}(3).method({})"),
     ("enum {name} { A, B(i64) }\nimpl Shape for {name} {\n    fn area(&self, x: i64) -> i64 {\n        let mut y = x;\n"
      "{body}        y\n    }\n}\n", "(Box::new({name}::B(2)) as Box<dyn Shape>).area({})")],
    ["y += {call};", "y ^= twice!({call});", "for i in 0..(x & 7) {\n    y = y * 31 + {call} + i;\n}",
     "let closure = |v: i64| v + {call};\ny += closure(x) + closure(3);",
     "y += (0..x).map(|v| v + {call}).filter(|v| v % 3 == 0).sum::<i64>();",
     "match y & 3 {\n    0 => y += {call},\n    1 => y ^= x,\n    _ => y = black_box({call}),\n}",
     "let mut values: Vec<i64> = (0..x).collect();\nvalues.sort_by_key(|v| v % 5);\n"
     "y += values.iter().map(|v| v / {call}).max().unwrap_or(0);"], "black_box({})")

GO = Language(
    {"program.go": """package main

import (
	"fmt"
	"os"
	"sort"
)

type Shape interface{ Area(x int) int }

{functions}
func main() {
	x := len(os.Args)
	numbers := []int{3, 1, x}
	sort.Slice(numbers, func(a, b int) bool { return numbers[a] < numbers[b] })
	fmt.Println({calls}, numbers)
}
"""},
    [("func {name}(x int) int {\n\ty := x\n{body}\treturn y\n}\n", "{name}({})"),
     ("//go:noinline\nfunc {name}(x int) int {\n\ty := x\n{body}\treturn y\n}\n", "{name}({})"),
     ("func {name}[T ~int | ~int64](t T) int {\n\tx := int(t)\n\ty := x\n{body}\treturn y\n}\n",
      "{name}[int64](int64({}))"),
     ("type {name} struct{ v int }\n\nfunc (s {name}) Area(x int) int {\n\ty := x + s.v\n{body}\treturn y\n}\n",
      "{name}{3}.Area({})"),
     ("type {name} struct{ v int }\n\nfunc (s *{name}) Area(x int) int {\n\ty := x + s.v\n{body}\treturn y\n}\n",
      "Shape(&{name}{3}).Area({})")],
    ["y += {call}", "for i := 0; i < x; i++ {\n\ty = y*31 + {call} + i\n}", "y -= {call} / (x + {call})",
     "{\n\tclosure := func(v int) int { return v + {call} + y }\n\ty += closure(x) + closure(3)\n}",
     "switch y & 3 {\ncase 0:\n\ty += {call}\ncase 1:\n\ty ^= x\n}", "defer func() { y += {call} }()",
     "{\n\tvalues := make([]int, x)\n\tvalues[y] = {call}\n\ty += values[x-1]\n}"])

FORTRAN = Language(
    {"program.f90": """module work
  implicit none
contains
{functions}
end module work

program main
  use work
  implicit none
  integer :: x
  x = command_argument_count()
  print *, {calls}
end program main
"""},
    [("integer function {name}(x) result(y)\n  integer, value :: x\n  integer :: i\n  y = x\n{body}end function\n",
      "{name}({})"),
     ("pure integer function {name}(x) result(y)\n  integer, value :: x\n  integer :: i\n  y = x\n"
      "  do i = 1, mod(x, 8)\n    y = ieor(y, i)\n  end do\nend function\n", "{name}({})"),
     ("integer function {name}(x) result(y)\n  integer, value :: x\n  integer :: i\n  y = x\n{body}"
      "  y = y + nested(x) + nested(y)\ncontains\n  integer function nested(v) result(w)\n    integer, value :: v\n"
      "    w = v * x +  y\n    if (w > 99) w = w - &\n      ieor(v, 5)\n  end function\nend function\n", "{name}({})")],
    ["y = y + {call}", "do i = 1, mod(x, 8)\n  y = y * 31 + {call} + i\nend do", "y = y + sum([(i * {call}, i = 1, 8)])",
     "if (y == 4711) then\n  y = {call}\nelse if (y < 0) then\n  y = -y\nend if",
     "select case (mod(y, 4))\ncase (0)\n  y = y + {call}\ncase (1)\n  y = ieor(y, x)\ncase default\n  print *, y\nend select",
     "block\n  integer :: values(8)\n  values = {call}\n  y = y + maxval(values)\nend block"])

ADA = Language(
    {"work.ads": "package Work is\n   function Run (X : Integer) return Integer;\nend Work;\n",
     "work.adb": """package body Work is
   generic
      with function Action (X : Integer) return Integer;
   function Apply (X : Integer) return Integer;
   function Apply (X : Integer) return Integer is
   begin
      return Action (X) + Action (X + 1);
   end Apply;
{functions}
   function Run (X : Integer) return Integer is
   begin
      return {calls};
   end Run;
end Work;
""",
     "program.adb": """with Ada.Command_Line;
with Work;
procedure Program is
begin
   if Work.Run (Ada.Command_Line.Argument_Count) = 42 then
      raise Program_Error;
   end if;
end Program;
"""},
    [("function {name} (X : Integer) return Integer is\n   Y : Integer := X;\nbegin\n{body}   return Y;\nend {name};\n",
      "{name} ({})"),
     ("function {name} (X : Integer) return Integer with Inline_Always;\n"
      "function {name} (X : Integer) return Integer is\nbegin\n   return X * 31 + 7;\nend {name};\n", "{name} ({})"),
     ("function {name} (X : Integer) return Integer is\n   Y : Integer := X;\n"
      "   function Nested (V : Integer) return Integer is\n   begin\n      return V / X + Y;\n   end Nested;\n"
      "   function Twice is new Apply (Nested);\n"
      "begin\n{body}   return Nested (Y) + Twice (X);\nend {name};\n", "{name} ({})")],
    ["Y := Y + {call};", "for I in 0 .. X mod 8 loop\n   Y := Y * 31 + {call} + I;\nend loop;",
     "case Y mod 4 is\n   when 0 => Y := Y + {call};\n   when 1 => Y := -Y;\n   when others => null;\nend case;",
     "begin\n   Y := Y / {call};\nexception\n   when Constraint_Error => Y := {call};\nend;",
     "declare\n   Z : array (1 .. 8) of Integer := (others => {call});\nbegin\n   for E of Z loop\n      Y := Y + E;\n   end loop;\nend;"])


def write(random, language):
    """The files of a program: text by name."""
    known = []  # (call, level)
    functions = []
    for number in range(FUNCTIONS):
        lower = [function for function in known if function[1] < MOST_LEVELS]
        used = random.sample(lower, min(len(lower), random.randint(0, 3)))
        name = f"Function{number}"
        text, call = random.choice(language.functions)
        calls = [each for each, _ in used] or [language.constant]
        body = []
        for each in calls + [random.choice(calls)]:
            body.append(random.choice(language.statements).replace("{call}", each.replace("{}", "x")) + "\n")
        functions.append(text.replace("{name}", name).replace("{body}", "".join(body)))
        known.append((call.replace("{name}", name), 1 + max((level for _, level in used), default=0)))
    whole = " + ".join(call.replace("{}", "x") for call, _ in known)
    return {name: text.replace("{functions}", "\n".join(functions)).replace("{calls}", whole)
            for name, text in language.files.items()}
