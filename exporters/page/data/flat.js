// The flat table of a selection: self and total per function. A recursive function counts once per
// sample in its total.

import {functionTrie, trieWeights} from "./trie.js";

/**
 * @typedef {object} FlatTable
 * @property {number} count
 * @property {Int32Array} func -1: samples of which nothing is known
 * @property {Float64Array} self ns
 * @property {Float64Array} total ns
 * @property {Uint32Array} selfSamples
 * @property {Uint32Array} totalSamples
 */

/**
 * One row per function with samples in the selection: most self first, then most total.
 * @param {import("./profile.js").Profile} profile
 * @param {{ns: Float64Array, samples: Uint32Array}} stackWeights
 * @returns {FlatTable}
 */
export function flatTable(profile, stackWeights) {
  const trie = functionTrie(profile);
  const weights = trieWeights(profile, stackWeights);
  const functions = profile.functions.count;  // that index: nothing is known
  const self = new Float64Array(functions + 1);
  const total = new Float64Array(functions + 1);
  const selfSamples = new Uint32Array(functions + 1);
  const totalSamples = new Uint32Array(functions + 1);
  for (let node = 1; node < trie.count; ++node) {
    const func = trie.func[node];
    self[func] += weights.self[node];
    selfSamples[func] += weights.selfSamples[node];
    if (!trie.outermost[node]) continue;
    total[func] += weights.total[node];
    totalSamples[func] += weights.samples[node];
  }
  self[functions] = total[functions] = weights.self[0];
  selfSamples[functions] = totalSamples[functions] = weights.selfSamples[0];

  const order = [];
  for (let func = 0; func <= functions; ++func) {
    if (totalSamples[func] !== 0) order.push(func);
  }
  order.sort((a, b) => self[b] - self[a] || total[b] - total[a] || a - b);
  const rows = Uint32Array.from(order);
  const inOrder = (column) => column.constructor.from(rows, (func) => column[func]);
  return {count: rows.length,
    func: Int32Array.from(rows, (func) => func === functions ? -1 : func),
    self: inOrder(self), total: inOrder(total),
    selfSamples: inOrder(selfSamples), totalSamples: inOrder(totalSamples)};
}
