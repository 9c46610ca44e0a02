// Waits for locks, added up by lock and by who waited for whom: as profile/locks.h does, for any selection.

import {forEachSample} from "./selection.js";

/** @typedef {{waitedNs: number, waits: number, longestNs: number}} Sum waits: estimated, as the time is */

const newSum = () => ({waitedNs: 0, waits: 0, longestNs: 0});

/** @param {Sum} sum @param {Sum} more */
function add(sum, {waitedNs, waits, longestNs}) {
  sum.waitedNs += waitedNs;
  sum.waits += waits;
  sum.longestNs = Math.max(sum.longestNs, longestNs);
}

function grouped(sums, keyOf, rowOf) {
  const rows = new Map();
  for (const each of sums) {
    const key = keyOf(each.side);
    if (!rows.has(key)) rows.set(key, {...rowOf(each.side), ...newSum(), threads: new Set()});
    add(rows.get(key), each);
    for (const thread of each.threads) rows.get(key).threads.add(thread);
  }
  return [...rows.values()].sort((a, b) => b.waitedNs - a.waitedNs);
}

/** Whether waits for locks are what the profile's samples are. @param {import("./profile.js").Profile} profile */
export const hasLocks = (profile) => profile.locks !== undefined;

/**
 * @param {import("./profile.js").Profile} profile of locks
 * @param {import("./selection.js").Selection} selection
 * @returns {{total: Sum, locks: (Sum & {lock: number, threads: Set<number>})[],
 *   blockedBy: (Sum & {lock: number, waiter?: string, other?: string})[],
 *   wokenBy: (Sum & {lock: number, waiter?: string, other?: string})[]}} most waited first; `other` is the function that held
 *   the lock, or that ended the wait; functions are absent where they are not known
 */
export function lockTables(profile, selection) {
  const {side, waits, longestNs, weightNs} = profile.samples;
  const bySide = profile.lockSides.map((each) => ({side: each, ...newSum(), threads: new Set()}));
  const total = newSum();
  forEachSample(profile, selection, (sample, thread) => {
    const one = {waitedNs: weightNs[sample], waits: waits[sample], longestNs: longestNs[sample]};
    add(bySide[side[sample]], one);
    add(total, one);
    bySide[side[sample]].threads.add(thread);
  });
  const met = bySide.filter(({waits: number}) => number > 0);
  const pairs = (role) => grouped(met, (each) => JSON.stringify([each.lock, each.waiter, each[role]]),
    (each) => ({lock: each.lock, waiter: each.waiter, other: each[role]}));
  return {total, locks: grouped(met, ({lock}) => lock, ({lock}) => ({lock})), blockedBy: pairs("holder"), wokenBy: pairs("waker")};
}
