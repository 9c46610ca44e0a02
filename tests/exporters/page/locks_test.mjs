// Waits for locks, added up for a selection.
import assert from "node:assert/strict";
import {test} from "node:test";
import {lockTables} from "../../../exporters/page/data/locks.js";
import {everything} from "../../../exporters/page/data/selection.js";
import {byHand} from "./by_hand.mjs";

// Two threads wait for the first lock, one of them for the second, too. The short wait stands for four.
const profile = (() => {
  const made = byHand([["a", [[10, 10, "take;[mutex m]"], [30, 20, "take;[mutex m]"]]],
    ["b", [[20, 5, "read;[mutex m]"], [60, 40, "read;[condition c]"]]]]);
  Object.assign(made.samples, {side: Uint32Array.of(0, 1, 2, 3), waits: Float64Array.of(4, 1, 1, 1),
    longestNs: Float64Array.of(2.5, 20, 5, 40)});
  return {...made,
    locks: [{kind: "mutex", name: "m", locks: 1}, {kind: "condition", name: "c", locks: 1}],
    lockSides: [{lock: 0, waiter: "take", holder: "hold", waker: "hold"}, {lock: 0, waiter: "take", holder: "hold", waker: "other"},
      {lock: 0, waiter: "read"}, {lock: 1, waiter: "read", waker: "post"}]};
})();

test("locks have the sum of their waits, the longest and who waited, most waited first", () => {
  const {locks, total} = lockTables(profile, everything());
  assert.deepEqual(locks.map(({lock}) => lock), [1, 0]);
  const {waitedNs, waits, longestNs, threads} = locks[1];
  assert.deepEqual({waitedNs, waits, longestNs}, {waitedNs: 35, waits: 6, longestNs: 20});
  assert.deepEqual([...threads], [0, 1]);
  assert.deepEqual(total, {waitedNs: 75, waits: 7, longestNs: 40});
});

test("pairs of functions are one row for each lock", () => {
  const {blockedBy, wokenBy} = lockTables(profile, everything());
  assert.deepEqual(blockedBy.map(({lock, waiter, other, waitedNs}) => [lock, waiter, other, waitedNs]),
    [[1, "read", undefined, 40], [0, "take", "hold", 30], [0, "read", undefined, 5]]);
  assert.deepEqual(wokenBy.map(({waiter, other, waits}) => [waiter, other, waits]),
    [["read", "post", 1], ["take", "other", 1], ["take", "hold", 4], ["read", undefined, 1]]);
});

test("only what is selected counts", () => {
  const part = lockTables(profile, {...everything(), threads: new Set([1]), fromNs: 0, toNs: 50});
  assert.deepEqual(part.total, {waitedNs: 5, waits: 1, longestNs: 5});
  assert.deepEqual(part.locks.map(({lock, threads}) => [lock, [...threads]]), [[0, [1]]]);
  assert.deepEqual(lockTables(profile, {...everything(), toNs: 1}).locks, []);
});
