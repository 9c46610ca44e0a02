import assert from "node:assert/strict";
import test from "node:test";

import {flatTable} from "../../../exporters/page/data/flat.js";
import {everything, weightsByStack} from "../../../exporters/page/data/selection.js";
import {calleesOf, callersOf, callTree} from "../../../exporters/page/data/tree.js";
import {overTime} from "../../../exporters/page/data/over_time.js";
import {asObject, byHand} from "./by_hand.mjs";
import {synthetic} from "./synthetic.mjs";

const profile = byHand([
  ["main", [[1, 10, "main;work;work;leaf"], [2, 20, "main;leaf"], [3, 40, "main;work"], [4, 3, ""]]],
  ["worker", [[1, 100, "start;work;leaf"]]],
]);
const weights = weightsByStack(profile, everything());
const handle = (name) => profile.strings.indexOf(name);

test("the call tree goes from the roots down", () => {
  const tree = callTree(profile, weights);
  assert.deepEqual([tree.func[0], tree.self[0], tree.total[0], tree.samples[0]], [-1, 3, 173, 5]);
  assert.deepEqual(asObject(profile, tree), {
    start: [0, 100, {work: [0, 100, {leaf: [100, 100, {}]}]}],
    main: [0, 70, {work: [40, 50, {work: [0, 10, {leaf: [10, 10, {}]}]}], leaf: [20, 20, {}]}],
  });
});

test("inverted it goes from where the time was spent up to the callers", () => {
  const tree = callTree(profile, weights, {inverted: true});
  assert.equal(tree.total[0], 173);
  assert.deepEqual(asObject(profile, tree), {
    leaf: [0, 130, {
      work: [0, 110, {start: [100, 100, {}], work: [0, 10, {main: [10, 10, {}]}]}],
      main: [20, 20, {}],
    }],
    work: [0, 40, {main: [40, 40, {}]}],
  });
});

test("callees begin at the outermost occurrence", () => {
  const tree = calleesOf(profile, weights, handle("work"));
  assert.deepEqual([tree.func[0], tree.self[0], tree.total[0]], [handle("work"), 40, 150]);
  assert.deepEqual(asObject(profile, tree),
    {leaf: [100, 100, {}], work: [0, 10, {leaf: [10, 10, {}]}]});
});

test("callers begin at the innermost occurrence", () => {
  const tree = callersOf(profile, weights, handle("work"));
  assert.deepEqual([tree.self[0], tree.total[0], tree.samples[0]], [0, 150, 3]);
  assert.deepEqual(asObject(profile, tree),
    {start: [100, 100, {}], main: [40, 40, {}], work: [0, 10, {main: [10, 10, {}]}]});
  assert.equal(callersOf(profile, weights, handle("main")).self[0], 70);
});

test("a node names a row of the stacks that ends in it", () => {
  const tree = callTree(profile, weights);
  const [start] = tree.children(0);
  const [work] = tree.children(start);
  assert.equal(profile.stacks.func[tree.stack[work]], handle("work"));
  assert.equal(profile.stacks.prefix[tree.stack[work]], tree.stack[start]);
});

test("the flat table counts a recursive function once per sample", () => {
  const table = flatTable(profile, weights);
  const rows = Array.from(table.func, (func, i) => [func < 0 ? "" : profile.strings[func],
    table.self[i], table.total[i], table.selfSamples[i], table.totalSamples[i]]);
  assert.deepEqual(rows, [["leaf", 130, 130, 3, 3], ["work", 40, 150, 1, 3], ["", 3, 3, 1, 1],
    ["start", 0, 100, 0, 1], ["main", 0, 70, 0, 3]]);
});

test("a large profile's trees have the totals of its table, whatever way they go", () => {
  const large = synthetic({threads: 20, samples: 30000, stacks: 5000, functions: 300});
  const of = weightsByStack(large, everything());
  const table = flatTable(large, of);
  const total = of.ns.reduce((sum, value) => sum + value);
  assert.ok(Math.abs(callTree(large, of).total[0] - total) < 1e-6 * total);
  const up = callTree(large, of, {inverted: true});
  const self = new Map(Array.from(table.func, (func, i) => [func, table.self[i]]));
  for (const child of up.children(0)) assert.equal(up.total[child], self.get(up.func[child]));
  for (let i = 0; i < 20; ++i) {
    const func = table.func[i];
    if (func < 0) continue;
    for (const tree of [callersOf(large, of, func), calleesOf(large, of, func)]) {
      assert.ok(Math.abs(tree.total[0] - table.total[i]) < 1);
      assert.equal(tree.samples[0], table.totalSamples[i]);
    }
  }
});

test("rows of a call tree over time: what is not a row of its own counts for its caller", () => {
  const timed = byHand([["main", [[10, 10, "main;a;x"], [35, 20, "main;b"], [60, 5, "main;a"], [95, 5, ""]]]]);
  for (const inverted of [false, true]) {
    const tree = callTree(timed, weightsByStack(timed, everything()), {inverted});
    const func = (node) => tree.func[node] < 0 ? "all" : timed.strings[tree.func[node]];
    const nodes = [...tree.children(0)];
    if (!inverted) nodes.push(...tree.children(nodes[0]));
    const rows = overTime(timed, everything(), tree, nodes, {inverted, slices: 4});
    const said = Object.fromEntries([...rows].map(([node, values]) => [func(node), [...values]]));
    assert.deepEqual(said, inverted ?
      {all: [10, 20, 5, 5], x: [10, 0, 0, 0], b: [0, 20, 0, 0], a: [0, 0, 5, 0]} :
      {all: [10, 20, 5, 5], main: [10, 20, 5, 0], a: [10, 0, 5, 0], b: [0, 20, 0, 0]});
  }
});
