// The stacks of a profile as a tree over functions: rows that differ in their lines only are one
// node. It is made once for a profile; what is selected changes its weights and nothing else.
//
// Node 0 is the root, which stands for no function. Parents come before their children.

/** @typedef {import("./profile.js").Profile} Profile */

/**
 * @typedef {object} Trie
 * @property {number} count
 * @property {number} functions
 * @property {Int32Array} parent -1 of the root
 * @property {Int32Array} func -1 of the root
 * @property {Int32Array} row of profile.stacks: the first that ends in this node; -1 of the root
 * @property {Uint32Array} ofRow the node of each row; and of index stacks.count, the root
 * @property {Uint32Array} firstChild into childList; one more than nodes
 * @property {Uint32Array} childList
 * @property {Uint8Array} outermost 1: no caller of it is the same function
 */

const tries = new WeakMap();      // by profile
const weightsOf = new WeakMap();  // by stack weights

/**
 * @param {Profile} profile
 * @returns {Trie}
 */
export function functionTrie(profile) {
  if (!tries.has(profile)) tries.set(profile, buildTrie(profile));
  return tries.get(profile);
}

function buildTrie({stacks, functions}) {
  const {prefix, func: rowFunc, count: rows} = stacks;
  const ofRow = new Uint32Array(rows + 1);
  const parent = new Int32Array(rows + 1).fill(-1);
  const func = new Int32Array(rows + 1).fill(-1);
  const row = new Int32Array(rows + 1).fill(-1);
  let count = 1;

  // Open addressing: slots hold nodes, 0 is free.
  let mask = 1023;
  while (mask < 2 * rows) mask = 2 * mask + 1;
  const slots = new Uint32Array(mask + 1);
  for (let i = 0; i < rows; ++i) {
    const above = prefix[i] < 0 ? 0 : ofRow[prefix[i]];
    let slot = (Math.imul(above, 0x9e3779b1) ^ Math.imul(rowFunc[i], 0x85ebca77)) >>> 8 & mask;
    while (slots[slot] !== 0 &&
           (parent[slots[slot]] !== above || func[slots[slot]] !== rowFunc[i])) {
      slot = (slot + 1) & mask;
    }
    if (slots[slot] === 0) {
      slots[slot] = count;
      parent[count] = above;
      func[count] = rowFunc[i];
      row[count++] = i;
    }
    ofRow[i] = slots[slot];
  }

  const trie = {count, functions: functions.count, parent: parent.slice(0, count), func: func.slice(0, count),
    row: row.slice(0, count), ofRow};
  Object.assign(trie, childrenOf(trie));
  trie.outermost = findOutermost(trie);
  return trie;
}

function childrenOf({count, parent}) {
  const firstChild = new Uint32Array(count + 1);
  for (let node = 1; node < count; ++node) ++firstChild[parent[node] + 1];
  for (let node = 0; node < count; ++node) firstChild[node + 1] += firstChild[node];
  const next = firstChild.slice();
  const childList = new Uint32Array(count - 1);
  for (let node = 1; node < count; ++node) childList[next[parent[node]]++] = node;
  return {firstChild, childList};
}

// Walks the tree in depth, and counts how often each function is open.
function findOutermost({count, functions, func, firstChild, childList}) {
  const outermost = new Uint8Array(count);
  const open = new Uint32Array(functions);
  const path = [0];
  const next = firstChild.slice();
  while (path.length !== 0) {
    const node = path[path.length - 1];
    if (next[node] === firstChild[node + 1]) {
      path.pop();
      if (node !== 0) --open[func[node]];
      continue;
    }
    const child = childList[next[node]++];
    outermost[child] = open[func[child]]++ === 0 ? 1 : 0;
    path.push(child);
  }
  return outermost;
}

/**
 * Weights of stacks as weights of nodes: of samples that end there (self), and of those with all
 * below (total).
 * @param {Profile} profile
 * @param {{ns: Float64Array, samples: Uint32Array}} stackWeights by row
 */
export function trieWeights(profile, stackWeights) {
  if (!weightsOf.has(stackWeights)) weightsOf.set(stackWeights, sumUp(profile, stackWeights));
  return weightsOf.get(stackWeights);
}

function sumUp(profile, stackWeights) {
  const {count, parent, ofRow} = functionTrie(profile);
  const self = new Float64Array(count);
  const selfSamples = new Uint32Array(count);
  for (let i = 0; i < ofRow.length; ++i) {
    self[ofRow[i]] += stackWeights.ns[i];
    selfSamples[ofRow[i]] += stackWeights.samples[i];
  }
  const total = self.slice();
  const samples = selfSamples.slice();
  for (let node = count - 1; node > 0; --node) {
    total[parent[node]] += total[node];
    samples[parent[node]] += samples[node];
  }
  return {self, selfSamples, total, samples};
}
