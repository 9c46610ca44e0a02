import assert from "node:assert/strict";
import test from "node:test";

import {explain, histogram, markerRows, percentile} from "../../../exporters/page/data/marker_tables.js";
import {noMarkers} from "../../../exporters/page/data/markers.js";
import {everything} from "../../../exporters/page/data/selection.js";
import {byHand} from "./by_hand.mjs";

// 20 spans of 4 ns: 2 ns of work each, and in the last two a wait of 2 ns more, which are 6 ns long.
const begins = Array.from({length: 20}, (_, i) => 5 * i);
const slow = (i) => i >= 18;
const profile = byHand([["main", begins.flatMap((begin, i) =>
  [[begin + 2, 2, "main;work"], ...(slow(i) ? [[begin + 4, 2, "main;[read]"]] : [])])], ["other", [[50, 50, "idle"]]]]);
const column = (value) => begins.map((_, i) => value(i));
profile.markers = {...noMarkers(), texts: ["", "handle", "queue", "flush"],
  spans: {count: 20, thread: column(() => 0), beginNs: begins, durationNs: column((i) => slow(i) ? 4.5 : 3 + i / 100), name: column(() => 1),
    text: column(() => 0)},
  events: {count: 1, thread: [1], timeNs: [60], name: [3], text: [0]},
  counters: {count: 3, process: [0, 0, 0], name: [2, 2, 2], timeNs: [0, 50, 75], value: [2, 6, 1]}};
const rowOf = (rows, name) => rows.find((row) => row.name === name);

test("percentiles, by nearest rank", () => {
  const hundred = Array.from({length: 100}, (_, i) => i + 1);
  assert.deepEqual([0.5, 0.9, 0.99, 1].map((share) => percentile(hundred, share)), [50, 90, 99, 100]);
  assert.equal(percentile([7], 0.5), 7);
});

test("a row per name, with percentiles", () => {
  const rows = markerRows(profile, everything());
  const handle = rowOf(rows, "handle");
  assert.equal(handle.count, 20);
  assert.deepEqual(handle.percentiles, [3.09, 3.17, 4.5, 4.5]);
  assert.equal(handle.all[0].beginNs, 90, "longest first, then by time");
  assert.deepEqual(rowOf(rows, "[read]").percentiles, [2, 2, 2, 2]);
  assert.deepEqual([rowOf(rows, "flush").kind, rowOf(rows, "flush").count], ["event", 1]);
  assert.deepEqual(rowOf(rows, "queue").percentiles, [1, (2 * 50 + 6 * 25 + 1 * 25) / 100, 1, 6], "the mean is of time");
});

test("only what overlaps the selection", () => {
  assert.equal(rowOf(markerRows(profile, {...everything(), fromNs: 11, toNs: 21}), "handle").count, 3);
  assert.equal(rowOf(markerRows(profile, {...everything(), threads: new Set([1])}), "handle"), undefined);
  assert.equal(rowOf(markerRows(profile, {...everything(), threads: new Set([0])}), "flush"), undefined);
});

test("what the slowest do differently comes first", () => {
  const [first] = explain(profile, rowOf(markerRows(profile, everything()), "handle").all);
  assert.equal(profile.strings[first.func], "[read]");
  assert.deepEqual([first.slowNs, first.usualNs], [2, 0]);
  assert.deepEqual(explain(profile, rowOf(markerRows(profile, everything()), "handle").all.slice(0, 5)), [], "too few");
});

test("a histogram has each of them once", () => {
  const {least, most, counts} = histogram([1, 10, 100, 100].map((durationNs) => ({durationNs})), 3);
  assert.deepEqual([least, most, counts], [1, 100, [1, 1, 2]]);
});
