import assert from "node:assert/strict";
import {test} from "node:test";
import {flatTable} from "../../../exporters/page/data/flat.js";
import {sortRows, tableRows} from "../../../exporters/page/data/rows.js";
import {everything, weightsByStack} from "../../../exporters/page/data/selection.js";
import {duration, margin, percent, shortName} from "../../../exporters/page/format.js";
import {createNames} from "../../../exporters/page/names.js";
import {nextSort} from "../../../exporters/page/views/function_table.js";
import {byHand} from "./by_hand.mjs";

test("durations and shares", () => {
  assert.deepEqual([0, 999, 1500, 12_345_678, 999_600_000, 61.5e9].map(duration),
    ["0 s", "999 ns", "1.50 µs", "12.3 ms", "1.00 s", "61.5 s"]);
  assert.deepEqual([0, 0.00012, 0.5, 0.0516, 1, NaN].map(percent),
    ["0.0 %", "0.01 %", "50.0 %", "5.2 %", "100.0 %", "–"]);
});

test("a share has an error only where there is one", () => {
  assert.equal(margin(0.0125), " ± 1.3 %");
  assert.equal(margin(0), "", "it waited, or every sample met it");
});

test("short names lose what their arguments are", () => {
  const shorter = {
    "main": "main",
    "void work<std::vector<int, a<b>>>(int (*)(char))": "void work<…>",
    "std::map<int, x>::find(int const&) const": "std::map<…>::find",
    "operator<<(std::ostream&, int)": "operator<<",
    "a::operator()(int) const": "a::operator()",
    "foo::operator->() const": "foo::operator->",
    "[read pipe:[4711]]": "[read pipe:[4711]]",
    "(anonymous namespace)::f(int)": "(anonymous namespace)::f",
    "broken<int(": "broken<int(",
  };
  for (const [name, short] of Object.entries(shorter)) assert.equal(shortName(name), short);
});

const profile = byHand([["main", [[1, 10, "main;b"], [2, 30, "main;a"], [3, 60, "main;a;b"], [4, 1, ""]]]]);

function sorted(sort) {
  const rows = tableRows(flatTable(profile, weightsByStack(profile, everything())), () => ({self: 0, total: 0}));
  return sortRows(rows, sort, createNames(profile)).map(({func}) => func < 0 ? "?" : profile.strings[func]).join(" ");
}

test("the table's order, both ways", () => {
  assert.equal(sorted("self"), "b a ? main");
  assert.equal(sorted("-self"), "main ? a b");
  assert.equal(sorted("total"), "main a b ?");
  assert.equal(sorted("name").replace("? ", ""), "a b main");
  assert.equal(nextSort("self", "self"), "-self");
  assert.equal(nextSort("-self", "self"), "self");
  assert.equal(nextSort("-self", "name"), "name");
});
