import assert from "node:assert/strict";
import test from "node:test";

import {everything} from "../../../exporters/page/data/selection.js";
import {workerRows, workersOf} from "../../../exporters/page/data/workers.js";
import {byHand} from "./by_hand.mjs";

// Three ranks of a thread each; the second works for 30 ns, the others for 15, in the first half of the time.
function ranks() {
  const profile = byHand([
    ["a", [[15, 15, "main;work"], [50, 20, "main;rest"]]],
    ["b", [[30, 30, "main;work"], [50, 20, "main;rest"]]],
    ["c", [[15, 15, "main;work"], [50, 20, "main;rest"]]],
  ]);
  profile.processes = ["rank-0", "rank-1", "rank-2"].map((label, pid) => ({pid, parent: 0, name: `${label}: app`, label, exit: ""}));
  profile.threads = profile.threads.map((thread, process) => ({...thread, process}));
  return profile;
}

test("workers are the recordings, in their order", () => {
  assert.deepEqual(workersOf(ranks()), [0, 1, 2].map((rank) => ({name: `rank-${rank}`, threads: [rank]})));
});

test("without recordings they are the processes", () => {
  const profile = ranks();
  for (const process of profile.processes) delete process.label;
  assert.deepEqual(workersOf(profile).map(({name}) => name), ["rank-0: app 0", "rank-1: app 1", "rank-2: app 2"]);
});

test("a function's time in each, against the mean, and when", () => {
  const profile = ranks();
  const func = profile.strings.indexOf("work");
  const rows = workerRows(profile, workersOf(profile), everything(), {func, slices: 10});
  assert.deepEqual(rows.map(({ns}) => ns), [15, 30, 15]);
  assert.deepEqual(rows.map(({imbalance}) => imbalance), [0.75, 1.5, 0.75]);
  assert.deepEqual([...rows[1].heat].slice(0, 4), [1, 1, 1, 0]);
  const all = workerRows(profile, workersOf(profile), everything(), {func: null, slices: 10});
  assert.deepEqual(all.map(({ns}) => ns), [35, 50, 35]);
});

test("a selected thread changes nothing, selected time does", () => {
  const profile = ranks();
  const func = profile.strings.indexOf("rest");
  const rows = workerRows(profile, workersOf(profile), {...everything(), threads: new Set([0]), fromNs: 40}, {func, slices: 4});
  assert.deepEqual(rows.map(({ns}) => ns), [20, 20, 20]);
  assert.equal(workerRows(profile, workersOf(profile), {...everything(), toNs: 40}, {func, slices: 4})[2].ns, 0);
});
