import assert from "node:assert/strict";
import test from "node:test";

import {arrangeMarkers, inLanes, intervalAt, kMostLanes, matchingMarkers, momentAt, noMarkers, valueAt}
  from "../../../exporters/page/data/markers.js";

const table = (intervals) => ({beginNs: intervals.map(([begin]) => begin),
  durationNs: intervals.map(([begin, end]) => end - begin)});
const lanesOf = (intervals) => inLanes(table(intervals), [...intervals.keys()]);

test("what is inside another is below it", () => {
  const lanes = lanesOf([[0, 100], [10, 40], [20, 30], [40, 90], [100, 110]]);
  assert.deepEqual([...lanes.lane], [0, 1, 2, 1, 0]);
  assert.equal(lanes.count, 3);
});

test("what overlaps is in lanes of its own, and what has none is counted", () => {
  assert.deepEqual([...lanesOf([[0, 50], [20, 70], [60, 90]]).lane], [0, 1, 0]);
  const many = lanesOf(Array.from({length: kMostLanes + 3}, (_, i) => [i, 1000]));
  assert.equal(many.count, kMostLanes);
  assert.equal(many.hidden, 3);
  assert.deepEqual([...many.lane.slice(-4)], [kMostLanes - 1, -1, -1, -1]);
});

test("what overlaps freely is below what nests, in few lanes", () => {
  const across = Uint8Array.from([1, 0, 1, 0, 1, 1, 1]);
  const spans = {...table([[0, 90], [1, 50], [2, 91], [3, 20], [4, 92], [5, 93], [6, 94]]), across, count: 7,
    thread: new Int32Array(7)};
  const {spans: lanes, hidden} = arrangeMarkers({markers: {...noMarkers(), spans}});
  assert.deepEqual([...lanes.get(0).lane], [2, 0, 3, 1, 4, 5, -1]);
  assert.equal(hidden, 1);
});

test("the interval at a place, or the nearest", () => {
  const intervals = [[0, 100], [10, 40], [50, 51]];
  const lanes = lanesOf(intervals);
  const at = (lane, time, reach = 2) => intervalAt(table(intervals), lanes, lane, time, reach);
  assert.equal(at(0, 20), 0);
  assert.equal(at(1, 20), 1);
  assert.equal(at(1, 42), 1);
  assert.equal(at(1, 45), -1);
  assert.equal(at(1, 49), 2);
  assert.equal(at(2, 20), -1);
});

test("moments, and what a counter stands at", () => {
  assert.equal(momentAt([5, 10, 12], [0, 1, 2], 11.2, 2), 2);
  assert.equal(momentAt([5, 10, 12], [0, 1, 2], 7.5, 2), -1);
  assert.equal(valueAt([5, 10, 12], [0, 1, 2], 4), -1);
  assert.equal(valueAt([5, 10, 12], [0, 1, 2], 10), 1);
  assert.equal(valueAt([5, 10, 12], [0, 1, 2], 99), 2);
});

const markers = {...noMarkers(), texts: ["", "parse", "queue", "slow one"],
  spans: {count: 3, thread: [0, 0, 2], endThread: [0, 0, 2], beginNs: [0, 5, 1], durationNs: [9, 2, 3],
    name: [1, 1, 1], text: [0, 3, 0], parent: [-1, 0, -1], across: [0, 0, 0], closed: [0, 0, 0]},
  counters: {count: 3, process: [0, 0, 1], name: [2, 2, 2], timeNs: [1, 2, 3], value: [-4, 7, 3]}};

test("markers are arranged by what they are of", () => {
  const {spans, counters, sections, hidden} = arrangeMarkers({markers});
  assert.deepEqual([...spans.keys()], [0, 2]);
  assert.deepEqual(spans.get(0).rows, [0, 1]);
  assert.deepEqual(counters.map(({process, rows, least, most}) => [process, rows, least, most]),
    [[0, [0, 1], -4, 7], [1, [2], 0, 3]]);
  assert.equal(sections.size, 0);
  assert.equal(hidden, 0);
});

test("searching finds names and texts", () => {
  assert.equal(matchingMarkers(markers, /slow/u).count, 1);
  assert.equal(matchingMarkers(markers, /parse/u).count, 3);
  assert.equal(matchingMarkers(markers, /q/u).count, 3);
  assert.equal(matchingMarkers(markers, /./u).matches[0], 0);
});
