import assert from "node:assert/strict";
import {test} from "node:test";
import {carry} from "../../../exporters/page/carry.js";
import {initially} from "../../../exporters/page/state.js";
import {byHand} from "./by_hand.mjs";

const before = byHand([["main", [[1, 10, "main;work"]]], ["worker", [[1, 10, "start;loop;work"]]]]);
// The same a moment later: functions appear in another order, threads in another place.
const later = byHand([["main", [[1, 10, "main;idle"], [2, 10, "start;loop"]]],
  ["worker", [[1, 10, "start;loop;work"]]]]);
later.threads.reverse();

const func = (profile, name) => profile.strings.indexOf(name);
const path = (profile, names) => names.map((name) => func(profile, name));
const shownBefore = (changes) => ({...initially(before), ...changes});

test("the beginning stays the beginning", () => {
  assert.deepEqual(carry(initially(before), before, later), initially(later));
});

test("functions and frames are found again by name", () => {
  const shown = carry(shownBefore({focus: func(before, "work"), frame: path(before, ["start", "loop"]),
    zoom: path(before, ["start"])}), before, later);
  assert.notEqual(func(before, "work"), func(later, "work"));
  assert.equal(shown.focus, func(later, "work"));
  assert.deepEqual(shown.frame, path(later, ["start", "loop"]));
  assert.deepEqual(shown.zoom, path(later, ["start"]));
});

test("threads are found again by process and tid", () => {
  const {selection} = carry(shownBefore({selection: {...initially(before).selection, threads: new Set([1])}}), before, later);
  assert.deepEqual([...selection.threads].map((place) => later.threads[place].name), ["worker"]);
});

test("what was done to the stacks is done again, where there is the function", () => {
  const transforms = [{kind: "focus", of: func(before, "work")}, {kind: "system"}];
  assert.deepEqual(carry(shownBefore({transforms}), before, later).transforms, [{kind: "focus", of: func(later, "work")}, {kind: "system"}]);
  assert.deepEqual(carry(shownBefore({transforms}), before, byHand([["main", [[1, 10, "main"]]]])).transforms, [{kind: "system"}]);
});

test("what is not there any more is not shown", () => {
  const gone = byHand([["main", [[1, 10, "main"]]]]);
  gone.threads[0].tid = 77;
  const shown = carry(shownBefore({focus: func(before, "work"), frame: path(before, ["start", "loop"]), zoom: path(before, ["main"]),
    selection: {...initially(before).selection, threads: new Set([0, 1])}}), before, gone);
  assert.equal(shown.focus, null);
  assert.deepEqual(shown.frame, []);
  assert.deepEqual(shown.zoom, [func(gone, "main")]);
  assert.equal(shown.selection.threads, null);
});

test("the rest stays as it is: view, search, time, order, the merged and the unknown", () => {
  const shown = shownBefore({view: "table", search: "x", sort: "-name", inverted: true, frame: [-1],
    selection: {...initially(before).selection, fromNs: 5, toNs: 9}});
  assert.deepEqual(carry(shown, before, later), shown);
});
