import assert from "node:assert/strict";
import {test} from "node:test";
import {everything, weightsByStack} from "../../../exporters/page/data/selection.js";
import {timeBoxes} from "../../../exporters/page/data/time_layout.js";
import {callTree} from "../../../exporters/page/data/tree.js";
import {nameRanks, treeLayout} from "../../../exporters/page/data/tree_layout.js";
import {byHand} from "./by_hand.mjs";
import {synthetic} from "./synthetic.mjs";

function layoutOf(profile, byName, options) {
  const tree = callTree(profile, weightsByStack(profile, everything()), options);
  return {tree, layout: treeLayout(tree, byName ? nameRanks(profile) : null)};
}

// "main 0-100" by row, from left to right.
function drawn(profile, boxes) {
  const rows = [];
  for (const {x, width, row, func, merged} of [...boxes].sort((a, b) => a.x - b.x)) {
    const name = merged ? `(${merged})` : func < 0 ? "all" : profile.strings[func];
    (rows[row] ??= []).push(`${name} ${Math.round(x)}-${Math.round(x + width)}`);
  }
  return Array.from(rows, (row) => (row ?? []).join(" "));
}

const profile = byHand([["main", [[1, 20, "main;b"], [2, 50, "main;c;d"], [3, 20, "main;a"], [4, 10, "main"]]]]);

test("frames beside each other by name, or the heaviest first; what is self lies to the right", () => {
  assert.deepEqual(drawn(profile, layoutOf(profile, true).layout.boxes(0, 1, 100)),
    ["all 0-100", "main 0-100", "a 0-20 b 20-40 c 40-90", "d 40-90"]);
  assert.deepEqual(drawn(profile, layoutOf(profile, false).layout.boxes(0, 1, 100)),
    ["all 0-100", "main 0-100", "c 0-50 b 50-70 a 70-90", "d 0-50"]);
});

test("a zoomed frame fills the width, with its callers and nothing else", () => {
  const {layout} = layoutOf(profile, true);
  const path = ["main", "c"].map((name) => profile.strings.indexOf(name));
  const node = layout.nodeAt(path);
  assert.deepEqual(layout.extentOf(node), [0.4, 0.9]);
  assert.deepEqual(drawn(profile, layout.boxes(...layout.extentOf(node), 80)),
    ["all 0-80", "main 0-80", "c 0-80", "d 0-80"]);
  assert.deepEqual(layout.pathOf(node), path);
  assert.equal(layout.nodeAt([...path, 999]), node, "the last that is there");
});

test("frames narrower than a pixel are one box, which says how many", () => {
  const many = byHand([["main", [[1, 900, "main;a"],
    ...Array.from({length: 100}, (_, i) => [2 + i, 1, `main;x${i};y`])]]]);
  const {layout} = layoutOf(many, true);
  assert.deepEqual(drawn(many, layout.boxes(0, 1, 100)), ["all 0-100", "main 0-100", "a 0-90 (100) 90-100"]);
  const zoomed = layout.boxes(0.9, 0.92, 100);
  assert.equal(zoomed.filter((box) => box.row === 2 && !box.merged).length, 20);
});

test("nothing is lost: each row of a large tree is as wide as the frames that are in it", () => {
  const large = synthetic({stacks: 3000, samples: 20000});
  for (const inverted of [false, true]) {
    const {tree, layout} = layoutOf(large, true, {inverted});
    const boxes = layout.boxes(0, 1, 1000);
    const widthOf = (kept) => boxes.filter(kept).reduce((sum, box) => sum + box.width, 0);
    // What lies on a box is as wide as what its children weigh.
    for (const box of boxes.filter(({merged, row}) => !merged && row < 4)) {
      const children = tree.children(box.node).reduce((sum, child) => sum + tree.total[child], 0);
      const drawnWidth = widthOf((other) => other.row === box.row + 1 &&
        other.x >= box.x - 1e-6 && other.x < box.x + box.width - 1e-6);
      assert.ok(Math.abs(drawnWidth - children / tree.total[0] * 1000) < 1e-6, `row ${box.row}`);
    }
  }
});

