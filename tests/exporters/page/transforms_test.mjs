import assert from "node:assert/strict";
import test from "node:test";

import {idleThreads, systemFunctions, transformed} from "../../../exporters/page/data/transforms.js";
import {weightsByStack, everything} from "../../../exporters/page/data/selection.js";
import {callTree} from "../../../exporters/page/data/tree.js";
import {asObject, byHand} from "./by_hand.mjs";

const profile = byHand([
  ["main", [[10, 10, "main;run;work;malloc"], [20, 7, "main;run;run;work"], [30, 3, "main;idle;[read]"], [31, 1, ""]]],
  ["sleeper", [[90, 90, "start;[futex]"]]],
]);
profile.modules = [{name: "app", path: "/srv/app"}, {name: "libc.so.6", path: "/usr/lib/x86_64-linux-gnu/libc.so.6"}];
const func = (name) => profile.strings.indexOf(name);
for (const name of ["main", "run", "work", "idle"]) profile.functions.module[func(name)] = 0;
for (const name of ["malloc", "start"]) profile.functions.module[func(name)] = 1;
const treeOf = (...transforms) => {
  const after = transformed(profile, transforms);
  return asObject(after, callTree(after, weightsByStack(after, everything())));
};
const leaf = (self) => [self, self, {}];
const sleeper = {start: [0, 90, {"[futex]": leaf(90)}]};

test("without transforms it is the same profile", () => assert.equal(transformed(profile, []), profile));

test("focus: only what a function calls, from its outermost frame", () => {
  assert.deepEqual(treeOf({kind: "focus", of: func("run")}),
    {run: [0, 17, {work: [0, 10, {malloc: leaf(10)}], run: [0, 7, {work: leaf(7)}]}]});
});

test("only who calls it, down to its innermost frame", () => {
  assert.deepEqual(treeOf({kind: "callers", of: func("run")}), {main: [0, 17, {run: [10, 17, {run: leaf(7)}]}]});
});

test("drop: no sample with the function", () => {
  assert.deepEqual(treeOf({kind: "drop", of: func("work")}), {main: [0, 3, {idle: [0, 3, {"[read]": leaf(3)}]}], ...sleeper});
});

test("merge: its time is its caller's", () => {
  assert.deepEqual(treeOf({kind: "merge", of: func("work")}, {kind: "focus", of: func("main")}),
    {main: [0, 20, {run: [0, 17, {malloc: leaf(10), run: leaf(7)}], idle: [0, 3, {"[read]": leaf(3)}]}]});
});

test("merge a library, and all of the system's", () => {
  const merged = {main: [0, 20, {run: [0, 17, {work: leaf(10), run: [0, 7, {work: leaf(7)}]}], idle: [0, 3, {"[read]": leaf(3)}]}],
    "[futex]": leaf(90)};
  assert.deepEqual(treeOf({kind: "library", of: 1}), merged);
  assert.deepEqual(treeOf({kind: "system"}), merged);
  assert.deepEqual([...systemFunctions(profile)].map((is, i) => is && profile.strings[i]).filter(Boolean), ["malloc", "start"]);
});

test("recursion: what is open already is one frame", () => {
  assert.deepEqual(treeOf({kind: "recursion"}, {kind: "focus", of: func("run")}),
    {run: [0, 17, {work: [7, 17, {malloc: leaf(10)}]}]});
});

test("threads that only wait are left out", () => {
  assert.deepEqual(idleThreads(profile), [false, true]);
  assert.deepEqual(idleThreads({...profile, locks: {}}), [false, false]);
  assert.deepEqual(Object.keys(treeOf({kind: "idle"})), ["main"]);
  const {samples} = transformed(profile, [{kind: "idle"}]);
  assert.deepEqual([...samples.ofThread], [0, 4, 4]);
  assert.deepEqual([...samples.stack].at(-1), -1, "what is not known stays");
});

test("one after the other", () => {
  assert.deepEqual(treeOf({kind: "merge", of: func("run")}, {kind: "drop", of: func("start")}, {kind: "focus", of: func("work")}),
    {work: [7, 17, {malloc: leaf(10)}]});
});
