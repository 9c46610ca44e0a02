import assert from "node:assert/strict";
import test from "node:test";

import {joined} from "../../../exporters/page/data/join.js";
import {everything, weightsByStack} from "../../../exporters/page/data/selection.js";
import {callTree} from "../../../exporters/page/data/tree.js";
import {asObject, byHand} from "./by_hand.mjs";
import {synthetic} from "./synthetic.mjs";

const withMeta = (profile) => ({...profile, meta: {...synthetic({samples: 10}).meta, durationNs: 100},
  functions: {...profile.functions, file: profile.functions.name}});
const a = withMeta(byHand([["main", [[10, 10, "main;work"], [20, 5, "main;[read]"]]]]));
const b = withMeta(byHand([["main", [[10, 7, "other;work"], [30, 3, ""]]], ["new", [[9, 9, "main"]]]]));
const both = joined(a, b, {a: "before", b: "after"});

test("functions of one name are one, and samples are those of both", () => {
  assert.deepEqual(both.strings, ["main", "work", "[read]", "other"]);
  assert.equal(both.functions.count, 4);
  assert.deepEqual(asObject(both, callTree(both, weightsByStack(both, everything()))),
    {main: [9, 24, {work: [10, 10, {}], "[read]": [5, 5, {}]}], other: [0, 7, {work: [7, 7, {}]}]});
  assert.deepEqual([...both.samples.ofThread], [0, 2, 4, 5]);
  assert.deepEqual(both.threads.map(({name, side, process}) => [name, side, process]), [["main", 0, 0], ["main", 1, 1], ["new", 1, 1]]);
  assert.deepEqual(both.meta.diff, {a: "before", b: "after"});
});

test("markers keep their threads, names and parents", () => {
  const marked = (profile, name) => ({...profile, markers: {...profile.markers, texts: ["", name],
    spans: {count: 2, thread: Int32Array.from([0, 0]), endThread: Int32Array.from([0, 0]), beginNs: Float64Array.from([1, 2]),
      durationNs: Float64Array.from([5, 2]), name: Uint32Array.from([1, 1]), text: Uint32Array.from([0, 0]), parent: Int32Array.from([-1, 0]),
      across: new Uint8Array(2), closed: new Uint8Array(2)}}});
  const {markers} = joined(marked(a, "x"), marked(b, "y"), {});
  assert.deepEqual([...markers.spans.thread], [0, 0, 1, 1]);
  assert.deepEqual([...markers.spans.parent], [-1, 0, -1, 2]);
  assert.deepEqual([...markers.spans.name].map((name) => markers.texts[name]), ["x", "x", "y", "y"]);
});