test("time order: what goes on is one box, gaps stay gaps, two threads are apart", () => {
  const timed = byHand([
    ["main", [[10, 10, "main;a"], [20, 10, "main;a;b"], [30, 10, "main;c"], [60, 10, "main;a"]]],
    ["worker", [[40, 20, "run"]]]]);
  const lanes = [{thread: 0, ranges: [[0, 4]]}, {thread: 1, ranges: [[4, 5]]}];
  const {boxes, headings} = timeBoxes(timed, lanes, -1, 0, 100, 1000);
  assert.deepEqual(drawn(timed, boxes), ["", "main 0-300 main 500-600",
    "a 0-200 c 200-300 a 500-600", "b 100-200", "", "run 200-400"]);
  assert.deepEqual(headings, [{row: 0, thread: 0}, {row: 4, thread: 1}]);
  const zoomed = timeBoxes(timed, lanes, -1, 20, 40, 100);
  assert.deepEqual(drawn(timed, zoomed.boxes.filter(({thread}) => thread === 0)).filter(Boolean),
    ["main 0-50", "c 0-50"]);
});

test("time order: of many samples in one place the heaviest is drawn", () => {
  const crowded = byHand([["main", [[1, 1, "a"], [1.1, 0.1, "b"], [1.2, 0.1, "b"], [3, 1.5, "c"]]]]);
  const {boxes} = timeBoxes(crowded, [{thread: 0, ranges: [[0, 4]]}], -1, 0, 4000, 1000);
  assert.equal(boxes.length, 1);
  assert.equal(crowded.strings[boxes[0].func], "c");
});

test("time order: a wait lies around the moment on CPU that was seen before it", () => {
  const noticed = byHand([["main", [[50, 10, "run"], [100, 100, "read;[read]"]]]]);
  const {boxes} = timeBoxes(noticed, [{thread: 0, ranges: [[0, 2]]}], -1, 0, 100, 1000);
  assert.deepEqual(drawn(noticed, boxes),
    ["", "read 0-400 run 400-500 read 500-1000", "[read] 0-400 [read] 500-1000"]);
});

test("a chain of frames that call one function each is one box; what is chosen, or opened, is not in it", () => {
  const deep = byHand([["main", [[1, 60, "a;b;c;d;d2;d3;d4;d5;e;f;g"], [2, 40, "a;b;c;d;d2;d3;d4;d5;e;h"]]]]);
  const {layout} = layoutOf(deep, true);
  const folds = (kept = [], opened = []) => ({kept: new Set(kept), opened: new Set(opened)});
  const boxes = layout.boxes(0, 1, 100, folds());
  assert.deepEqual(drawn(deep, boxes), ["all 0-100", "a 0-100", "e 0-100", "f 0-60 h 60-100", "g 0-60"]);
  const [chain] = boxes.filter((box) => box.folded);
  assert.equal(chain.folded, 8);
  assert.equal(layout.pathOf(chain.last).length, 8);
  assert.equal(drawn(deep, layout.boxes(0, 1, 100, folds([], [chain.node]))).length, 12, "opened");
  const d = layout.nodeAt(layout.pathOf(chain.last).slice(0, 4));
  assert.equal(drawn(deep, layout.boxes(0, 1, 100, folds([d]))).join(), ["all", "a", "b", "c", "d", "d2", "e"]
    .map((name) => `${name} 0-100`).concat("f 0-60 h 60-100", "g 0-60").join(), "three before what is chosen are too few; four behind it are not");
  assert.deepEqual(drawn(deep, layout.boxes(0, 1, 100)), drawn(deep, layout.boxes(0, 1, 100, folds([], [chain.node]))));
});
