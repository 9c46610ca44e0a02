// A selection in parts, to colour a tree by: the busiest threads, or the sides of a comparison.

import {callTree} from "./tree.js";
import {forEachRange, weightsByStack} from "./selection.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./selection.js").Selection} Selection */

const kMostThreads = 10;

// Samples of each selected thread, the most first.
function busiest(profile, selection) {
  const counts = [];
  forEachRange(profile, selection, (first, end, thread) => counts.push([thread, end - first]));
  return counts.sort((a, b) => b[1] - a[1]).slice(0, kMostThreads).map(([thread]) => thread);
}

/**
 * Threads of each part: of one thread each, or those of side a and those of side b.
 * @param {Profile} profile
 * @param {Selection} selection
 * @param {"thread"|"diff"} by
 * @returns {number[][]}
 */
export function partsOf(profile, selection, by) {
  if (by === "thread") return busiest(profile, selection).map((thread) => [thread]);
  const chosen = [...selection.threads ?? profile.threads.keys()];
  return [0, 1].map((side) => chosen.filter((thread) => profile.threads[thread].side === side));
}

/**
 * @param {Profile} profile
 * @param {Selection} selection
 * @param {"thread"|"diff"} by
 */
export function stackParts(profile, selection, by) {
  return partsOf(profile, selection, by).map((threads) => {
    const weights = weightsByStack(profile, {...selection, threads: new Set(threads)});
    return {
      threads,
      weights,
      ns: weights.ns.reduce((sum, value) => sum + value, 0),
      samples: weights.samples.reduce((sum, value) => sum + value, 0),
    };
  });
}

/**
 * What the nodes of a tree are in the same tree of one part only.
 * @param {Profile} profile
 * @param {import("./tree.js").Tree} tree
 * @param {{weights: object}} part
 * @param {object} options of callTree, as `tree` was made
 * @returns {{tree: import("./tree.js").Tree, nodeOf: (node: number) => number}} -1: not in it
 */
export function partOfTree(profile, tree, part, options) {
  const own = callTree(profile, part.weights, options);
  const nodes = new Map([[0, 0]]);
  const nodeOf = (node) => {
    if (!nodes.has(node)) {
      const parent = nodeOf(tree.parent[node]);
      const func = tree.func[node];
      nodes.set(node, parent < 0 ? -1 : own.children(parent).find((child) => own.func[child] === func) ?? -1);
    }
    return nodes.get(node);
  };
  return {tree: own, nodeOf};
}
