// Where the frames of a call tree lie: a row per depth, as wide as they weigh, beside each other by
// name or heaviest first. Positions are shares of the whole, 0 to 1.
//
// Neighbours that are narrower than a pixel are one box together, which says how many they are; what
// is below them is not looked at. So a layout costs what can be seen of it.
//
// Where frames only call one function each, a long chain of them can be one box.

/** @typedef {import("./growing_tree.js").Tree} Tree */

/**
 * @typedef {object} Box
 * @property {number} x pixels
 * @property {number} width
 * @property {number} row
 * @property {number} node of the tree; of merged boxes their parent's
 * @property {number} func -1: none
 * @property {number} merged frames that it stands for; 0: it is one
 * @property {number} [folded] frames of a chain that it stands for, `node` is the first, `last` the last
 * @property {number} [last]
 */

/**
 * Which chains are folded.
 * @typedef {object} Folds
 * @property {Set<number>} kept nodes that are boxes of their own
 * @property {Set<number>} opened nodes that begin a chain which is not folded
 */

const kShortestChain = 4;  // shorter ones are as they are

/** The place of each function when all are sorted by name. @param {import("./profile.js").Profile} profile */
export function nameRanks(profile) {
  const {count, name} = profile.functions;
  const order = Array.from({length: count}, (_, func) => func);
  const names = order.map((func) => profile.strings[name[func]]);
  order.sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
  const ranks = new Uint32Array(count);
  order.forEach((func, rank) => { ranks[func] = rank; });
  return ranks;
}

/**
 * @param {Tree} tree
 * @param {Uint32Array|null} ranks of functions, to sort by; null: heaviest first
 */
export function treeLayout(tree, ranks) {
  const sorted = new Map();  // children by node, where they differ from the tree's
  const whole = tree.total[0] || 1;
  const childrenOf = (node) => {
    const children = tree.children(node);
    if (ranks === null || children.length < 2) return children;
    if (!sorted.has(node)) {
      sorted.set(node, [...children].sort((a, b) => ranks[tree.func[a]] - ranks[tree.func[b]]));
    }
    return sorted.get(node);
  };

  // The first frames of the chain that begins with a node: those that are one box. The last one of a
  // chain, where its time is spent or divided, is none of them.
  function chainFrom(node, {kept, opened}, unfolded) {
    if (unfolded.has(node)) return [];
    const chain = [];
    let at = node;
    while (!kept.has(at)) {
      const children = tree.children(at);
      if (children.length !== 1 || tree.samples[children[0]] !== tree.samples[at]) break;
      chain.push(at);
      at = children[0];
    }
    if (opened.has(node)) for (const each of chain) unfolded.add(each);
    return chain.length < kShortestChain || opened.has(node) ? [] : chain;
  }

  return {
    /**
     * @param {number} from share, the left edge of what is seen
     * @param {number} to
     * @param {number} width pixels of what is seen
     * @param {Folds|null} folds
     * @returns {Box[]} callers before those they call, from left to right
     */
    boxes(from, to, width, folds = null) {
      const pixels = width / (to - from);
      const narrow = whole / pixels;  // weight of one pixel
      // Less of a frame than this is not seen: what only rounding brings in stays out.
      const sliver = narrow / 64;
      const left = from * whole + sliver;
      const right = to * whole - sliver;
      const found = [];
      const emit = (begin, end, row, node, func, merged) => {
        const x = Math.max(0, begin / narrow - from * pixels);
        found.push({x, width: Math.min(width, end / narrow - from * pixels) - x, row, node, func, merged});
      };
      const pending = [[0, 0, 0]];
      const unfolded = new Set();
      while (pending.length !== 0) {
        const [node, begin, row] = pending.pop();
        const chain = folds && node !== 0 ? chainFrom(node, folds, unfolded) : [];
        if (chain.length !== 0) {
          emit(begin, begin + tree.total[node], row, node, tree.func[node], 0);
          Object.assign(found.at(-1), {folded: chain.length, last: chain.at(-1)});
          pending.push([tree.children(chain.at(-1))[0], begin, row + 1]);
          continue;
        }
        emit(begin, begin + tree.total[node], row, node, tree.func[node], 0);
        let place = begin;
        let run = 0;  // narrow ones, up to here
        let runBegin = 0;
        const endRun = () => {
          if (run !== 0) emit(runBegin, place, row + 1, node, -1, run);
          run = 0;
        };
        for (const child of childrenOf(node)) {
          const weight = tree.total[child];
          if (place >= right) break;
          if (place + weight > left && weight < narrow) {
            if (run++ === 0) runBegin = place;
          } else {
            endRun();
            if (place + weight > left) pending.push([child, place, row + 1]);
          }
          place += weight;
        }
        endRun();
      }
      return found;
    },

    /** The node at a path of functions below the root, or the last of its callers that is there. */
    nodeAt(path) {
      let node = 0;
      for (const func of path) {
        const next = tree.children(node).find((child) => tree.func[child] === func);
        if (next === undefined) break;
        node = next;
      }
      return node;
    },

    pathOf(node) {
      const path = [];
      for (let at = node; at > 0; at = tree.parent[at]) path.push(tree.func[at]);
      return path.reverse();
    },

    /** @returns {[number, number]} of a node, as shares */
    extentOf(node) {
      let begin = 0;
      for (let at = node; at > 0; at = tree.parent[at]) {
        for (const sibling of childrenOf(tree.parent[at])) {
          if (sibling === at) break;
          begin += tree.total[sibling];
        }
      }
      return [begin / whole, (begin + tree.total[node]) / whole];
    },
  };
}
