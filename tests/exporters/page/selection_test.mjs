import assert from "node:assert/strict";
import test from "node:test";

import {everything, forEachSample, weightsByStack} from "../../../exporters/page/data/selection.js";
import {byHand} from "./by_hand.mjs";
import {synthetic} from "./synthetic.mjs";

const profile = byHand([
  ["main", [[10, 5, "main;work"], [20, 6, "main;[read]"], [30, 7, "main;work"], [40, 8, ""]]],
  ["idle", []],
  ["worker", [[15, 100, "start;work"], [25, 200, "start;[futex]"]]],
]);

function chosen(changes) {
  const found = [];
  forEachSample(profile, {...everything(), ...changes}, (sample, thread) => found.push([thread, sample]));
  return found;
}

test("everything is all samples, thread by thread", () => {
  assert.deepEqual(chosen({}), [[0, 0], [0, 1], [0, 2], [0, 3], [2, 4], [2, 5]]);
});

test("a range of time has its begin and not its end", () => {
  assert.deepEqual(chosen({fromNs: 15, toNs: 30}), [[0, 1], [2, 4], [2, 5]]);
  assert.deepEqual(chosen({fromNs: 50, toNs: 40}), []);
});

test("threads and states are chosen", () => {
  assert.deepEqual(chosen({threads: new Set([1])}), []);
  assert.deepEqual(chosen({threads: new Set([2])}), [[2, 4], [2, 5]]);
  assert.deepEqual(chosen({state: "waiting"}), [[0, 1], [2, 5]]);
  assert.deepEqual(chosen({state: "cpu", toNs: 31}), [[0, 0], [0, 2], [2, 4]]);
});

test("stacks have the weights of their samples, and what has no stack comes last", () => {
  const {ns, samples} = weightsByStack(profile, everything());
  assert.deepEqual([...ns], [0, 12, 6, 0, 100, 200, 8]);
  assert.deepEqual([...samples], [0, 2, 1, 0, 1, 1, 1]);
});

test("the weights of a selection add up to its samples", () => {
  const large = synthetic({threads: 50, samples: 20000, stacks: 3000});
  const selection = {threads: new Set([0, 3, 7]), fromNs: 1e9, toNs: 6e9, state: "cpu"};
  let expected = 0;
  forEachSample(large, selection, (sample) => { expected += large.samples.weightNs[sample]; });
  const {ns} = weightsByStack(large, selection);
  assert.ok(expected > 0);
  assert.equal(ns.reduce((sum, value) => sum + value), expected);
});
