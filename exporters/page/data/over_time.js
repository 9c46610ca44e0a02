// When the samples of rows of a call tree were taken: for the sparklines beside them.

import {forEachSample} from "./selection.js";
import {functionTrie} from "./trie.js";

/**
 * @param {import("./profile.js").Profile} profile
 * @param {import("./selection.js").Selection} selection
 * @param {import("./growing_tree.js").Tree} tree
 * @param {number[]} nodes rows that are shown; each one's parent is among them, or the root
 * @param {{inverted: boolean, slices: number}} options
 * @returns {Map<number, Float64Array>} ns by slice of the selection's time, by node
 */
export function overTime(profile, selection, tree, nodes, {inverted, slices}) {
  const trie = functionTrie(profile);
  const children = new Map();  // shown ones, by parent and function
  for (const node of nodes) {
    const parent = Math.max(0, tree.parent[node]);
    if (!children.has(parent)) children.set(parent, new Map());
    children.get(parent).set(tree.func[node], node);
  }
  // The deepest row that a stack belongs to.
  const deepest = new Int32Array(trie.count).fill(-1);
  const rowOf = (place) => {
    if (deepest[place] >= 0) return deepest[place];
    let node = 0;
    if (inverted) {
      for (let at = place; at > 0; at = trie.parent[at]) {
        const next = children.get(node)?.get(trie.func[at]);
        if (next === undefined) break;
        node = next;
      }
    } else if (place > 0) {
      const above = rowOf(trie.parent[place]);
      // Only where the caller is a row of its own and not what stands for those below it.
      const isExact = exact[trie.parent[place]] === 1;
      const next = isExact ? children.get(above)?.get(trie.func[place]) : undefined;
      node = next ?? above;
      exact[place] = next === undefined ? 0 : 1;
    }
    deepest[place] = node;
    return node;
  };
  const exact = new Uint8Array(trie.count);
  exact[0] = 1;
  const result = new Map([0, ...nodes].map((node) => [node, new Float64Array(slices)]));
  const fromNs = selection.fromNs;
  const toNs = Math.min(selection.toNs, profile.meta.durationNs);
  const perSlice = (toNs - fromNs) / slices || 1;
  const {timeNs, weightNs, stack} = profile.samples;
  const none = profile.stacks.count;
  forEachSample(profile, selection, (sample) => {
    const row = rowOf(trie.ofRow[stack[sample] < 0 ? none : stack[sample]]);
    const slice = Math.min(slices - 1, Math.max(0, Math.floor((timeNs[sample] - fromNs) / perSlice)));
    result.get(row)[slice] += weightNs[sample];
  });
  // Children come after their parents in a tree.
  for (const node of [...nodes].sort((a, b) => b - a)) {
    const into = result.get(Math.max(0, tree.parent[node]));
    const own = result.get(node);
    if (into !== own) own.forEach((value, i) => { into[i] += value; });
  }
  return result;
}
