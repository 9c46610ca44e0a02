// Call trees of a selection.
//
// A tree grows where it is looked at: children(node) makes them when it is asked first. So a view
// that draws what is wide enough costs what it draws, whatever the profile's size.

import {Tree} from "./growing_tree.js";
import {functionTrie, trieWeights} from "./trie.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {{ns: Float64Array, samples: Uint32Array}} StackWeights see weightsByStack */

/**
 * From the threads' roots down to where the time was spent; inverted: from there up to the callers,
 * where a node's self weight is that of stacks which begin there. With `root`, a function, only
 * samples that have it: what it calls, from its outermost occurrence in a stack down; inverted: who
 * calls it, from its innermost one up. Node 0 then stands for that function.
 * @param {Profile} profile
 * @param {StackWeights} stackWeights
 * @param {{inverted?: boolean, root?: number|null}} options
 * @returns {Tree}
 */
export function callTree(profile, stackWeights, {inverted = false, root = null} = {}) {
  const trie = functionTrie(profile);
  const weights = trieWeights(profile, stackWeights);
  return inverted ? upwards(trie, weights, root) : downwards(trie, weights, root);
}

export function callersOf(profile, stackWeights, func) {
  return callTree(profile, stackWeights, {inverted: true, root: func});
}

export function calleesOf(profile, stackWeights, func) {
  return callTree(profile, stackWeights, {root: func});
}

// A node's parts are nodes of the trie, its children's parts their children.
function downwards(trie, {self, total, samples}, root) {
  const {count, func, firstChild, childList, outermost} = trie;
  const parts = root === null ? [0] : [];
  for (let node = 1; root !== null && node < count; ++node) {
    if (func[node] === root && outermost[node] && samples[node] !== 0) parts.push(node);
  }
  return new Tree(trie, root ?? -1, parts, {
    self: (node) => self[node],
    total: (node) => total[node],
    samples: (node) => samples[node],
    forEachBelow(node, add) {
      for (let i = firstChild[node]; i < firstChild[node + 1]; ++i) {
        if (samples[childList[i]] !== 0) add(childList[i], childList[i]);
      }
    },
  });
}

// A node's parts are stacks, each named by the node of the trie where it ends. They move up, caller
// by caller: `next` is where a stack's next frame is.
function upwards(trie, weights, root) {
  const {count, parent} = trie;
  const {ns, samples} = root === null ? {ns: weights.self, samples: weights.selfSamples}
                                      : endingIn(trie, weights, root);
  const next = new Uint32Array(count);
  const parts = [];
  for (let node = 0; node < count; ++node) {
    if (samples[node] === 0) continue;
    parts.push(node);
    next[node] = root === null ? node : parent[node];
  }
  return new Tree(trie, root ?? -1, parts, {
    self: (stack) => next[stack] === 0 ? ns[stack] : 0,
    total: (stack) => ns[stack],
    samples: (stack) => samples[stack],
    forEachBelow(stack, add) {
      const frame = next[stack];
      if (frame === 0) return;
      next[stack] = parent[frame];
      add(stack, frame);
    },
  });
}

// Weights of the stacks with this function, cut off below its innermost occurrence.
function endingIn({count, parent, func}, {self, selfSamples}, root) {
  const innermost = new Uint32Array(count);
  const ns = new Float64Array(count);
  const samples = new Uint32Array(count);
  for (let node = 1; node < count; ++node) {
    innermost[node] = func[node] === root ? node : innermost[parent[node]];
    if (innermost[node] === 0) continue;
    ns[innermost[node]] += self[node];
    samples[innermost[node]] += selfSamples[node];
  }
  return {ns, samples};
}
